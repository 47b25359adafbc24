/*
 * column_search.c
 *		Rows found by halving a page whose values ascend, instead of comparing all of them.
 *
 * Files of tables with a primary key are sorted by it, and what is appended
 * often is by time.  Nobody has to promise that: it was seen when the page was
 * kept (packed_numbers.h).
 */
#include "postgres.h"

#include "format/parquet/column_read.h"

static bool
is_searchable(const ParquetColumn *column, const Predicate *leaf)
{
	PhysicalType physical = column->wanted->physical;

	switch (leaf->op)
	{
		case PREDICATE_EQ:
		case PREDICATE_IN:
		case PREDICATE_LT:
		case PREDICATE_LE:
		case PREDICATE_GT:
		case PREDICATE_GE:
			break;
		default:
			return false;
	}
	return column->conversion.convert == NULL && leaf->type->physical == physical &&
		((column->field->type == PARQUET_INT32 && physical == PHYSICAL_INT32) ||
		 (column->field->type == PARQUET_INT64 && physical == PHYSICAL_INT64));
}

/* Rows in front of those that may match, of count ascending ones, and those and they together. */
static void
search(const ValueDecoder *values, int64 count, const Predicate *leaf, int64 *first, int64 *end)
{
	PhysicalType physical = leaf->type->physical;
	int64		least = scalar_integer(physical, &leaf->values[0]);
	int64		greatest = scalar_integer(physical, &leaf->values[leaf->nvalues - 1]);

	*first = 0;
	*end = count;
	if (leaf->op == PREDICATE_EQ || leaf->op == PREDICATE_IN || leaf->op == PREDICATE_GE)
		*first = numbers_search(values, count, least, false);
	else if (leaf->op == PREDICATE_GT)
		*first = numbers_search(values, count, least, true);
	if (leaf->op == PREDICATE_EQ || leaf->op == PREDICATE_IN || leaf->op == PREDICATE_LE)
		*end = numbers_search(values, count, greatest, true);
	else if (leaf->op == PREDICATE_LT)
		*end = numbers_search(values, count, greatest, false);
}

bool
column_search(ParquetColumn *column, const Predicate *leaf, RowRange *range)
{
	int64		start = range->start;
	int64		first;
	int64		end;

	if (column->pages.keep_context == NULL || !is_searchable(column, leaf))
		return false;
	column_seek(column, start);
	if (column->is_coded || !column->values.ascending || range->end > column->page_end)
		return false;
	search(&column->values, range->end - start, leaf, &first, &end);
	range->start = start + first;
	range->end = start + Max(first, end);
	return true;
}
