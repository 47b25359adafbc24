/*
 * orc_file.h
 *		An ORC file as bytes: ranged reads, its compression, and errors.
 */
#ifndef STREAMHOUSE_ORC_FILE_H
#define STREAMHOUSE_ORC_FILE_H

#include "format/codec.h"
#include "format/format.h"
#include "storage/scan_memory.h"

#ifdef WORDS_BIGENDIAN
#error "reading ORC needs a little-endian machine"
#endif

/* Decoders may load this many bytes from behind the end of what they decode. */
#define ORC_PADDING 16

typedef struct OrcFile
{
	StorageFile *storage;
	const char *path;
	uint64		data_end;		/* stripes lie before this */
	char	   *tail;			/* the last bytes of the file, padded */
	uint64		tail_start;
	size_t		tail_length;
	bool		compressed;		/* everything but the postscript is */
	Codec		codec;
	uint32		block_bytes;	/* a chunk has at most, decompressed */
	FormatCounters *counters;	/* never NULL */
	ScanMemory *memory;			/* for its streams, as long as it is open */
} OrcFile;

/* What a decoder names in errors. */
typedef struct OrcPlace
{
	const char *path;
	const char *column;			/* NULL: the file's metadata */
} OrcPlace;

/*
 * Bytes of the file that are already in memory (small files are wholly), with
 * ORC_PADDING behind them; NULL when they are not.
 */
extern const uint8 *orc_file_peek(const OrcFile *file, uint64 offset, uint64 length);
extern void orc_file_read(OrcFile *file, uint64 offset, size_t length, void *buffer);

/* ERROR over damage; column may be NULL, detail is a whole sentence. */
extern void orc_damaged(const char *path, const char *column, const char *detail);

#endif							/* STREAMHOUSE_ORC_FILE_H */
