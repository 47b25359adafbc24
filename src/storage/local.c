/*
 * local.c
 *		The local file system as a store.
 *
 * Files are opened through the server's virtual file descriptors, which are
 * not bound to a transaction; a reset callback of the file's own memory
 * context closes them.  The same callback removes a file whose writer did not
 * finish.
 *
 * A new folder gets the mode of the folder it is made in, and a new file the
 * same without execute bits: who else may read or write the lake is decided
 * at its root, not by the server's umask, which would lock other engines out.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/file_system.h"
#include "storage/uuid.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#define WRITE_BUFFER_SIZE	(256 * 1024)
#define MAX_CHUNK			(64 * 1024 * 1024)	/* of one system call */

/* Ranges not further apart than this are read at once, up to a bound. */
#define MERGE_GAP			(64 * 1024)
#define MERGE_MAX			(1024 * 1024)

typedef struct LocalFile
{
	StorageFile base;
	const char *local_path;
	File		fd;
	uint64		size;
	MemoryContextCallback callback;
} LocalFile;

typedef struct LocalWriter
{
	StorageWriter base;
	const char *local_path;
	File		fd;				/* -1 when closed */
	off_t		written;		/* bytes in the file */
	size_t		buffered;		/* bytes in buffer */
	char	   *buffer;
	bool		keep;			/* the file is finished, or somebody else's */
	MemoryContextCallback callback;
} LocalWriter;

/* The path without "file:" and "//". */
static const char *
local_path_of(const char *path)
{
	const char *p = path;

	if (*p == '/')
		return p;
	p += strlen("file:");
	if (p[0] == '/' && p[1] == '/')
		p += 2;
	if (*p != '/')
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("path \"%s\" names another host", path),
				 errhint("Write \"file:///folder\" for a local folder.")));
	return p;
}

/* An ERROR (or elevel) for errno, with a hint when the disk is full. */
static void
report_errno(int elevel, const char *action, const char *path)
{
	int			error = errno;

	ereport(elevel,
			(errcode_for_file_access(),
			 errmsg("could not %s \"%s\": %s", action, path, strerror(error)),
			 error == ENOSPC ? errhint("Check free disk space.") : 0));
}

static char *
parent_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == path ? pstrdup("/") : pnstrdup(path, slash - path);
}

static void
sync_directory(const char *directory)
{
	if (enableFsync)
		fsync_fname_ext(directory, true, false, ERROR);
}

/* Permissions for what is made in a folder; never writable to everybody. */
static mode_t
inherited_mode(const char *directory)
{
	struct stat st;

	if (stat(directory, &st) != 0)
		report_errno(ERROR, "access folder", directory);
	return (st.st_mode & (S_IRWXG | S_IROTH | S_IXOTH)) | S_IRWXU;
}

/*
 * Make a folder and those above it, and make their names durable.  Somebody
 * else may be doing the same.
 */
static void
ensure_directory(const char *directory)
{
	struct stat st;
	char	   *parent;

	if (stat(directory, &st) == 0)
	{
		if (S_ISDIR(st.st_mode))
			return;
		errno = ENOTDIR;
		report_errno(ERROR, "create folder", directory);
	}
	if (errno != ENOENT)
		report_errno(ERROR, "access folder", directory);

	parent = parent_of(directory);
	ensure_directory(parent);
	if (MakePGDirectory(directory) == 0)
	{
		if (chmod(directory, inherited_mode(parent)) != 0)
			report_errno(ERROR, "set permissions of folder", directory);
		sync_directory(parent);
	}
	else if (errno != EEXIST)
		report_errno(ERROR, "create folder", directory);
	pfree(parent);
}

static MemoryContext
file_context_create(void)
{
	return AllocSetContextCreate(CurrentMemoryContext, "streamhouse file", ALLOCSET_SMALL_SIZES);
}

/* Reading */

static void
local_file_release(void *arg)
{
	LocalFile  *file = arg;

	FileClose(file->fd);
}

/*
 * Anything but a regular file is refused before it is opened: opening a pipe
 * would hang.
 */
static bool
check_regular_file(const char *local_path, const char *path, bool missing_ok)
{
	struct stat st;

	if (stat(local_path, &st) != 0)
	{
		if (missing_ok && errno == ENOENT)
			return false;
		report_errno(ERROR, "open file", path);
	}
	if (!S_ISREG(st.st_mode))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a regular file", path)));
	return true;
}

static StorageFile *
local_open(const char *path, bool missing_ok)
{
	const char *local_path = local_path_of(path);
	MemoryContext context;
	LocalFile  *file;
	off_t		size;
	File		fd;

	if (!check_regular_file(local_path, path, missing_ok))
		return NULL;

	context = file_context_create();
	file = MemoryContextAllocZero(context, sizeof(LocalFile));
	file->base.routine = &local_file_system;
	file->base.context = context;
	file->base.path = MemoryContextStrdup(context, path);
	file->local_path = local_path_of(file->base.path);

	fd = PathNameOpenFile(local_path, O_RDONLY | PG_BINARY);
	if (fd < 0)
	{
		if (missing_ok && errno == ENOENT)
		{
			MemoryContextDelete(context);
			return NULL;
		}
		report_errno(ERROR, "open file", path);
	}
	file->fd = fd;
	file->callback.func = local_file_release;
	file->callback.arg = file;
	MemoryContextRegisterResetCallback(context, &file->callback);

	size = FileSize(fd);
	if (size < 0)
		report_errno(ERROR, "find the size of file", path);
	file->size = size;
	return &file->base;
}

static uint64
local_size(StorageFile *base)
{
	return ((LocalFile *) base)->size;
}

/* Read a range wholly. */
static void
read_range(LocalFile *file, uint64 offset, size_t length, char *buffer)
{
	while (length > 0)
	{
		int			n;

		CHECK_FOR_INTERRUPTS();
		n = FileRead(file->fd, buffer, Min(length, MAX_CHUNK), (off_t) offset, PG_WAIT_EXTENSION);
		if (n < 0)
			report_errno(ERROR, "read file", file->base.path);
		if (n == 0)
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("unexpected end of file \"%s\"", file->base.path),
					 errdetail("The file became shorter while it was read.")));
		buffer += n;
		offset += n;
		length -= n;
	}
}

static int
compare_ranges(const void *a, const void *b)
{
	const FileRange *ra = *(FileRange *const *) a;
	const FileRange *rb = *(FileRange *const *) b;

	return ra->offset < rb->offset ? -1 : ra->offset > rb->offset;
}

/*
 * Small ranges that lie close together are read at once and then copied;
 * copying large ones would cost more than the system call that it saves.
 */
static void
local_read_ranges(StorageFile *base, FileRange *ranges, int nranges)
{
	LocalFile  *file = (LocalFile *) base;
	FileRange **sorted;
	char	   *scratch = NULL;
	int			i = 0;

	if (nranges == 1)
	{
		read_range(file, ranges[0].offset, ranges[0].length, ranges[0].buffer);
		return;
	}

	sorted = palloc(nranges * sizeof(FileRange *));
	for (int k = 0; k < nranges; k++)
		sorted[k] = &ranges[k];
	qsort(sorted, nranges, sizeof(FileRange *), compare_ranges);

	while (i < nranges)
	{
		uint64		start = sorted[i]->offset;
		uint64		end = start + sorted[i]->length;
		int			next = i + 1;

		while (next < nranges && sorted[next]->offset <= end + MERGE_GAP &&
			   sorted[next]->offset + sorted[next]->length <= start + MERGE_MAX)
		{
			end = Max(end, sorted[next]->offset + sorted[next]->length);
			next++;
		}

		if (next == i + 1)
			read_range(file, start, sorted[i]->length, sorted[i]->buffer);
		else
		{
			if (scratch == NULL)
				scratch = palloc(MERGE_MAX);
			read_range(file, start, end - start, scratch);
			for (int k = i; k < next; k++)
				memcpy(sorted[k]->buffer, scratch + (sorted[k]->offset - start), sorted[k]->length);
		}
		i = next;
	}

	if (scratch != NULL)
		pfree(scratch);
	pfree(sorted);
}

static void
local_close(StorageFile *base)
{
	MemoryContextDelete(base->context);
}

/* Writing */

static void
local_writer_release(void *arg)
{
	LocalWriter *writer = arg;

	if (writer->fd >= 0)
		FileClose(writer->fd);
	if (!writer->keep && unlink(writer->local_path) != 0 && errno != ENOENT)
		report_errno(WARNING, "remove file", writer->base.path);
}

static StorageWriter *
local_create(const char *path)
{
	MemoryContext context = file_context_create();
	LocalWriter *writer = MemoryContextAllocZero(context, sizeof(LocalWriter));
	char	   *parent;

	writer->base.routine = &local_file_system;
	writer->base.context = context;
	writer->base.path = MemoryContextStrdup(context, path);
	writer->local_path = local_path_of(writer->base.path);
	writer->buffer = MemoryContextAlloc(context, WRITE_BUFFER_SIZE);

	parent = parent_of(writer->local_path);
	ensure_directory(parent);
	writer->fd = PathNameOpenFile(writer->local_path, O_RDWR | O_CREAT | O_EXCL | PG_BINARY);
	if (writer->fd < 0)
		report_errno(ERROR, "create file", path);
	writer->callback.func = local_writer_release;
	writer->callback.arg = writer;
	MemoryContextRegisterResetCallback(context, &writer->callback);

	if (chmod(writer->local_path, inherited_mode(parent) & ~(S_IXUSR | S_IXGRP | S_IXOTH)) != 0)
		report_errno(ERROR, "set permissions of file", path);
	pfree(parent);
	return &writer->base;
}

static void
write_out(LocalWriter *writer, const char *data, size_t length)
{
	while (length > 0)
	{
		int			n;

		CHECK_FOR_INTERRUPTS();
		n = FileWrite(writer->fd, unconstify(char *, data), Min(length, MAX_CHUNK), writer->written, PG_WAIT_EXTENSION);
		if (n <= 0)
			report_errno(ERROR, "write file", writer->base.path);
		writer->written += n;
		data += n;
		length -= n;
	}
}

static void
flush_buffer(LocalWriter *writer)
{
	write_out(writer, writer->buffer, writer->buffered);
	writer->buffered = 0;
}

static void
local_append(StorageWriter *base, const void *data, size_t length)
{
	LocalWriter *writer = (LocalWriter *) base;

	if (length > WRITE_BUFFER_SIZE - writer->buffered)
		flush_buffer(writer);
	if (length >= WRITE_BUFFER_SIZE)
		write_out(writer, data, length);
	else
	{
		memcpy(writer->buffer + writer->buffered, data, length);
		writer->buffered += length;
	}
}

/* Write out and, if wanted, make the content durable; the name is the caller's business. */
static void
complete_file(LocalWriter *writer, bool durable)
{
	File		fd = writer->fd;

	flush_buffer(writer);
	if (durable && FileSync(fd, PG_WAIT_EXTENSION) != 0)
		report_errno(ERROR, "fsync file", writer->base.path);
	writer->fd = -1;
	FileClose(fd);
}

static uint64
local_finish(StorageWriter *base)
{
	LocalWriter *writer = (LocalWriter *) base;
	uint64		size;
	char	   *parent;

	complete_file(writer, true);
	parent = parent_of(writer->local_path);
	sync_directory(parent);
	pfree(parent);

	size = writer->written;
	writer->keep = true;
	MemoryContextDelete(base->context);
	return size;
}

static void
local_abort(StorageWriter *base)
{
	MemoryContextDelete(base->context);
}

/* Whole files under a temporary name, then given their own */

/* Write a file ".<name>.<uuid>.tmp" beside path. */
static LocalWriter *
write_temporary(const char *path, const void *data, size_t length, bool durable)
{
	char	   *parent = parent_of(path);
	char		uuid[UUID_TEXT_LENGTH + 1];
	char	   *temporary;
	StorageWriter *writer;

	lake_uuid(uuid);
	temporary = psprintf("%s/.%s.%s.tmp", parent, strrchr(path, '/') + 1, uuid);
	writer = local_create(temporary);
	local_append(writer, data, length);
	complete_file((LocalWriter *) writer, durable);
	pfree(temporary);
	pfree(parent);
	return (LocalWriter *) writer;
}

/*
 * Give a file a second name unless that name is taken.  A file system without
 * hard links gets a rename that does not replace.
 */
static bool
link_exclusively(LocalWriter *writer, const char *target)
{
	if (link(writer->local_path, target) == 0)
		return true;
	if (errno == EEXIST)
		return false;
#ifdef RENAME_NOREPLACE
	if (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS || errno == EMLINK)
	{
		if (renameat2(AT_FDCWD, writer->local_path, AT_FDCWD, target, RENAME_NOREPLACE) == 0)
		{
			writer->keep = true;
			return true;
		}
		if (errno == EEXIST)
			return false;
	}
#endif
	report_errno(ERROR, "create file", target);
	return false;				/* keep compiler quiet */
}

static bool
local_publish(const char *path, const void *data, size_t length)
{
	const char *target = local_path_of(path);
	LocalWriter *writer = write_temporary(target, data, length, true);
	bool		created = link_exclusively(writer, target);

	char	   *parent = parent_of(target);

	/* the temporary name goes before the folder is synced: one sync for both */
	MemoryContextDelete(writer->base.context);
	if (created && enableFsync && fsync_fname_ext(parent, true, false, WARNING) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
				 errmsg("outcome of publishing \"%s\" is unknown", path),
				 errdetail("The file is there, but may be lost in a crash.")));
	pfree(parent);
	return created;
}

static void
local_replace(const char *path, const void *data, size_t length)
{
	const char *target = local_path_of(path);
	LocalWriter *writer = write_temporary(target, data, length, false);

	if (rename(writer->local_path, target) != 0)
		report_errno(ERROR, "replace file", path);
	writer->keep = true;
	MemoryContextDelete(writer->base.context);
}

/* Names */

static bool
local_exists(const char *path)
{
	struct stat st;

	if (stat(local_path_of(path), &st) == 0)
		return true;
	if (errno != ENOENT && errno != ENOTDIR)
		report_errno(ERROR, "access file", path);
	return false;
}

static int64
local_modified(const char *path)
{
	struct stat st;

	if (stat(local_path_of(path), &st) == 0)
		return (int64) st.st_mtim.tv_sec * 1000 + st.st_mtim.tv_nsec / 1000000;
	if (errno != ENOENT && errno != ENOTDIR)
		report_errno(ERROR, "access file", path);
	return 0;
}

static bool
local_remove(const char *path, bool missing_ok, int elevel)
{
	if (unlink(local_path_of(path)) == 0)
		return true;
	if (!missing_ok || errno != ENOENT)
		report_errno(elevel, "remove file", path);
	return false;
}

static List *
local_list(const char *directory)
{
	const char *local_path = local_path_of(directory);
	List	   *names = NIL;
	struct dirent *entry;
	DIR		   *dir = AllocateDir(local_path);

	if (dir == NULL && errno == ENOENT)
		return NIL;

	/* ReadDir reports the error of AllocateDir */
	while ((entry = ReadDir(dir, local_path)) != NULL)
	{
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			names = lappend(names, pstrdup(entry->d_name));
	}
	FreeDir(dir);
	return names;
}

static void
local_remove_tree(const char *directory)
{
	List	   *names = local_list(directory);
	ListCell   *lc;

	foreach(lc, names)
	{
		char	   *path = storage_join(directory, lfirst(lc));
		struct stat st;

		CHECK_FOR_INTERRUPTS();
		if (lstat(local_path_of(path), &st) == 0 && S_ISDIR(st.st_mode))
			local_remove_tree(path);
		else
			local_remove(path, true, ERROR);
		pfree(path);
	}
	list_free_deep(names);

	if (rmdir(local_path_of(directory)) != 0 && errno != ENOENT)
		report_errno(ERROR, "remove folder", directory);
}

static bool
local_remove_empty_directory(const char *directory)
{
	if (rmdir(local_path_of(directory)) == 0)
		return true;
	if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOENT)
		report_errno(ERROR, "remove folder", directory);
	return false;
}

const FileSystemRoutine local_file_system = {
	.scheme = "file",
	.open = local_open,
	.size = local_size,
	.read_ranges = local_read_ranges,
	.close = local_close,
	.create = local_create,
	.append = local_append,
	.finish = local_finish,
	.abort = local_abort,
	.publish = local_publish,
	.replace = local_replace,
	.exists = local_exists,
	.modified = local_modified,
	.remove = local_remove,
	.list = local_list,
	.remove_tree = local_remove_tree,
	.remove_empty_directory = local_remove_empty_directory,
};
