/*
 * column_search.c
 *		Rows found by halving a page whose values ascend, instead of comparing all of them.
 *
 * Files of tables with a primary key are sorted by it, and what is appended
 * often is by time.  Nobody has to promise that: it was seen when the page was
 * kept, or is seen the first time (packed_numbers.h, byte_marks.h).
 */
#include "postgres.h"

#include "format/parquet/byte_marks.h"
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
		 (column->field->type == PARQUET_INT64 && physical == PHYSICAL_INT64) ||
		 (column->field->type == PARQUET_BYTE_ARRAY && physical == PHYSICAL_BYTES));
}

static bool
ascends(ParquetColumn *column)
{
	return !column->is_coded &&
		(column->field->type == PARQUET_BYTE_ARRAY ? byte_arrays_ascend(&column->values) : column->values.ascending);
}

/* Of count rows: how many are less than the bound, or, with equal, not greater. */
static int64
count_before(ParquetColumn *column, int64 count, const Scalar *bound, bool equal)
{
	PhysicalType physical = column->wanted->physical;

	return physical == PHYSICAL_BYTES ? byte_arrays_search(&column->values, count, bound->v.bytes, equal) :
		numbers_search(&column->values, count, scalar_integer(physical, bound), equal);
}

/* Rows in front of those that may match, of count ascending ones, and those and they together. */
static void
search(ParquetColumn *column, int64 count, const Predicate *leaf, int64 *first, int64 *end)
{
	const Scalar *least = &leaf->values[0];
	const Scalar *greatest = &leaf->values[leaf->nvalues - 1];

	*first = 0;
	*end = count;
	if (leaf->op == PREDICATE_EQ || leaf->op == PREDICATE_IN || leaf->op == PREDICATE_GE)
		*first = count_before(column, count, least, false);
	else if (leaf->op == PREDICATE_GT)
		*first = count_before(column, count, least, true);
	if (leaf->op == PREDICATE_EQ || leaf->op == PREDICATE_IN || leaf->op == PREDICATE_LE)
		*end = count_before(column, count, greatest, true);
	else if (leaf->op == PREDICATE_LT)
		*end = count_before(column, count, greatest, false);
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
	if (range->end > column->page_end || !ascends(column))
		return false;
	search(column, range->end - start, leaf, &first, &end);
	range->start = start + first;
	range->end = start + Max(first, end);
	return true;
}
