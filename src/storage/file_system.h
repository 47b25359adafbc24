/*
 * file_system.h
 *		What the stores share: the common heads of open files, and their list.
 *
 * Only the files of storage/ include this.  A store's own structs begin with
 * these heads.
 */
#ifndef STREAMHOUSE_FILE_SYSTEM_H
#define STREAMHOUSE_FILE_SYSTEM_H

#include "storage/storage.h"

struct StorageFile
{
	const FileSystemRoutine *routine;
	MemoryContext context;		/* holds the file; deleting it closes */
	char	   *path;			/* as the caller gave it */
};

struct StorageWriter
{
	const FileSystemRoutine *routine;
	MemoryContext context;		/* holds the writer; deleting it aborts */
	char	   *path;			/* as the caller gave it */
	uint64		position;		/* bytes appended */
};

extern const FileSystemRoutine local_file_system;

#endif							/* STREAMHOUSE_FILE_SYSTEM_H */
