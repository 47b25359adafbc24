/*
 * column_read.c
 *		Reading the rows of a flat column of a Parquet file.
 */
#include "postgres.h"

#include "format/parquet/column_read.h"
#include "format/spread.h"

/* Selected rows with fewer than this between them are read together. */
#define SPAN_GAP_ROWS 32

/* Where at least so many of a hundred are selected, all are read together. */
#define SPAN_DENSE_PERCENT 75

/* Levels of the next rows as null flags; returns how many are not null. */
static int
read_nulls(ParquetColumn *column, int count, bool *nulls)
{
	uint8	   *levels = (uint8 *) nulls;
	int			present = 0;

	rle_read_bits(&column->levels, count, levels);
	for (int i = 0; i < count; i++)
	{
		present += levels[i];
		levels[i] ^= 1;
	}
	return present;
}

void
column_skip_values(ParquetColumn *column, int64 count)
{
	if (column->is_coded)
		rle_skip(&column->codes, count);
	else
		column->values.skip(&column->values, count);
}

/* Go forward within the loaded page. */
static void
skip_rows(ParquetColumn *column, int64 count)
{
	int64		present = column->has_levels ? rle_skip_bits(&column->levels, count) : count;

	column->row += count;
	if (present > 0)
		column_skip_values(column, present);
}

void
column_seek(ParquetColumn *column, int64 row)
{
	Assert(row < column->group_rows);
	if (row >= column->page_end)
		column_consider_index(column, row - column->page_end);
	while (row >= column->page_end)
		column_next_page(column, row);
	if (!column->loaded)
		column_load_page(column);
	if (row < column->row)
		elog(ERROR, "column \"%s\" cannot be read backwards", column->place.column);
	if (row > column->row)
		skip_rows(column, row - column->row);
}

/* ---- values into vectors ---- */

typedef struct Wide
{
	uint64		halves[2];
} Wide;

#define GATHER(type) \
	do { \
		const type *from = dictionary; \
		type	   *to = out; \
		for (int i = 0; i < count; i++) \
			to[i] = from[codes[i]]; \
	} while (0)

static void
gather(size_t size, const void *dictionary, const int32 *codes, int count, void *out)
{
	switch (size)
	{
		case 1:
			GATHER(uint8);
			break;
		case 2:
			GATHER(uint16);
			break;
		case 4:
			GATHER(uint32);
			break;
		case 8:
			GATHER(uint64);
			break;
		default:
			GATHER(Wide);
			break;
	}
}

/* Codes of count rows of which present are not null; all of them are in the dictionary. */
static void
read_codes(ParquetColumn *column, int count, int present, const bool *nulls, int32 *out)
{
	int32	   *dense = present < count ? column->scratch->codes : out;
	int32		last = column->dictionary_size - 1;
	int32		outside = 0;

	rle_read(&column->codes, present, dense);
	/* negative if one of them is or is behind the last: what vectors of all processors can do */
	for (int i = 0; i < present; i++)
		outside |= dense[i] | (last - dense[i]);
	if (outside < 0)
		column_damaged(column, "A value is not in the dictionary.");
	if (present < count)
	{
		dense[present] = 0;
		spread_values(sizeof(int32), dense, nulls, count, out);
	}
}

/* Values of count rows of which present are not null. */
static void
read_values(ParquetColumn *column, int count, int present, const bool *nulls, void *out)
{
	size_t		size = physical_size(column->wanted->physical);
	void	   *dense = present < count ? column->scratch->converted : out;

	if (column->conversion.convert == NULL)
		column->values.read(&column->values, present, dense);
	else
	{
		column->values.read(&column->values, present, column->scratch->native);
		conversion_apply(&column->conversion, &column->place, column->wanted, column->scratch->native, present, dense);
	}
	if (present < count)
		spread_values(size, dense, nulls, count, out);
}

/*
 * Plain values of count rows, BATCH_ROWS at most, of which present are not
 * null.
 */
void
column_read_plain(ParquetColumn *column, int count, int present, const bool *nulls, void *out)
{
	size_t		size = physical_size(column->wanted->physical);

	if (present == 0)
		memset(out, 0, count * size);
	else if (column->is_coded)
	{
		int32	   *codes = (int32 *) column->scratch->native;

		read_codes(column, count, present, nulls, codes);
		gather(size, column->dictionary, codes, count, out);
	}
	else
		read_values(column, count, present, nulls, out);
}

/* Rows read so far become plain, as some of the batch have no codes. */
static void
give_up_codes(Vector *out, int nrows)
{
	if (out->codes == NULL)
		return;
	gather(sizeof(BytesView), out->dictionary, out->codes, nrows, out->values.bytes);
	out->codes = NULL;
	out->dictionary = NULL;
	out->dictionary_size = 0;
	out->dictionary_id = 0;
}

/* Rows of the loaded page into out; coded: the batch has codes so far. */
static void
read_page_rows(ParquetColumn *column, int count, Vector *out, int at, bool coded)
{
	bool	   *nulls = out->nulls + at;
	int			present = count;

	if (column->has_levels)
	{
		present = read_nulls(column, count, nulls);
		out->has_nulls |= present < count;
	}
	else if (column->field->max_definition > 0)
		memset(nulls, false, count);
	column->row += count;
	if (coded)
		read_codes(column, count, present, nulls, out->codes_buffer + at);
	else
		column_read_plain(column, count, present, nulls,
						  (char *) out->values.any + at * physical_size(column->wanted->physical));
}

/*
 * Consecutive rows, from as many pages as they lie in.  done: rows of the
 * batch before at have been read (some of them), so it has codes or has not.
 */
static void
read_span(ParquetColumn *column, int64 start, int count, Vector *out, int at, bool *done)
{
	while (count > 0)
	{
		int			n;
		bool		coded;

		column_seek(column, start);
		n = (int) Min((int64) count, column->page_end - start);
		coded = column->is_coded && column->dictionary_size > 0 && out->codes_buffer != NULL;
		if (coded && !*done)
		{
			out->codes = out->codes_buffer;
			out->dictionary = column->dictionary;
			out->dictionary_size = column->dictionary_size;
			out->dictionary_id = column->dictionary_id;
		}
		else if (!coded)
			give_up_codes(out, at);
		coded = out->codes != NULL;
		read_page_rows(column, n, out, at, coded);
		*done = true;
		start += n;
		at += n;
		count -= n;
	}
}

static bool
is_dense(const int32 *selection, int nselected)
{
	return nselected > 0 &&
		nselected * 100 >= (selection[nselected - 1] - selection[0] + 1) * SPAN_DENSE_PERCENT;
}

void
column_read(ParquetColumn *column, int64 start, int nrows, const int32 *selection, int nselected, Vector *out)
{
	MemoryContext old = MemoryContextSwitchTo(column->batch_context);
	bool		done = false;

	vector_reset(out);
	/* rows that are not selected may be looked up when codes are given up */
	if (selection != NULL && out->codes_buffer != NULL)
		memset(out->codes_buffer, 0, nrows * sizeof(int32));
	if (selection == NULL)
		read_span(column, start, nrows, out, 0, &done);
	else if (is_dense(selection, nselected))
		read_span(column, start + selection[0], selection[nselected - 1] - selection[0] + 1, out, selection[0], &done);
	else
	{
		for (int i = 0; i < nselected;)
		{
			int			first = selection[i];
			int			last = first;

			while (++i < nselected && selection[i] - last <= SPAN_GAP_ROWS)
				last = selection[i];
			read_span(column, start + first, last - first + 1, out, first, &done);
		}
	}
	MemoryContextSwitchTo(old);
}
