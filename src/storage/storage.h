/*
 * storage.h
 *		Bytes by path: ranged reads, streaming writes, atomic publication.
 *
 * The lowest layer.  It knows paths and bytes, nothing of tables or columns.
 * One FileSystemRoutine serves each URI scheme; local disk is the first.  All
 * functions raise an ERROR that names the path.  Open files belong to the
 * memory context they were opened in: deleting or resetting that context
 * closes them, so nothing stays open after an error.
 *
 * Paths are absolute local paths ("/srv/lake/...") or "file:///..." URIs.
 */
#ifndef STREAMHOUSE_STORAGE_H
#define STREAMHOUSE_STORAGE_H

#include "postgres.h"

#include "nodes/pg_list.h"

/* One range of a file to be read; the caller owns the buffer. */
typedef struct FileRange
{
	uint64		offset;
	size_t		length;
	char	   *buffer;			/* at least length bytes */
} FileRange;

typedef struct StorageFile StorageFile;		/* a file open for reading */
typedef struct StorageWriter StorageWriter; /* a file being written */

/* What a store must be able to do.  See the wrappers below for the contracts. */
typedef struct FileSystemRoutine
{
	const char *scheme;			/* "file" */
	StorageFile *(*open) (const char *path, bool missing_ok);
	uint64		(*size) (StorageFile *file);
	void		(*read_ranges) (StorageFile *file, FileRange *ranges, int nranges);
	void		(*close) (StorageFile *file);
	StorageWriter *(*create) (const char *path);
	void		(*append) (StorageWriter *writer, const void *data, size_t length);
	uint64		(*finish) (StorageWriter *writer);
	void		(*abort) (StorageWriter *writer);
	bool		(*publish) (const char *path, const void *data, size_t length);
	void		(*replace) (const char *path, const void *data, size_t length);
	bool		(*exists) (const char *path);
	int64		(*modified) (const char *path);
	bool		(*remove) (const char *path, bool missing_ok, int elevel);
	List	   *(*list) (const char *directory);
	void		(*remove_tree) (const char *directory);
	bool		(*remove_empty_directory) (const char *directory);
} FileSystemRoutine;

/*
 * Open a file for reading in CurrentMemoryContext.  ERRCODE_UNDEFINED_FILE
 * when it does not exist.
 */
extern StorageFile *storage_open(const char *path);
extern const char *storage_file_path(const StorageFile *file);
extern uint64 storage_file_size(StorageFile *file);

/*
 * Read all ranges, each wholly; a range that ends after the end of the file
 * is ERRCODE_DATA_CORRUPTED.  Many ranges are asked at once so that a remote
 * store can fetch them together.
 */
extern void storage_read_ranges(StorageFile *file, FileRange *ranges, int nranges);
extern void storage_read(StorageFile *file, uint64 offset, size_t length, void *buffer);
extern void storage_close(StorageFile *file);

/*
 * The whole content of a small file, palloc'd and followed by a zero byte.
 * NULL when it does not exist and missing_ok.  Refuses more than max_length
 * bytes (0: 1 GB).
 */
extern char *storage_read_whole(const char *path, size_t max_length, bool missing_ok, size_t *length);

/*
 * Create a new file, with the folders above it; it must not exist.  If the
 * writer's memory context goes away before storage_finish, the file is
 * removed.  storage_finish makes content and name durable (fsync of file and
 * folders) and returns the size.
 */
extern StorageWriter *storage_create(const char *path);
extern void storage_append(StorageWriter *writer, const void *data, size_t length);
extern uint64 storage_position(const StorageWriter *writer);	/* bytes appended so far */
extern uint64 storage_finish(StorageWriter *writer);
extern void storage_abort(StorageWriter *writer);

/*
 * Atomic create-if-absent of a whole small file, durable on return.  False
 * when the name already exists: somebody else won.  Never overwrites.
 * ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN when the file is there but perhaps
 * not for long; any other error means that it is not there.
 */
extern bool storage_publish(const char *path, const void *data, size_t length);

/*
 * Write a whole small file, replacing it atomically.  For hints: a crash of
 * the machine may bring the old content back, or leave none.
 */
extern void storage_replace(const char *path, const void *data, size_t length);

extern bool storage_exists(const char *path);

/* When a file or folder was modified last, as milliseconds since 1970; 0 when it is not there. */
extern int64 storage_modified(const char *path);

/* True if the file was there.  An ERROR only when !missing_ok or it cannot be removed. */
extern bool storage_remove(const char *path, bool missing_ok);

/* Remove without raising: for abort paths.  A failure is a WARNING. */
extern void storage_remove_quietly(const char *path);

/* Names (char *) in a directory, without "." and ".."; NIL when it does not exist. */
extern List *storage_list(const char *directory);

/* Remove a directory and all below it (DROP of a table). */
extern void storage_remove_tree(const char *directory);

/* Remove a directory if it is empty; false if it is not, or not there. */
extern bool storage_remove_empty_directory(const char *directory);

/* Join two path parts with one slash; palloc'd. */
extern char *storage_join(const char *directory, const char *name);

#endif							/* STREAMHOUSE_STORAGE_H */
