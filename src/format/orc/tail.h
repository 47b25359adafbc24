/*
 * tail.h
 *		What stands at the end of an ORC file: its types and stripes.
 */
#ifndef STREAMHOUSE_ORC_TAIL_H
#define STREAMHOUSE_ORC_TAIL_H

#include "format/orc/orc_file.h"
#include "format/orc/orc_format.h"

/* A node of the schema's tree; its number is that of its column. */
typedef struct OrcType
{
	OrcKind		kind;
	uint32		nchildren;
	uint32	   *children;		/* numbers, above its own */
	uint32		nnames;
	char	  **names;			/* of the fields of a struct */
	uint32		precision;		/* of decimals */
	uint32		scale;
} OrcType;

typedef struct OrcStripeInfo
{
	uint64		offset;
	uint64		index_length;
	uint64		data_length;
	uint64		footer_length;
	uint64		rows;
} OrcStripeInfo;

typedef struct OrcTail
{
	uint64		rows;
	uint32		row_index_stride;	/* 0: there is no row index */
	uint32		writer;			/* which program */
	uint32		writer_version;
	uint32		major_version;	/* of the format */
	uint32		ntypes;
	OrcType    *types;			/* 0: the root, a struct of the columns */
	uint32		nstripes;
	OrcStripeInfo *stripes;
	BytesView  *statistics;		/* of each column, encoded; NULL: none */
	uint64		metadata_start; /* statistics of the stripes */
	uint64		metadata_length;
} OrcTail;

/* Read the end of the file; size 0: ask the storage.  In CurrentMemoryContext. */
extern void tail_read(OrcTail *tail, OrcFile *file, StorageFile *storage, uint64 size, FormatCounters *counters);

/* The number of a struct's field, or -1. */
extern int	type_find_field(const OrcType *type, const char *name);

/* A type in words, for errors; palloc'd. */
extern char *orc_type_text(const OrcTail *tail, uint32 number);

#endif							/* STREAMHOUSE_ORC_TAIL_H */
