/*
 * test_parquet_write.c
 *		The Parquet writer: encodings against the format's own examples, a whole
 *		file byte by byte, and what pages, statistics and indexes hold.
 */
#include "postgres.h"

#include <math.h>

#include "format/format.h"
#include "format/parquet/parquet.h"
#include "format/parquet/parquet_write.h"
#include "format/parquet/thrift.h"

#include "unit.h"

/* ---- helpers ---- */

static BytesView
view_of(const ByteBuffer *buffer)
{
	BytesView	view = {buffer->data, (uint32) buffer->length};

	return view;
}

static BytesView
repeat(const char *text, int times)
{
	StringInfoData out;
	BytesView	view;

	initStringInfo(&out);
	for (int i = 0; i < times; i++)
		appendStringInfoString(&out, text);
	view.data = out.data;
	view.length = out.len;
	return view;
}

/* A column of a test file. */
typedef struct TestColumn
{
	const char *name;
	const char *type;
	Scalar		(*value) (int row);
} TestColumn;

#define MAX_COLUMNS 4

typedef struct TestFile
{
	const char *path;
	BytesView	content;
	ColumnStatistics statistics[MAX_COLUMNS];
} TestFile;

static Scalar
null_value(void)
{
	Scalar		value = {true};

	return value;
}

static Scalar
int_value(int64 number)
{
	Scalar		value = {false};

	value.v.i64 = number;
	return value;
}

static Scalar
text_value(BytesView bytes)
{
	Scalar		value = {false};

	value.v.bytes = bytes;
	return value;
}

static Scalar
double_value(double number)
{
	Scalar		value = {false};

	value.v.f64 = number;
	return value;
}

static void
append_batch(FormatWriter *writer, const TestColumn *columns, DataField *fields, int ncolumns, int first, int nrows)
{
	Vector	   *vectors[MAX_COLUMNS];

	for (int c = 0; c < ncolumns; c++)
	{
		vectors[c] = vector_create(fields[c].type, nrows);
		vector_reset(vectors[c]);
		for (int i = 0; i < nrows; i++)
		{
			Scalar		value = columns[c].value(first + i);

			vector_set(vectors[c], i, &value);
		}
	}
	format_write(writer, vectors, NULL, nrows);
}

static TestFile
write_file(const char *name, const TestColumn *columns, int ncolumns, int nrows, FormatWriteOptions options)
{
	TestFile	file = {psprintf("%s/%s", unit_directory(), name)};
	DataField	fields[MAX_COLUMNS] = {0};
	StorageWriter *storage;
	FormatWriter *writer;
	uint64		size;
	size_t		length;

	for (int c = 0; c < ncolumns; c++)
	{
		fields[c].id = c;
		fields[c].name = pstrdup(columns[c].name);
		fields[c].type = type_parse_atomic(columns[c].type);
	}
	options.ncolumns = ncolumns;
	options.columns = fields;
	storage = storage_create(file.path);
	writer = format_create(&parquet_format, storage, &options);
	for (int first = 0; first < nrows; first += 1000)
		append_batch(writer, columns, fields, ncolumns, first, Min(1000, nrows - first));
	CHECK_INT(writer->nrows, nrows);
	format_finish(writer, file.statistics);
	size = storage_finish(storage);
	file.content.data = storage_read_whole(file.path, 0, false, &length);
	file.content.length = (uint32) length;
	CHECK_INT(length, size);
	return file;
}

static FormatWriteOptions
options_of(const char *compression, size_t row_group_bytes)
{
	FormatWriteOptions options = {0};

	options.compression = compression;
	options.row_group_bytes = row_group_bytes;
	return options;
}

static bool
contains(BytesView haystack, BytesView needle)
{
	return memmem(haystack.data, haystack.length, needle.data, needle.length) != NULL;
}

/* What a page's header says. */
typedef struct PageHeader
{
	int			type;
	int			stored;			/* bytes that follow */
	int			nvalues;
	int			encoding;
} PageHeader;

static void
read_page_detail(ThriftReader *reader, PageHeader *page)
{
	int16		saved = thrift_struct_begin(reader);
	int16		id;
	ThriftType	type;

	while (thrift_field(reader, &id, &type))
	{
		if (id == 1)
			page->nvalues = thrift_read_i32(reader);
		else if (id == 2)
			page->encoding = thrift_read_i32(reader);
		else
			thrift_skip(reader, type);
	}
	thrift_struct_end(reader, saved);
}

/* Read the pages that follow each other from the file's beginning on. */
static int
read_pages(BytesView file, PageHeader *pages, int npages)
{
	uint32		at = 4;

	for (int i = 0; i < npages; i++)
	{
		ThriftReader reader;
		int16		id;
		ThriftType	type;

		memset(&pages[i], 0, sizeof(PageHeader));
		thrift_read_init(&reader, file.data + at, file.length - at, "test");
		thrift_struct_begin(&reader);
		while (thrift_field(&reader, &id, &type))
		{
			if (id == 1)
				pages[i].type = thrift_read_i32(&reader);
			else if (id == 3)
				pages[i].stored = thrift_read_i32(&reader);
			else if (type == THRIFT_STRUCT)
				read_page_detail(&reader, &pages[i]);
			else
				thrift_skip(&reader, type);
		}
		at = (uint32) ((const char *) reader.cursor - file.data) + pages[i].stored;
	}
	return at;
}

#define CHECK_PAGE(page, type_wanted, encoding_wanted, nvalues_wanted) \
	do { \
		CHECK_INT((page).type, type_wanted); \
		CHECK_INT((page).encoding, encoding_wanted); \
		CHECK_INT((page).nvalues, nvalues_wanted); \
	} while (0)

/* ---- thrift ---- */

static void
test_thrift(void)
{
	StringInfoData out;
	ThriftWriter writer;
	int16		saved;
	BytesView	view;

	initStringInfo(&out);
	thrift_write_init(&writer, &out);
	thrift_write_i32_field(&writer, 1, 1);
	thrift_write_i64_field(&writer, 3, -1);
	thrift_write_bool_field(&writer, 4, true);
	saved = thrift_write_struct_field(&writer, 5);
	thrift_write_byte_field(&writer, 1, -2);
	thrift_write_bool_field(&writer, 2, false);
	thrift_write_struct_end(&writer, saved);
	thrift_write_binary_field(&writer, 6, "abc", 3);
	thrift_write_i16_field(&writer, 40, 300);
	thrift_write_list_field(&writer, 41, THRIFT_I32, 3);
	thrift_write_zigzag(&writer, 0);
	thrift_write_zigzag(&writer, PG_INT32_MAX);
	thrift_write_zigzag(&writer, PG_INT32_MIN);
	thrift_write_list_field(&writer, 42, THRIFT_TRUE, 15);
	for (int i = 0; i < 15; i++)
		thrift_write_bool(&writer, i % 2 == 0);
	thrift_write_struct_end(&writer, 0);

	view.data = out.data;
	view.length = out.len;
	CHECK_BYTES(view, unit_hex("1502 2601 11 1c 13fe 12 00 1803616263 0450 d804"
							   "1935 00 feffffff0f ffffffff0f"
							   "19f10f 010201020102010201020102010201 00"));
}

/* ---- encodings ---- */

static ByteBuffer
new_buffer(void)
{
	ByteBuffer	buffer;

	byte_buffer_init(&buffer, CurrentMemoryContext);
	return buffer;
}

static void
test_hybrid_packed(void)
{
	static const int32 codes[] = {0, 1, 2, 3, 4, 5, 6, 7};
	ByteBuffer	out = new_buffer();

	/* the format's own example */
	rle_encode_codes(&out, codes, 8, 3);
	CHECK_BYTES(view_of(&out), unit_hex("03 88c6fa"));

	out.length = 0;
	rle_encode_codes(&out, codes, 3, 3);
	CHECK_BYTES(view_of(&out), unit_hex("03 880000"));

	out.length = 0;
	rle_encode_codes(&out, codes, 0, 3);
	CHECK_INT(out.length, 0);
}

static void
test_hybrid_runs(void)
{
	int32		codes[40];
	uint8		levels[100];
	ByteBuffer	out = new_buffer();

	for (int i = 0; i < 40; i++)
		codes[i] = i < 2 ? i + 1 : 300;
	rle_encode_codes(&out, codes, 40, 9);
	/* two values and six borrowed from the run, then 32 of them */
	CHECK_BYTES(view_of(&out), unit_hex("03 0104b064c992254b96 40 2c01"));

	memset(levels, 1, sizeof(levels));
	out.length = 0;
	rle_encode_levels(&out, levels, 100, 1);
	CHECK_BYTES(view_of(&out), unit_hex("c801 01"));

	levels[1] = 0;
	levels[99] = 0;
	out.length = 0;
	rle_encode_levels(&out, levels, 100, 1);
	CHECK_BYTES(view_of(&out), unit_hex("03 fd b601 01 03 00"));
}

/* Decode the hybrid as the format describes it. */
static void
decode_hybrid(BytesView bytes, int width, int32 *values, int nvalues)
{
	const uint8 *at = (const uint8 *) bytes.data;
	int			n = 0;

	while (n < nvalues)
	{
		uint32		header = 0;
		int			shift = 0;

		do
			header |= (uint32) (*at & 0x7F) << shift;
		while (shift += 7, *at++ & 0x80);
		if (header & 1)
		{
			for (uint32 i = 0; i < (header >> 1) * 8; i++)
			{
				int32		value = 0;

				for (int bit = 0; bit < width; bit++)
					value |= ((at[(i * width + bit) / 8] >> ((i * width + bit) % 8)) & 1) << bit;
				if (n < nvalues)
					values[n++] = value;
				else
					CHECK_INT(value, 0);
			}
			at += (header >> 1) * width;
		}
		else
		{
			int32		value = 0;

			memcpy(&value, at, (width + 7) / 8);
			at += (width + 7) / 8;
			for (uint32 i = 0; i < header >> 1; i++)
				values[n++] = value;
		}
	}
	CHECK_INT(n, nvalues);
	CHECK(at == (const uint8 *) bytes.data + bytes.length);
}

static void
test_hybrid_random(void)
{
	int32		codes[3000];
	int32		decoded[3000];
	uint8		levels[3000];
	ByteBuffer	out = new_buffer();

	for (int round = 0; round < 300; round++)
	{
		int			width = 1 + unit_random_below(20);
		int			count = unit_random_below(3000);
		int			longest = 1 + unit_random_below(60);

		for (int i = 0; i < count;)
		{
			int32		value = (int32) (unit_random() & ((UINT64CONST(1) << width) - 1));

			for (int run = 1 + unit_random_below(longest); run > 0 && i < count; run--)
				codes[i++] = value;
		}
		out.length = 0;
		rle_encode_codes(&out, codes, count, width);
		decode_hybrid(view_of(&out), width, decoded, count);
		if (!CHECK(memcmp(codes, decoded, count * sizeof(int32)) == 0))
			break;

		for (int i = 0; i < count; i++)
			levels[i] = codes[i] & 1;
		out.length = 0;
		rle_encode_levels(&out, levels, count, 1);
		decode_hybrid(view_of(&out), 1, decoded, count);
		for (int i = 0; i < count; i++)
			if (!CHECK_INT(decoded[i], levels[i]))
				return;
	}
}

static void
test_plain(void)
{
	static const uint8 booleans[] = {1, 0, 1, 1, 0, 0, 0, 1, 0, 1};
	BytesView	texts[] = {unit_bytes("ab"), unit_bytes(""), unit_bytes("c")};
	int128		decimals[] = {1, -1, 256, -((int128) 1 << 71)};
	char		fixed[4 * 9];
	BytesView	fixed_view = {fixed, sizeof(fixed)};
	ByteBuffer	out = new_buffer();

	plain_encode_booleans(&out, booleans, lengthof(booleans));
	CHECK_BYTES(view_of(&out), unit_hex("8d 02"));

	out.length = 0;
	plain_encode_bytes(&out, texts, lengthof(texts));
	CHECK_BYTES(view_of(&out), unit_hex("02000000 6162 00000000 01000000 63"));

	plain_encode_decimals(fixed, decimals, lengthof(decimals), 9);
	CHECK_BYTES(fixed_view, unit_hex("000000000000000001 ffffffffffffffffff 000000000000000100 800000000000000000"));
}

static void
test_int96(void)
{
	int128		nanos[] = {0, -1, INT64CONST(86400000000000)};
	int128		beyond = (int128) PG_INT64_MAX * PG_INT64_MAX;
	char		out[3 * 12];
	BytesView	view = {out, sizeof(out)};

	/* the day before the epoch is 2440587, its last nanosecond 86399999999999 */
	plain_encode_int96(out, nanos, lengthof(nanos));
	CHECK_BYTES(view, unit_hex("0000000000000000 8c3d2500" "ffff4e91944e0000 8b3d2500" "0000000000000000 8d3d2500"));
	CHECK_ERROR(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE, "timestamp out of range", plain_encode_int96(out, &beyond, 1));
}

/* ---- whole files ---- */

static Scalar
small_id(int row)
{
	Scalar		value = {false};

	value.v.i32 = row + 1;
	return value;
}

static Scalar
small_name(int row)
{
	return row == 1 ? null_value() : text_value(unit_bytes(row == 0 ? "a" : "b\xc3\xa9"));
}

/* Read and found right by pyarrow and parquet-mr when it was made. */
static void
test_file_bytes(void)
{
	static const TestColumn columns[] = {{"id", "INT NOT NULL", small_id}, {"name", "STRING", small_name}};
	TestFile	file = write_file("small.parquet", columns, 2, 3, options_of("none", 0));

	CHECK_BYTES(file.content, unit_hex("5041523115001518151815d9f5fef1091c1506150015061506000001000000020000000300000015"
									   "001524152415c3eee5ef091c1506150015061506000002000000030501000000610300000062c3a9"
									   "19110219180401000000191804030000001502191600001911021918016119180362c3a915021916"
									   "0200191c1608154616000000191c164e1552160000001502193c480d7061696d6f6e5f736368656d"
									   "611504001502250018026964550000150c250218046e616d65250035021c1c0000001606191c192c"
									   "26001c1502192500061918026964150016061646164626083c360028040300000018040100000000"
									   "191c150015001502000016f401151416a001152e0026001c150c192500061918046e616d65150016"
									   "0616521652264e3c3602280362c3a918016100191c1500150015020000168802151416ce01152600"
									   "16980116062608169801140000281773747265616d686f7573652076657273696f6e20312e30192c"
									   "1c00001c000000e100000050415231"));
	CHECK(file.statistics[0].has_min && file.statistics[0].has_max && file.statistics[0].has_null_count);
	CHECK_INT(file.statistics[0].min.v.i32, 1);
	CHECK_INT(file.statistics[0].max.v.i32, 3);
	CHECK_INT(file.statistics[1].null_count, 1);
	CHECK_BYTES(file.statistics[1].min.v.bytes, unit_bytes("a"));
	CHECK_BYTES(file.statistics[1].max.v.bytes, unit_bytes("b\xc3\xa9"));
}

static void
test_empty_file(void)
{
	static const TestColumn columns[] = {{"id", "INT NOT NULL", small_id}};
	TestFile	file = write_file("empty.parquet", columns, 1, 0, options_of("zstd", 0));

	/* read and found right by pyarrow and parquet-mr when it was made */
	CHECK_BYTES(file.content, unit_hex("504152311502192c480d7061696d6f6e5f736368656d611502001502250018026964550000160019"
									   "0c281773747265616d686f7573652076657273696f6e20312e30191c1c0000004400000050415231"));
	CHECK(!file.statistics[0].has_min && !file.statistics[0].has_max);
	CHECK_INT(file.statistics[0].null_count, 0);
}

/* ---- dictionaries ---- */

static Scalar
few_values(int row)
{
	return int_value(row % 10);
}

static Scalar
distinct_values(int row)
{
	return int_value(row * INT64CONST(1000003));
}

/* Few values at first, then more than a dictionary holds. */
static Scalar
later_distinct_values(int row)
{
	return int_value(row < 30000 ? row % 10 : row * INT64CONST(1000003));
}

static Scalar
no_values(int row)
{
	return null_value();
}

static void
test_dictionary_pays(void)
{
	static const TestColumn columns[] = {{"c", "BIGINT", few_values}};
	TestFile	file = write_file("few.parquet", columns, 1, 45000, options_of("none", 0));
	PageHeader	pages[4];

	read_pages(file.content, pages, 4);
	CHECK_PAGE(pages[0], PARQUET_DICTIONARY_PAGE, PARQUET_PLAIN, 10);
	CHECK_PAGE(pages[1], PARQUET_DATA_PAGE, PARQUET_RLE_DICTIONARY, 20000);
	CHECK_PAGE(pages[3], PARQUET_DATA_PAGE, PARQUET_RLE_DICTIONARY, 5000);
}

static void
test_dictionary_does_not_pay(void)
{
	static const TestColumn columns[] = {{"c", "BIGINT NOT NULL", distinct_values}};
	TestFile	file = write_file("distinct.parquet", columns, 1, 21000, options_of("none", 0));
	PageHeader	pages[2];

	read_pages(file.content, pages, 2);
	CHECK_PAGE(pages[0], PARQUET_DATA_PAGE, PARQUET_PLAIN, 20000);
	CHECK_INT(pages[0].stored, 160000);
	CHECK_PAGE(pages[1], PARQUET_DATA_PAGE, PARQUET_PLAIN, 1000);
}

static void
test_dictionary_full(void)
{
	static const TestColumn columns[] = {{"c", "BIGINT NOT NULL", later_distinct_values}};
	TestFile	file = write_file("full.parquet", columns, 1, 200000, options_of("none", 0));
	PageHeader	pages[12];
	int			coded = 0;
	int			plain = 0;

	read_pages(file.content, pages, lengthof(pages));
	CHECK_INT(pages[0].type, PARQUET_DICTIONARY_PAGE);
	CHECK(pages[0].stored <= 1024 * 1024 && pages[0].stored == pages[0].nvalues * 8);
	for (int i = 1; i < lengthof(pages); i++)
	{
		if (pages[i].encoding == PARQUET_RLE_DICTIONARY)
		{
			CHECK_INT(plain, 0);
			coded += pages[i].nvalues;
		}
		else
			plain += pages[i].nvalues;
	}
	CHECK_INT(coded + plain, 200000);
	/* slices that no longer fitted are not in the dictionary, even in part */
	CHECK_INT(pages[0].nvalues, 10 + coded - 30000);
}

static void
test_all_null(void)
{
	static const TestColumn columns[] = {{"c", "STRING", no_values}};
	TestFile	file = write_file("null.parquet", columns, 1, 30000, options_of("none", 0));
	PageHeader	pages[2];

	read_pages(file.content, pages, 2);
	CHECK_PAGE(pages[0], PARQUET_DATA_PAGE, PARQUET_PLAIN, 20000);
	CHECK_PAGE(pages[1], PARQUET_DATA_PAGE, PARQUET_PLAIN, 10000);
	CHECK(!file.statistics[0].has_min && !file.statistics[0].has_max);
	CHECK_INT(file.statistics[0].null_count, 30000);
}

static Scalar
large_values(int row)
{
	return text_value(repeat("0123456789abcdef", 64));
}

static Scalar
large_distinct_values(int row)
{
	BytesView	value = repeat("0123456789abcdef", 64);

	memcpy(unconstify(char *, value.data), &row, sizeof(row));
	return text_value(value);
}

/* About a megabyte a page, whatever the batch. */
static void
test_page_bytes(void)
{
	static const TestColumn columns[] = {{"c", "BYTES NOT NULL", large_distinct_values}};
	TestFile	file = write_file("large.parquet", columns, 1, 5000, options_of("none", 0));
	PageHeader	page;
	int			rows = 0;

	for (int npages = 1; rows < 5000; npages++)
	{
		PageHeader	pages[20];

		if (!CHECK(npages < lengthof(pages)))
			return;
		read_pages(file.content, pages, npages);
		page = pages[npages - 1];
		CHECK(page.stored <= 1024 * 1024 + 1028);
		rows += page.nvalues;
	}
	CHECK_INT(rows, 5000);
}

/* The same value again and again costs next to nothing. */
static void
test_large_dictionary_value(void)
{
	static const TestColumn columns[] = {{"c", "BYTES NOT NULL", large_values}};
	TestFile	file = write_file("same.parquet", columns, 1, 5000, options_of("none", 0));

	CHECK(file.content.length < 4000);
}

static void
test_row_groups(void)
{
	static const TestColumn columns[] = {{"c", "BIGINT NOT NULL", distinct_values}};
	TestFile	file = write_file("groups.parquet", columns, 1, 10000, options_of("none", 1));
	PageHeader	pages[10];

	/* every batch ends a group */
	read_pages(file.content, pages, 10);
	for (int i = 0; i < 10; i++)
		CHECK_PAGE(pages[i], PARQUET_DATA_PAGE, PARQUET_PLAIN, 1000);
	CHECK_INT(file.statistics[0].max.v.i64, 9999 * INT64CONST(1000003));
}

static void
test_row_positions(void)
{
	DataField	field = {7, "c", type_parse_atomic("INT")};
	FormatWriteOptions options = options_of("none", 0);
	StorageWriter *storage = storage_create(psprintf("%s/positions", unit_directory()));
	Vector	   *vector = vector_create(field.type, 6);
	static const int32 rows[] = {1, 2, 5};
	ColumnStatistics statistics;
	FormatWriter *writer;

	vector_reset(vector);
	for (int i = 0; i < 6; i++)
		vector->values.i32[i] = (i - 3) * 10;
	vector->has_nulls = true;
	memset(vector->nulls, 0, 6);
	vector->nulls[2] = true;
	options.ncolumns = 1;
	options.columns = &field;
	writer = format_create(&parquet_format, storage, &options);
	format_write(writer, &vector, rows, 3);
	CHECK_INT(writer->nrows, 3);
	format_finish(writer, &statistics);
	storage_abort(storage);
	CHECK_INT(statistics.min.v.i32, -20);
	CHECK_INT(statistics.max.v.i32, 20);
	CHECK_INT(statistics.null_count, 1);
}

/* ---- statistics ---- */

static Scalar
zeros(int row)
{
	return double_value(row == 0 ? 0.0 : row == 1 ? -0.0 : 0.0);
}

static Scalar
with_nan(int row)
{
	return double_value(row == 1 ? NAN : row);
}

static Scalar
bytes_values(int row)
{
	return text_value(unit_bytes(row == 0 ? "a" : "\xff"));
}

static void
test_statistics(void)
{
	static const TestColumn columns[] = {
		{"zero", "DOUBLE", zeros}, {"nan", "DOUBLE", with_nan}, {"bytes", "BYTES", bytes_values},
		{"text", "STRING", bytes_values}
	};
	TestFile	file = write_file("statistics.parquet", columns, 4, 3, options_of("none", 0));
	ColumnStatistics *of = file.statistics;

	CHECK(signbit(of[0].min.v.f64) && of[0].min.v.f64 == 0);
	CHECK(!signbit(of[0].max.v.f64) && of[0].max.v.f64 == 0);
	CHECK(!of[1].has_min && !of[1].has_max && of[1].has_null_count);
	CHECK(!of[2].has_min && !of[2].has_max && of[2].has_null_count);
	CHECK_BYTES(of[3].min.v.bytes, unit_bytes("a"));
	CHECK_BYTES(of[3].max.v.bytes, unit_bytes("\xff"));
}

static Scalar
long_ascii(int row)
{
	return text_value(repeat("x", 70));
}

/* The 64th byte is in the middle of a character. */
static Scalar
long_text(int row)
{
	return text_value(repeat("\xe6\xbc\xa2", 30));
}

/* Nothing is above this text but longer ones. */
static Scalar
highest_text(int row)
{
	return text_value(repeat("\xf4\x8f\xbf\xbf", 20));
}

static Scalar
long_bytes(int row)
{
	return text_value(repeat("\x01\xff", 40));
}

/* Shortened bounds, as they stand in the column index: a length and the bytes. */
static void
test_shortened_bounds(void)
{
	static const TestColumn columns[] = {
		{"a", "STRING", long_ascii}, {"t", "STRING", long_text}, {"h", "STRING", highest_text},
		{"b", "BYTES", long_bytes}
	};
	TestFile	file = write_file("bounds.parquet", columns, 4, 1, options_of("snappy", 0));
	BytesView	x63 = repeat("x", 63);
	BytesView	text20 = repeat("\xe6\xbc\xa2", 20);

	CHECK(contains(file.content, unit_bytes(psprintf("\x40%sx" "\x19\x18" "\x40%sy", x63.data, x63.data))));
	CHECK(contains(file.content, unit_bytes(psprintf("\x3f%s\xe6\xbc\xa2" "\x19\x18" "\x3f%s\xe6\xbc\xa3",
													 text20.data, text20.data))));
	CHECK(contains(file.content, unit_bytes(psprintf("\x40%s" "\x19\x18" "\x50%s",
													 repeat("\xf4\x8f\xbf\xbf", 16).data,
													 repeat("\xf4\x8f\xbf\xbf", 20).data))));
	CHECK(contains(file.content, unit_bytes(psprintf("\x40%s" "\x19\x18" "\x3f%s\x02",
													 repeat("\x01\xff", 32).data,
													 repeat("\x01\xff", 31).data))));
}

/* ---- refusals ---- */

static void
test_refusals(void)
{
	static const TestColumn nulls[] = {{"c", "INT NOT NULL", no_values}};
	static const TestColumn numbers[] = {{"c", "INT NOT NULL", small_id}};
	DataField	blob = {1, "picture", type_make(TYPE_BLOB, 0, 0, true)};

	CHECK_ERROR(ERRCODE_NOT_NULL_VIOLATION, "null value in column \"c\"",
				write_file("refused1", nulls, 1, 1, options_of("none", 0)));
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "Parquet compression \"brotli\"",
				write_file("refused2", numbers, 1, 1, options_of("brotli", 0)));
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "column \"picture\" of type BLOB", column_form(&blob));
}

int
main(void)
{
	unit_begin();
	RUN(test_thrift);
	RUN(test_hybrid_packed);
	RUN(test_hybrid_runs);
	RUN(test_hybrid_random);
	RUN(test_plain);
	RUN(test_int96);
	RUN(test_file_bytes);
	RUN(test_empty_file);
	RUN(test_dictionary_pays);
	RUN(test_dictionary_does_not_pay);
	RUN(test_dictionary_full);
	RUN(test_all_null);
	RUN(test_page_bytes);
	RUN(test_large_dictionary_value);
	RUN(test_row_groups);
	RUN(test_row_positions);
	RUN(test_statistics);
	RUN(test_shortened_bounds);
	RUN(test_refusals);
	return unit_end();
}
