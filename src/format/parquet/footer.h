/*
 * footer.h
 *		A Parquet file as bytes: its end, and ranged reads of the rest.
 */
#ifndef STREAMHOUSE_PARQUET_FOOTER_H
#define STREAMHOUSE_PARQUET_FOOTER_H

#include "format/format.h"
#include "storage/scan_memory.h"

/* Decoders may load this many bytes from behind the end of what they decode. */
#define READ_PADDING 16

typedef struct ParquetFile
{
	StorageFile *storage;
	const char *path;
	uint64		data_end;		/* pages and indexes lie before this */
	const char *tail;			/* the last bytes of the file, padded */
	uint64		tail_start;
	const struct ParquetMetadata *metadata; /* shared by those who have the file open */
	FormatCounters *counters;	/* never NULL */
	ScanMemory *memory;			/* for its pages, as long as it is open */
} ParquetFile;

/* Read the end of a file and its metadata; size 0: ask the storage. */
extern void parquet_file_open(ParquetFile *file, StorageFile *storage, uint64 size, FormatCounters *counters);

/*
 * Bytes of the file that are already in memory (small files are wholly), with
 * READ_PADDING behind them; NULL when they are not.
 */
extern const char *parquet_file_peek(const ParquetFile *file, uint64 offset, uint64 length);
extern void parquet_file_read(ParquetFile *file, uint64 offset, size_t length, char *buffer);
extern void parquet_file_read_ranges(ParquetFile *file, FileRange *ranges, int nranges);

/* ERROR over damage; column may be NULL, detail is a whole sentence. */
extern void parquet_damaged(const char *path, const char *column, const char *detail);

#endif							/* STREAMHOUSE_PARQUET_FOOTER_H */
