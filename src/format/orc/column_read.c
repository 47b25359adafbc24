/*
 * column_read.c
 *		Reading rows of a column of an ORC file: nulls, values, elements.
 */
#include "postgres.h"

#include "format/orc/column.h"
#include "format/spread.h"

/* Selected rows with fewer than this between them are read together. */
#define SPAN_GAP_ROWS 32

/* ---- nulls ---- */

/*
 * Which of count rows are null.  Rows that the parent does not have (absent,
 * NULL: it has all) are; the file says nothing of them.  Returns how many are
 * not null.
 */
static int
read_nulls(OrcColumn *column, int count, const bool *absent, bool *nulls)
{
	bool	   *flags = column->shared->flags;
	int			nrows = 0;
	int			present = 0;

	if (!column->has_present)
	{
		if (absent == NULL)
		{
			memset(nulls, false, count);
			return count;
		}
		for (int i = 0; i < count; i++)
		{
			nulls[i] = absent[i];
			present += !absent[i];
		}
		return present;
	}
	if (absent == NULL)
	{
		bit_reader_read(&column->present, count, (uint8 *) nulls);
		for (int i = 0; i < count; i++)
		{
			present += nulls[i];
			nulls[i] = !nulls[i];
		}
		return present;
	}
	for (int i = 0; i < count; i++)
		nrows += !absent[i];
	bit_reader_read(&column->present, nrows, (uint8 *) flags);
	flags[nrows] = false;
	for (int i = 0; i < count; i++)
	{
		nulls[i] = absent[i] || !*flags;
		flags += !absent[i];
		present += !nulls[i];
	}
	return present;
}

void
orc_column_skip(OrcColumn *column, int64 count)
{
	int64		present = count;

	if (column->has_present)
	{
		bool	   *flags = column->shared->flags;

		present = 0;
		while (count > 0)
		{
			int			n = (int) Min(count, BATCH_ROWS);

			bit_reader_read(&column->present, n, (uint8 *) flags);
			for (int i = 0; i < n; i++)
				present += flags[i];
			count -= n;
		}
	}
	if (present > 0)
		column->routine->skip(column, present);
}

/* ---- values ---- */

/* Codes of a dictionary instead of values. */
static void
read_codes(OrcColumn *column, int count, int present, const bool *nulls, int32 *out)
{
	int64	   *numbers = column->shared->numbers;
	int32	   *dense = present < count ? column->shared->codes : out;
	uint64		largest = 0;

	int_reader_read(&column->data.integers, present, numbers);
	for (int i = 0; i < present; i++)
	{
		largest = Max(largest, (uint64) numbers[i]);
		dense[i] = (int32) numbers[i];
	}
	if (present > 0 && largest >= (uint64) column->dictionary_size)
		orc_column_damaged(column, "A value is not in the dictionary.");
	if (present < count)
	{
		dense[present] = 0;
		spread_values(sizeof(int32), dense, nulls, count, out);
	}
}

static void
read_values(OrcColumn *column, int count, int present, const bool *nulls, void *out)
{
	size_t		size = physical_size(column->wanted->physical);

	if (present == count)
		column->routine->read(column, count, out);
	else if (present == 0)
		memset(out, 0, count * size);
	else
	{
		column->routine->read(column, present, column->shared->dense);
		spread_values(size, column->shared->dense, nulls, count, out);
	}
}

/* ---- nested values ---- */

static void read_rows(OrcColumn *column, int count, const bool *absent, Vector *out, int at);

/* Rows of a field, or elements, that the file does not have. */
static void
set_nulls(Vector *out, int at, int count)
{
	if (!out->has_nulls)
		memset(out->nulls, false, at);
	out->has_nulls = true;
	memset(out->nulls + at, true, count);
}

static void
read_fields(OrcColumn *column, int count, const bool *nulls, Vector *out, int at)
{
	for (int i = 0; i < column->nchildren; i++)
	{
		if (column->children[i] == NULL)
			set_nulls(out->children[i], at, count);
		else
			read_rows(column->children[i], count, nulls, out->children[i], at);
	}
}

/* Append elements to the vectors beside. */
static void
read_elements(OrcColumn *column, int64 count, Vector *out)
{
	while (count > 0)
	{
		int			n = (int) Min(count, BATCH_ROWS);

		for (int i = 0; i < column->nchildren; i++)
		{
			Vector	   *child = out->children[i];

			vector_reserve(child, (int64) child->filled + n);
			read_rows(column->children[i], n, NULL, child, child->filled);
			child->filled += n;
		}
		count -= n;
	}
}

static void
read_lists(OrcColumn *column, int count, int present, const bool *nulls, Vector *out, int at)
{
	int64	   *lengths = column->shared->numbers;
	ListView   *lists = out->values.list + at;
	int64		start = out->children[0]->filled;
	int64		end = start;

	int_reader_read(&column->second, present, lengths);
	for (int i = 0; i < count; i++)
	{
		int64		length = nulls[i] ? 0 : *lengths++;

		if (length < 0 || length > PG_INT32_MAX - end)
			orc_column_damaged(column, "The elements of its arrays or maps are too many.");
		lists[i].start = (int32) end;
		lists[i].length = (int32) length;
		end += length;
	}
	read_elements(column, end - start, out);
}

/* ---- rows ---- */

/* Consecutive rows, at most BATCH_ROWS, from where the cursor stands. */
static void
read_rows(OrcColumn *column, int count, const bool *absent, Vector *out, int at)
{
	size_t		size = physical_size(column->wanted->physical);
	bool	   *nulls = out->nulls + at;
	int			present = read_nulls(column, count, absent, nulls);

	out->has_nulls |= present < count;
	if (out->codes != NULL)
		read_codes(column, count, present, nulls, out->codes + at);
	else if (column->wanted->physical == PHYSICAL_ROW)
		read_fields(column, count, nulls, out, at);
	else if (column->wanted->physical == PHYSICAL_LIST)
		read_lists(column, count, present, nulls, out, at);
	else
		read_values(column, count, present, nulls, (char *) out->values.any + at * size);
}

static void
read_span(OrcColumn *column, int64 start, int count, Vector *out, int at)
{
	orc_column_seek(column, start);
	if (column->dictionary_size > 0)
	{
		out->codes = out->codes_buffer;
		out->dictionary = column->dictionary;
		out->dictionary_size = column->dictionary_size;
	}
	read_rows(column, count, NULL, out, at);
	column->row += count;
}

void
orc_column_read(OrcColumn *column, int64 start, int nrows, const int32 *selection, int nselected, Vector *out)
{
	vector_reset(out);
	if (selection == NULL)
	{
		read_span(column, start, nrows, out, 0);
		return;
	}
	for (int i = 0; i < nselected;)
	{
		int			first = selection[i];
		int			last = first;

		while (++i < nselected && selection[i] - last <= SPAN_GAP_ROWS)
			last = selection[i];
		read_span(column, start + first, last - first + 1, out, first);
	}
}
