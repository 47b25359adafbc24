/*
 * test_orc.c
 *		ORC's encodings against the specification's own examples, time zones, and
 *		whole files, written by pyarrow and by Paimon's Java library.
 */
#include "postgres.h"

#include "format/format.h"
#include "format/orc/orc.h"
#include "format/orc/run_length.h"
#include "format/orc/zone.h"
#include "orc_files.h"
#include "nested_values.h"
#include "storage/storage.h"
#include "unit.h"
#include "utils/memutils.h"

/*
 * The file of a table (ts TIMESTAMP(9), ch CHAR(4)) as Paimon 1.4 writes it
 * where the time zone is America/New_York.
 */
static const char java_file[] =
	"4f52431100000a061204080850005100000a260a0a00000000000000000000121808074a1218ff9fa6ecd4db0120f0898ffb"
	"d1ee01300150014900000a220a0900000000000000000012150807220f0a04202020201205c3a9202020183a5001050000ff"
	"fd4b00007806001ff70e80001e19cf80013ddfbb80013f73268000f48656fd00f48656ff026b27b5ff2100005e06002f0008"
	"0000006603dd00480000050000fffd3b0000616220206162636420202020c3a92020206120622078202020792020200f0000"
	"0004460050000498000028b52ffd20591d020082840d129045392f633631c41b62481f2107c3a64d0209201010ebceba53ba"
	"e3af56baf8369cca943e4e45a5cda94a69e3434ec5d2c24bb174030020c53bdb30a180017b00000a3b0a04080850000a1a08"
	"074a1218ff9fa6ecd4db0120f0898ffbd1ee013001500158400a170807220f0a04202020201205c3a9202020183a5001582f"
	"2d01000803109e021a0a0803105d186f204f2808220e080c120201021a0274731a026368221208093a0e0a097061696d6f6e"
	"2e69641201302214081120043a0e0a097061696d6f6e2e696412013130083a04080850003a1a08074a1218ff9fa6ecd4db01"
	"20f0898ffbd1ee013001500158403a170807220f0a04202020201205c3a9202020183a5001582f40904e480058016205312e"
	"392e320899011005188080102202000c2840300982f403034f524318";

static const OrcPlace place = {"file", "column"};

/* ---- streams of bytes in memory ---- */

static OrcFile *
memory_file(BytesView bytes)
{
	static FormatCounters counters;
	OrcFile    *file = palloc0(sizeof(OrcFile));

	file->memory = scan_memory_create();
	file->path = "file";
	file->tail = palloc0(bytes.length + ORC_PADDING);
	memcpy(file->tail, bytes.data, bytes.length);
	file->tail_length = bytes.length;
	file->counters = &counters;
	return file;
}

static void
open_stream(OrcStream *stream, BytesView bytes)
{
	stream_init(stream, memory_file(bytes), &place, 64);
	stream_open(stream, 0, bytes.length);
}

static void
check_integers(const char *digits, bool is_signed, bool version2, const int64 *expected, int count)
{
	IntReader  *reader = palloc0(sizeof(IntReader));
	int64	   *values = palloc0((count + 1) * sizeof(int64));

	/* at once, one by one, and from the middle */
	for (int step = 1; step <= count; step += count > 1 ? count - 1 : 1)
	{
		open_stream(&reader->stream, unit_hex(digits));
		int_reader_reset(reader, is_signed, version2);
		for (int i = 0; i < count; i += step)
			int_reader_read(reader, Min(step, count - i), values + i);
		for (int i = 0; i < count; i++)
			CHECK_MESSAGE(values[i] == expected[i], "%s: value %d is %lld", digits, i, (long long) values[i]);
		CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "column", int_reader_read(reader, 1, values));
	}
	open_stream(&reader->stream, unit_hex(digits));
	int_reader_reset(reader, is_signed, version2);
	int_reader_skip(reader, count - 1);
	int_reader_read(reader, 1, values);
	CHECK_INT(values[0], expected[count - 1]);
}

#define CHECK_INTEGERS(digits, is_signed, version2, ...) \
	do { \
		static const int64 expected[] = {__VA_ARGS__}; \
		check_integers(digits, is_signed, version2, expected, lengthof(expected)); \
	} while (0)

/* The specification's examples. */
static void
test_integers(void)
{
	CHECK_INTEGERS("610007", false, false,
				   7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
				   7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
				   7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7);
	CHECK_INTEGERS("02ff64", false, false, 100, 99, 98, 97, 96);
	CHECK_INTEGERS("fb020304070b", false, false, 2, 3, 4, 7, 11);
	CHECK_INTEGERS("fb020304070b", true, false, 1, -2, 2, -4, -6);
	CHECK_INTEGERS("0a2710", false, true, 10000, 10000, 10000, 10000, 10000);
	CHECK_INTEGERS("5e035ca1ab1edeadbeef", false, true, 23713, 43806, 57005, 48879);
	CHECK_INTEGERS("8e132b2107d01e00147028323c46505a646e78828c96a0aab4befce8", false, true,
				   2030, 2000, 2020, 1000000, 2040, 2050, 2060, 2070, 2080, 2090, 2100, 2110, 2120, 2130, 2140,
				   2150, 2160, 2170, 2180, 2190);
	CHECK_INTEGERS("c609020222424246", false, true, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29);
	/* fixed steps, down and up; both kinds in one stream */
	CHECK_INTEGERS("c0040a01", true, true, 5, 4, 3, 2, 1);
	CHECK_INTEGERS("c00306040a2710", false, true, 6, 8, 10, 12, 10000, 10000, 10000, 10000, 10000);
	/* one value, and a negative base of patches */
	CHECK_INTEGERS("c0000a01", true, true, 5);
}

static void
test_integer_damage(void)
{
	static const char *const damaged[] = {
		"",						/* nothing */
		"0a27",					/* a value cut short */
		"5e035ca1ab",			/* packed values cut short */
		"c609020222",			/* deltas cut short */
		"8e13ff2107d01e00147028323c46505a646e78828c96a0aab4befce8ffffffff",	/* patches of more than 64 bits */
		"8e002b2107d01effff",	/* a patch behind the run */
		"c00480808080808080808080808001",	/* a number too long */
	};

	for (int i = 0; i < lengthof(damaged); i++)
	{
		IntReader  *reader = palloc0(sizeof(IntReader));
		int64		values[64];

		open_stream(&reader->stream, unit_hex(damaged[i]));
		int_reader_reset(reader, false, true);
		CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "damaged", int_reader_read(reader, 20, values));
	}
}

/* Every width against bits taken one by one. */
static void
test_unpacking(void)
{
	static const int widths[] = {
		1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 26, 28, 30, 32, 40, 48,
		56, 64
	};
	uint8		data[21 * 8 + 8];
	uint64		values[21];

	for (int w = 0; w < lengthof(widths); w++)
	{
		int			width = widths[w];

		for (int i = 0; i < sizeof(data); i++)
			data[i] = (uint8) unit_random();
		unpack_bits(data, width, lengthof(values), values);
		for (int i = 0; i < lengthof(values); i++)
		{
			uint64		expected = 0;

			for (int bit = i * width; bit < (i + 1) * width; bit++)
				expected = expected << 1 | ((data[bit / 8] >> (7 - bit % 8)) & 1);
			CHECK_MESSAGE(values[i] == expected, "width %d value %d", width, i);
		}
	}
}

static void
test_bytes_and_bits(void)
{
	ByteReader	bytes;
	BitReader	bits;
	uint8		out[200];

	open_stream(&bytes.stream, unit_hex("6100fe4445"));
	byte_reader_reset(&bytes);
	byte_reader_read(&bytes, 102, out);
	CHECK(out[0] == 0 && out[99] == 0 && out[100] == 0x44 && out[101] == 0x45);
	open_stream(&bytes.stream, unit_hex("6100fe4445"));
	byte_reader_reset(&bytes);
	byte_reader_skip(&bytes, 101);
	byte_reader_read(&bytes, 1, out);
	CHECK_INT(out[0], 0x45);
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "", byte_reader_read(&bytes, 1, out));

	open_stream(&bits.bytes.stream, unit_hex("fd80aaff00f0"));
	bit_reader_reset(&bits);
	bit_reader_read(&bits, 3, out);
	bit_reader_read(&bits, 15, out + 3);
	bit_reader_skip(&bits, 4);
	bit_reader_read(&bits, 2, out + 18);
	CHECK(out[0] == 1 && out[1] == 0 && out[7] == 0);
	CHECK(out[8] == 1 && out[9] == 0 && out[10] == 1 && out[15] == 0);
	CHECK(out[16] == 1 && out[17] == 1 && out[18] == 1 && out[19] == 1);
}

/* Chunks: one that is stored, one that is compressed, values over the end of both. */
static void
test_chunks(void)
{
	static const char data[] = "hello, hello, hello, hello";
	OrcStream	stream;
	StringInfoData file;
	char		packed[256];
	char		out[64];
	size_t		length = codec_compress(CODEC_ZSTD, 0, data, sizeof(data), packed, sizeof(packed));
	uint64		second = 3 + 5;

	initStringInfo(&file);
	appendBinaryStringInfo(&file, "\x0b\0\0abcde", 8);
	appendStringInfoChar(&file, (char) (length << 1));
	appendBinaryStringInfo(&file, "\0\0", 2);
	appendBinaryStringInfo(&file, packed, (int) length);
	stream_init(&stream, memory_file((BytesView) {file.data, (uint32) file.len}), &place, 64);
	stream.file->compressed = true;
	stream.file->codec = CODEC_ZSTD;
	stream.file->block_bytes = 64;
	stream_open(&stream, 0, file.len);
	CHECK(memcmp(stream_take(&stream, 3), "abc", 3) == 0);
	CHECK(memcmp(stream_take(&stream, 9), "dehello, ", 9) == 0);
	stream_seek(&stream, second, 7);
	stream_read(&stream, sizeof(data) - 7, out);
	CHECK_STRING(out, data + 7);
	CHECK(stream_at_end(&stream));
	stream_seek(&stream, 0, 4);
	CHECK_INT(stream_byte(&stream), 'e');
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "column", stream_seek(&stream, second, 60));
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "column", stream_seek(&stream, file.len + 1, 0));
	stream_seek(&stream, 0, 0);
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "column", stream_skip(&stream, 100));
	/* larger than chunks may be */
	stream.file->block_bytes = 16;
	stream_seek(&stream, 0, 5);
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "column", stream_byte(&stream));
}

/* ---- time zones ---- */

static void
check_offset(const char *name, int64 instant, int64 expected)
{
	Zone	   *zone = zone_load(&place, name);

	if (CHECK(zone != NULL))
		CHECK_MESSAGE(zone_offset(zone, instant) == expected, "%s at %lld: %lld instead of %lld", name,
					  (long long) instant, (long long) zone_offset(zone, instant), (long long) expected);
}

static void
test_zones(void)
{
	CHECK(zone_load(&place, "UTC") == NULL && zone_load(&place, "GMT") == NULL && zone_load(&place, "") == NULL);
	check_offset("GMT+05:30", 0, 19800);
	check_offset("UTC-8", 0, -28800);
	check_offset("+0930", 0, 34200);
	check_offset("America/New_York", INT64CONST(1678604399), -18000);
	check_offset("America/New_York", INT64CONST(1678604400), -14400);
	check_offset("America/New_York", INT64CONST(1699163999), -14400);
	check_offset("America/New_York", INT64CONST(1699164000), -18000);
	/* before the first transition, and by rule after the last */
	check_offset("America/New_York", INT64CONST(-4000000000), -17762);
	check_offset("America/New_York", INT64CONST(4086590400), -14400);
	check_offset("America/New_York", INT64CONST(4099809600), -18000);
	check_offset("Europe/Berlin", INT64CONST(4109878800) - 1, 3600);
	check_offset("Europe/Berlin", INT64CONST(4109878800), 7200);
	check_offset("Australia/Sydney", INT64CONST(4102444800), 39600);
	check_offset("Australia/Sydney", INT64CONST(4118000000), 36000);
	check_offset("Asia/Kolkata", INT64CONST(4102444800), 19800);
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "Mars/Olympus", zone_load(&place, "Mars/Olympus"));
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "../../../etc", zone_load(&place, "../../../etc/hostname"));
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "/etc/", zone_load(&place, "/etc/hostname"));
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "tzdata.zi", zone_load(&place, "tzdata.zi"));
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "GMT+99", zone_load(&place, "GMT+99"));
}

/* ---- whole files ---- */

#define MAX_COLUMNS 10
#define GROUP_ROWS 3000
#define SMALL_ROWS 300
#define NESTED_ROWS 40

typedef struct OpenFile
{
	StorageFile *storage;
	FormatReader *reader;
	FormatCounters counters;
	int			ncolumns;
	DataField	columns[MAX_COLUMNS];
	Vector	   *vectors[MAX_COLUMNS];
} OpenFile;

static const RowRange *wanted_rows;	/* of files opened; NULL: all */

static const char *
write_file(BytesView content)
{
	static int	number;
	char	   *path = psprintf("%s/%d.orc", unit_directory(), number++);
	FILE	   *file = fopen(path, "wb");

	if (file == NULL || fwrite(content.data, 1, content.length, file) != content.length || fclose(file) != 0)
		elog(ERROR, "could not write \"%s\"", path);
	return path;
}

static void
add_column(OpenFile *file, const char *name, DataType *type)
{
	file->columns[file->ncolumns].name = pstrdup(name);
	file->columns[file->ncolumns].type = type;
	file->vectors[file->ncolumns] = vector_create(type, BATCH_ROWS);
	file->ncolumns++;
}

static void
begin_file(OpenFile *file, const char *path, const Predicate *predicate)
{
	FormatReadOptions options = {
		.ncolumns = file->ncolumns, .columns = file->columns, .predicate = predicate, .rows = wanted_rows,
		.counters = &file->counters
	};

	file->storage = storage_open(path);
	file->reader = format_open(format_lookup("orc"), file->storage, &options);
}

/* columns: names and types, in turn, NULL at the end. */
static OpenFile *
open_file(const char *path, const char *const *columns, const Predicate *predicate)
{
	OpenFile   *file = palloc0(sizeof(OpenFile));

	for (int i = 0; columns[2 * i] != NULL; i++)
		add_column(file, columns[2 * i], type_parse_atomic(columns[2 * i + 1]));
	begin_file(file, path, predicate);
	return file;
}

static void
close_file(OpenFile *file)
{
	format_close(file->reader);
	storage_close(file->storage);
}

/* All rows of one column. */
static Scalar *
read_column(const char *digits, const char *name, const char *type, int *nrows)
{
	const char *const columns[] = {name, type, NULL};
	OpenFile   *file = open_file(write_file(unit_hex(digits)), columns, NULL);
	Scalar	   *values = palloc0(Max(file->reader->file_rows, 1) * sizeof(Scalar));

	*nrows = 0;
	while (format_next(file->reader))
	{
		CHECK_INT(file->reader->first_row, *nrows);
		format_read_column(file->reader, 0, NULL, file->reader->nrows, file->vectors[0]);
		for (int i = 0; i < file->reader->nrows; i++)
		{
			Scalar		value = vector_get(file->vectors[0], i);

			values[(*nrows)++] = scalar_copy(file->columns[0].type, &value);
		}
	}
	CHECK_INT(*nrows, file->reader->file_rows);
	close_file(file);
	return values;
}

/* Check a column of types_file; expected is an expression of i. */
#define CHECK_TYPE(name, type, member, expected) \
	do { \
		int			nrows; \
		Scalar	   *values = read_column(types_file, name, type, &nrows); \
		CHECK_INT(nrows, 6); \
		for (int i = 0; i < nrows; i++) \
		{ \
			CHECK_MESSAGE(values[i].isnull == (i == 3), "%s row %d", name, i); \
			if (i != 3) \
				CHECK_MESSAGE(values[i].v.member == (expected), "%s row %d", name, i); \
		} \
	} while (0)

static int128
power_of_ten(int exponent)
{
	int128		value = 1;

	while (exponent-- > 0)
		value *= 10;
	return value;
}

static void
test_types(void)
{
	Scalar	   *values;
	int			nrows;

	CHECK_TYPE("b", "BOOLEAN", i8, i % 2 == 0);
	CHECK_TYPE("i8", "TINYINT", i8, i * 50 - 128);
	CHECK_TYPE("i8", "INT", i32, i * 50 - 128);
	CHECK_TYPE("i16", "SMALLINT", i16, i * 13107 - 32768);
	CHECK_TYPE("i32", "INT", i32, (int32) (i * INT64CONST(858993459) - INT64CONST(2147483648)));
	CHECK_TYPE("i32", "BIGINT", i64, i * INT64CONST(858993459) - INT64CONST(2147483648));
	CHECK_TYPE("i64", "BIGINT", i64, (i - 3) * INT64CONST(1234567890123456789));
	CHECK_TYPE("f", "FLOAT", f32, i * 0.5f - 1);
	CHECK_TYPE("f", "DOUBLE", f64, i * 0.5 - 1);
	CHECK_TYPE("d", "DOUBLE", f64, i * 0.25 - 1);
	CHECK_TYPE("dec9", "DECIMAL(9, 2)", i64, i * 12345 - 30000);
	CHECK_TYPE("dec9", "DECIMAL(20, 2)", i128, i * 12345 - 30000);
	CHECK_TYPE("dec38", "DECIMAL(38, 10)", i128, (i - 2) * power_of_ten(36));
	CHECK_TYPE("date", "DATE", i32, i * 10000 - 20000);
	CHECK_TYPE("i32", "TIME(3)", i32, (int32) (i * INT64CONST(858993459) - INT64CONST(2147483648)));
	CHECK_TYPE("ts", "TIMESTAMP(9)", i128, (i - 2) * INT64CONST(1000000007));
	CHECK_TYPE("ts", "TIMESTAMP(6)", i64, (i - 2) * INT64CONST(1000000) - (i < 2));
	CHECK_TYPE("ts", "TIMESTAMP(3)", i64, (i - 2) * INT64CONST(1000) - (i < 2));
	CHECK_TYPE("tz", "TIMESTAMP(9) WITH LOCAL TIME ZONE", i128, (i - 2) * INT64CONST(1000000007));
	CHECK_TYPE("s", "STRING", bytes.length, i);
	CHECK_TYPE("bin", "BYTES", bytes.length, 3);
	values = read_column(types_file, "bin", "BYTES", &nrows);
	CHECK_BYTES(values[5].v.bytes, unit_hex("05fa00"));
	CHECK_ERROR(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, "i16", read_column(types_file, "i16", "TINYINT", &nrows));
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "\"s\"", read_column(types_file, "s", "INT", &nrows));
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "\"dec9\"", read_column(types_file, "dec9", "DECIMAL(9, 3)", &nrows));
}

/* The wall clock of the writer's time zone, before, in and after the database's table; CHAR without its blanks. */
static void
test_java_file(void)
{
	static const struct
	{
		const char *nanos;
		const char *text;
	}			rows[] = {
		{"1688212800500000000", "ab"},
		{"1672574400000000001", "abcd"},
		{"4086590400000000000", ""},
		{"4099809600120000000", "\xc3\xa9"},
		{"-631151999877000000", "a b"},
		{"-631151999999999991", "x"},
		{NULL, NULL},
		{"-3773779200000000000", "y"},
	};
	DataType   *type = type_parse_atomic("TIMESTAMP(9)");
	int			nrows;
	Scalar	   *stamps = read_column(java_file, "ts", "TIMESTAMP(9)", &nrows);
	Scalar	   *texts = read_column(java_file, "ch", "CHAR(4)", &nrows);

	CHECK_INT(nrows, lengthof(rows));
	for (int i = 0; i < nrows; i++)
	{
		CHECK(stamps[i].isnull == (rows[i].text == NULL) && texts[i].isnull == stamps[i].isnull);
		if (stamps[i].isnull)
			continue;
		CHECK(stamps[i].v.i128 == unit_scalar(type, rows[i].nanos).v.i128);
		CHECK_BYTES(texts[i].v.bytes, unit_bytes(rows[i].text));
	}
}

static void
test_codecs(void)
{
	static const char *const files[] = {snappy_file, zlib_file, lz4_file, zstd_file, old_file};
	int			nrows;

	for (int f = 0; f < lengthof(files); f++)
	{
		Scalar	   *ids = read_column(files[f], "id", "BIGINT", &nrows);
		Scalar	   *words = read_column(files[f], "word", "STRING", &nrows);

		CHECK_INT(nrows, SMALL_ROWS);
		for (int i = 0; i < nrows; i++)
		{
			CHECK_INT(ids[i].v.i64, i * (i % 3 - 1));
			CHECK_BYTES(words[i].v.bytes, unit_bytes(psprintf("word%d", i % 13)));
		}
	}
	read_column(empty_file, "id", "BIGINT", &nrows);
	CHECK_INT(nrows, 0);
}

/* ---- nested columns ---- */

static DataType *
array_of(DataType *element)
{
	return nested_type_of(TYPE_ARRAY, 1, &element, NULL);
}

static void
check_array(const Vector *list, int i, int row)
{
	const ListView *view = &list->values.list[i];

	CHECK(vector_get(list, i).isnull == (row % 5 == 4));
	if (row % 5 == 4)
		return;
	CHECK_INT(view->length, row % 4);
	for (int k = 0; k < view->length; k++)
	{
		Scalar		element = vector_get(list->children[0], view->start + k);

		CHECK(element.isnull == (k == 2) && (k == 2 || element.v.i32 == row * 10 + k));
	}
}

static void
check_map(const Vector *map, int i, int row)
{
	const ListView *view = &map->values.list[i];

	CHECK(vector_get(map, i).isnull == (row % 7 == 6));
	if (row % 7 == 6)
		return;
	CHECK_INT(view->length, row % 3);
	for (int k = 0; k < view->length; k++)
	{
		CHECK_BYTES(vector_get(map->children[0], view->start + k).v.bytes, unit_bytes(psprintf("k%d", k)));
		CHECK_INT(vector_get(map->children[1], view->start + k).v.i64, row - k);
	}
}

static void
check_row(const Vector *vector, int i, int row)
{
	const Vector *texts = vector->children[1];

	CHECK(vector_get(vector, i).isnull == (row % 3 == 2));
	if (row % 3 == 2)
		return;
	CHECK(vector_get(vector->children[0], i).isnull == (row % 4 == 3));
	CHECK(row % 4 == 3 || vector_get(vector->children[0], i).v.i32 == row);
	CHECK_INT(texts->values.list[i].length, row % 3);
	for (int k = 0; k < row % 3; k++)
		CHECK_BYTES(vector_get(texts->children[0], texts->values.list[i].start + k).v.bytes,
					unit_bytes(psprintf("y%d", row)));
	CHECK(vector_get(vector->children[2], i).isnull);
}

static OpenFile *
open_nested(BytesView content)
{
	static const char *const names[] = {"x", "y", "none"};
	DataType   *string = type_parse_atomic("STRING");
	DataType   *integer = type_parse_atomic("INT");
	DataType   *pair[] = {string, type_parse_atomic("BIGINT")};
	DataType   *fields[] = {integer, array_of(string), string};
	OpenFile   *file = palloc0(sizeof(OpenFile));

	add_column(file, "list", array_of(integer));
	add_column(file, "map", nested_type_of(TYPE_MAP, 2, pair, NULL));
	add_column(file, "row", nested_type_of(TYPE_ROW, 3, fields, names));
	begin_file(file, write_file(content), NULL);
	return file;
}

/* All rows, then some of them. */
static void
test_nested(void)
{
	const char *const atomic[] = {"list", "INT", NULL};

	for (int step = 1; step < 90; step += 44)
	{
		OpenFile   *file = open_nested(unit_hex(nested_file));
		int32		selection[NESTED_ROWS];
		int			nselected = 0;

		CHECK(format_next(file->reader));
		CHECK_INT(file->reader->nrows, NESTED_ROWS);
		for (int row = NESTED_ROWS - 1 - (NESTED_ROWS - 1) / step * step; row < NESTED_ROWS; row += step)
			selection[nselected++] = row;
		for (int i = 0; i < 3; i++)
			format_read_column(file->reader, i, selection, nselected, file->vectors[i]);
		for (int k = 0; k < nselected; k++)
		{
			check_array(file->vectors[0], selection[k], selection[k]);
			check_map(file->vectors[1], selection[k], selection[k]);
			check_row(file->vectors[2], selection[k], selection[k]);
		}
		CHECK(!format_next(file->reader));
		close_file(file);
	}
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "\"list\"",
				open_file(write_file(unit_hex(nested_file)), atomic, NULL));
}

/* ---- skipping ---- */

static Predicate *
leaf(PredicateOp op, int column, const char *type_text, const char *value)
{
	DataType   *type = type_parse_atomic(type_text);
	Scalar	   *scalar = palloc(sizeof(Scalar));

	*scalar = unit_scalar(type, value);
	return predicate_leaf(op, column, type, scalar, value == NULL ? 0 : 1);
}

static const char *const group_columns[] = {
	"id", "BIGINT", "mixed", "INT", "word", "STRING", "text", "STRING", "half", "DOUBLE", "flag", "BOOLEAN",
	"amount", "DECIMAL(12, 2)", "at", "TIMESTAMP(9)", "none", "INT", NULL
};

static bool
is_text(const Scalar *value, bool isnull, const char *text)
{
	BytesView	expected = unit_bytes(text);

	if (value->isnull || isnull)
		return value->isnull == isnull;
	return value->v.bytes.length == expected.length && memcmp(value->v.bytes.data, expected.data, expected.length) == 0;
}

static bool
is_right(int column, const Scalar *value, int row)
{
	switch (column)
	{
		case 0:
			return value->v.i64 == row;
		case 1:
			return value->isnull == (row % 7 == 0) && (value->isnull || value->v.i32 == row * row % 1000);
		case 2:
			return is_text(value, row % 11 == 0, psprintf("word%d", row % 13));
		case 3:
			return is_text(value, row % 5 == 0, psprintf("row %d", row));
		case 4:
			return value->v.f64 == row / 2.0;
		case 5:
			return value->v.i8 == (row >= 1500);
		case 6:
			return value->v.i64 == row * 37 - 50000;
		case 7:
			return value->v.i128 == row * INT64CONST(60000000007);
		default:
			return value->isnull;
	}
}

/*
 * Read groups_file with a predicate: batches must be right and cover the rows
 * first to last; of its three row groups no more than max_groups come.
 */
static void
check_skipping(Predicate *predicate, int first, int last, int max_groups)
{
	OpenFile   *file = open_file(write_file(unit_hex(groups_file)), group_columns, predicate);
	int			next = first;

	while (format_next(file->reader))
	{
		int			start = (int) file->reader->first_row;

		for (int column = 0; column < file->ncolumns; column++)
		{
			format_read_column(file->reader, column, NULL, file->reader->nrows, file->vectors[column]);
			for (int i = 0; i < file->reader->nrows; i++)
			{
				Scalar		value = vector_get(file->vectors[column], i);

				CHECK_MESSAGE(is_right(column, &value, start + i), "column %d row %d", column, start + i);
			}
		}
		if (next >= start && next < start + file->reader->nrows)
			next = Min(last + 1, start + file->reader->nrows);
	}
	CHECK_MESSAGE(next == last + 1, "rows up to %d instead of %d to %d", next, first, last);
	CHECK_MESSAGE(file->counters.rows_read <= max_groups * 1000, "%d rows read", (int) file->counters.rows_read);
	close_file(file);
}

static void
test_skipping(void)
{
	check_skipping(NULL, 0, 2999, 3);
	check_skipping(leaf(PREDICATE_EQ, 0, "BIGINT", "1300"), 1300, 1300, 1);
	check_skipping(leaf(PREDICATE_GE, 0, "BIGINT", "2000"), 2000, 2999, 1);
	check_skipping(leaf(PREDICATE_LT, 4, "DOUBLE", "500"), 0, 999, 1);
	check_skipping(leaf(PREDICATE_EQ, 5, "BOOLEAN", "true"), 1500, 2999, 2);
	check_skipping(leaf(PREDICATE_GT, 6, "DECIMAL(12, 2)", "600.00"), 2973, 2999, 1);
	check_skipping(leaf(PREDICATE_EQ, 3, "STRING", "row 1001"), 1001, 1001, 2);
	check_skipping(leaf(PREDICATE_EQ, 2, "STRING", "zebra"), 0, -1, 0);
	check_skipping(leaf(PREDICATE_IS_NOT_NULL, 8, "INT", NULL), 0, -1, 0);
	check_skipping(leaf(PREDICATE_IS_NULL, 1, "INT", NULL), 0, 2999, 3);
	check_skipping(leaf(PREDICATE_EQ, 0, "BIGINT", "5000"), 0, -1, 0);
	check_skipping(predicate_combine(PREDICATE_OR, list_make2(leaf(PREDICATE_EQ, 0, "BIGINT", "1"),
															  leaf(PREDICATE_EQ, 0, "BIGINT", "2999"))), 2000, 2999, 2);
}

/* Parts of a file, as several readers take them: together each row once, and row groups counted once. */
static void
check_parts(Predicate *predicate)
{
	OpenFile   *whole = open_file(write_file(unit_hex(groups_file)), group_columns, predicate);
	FormatCounters sum = {0};
	RowRange	part = {0, 0};
	int64		whole_rows = 0;

	while (format_next(whole->reader))
		whole_rows += whole->reader->nrows;
	while (part.end < whole->reader->file_rows)
	{
		OpenFile   *file;

		part.start = part.end;
		part.end = part.start + 1 + unit_random_below(1400);
		part.end = Min(part.end, whole->reader->file_rows);
		wanted_rows = &part;
		file = open_file(write_file(unit_hex(groups_file)), group_columns, predicate);
		wanted_rows = NULL;
		while (format_next(file->reader))
		{
			int			first = (int) file->reader->first_row;

			CHECK(first >= part.start && first + file->reader->nrows <= part.end);
			for (int column = 0; column < file->ncolumns; column++)
			{
				format_read_column(file->reader, column, NULL, file->reader->nrows, file->vectors[column]);
				for (int i = 0; i < file->reader->nrows; i++)
				{
					Scalar		value = vector_get(file->vectors[column], i);

					CHECK_MESSAGE(is_right(column, &value, first + i), "column %d row %d", column, first + i);
				}
			}
		}
		sum.files += file->counters.files;
		sum.row_groups += file->counters.row_groups;
		sum.row_groups_read += file->counters.row_groups_read;
		sum.rows_read += file->counters.rows_read;
		close_file(file);
	}
	CHECK_INT(sum.files, 1);
	CHECK_INT(sum.row_groups, whole->counters.row_groups);
	CHECK_INT(sum.row_groups_read, whole->counters.row_groups_read);
	CHECK_INT(sum.rows_read, whole_rows);
	close_file(whole);
}

static void
test_parts(void)
{
	RowRange	beyond = {2000, 4000};

	for (int round = 0; round < 20; round++)
	{
		check_parts(NULL);
		check_parts(leaf(PREDICATE_GE, 0, "BIGINT", psprintf("%d", unit_random_below(3000))));
		check_parts(leaf(PREDICATE_EQ, 0, "BIGINT", "1300"));
	}
	wanted_rows = &beyond;
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "the manifest says more",
				open_file(write_file(unit_hex(groups_file)), group_columns, NULL));
	wanted_rows = NULL;
}

/* Columns read for fewer and fewer rows, over the ends of row groups. */
static void
test_selections(void)
{
	for (int round = 0; round < 20; round++)
	{
		OpenFile   *file = open_file(write_file(unit_hex(groups_file)), group_columns, NULL);
		int32		selection[BATCH_ROWS];

		while (format_next(file->reader))
		{
			int			nselected = 0;

			for (int i = unit_random_below(1900); i < file->reader->nrows; i += 1 + unit_random_below(1 + 50 * round))
				selection[nselected++] = i;
			for (int column = 0; column < file->ncolumns; column++)
			{
				if (unit_random_below(3) == 0)
					continue;
				format_read_column(file->reader, column, selection, nselected, file->vectors[column]);
				for (int k = 0; k < nselected; k++)
				{
					Scalar		value = vector_get(file->vectors[column], selection[k]);

					CHECK_MESSAGE(is_right(column, &value, (int) file->reader->first_row + selection[k]),
								  "column %d row %d", column, selection[k]);
				}
			}
		}
		close_file(file);
	}
}

/* ---- what is refused ---- */

/* The postscript of a file whose compression is replaced. */
static BytesView
with_compression(const char *digits, char compression)
{
	BytesView	bytes = unit_hex(digits);
	uint32		postscript = bytes.length - 1 - (uint8) bytes.data[bytes.length - 1];

	for (uint32 i = postscript; i + 1 < bytes.length; i++)
	{
		/* field 2, a number */
		if (bytes.data[i] == 0x10)
		{
			unconstify(char *, bytes.data)[i + 1] = compression;
			return bytes;
		}
	}
	elog(ERROR, "no compression in the postscript");
}

static void
test_refused(void)
{
	static const char *const columns[] = {"id", "BIGINT", NULL};
	FormatWriteOptions options = {0};
	BytesView	bytes;

	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "lzo",
				open_file(write_file(with_compression(zlib_file, 3)), columns, NULL));
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "brotli",
				open_file(write_file(with_compression(zlib_file, 6)), columns, NULL));
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "77",
				open_file(write_file(with_compression(zlib_file, 77)), columns, NULL));
	bytes = unit_hex(zlib_file);
	unconstify(char *, bytes.data)[bytes.length - 2] = 'D';
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "damaged", open_file(write_file(bytes), columns, NULL));
	bytes.length = 0;
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "damaged", open_file(write_file(bytes), columns, NULL));
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "writing orc files is not supported",
				format_create(format_lookup("orc"), NULL, &options));
}

int
main(void)
{
	unit_begin();
	RUN(test_integers);
	RUN(test_integer_damage);
	RUN(test_unpacking);
	RUN(test_bytes_and_bits);
	RUN(test_chunks);
	RUN(test_zones);
	RUN(test_types);
	RUN(test_java_file);
	RUN(test_codecs);
	RUN(test_nested);
	RUN(test_skipping);
	RUN(test_parts);
	RUN(test_selections);
	RUN(test_refused);
	return unit_end();
}
