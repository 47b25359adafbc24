/*
 * incremental.h
 *		What changed between two snapshots, instead of the rows of one.
 *
 * Source: format digest section 13.4.
 */
#ifndef STREAMHOUSE_INCREMENTAL_H
#define STREAMHOUSE_INCREMENTAL_H

#include "format/format.h"
#include "lake/plan.h"

typedef enum IncrementalMode
{
	INCREMENTAL_DELTA,			/* rows as they were written */
	INCREMENTAL_CHANGELOG,		/* the changes that changelog files tell */
	INCREMENTAL_DIFF			/* rows that are not in both */
} IncrementalMode;

typedef struct Incremental
{
	IncrementalMode mode;
	int64		start_id;		/* its changes do not count */
	int64		end_id;			/* its changes count */
	const LakeSnapshot *start;	/* of INCREMENTAL_DIFF; NULL: before the first */
	const LakeSnapshot *end;	/* the same */
} Incremental;

/*
 * The entries (ManifestEntry *) of files with rows that were written, or
 * changes that were told, by snapshots in between.
 */
extern List *incremental_entries(LakeTable *table, const Incremental *incremental, EntryFilter filter, void *arg);

/* Of two lists of a bucket's files, leave out those that are in both. */
extern void incremental_remove_common(List **before, List **after);

/*
 * Rows of a bucket whose files changed: those that are other than before; and
 * with their kind those that are gone.  Shaped like SectionMerge.
 */
typedef struct DiffReader DiffReader;

extern DiffReader *diff_reader_open(LakeTable *table, const Split *split, const int *fields, int nfields,
									bool keep_deletes, FormatCounters *counters);
extern int	diff_reader_next(DiffReader *reader);
extern void diff_reader_read_field(DiffReader *reader, int field, const int32 *selection, int nselected, Vector *out);

#endif							/* STREAMHOUSE_INCREMENTAL_H */
