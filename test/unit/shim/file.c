/*
 * file.c
 *		The server's file access (storage/fd.h), without the pool of descriptors.
 *
 * Nothing is synced to disk: unit tests do not pull plugs.
 */
#include "postgres.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file_perm.h"
#include "miscadmin.h"
#include "storage/fd.h"

#include "shim.h"

#define MAX_OPEN_FILES 1024

typedef struct OpenFile
{
	int			descriptor;
	char	   *path;			/* malloc'd; NULL: the slot is free */
} OpenFile;

static OpenFile files[MAX_OPEN_FILES];
static int	nopen;				/* of all kinds */

bool		enableFsync = false;
bool		data_sync_retry = false;

int
shim_open_files(void)
{
	return nopen;
}

/* ---- virtual files ---- */

File
PathNameOpenFilePerm(const char *fileName, int fileFlags, mode_t fileMode)
{
	int			descriptor = open(fileName, fileFlags, fileMode);

	if (descriptor < 0)
		return -1;
	for (File file = 0; file < MAX_OPEN_FILES; file++)
	{
		if (files[file].path == NULL)
		{
			files[file].descriptor = descriptor;
			files[file].path = strdup(fileName);
			nopen++;
			return file;
		}
	}
	close(descriptor);
	errno = EMFILE;
	return -1;
}

File
PathNameOpenFile(const char *fileName, int fileFlags)
{
	return PathNameOpenFilePerm(fileName, fileFlags, PG_FILE_MODE_OWNER);
}

void
FileClose(File file)
{
	if (files[file].path == NULL)
	{
		fprintf(stderr, "closing a file that is not open\n");
		abort();
	}
	close(files[file].descriptor);
	free(files[file].path);
	files[file].path = NULL;
	nopen--;
}

char *
FilePathName(File file)
{
	return files[file].path;
}

off_t
FileSize(File file)
{
	struct stat status;

	return fstat(files[file].descriptor, &status) == 0 ? status.st_size : -1;
}

int
FileTruncate(File file, off_t offset, uint32 wait_event_info)
{
	return ftruncate(files[file].descriptor, offset);
}

int
FileSync(File file, uint32 wait_event_info)
{
	return 0;
}

#if PG_VERSION_NUM >= 170000
ssize_t
FileReadV(File file, const struct iovec *iov, int iovcnt, off_t offset, uint32 wait_event_info)
{
	return preadv(files[file].descriptor, iov, iovcnt, offset);
}

ssize_t
FileWriteV(File file, const struct iovec *iov, int iovcnt, off_t offset, uint32 wait_event_info)
{
	return pwritev(files[file].descriptor, iov, iovcnt, offset);
}
#elif PG_VERSION_NUM >= 160000
int
FileRead(File file, void *buffer, size_t amount, off_t offset, uint32 wait_event_info)
{
	return pread(files[file].descriptor, buffer, amount, offset);
}

int
FileWrite(File file, const void *buffer, size_t amount, off_t offset, uint32 wait_event_info)
{
	return pwrite(files[file].descriptor, buffer, amount, offset);
}
#else
int
FileRead(File file, char *buffer, int amount, off_t offset, uint32 wait_event_info)
{
	return pread(files[file].descriptor, buffer, amount, offset);
}

int
FileWrite(File file, char *buffer, int amount, off_t offset, uint32 wait_event_info)
{
	return pwrite(files[file].descriptor, buffer, amount, offset);
}
#endif

/* ---- plain descriptors, streams and folders ---- */

int
OpenTransientFilePerm(const char *fileName, int fileFlags, mode_t fileMode)
{
	int			descriptor = open(fileName, fileFlags, fileMode);

	if (descriptor >= 0)
		nopen++;
	return descriptor;
}

int
OpenTransientFile(const char *fileName, int fileFlags)
{
	return OpenTransientFilePerm(fileName, fileFlags, PG_FILE_MODE_OWNER);
}

int
CloseTransientFile(int fd)
{
	nopen--;
	return close(fd);
}

FILE *
AllocateFile(const char *name, const char *mode)
{
	FILE	   *file = fopen(name, mode);

	if (file != NULL)
		nopen++;
	return file;
}

int
FreeFile(FILE *file)
{
	nopen--;
	return fclose(file);
}

DIR *
AllocateDir(const char *dirname)
{
	DIR		   *directory = opendir(dirname);

	if (directory != NULL)
		nopen++;
	return directory;
}

struct dirent *
ReadDirExtended(DIR *dir, const char *dirname, int elevel)
{
	struct dirent *entry;

	if (dir == NULL)
	{
		ereport(elevel,
				(errcode_for_file_access(),
				 errmsg("could not open directory \"%s\": %m", dirname)));
		return NULL;
	}
	errno = 0;
	entry = readdir(dir);
	if (entry == NULL && errno != 0)
		ereport(elevel,
				(errcode_for_file_access(),
				 errmsg("could not read directory \"%s\": %m", dirname)));
	return entry;
}

struct dirent *
ReadDir(DIR *dir, const char *dirname)
{
	return ReadDirExtended(dir, dirname, ERROR);
}

int
FreeDir(DIR *dir)
{
	if (dir == NULL)
		return 0;
	nopen--;
	return closedir(dir);
}

int
MakePGDirectory(const char *directoryName)
{
	return mkdir(directoryName, PG_DIR_MODE_OWNER);
}

/* ---- durability ---- */

int
data_sync_elevel(int elevel)
{
	return elevel;
}

int
pg_fsync(int fd)
{
	return 0;
}

void
fsync_fname(const char *fname, bool isdir)
{
}

int
fsync_fname_ext(const char *fname, bool isdir, bool ignore_perm, int elevel)
{
	return 0;
}

int
durable_rename(const char *oldfile, const char *newfile, int loglevel)
{
	if (rename(oldfile, newfile) == 0)
		return 0;
	ereport(loglevel,
			(errcode_for_file_access(),
			 errmsg("could not rename file \"%s\" to \"%s\": %m", oldfile, newfile)));
	return -1;
}

int
durable_unlink(const char *fname, int loglevel)
{
	if (unlink(fname) == 0)
		return 0;
	ereport(loglevel,
			(errcode_for_file_access(),
			 errmsg("could not remove file \"%s\": %m", fname)));
	return -1;
}
