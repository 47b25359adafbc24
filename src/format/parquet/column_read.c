/*
 * column_read.c
 *		Reading one column of a Parquet file, row group by row group.
 */
#include "postgres.h"

#include "format/parquet/column_read.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#define WIDEST_VALUE 16
#define LEVELS_LENGTH_BYTES 4

/* A skip this far makes the offset index worth a read. */
#define INDEX_SKIP_ROWS 4096

/* Selected rows with fewer than this between them are read together. */
#define SPAN_GAP_ROWS 32

static void
damaged(const ParquetColumn *column, const char *detail)
{
	decode_damaged(&column->place, detail);
}

ColumnScratch *
column_scratch_create(void)
{
	ColumnScratch *scratch = palloc(sizeof(ColumnScratch));

	scratch->native = palloc0((BATCH_ROWS + 1) * WIDEST_VALUE);
	scratch->converted = palloc0((BATCH_ROWS + 1) * WIDEST_VALUE);
	scratch->codes = palloc0((BATCH_ROWS + 1) * sizeof(int32));
	return scratch;
}

void
column_init(ParquetColumn *column, ParquetFile *file, const ParquetField *field, const char *name,
			const DataType *wanted, ColumnScratch *scratch, MemoryContext batch_context, size_t window_bytes)
{
	memset(column, 0, sizeof(*column));
	column->file = file;
	column->place.path = file->path;
	column->place.column = name;
	column->wanted = wanted;
	column->field = field;
	column->scratch = scratch;
	column->batch_context = batch_context;
	column->group_context = AllocSetContextCreate(CurrentMemoryContext, "parquet column of a row group",
												  ALLOCSET_SMALL_SIZES);
	conversion_init(&column->conversion, &column->place, field, wanted);
	chunk_reader_init(&column->pages, file, name, window_bytes);
}

void
column_begin_group(ParquetColumn *column, const ParquetChunk *chunk, int64 num_rows,
				   const RowRange *ranges, int nranges, OffsetIndex *offsets)
{
	if (chunk->type != column->field->type)
		damaged(column, "A column chunk has another type than the column.");
	if (chunk->num_values != num_rows)
		damaged(column, "A column chunk has another number of values than its row group has rows.");
	column->chunk = chunk;
	column->group_rows = num_rows;
	column->ranges = ranges;
	column->nranges = nranges;
	column->offsets = offsets;
	if (offsets != NULL)
		offset_index_mark(offsets, ranges, nranges);
}

/* Let go of the current page; what its decoder allocated may still be pointed into. */
static void
leave_page(ParquetColumn *column)
{
	if (column->has_page && !column->loaded)
	{
		page_skip_body(&column->pages, &column->header);
		column->file->counters->pages_skipped++;
	}
	if (column->page_context != NULL)
		MemoryContextSetParent(column->page_context, column->batch_context);
	column->page_context = NULL;
	column->has_page = column->loaded = false;
}

void
column_end_group(ParquetColumn *column)
{
	if (column->opened)
	{
		leave_page(column);
		chunk_reader_close(&column->pages);
	}
	if (column->offsets != NULL)
		column->file->counters->pages_skipped += column->offsets->npages - column->next_page;
	column->offsets = NULL;
	column->dictionary = NULL;
	column->dictionary_size = 0;
	column->opened = false;
	column->next_page = 0;
	column->page_start = column->page_end = column->row = 0;
	MemoryContextReset(column->group_context);
}

void
column_new_batch(ParquetColumn *column)
{
	chunk_reader_new_batch(&column->pages);
}

/* ---- the dictionary ---- */

/* Convert values from their native form, unless they have the wanted one already. */
static void
convert(ParquetColumn *column, const void *native, int count, void *out)
{
	conversion_apply(&column->conversion, &column->place, column->wanted, native, count, out);
}

/* All values, converted once; bytes are views into the page, which stays. */
static void
decode_dictionary(ParquetColumn *column, const uint8 *data, size_t length, int32 count)
{
	size_t		size = physical_size(column->wanted->physical);
	ValueDecoder values;
	char	   *out;

	values_init(&values, column->place.path, column->place.column, column->field->type,
				column->field->type_length, PARQUET_PLAIN, data, length, count);
	/* before memory is allocated for them */
	if ((uint64) count > (uint64) length * (values.type == PARQUET_BOOLEAN ? 8 : 1) /
		(values.type == PARQUET_BYTE_ARRAY ? sizeof(uint32) : values.width))
		damaged(column, "Its dictionary ends before all of its values.");
	out = palloc_extended(Max((size_t) count, 1) * size, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	column->dictionary = out;
	column->dictionary_size = count;
	if (column->conversion.convert == NULL)
	{
		values.read(&values, count, out);
		return;
	}
	while (count > 0)
	{
		int			n = Min(count, BATCH_ROWS);

		values.read(&values, n, column->scratch->native);
		convert(column, column->scratch->native, n, out);
		out += n * size;
		count -= n;
	}
}

static void
load_dictionary(ParquetColumn *column)
{
	PageHeader *header = &column->header;
	MemoryContext old = MemoryContextSwitchTo(column->group_context);
	PageBody	body;
	uint8	   *data;

	if (header->encoding != PARQUET_PLAIN && header->encoding != PARQUET_PLAIN_DICTIONARY)
		damaged(column, "Its dictionary has an encoding that dictionaries cannot have.");
	page_read_body(&column->pages, header, &body);
	data = palloc_extended(body.length + READ_PADDING, MCXT_ALLOC_HUGE);
	memcpy(data, body.values, body.length);
	memset(data + body.length, 0, READ_PADDING);
	decode_dictionary(column, data, body.length, header->num_values);
	MemoryContextSwitchTo(old);
}

/* ---- from page to page ---- */

/* Open the chunk, and load its dictionary if it has one. */
static void
open_chunk(ParquetColumn *column)
{
	chunk_reader_open(&column->pages, column->chunk);
	column->opened = true;
	if (column->offsets != NULL)
	{
		/* what lies in front of the pages, and the first of them if it is wanted */
		const PageLocation *first = &column->offsets->pages[0];
		uint64		stop = column->ranges[0].start < first[1].first_row ? first->read_end : first->offset;

		chunk_reader_seek(&column->pages, column->pages.start, stop);
	}
	if (!page_header_next(&column->pages, &column->header))
		damaged(column, "It has rows, but no pages.");
	if (column->header.type == PARQUET_DICTIONARY_PAGE)
		load_dictionary(column);
	else
		column->pages.position = column->pages.start;	/* a data page, to be read again as such */
}

/* Go straight to the page that has the row. */
static void
jump_to_page(ParquetColumn *column, int64 row)
{
	int			number = offset_index_find(column->offsets, row);
	const PageLocation *page = &column->offsets->pages[number];

	column->file->counters->pages_skipped += number - column->next_page;
	column->next_page = number;
	column->page_end = page->first_row;
	chunk_reader_seek(&column->pages, page->offset, page->read_end);
}

/* Go to the next data page; with an offset index, to the one that has the row. */
static void
next_page(ParquetColumn *column, int64 row)
{
	PageHeader *header = &column->header;

	CHECK_FOR_INTERRUPTS();
	leave_page(column);
	if (column->offsets != NULL)
		jump_to_page(column, row);
	for (;;)
	{
		if (!page_header_next(&column->pages, header))
			damaged(column, "Its pages have fewer rows than its row group.");
		if (header->type == PARQUET_DATA_PAGE || header->type == PARQUET_DATA_PAGE_V2)
			break;
		if (header->type == PARQUET_DICTIONARY_PAGE)
			damaged(column, "It has a dictionary behind other pages.");
		page_skip_body(&column->pages, header);
	}
	column->has_page = true;
	column->next_page++;
	column->page_start = column->page_end;
	if (header->num_values > column->group_rows - column->page_start)
		damaged(column, "Its pages have more rows than its row group.");
	column->page_end = column->page_start + header->num_values;
	if (column->offsets != NULL &&
		column->page_end != column->offsets->pages[column->next_page].first_row)
		damaged(column, "A page has another number of rows than the page index says.");
}

/* The offset index, when rows are skipped so that pages can be, too. */
static void
consider_offset_index(ParquetColumn *column, int64 row)
{
	MemoryContext old;

	if (column->offsets != NULL || row - column->page_end < INDEX_SKIP_ROWS ||
		column->chunk->offset_index_offset <= 0 ||
		parquet_file_peek(column->file, column->chunk->data_page_offset, 1) != NULL)
		return;
	old = MemoryContextSwitchTo(column->group_context);
	column->offsets = offset_index_read(column->file, &column->place, column->chunk, column->group_rows);
	MemoryContextSwitchTo(old);
	if (column->offsets != NULL)
		offset_index_mark(column->offsets, column->ranges, column->nranges);
}

/* ---- within a page ---- */

/* Bits from the high end of each byte, as they were before runs came. */
static void
init_bit_packed_levels(ParquetColumn *column, const uint8 *data, size_t length)
{
	uint8	   *reversed = MemoryContextAlloc(column->page_context, length + READ_PADDING);

	for (size_t i = 0; i < length; i++)
	{
		uint8		from = data[i];
		uint8		to = 0;

		for (int bit = 0; bit < 8; bit++)
			to |= ((from >> bit) & 1) << (7 - bit);
		reversed[i] = to;
	}
	rle_init_bits(&column->levels, &column->place, reversed, length);
}

/* Definition levels of version 1 stand in front of the values. */
static void
init_levels_v1(ParquetColumn *column, PageBody *body)
{
	uint32		length = 0;

	if (column->header.level_encoding == PARQUET_BIT_PACKED)
	{
		length = (column->header.num_values + 7) / 8;
		if (length > body->length)
			damaged(column, "The levels of a page are longer than the page.");
		init_bit_packed_levels(column, body->values, length);
	}
	else if (column->header.level_encoding == PARQUET_RLE)
	{
		if (body->length < LEVELS_LENGTH_BYTES)
			damaged(column, "A page ends before its levels.");
		memcpy(&length, body->values, LEVELS_LENGTH_BYTES);
		body->values += LEVELS_LENGTH_BYTES;
		body->length -= LEVELS_LENGTH_BYTES;
		if (length > body->length)
			damaged(column, "The levels of a page are longer than the page.");
		rle_init(&column->levels, &column->place, body->values, length, 1);
	}
	else
		damaged(column, "The levels of a page have an encoding that levels cannot have.");
	body->values += length;
	body->length -= length;
}

static void
init_levels(ParquetColumn *column, PageBody *body)
{
	column->has_levels = column->field->optional;
	if (!column->has_levels)
		return;
	if (body->levels == NULL)
		init_levels_v1(column, body);
	else if (column->header.num_nulls == 0)
		column->has_levels = false;
	else
		rle_init(&column->levels, &column->place, body->levels, column->header.levels_length, 1);
}

static void
init_codes(ParquetColumn *column, const PageBody *body)
{
	if (column->dictionary == NULL)
		damaged(column, "A page needs a dictionary, but there is none.");
	if (body->length == 0)
		rle_init(&column->codes, &column->place, body->values, 0, 0);
	else
		rle_init(&column->codes, &column->place, body->values + 1, body->length - 1, body->values[0]);
}

/* Decompress the current page and set the decoders to its first row. */
static void
load_page(ParquetColumn *column)
{
	const PageHeader *header = &column->header;
	MemoryContext old;
	PageBody	body;

	page_read_body(&column->pages, header, &body);
	column->page_context = AllocSetContextCreate(column->group_context, "parquet page", ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(column->page_context);
	init_levels(column, &body);
	column->is_coded = header->encoding == PARQUET_PLAIN_DICTIONARY || header->encoding == PARQUET_RLE_DICTIONARY;
	if (column->is_coded)
		init_codes(column, &body);
	else
		values_init(&column->values, column->place.path, column->place.column, column->field->type,
					column->field->type_length, header->encoding, body.values, body.length, header->num_values);
	MemoryContextSwitchTo(old);
	column->loaded = true;
	column->row = column->page_start;
}

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

static void
skip_values(ParquetColumn *column, int64 count)
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
	int64		present = count;

	column->row += count;
	if (column->has_levels)
	{
		bool	   *nulls = (bool *) column->scratch->native;

		present = 0;
		while (count > 0)
		{
			int			n = (int) Min(count, BATCH_ROWS);

			present += read_nulls(column, n, nulls);
			count -= n;
		}
	}
	if (present > 0)
		skip_values(column, present);
}

static void
seek_row(ParquetColumn *column, int64 row)
{
	Assert(row < column->group_rows);
	if (row >= column->page_end)
		consider_offset_index(column, row);
	if (!column->opened)
		open_chunk(column);
	while (row >= column->page_end)
		next_page(column, row);
	if (!column->loaded)
		load_page(column);
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

/*
 * Put dense values at the rows that are not null.  Null rows get one of them,
 * too: that is cheaper than not to, and dense has one more than are used.
 */
#define EXPAND(type) \
	do { \
		const type *from = dense; \
		type	   *to = out; \
		for (int i = 0; i < count; i++) \
		{ \
			to[i] = *from; \
			from += !nulls[i]; \
		} \
	} while (0)

static void
expand(size_t size, const void *dense, const bool *nulls, int count, void *out)
{
	switch (size)
	{
		case 1:
			EXPAND(uint8);
			break;
		case 2:
			EXPAND(uint16);
			break;
		case 4:
			EXPAND(uint32);
			break;
		case 8:
			EXPAND(uint64);
			break;
		default:
			EXPAND(Wide);
			break;
	}
}

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
	uint32		largest = 0;

	rle_read(&column->codes, present, dense);
	for (int i = 0; i < present; i++)
		largest = Max(largest, (uint32) dense[i]);
	if (present > 0 && largest >= (uint32) column->dictionary_size)
		damaged(column, "A value is not in the dictionary.");
	if (present < count)
	{
		dense[present] = 0;
		expand(sizeof(int32), dense, nulls, count, out);
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
		convert(column, column->scratch->native, present, dense);
	}
	if (present < count)
		expand(size, dense, nulls, count, out);
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
}

/* Rows of the loaded page into out; coded: the batch has codes so far. */
static void
read_page_rows(ParquetColumn *column, int count, Vector *out, int at, bool coded)
{
	size_t		size = physical_size(column->wanted->physical);
	void	   *values = (char *) out->values.any + at * size;
	bool	   *nulls = out->nulls + at;
	int			present = count;

	if (column->has_levels)
	{
		present = read_nulls(column, count, nulls);
		out->has_nulls |= present < count;
	}
	else if (column->field->optional)
		memset(nulls, false, count);
	column->row += count;
	if (coded)
		read_codes(column, count, present, nulls, out->codes_buffer + at);
	else if (present == 0)
		memset(values, 0, count * size);
	else if (column->is_coded)
	{
		int32	   *codes = (int32 *) column->scratch->native;

		read_codes(column, count, present, nulls, codes);
		gather(size, column->dictionary, codes, count, values);
	}
	else
		read_values(column, count, present, nulls, values);
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

		seek_row(column, start);
		n = (int) Min((int64) count, column->page_end - start);
		coded = column->is_coded && column->dictionary_size > 0 && out->codes_buffer != NULL;
		if (coded && !*done)
		{
			out->codes = out->codes_buffer;
			out->dictionary = column->dictionary;
			out->dictionary_size = column->dictionary_size;
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

void
column_read(ParquetColumn *column, int64 start, int nrows, const int32 *selection, int nselected, Vector *out)
{
	MemoryContext old = MemoryContextSwitchTo(column->batch_context);
	bool		done = false;

	vector_reset(out);
	if (selection == NULL)
		read_span(column, start, nrows, out, 0, &done);
	else
	{
		/* rows that are not selected may be looked up when codes are given up */
		if (out->codes_buffer != NULL)
			memset(out->codes_buffer, 0, nrows * sizeof(int32));
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
