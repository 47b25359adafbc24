/*
 * column_write.c
 *		From vectors to pages, and from pages to column chunks.
 *
 * A chunk begins with dictionary codes.  It goes on in PLAIN when its first
 * page shows that a dictionary does not pay, and when the dictionary is full.
 * Booleans never have one.
 */
#include "postgres.h"

#include "format/checksum.h"
#include "format/parquet/parquet_write.h"
#include "format/parquet/thrift.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#define KEEP_BYTES (4 * PAGE_BYTES) /* of an open page's memory, for the next */
#define FIRST_PAGES 8

void
column_writer_init(ColumnWriter *column, ParquetWriter *writer, const DataField *field, const WriteNode *node)
{
	MemoryContext context = writer->context;

	memset(column, 0, sizeof(ColumnWriter));
	column->writer = writer;
	column->field = field;
	column->node = node;
	column->form = column_form(field);
	column->use_dictionary = column->form.type != PARQUET_BOOLEAN;
	column->max_pages = FIRST_PAGES;
	column->pages = MemoryContextAlloc(context, FIRST_PAGES * sizeof(WrittenPage));
	dictionary_writer_init(&column->dictionary, context, column->form.width);
	byte_buffer_init(&column->definitions, context);
	byte_buffer_init(&column->repetitions, context);
	byte_buffer_init(&column->values, context);
	value_bounds_init(&column->page_bounds, context);
	value_bounds_init(&column->chunk_bounds, context);
	value_bounds_init(&column->file_bounds, context);
}

/* ---- slices: from vectors to contiguous values ---- */

/* Row of the vector in which a value of the slice lies. */
static inline int32
value_row(const ValueSlice *slice, int i)
{
	return slice->consecutive ? slice->first + i : slice->positions[i];
}

/* Levels, and the positions of the values that are not null. */
static void
select_values(ValueSlice *slice, const Vector *vector, const int32 *rows, int first, int nrows)
{
	int			nvalues = 0;

	slice->nrows = slice->nlevels = nrows;
	slice->consecutive = rows == NULL && !vector->has_nulls;
	slice->first = first;
	if (!vector->has_nulls)
	{
		if (rows != NULL)
			memcpy(slice->positions, rows + first, nrows * sizeof(int32));
		memset(slice->definitions, 1, nrows);
		slice->nvalues = nrows;
		return;
	}
	for (int i = 0; i < nrows; i++)
	{
		int32		row = rows != NULL ? rows[first + i] : first + i;
		bool		present = !vector->nulls[row];

		slice->definitions[i] = present;
		slice->positions[nvalues] = row;
		nvalues += present;
	}
	slice->nvalues = nvalues;
}

/* The same of a nested column, whose levels are known. */
static void
select_shredded_values(ValueSlice *slice, const ColumnInput *input, int first, int count)
{
	const int32 *rows = input->rows + first;
	const uint8 *repetitions = input->repetitions + first;
	int			nvalues = 0;
	int			nrows = 0;

	for (int i = 0; i < count; i++)
	{
		slice->positions[nvalues] = rows[i];
		nvalues += rows[i] >= 0;
		nrows += repetitions[i] == 0;
	}
	memcpy(slice->definitions, input->definitions + first, count);
	slice->consecutive = false;
	slice->nvalues = nvalues;
	slice->nrows = nrows;
	slice->nlevels = count;
}

/* Consecutive values are a loop of their own, which compilers vectorise. */
#define GATHER(target_type, member) \
	do { \
		target_type *target = (target_type *) slice->values; \
		if (slice->consecutive) \
		{ \
			for (int i = 0; i < slice->nvalues; i++) \
				target[i] = (target_type) vector->values.member[slice->first + i]; \
		} \
		else \
		{ \
			for (int i = 0; i < slice->nvalues; i++) \
				target[i] = (target_type) vector->values.member[slice->positions[i]]; \
		} \
	} while (0)

static void
gather_bytes(ValueSlice *slice, const Vector *vector)
{
	BytesView  *target = (BytesView *) slice->values;
	size_t		plain_bytes = 0;

	for (int i = 0; i < slice->nvalues; i++)
	{
		int32		row = value_row(slice, i);

		target[i] = vector->codes != NULL ? vector->dictionary[vector->codes[row]] : vector->values.bytes[row];
		plain_bytes += sizeof(uint32) + target[i].length;
	}
	slice->plain_bytes = plain_bytes;
	slice->input_codes = vector->codes;
	slice->input_dictionary_size = vector->dictionary_size;
}

static void
gather_values(ValueSlice *slice, const Vector *vector, PhysicalType staged)
{
	switch (vector->type->physical)
	{
		case PHYSICAL_INT8:
			if (staged == PHYSICAL_INT8)
				GATHER(int8, i8);
			else
				GATHER(int32, i8);
			break;
		case PHYSICAL_INT16:
			GATHER(int32, i16);
			break;
		case PHYSICAL_INT32:
			GATHER(int32, i32);
			break;
		case PHYSICAL_INT64:
			if (staged == PHYSICAL_INT32)
				GATHER(int32, i64);
			else
				GATHER(int64, i64);
			break;
		case PHYSICAL_INT128:
			GATHER(int128, i128);
			break;
		case PHYSICAL_FLOAT:
			GATHER(float, f32);
			break;
		case PHYSICAL_DOUBLE:
			GATHER(double, f64);
			break;
		case PHYSICAL_BYTES:
			gather_bytes(slice, vector);
			break;
		case PHYSICAL_LIST:
		case PHYSICAL_ROW:
			elog(ERROR, "nested values cannot lie in a page");
	}
}

/*
 * Bring rows into the slice.  Returns the values in the form in which pages
 * take them: fixed widths in PLAIN form, byte arrays as views.
 */
static const void *
load_slice(ColumnWriter *column, const ColumnInput *input, int first, int count)
{
	ValueSlice *slice = column->writer->slice;
	int			width = column->form.width;

	if (input->definitions != NULL)
		select_shredded_values(slice, input, first, count);
	else
		select_values(slice, input->vector, input->rows, first, count);
	if (slice->nvalues < count && column->node->definition == 0)
		ereport(ERROR,
				(errcode(ERRCODE_NOT_NULL_VIOLATION),
				 errmsg("null value in column \"%s\", which is NOT NULL", column->field->name)));
	gather_values(slice, input->vector, column->form.staged);
	if (column->form.staged == PHYSICAL_BYTES)
		return slice->values;
	slice->plain_bytes = (size_t) slice->nvalues * width;
	if (column->form.staged != PHYSICAL_INT128)
		return slice->values;
	if (column->form.type == PARQUET_INT96)
		plain_encode_int96(slice->plain, slice->values, slice->nvalues);
	else
		plain_encode_decimals(slice->plain, slice->values, slice->nvalues, width);
	return slice->plain;
}

/* ---- pages ---- */

/* Compress the page's body and write the header's common part, open for its type's own. */
static void
begin_page_header(ParquetWriter *writer, ParquetPageType type, ThriftWriter *header)
{
	size_t		raw = writer->body.length;

	writer->page_data = writer->body.data;
	writer->page_length = raw;
	if (writer->codec != CODEC_NONE)
	{
		size_t		bound = codec_bound(writer->codec, raw);

		byte_buffer_clear(&writer->compressed, KEEP_BYTES);
		writer->page_data = byte_buffer_reserve(&writer->compressed, bound);
		writer->page_length = codec_compress(writer->codec, writer->level, writer->body.data, raw,
											 writer->compressed.data, bound);
	}
	if (raw > PG_INT32_MAX || writer->page_length > PG_INT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a page of %zu bytes is too long for a Parquet file", raw)));

	resetStringInfo(&writer->header);
	thrift_write_init(header, &writer->header);
	thrift_write_i32_field(header, 1, type);
	thrift_write_i32_field(header, 2, (int32) raw);
	thrift_write_i32_field(header, 3, (int32) writer->page_length);
	thrift_write_i32_field(header, 4, (int32) checksum_crc32(writer->page_data, writer->page_length));
}

static void
write_data_page_header(ParquetWriter *writer, int nlevels, ParquetEncoding encoding)
{
	ThriftWriter header;
	int16		saved;

	begin_page_header(writer, PARQUET_DATA_PAGE, &header);
	saved = thrift_write_struct_field(&header, 5);
	thrift_write_i32_field(&header, 1, nlevels);
	thrift_write_i32_field(&header, 2, encoding);
	thrift_write_i32_field(&header, 3, PARQUET_RLE);	/* definition levels */
	thrift_write_i32_field(&header, 4, PARQUET_RLE);	/* repetition levels */
	thrift_write_struct_end(&header, saved);
	thrift_write_struct_end(&header, 0);
}

static void
write_dictionary_page_header(ParquetWriter *writer, int nvalues)
{
	ThriftWriter header;
	int16		saved;

	begin_page_header(writer, PARQUET_DICTIONARY_PAGE, &header);
	saved = thrift_write_struct_field(&header, 7);
	thrift_write_i32_field(&header, 1, nvalues);
	thrift_write_i32_field(&header, 2, PARQUET_PLAIN);
	thrift_write_struct_end(&header, saved);
	thrift_write_struct_end(&header, 0);
}

/* Levels of the open page, after their length; nothing if there is only one. */
static void
put_levels(const ByteBuffer *levels, int max_level, ByteBuffer *body)
{
	size_t		start = body->length;
	uint32		length = 0;

	if (max_level == 0)
		return;
	byte_buffer_append(body, &length, sizeof(length));
	rle_encode_levels(body, (const uint8 *) levels->data, (int) levels->length, code_bit_width(max_level + 1));
	length = (uint32) (body->length - start - sizeof(length));
	memcpy(body->data + start, &length, sizeof(length));
}

static void
put_codes(ColumnWriter *column, ByteBuffer *body)
{
	uint8		width = (uint8) code_bit_width(column->dictionary.nvalues);

	byte_buffer_append(body, &width, sizeof(width));
	rle_encode_codes(body, (const int32 *) column->values.data, column->page_values, width);
}

/* Go on in PLAIN; the dictionary stays for the pages that use it. */
static void
leave_dictionary(ColumnWriter *column)
{
	column->use_dictionary = false;
	if (column->ncoded_pages == 0)
		dictionary_writer_reset(&column->dictionary);
}

/* Replace the open page's codes by what they stand for, and leave the dictionary. */
static void
turn_plain(ColumnWriter *column)
{
	ByteBuffer	plain;

	byte_buffer_init(&plain, column->writer->context);
	byte_buffer_reserve(&plain, column->page_plain_bytes);
	dictionary_decode(&column->dictionary, (const int32 *) column->values.data, column->page_values, &plain);
	byte_buffer_clear(&column->values, 0);
	column->values = plain;
	leave_dictionary(column);
}

/*
 * Build the open page's body; returns its encoding.  The first page decides
 * whether the chunk's dictionary pays.
 */
static ParquetEncoding
build_body(ColumnWriter *column)
{
	ByteBuffer *body = &column->writer->body;
	size_t		levels_length;

	byte_buffer_clear(body, KEEP_BYTES);
	put_levels(&column->repetitions, column->node->repetition, body);
	put_levels(&column->definitions, column->node->definition, body);
	if (column->page_values == 0)
		return PARQUET_PLAIN;	/* a dictionary without values would not be written */
	levels_length = body->length;
	if (column->use_dictionary)
	{
		put_codes(column, body);
		if (column->ncoded_pages > 0 ||
			body->length - levels_length + column->dictionary.plain.length < column->page_plain_bytes)
			return PARQUET_RLE_DICTIONARY;
		body->length = levels_length;
		turn_plain(column);
	}
	if (column->form.type == PARQUET_BOOLEAN)
		plain_encode_booleans(body, (const uint8 *) column->values.data, column->page_values);
	else
		byte_buffer_append(body, column->values.data, column->values.length);
	return PARQUET_PLAIN;
}

static WrittenPage *
add_page(ColumnWriter *column)
{
	if (column->npages == column->max_pages)
	{
		column->max_pages *= 2;
		column->pages = repalloc_huge(column->pages, column->max_pages * sizeof(WrittenPage));
	}
	return &column->pages[column->npages++];
}

/* Keep the sealed page in the row group's memory. */
static void
keep_page(ColumnWriter *column, WrittenPage *page)
{
	ParquetWriter *writer = column->writer;
	size_t		header_length = writer->header.len;

	page->length = header_length + writer->page_length;
	page->data = MemoryContextAllocHuge(writer->row_group_context, page->length);
	memcpy(page->data, writer->header.data, header_length);
	memcpy(page->data + header_length, writer->page_data, writer->page_length);
	page->first_row = column->nrows;
	page->nlevels = column->page_levels;
	page->nnulls = column->page_levels - column->page_values;
	page_index_add(column, page);
	column->raw_bytes += header_length + writer->body.length;
	column->stored_bytes += page->length;
}

static void
finish_page(ColumnWriter *column)
{
	ParquetEncoding encoding;

	if (column->page_levels == 0)
		return;
	CHECK_FOR_INTERRUPTS();
	encoding = build_body(column);
	write_data_page_header(column->writer, column->page_levels, encoding);
	keep_page(column, add_page(column));
	if (encoding == PARQUET_RLE_DICTIONARY)
		column->ncoded_pages++;

	value_bounds_merge(&column->chunk_bounds, column->form.staged, &column->page_bounds);
	value_bounds_reset(&column->page_bounds);
	column->nrows += column->page_rows;
	column->nlevels += column->page_levels;
	column->nnulls += column->page_levels - column->page_values;
	column->page_rows = 0;
	column->page_levels = 0;
	column->page_values = 0;
	column->page_plain_bytes = 0;
	byte_buffer_clear(&column->definitions, KEEP_BYTES);
	byte_buffer_clear(&column->repetitions, KEEP_BYTES);
	byte_buffer_clear(&column->values, KEEP_BYTES);
}

/* ---- appending ---- */

/*
 * Codes of a slice whose input has a dictionary of its own: each of its
 * entries is looked up once.
 */
static bool
map_input_codes(ValueSlice *slice, ValueDictionary *dictionary)
{
	const BytesView *values = (const BytesView *) slice->values;

	memset(slice->code_map, -1, slice->input_dictionary_size * sizeof(int32));
	for (int i = 0; i < slice->nvalues; i++)
	{
		int32	   *code = &slice->code_map[slice->input_codes[value_row(slice, i)]];

		if (*code < 0)
		{
			*code = dictionary_code_of(dictionary, values[i]);
			if (*code < 0)
				return false;
		}
		slice->codes[i] = *code;
	}
	return true;
}

/* Append a slice as codes; false, and nothing happened, when the dictionary is full. */
static bool
append_codes(ColumnWriter *column, const void *values)
{
	ValueSlice *slice = column->writer->slice;
	ValueDictionary *dictionary = &column->dictionary;
	int			nvalues_before = dictionary->nvalues;
	bool		fits;

	if (column->form.staged != PHYSICAL_BYTES)
		fits = dictionary_encode_fixed(dictionary, values, slice->nvalues, slice->codes);
	else if (slice->input_codes != NULL && slice->input_dictionary_size <= slice->nvalues)
		fits = map_input_codes(slice, dictionary);
	else
		fits = dictionary_encode_bytes(dictionary, values, slice->nvalues, slice->codes);
	if (!fits)
	{
		dictionary_rewind(dictionary, nvalues_before);
		return false;
	}
	byte_buffer_append(&column->values, slice->codes, slice->nvalues * sizeof(int32));
	if (column->form.staged == PHYSICAL_BYTES)
		dictionary_add_bounds(dictionary, slice->codes, slice->nvalues, column->npages, &column->page_bounds);
	else if (column->form.has_bounds)
		value_bounds_add(&column->page_bounds, column->form.staged, slice->values, slice->nvalues);
	return true;
}

static void
append_plain(ColumnWriter *column, const void *values)
{
	ValueSlice *slice = column->writer->slice;

	if (column->form.staged == PHYSICAL_BYTES)
		plain_encode_bytes(&column->values, values, slice->nvalues);
	else
		byte_buffer_append(&column->values, values, slice->plain_bytes);
	if (column->form.has_bounds)
		value_bounds_add(&column->page_bounds, column->form.staged, slice->values, slice->nvalues);
}

/* Does a row of the table begin here?  Only there a page may. */
static bool
begins_row(const ColumnInput *input, int i)
{
	return input->repetitions == NULL || input->repetitions[i] == 0;
}

/* The longest part of count that ends with a row of the table; all of it if a row is longer. */
static int
cut_at_row(const ColumnInput *input, int first, int count)
{
	int			cut = count;

	while (cut > 0 && !begins_row(input, first + cut))
		cut--;
	return cut > 0 ? cut : count;
}

/* The dictionary is full: go on in PLAIN, if possible on a new page. */
static void
end_codes(ColumnWriter *column, bool new_page)
{
	if (!new_page)
	{
		turn_plain(column);
		return;
	}
	/* what the page has so far is its last with codes */
	finish_page(column);
	leave_dictionary(column);
}

/* Append up to count rows to the open page; returns how many it took, at least one. */
static int
append_slice(ColumnWriter *column, const ColumnInput *input, int first, int count)
{
	ValueSlice *slice = column->writer->slice;
	const void *values = load_slice(column, input, first, count);

	if (!column->use_dictionary || !append_codes(column, values))
	{
		if (column->use_dictionary)
			end_codes(column, begins_row(input, first));
		while (count > 1 && column->page_plain_bytes + slice->plain_bytes > PAGE_BYTES)
		{
			count = cut_at_row(input, first, count / 2);
			values = load_slice(column, input, first, count);
		}
		append_plain(column, values);
	}
	if (column->node->definition > 0)
		byte_buffer_append(&column->definitions, slice->definitions, slice->nlevels);
	if (column->node->repetition > 0)
		byte_buffer_append(&column->repetitions, input->repetitions + first, slice->nlevels);
	column->page_rows += slice->nrows;
	column->page_levels += slice->nlevels;
	column->page_values += slice->nvalues;
	column->page_plain_bytes += slice->plain_bytes;
	return count;
}

static bool
page_is_full(const ColumnWriter *column)
{
	return column->page_rows >= PAGE_ROWS || column->page_levels >= PAGE_LEVELS ||
		(!column->use_dictionary && column->page_plain_bytes >= PAGE_BYTES);
}

void
column_writer_append(ColumnWriter *column, const ColumnInput *input, int first, int count)
{
	while (count > 0)
	{
		int			room = Min(SLICE_ROWS, Max(PAGE_ROWS - column->page_rows, 1));
		int			taken = count <= room ? count : cut_at_row(input, first, room);

		taken = append_slice(column, input, first, taken);
		first += taken;
		count -= taken;
		if (page_is_full(column) && (count == 0 || begins_row(input, first)))
			finish_page(column);
	}
}

/* ---- chunks ---- */

static void
write_dictionary_page(ColumnWriter *column, ChunkPlace *place)
{
	ParquetWriter *writer = column->writer;
	ByteBuffer *plain = &column->dictionary.plain;

	byte_buffer_clear(&writer->body, KEEP_BYTES);
	byte_buffer_append(&writer->body, plain->data, plain->length);
	write_dictionary_page_header(writer, column->dictionary.nvalues);
	place->dictionary_offset = storage_position(writer->file);
	storage_append(writer->file, writer->header.data, writer->header.len);
	storage_append(writer->file, writer->page_data, writer->page_length);
	place->raw_bytes += writer->header.len + writer->body.length;
	place->stored_bytes += writer->header.len + writer->page_length;
}

static BytesView
keep_bytes(MemoryContext context, StringInfo bytes)
{
	BytesView	view = {MemoryContextAlloc(context, Max(bytes->len, 1)), bytes->len};

	memcpy(unconstify(char *, view.data), bytes->data, bytes->len);
	return view;
}

/* Make what the footer will say of the chunk. */
static void
describe_chunk(ColumnWriter *column, const ChunkPlace *place, ChunkFooter *footer)
{
	MemoryContext context = column->writer->context;
	StringInfo	out = &column->writer->header;

	resetStringInfo(out);
	metadata_write_chunk(column, place, out);
	footer->metadata = keep_bytes(context, out);
	resetStringInfo(out);
	page_index_write_columns(column, out);
	footer->column_index = keep_bytes(context, out);
	resetStringInfo(out);
	page_index_write_offsets(column, place->data_offset, out);
	footer->offset_index = keep_bytes(context, out);
}

static void
begin_chunk(ColumnWriter *column)
{
	dictionary_writer_reset(&column->dictionary);
	value_bounds_reset(&column->chunk_bounds);
	column->use_dictionary = column->form.type != PARQUET_BOOLEAN;
	column->npages = 0;
	column->ncoded_pages = 0;
	column->nrows = 0;
	column->nlevels = 0;
	column->nnulls = 0;
	column->raw_bytes = 0;
	column->stored_bytes = 0;
}

void
column_writer_end_chunk(ColumnWriter *column, ChunkFooter *footer, int64 *raw_bytes, int64 *stored_bytes)
{
	StorageWriter *file = column->writer->file;
	ChunkPlace	place = {0};

	finish_page(column);
	place.raw_bytes = column->raw_bytes;
	place.stored_bytes = column->stored_bytes;
	if (column->ncoded_pages > 0)
		write_dictionary_page(column, &place);
	place.data_offset = storage_position(file);
	for (int i = 0; i < column->npages; i++)
	{
		CHECK_FOR_INTERRUPTS();
		storage_append(file, column->pages[i].data, column->pages[i].length);
	}
	describe_chunk(column, &place, footer);
	*raw_bytes = place.raw_bytes;
	*stored_bytes = place.stored_bytes;

	column->file_raw_bytes += place.raw_bytes;
	column->file_stored_bytes += place.stored_bytes;
	column->file_nulls += column->nnulls;
	value_bounds_merge(&column->file_bounds, column->form.staged, &column->chunk_bounds);
	begin_chunk(column);
}

/* With what is not yet compressed: the open page and the dictionary. */
size_t
column_writer_buffered(const ColumnWriter *column)
{
	return column->stored_bytes + column->values.length + column->definitions.length + column->repetitions.length +
		column->dictionary.plain.length;
}

/* What the open page and the dictionary would be in the file, but for compression. */
static size_t
open_bytes(const ColumnWriter *column)
{
	size_t		levels = (column->definitions.length + column->repetitions.length) / 8;
	size_t		coded = column->dictionary.plain.length;

	if (!column->use_dictionary)
		return levels + coded + column->page_plain_bytes;
	coded += (size_t) column->page_values * code_bit_width(column->dictionary.nvalues) / 8;
	return levels + (column->ncoded_pages > 0 ? coded : Min(coded, column->page_plain_bytes));
}

size_t
column_writer_expected(const ColumnWriter *column)
{
	double		raw = (double) column->raw_bytes + column->file_raw_bytes;
	double		stored = (double) column->stored_bytes + column->file_stored_bytes;
	double		ratio = raw > 0 ? stored / raw : 1;

	return column->stored_bytes + (size_t) (open_bytes(column) * ratio);
}
