/*
 * nested_leaf.c
 *		The values of one leaf of a nested column, row by row.
 *
 * Levels are decoded some thousand at a time, ahead of what is taken from
 * them.  A row of a repeated column ends where the next one begins; with
 * pages of version 1 and without an offset index, that may be on a page far
 * behind.
 */
#include "postgres.h"

#include "format/parquet/nested_read.h"
#include "utils/memutils.h"

#define FIRST_LEVELS 4096

static bool
is_repeated(const NestedLeaf *leaf)
{
	return leaf->column.field->max_repetition > 0;
}

void
leaf_begin_group(NestedLeaf *leaf)
{
	leaf->row = 0;
	leaf->page_left = 0;
	leaf->nahead = leaf->ahead = 0;
}

/* ---- from page to page ---- */

static void
check_levels(const NestedLeaf *leaf, const uint8 *levels, int count, int max)
{
	uint8		largest = 0;

	for (int i = 0; i < count; i++)
		largest = Max(largest, levels[i]);
	if (largest > max)
		column_damaged(&leaf->column, "A level is above the greatest that its schema allows.");
}

/* Decode more levels of the page. */
static void
decode_levels(NestedLeaf *leaf)
{
	const ParquetField *field = leaf->column.field;
	int			count = (int) Min(leaf->page_left, BATCH_ROWS);

	if (field->max_repetition > 0)
	{
		rle_read_levels(&leaf->column.repetitions, count, leaf->repetitions);
		check_levels(leaf, leaf->repetitions, count, field->max_repetition);
	}
	if (field->max_definition > 0)
	{
		rle_read_levels(&leaf->column.levels, count, leaf->definitions);
		check_levels(leaf, leaf->definitions, count, field->max_definition);
	}
	leaf->ahead = 0;
	leaf->nahead = count;
	leaf->page_left -= count;
}

/* Go to the next page, with an offset index to the one that has the row, and decode its first levels. */
static void
begin_page(NestedLeaf *leaf, int64 row)
{
	ParquetColumn *column = &leaf->column;

	if (column->page_end == UNKNOWN_ROWS)
		column->page_end = leaf->row;
	/* pages of which it is known that they have not got the row */
	do
		column_next_page(column, row);
	while (column->page_end != UNKNOWN_ROWS && row >= column->page_end &&
		   column->page_end < column->group_rows);
	leaf->row = column->page_start;
	column_load_page(column);
	leaf->page_left = column->header.num_values;
	leaf->nahead = leaf->ahead = 0;
	if (leaf->page_left == 0)
		return;
	decode_levels(leaf);
	if (is_repeated(leaf) && leaf->repetitions[0] != 0 && (leaf->row == 0 || column->page_end != UNKNOWN_ROWS))
		column_damaged(column, "A page begins within a row.");
}

/* All entries of the page were taken: is that as it should be? */
static void
end_page(const NestedLeaf *leaf)
{
	const ParquetColumn *column = &leaf->column;

	if (column->has_page && column->page_end != UNKNOWN_ROWS && leaf->row != column->page_end)
		column_damaged(column, "A page has another number of rows than is said of it.");
}

/*
 * Have an entry at hand, if there may be one of a row before target: false if
 * not.
 */
static bool
look_ahead(NestedLeaf *leaf, int64 target)
{
	ParquetColumn *column = &leaf->column;

	while (leaf->ahead == leaf->nahead)
	{
		if (leaf->page_left > 0)
		{
			decode_levels(leaf);
			continue;
		}
		end_page(leaf);
		if (leaf->row == target &&
			(column->page_end != UNKNOWN_ROWS || column->values_seen >= column->chunk->num_values))
			return false;
		if (column->offsets == NULL && column->opened && column->values_seen >= column->chunk->num_values)
			column_damaged(column, "Its pages have fewer rows than its row group.");
		begin_page(leaf, leaf->row);
	}
	return true;
}

/* ---- entries ---- */

/* How many of the entries at hand are of rows before target; the rows that begin with them are counted. */
static int
entries_before(NestedLeaf *leaf, int64 target)
{
	int64		row = leaf->row;
	int			i = leaf->ahead;

	if (!is_repeated(leaf))
	{
		int			n = (int) Min(leaf->nahead - i, target - row);

		leaf->row += n;
		return n;
	}
	for (; i < leaf->nahead; i++)
	{
		if (leaf->repetitions[i] != 0)
			continue;
		if (row == target)
			break;
		row++;
	}
	leaf->row = row;
	return i - leaf->ahead;
}

static void
skip_entries(NestedLeaf *leaf, int count)
{
	const uint8 *definitions = leaf->definitions + leaf->ahead;
	int			max = leaf->column.field->max_definition;
	int			present = count;

	if (max > 0)
	{
		present = 0;
		for (int i = 0; i < count; i++)
			present += definitions[i] == max;
	}
	if (present > 0 && leaf->column.wanted != NULL)
		column_skip_values(&leaf->column, present);
}

static void
keep_levels(NestedLeaf *leaf, int count)
{
	LevelList  *list = &leaf->levels;

	if (count > list->capacity - list->count)
	{
		int64		capacity = Max(Max(FIRST_LEVELS, (int64) list->capacity * 2), (int64) list->count + count);

		if (capacity > PG_INT32_MAX)
			column_damaged(&leaf->column, "Some rows have more than two billion elements.");
		list->definitions = list->definitions != NULL ? repalloc_huge(list->definitions, capacity) :
			MemoryContextAllocHuge(list->context, capacity);
		list->repetitions = list->repetitions != NULL ? repalloc_huge(list->repetitions, capacity) :
			MemoryContextAllocHuge(list->context, capacity);
		list->capacity = (int) capacity;
	}
	memcpy(list->definitions + list->count, leaf->definitions + leaf->ahead, count);
	if (is_repeated(leaf))
		memcpy(list->repetitions + list->count, leaf->repetitions + leaf->ahead, count);
	else
		memset(list->repetitions + list->count, 0, count);
	list->count += count;
}

/* The nulls among the entries that are slots; returns how many slots, and how many are not null. */
static int
slot_nulls(const NestedLeaf *leaf, int count, bool *nulls, int *present)
{
	const uint8 *definitions = leaf->definitions + leaf->ahead;
	int			max = leaf->column.field->max_definition;
	int			nslots = 0;
	int			nnulls = 0;

	if (leaf->slot_definition == 0)
	{
		for (int i = 0; i < count; i++)
		{
			nulls[i] = definitions[i] < max;
			nnulls += nulls[i];
		}
		*present = count - nnulls;
		return count;
	}
	for (int i = 0; i < count; i++)
	{
		/* what is no slot is written over by the next */
		nulls[nslots] = definitions[i] < max;
		nnulls += definitions[i] < max && definitions[i] >= leaf->slot_definition;
		nslots += definitions[i] >= leaf->slot_definition;
	}
	*present = nslots - nnulls;
	return nslots;
}

/* Put the values of entries into the vector. */
static void
take_values(NestedLeaf *leaf, int count)
{
	ParquetColumn *column = &leaf->column;
	Vector	   *out = leaf->out;
	int			at = leaf->base + leaf->nslots;
	size_t		size = physical_size(out->type->physical);
	int			nslots = count;
	int			present = count;

	/* one more, for entries that are no slots */
	vector_reserve(out, (int64) at + count + (leaf->slot_definition > 0));
	if (column->field->max_definition > 0)
		nslots = slot_nulls(leaf, count, out->nulls + at, &present);
	else
		memset(out->nulls + at, false, count);
	out->has_nulls |= present < nslots;
	column_read_plain(column, nslots, present, out->nulls + at, (char *) out->values.any + at * size);
	leaf->nslots += nslots;
}

static void
take_entries(NestedLeaf *leaf, int count)
{
	if (leaf->keep_levels)
		keep_levels(leaf, count);
	if (leaf->column.wanted != NULL)
		take_values(leaf, count);
}

/* Go on until the row target begins, or all before it have ended. */
static void
advance(NestedLeaf *leaf, int64 target, bool take)
{
	while (look_ahead(leaf, target))
	{
		int			count = entries_before(leaf, target);

		if (count == 0)
			break;
		if (take)
			take_entries(leaf, count);
		else
			skip_entries(leaf, count);
		leaf->ahead += count;
	}
}

/* Leave the page, if the row is known to be on another. */
static void
seek_page(NestedLeaf *leaf, int64 row)
{
	ParquetColumn *column = &leaf->column;

	column_consider_index(column, row - leaf->row);
	if (column->has_page && column->page_end == UNKNOWN_ROWS && column->offsets != NULL)
		column->page_end = column->offsets->pages[column->next_page].first_row;
	if (!column->has_page || (column->page_end != UNKNOWN_ROWS && row >= column->page_end))
		begin_page(leaf, row);
}

void
leaf_read_rows(NestedLeaf *leaf, int64 start, int nrows)
{
	leaf->nslots = 0;
	leaf->levels.count = 0;
	seek_page(leaf, start);
	advance(leaf, start, false);
	advance(leaf, start + nrows, true);
}
