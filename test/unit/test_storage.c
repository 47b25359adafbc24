/*
 * test_storage.c
 *		Files by path: reading, writing, publishing, removing.
 */
#include "postgres.h"

#include <sys/stat.h>
#include <unistd.h>

#include "storage/storage.h"
#include "storage/uuid.h"
#include "utils/memutils.h"

#include "unit.h"

static char *
in_directory(const char *name)
{
	return storage_join(unit_directory(), name);
}

static void
write_file(const char *path, const char *text)
{
	StorageWriter *writer = storage_create(path);

	storage_append(writer, text, strlen(text));
	CHECK_INT(storage_finish(writer), strlen(text));
}

static void
test_paths(void)
{
	size_t		length;
	char	   *path = in_directory("uri");

	CHECK_STRING(storage_join("/a", "b"), "/a/b");
	CHECK_STRING(storage_join("/a/", "/b"), "/a/b");
	CHECK_STRING(storage_join("/", "b"), "/b");
	CHECK_STRING(storage_join("file:///", "b"), "file:/b");

	write_file(psprintf("file://%s", path), "x");
	CHECK_STRING(storage_read_whole(psprintf("file:%s", path), 0, false, &length), "x");
	CHECK_STRING(storage_read_whole(path, 0, false, &length), "x");
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "\"s3\"", storage_open("s3://bucket/file"));
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "another host", storage_open("file://host/file"));
	CHECK_ERROR(ERRCODE_INVALID_NAME, "not absolute", storage_open("relative"));
}

/* Bytes that tell where they are. */
static char
byte_at(uint64 offset)
{
	return (char) (offset * 7 + (offset >> 8) * 13 + (offset >> 16));
}

static void
check_range(const FileRange *range)
{
	for (size_t i = 0; i < range->length; i++)
	{
		if (range->buffer[i] != byte_at(range->offset + i))
		{
			CHECK_MESSAGE(false, "byte %zu of the range at %llu is wrong", i, (unsigned long long) range->offset);
			return;
		}
	}
}

static void
test_ranges(void)
{
	const uint64 size = 3000000;
	char	   *path = in_directory("deep/er/ranges");
	StorageWriter *writer = storage_create(path);
	StorageFile *file;
	char	   *data = palloc(size);

	for (uint64 i = 0; i < size; i++)
		data[i] = byte_at(i);
	for (uint64 at = 0; at < size;)
	{
		uint64		length = unit_random_below(400000);

		length = Min(length, size - at);
		storage_append(writer, data + at, length);
		at += length;
		CHECK_INT(storage_position(writer), at);
	}
	CHECK_INT(storage_finish(writer), size);

	file = storage_open(path);
	CHECK_INT(storage_file_size(file), size);
	CHECK_STRING(storage_file_path(file), path);
	for (int round = 0; round < 200; round++)
	{
		FileRange	ranges[20];
		int			n = 1 + unit_random_below(20);

		for (int i = 0; i < n; i++)
		{
			ranges[i].offset = unit_random() % size;
			ranges[i].length = unit_random_below(i % 4 == 0 ? 300000 : 3000);
			ranges[i].length = Min(ranges[i].length, size - ranges[i].offset);
			ranges[i].buffer = palloc(ranges[i].length + 1);
		}
		storage_read_ranges(file, ranges, n);
		for (int i = 0; i < n; i++)
		{
			check_range(&ranges[i]);
			pfree(ranges[i].buffer);
		}
	}

	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "unexpected end", storage_read(file, size - 1, 2, data));
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "unexpected end", storage_read(file, PG_UINT64_MAX, 2, data));
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "unexpected end", storage_read(file, 2, SIZE_MAX, data));
	storage_close(file);
}

static void
test_missing(void)
{
	char	   *path = in_directory("missing");
	size_t		length;

	CHECK_ERROR(ERRCODE_UNDEFINED_FILE, path, storage_open(path));
	CHECK(storage_read_whole(path, 0, true, &length) == NULL);
	CHECK(!storage_exists(path));
	CHECK(!storage_remove(path, true));
	CHECK_ERROR(ERRCODE_UNDEFINED_FILE, path, storage_remove(path, false));
	storage_remove_quietly(path);
	CHECK(storage_list(path) == NIL);
	storage_remove_tree(path);
	CHECK_ERROR(ERRCODE_WRONG_OBJECT_TYPE, "regular file", storage_open(unit_directory()));
}

static void
test_read_whole(void)
{
	char	   *path = in_directory("whole");
	size_t		length;

	write_file(path, "twelve bytes");
	CHECK_STRING(storage_read_whole(path, 12, false, &length), "twelve bytes");
	CHECK_INT(length, 12);
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "too large", storage_read_whole(path, 11, false, &length));
}

/* A file is there when it is finished, and never otherwise. */
static void
test_abort(void)
{
	char	   *path = in_directory("aborted");
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "test", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	StorageWriter *writer = storage_create(path);

	storage_append(writer, "x", 1);
	CHECK(storage_exists(path));
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	CHECK(!storage_exists(path));
	CHECK_INT(shim_open_files(), 0);

	writer = storage_create(path);
	storage_abort(writer);
	CHECK(!storage_exists(path));

	write_file(path, "x");
	CHECK_ERROR(ERRCODE_DUPLICATE_FILE, path, storage_create(path));
	CHECK(storage_exists(path));
}

static void
test_publish(void)
{
	char	   *folder = in_directory("published");
	char	   *path = storage_join(folder, "snapshot-1");
	size_t		length;

	CHECK(storage_publish(path, "one", 3));
	CHECK(!storage_publish(path, "two", 3));
	CHECK_STRING(storage_read_whole(path, 0, false, &length), "one");
	storage_replace(path, "three", 5);
	CHECK_STRING(storage_read_whole(path, 0, false, &length), "three");
	CHECK_INT(list_length(storage_list(folder)), 1);
}

static void
test_trees(void)
{
	char	   *folder = in_directory("tree");

	write_file(storage_join(folder, "a/b/c"), "x");
	write_file(storage_join(folder, "a/d"), "x");
	CHECK(symlink(unit_directory(), storage_join(folder, "link")) == 0);
	storage_remove_tree(folder);
	CHECK(!storage_exists(folder));
	CHECK(storage_exists(unit_directory()));
}

/* What is made looks like the folder it is made in. */
static void
test_modes(void)
{
	char	   *folder = in_directory("modes");
	struct stat st;

	CHECK(mkdir(folder, 0700) == 0);
	CHECK(chmod(folder, 0770) == 0);
	write_file(storage_join(folder, "below/file"), "x");
	CHECK(stat(storage_join(folder, "below"), &st) == 0);
	CHECK_INT(st.st_mode & 0777, 0770);
	CHECK(stat(storage_join(folder, "below/file"), &st) == 0);
	CHECK_INT(st.st_mode & 0777, 0660);
}

static void
test_uuid(void)
{
	char		a[UUID_TEXT_LENGTH + 1];
	char		b[UUID_TEXT_LENGTH + 1];

	lake_uuid(a);
	lake_uuid(b);
	CHECK_INT(strlen(a), UUID_TEXT_LENGTH);
	CHECK(strcmp(a, b) != 0);
	CHECK(a[14] == '4' && a[8] == '-' && a[23] == '-');
}

int
main(void)
{
	unit_begin();
	RUN(test_paths);
	RUN(test_ranges);
	RUN(test_missing);
	RUN(test_read_whole);
	RUN(test_abort);
	RUN(test_publish);
	RUN(test_trees);
	RUN(test_modes);
	RUN(test_uuid);
	return unit_end();
}
