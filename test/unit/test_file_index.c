/*
 * test_file_index.c
 *		File indexes: hashes, bitmaps, bit slices, damaged bytes.
 */
#include "postgres.h"

#include <roaring/roaring.h>

#include "columnar/xxhash.h"
#include "lake/file_index.h"
#include "lib/stringinfo.h"
#include "port/pg_bswap.h"

#include "damage.h"
#include "lake_fixture.h"
#include "unit.h"

#define ROWS 7

/* Of the rows' column k; null in row 2 */
static const int values[ROWS] = {1, 1, 0, 2, 2, 1, 3};

static LakeTable *
index_table(void)
{
	static const char *const options[] = {NULL};

	return fixture_table(false, options);
}

static void
put_be32(StringInfo out, int32 value)
{
	uint32		bytes = pg_hton32((uint32) value);

	appendBinaryStringInfo(out, (char *) &bytes, sizeof(bytes));
}

static void
put_be64(StringInfo out, int64 value)
{
	uint64		bytes = pg_hton64((uint64) value);

	appendBinaryStringInfo(out, (char *) &bytes, sizeof(bytes));
}

static void
put_name(StringInfo out, const char *name)
{
	appendStringInfoChar(out, 0);
	appendStringInfoChar(out, (char) strlen(name));
	appendStringInfoString(out, name);
}

/* The rows for which bit of the value, or of equal ones, is set. */
static int
put_bitmap(StringInfo out, bool (*test) (int value, int argument), int argument)
{
	roaring_bitmap_t *bitmap = roaring_bitmap_create();
	int			begin = out->len;
	size_t		size;

	for (int row = 0; row < ROWS; row++)
		if (test(values[row], argument))
			roaring_bitmap_add(bitmap, row);
	size = roaring_bitmap_portable_size_in_bytes(bitmap);
	enlargeStringInfo(out, size);
	roaring_bitmap_portable_serialize(bitmap, out->data + out->len);
	out->len += size;
	roaring_bitmap_free(bitmap);
	return out->len - begin;
}

static bool
is_value(int value, int argument)
{
	return value == argument;
}

static bool
is_not_null(int value, int argument)
{
	return value != 0;
}

static bool
has_bit(int value, int argument)
{
	return value != 0 && (value >> argument & 1) != 0;
}

/* A container with one index of column k. */
static DataFileMeta *
make_file(const char *type, const StringInfoData *body)
{
	DataFileMeta *file = palloc0(sizeof(DataFileMeta));
	StringInfoData out;
	int			head = 16 + 4 + 3 + 4 + 2 + strlen(type) + 8 + 4;

	initStringInfo(&out);
	put_be64(&out, INT64CONST(1493475289347502));
	put_be32(&out, 1);
	put_be32(&out, head);
	put_be32(&out, 1);
	put_name(&out, "k");
	put_be32(&out, 1);
	put_name(&out, type);
	put_be32(&out, head);
	put_be32(&out, body->len);
	put_be32(&out, 0);
	appendBinaryStringInfo(&out, body->data, body->len);
	file->file_name = "data-0.parquet";
	file->row_count = ROWS;
	file->has_embedded_index = true;
	file->embedded_index.data = out.data;
	file->embedded_index.length = out.len;
	return file;
}

/* Version 2, with the single row of value 3 in place of a bitmap; as in the digest of the format */
static DataFileMeta *
bitmap_file(void)
{
	StringInfoData bitmaps;
	StringInfoData out;
	int			first;
	int			second;

	initStringInfo(&bitmaps);
	first = put_bitmap(&bitmaps, is_value, 1);
	second = put_bitmap(&bitmaps, is_value, 2);
	initStringInfo(&out);
	appendStringInfoChar(&out, 2);
	put_be32(&out, ROWS);
	put_be32(&out, 3);
	appendStringInfoChar(&out, 1);
	put_be32(&out, -3);
	put_be32(&out, 18);
	put_be32(&out, 1);
	put_be32(&out, 1);
	put_be32(&out, 0);
	put_be32(&out, 4 + 3 * 12);
	put_be32(&out, 3);
	put_be32(&out, 1);
	put_be32(&out, 0);
	put_be32(&out, first);
	put_be32(&out, 2);
	put_be32(&out, first);
	put_be32(&out, second);
	put_be32(&out, 3);
	put_be32(&out, -7);
	put_be32(&out, -1);
	appendBinaryStringInfo(&out, bitmaps.data, bitmaps.len);
	return make_file("bitmap", &out);
}

static DataFileMeta *
slices_file(void)
{
	StringInfoData out;

	initStringInfo(&out);
	appendStringInfoChar(&out, 1);
	put_be32(&out, ROWS);
	appendStringInfoChar(&out, 1);
	appendStringInfoChar(&out, 1);
	put_be64(&out, 0);
	put_be64(&out, 3);
	put_bitmap(&out, is_not_null, 0);
	put_be32(&out, 2);
	put_bitmap(&out, has_bit, 0);
	put_bitmap(&out, has_bit, 1);
	appendStringInfoChar(&out, 0);
	return make_file("bsi", &out);
}

/* The rows that an index leaves, as digits. */
static char *
rows_of(DataFileMeta *file, PredicateOp op, int nvalues, int first, int second)
{
	LakeTable  *table = index_table();
	Scalar		operands[2] = {{.v.i32 = first}, {.v.i32 = second}};
	Predicate  *leaf = predicate_leaf(op, 0, table->schema->fields[0].type, operands, nvalues);
	RowSet		set = file_index_rows(table, file, "/nowhere/data-0.parquet", leaf);
	StringInfoData out;
	int32		rows[ROWS];
	int			count;

	if (set.kind != ROWS_SOME)
		return pstrdup(set.kind == ROWS_ALL ? "all" : "none");
	initStringInfo(&out);
	count = row_set_list(&set, true, 0, ROWS, rows);
	for (int i = 0; i < count; i++)
		appendStringInfo(&out, "%d", rows[i]);
	return out.data;
}

static void
test_hash(void)
{
	CHECK(xxh64("", 0, 0) == UINT64CONST(0xef46db3751d8e999));
	CHECK(xxh64("abc", 3, 0) == UINT64CONST(0x44bc2cf5ad770999));
	CHECK(xxh64("0123456789012345678901234567890123456789", 40, 0) !=
		  xxh64("0123456789012345678901234567890123456780", 40, 0));
}

static void
test_bitmap(void)
{
	CHECK_STRING(rows_of(bitmap_file(), PREDICATE_EQ, 1, 1, 0), "015");
	CHECK_STRING(rows_of(bitmap_file(), PREDICATE_EQ, 1, 3, 0), "6");
	CHECK_STRING(rows_of(bitmap_file(), PREDICATE_EQ, 1, 4, 0), "none");
	CHECK_STRING(rows_of(bitmap_file(), PREDICATE_IN, 2, 2, 3), "346");
	CHECK_STRING(rows_of(bitmap_file(), PREDICATE_NE, 1, 1, 0), "346");
	CHECK_STRING(rows_of(bitmap_file(), PREDICATE_NOT_IN, 2, 1, 2), "6");
	CHECK_STRING(rows_of(bitmap_file(), PREDICATE_IS_NULL, 0, 0, 0), "2");
	CHECK_STRING(rows_of(bitmap_file(), PREDICATE_IS_NOT_NULL, 0, 0, 0), "013456");
	CHECK_STRING(rows_of(bitmap_file(), PREDICATE_LT, 1, 0, 0), "all");
}

static void
test_slices(void)
{
	CHECK_STRING(rows_of(slices_file(), PREDICATE_EQ, 1, 2, 0), "34");
	CHECK_STRING(rows_of(slices_file(), PREDICATE_EQ, 1, 8, 0), "none");
	CHECK_STRING(rows_of(slices_file(), PREDICATE_LT, 1, 2, 0), "015");
	CHECK_STRING(rows_of(slices_file(), PREDICATE_LE, 1, 2, 0), "01345");
	CHECK_STRING(rows_of(slices_file(), PREDICATE_GT, 1, 2, 0), "6");
	CHECK_STRING(rows_of(slices_file(), PREDICATE_GE, 1, -5, 0), "013456");
	CHECK_STRING(rows_of(slices_file(), PREDICATE_LT, 1, -5, 0), "none");
	CHECK_STRING(rows_of(slices_file(), PREDICATE_NE, 1, 2, 0), "0156");
	CHECK_STRING(rows_of(slices_file(), PREDICATE_NOT_IN, 2, 1, 3), "34");
	CHECK_STRING(rows_of(slices_file(), PREDICATE_IN, 2, 1, 3), "0156");
	CHECK_STRING(rows_of(slices_file(), PREDICATE_IS_NULL, 0, 0, 0), "2");
}

static void
ask_damaged(BytesView bytes, void *arg)
{
	static const PredicateOp ops[] = {PREDICATE_EQ, PREDICATE_NE, PREDICATE_LT, PREDICATE_GE, PREDICATE_IS_NULL};
	PredicateOp op = ops[unit_random_below(lengthof(ops))];
	DataFileMeta file = *(DataFileMeta *) arg;

	file.embedded_index = bytes;
	rows_of(&file, op, op == PREDICATE_IS_NULL ? 0 : 1, unit_random_below(5), 0);
}

/* Whatever bytes say, no memory outside is touched; there is no checksum that would tell. */
static void
test_damaged(void)
{
	DataFileMeta *files[] = {bitmap_file(), slices_file()};

	for (int i = 0; i < lengthof(files); i++)
		damage_read(i == 0 ? "bitmap index" : "bit-sliced index", files[i]->embedded_index, 1500, ask_damaged, files[i]);
}

int
main(void)
{
	unit_begin();
	RUN(test_hash);
	RUN(test_bitmap);
	RUN(test_slices);
	RUN(test_damaged);
	return unit_end();
}
