/*
 * page_index_write.c
 *		The page index: bounds and places of the pages of a column chunk.
 *
 * Bounds need not be values that occur, so long byte arrays are shortened: a
 * least one to its beginning, a greatest one to the next value above all that
 * begin so.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "format/parquet/parquet_write.h"
#include "format/parquet/thrift.h"
#include "mb/pg_wchar.h"

#define BOUND_BYTES 64			/* to which byte arrays are shortened */
#define MAX_BOUND_BYTES 4096	/* longer ones, if they cannot be, are not worth an index */
#define FIRST_SURROGATE 0xD800
#define AFTER_SURROGATES 0xE000
#define LAST_CODE_POINT 0x10FFFF

static bool
is_continuation(char byte)
{
	return ((uint8) byte & 0xC0) == 0x80;
}

/* Where the character that ends before end begins. */
static uint32
character_start(BytesView value, uint32 end)
{
	uint32		start = end - 1;

	while (start > 0 && end - start < 4 && is_continuation(value.data[start]))
		start--;
	return start;
}

/* The longest beginning of at most BOUND_BYTES that ends where a character does. */
static uint32
text_cut(BytesView value)
{
	uint32		cut = BOUND_BYTES;

	while (cut > BOUND_BYTES - 4 && is_continuation(value.data[cut]))
		cut--;
	return is_continuation(value.data[cut]) ? BOUND_BYTES : cut;
}

/* Bytes of a character in UTF-8. */
static uint32
encoded_length(uint32 code_point)
{
	return code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;
}

/*
 * The code point of bytes, which must be one well-formed character; -1 if they
 * are not.  (The encoding of a lake is UTF-8 whatever the server's is.)
 */
static int32
code_point_of(const char *bytes, uint32 length)
{
	uint8		encoded[MAX_MULTIBYTE_CHAR_LEN + 1] = {0};
	uint8		again[MAX_MULTIBYTE_CHAR_LEN + 1] = {0};
	pg_wchar	code_point;

	if (length > 4)
		return -1;
	memcpy(encoded, bytes, length);
	code_point = utf8_to_unicode(encoded);
	if (code_point > LAST_CODE_POINT || encoded_length(code_point) != length)
		return -1;
	unicode_to_utf8(code_point, again);
	return memcmp(encoded, again, length) == 0 ? (int32) code_point : -1;
}

/* Above every text that begins as buffer does; 0 when there is no such text. */
static uint32
increment_text(char *buffer, uint32 length)
{
	BytesView	value = {buffer, length};

	while (length > 0)
	{
		uint32		start = character_start(value, length);
		int32		code_point = code_point_of(buffer + start, length - start);

		if (code_point < 0)
			return 0;
		if (code_point < LAST_CODE_POINT)
		{
			code_point++;
			if (code_point == FIRST_SURROGATE)
				code_point = AFTER_SURROGATES;
			unicode_to_utf8((pg_wchar) code_point, (unsigned char *) buffer + start);
			return start + encoded_length(code_point);
		}
		length = start;
	}
	return 0;
}

/* The same for bytes that are not text. */
static uint32
increment_bytes(char *buffer, uint32 length)
{
	for (; length > 0; length--)
	{
		uint8		last = (uint8) buffer[length - 1];

		if (last < 0xFF)
		{
			buffer[length - 1] = (char) (last + 1);
			return length;
		}
	}
	return 0;
}

/* A greatest value's shortened form, into buffer; 0 when there is none. */
static uint32
shorten_max(const ColumnForm *form, BytesView value, char *buffer)
{
	uint32		cut = form->is_text ? text_cut(value) : BOUND_BYTES;

	memcpy(buffer, value.data, cut);
	return form->is_text ? increment_text(buffer, cut) : increment_bytes(buffer, cut);
}

static BytesView
copy_bytes(MemoryContext context, const char *data, uint32 length)
{
	char	   *copy = MemoryContextAlloc(context, Max(length, 1));
	BytesView	view = {copy, length};

	if (length > 0)
		memcpy(copy, data, length);
	return view;
}

/* Copy byte array bounds, shortened; false when they are too long. */
static bool
shorten_bounds(const ColumnWriter *column, WrittenPage *page)
{
	MemoryContext context = column->writer->row_group_context;
	BytesView	min = page->min.v.bytes;
	BytesView	max = page->max.v.bytes;
	char		buffer[BOUND_BYTES + MAX_MULTIBYTE_CHAR_LEN + 1];

	if (min.length > BOUND_BYTES)
		min.length = column->form.is_text ? text_cut(min) : BOUND_BYTES;
	if (max.length > BOUND_BYTES)
	{
		uint32		length = shorten_max(&column->form, max, buffer);

		if (length > 0)
		{
			max.data = buffer;
			max.length = length;
		}
	}
	if (max.length > MAX_BOUND_BYTES)
		return false;
	page->min.v.bytes = copy_bytes(context, min.data, min.length);
	page->max.v.bytes = copy_bytes(context, max.data, max.length);
	return true;
}

void
page_index_add(ColumnWriter *column, WrittenPage *page)
{
	page->has_bounds = value_bounds_get(&column->page_bounds, column->form.staged, &page->min, &page->max);
	if (page->has_bounds && column->form.staged == PHYSICAL_BYTES)
		page->has_bounds = shorten_bounds(column, page);
}

static bool
is_null_page(const WrittenPage *page)
{
	return page->nnulls == page->nlevels;
}

/* A column index must have the bounds of every page that has values. */
static bool
has_column_index(const ColumnWriter *column)
{
	if (!column->form.has_bounds)
		return false;
	for (int i = 0; i < column->npages; i++)
	{
		if (!column->pages[i].has_bounds && !is_null_page(&column->pages[i]))
			return false;
	}
	return true;
}

/* Null pages do not count. */
static ParquetBoundaryOrder
boundary_order(const ColumnWriter *column)
{
	PhysicalType staged = column->form.staged;
	const WrittenPage *last = NULL;
	bool		ascending = true;
	bool		descending = true;

	for (int i = 0; i < column->npages; i++)
	{
		const WrittenPage *page = &column->pages[i];

		if (is_null_page(page))
			continue;
		if (last != NULL)
		{
			int			min_order = scalar_compare_values(staged, &last->min, &page->min);
			int			max_order = scalar_compare_values(staged, &last->max, &page->max);

			ascending = ascending && min_order <= 0 && max_order <= 0;
			descending = descending && min_order >= 0 && max_order >= 0;
		}
		last = page;
	}
	return ascending ? PARQUET_ASCENDING : descending ? PARQUET_DESCENDING : PARQUET_UNORDERED;
}

static void
write_bounds(const ColumnWriter *column, ThriftWriter *index, int16 id, bool max)
{
	char		buffer[MAX_FIXED_WIDTH];

	thrift_write_list_field(index, id, THRIFT_BINARY, column->npages);
	for (int i = 0; i < column->npages; i++)
	{
		const WrittenPage *page = &column->pages[i];
		BytesView	bytes = {"", 0};

		if (!is_null_page(page))
			bytes = statistics_bytes(&column->form, max ? &page->max : &page->min, buffer);
		thrift_write_binary(index, bytes.data, bytes.length);
	}
}

void
page_index_write_columns(const ColumnWriter *column, StringInfo out)
{
	ThriftWriter index;

	if (!has_column_index(column))
		return;
	thrift_write_init(&index, out);
	thrift_write_list_field(&index, 1, THRIFT_TRUE, column->npages);
	for (int i = 0; i < column->npages; i++)
		thrift_write_bool(&index, is_null_page(&column->pages[i]));
	write_bounds(column, &index, 2, false);
	write_bounds(column, &index, 3, true);
	thrift_write_i32_field(&index, 4, boundary_order(column));
	thrift_write_list_field(&index, 5, THRIFT_I64, column->npages);
	for (int i = 0; i < column->npages; i++)
		thrift_write_zigzag(&index, column->pages[i].nnulls);
	thrift_write_struct_end(&index, 0);
}

/* The pages follow each other from offset on. */
void
page_index_write_offsets(const ColumnWriter *column, uint64 offset, StringInfo out)
{
	ThriftWriter index;

	thrift_write_init(&index, out);
	thrift_write_list_field(&index, 1, THRIFT_STRUCT, column->npages);
	for (int i = 0; i < column->npages; i++)
	{
		const WrittenPage *page = &column->pages[i];
		int16		saved = thrift_write_struct_begin(&index);

		thrift_write_i64_field(&index, 1, (int64) offset);
		thrift_write_i32_field(&index, 2, (int32) page->length);
		thrift_write_i64_field(&index, 3, page->first_row);
		thrift_write_struct_end(&index, saved);
		offset += page->length;
	}
	thrift_write_struct_end(&index, 0);
}
