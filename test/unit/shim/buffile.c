/*
 * buffile.c
 *		The server's temporary files (storage/buffile.h), as those of C.
 */
#include "postgres.h"

#include "storage/buffile.h"

/* As far as they are used here, the server's BufFile is a FILE. */
static FILE *
stream(BufFile *file)
{
	return (FILE *) file;
}

BufFile *
BufFileCreateTemp(bool interXact)
{
	FILE	   *file = tmpfile();

	if (file == NULL)
	{
		perror("tmpfile");
		abort();
	}
	return (BufFile *) file;
}

void
BufFileClose(BufFile *file)
{
	fclose(stream(file));
}

size_t
BufFileRead(BufFile *file, void *ptr, size_t size)
{
	return fread(ptr, 1, size, stream(file));
}

#if PG_VERSION_NUM >= 160000
void
BufFileWrite(BufFile *file, const void *ptr, size_t size)
#else
void
BufFileWrite(BufFile *file, void *ptr, size_t size)
#endif
{
	if (fwrite(ptr, 1, size, stream(file)) != size)
	{
		perror("fwrite");
		abort();
	}
}

int
BufFileSeek(BufFile *file, int fileno, off_t offset, int whence)
{
	return fseeko(stream(file), offset, whence);
}
