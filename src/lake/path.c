/*
 * path.c
 *		Where a table's metadata files lie, and the numbered ones listed.
 */
#include "postgres.h"

#include "lake/path.h"
#include "storage/storage.h"

char *
schema_path(const char *table_location, int64 id)
{
	return psprintf("%s/schema/schema-%lld", table_location, (long long) id);
}

char *
snapshot_path(const char *table_location, int64 id)
{
	return psprintf("%s/snapshot/snapshot-%lld", table_location, (long long) id);
}

char *
tag_path(const char *table_location, const char *tag)
{
	if (!path_step_is_safe(tag))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME),
				 errmsg("invalid tag name \"%s\"", tag)));
	return psprintf("%s/tag/tag-%s", table_location, tag);
}

bool
path_step_is_safe(const char *name)
{
	return name[0] != '\0' && strchr(name, '/') == NULL && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

char *
named_file_path(const char *table_location, const char *folder, const char *name)
{
	if (!path_step_is_safe(name))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("metadata of table \"%s\" has an invalid file name \"%s\"", table_location, name)));
	return psprintf("%s/%s/%s", table_location, folder, name);
}

char *
manifest_path(const char *table_location, const char *name)
{
	return named_file_path(table_location, "manifest", name);
}

char *
index_path(const char *table_location, const char *name)
{
	return named_file_path(table_location, "index", name);
}

char *
statistics_path(const char *table_location, const char *name)
{
	return named_file_path(table_location, "statistics", name);
}

static int64
parse_file_number(const char *directory, const char *name, size_t prefix_length)
{
	const char *digits = name + prefix_length;
	char	   *end;
	int64		number;

	errno = 0;
	number = strtoll(digits, &end, 10);
	if (errno != 0 || *digits < '0' || *digits > '9' || *end != '\0')
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("unexpected file \"%s/%s\"", directory, name),
				 errdetail("The name should end in a number.")));
	return number;
}

static int
compare_numbers(const void *a, const void *b)
{
	int64		x = *(const int64 *) a;
	int64		y = *(const int64 *) b;

	return x < y ? -1 : x > y;
}

int64 *
list_numbered_files(const char *table_location, const char *folder, const char *prefix, int *count)
{
	char	   *directory = storage_join(table_location, folder);
	List	   *names = storage_list(directory);
	size_t		prefix_length = strlen(prefix);
	int64	   *numbers = palloc((list_length(names) + 1) * sizeof(int64));
	int			n = 0;
	ListCell   *lc;

	foreach(lc, names)
	{
		const char *name = lfirst(lc);

		if (strncmp(name, prefix, prefix_length) == 0)
			numbers[n++] = parse_file_number(directory, name, prefix_length);
	}
	qsort(numbers, n, sizeof(int64), compare_numbers);

	list_free_deep(names);
	pfree(directory);
	*count = n;
	return numbers;
}
