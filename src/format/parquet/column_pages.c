/*
 * column_pages.c
 *		The chunks of a column, page by page: dictionary, levels, values.
 *
 * What flat columns (column_read.c) and nested ones (nested_leaf.c) share.
 */
#include "postgres.h"

#include "format/parquet/column_read.h"
#include "format/parquet/kept_page.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#define WIDEST_VALUE 16
#define LEVELS_LENGTH_BYTES 4

/* Pages of so few rows, out of more, are looked up: they are worth to be kept in memory. */
#define LOOKUP_ROWS (64 * 1024)

/* A skip this far makes the offset index worth a read. */
#define INDEX_SKIP_ROWS 4096

void
column_damaged(const ParquetColumn *column, const char *detail)
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
	if (wanted != NULL)
		conversion_init(&column->conversion, &column->place, field, wanted);
	chunk_reader_init(&column->pages, file, name, window_bytes);
}

/* Are only a few rows of the row group wanted? */
static bool
is_lookup(const RowRange *ranges, int nranges, int64 num_rows)
{
	int64		wanted = 0;

	for (int i = 0; i < nranges; i++)
		wanted += ranges[i].end - ranges[i].start;
	return wanted <= LOOKUP_ROWS && wanted < num_rows;
}

void
column_begin_group(ParquetColumn *column, const ParquetChunk *chunk, int64 num_rows,
				   const RowRange *ranges, int nranges, OffsetIndex *offsets)
{
	if (chunk->type != column->field->type)
		column_damaged(column, "A column chunk has another type than the column.");
	if (column->field->max_repetition == 0 && chunk->num_values != num_rows)
		column_damaged(column, "A column chunk has another number of values than its row group has rows.");
	column->chunk = chunk;
	column->group_rows = num_rows;
	column->ranges = ranges;
	column->nranges = nranges;
	column->offsets = offsets;
	column->pages.keep_context = is_lookup(ranges, nranges, num_rows) ? column->group_context : NULL;
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
		if (column->dictionary_page != NULL)
			chunk_reader_give_page(&column->pages, column->dictionary_page);
		chunk_reader_close(&column->pages);
	}
	if (column->offsets != NULL)
		column->file->counters->pages_skipped += column->offsets->npages - column->next_page;
	column->offsets = NULL;
	scan_memory_give(column->dictionary);
	column->dictionary = NULL;
	column->dictionary_page = NULL;
	column->dictionary_size = 0;
	column->opened = false;
	column->next_page = 0;
	column->page_start = column->page_end = column->row = 0;
	column->values_seen = 0;
	MemoryContextReset(column->group_context);
}

void
column_new_batch(ParquetColumn *column)
{
	chunk_reader_new_batch(&column->pages);
}

/* ---- the dictionary ---- */

/* All values, converted once; bytes are views into data, which stays. */
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
		column_damaged(column, "Its dictionary ends before all of its values.");
	out = scan_memory_take(column->file->memory, Max((size_t) count, 1) * size);
	/* nulls have code 0, which is looked at even where no value has one */
	memset(out, 0, size);
	column->dictionary = out;
	column->dictionary_size = count;
	column->dictionary_id = vector_new_dictionary_id();
	if (column->conversion.convert == NULL)
	{
		values.read(&values, count, out);
		return;
	}
	while (count > 0)
	{
		int			n = Min(count, BATCH_ROWS);

		values.read(&values, n, column->scratch->native);
		conversion_apply(&column->conversion, &column->place, column->wanted, column->scratch->native, n, out);
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

	if (header->encoding != PARQUET_PLAIN && header->encoding != PARQUET_PLAIN_DICTIONARY)
		column_damaged(column, "Its dictionary has an encoding that dictionaries cannot have.");
	page_read_body(&column->pages, header, &body);
	partial_need(body.partial, body.values + body.length);
	column->dictionary_page = chunk_reader_keep_page(&column->pages, &body);
	/* a page in the cache stays as long as the row group is read, others do not */
	if (column->dictionary_page == NULL && body.partial == NULL)
	{
		uint8	   *copy = palloc_extended(body.length + READ_PADDING, MCXT_ALLOC_HUGE);

		memcpy(copy, body.values, body.length);
		memset(copy + body.length, 0, READ_PADDING);
		body.values = copy;
	}
	decode_dictionary(column, body.values, body.length, header->num_values);
	MemoryContextSwitchTo(old);
}

/* ---- from page to page ---- */

/* Open the chunk, and load its dictionary if it has one. */
static void
open_chunk(ParquetColumn *column)
{
	/* where the last pages are not wanted, the index tells how far to read */
	column_consider_index(column, column->group_rows - column->ranges[column->nranges - 1].end);
	chunk_reader_open(&column->pages, column->chunk);
	column->opened = true;
	if (column->offsets != NULL)
	{
		/* what lies in front of the pages, and the first of them if it is wanted */
		const PageLocation *first = &column->offsets->pages[0];
		uint64		stop = column->ranges[0].start < first[1].first_row ? first->read_end : first->offset;

		/* the data page that begins the chunk leaves no room for a dictionary */
		if (column->pages.start == first->offset && column->offsets->npages > 0)
			return;
		chunk_reader_seek(&column->pages, column->pages.start, stop);
	}
	if (!page_header_next(&column->pages, &column->header))
		column_damaged(column, "It has rows, but no pages.");
	if (column->header.type == PARQUET_DICTIONARY_PAGE && column->wanted == NULL)
		page_skip_body(&column->pages, &column->header);
	else if (column->header.type == PARQUET_DICTIONARY_PAGE)
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
	/* behind a gap only this page is surely wanted; if the next is, too, read ahead from there */
	uint64		stop = page->offset == column->pages.position ? page->read_end : page->end;

	column->file->counters->pages_skipped += number - column->next_page;
	column->next_page = number;
	column->page_end = page->first_row;
	chunk_reader_seek(&column->pages, page->offset, stop);
}

/* The rows of the page just begun, as far as one can know before it is read. */
static int64
rows_of_page(const ParquetColumn *column)
{
	if (column->field->max_repetition == 0)
		return column->header.num_values;
	if (column->header.type == PARQUET_DATA_PAGE_V2)
		return column->header.num_rows;
	if (column->offsets != NULL)
		return column->offsets->pages[column->next_page].first_row - column->page_start;
	return UNKNOWN_ROWS;
}

/*
 * Go to the next data page; with an offset index, to the one that has the row.
 * Where the number of a page's rows is unknown, the caller sets page_end
 * before it goes on.
 */
void
column_next_page(ParquetColumn *column, int64 row)
{
	PageHeader *header = &column->header;
	int64		nrows;

	CHECK_FOR_INTERRUPTS();
	if (!column->opened)
		open_chunk(column);
	leave_page(column);
	if (column->offsets != NULL)
		jump_to_page(column, row);
	for (;;)
	{
		if (!page_header_next(&column->pages, header))
			column_damaged(column, "Its pages have fewer rows than its row group.");
		if (header->type == PARQUET_DATA_PAGE || header->type == PARQUET_DATA_PAGE_V2)
			break;
		if (header->type == PARQUET_DICTIONARY_PAGE)
			column_damaged(column, "It has a dictionary behind other pages.");
		page_skip_body(&column->pages, header);
	}
	column->has_page = true;
	column->next_page++;
	column->page_start = column->page_end;
	if (header->num_values > column->chunk->num_values)
		column_damaged(column, "A page has more values than its column chunk.");
	column->values_seen += header->num_values;
	nrows = rows_of_page(column);
	if (nrows != UNKNOWN_ROWS && (nrows < 0 || nrows > column->group_rows - column->page_start))
		column_damaged(column, "Its pages have more rows than its row group.");
	column->page_end = nrows == UNKNOWN_ROWS ? UNKNOWN_ROWS : column->page_start + nrows;
	if (column->offsets != NULL &&
		column->page_end != column->offsets->pages[column->next_page].first_row)
		column_damaged(column, "A page has another number of rows than the page index says.");
}

/* Read the offset index, when so many rows are skipped that pages can be, too. */
void
column_consider_index(ParquetColumn *column, int64 skipped_rows)
{
	MemoryContext old;

	if (column->offsets != NULL || skipped_rows < INDEX_SKIP_ROWS ||
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

/*
 * Levels as they were packed before runs came, from the high end of each byte:
 * packed again from the low end.
 */
static void
init_bit_packed_levels(ParquetColumn *column, RleDecoder *decoder, const uint8 *data, size_t length, int width)
{
	uint8	   *repacked = MemoryContextAllocZero(column->page_context, length + READ_PADDING);
	size_t		nbits = length * 8 / width * width;

	for (size_t i = 0; i < nbits; i++)
	{
		size_t		to = i / width * width + (width - 1 - i % width);

		repacked[to / 8] |= ((data[i / 8] >> (7 - i % 8)) & 1) << (to % 8);
	}
	rle_init_bits(decoder, &column->place, repacked, length, width);
}

/* Levels of version 1 stand in front of the values. */
static void
init_levels_v1(ParquetColumn *column, RleDecoder *decoder, ParquetEncoding encoding, int width, PageBody *body)
{
	uint32		length = 0;

	if (encoding == PARQUET_BIT_PACKED)
	{
		uint64		bytes = ((uint64) column->header.num_values * width + 7) / 8;

		if (bytes > body->length)
			column_damaged(column, "The levels of a page are longer than the page.");
		length = (uint32) bytes;
		partial_need(body->partial, body->values + length);
		init_bit_packed_levels(column, decoder, body->values, length, width);
	}
	else if (encoding == PARQUET_RLE)
	{
		if (body->length < LEVELS_LENGTH_BYTES)
			column_damaged(column, "A page ends before its levels.");
		partial_need(body->partial, body->values + LEVELS_LENGTH_BYTES);
		memcpy(&length, body->values, LEVELS_LENGTH_BYTES);
		body->values += LEVELS_LENGTH_BYTES;
		body->length -= LEVELS_LENGTH_BYTES;
		if (length > body->length)
			column_damaged(column, "The levels of a page are longer than the page.");
		partial_need(body->partial, body->values + length);
		rle_init(decoder, &column->place, body->values, length, width);
	}
	else
		column_damaged(column, "The levels of a page have an encoding that levels cannot have.");
	body->values += length;
	body->length -= length;
}

/* Bits for the levels 0 .. max. */
static int
level_width(int max)
{
	return max == 0 ? 0 : pg_leftmost_one_pos32(max) + 1;
}

static void
init_levels(ParquetColumn *column, PageBody *body)
{
	const PageHeader *header = &column->header;
	int			definition_width = level_width(column->field->max_definition);
	int			repetition_width = level_width(column->field->max_repetition);

	column->has_levels = definition_width > 0;
	if (body->levels == NULL)
	{
		if (repetition_width > 0)
			init_levels_v1(column, &column->repetitions, header->repetition_encoding, repetition_width, body);
		if (definition_width > 0)
			init_levels_v1(column, &column->levels, header->level_encoding, definition_width, body);
		return;
	}
	if (repetition_width > 0)
		rle_init(&column->repetitions, &column->place, body->levels - header->repetition_length,
				 header->repetition_length, repetition_width);
	if (header->num_nulls == 0 && column->field->flat)
		column->has_levels = false;
	else
		rle_init(&column->levels, &column->place, body->levels, header->levels_length, definition_width);
}

static void
init_codes(ParquetColumn *column, const PageBody *body)
{
	if (column->dictionary == NULL)
		column_damaged(column, "A page needs a dictionary, but there is none.");
	if (body->length == 0)
	{
		rle_init(&column->codes, &column->place, body->values, 0, 0);
		return;
	}
	partial_need(body->partial, body->values + 1);
	rle_init(&column->codes, &column->place, body->values + 1, body->length - 1, body->values[0]);
	column->codes.partial = body->partial;
}

static void
init_values(ParquetColumn *column, PageBody *body)
{
	const PageHeader *header = &column->header;
	bool		plain = header->encoding == PARQUET_PLAIN;
	bool		stepwise = plain && column->field->type != PARQUET_BOOLEAN;
	bool		moved = false;
	ByteMarks  *marks;
	const PackedNumbers *numbers = plain ? kept_page_numbers(&column->pages, column->field->type, body, &moved) : NULL;

	if (moved)
		init_levels(column, body);
	if (numbers != NULL)
	{
		packed_init(&column->values, &column->place, column->field->type, numbers, body->values);
		/* with nulls between them, values could not be found by their rows */
		column->values.ascending = numbers->ascending && numbers->count == header->num_values;
		return;
	}
	if (!stepwise)
		partial_need(body->partial, body->values + body->length);
	values_init(&column->values, column->place.path, column->place.column, column->field->type,
				column->field->type_length, header->encoding, body->values, body->length, header->num_values);
	if (stepwise)
		column->values.partial = body->partial;
	marks = plain ? kept_page_marks(&column->pages, column->field->type) : NULL;
	if (marks != NULL)
		values_use_marks(&column->values, marks);
}

/* Decompress the current page and set the decoders to its first row. */
void
column_load_page(ParquetColumn *column)
{
	const PageHeader *header = &column->header;
	MemoryContext old;
	PageBody	body;

	page_read_body(&column->pages, header, &body);
	column->page_context = AllocSetContextCreate(column->group_context, "parquet page", ALLOCSET_SMALL_SIZES);
	old = MemoryContextSwitchTo(column->page_context);
	init_levels(column, &body);
	column->is_coded = header->encoding == PARQUET_PLAIN_DICTIONARY || header->encoding == PARQUET_RLE_DICTIONARY;
	if (column->wanted == NULL)
		column->is_coded = false;
	else if (column->is_coded)
		init_codes(column, &body);
	else
		init_values(column, &body);
	/* strings are views into the page, all else is copied out of it */
	column->pages.page_used = column->wanted != NULL && column->wanted->physical == PHYSICAL_BYTES && !column->is_coded;
	MemoryContextSwitchTo(old);
	column->loaded = true;
	column->row = column->page_start;
}

