/*
 * storage.c
 *		The public face of storage: finds the store by the path's scheme.
 */
#include "postgres.h"

#include "storage/file_system.h"
#include "utils/memutils.h"

static const FileSystemRoutine *const file_systems[] = {
	&local_file_system,
};

/*
 * Length of the scheme a path begins with ("s3" of "s3://bucket/x"), 0 for a
 * plain path.
 */
static size_t
scheme_length(const char *path)
{
	size_t		n = 0;

	while ((path[n] >= 'a' && path[n] <= 'z') || (path[n] >= 'A' && path[n] <= 'Z') ||
		   (n > 0 && ((path[n] >= '0' && path[n] <= '9') || path[n] == '+' || path[n] == '-' || path[n] == '.')))
		n++;
	return path[n] == ':' && path[n + 1] == '/' ? n : 0;
}

static const FileSystemRoutine *
find_file_system(const char *path)
{
	size_t		length = scheme_length(path);

	if (path[0] == '/')
		return &local_file_system;
	if (length == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("path \"%s\" is not absolute", path)));

	for (int i = 0; i < lengthof(file_systems); i++)
	{
		const char *scheme = file_systems[i]->scheme;

		if (strlen(scheme) == length && pg_strncasecmp(path, scheme, length) == 0)
			return file_systems[i];
	}

	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("storage scheme \"%.*s\" of path \"%s\" is not supported", (int) length, path, path),
			 errhint("Supported are absolute local paths and \"file://\".")));
	return NULL;				/* keep compiler quiet */
}

StorageFile *
storage_open(const char *path)
{
	return find_file_system(path)->open(path, false);
}

const char *
storage_file_path(const StorageFile *file)
{
	return file->path;
}

uint64
storage_file_size(StorageFile *file)
{
	return file->routine->size(file);
}

/*
 * Bounds are checked here for every store: offsets and lengths come from
 * metadata that may be damaged.
 */
void
storage_read_ranges(StorageFile *file, FileRange *ranges, int nranges)
{
	uint64		size = file->routine->size(file);

	for (int i = 0; i < nranges; i++)
	{
		if (ranges[i].offset > size || ranges[i].length > size - ranges[i].offset)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("unexpected end of file \"%s\"", file->path),
					 errdetail("%zu bytes at offset %llu are needed, but the file has %llu bytes.",
							   ranges[i].length, (unsigned long long) ranges[i].offset,
							   (unsigned long long) size)));
	}
	if (nranges > 0)
		file->routine->read_ranges(file, ranges, nranges);
}

void
storage_read(StorageFile *file, uint64 offset, size_t length, void *buffer)
{
	FileRange	range = {offset, length, buffer};

	storage_read_ranges(file, &range, 1);
}

void
storage_close(StorageFile *file)
{
	file->routine->close(file);
}

char *
storage_read_whole(const char *path, size_t max_length, bool missing_ok, size_t *length)
{
	StorageFile *file;
	uint64		size;
	char	   *data;

	if (max_length == 0 || max_length >= MaxAllocSize)
		max_length = MaxAllocSize - 1;

	file = find_file_system(path)->open(path, missing_ok);
	if (file == NULL)
		return NULL;
	size = storage_file_size(file);
	if (size > max_length)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("file \"%s\" is too large", path),
				 errdetail("It has %llu bytes, of which at most %zu are expected.",
						   (unsigned long long) size, max_length)));

	data = palloc(size + 1);
	storage_read(file, 0, size, data);
	data[size] = '\0';
	storage_close(file);
	*length = size;
	return data;
}

StorageWriter *
storage_create(const char *path)
{
	return find_file_system(path)->create(path);
}

void
storage_append(StorageWriter *writer, const void *data, size_t length)
{
	writer->routine->append(writer, data, length);
	writer->position += length;
}

uint64
storage_position(const StorageWriter *writer)
{
	return writer->position;
}

uint64
storage_finish(StorageWriter *writer)
{
	return writer->routine->finish(writer);
}

void
storage_abort(StorageWriter *writer)
{
	writer->routine->abort(writer);
}

bool
storage_publish(const char *path, const void *data, size_t length)
{
	return find_file_system(path)->publish(path, data, length);
}

void
storage_replace(const char *path, const void *data, size_t length)
{
	find_file_system(path)->replace(path, data, length);
}

bool
storage_exists(const char *path)
{
	return find_file_system(path)->exists(path);
}

int64
storage_modified(const char *path)
{
	return find_file_system(path)->modified(path);
}

bool
storage_remove(const char *path, bool missing_ok)
{
	return find_file_system(path)->remove(path, missing_ok, ERROR);
}

void
storage_remove_quietly(const char *path)
{
	find_file_system(path)->remove(path, true, WARNING);
}

List *
storage_list(const char *directory)
{
	return find_file_system(directory)->list(directory);
}

void
storage_remove_tree(const char *directory)
{
	find_file_system(directory)->remove_tree(directory);
}

bool
storage_remove_empty_directory(const char *directory)
{
	return find_file_system(directory)->remove_empty_directory(directory);
}

char *
storage_join(const char *directory, const char *name)
{
	size_t		length = strlen(directory);

	while (length > 1 && directory[length - 1] == '/')
		length--;
	while (*name == '/')
		name++;
	if (*name == '\0')
		return pnstrdup(directory, length);
	if (length == 0)
		return pstrdup(name);
	return psprintf("%.*s%s%s", (int) length, directory, directory[length - 1] == '/' ? "" : "/", name);
}
