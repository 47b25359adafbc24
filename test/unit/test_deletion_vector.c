/*
 * test_deletion_vector.c
 *		Deletion vectors: both versions, ranges of rows, damaged bytes.
 */
#include "postgres.h"

#include <roaring/roaring.h>
#include <zlib.h>

#include "lake/deletion_vector.h"
#include "lib/stringinfo.h"
#include "port/pg_bswap.h"
#include "storage/cache.h"
#include "storage/storage.h"

#include "damage.h"

/* Of a file with one vector: its version, and the vector's size and checksum */
#define FRAME_BYTES 9

/* One row of one file deleted, as Java writes it */
static const char java_v1[] = "01 00000016 5e43f2d0 3a300000 01000000 0000 0000 10000000 0100 fa2b5192";
static const char java_v2[] = "01 00000022 d1d33964 0100000000000000 00000000"
"3a300000 01000000 0000 0000 10000000 0100 eebd85f4";

static void
append_be32(StringInfo out, uint32 value)
{
	value = pg_hton32(value);
	appendBinaryStringInfo(out, (char *) &value, sizeof(value));
}

static DeletionVectorPlace
write_index(const char *bytes, size_t size, int64 length, int64 cardinality)
{
	static int	counter = 0;
	DeletionVectorPlace place = {.offset = 1, .length = length, .cardinality = cardinality};
	StorageWriter *writer;

	place.path = storage_join(unit_directory(), psprintf("index-%d", counter++));
	writer = storage_create(place.path);
	storage_append(writer, bytes, size);
	storage_finish(writer);
	return place;
}

static DeletionVectorPlace
write_hex(const char *digits, int64 length, int64 cardinality)
{
	BytesView	bytes = unit_hex(digits);

	return write_index(bytes.data, bytes.length, length, cardinality);
}

static void
append_bitmap(StringInfo out, const roaring_bitmap_t *bitmap)
{
	size_t		size = roaring_bitmap_portable_size_in_bytes(bitmap);

	enlargeStringInfo(out, size);
	roaring_bitmap_portable_serialize(bitmap, out->data + out->len);
	out->len += size;
	out->data[out->len] = '\0';
}

/* A vector file of version 1 or 2 with these rows. */
static DeletionVectorPlace
write_rows(int version, const roaring_bitmap_t *bitmap)
{
	StringInfoData payload;
	StringInfoData file;

	initStringInfo(&payload);
	append_be32(&payload, version == 1 ? 0x5e43f2d0 : 0xd1d33964);
	if (version == 2)
		appendBinaryStringInfo(&payload, "\1\0\0\0\0\0\0\0\0\0\0\0", 12);
	append_bitmap(&payload, bitmap);
	initStringInfo(&file);
	appendStringInfoChar(&file, 1);
	append_be32(&file, payload.len);
	appendBinaryStringInfo(&file, payload.data, payload.len);
	append_be32(&file, crc32(0, (const Bytef *) payload.data, payload.len));
	return write_index(file.data, file.len, version == 1 ? payload.len : payload.len + 8,
					   roaring_bitmap_get_cardinality(bitmap));
}

static void
test_java_bytes(void)
{
	DeletionVectorPlace places[] = {write_hex(java_v1, 22, 1), write_hex(java_v2, 42, -1)};

	for (int i = 0; i < lengthof(places); i++)
	{
		RowSet		vector = deletion_vector_load(&places[i], "data", 3);
		int32		rows[3];

		CHECK_INT(row_set_list(&vector, false, 0, 3, rows), 2);
		CHECK_INT(rows[0], 0);
		CHECK_INT(rows[1], 2);
		CHECK_INT(row_set_list(&vector, false, 1, 1, rows), 0);
		CHECK_INT(row_set_list(&vector, false, 1, 2, rows), 1);
		CHECK_INT(rows[0], 1);
	}
}

/* The cache gives the rows again, but only to who expects the same vector. */
static void
test_live_rows(void)
{
	DeletionVectorPlace place = write_hex(java_v1, 22, 1);
	DeletionVectorPlace wrong = place;
	RowSet		live;
	RowSet		again;
	int32		rows[3];

	cache_limit = 1024;
	live = deletion_vector_live_rows(&place, "data", 3);
	again = deletion_vector_live_rows(&place, "data", 3);
	CHECK(again.words == live.words);
	CHECK_INT(row_set_list(&again, true, 0, 3, rows), 2);
	CHECK_INT(rows[0], 0);
	CHECK_INT(rows[1], 2);
	CHECK_INT(cache_hits(CACHE_DELETION_VECTOR), 1);
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "data", deletion_vector_live_rows(&place, "data", 1));
	wrong.cardinality = 2;
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "damaged", deletion_vector_live_rows(&wrong, "data", 3));
	cache_limit = 0;
	again = deletion_vector_live_rows(&place, "data", 3);
	CHECK(again.words != live.words);
	CHECK_INT(row_set_count(&again), 2);
}

/* Rows of every density, so that all kinds of containers come, read in batches of any size */
static void
check_random_rows(int version, int file_rows, int percent, bool runs)
{
	roaring_bitmap_t *bitmap = roaring_bitmap_create();
	bool	   *deleted = palloc0(file_rows * sizeof(bool));
	int32		rows[BATCH_ROWS];
	DeletionVectorPlace place;
	RowSet		vector;

	for (int row = 0; row < file_rows; row++)
	{
		deleted[row] = runs ? (row / 1000) % 100 < percent : unit_random_below(100) < percent;
		if (deleted[row])
			roaring_bitmap_add(bitmap, row);
	}
	if (runs)
		roaring_bitmap_run_optimize(bitmap);
	place = write_rows(version, bitmap);
	roaring_bitmap_free(bitmap);
	vector = deletion_vector_load(&place, "data", file_rows);
	for (int first = 0; first < file_rows;)
	{
		int			nrows = 1 + unit_random_below(Min(BATCH_ROWS, file_rows - first));
		int			count = row_set_list(&vector, false, first, nrows, rows);
		int			expected = 0;

		for (int i = 0; i < nrows; i++)
		{
			if (deleted[first + i])
				continue;
			if (expected < count && !CHECK_INT(rows[expected], i))
				return;
			expected++;
		}
		if (!CHECK_INT(count, expected))
			return;
		first += nrows;
	}
}

static void
test_random_rows(void)
{
	for (int version = 1; version <= 2; version++)
	{
		check_random_rows(version, 200000, 1, false);
		check_random_rows(version, 200000, 50, false);
		check_random_rows(version, 200000, 30, true);
		check_random_rows(version, 64, 100, false);
		check_random_rows(version, 1, 0, false);
	}
}

static void
test_refusals(void)
{
	DeletionVectorPlace place = write_hex(java_v1, 22, 1);
	DeletionVectorPlace wrong;

	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "data", deletion_vector_load(&place, "data", 1));
	wrong = place;
	wrong.cardinality = 2;
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "damaged", deletion_vector_load(&wrong, "data", 3));
	wrong = place;
	wrong.length = 23;
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "damaged", deletion_vector_load(&wrong, "data", 3));
	wrong = place;
	wrong.length = 1000;
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "damaged", deletion_vector_load(&wrong, "data", 3));
	wrong = place;
	wrong.offset = PG_INT64_MAX;
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "damaged", deletion_vector_load(&wrong, "data", 3));
	wrong = place;
	wrong.offset = -1;
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "damaged", deletion_vector_load(&wrong, "data", 3));
}

/* Damaged bytes with a checksum that fits, so that the bitmap is looked at. */
static void
load_damaged(BytesView bytes, void *arg)
{
	char	   *file = unconstify(char *, bytes.data);
	DeletionVectorPlace place;

	if (bytes.length > FRAME_BYTES)
	{
		uint32		payload = bytes.length - FRAME_BYTES;
		uint32		sum = pg_hton32(crc32(0, (const Bytef *) file + 5, payload));

		memcpy(file + 5 + payload, &sum, sizeof(sum));
	}
	place = write_index(file, bytes.length, *(int64 *) arg, -1);
	PG_TRY();
	{
		deletion_vector_load(&place, "data", 150000);
	}
	PG_FINALLY();
	{
		storage_remove(place.path, false);
	}
	PG_END_TRY();
}

/* Whatever the bitmap says, no row outside of the file is touched. */
static void
test_damaged_bitmaps(void)
{
	for (int round = 0; round < 40; round++)
	{
		int			version = 1 + round % 2;
		roaring_bitmap_t *bitmap = roaring_bitmap_create();
		DeletionVectorPlace place;
		BytesView	sound;
		size_t		size;

		for (int i = 0; i < 50; i++)
			roaring_bitmap_add_range(bitmap, i * 3000, i * 3000 + 1 + unit_random_below(round % 3 ? 2 : 3000));
		if (round % 4 < 2)
			roaring_bitmap_run_optimize(bitmap);
		place = write_rows(version, bitmap);
		roaring_bitmap_free(bitmap);
		sound.data = storage_read_whole(place.path, 0, false, &size);
		sound.length = size;
		damage_read(psprintf("bitmap %d of version %d", round, version), sound, 50, load_damaged, &place.length);
	}
}

int
main(void)
{
	unit_begin();
	RUN(test_java_bytes);
	RUN(test_live_rows);
	RUN(test_random_rows);
	RUN(test_refusals);
	RUN(test_damaged_bitmaps);
	return unit_end();
}
