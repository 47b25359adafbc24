/*
 * test_avro.c
 *		Avro container files: schemas, codecs, damaged data.
 */
#include "postgres.h"

#include "format/avro/avro.h"
#include "storage/storage.h"
#include "utils/memutils.h"

#include "damage.h"

typedef struct Inner
{
	int64		a;
	char	   *text;
} Inner;

typedef struct Outer
{
	int32		number;
	int64		wide;
	bool		has_wide;
	char	   *text;
	BytesView	bytes;
	List	   *strings;
	int64	   *counts;
	int			ncounts;
	bool		has_counts;
	Inner		inner;
	List	   *inners;
} Outer;

static const AvroField inner_fields[] = {
	{"a", AVRO_TO_INT64, offsetof(Inner, a), AVRO_NO_OFFSET},
	{"text", AVRO_TO_STRING, offsetof(Inner, text), AVRO_NO_OFFSET, .optional = true},
};

static const AvroLayout inner_layout = {sizeof(Inner), lengthof(inner_fields), inner_fields};

static const AvroField outer_fields[] = {
	{"number", AVRO_TO_INT32, offsetof(Outer, number), AVRO_NO_OFFSET},
	{"wide", AVRO_TO_INT64, offsetof(Outer, wide), offsetof(Outer, has_wide), .optional = true},
	{"text", AVRO_TO_STRING, offsetof(Outer, text), AVRO_NO_OFFSET, .optional = true},
	{"bytes", AVRO_TO_BYTES, offsetof(Outer, bytes), AVRO_NO_OFFSET, .optional = true},
	{"strings", AVRO_TO_STRING_LIST, offsetof(Outer, strings), AVRO_NO_OFFSET, .optional = true},
	{
		"counts", AVRO_TO_INT64_ARRAY, offsetof(Outer, counts), offsetof(Outer, has_counts),
		offsetof(Outer, ncounts), .optional = true
	},
	{"inner", AVRO_TO_RECORD, offsetof(Outer, inner), AVRO_NO_OFFSET, .optional = true, .record = &inner_layout},
	{"inners", AVRO_TO_RECORD_LIST, offsetof(Outer, inners), AVRO_NO_OFFSET, .optional = true, .record = &inner_layout},
};

static const AvroLayout outer_layout = {sizeof(Outer), lengthof(outer_fields), outer_fields};

static const char full_schema[] =
"{\"type\":\"record\",\"name\":\"r\",\"namespace\":\"n\",\"fields\":["
"{\"name\":\"skipped\",\"type\":{\"type\":\"map\",\"values\":[\"boolean\",\"float\",\"double\",\"null\"]}},"
"{\"name\":\"wide\",\"type\":[\"null\",\"long\"],\"default\":null},"
"{\"name\":\"number\",\"type\":\"int\"},"
"{\"name\":\"text\",\"type\":[\"string\",\"null\"]},"
"{\"name\":\"bytes\",\"type\":\"bytes\"},"
"{\"name\":\"fixed\",\"type\":{\"type\":\"fixed\",\"name\":\"f\",\"size\":3}},"
"{\"name\":\"color\",\"type\":{\"type\":\"enum\",\"name\":\"c\",\"symbols\":[\"red\",\"blue\"]}},"
"{\"name\":\"strings\",\"type\":{\"type\":\"array\",\"items\":\"string\"}},"
"{\"name\":\"counts\",\"type\":[\"null\",{\"type\":\"array\",\"items\":[\"null\",\"long\"]}],\"default\":null},"
"{\"name\":\"inner\",\"type\":{\"type\":\"record\",\"name\":\"i\",\"fields\":["
"{\"name\":\"a\",\"type\":{\"type\":\"int\",\"logicalType\":\"date\"}},{\"name\":\"text\",\"type\":\"string\"}]}},"
"{\"name\":\"inners\",\"type\":{\"type\":\"array\",\"items\":[\"null\",\"n.i\"]}}"
"]}";

static void
write_record(StringInfo out, int i)
{
	avro_write_long(out, 2);	/* skipped: a map of two */
	avro_write_string(out, "x");
	avro_write_long(out, 2);
	appendBinaryStringInfo(out, "12345678", 8);
	avro_write_string(out, "y");
	avro_write_long(out, 3);
	avro_write_long(out, 0);
	avro_write_long(out, i % 2);	/* wide */
	if (i % 2)
		avro_write_long(out, PG_INT64_MIN + i);
	avro_write_long(out, i);	/* number */
	avro_write_long(out, i % 3 == 0);	/* text */
	if (i % 3 != 0)
		avro_write_string(out, psprintf("text %d", i));
	avro_write_bytes(out, "\0\1", 2);
	appendBinaryStringInfo(out, "abc", 3);	/* fixed */
	avro_write_long(out, 1);	/* color */
	avro_write_long(out, -2);	/* strings: a piece with its size, another without */
	avro_write_long(out, 4);
	avro_write_string(out, "p");
	avro_write_string(out, "q");
	avro_write_long(out, 1);
	avro_write_string(out, "r");
	avro_write_long(out, 0);
	avro_write_long(out, 1);	/* counts */
	avro_write_long(out, 2);
	avro_write_long(out, 0);
	avro_write_long(out, 1);
	avro_write_long(out, i);
	avro_write_long(out, 0);
	avro_write_long(out, i * 2);	/* inner */
	avro_write_string(out, "in");
	avro_write_long(out, 2);	/* inners */
	avro_write_long(out, 0);
	avro_write_long(out, 1);
	avro_write_long(out, i * 3);
	avro_write_string(out, "list");
	avro_write_long(out, 0);
}

static char *
write_file(const char *name, const char *codec, int count, int64 *size)
{
	char	   *path = storage_join(unit_directory(), name);
	AvroWriter *writer = avro_writer_create(path, full_schema, codec, 0);

	for (int i = 0; i < count; i++)
	{
		write_record(avro_writer_buffer(writer), i);
		avro_writer_end_record(writer);
	}
	*size = avro_writer_finish(writer);
	return path;
}

static void
check_record(void *record, void *arg)
{
	Outer	   *outer = record;
	int			i = (*(int *) arg)++;
	Inner	   *listed;

	CHECK_INT(outer->number, i);
	CHECK_INT(outer->has_wide, i % 2);
	CHECK_INT(outer->wide, i % 2 ? PG_INT64_MIN + i : 0);
	if (i % 3 == 0)
		CHECK(outer->text == NULL);
	else
		CHECK_STRING(outer->text, psprintf("text %d", i));
	CHECK_INT(outer->bytes.length, 2);
	CHECK_INT(list_length(outer->strings), 3);
	CHECK_STRING(llast(outer->strings), "r");
	CHECK(outer->has_counts);
	CHECK_INT(outer->ncounts, 2);
	CHECK_INT(outer->counts[0], -1);
	CHECK_INT(outer->counts[1], i);
	CHECK_INT(outer->inner.a, i * 2);
	CHECK_STRING(outer->inner.text, "in");
	CHECK_INT(list_length(outer->inners), 1);
	listed = linitial(outer->inners);
	CHECK_INT(listed->a, i * 3);
}

static void
test_codecs(void)
{
	static const char *const codecs[] = {"zstd", "none", "snappy", "deflate", "ZSTANDARD"};

	for (int c = 0; c < lengthof(codecs); c++)
	{
		int64		size;
		int			seen = 0;
		char	   *path = write_file(codecs[c], codecs[c], 5000, &size);

		avro_read_file(path, size, &outer_layout, check_record, &seen);
		CHECK_INT(seen, 5000);
		CHECK_ERROR(ERRCODE_DATA_CORRUPTED, path,
					avro_read_file(path, size - 1, &outer_layout, check_record, &seen));
	}
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "\"lz4\"",
				avro_writer_create(storage_join(unit_directory(), "lz4"), full_schema, "lz4", 0));
}

static void
test_empty(void)
{
	int64		size;
	int			seen = 0;
	char	   *path = write_file("empty", "zstd", 0, &size);

	avro_read_file(path, -1, &outer_layout, check_record, &seen);
	CHECK_INT(seen, 0);
}

static void
test_abandoned_writer(void)
{
	char	   *path = storage_join(unit_directory(), "abandoned");
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "test", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	avro_writer_create(path, full_schema, "zstd", 0);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	CHECK(!storage_exists(path));
}

static AvroPlan *
bind(const char *json)
{
	return avro_bind(avro_schema_parse(json, strlen(json), "file"), &inner_layout, "file");
}

#define RECORD_OF(fields) "{\"type\":\"record\",\"name\":\"x\",\"fields\":[" fields "]}"

static void
test_binding(void)
{
	CHECK(!avro_plan_skips(bind(RECORD_OF("{\"name\":\"a\",\"type\":\"int\"}"))));
	CHECK(avro_plan_skips(bind(RECORD_OF("{\"name\":\"a\",\"type\":\"long\"},{\"name\":\"b\",\"type\":\"x\"}"))));
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "file", bind(RECORD_OF("{\"name\":\"text\",\"type\":\"string\"}")));
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "file", bind(RECORD_OF("{\"name\":\"a\",\"type\":\"string\"}")));
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "file", bind(RECORD_OF("{\"name\":\"a\",\"type\":[\"int\",\"long\"]}")));
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "file", bind("\"string\""));
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "file", bind(RECORD_OF("{\"name\":\"a\",\"type\":\"what\"}")));
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "file", bind(RECORD_OF("{\"name\":\"a\",\"type\":[]}")));
}

/* A record that holds itself, without end. */
static void
test_endless_schema(void)
{
	const char *json = RECORD_OF("{\"name\":\"self\",\"type\":\"x\"}");
	AvroSchema *schema = avro_schema_parse(json, strlen(json), "file");
	AvroInput	input = {"", "", "file"};

	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "file", avro_skip(&input, schema));
}

static void
test_numbers(void)
{
	static const int64 values[] = {0, -1, 1, 63, 64, -64, -65, PG_INT32_MAX, PG_INT64_MAX, PG_INT64_MIN};
	StringInfoData out;
	AvroInput	input;
	BytesView	endless = unit_hex("ffffffffffffffffffffff");

	initStringInfo(&out);
	for (int i = 0; i < lengthof(values); i++)
		avro_write_long(&out, values[i]);
	input = (AvroInput) {out.data, out.data + out.len, "file"};
	for (int i = 0; i < lengthof(values); i++)
		CHECK_INT(avro_read_long(&input), values[i]);
	CHECK(input.position == input.end);
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "file", avro_read_long(&input));

	input = (AvroInput) {endless.data, endless.data + endless.length, "file"};
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "file", avro_read_long(&input));
}

static void
ignore_record(void *record, void *arg)
{
}

static void
read_damaged(BytesView bytes, void *arg)
{
	char	   *path = storage_join(unit_directory(), "damaged");

	storage_replace(path, bytes.data, bytes.length);
	avro_read_file(path, -1, &outer_layout, ignore_record, NULL);
}

/* Whatever is done to a file, reading it ends, with or without an error. */
static void
test_random_damage(void)
{
	static const char *const codecs[] = {"none", "snappy", "zstd", "deflate"};

	for (int c = 0; c < lengthof(codecs); c++)
	{
		int64		size;
		size_t		length;
		char	   *path = write_file(psprintf("whole-%s", codecs[c]), codecs[c], 20, &size);
		BytesView	sound = {.data = storage_read_whole(path, 0, false, &length)};

		sound.length = length;
		damage_read(path, sound, 1000, read_damaged, NULL);
	}
}

int
main(void)
{
	unit_begin();
	RUN(test_numbers);
	RUN(test_codecs);
	RUN(test_empty);
	RUN(test_abandoned_writer);
	RUN(test_binding);
	RUN(test_endless_schema);
	RUN(test_random_damage);
	return unit_end();
}
