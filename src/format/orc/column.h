/*
 * column.h
 *		One column of an ORC file, stripe by stripe: a tree of cursors.
 *
 * A cursor only goes forward.  It opens its streams when its first row in a
 * stripe is asked for, goes past row groups by the row index, and within them
 * past values without forming them.
 */
#ifndef STREAMHOUSE_ORC_COLUMN_H
#define STREAMHOUSE_ORC_COLUMN_H

#include "format/orc/protobuf.h"
#include "format/orc/run_length.h"
#include "format/orc/tail.h"
#include "format/orc/zone.h"

/* A stream's place in the file. */
typedef struct OrcExtent
{
	uint64		offset;
	uint64		length;
	bool		exists;
} OrcExtent;

#define ORC_STREAM_KINDS (ORC_STREAM_BLOOM_FILTER + 1)

/* What a stripe's footer says of one column of the file. */
typedef struct StripeColumn
{
	OrcExtent	streams[ORC_STREAM_KINDS];	/* by OrcStreamKind */
	uint32		encoding;
	uint32		dictionary_size;
} StripeColumn;

/* A row index: messages for each row group, encoded. */
typedef struct RowIndex
{
	uint32		nentries;
	BytesView  *positions;		/* packed numbers; data NULL: none */
	BytesView  *statistics;
} RowIndex;

/* What all columns of a reader share. */
typedef struct ColumnShared
{
	OrcFile    *file;
	const OrcTail *tail;
	MemoryContext stripe_context;	/* reset with each stripe */
	MemoryContext batch_context;	/* reset with each batch */
	size_t		window_bytes;
	StripeColumn *stripe_columns;	/* by number in the file; only those that are used */
	bool	   *used;
	/* the stripe */
	uint64		stripe_rows;
	uint32		ngroups;		/* row groups; 0: there is no row index */
	Zone	   *zone;			/* of its writer; NULL: UTC */
	const char *zone_name;		/* NULL: not known yet */
	/* space in which values are prepared: BATCH_ROWS + 1 of them each */
	int64	   *numbers;
	int64	   *more_numbers;
	void	   *dense;			/* of any physical type */
	int32	   *codes;
	bool	   *flags;
} ColumnShared;

struct OrcColumn;

/*
 * How the values of a type are read.  Values are those that are not null, one
 * after the other; count is at most BATCH_ROWS for read.
 */
typedef struct ValueRoutine
{
	void		(*open) (struct OrcColumn *column);
	void		(*seek) (struct OrcColumn *column, ProtoReader *positions);
	void		(*skip) (struct OrcColumn *column, int64 count);
	void		(*read) (struct OrcColumn *column, int count, void *out);	/* NULL: nested */
} ValueRoutine;

typedef struct OrcColumn
{
	ColumnShared *shared;
	OrcPlace	place;
	uint32		number;			/* in the file */
	const OrcType *type;
	const DataType *wanted;
	const ValueRoutine *routine;
	int			nchildren;
	struct OrcColumn **children;	/* by part of the wanted type; NULL: the file lacks it */

	/* the stripe */
	bool		opened;
	int64		row;			/* where the cursor stands; of the column itself, not of children */
	bool		index_read;
	RowIndex   *index;			/* NULL: not read, or none that can be used */
	bool		bloom_read;
	struct BloomIndex *bloom;	/* the same */
	bool		has_present;
	BitReader	present;
	union
	{
		BitReader	bits;
		ByteReader	bytes;
		IntReader	integers;
		OrcStream	raw;
	}			data;
	IntReader	second;			/* lengths, scales, or nanos */
	BytesView  *dictionary;		/* NULL: values are not coded */
	int32		dictionary_size;
	int64		base_seconds;	/* timestamps count from here */
} OrcColumn;

/* Space that columns need; memory in CurrentMemoryContext. */
extern void orc_column_shared_init(ColumnShared *shared);

/*
 * A column of the file with that number as the wanted type.  ERROR when it
 * cannot become that.  Marks the numbers that are used.
 */
extern OrcColumn *orc_column_create(ColumnShared *shared, uint32 number, const char *name, const DataType *wanted);

/* A new stripe: its streams are in shared. */
extern void orc_column_begin_stripe(OrcColumn *column);

/* The row index of the column itself, or NULL; read when it is first asked for. */
extern const RowIndex *orc_column_row_index(OrcColumn *column);

/* Rows start .. start+nrows-1 of the stripe, those selected, into out. */
extern void orc_column_read(OrcColumn *column, int64 start, int nrows, const int32 *selection, int nselected,
						struct Vector *out);

/* Of the tree, by the number of values that the file's statistics name: about how many bytes they are. */
extern double orc_column_bytes(const OrcColumn *column);

/* ---- within the module ---- */

/* Go to a row of the stripe (column_seek.c). */
extern void orc_column_seek(OrcColumn *column, int64 row);

/* Go past rows (column_read.c): of a child, only those that its parent has. */
extern void orc_column_skip(OrcColumn *column, int64 count);

/* Find how a type is read as another one (column_values.c), NULL if it cannot. */
extern const ValueRoutine *values_find(const OrcTail *tail, const OrcType *type, const DataType *wanted);

/* Open a stream of the stripe, an empty one if it has none. */
extern void orc_column_open_stream(OrcColumn *column, OrcStream *stream, OrcStreamKind kind);

/* Take the place of a stream from positions of a row index, and go there. */
extern void seek_stream(OrcStream *stream, ProtoReader *positions);
extern void seek_bytes(ByteReader *reader, ProtoReader *positions);
extern void seek_bits(BitReader *reader, ProtoReader *positions);
extern void seek_integers(IntReader *reader, ProtoReader *positions);

extern void orc_column_damaged(const OrcColumn *column, const char *detail);

#endif							/* STREAMHOUSE_ORC_COLUMN_H */
