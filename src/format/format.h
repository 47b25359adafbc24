/*
 * format.h
 *		Data files as batches: the interface between the lake and a file format.
 *
 * A format is one FormatRoutine and one line in the table in format.c.  It
 * knows nothing of Paimon.
 */
#ifndef STREAMHOUSE_FORMAT_H
#define STREAMHOUSE_FORMAT_H

#include "postgres.h"

#include "columnar/predicate.h"
#include "columnar/vector.h"
#include "storage/storage.h"

/* What reading cost, summed over files; for EXPLAIN.  The owner zeroes it. */
typedef struct FormatCounters
{
	int64		files;			/* opened */
	int64		row_groups;		/* in the files opened */
	int64		row_groups_read;	/* not excluded by statistics */
	int64		pages_skipped;	/* data pages excluded by the page index, or by a selection */
	int64		bloom_excluded; /* row groups, or such parts as have bloom filters, excluded by these */
	int64		rows_read;		/* rows in the batches given out */
	int64		bytes_read;		/* from storage */
	int64		index_excluded; /* files excluded by their index, not opened */
	int64		footers_cached; /* of the files opened, those whose end was in memory */
	int64		pages_cached;	/* pages found in memory */
} FormatCounters;

/* Consecutive rows, of a file or a part of it. */
typedef struct RowRange
{
	int64		start;
	int64		end;			/* the first row behind it */
} RowRange;

/*
 * A reader gives batches of consecutive rows of its file.  format_next only
 * moves; nothing is decoded until format_read_column asks for a column, for
 * the rows that are still wanted.  For one batch a column may be read once.
 *
 * Values read stay valid until the next format_next or format_close.
 */
typedef struct FormatReader
{
	const struct FormatRoutine *routine;
	/* of the current batch, set by format_next */
	int64		first_row;		/* position in the file of the batch's row 0 */
	int			nrows;			/* 1 .. BATCH_ROWS */
	/* of the file */
	int64		file_rows;		/* rows in the file */
	int			ncolumns;
	bool	   *present;		/* by column: false if the file lacks it */
} FormatReader;

/* The columns' types and the predicate must live as long as the reader. */
typedef struct FormatReadOptions
{
	int			ncolumns;
	const DataField *columns;	/* wanted: found by name; type as it should come out */
	const Predicate *predicate; /* over positions in columns; only to skip what cannot match. May be NULL */
	const RowRange *rows;		/* give only these, and count the file where they begin with 0; NULL: all */
	bool		rows_may_move;	/* their bounds, to where it is cheaper to read; the same for whoever reads up to or from it */
	FormatCounters *counters;	/* may be NULL */
	uint64		file_size;		/* as the manifest says: the end of the file; 0 unknown */
	int64		file_rows;		/* as the manifest says: for files that do not say it themselves */
} FormatReadOptions;

/* What is known of a column in a group of consecutive rows of the file. */
typedef struct GroupStatistics
{
	int64		nrows;
	ColumnStatistics statistics;
} GroupStatistics;

typedef struct FormatWriter
{
	const struct FormatRoutine *routine;
	int64		nrows;			/* appended so far */
} FormatWriter;

typedef struct FormatWriteOptions
{
	int			ncolumns;
	const DataField *columns;	/* names, types, field ids */
	const char *compression;	/* "zstd", "snappy", "lz4", "gzip", "none" */
	int			compression_level;	/* of zstd; 0: default */
	size_t		row_group_bytes;	/* bound of buffered, encoded bytes; 0: default */
} FormatWriteOptions;

typedef struct FormatRoutine
{
	const char *name;			/* identifier and file extension: "parquet" */
	FormatReader *(*open) (StorageFile *file, const FormatReadOptions *options);
	bool		(*next) (FormatReader *reader);
	void		(*read_column) (FormatReader *reader, int column, const int32 *selection, int nselected, Vector *out);
	void		(*close) (FormatReader *reader);
	int			(*group_statistics) (FormatReader *reader, int column, GroupStatistics **out);	/* or NULL */
	bool		takes_rows;		/* can it leave out rows in front of those wanted, without reading them? */
	FormatWriter *(*create) (StorageWriter *file, const FormatWriteOptions *options);
	void		(*write) (FormatWriter *writer, Vector *const *columns, const int32 *rows, int nrows);
	uint64		(*position) (FormatWriter *writer);
	void		(*finish) (FormatWriter *writer, ColumnStatistics *statistics);
} FormatRoutine;

/* By name ("parquet"); NULL when there is none. */
extern const FormatRoutine *format_lookup(const char *name);

/*
 * Open a file in CurrentMemoryContext (a child context is made; deleting
 * either frees all).  ERROR, with the path, when the file is damaged or has
 * what is not supported, or when a column's type cannot become the wanted one.
 */
extern FormatReader *format_open(const FormatRoutine *routine, StorageFile *file, const FormatReadOptions *options);

/* The rows wanted of a file, ERROR if it has not so many. */
extern RowRange format_rows(const FormatReadOptions *options, int64 file_rows, const char *path);

/* What ranges, ascending and counted from row start of the file, have in common with rows of the file. */
extern void row_ranges_clip(RowRange *ranges, int *nranges, int64 start, const RowRange *rows);

/* Move to the next batch that may have matching rows; false at the end. */
extern bool format_next(FormatReader *reader);

/*
 * Decode a column for the selected rows of the batch (ascending; NULL: all),
 * at their places in out (capacity >= BATCH_ROWS, type as wanted in the
 * options).  Rows not selected are left undefined.  A column that is not
 * present comes as all null.
 */
extern void format_read_column(FormatReader *reader, int column, const int32 *selection, int nselected, Vector *out);
extern void format_close(FormatReader *reader);

/*
 * Statistics of a column, group by group, in CurrentMemoryContext; to be asked
 * before the first format_next.  0 when the file has no such groups.
 */
extern int	format_group_statistics(FormatReader *reader, int column, GroupStatistics **out);

/* Begin a file; the StorageWriter stays the caller's to finish. */
extern FormatWriter *format_create(const FormatRoutine *routine, StorageWriter *file, const FormatWriteOptions *options);

/* Append rows (positions in the vectors; NULL: 0..nrows-1), copying what is kept. */
extern void format_write(FormatWriter *writer, Vector *const *columns, const int32 *rows, int nrows);

/* Bytes the file would have if it ended now, about; for rolling. */
extern uint64 format_position(FormatWriter *writer);

/*
 * Write what is buffered and the footer.  statistics (ncolumns entries) get
 * the exact extremes and null counts of the whole file: no bounds for binary
 * columns, for timestamps finer than micros, and where a NaN occurred.  Their
 * bytes lie in CurrentMemoryContext.
 */
extern void format_finish(FormatWriter *writer, ColumnStatistics *statistics);

#endif							/* STREAMHOUSE_FORMAT_H */
