/*
 * test_parquet_read.c
 *		Codecs, Thrift, encodings, conversions, and whole Parquet files.
 *
 * The files were written by pyarrow and by Paimon's Java library.
 */
#include "postgres.h"

#include "format/codec.h"
#include "format/format.h"
#include "format/parquet/convert.h"
#include "format/parquet/decode.h"
#include "format/parquet/parquet.h"
#include "format/parquet/thrift.h"
#include "parquet_files.h"
#include "storage/storage.h"
#include "unit.h"
#include "utils/memutils.h"

/*
 * The file of a primary-key table (k TIMESTAMP(9), v INT) as Paimon 1.4
 * writes it: INT96, for times before 1970 with negative nanos of the day.
 */
static const char java_file[] =
	"50415231150415a80115c00115fcbff2df0b3c150e1504000028b52ffd0048a002002e144b2a55caffff661325007372b4b9"
	"28d6ffff5833250060ec8b2226ddffff3037250029c9f6c499440000c74b2500fa52e8d2691e0000645b25005b4971cb5d3f"
	"000033652500721872bc7e4a0000c47a25000100001500150a152215f1cc99c3061c150e150415081508000028b52ffd0048"
	"280000030388c61a01000015001570154e15c79de0a90a1c150e150015081508000028b52ffd0048dc0000a0180016001700"
	"140019001500130000000000000006540200030101000015041508152015efefcea9043c15021504000028b52ffd00482000"
	"000000000001000015001504151c15e5838d83091c150e150415081508000028b52ffd00481000000003010000150415a801"
	"15c00115fcbff2df0b3c150e1504000028b52ffd0048a002002e144b2a55caffff661325007372b4b928d6ffff5833250060"
	"ec8b2226ddffff3037250029c9f6c499440000c74b2500fa52e8d2691e0000645b25005b4971cb5d3f000033652500721872"
	"bc7e4a0000c47a25000100001500150a152215f1cc99c3061c150e150415081508000028b52ffd0048280000030388c61a01"
	"000015001544155c15f9edadf8011c150e150015061508000028b52ffd004810010002000000037ff4030000f1030000f203"
	"0000ec030000f6030000ef030000ea0300000100001911021918081300000000000000191808190000000000000015021916"
	"00001911021918040000000019180400000000150219160000191102191804ea030000191804f6030000150219160000191c"
	"16f201155016000000191c16c202157c16000000191c168404154a16000000191c16b806155016000000191c168807158a01"
	"160000001502196c480d7061696d6f6e5f736368656d61150a001506250018065f4b45595f6b55feffffff07001504250018"
	"105f53455155454e43455f4e554d42455255fcffffff0f0015022500180b5f56414c55455f4b494e44251e35faffffff0f1c"
	"ac1308110000001506250018016b55000015022502180176550200160e191c195c26001c1506192508041918065f4b45595f"
	"6b150c160e168a0216ba0226f20126081c360000192c15041504150200150015041502003c000016ac0915160026001c1504"
	"192508001918105f53455155454e43455f4e554d424552150c160e169e01167c26c2023c1808190000000000000018081300"
	"0000000000001600280819000000000000001808130000000000000000191c150015001502003c000016c209151616920815"
	"3e0026001c15021925080419180b5f56414c55455f4b494e44150c160e166016900126840426be031c180400000000180400"
	"000000160028040000000018040000000000192c15041504150200150015041502003c000016d809151616d008152e002600"
	"1c1506192508041918016b150c160e168a0216ba0226b80626ce041c360000192c15041504150200150015041502003c0000"
	"16ee0915160026001c1502193508000619180176150c160e1672168a012688073c1804f60300001804ea03000016002804f6"
	"0300001804ea03000000191c150015001502003c000016840a151816fe08152e00168407160e2608168a08140000284a7061"
	"72717565742d6d722076657273696f6e20312e31362e3020286275696c642034303263333831306333373264323936303365"
	"31383137373161636562666563633731626566363129195c1c00001c00001c00001c00001c0000007c02000050415231";

static const ParquetPlace place = {"file", "column"};

/* ---- codecs ---- */

static const Codec codecs[] = {
	CODEC_NONE, CODEC_SNAPPY, CODEC_GZIP, CODEC_DEFLATE, CODEC_LZ4_RAW, CODEC_LZ4_HADOOP, CODEC_ZSTD
};

static void
fill(char *data, size_t length)
{
	for (size_t i = 0; i < length; i++)
		data[i] = (char) (i % 100 < 80 ? 'a' + i / 1000 % 20 : unit_random_below(256));
}

static void
test_codecs(void)
{
	static const size_t lengths[] = {1, 10, 1000, 300000};

	for (int c = 0; c < lengthof(codecs); c++)
	{
		for (int i = 0; i < lengthof(lengths); i++)
		{
			Codec		codec = codecs[c];
			size_t		length = lengths[i];
			char	   *data = palloc(length);
			char	   *out = palloc(length + 1);
			size_t		bound = codec_bound(codec, length);
			char	   *packed = palloc(bound);
			size_t		packed_length;

			fill(data, length);
			packed_length = codec_compress(codec, 0, data, length, packed, bound);
			CHECK_MESSAGE(codec_decompress(codec, packed, packed_length, out, length) &&
						  memcmp(data, out, length) == 0, "%s of %zu bytes", codec_name(codec), length);
			CHECK_MESSAGE(!codec_decompress(codec, packed, packed_length, out, length + 1),
						  "%s into more than it is", codec_name(codec));
			CHECK_MESSAGE(!codec_decompress(codec, packed, packed_length - 1, out, length),
						  "%s cut short", codec_name(codec));
		}
	}
}

static void
test_codecs_unknown_length(void)
{
	static const Codec streams[] = {CODEC_NONE, CODEC_SNAPPY, CODEC_GZIP, CODEC_DEFLATE, CODEC_ZSTD};
	size_t		length = 200000;
	char	   *data = palloc(length);

	fill(data, length);
	for (int c = 0; c < lengthof(streams); c++)
	{
		Codec		codec = streams[c];
		char	   *packed = palloc(codec_bound(codec, length));
		size_t		packed_length = codec_compress(codec, 0, data, length, packed, codec_bound(codec, length));
		size_t		out_length = 0;
		char	   *out = codec_decompress_unknown(codec, packed, packed_length, length, &out_length);

		CHECK_MESSAGE(out != NULL && out_length == length && memcmp(data, out, length) == 0,
					  "%s", codec_name(codec));
		CHECK_MESSAGE(codec_decompress_unknown(codec, packed, packed_length, length - 1, &out_length) == NULL,
					  "%s above the limit", codec_name(codec));
		if (codec != CODEC_NONE)
			CHECK_MESSAGE(codec_decompress_unknown(codec, packed, packed_length - 1, length, &out_length) == NULL,
						  "%s cut short", codec_name(codec));
	}
}

/* gzip allows one stream after the other. */
static void
test_gzip_members(void)
{
	char		packed[200];
	char		out[10];
	size_t		first = codec_compress(CODEC_GZIP, 0, "hello", 5, packed, sizeof(packed));
	size_t		second = codec_compress(CODEC_GZIP, 0, "world", 5, packed + first, sizeof(packed) - first);

	CHECK(codec_decompress(CODEC_GZIP, packed, first + second, out, 10));
	CHECK(memcmp(out, "helloworld", 10) == 0);
}

/* ---- Thrift ---- */

/* {1: i32 -5, 2: "ab", 4: true, 20: [1, 2], 21: {1: 7}} */
static const char thrift_struct[] = "15 09 18 02 6162 21 09 28 25 02 04 1c 15 0e 00 00";

static void
test_thrift(void)
{
	BytesView	bytes = unit_hex(thrift_struct);
	ThriftReader reader;
	int16		saved;
	int16		id;
	ThriftType	type;
	ThriftType	element;

	thrift_read_init(&reader, bytes.data, bytes.length, "file");
	saved = thrift_struct_begin(&reader);
	CHECK(thrift_field(&reader, &id, &type) && id == 1 && type == THRIFT_I32);
	CHECK_INT(thrift_read_i32(&reader), -5);
	CHECK(thrift_field(&reader, &id, &type) && id == 2 && type == THRIFT_BINARY);
	CHECK_STRING(thrift_read_string(&reader), "ab");
	CHECK(thrift_field(&reader, &id, &type) && id == 4);
	CHECK(thrift_read_bool(&reader, type));
	CHECK(thrift_field(&reader, &id, &type) && id == 20 && type == THRIFT_LIST);
	CHECK_INT(thrift_read_list(&reader, &element), 2);
	CHECK_INT(element, THRIFT_I32);
	CHECK_INT(thrift_read_int(&reader), 1);
	CHECK_INT(thrift_read_int(&reader), 2);
	CHECK(thrift_field(&reader, &id, &type) && id == 21 && type == THRIFT_STRUCT);
	thrift_skip(&reader, type);
	CHECK(!thrift_field(&reader, &id, &type));
	thrift_struct_end(&reader, saved);
	CHECK(reader.cursor == reader.end);
}

static void
skip_struct(BytesView bytes)
{
	ThriftReader reader;

	thrift_read_init(&reader, bytes.data, bytes.length, "file");
	thrift_skip(&reader, THRIFT_STRUCT);
}

static void
test_thrift_damage(void)
{
	BytesView	bytes = unit_hex(thrift_struct);
	char		deep[200];

	for (uint32 length = 0; length < bytes.length; length++)
	{
		BytesView	cut = {bytes.data, length};

		CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "file", skip_struct(cut));
	}
	/* structs in structs, and a list longer than the input */
	memset(deep, 0x1c, sizeof(deep));
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "file", skip_struct((BytesView) {deep, sizeof(deep)}));
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "file", skip_struct(unit_hex("19 f3 ffffffff0f 00")));
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "file", skip_struct(unit_hex("18 ffffffff0f 00")));
}

/* ---- encodings ---- */

/* Append a run header. */
static int
put_varint(uint8 *out, uint32 value)
{
	int			n = 0;

	for (; value >= 0x80; value >>= 7)
		out[n++] = (uint8) (value | 0x80);
	out[n++] = (uint8) value;
	return n;
}

/* Random values as runs and packed groups; returns the length. */
static size_t
encode_runs(int bit_width, int32 *values, int count, uint8 *out)
{
	size_t		length = 0;
	uint32		mask = bit_width == 32 ? PG_UINT32_MAX : (1u << bit_width) - 1;

	for (int at = 0; at < count;)
	{
		int			n = 8 * (1 + unit_random_below(20));

		if (unit_random_below(2) == 0)
		{
			uint32		value = (uint32) unit_random() & mask;

			n = Min(n, count - at);
			length += put_varint(out + length, (uint32) n << 1);
			memcpy(out + length, &value, (bit_width + 7) / 8);
			length += (bit_width + 7) / 8;
			for (int i = 0; i < n; i++)
				values[at + i] = (int32) value;
		}
		else
		{
			length += put_varint(out + length, (uint32) (n / 8) << 1 | 1);
			memset(out + length, 0, (size_t) n / 8 * bit_width);
			for (int i = 0; i < n; i++)
			{
				uint32		value = (uint32) unit_random() & mask;

				for (int bit = 0; bit < bit_width; bit++)
				{
					int			to = i * bit_width + bit;

					out[length + to / 8] |= ((value >> bit) & 1) << (to % 8);
				}
				if (at + i < count)
					values[at + i] = (int32) value;
			}
			length += (size_t) n / 8 * bit_width;
		}
		at += n;
	}
	return length;
}

#define RUN_VALUES 2000

static void
test_runs(void)
{
	int32	   *values = palloc(RUN_VALUES * sizeof(int32));
	int32	   *out = palloc(RUN_VALUES * sizeof(int32));
	uint8	   *data = palloc(RUN_VALUES * 6 + 1000);

	for (int bit_width = 0; bit_width <= 32; bit_width++)
	{
		size_t		length = encode_runs(bit_width, values, RUN_VALUES, data);
		RleDecoder	decoder;
		bool		same = true;

		rle_init(&decoder, &place, data, length, bit_width);
		for (int at = 0; at < RUN_VALUES && same;)
		{
			int			n = 1 + unit_random_below(60);

			n = Min(n, RUN_VALUES - at);
			if (unit_random_below(3) == 0)
				rle_skip(&decoder, n);
			else
			{
				rle_read(&decoder, n, out);
				same = memcmp(out, values + at, n * sizeof(int32)) == 0;
			}
			at += n;
		}
		CHECK_MESSAGE(same, "runs of %d bits", bit_width);
	}
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "column", rle_init(&(RleDecoder) {0}, &place, data, 8, 33));
}

static void
test_bits(void)
{
	int32	   *values = palloc(RUN_VALUES * sizeof(int32));
	uint8	   *out = palloc(RUN_VALUES);
	uint8	   *data = palloc(RUN_VALUES * 6 + 1000);
	size_t		length = encode_runs(1, values, RUN_VALUES, data);
	RleDecoder	decoder;

	rle_init(&decoder, &place, data, length, 1);
	for (int at = 0; at < RUN_VALUES;)
	{
		int			n = 1 + unit_random_below(60);

		n = Min(n, RUN_VALUES - at);
		rle_read_bits(&decoder, n, out + at);
		at += n;
	}
	for (int i = 0; i < RUN_VALUES; i++)
	{
		if (!CHECK_INT(out[i], values[i]))
			break;
	}
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "column", rle_read_bits(&decoder, RUN_VALUES, out));
}

/* The encoded bytes, followed by the padding that decoders may load. */
static const uint8 *
padded(const char *digits, size_t *length)
{
	BytesView	bytes = unit_hex(digits);
	uint8	   *data = palloc0(bytes.length + READ_PADDING);

	memcpy(data, bytes.data, bytes.length);
	*length = bytes.length;
	return data;
}

/* 7, 5, 3, 1, 2 in a block of 128 with 4 miniblocks: deltas from -2 on in two bits. */
#define DELTA_EXAMPLE "8001 04 05 0e 03 02000000 c000000000000000"

static void
test_delta(void)
{
	static const int64 expected[] = {7, 5, 3, 1, 2};
	size_t		length;
	const uint8 *data = padded(DELTA_EXAMPLE, &length);
	DeltaDecoder decoder;
	int64		values[5];
	int32		narrow[5];

	delta_init(&decoder, &place, data, length);
	delta_read_int64(&decoder, 5, values);
	CHECK(memcmp(values, expected, sizeof(expected)) == 0);
	CHECK(delta_end(&decoder) == data + length);
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "column", delta_read_int64(&decoder, 1, values));

	delta_init(&decoder, &place, data, length);
	delta_skip(&decoder, 3);
	delta_read_int32(&decoder, 2, narrow);
	CHECK_INT(narrow[0], 1);
	CHECK_INT(narrow[1], 2);

	/* a block size that is no multiple of 32 a miniblock, and a width above 64 */
	data = padded("8101 04 05 0e 03 02000000 c000000000000000", &length);
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "column", delta_init(&decoder, &place, data, length));
	data = padded("8001 04 05 0e 03 41000000 c000000000000000", &length);
	delta_init(&decoder, &place, data, length);
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "column", delta_skip(&decoder, 5));
}

/* Hello, World with lengths; Hello, Help, Helpful with prefixes: 0, 3, 4 and suffixes of 5, 1, 3. */
static void
test_delta_byte_arrays(void)
{
	size_t		length;
	const uint8 *data = padded("8001 04 02 0a 00 00000000 48656c6c6f576f726c64", &length);
	ValueDecoder decoder;
	BytesView	values[3];

	values_init(&decoder, "file", "column", PARQUET_BYTE_ARRAY, 0, PARQUET_DELTA_LENGTH_BYTE_ARRAY, data, length, 2);
	decoder.read(&decoder, 2, values);
	CHECK_BYTES(values[0], unit_bytes("Hello"));
	CHECK_BYTES(values[1], unit_bytes("World"));

	data = padded("8001 04 03 00 02 02000000 0200000000000000"
				  "8001 04 03 0a 07 03000000 300000000000000000000000"
				  "48656c6c6f 70 66756c", &length);
	values_init(&decoder, "file", "column", PARQUET_BYTE_ARRAY, 0, PARQUET_DELTA_BYTE_ARRAY, data, length, 3);
	decoder.skip(&decoder, 1);
	decoder.read(&decoder, 2, values);
	CHECK_BYTES(values[0], unit_bytes("Help"));
	CHECK_BYTES(values[1], unit_bytes("Helpful"));
}

/* ---- conversions ---- */

/* One value in native form, as type; false when it does not fit. */
static bool
convert_one(ParquetField *field, const char *type_text, const void *native, Scalar *out)
{
	DataType   *type = type_parse_atomic(type_text);
	Conversion	conversion;

	field->flat = true;
	conversion_init(&conversion, &place, field, type);
	memset(out, 0, sizeof(*out));
	if (conversion.convert != NULL)
		return conversion.convert(&conversion, native, 1, &out->v);
	memcpy(&out->v, native, native_size(field->type));
	return true;
}

static int64
timestamp_as(int64 value, ParquetTimeUnit unit, const char *type)
{
	ParquetField field = {.type = PARQUET_INT64, .meaning = PARQUET_MEANING_TIMESTAMP, .unit = unit};
	Scalar		out;

	CHECK(convert_one(&field, type, &value, &out));
	return type_parse_atomic(type)->physical == PHYSICAL_INT128 ? (int64) out.v.i128 : out.v.i64;
}

static void
test_timestamps(void)
{
	ParquetField millis = {.type = PARQUET_INT64, .meaning = PARQUET_MEANING_TIMESTAMP, .unit = PARQUET_MILLIS};
	int64		large = PG_INT64_MAX / 999;
	Scalar		out;

	CHECK_INT(timestamp_as(-1, PARQUET_NANOS, "TIMESTAMP(9)"), -1);
	CHECK_INT(timestamp_as(-1, PARQUET_NANOS, "TIMESTAMP(6)"), -1);
	CHECK_INT(timestamp_as(-1000000, PARQUET_NANOS, "TIMESTAMP(3)"), -1);
	CHECK_INT(timestamp_as(-1000001, PARQUET_NANOS, "TIMESTAMP(3)"), -2);
	CHECK_INT(timestamp_as(1999, PARQUET_MICROS, "TIMESTAMP(3)"), 1);
	CHECK_INT(timestamp_as(-5, PARQUET_MILLIS, "TIMESTAMP(6) WITH LOCAL TIME ZONE"), -5000);
	CHECK_INT(timestamp_as(5, PARQUET_MILLIS, "TIMESTAMP(9)"), 5000000);
	CHECK(!convert_one(&millis, "TIMESTAMP(6)", &large, &out));
	CHECK(convert_one(&millis, "TIMESTAMP(9)", &large, &out) && out.v.i128 == (int128) large * 1000000);
}

static void
test_int96(void)
{
	ParquetField field = {.type = PARQUET_INT96};
	Scalar		out;
	BytesView	bytes;

	/* the epoch, a nano before it in Java's way, and the day before it in the common way */
	bytes = unit_hex("0000000000000000 8c3d2500");
	CHECK(convert_one(&field, "TIMESTAMP(9)", &bytes, &out) && out.v.i128 == 0);
	bytes = unit_hex("ffffffffffffffff 8c3d2500");
	CHECK(convert_one(&field, "TIMESTAMP(9)", &bytes, &out) && out.v.i128 == -1);
	CHECK(convert_one(&field, "TIMESTAMP(6)", &bytes, &out) && out.v.i64 == -1);
	bytes = unit_hex("0000000000000000 8b3d2500");
	CHECK(convert_one(&field, "TIMESTAMP(3)", &bytes, &out) && out.v.i64 == -86400000);
}

static void
test_decimals(void)
{
	ParquetField field = {.type = PARQUET_BYTE_ARRAY, .meaning = PARQUET_MEANING_DECIMAL, .precision = 10, .scale = 2};
	BytesView	bytes;
	Scalar		out;

	bytes = unit_hex("ff00000000 00000000 00000000 00000000");
	bytes.length = 1;
	CHECK(convert_one(&field, "DECIMAL(10, 2)", &bytes, &out) && out.v.i64 == -1);
	CHECK(convert_one(&field, "DECIMAL(38, 2)", &bytes, &out) && out.v.i128 == -1);
	bytes = unit_hex("0100 00000000 00000000 00000000 00000000");
	bytes.length = 2;
	CHECK(convert_one(&field, "DECIMAL(10, 2)", &bytes, &out) && out.v.i64 == 256);
	/* eight bytes fit, of nine some do, and none are zero */
	bytes = unit_hex("80000000 00000000 12345678 00000000");
	bytes.length = 8;
	CHECK(convert_one(&field, "DECIMAL(10, 2)", &bytes, &out) && out.v.i64 == PG_INT64_MIN);
	bytes.length = 9;
	CHECK(!convert_one(&field, "DECIMAL(10, 2)", &bytes, &out));
	bytes = unit_hex("ff800000 00000000 02345678 00000000");
	bytes.length = 9;
	CHECK(convert_one(&field, "DECIMAL(10, 2)", &bytes, &out) && out.v.i64 == PG_INT64_MIN + 2);
	bytes.length = 0;
	CHECK(convert_one(&field, "DECIMAL(10, 2)", &bytes, &out) && out.v.i64 == 0);
	bytes = unit_hex("ffffffff 80000000 00000000 00000000 00000000");
	CHECK(convert_one(&field, "DECIMAL(38, 2)", &bytes, &out) && out.v.i128 == (int128) 1 << 127);
	CHECK(!convert_one(&field, "DECIMAL(10, 2)", &bytes, &out));
	bytes = unit_hex("00000000 80000000 00000000 00000000 00000000");
	CHECK(!convert_one(&field, "DECIMAL(38, 2)", &bytes, &out));

	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "DECIMAL(10, 3)", convert_one(&field, "DECIMAL(10, 3)", &bytes, &out));
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "DECIMAL(9, 2)", convert_one(&field, "DECIMAL(9, 2)", &bytes, &out));
}

static void
test_integers(void)
{
	ParquetField narrow = {.type = PARQUET_INT32, .meaning = PARQUET_MEANING_INTEGER};
	ParquetField small = {.type = PARQUET_INT32, .meaning = PARQUET_MEANING_INTEGER, .is_unsigned = true};
	ParquetField wide = {.type = PARQUET_INT64, .meaning = PARQUET_MEANING_INTEGER, .is_unsigned = true};
	int32		value = -129;
	int64		negative = -1;
	Scalar		out;

	CHECK(!convert_one(&narrow, "TINYINT", &value, &out));
	CHECK(convert_one(&narrow, "SMALLINT", &value, &out) && out.v.i16 == -129);
	CHECK(convert_one(&small, "BIGINT", &value, &out) && out.v.i64 == INT64CONST(4294967167));
	CHECK(!convert_one(&small, "INT", &value, &out));
	CHECK(!convert_one(&wide, "BIGINT", &negative, &out));
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "column", convert_one(&narrow, "DOUBLE", &value, &out));
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "column", convert_one(&narrow, "STRING", &value, &out));
}

/* ---- files ---- */

#define MAX_COLUMNS 20

/* A file that is being read. */
typedef struct OpenFile
{
	StorageFile *storage;
	FormatReader *reader;
	FormatCounters counters;
	int			ncolumns;
	DataField	columns[MAX_COLUMNS];
	Vector	   *vectors[MAX_COLUMNS];
} OpenFile;

static const char *
write_file(BytesView content)
{
	static int	number;
	char	   *path = psprintf("%s/%d.parquet", unit_directory(), number++);
	FILE	   *file = fopen(path, "wb");

	if (file == NULL || fwrite(content.data, 1, content.length, file) != content.length || fclose(file) != 0)
		elog(ERROR, "could not write \"%s\"", path);
	return path;
}

static const RowRange *wanted_rows;	/* of files opened; NULL: all */
static bool rows_may_move = false;

/* columns: names and types, in turn, NULL at the end. */
static OpenFile *
open_file(const char *path, const char *const *columns, const Predicate *predicate)
{
	OpenFile   *file = palloc0(sizeof(OpenFile));
	FormatReadOptions options = {
		.columns = file->columns, .predicate = predicate, .rows = wanted_rows,
		.rows_may_move = rows_may_move, .counters = &file->counters
	};

	for (int i = 0; columns[2 * i] != NULL; i++)
	{
		file->columns[i].name = pstrdup(columns[2 * i]);
		file->columns[i].type = type_parse_atomic(columns[2 * i + 1]);
		file->vectors[i] = vector_create(file->columns[i].type, BATCH_ROWS);
		file->ncolumns++;
	}
	options.ncolumns = file->ncolumns;
	file->storage = storage_open(path);
	file->reader = format_open(format_lookup("parquet"), file->storage, &options);
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
	Scalar	   *values = palloc0(file->reader->file_rows * sizeof(Scalar));

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
	CHECK_TYPE("i16", "SMALLINT", i16, i * 13107 - 32768);
	CHECK_TYPE("i32", "INT", i32, (int32) (i * INT64CONST(858993459) - INT64CONST(2147483648)));
	CHECK_TYPE("i32", "BIGINT", i64, i * INT64CONST(858993459) - INT64CONST(2147483648));
	CHECK_TYPE("i64", "BIGINT", i64, (i - 3) * INT64CONST(1234567890123456789));
	CHECK_TYPE("u32", "BIGINT", i64, i * INT64CONST(858993459));
	CHECK_TYPE("f", "FLOAT", f32, i * 0.5f - 1);
	CHECK_TYPE("f", "DOUBLE", f64, i * 0.5 - 1);
	CHECK_TYPE("d", "DOUBLE", f64, i * 0.25 - 1);
	CHECK_TYPE("dec9", "DECIMAL(9, 2)", i64, i * 12345 - 30000);
	CHECK_TYPE("dec9", "DECIMAL(20, 2)", i128, i * 12345 - 30000);
	CHECK_TYPE("dec38", "DECIMAL(38, 10)", i128, (i - 2) * power_of_ten(36));
	CHECK_TYPE("date", "DATE", i32, i * 10000 - 20000);
	CHECK_TYPE("time", "TIME(3)", i32, i * 1000001);
	CHECK_TYPE("timeus", "TIME(3)", i32, i * 1000001 / 1000);
	CHECK_TYPE("ts3", "TIMESTAMP(3)", i64, (i - 2) * INT64CONST(1000000007));
	CHECK_TYPE("ts6", "TIMESTAMP(6)", i64, (i - 2) * INT64CONST(1000000007));
	CHECK_TYPE("ts9", "TIMESTAMP(9)", i128, (i - 2) * INT64CONST(1000000007));
	CHECK_TYPE("s", "STRING", bytes.length, i);
	CHECK_TYPE("bin", "BYTES", bytes.length, 3);
	values = read_column(types_file, "bin", "BYTES", &nrows);
	CHECK_BYTES(values[5].v.bytes, unit_hex("05fa00"));
	CHECK_ERROR(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, "i16", read_column(types_file, "i16", "TINYINT", &nrows));
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "\"s\"", read_column(types_file, "s", "INT", &nrows));
}

static void
test_int96_files(void)
{
	static const struct
	{
		int64		nanos;
		int32		value;
	}			java_rows[] = {
		{INT64CONST(-932315007846116306), 1012},
		{INT64CONST(-225722804574064013), 1009},
		{INT64CONST(-140697519118619552), 1010},
		{INT64CONST(314830627225192745), 1004},
		{INT64CONST(660129439858840314), 1014},
		{INT64CONST(877116072077707611), 1007},
		{INT64CONST(1354142708187928690), 1002},
	};
	int			nrows;
	Scalar	   *times = read_column(int96_file, "t", "TIMESTAMP(9)", &nrows);
	Scalar	   *values;

	CHECK_INT(nrows, 5);
	for (int i = 0; i < nrows; i++)
		CHECK_INT((int64) times[i].v.i128, (i - 2) * INT64CONST(1000000000000000) + i);

	values = read_column(java_file, "v", "INT", &nrows);
	times = read_column(java_file, "k", "TIMESTAMP(9)", &nrows);
	if (!CHECK_INT(nrows, lengthof(java_rows)))
		return;
	for (int i = 0; i < nrows; i++)
	{
		CHECK_INT((int64) times[i].v.i128, java_rows[i].nanos);
		CHECK_INT(values[i].v.i32, java_rows[i].value);
	}
}

static void
test_encodings(void)
{
	int			nrows;
	Scalar	   *i32 = read_column(delta_file, "i32", "INT", &nrows);
	Scalar	   *i64 = read_column(delta_file, "i64", "BIGINT", &nrows);
	Scalar	   *lengths = read_column(delta_file, "lengths", "STRING", &nrows);
	Scalar	   *prefixes = read_column(delta_file, "prefixes", "STRING", &nrows);
	Scalar	   *b = read_column(delta_file, "b", "BOOLEAN", &nrows);
	Scalar	   *d = read_column(delta_file, "d", "DOUBLE", &nrows);
	Scalar	   *bin = read_column(delta_file, "bin", "BYTES", &nrows);

	CHECK_INT(nrows, 300);
	for (int i = 0; i < nrows; i++)
	{
		char		two[2] = {(char) i, 7};

		CHECK_INT(i32[i].v.i32, (int64) i * i * 1000003 % (INT64CONST(1) << 31));
		CHECK(i64[i].isnull == (i % 5 == 0) && (i64[i].isnull || i64[i].v.i64 == i * 7 - 1000));
		CHECK_BYTES(lengths[i].v.bytes, unit_bytes(psprintf("%.*s%d", i % 4, "xxx", i)));
		CHECK(prefixes[i].isnull == (i % 7 == 0));
		if (i % 7 != 0)
			CHECK_BYTES(prefixes[i].v.bytes, unit_bytes(psprintf("key%04d-%d", i / 10, i % 10)));
		CHECK(b[i].isnull == (i == 17) && (i == 17 || b[i].v.i8 == (i / 20 % 2 == 0)));
		CHECK(d[i].v.f64 == i / 8.0);
		CHECK_BYTES(bin[i].v.bytes, ((BytesView) {two, 2}));
	}
}

/* Codes while there are dictionary pages only, views as soon as there is another. */
static void
test_dictionary(void)
{
	static const char *const columns[] = {"s", "STRING", "i", "BIGINT", NULL};
	OpenFile   *file = open_file(write_file(unit_hex(dictionary_file)), columns, NULL);
	Vector	   *s = file->vectors[0];
	int			batches = 0;

	while (format_next(file->reader))
	{
		format_read_column(file->reader, 0, NULL, file->reader->nrows, s);
		format_read_column(file->reader, 1, NULL, file->reader->nrows, file->vectors[1]);
		CHECK((s->codes != NULL) == (batches++ == 0));
		if (s->codes != NULL)
			CHECK(s->dictionary_size > 10 && s->dictionary_size < 1000);
		vector_flatten(s, NULL, file->reader->nrows);
		for (int i = 0; i < file->reader->nrows; i++)
		{
			int			row = (int) file->reader->first_row + i;

			CHECK_INT(file->vectors[1]->values.i64[i], row % 100);
			CHECK_INT(s->nulls[i], row % 3 == 0);
			if (row % 3 != 0)
				CHECK_BYTES(s->values.bytes[i], unit_bytes(psprintf("value %d", row < 3000 ? row % 10 : row)));
		}
	}
	CHECK_INT(file->counters.rows_read, 4000);
	close_file(file);
}

static void
test_file_codecs(void)
{
	static const char *const files[] = {snappy_file, gzip_file, lz4_file, zstd_file, checksum_file};
	int			nrows;

	for (int f = 0; f < lengthof(files); f++)
	{
		Scalar	   *values = read_column(files[f], "i", "INT", &nrows);

		CHECK_INT(nrows, 40);
		for (int i = 0; i < nrows; i++)
			CHECK(values[i].isnull == (i == 5 || i == 6) && (values[i].isnull || values[i].v.i32 == i * 3));
	}
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "\"i\"", read_column(brotli_file, "i", "INT", &nrows));
}

/* Levels as old writers packed them, and a page of version 2 that is not compressed in a chunk that is. */
static void
test_rare_pages(void)
{
	static const char *const files[] = {bit_packed_levels_file, uncompressed_v2_file};
	int			nrows;

	for (int f = 0; f < lengthof(files); f++)
	{
		Scalar	   *values = read_column(files[f], "i", "INT", &nrows);

		CHECK_INT(nrows, 20);
		for (int i = 0; i < nrows; i++)
			CHECK(values[i].isnull == (i % 4 == 1) && (values[i].isnull || values[i].v.i32 == i));
	}
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

static const char *const page_columns[] = {"i", "INT", "d", "DOUBLE", "s", "STRING", NULL};

/* What pages_file has in a row, which is the batch's i-th. */
static void
check_page_row(const OpenFile *file, int i, int row)
{
	bool		isnull = row >= 500 && row < 1000;

	CHECK_INT(file->vectors[0]->values.i32[i], row);
	CHECK(row == 10 || file->vectors[1]->values.f64[i] == row);
	CHECK(vector_get(file->vectors[2], i).isnull == isnull);
	if (!isnull)
		CHECK_BYTES(vector_get(file->vectors[2], i).v.bytes, unit_bytes(psprintf("%06d", row)));
}

/*
 * Read pages_file with a predicate: batches must be right and cover the rows
 * first to last; no more than max_rows come.
 */
static void
check_skipping(Predicate *predicate, int first, int last, int max_rows)
{
	OpenFile   *file = open_file(write_file(unit_hex(pages_file)), page_columns, predicate);
	int			next = first;

	while (format_next(file->reader))
	{
		int			start = (int) file->reader->first_row;

		for (int column = 0; column < 3; column++)
			format_read_column(file->reader, column, NULL, file->reader->nrows, file->vectors[column]);
		for (int i = 0; i < file->reader->nrows; i++)
		{
			int			row = start + i;

			check_page_row(file, i, row);
			if (row == next && next <= last)
				next++;
		}
	}
	CHECK_INT(next, last + 1);
	CHECK_MESSAGE(file->counters.rows_read <= max_rows, "%d rows read", (int) file->counters.rows_read);
	CHECK(max_rows == 3000 || file->counters.pages_skipped > 0 ||
		  file->counters.row_groups_read < file->counters.row_groups);
	close_file(file);
}

static void
test_skipping(void)
{
	check_skipping(NULL, 0, 2999, 3000);
	check_skipping(leaf(PREDICATE_EQ, 0, "INT", "1300"), 1300, 1300, 250);
	check_skipping(leaf(PREDICATE_GE, 0, "INT", "2900"), 2900, 2999, 250);
	check_skipping(leaf(PREDICATE_LT, 1, "DOUBLE", "600"), 11, 599, 1000);
	check_skipping(leaf(PREDICATE_EQ, 2, "STRING", "001600"), 1600, 1600, 250);
	check_skipping(leaf(PREDICATE_IS_NULL, 2, "STRING", NULL), 500, 999, 750);
	check_skipping(leaf(PREDICATE_IS_NOT_NULL, 2, "STRING", NULL), 0, 499, 3000);
	check_skipping(leaf(PREDICATE_EQ, 0, "INT", "5000"), 0, -1, 0);
	check_skipping(predicate_combine(PREDICATE_OR, list_make2(leaf(PREDICATE_EQ, 0, "INT", "1"),
															  leaf(PREDICATE_EQ, 0, "INT", "2999"))), 1, 1, 500);
	/* NaN is above all numbers, and bounds say nothing of it */
	check_skipping(leaf(PREDICATE_GT, 1, "DOUBLE", "5000"), 10, 10, 3000);
}

/* Parts of a file, as several readers take them: together each row once, and row groups counted once. */
static void
check_parts(Predicate *predicate)
{
	OpenFile   *whole = open_file(write_file(unit_hex(pages_file)), page_columns, predicate);
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
		file = open_file(write_file(unit_hex(pages_file)), page_columns, predicate);
		wanted_rows = NULL;
		while (format_next(file->reader))
		{
			int			first = (int) file->reader->first_row;

			CHECK(rows_may_move || (first >= part.start && first + file->reader->nrows <= part.end));
			if (predicate == NULL)
				CHECK_INT(first, sum.rows_read + file->counters.rows_read - file->reader->nrows);
			format_read_column(file->reader, 0, NULL, file->reader->nrows, file->vectors[0]);
			format_read_column(file->reader, 1, NULL, file->reader->nrows, file->vectors[1]);
			format_read_column(file->reader, 2, NULL, file->reader->nrows, file->vectors[2]);
			for (int i = 0; i < file->reader->nrows; i++)
				check_page_row(file, i, first + i);
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
		check_parts(leaf(PREDICATE_GE, 0, "INT", psprintf("%d", unit_random_below(3000))));
		check_parts(leaf(PREDICATE_EQ, 0, "INT", "1300"));
		rows_may_move = !rows_may_move;
	}
	wanted_rows = &beyond;
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "the manifest says more",
				open_file(write_file(unit_hex(pages_file)), page_columns, NULL));
	wanted_rows = NULL;
}

static int64
rows_of_part(const char *path, const char *const *columns, int64 start, int64 end)
{
	RowRange	part = {start, end};
	OpenFile   *file;
	int64		rows_read;

	wanted_rows = &part;
	file = open_file(path, columns, NULL);
	wanted_rows = NULL;
	while (format_next(file->reader))
		;
	rows_read = file->counters.rows_read;
	close_file(file);
	return rows_read;
}

/* Bounds move to the edge of a row group rather than cut pages that are large beside what they would share out. */
static void
test_part_bounds(void)
{
	static const char *const small_columns[] = {"i", "INT", NULL};
	const char *small_pages = write_file(unit_hex(pages_file));	/* of 250 rows, in groups of 2000 and 1000 */
	const char *one_page = write_file(unit_hex(zstd_file));

	rows_may_move = true;
	CHECK_INT(rows_of_part(small_pages, page_columns, 0, 1000), 1000);
	CHECK_INT(rows_of_part(small_pages, page_columns, 1000, 3000), 2000);
	CHECK_INT(rows_of_part(small_pages, page_columns, 0, 1999), 2000);
	CHECK_INT(rows_of_part(small_pages, page_columns, 1999, 2001), 0);
	CHECK_INT(rows_of_part(small_pages, page_columns, 2001, 3000), 1000);
	CHECK_INT(rows_of_part(one_page, small_columns, 0, 19), 0);
	CHECK_INT(rows_of_part(one_page, small_columns, 19, 40), 40);
	rows_may_move = false;
	CHECK_INT(rows_of_part(one_page, small_columns, 0, 19), 19);
}

/* Columns read for fewer and fewer rows; pages without any are not decompressed. */
static void
test_selections(void)
{
	static const char *const columns[] = {"i", "INT", "s", "STRING", "d", "DOUBLE", "none", "INT", NULL};
	OpenFile   *file = open_file(write_file(unit_hex(pages_file)), columns, NULL);
	int32		selection[BATCH_ROWS];

	CHECK(!file->reader->present[3]);
	while (format_next(file->reader))
	{
		int			nselected = 0;
		int			step = 1 + unit_random_below(300);

		format_read_column(file->reader, 0, NULL, file->reader->nrows, file->vectors[0]);
		for (int i = 600 + step; i < file->reader->nrows; i += step)
			selection[nselected++] = i;
		format_read_column(file->reader, 1, selection, nselected, file->vectors[1]);
		format_read_column(file->reader, 2, selection, Min(nselected, 1), file->vectors[2]);
		format_read_column(file->reader, 3, selection, nselected, file->vectors[3]);
		for (int k = 0; k < nselected; k++)
		{
			int			row = (int) file->reader->first_row + selection[k];
			Scalar		s = vector_get(file->vectors[1], selection[k]);

			CHECK(s.isnull == (row >= 500 && row < 1000));
			if (!s.isnull)
				CHECK_BYTES(s.v.bytes, unit_bytes(psprintf("%06d", row)));
			CHECK(vector_get(file->vectors[3], selection[k]).isnull);
		}
		if (CHECK(nselected > 0))
			CHECK(file->vectors[2]->values.f64[selection[0]] == file->reader->first_row + selection[0]);
	}
	CHECK(file->counters.pages_skipped > 0);
	close_file(file);
}

/* ---- what is refused ---- */

static void
test_refused(void)
{
	static const char *const nested[] = {"l", "INT", NULL};
	static const char *const flat[] = {"i", "INT", NULL};
	const char *path = write_file(unit_hex(nested_file));
	OpenFile   *file;
	BytesView	bytes;

	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "nested", open_file(path, nested, NULL));
	file = open_file(path, flat, NULL);
	CHECK(format_next(file->reader));
	format_read_column(file->reader, 0, NULL, 3, file->vectors[0]);
	CHECK_INT(file->vectors[0]->values.i32[2], 3);
	CHECK(!format_next(file->reader));
	close_file(file);

	/* the magic word of encrypted files, and a wrong checksum */
	bytes = unit_hex(snappy_file);
	unconstify(char *, bytes.data)[bytes.length - 1] = 'E';
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "encrypted", open_file(write_file(bytes), flat, NULL));
	bytes = unit_hex(checksum_file);
	unconstify(char *, bytes.data)[60] ^= 1;
	file = open_file(write_file(bytes), flat, NULL);
	CHECK(format_next(file->reader));
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "", format_read_column(file->reader, 0, NULL, 1, file->vectors[0]));
	CHECK(format_lookup("csv") == NULL);
}

int
main(void)
{
	unit_begin();
	RUN(test_codecs);
	RUN(test_codecs_unknown_length);
	RUN(test_gzip_members);
	RUN(test_thrift);
	RUN(test_thrift_damage);
	RUN(test_runs);
	RUN(test_bits);
	RUN(test_delta);
	RUN(test_delta_byte_arrays);
	RUN(test_timestamps);
	RUN(test_int96);
	RUN(test_decimals);
	RUN(test_integers);
	RUN(test_types);
	RUN(test_int96_files);
	RUN(test_encodings);
	RUN(test_dictionary);
	RUN(test_file_codecs);
	RUN(test_rare_pages);
	RUN(test_skipping);
	RUN(test_parts);
	RUN(test_part_bounds);
	RUN(test_selections);
	RUN(test_refused);
	return unit_end();
}
