/*
 * mirror.h
 *		Mirrors of tables of another server: empty local tables with their columns.
 *
 * A sync's tables are relations of this server for all that looks at their
 * definition: key, columns, types, rules.  Of a table elsewhere a mirror is,
 * a table of the extension's schema that never has rows: its columns are those
 * that are published, its primary key what identifies a row.  Columns are known
 * by their numbers at the source, so one that is renamed stays the same.
 * Only the sync's worker changes a mirror, at the place in the stream where the source changed.
 */
#ifndef STREAMHOUSE_SYNC_MIRROR_H
#define STREAMHOUSE_SYNC_MIRROR_H

#include "utils/rel.h"

#include "sync/remote_catalog.h"

/* A relation as the stream describes it, for the rows that follow. */
typedef struct RemoteLayout
{
	int			ncolumns;
	char	  **names;
	Oid		   *types;			/* as the source knows them */
	int32	   *typmods;
	bool	   *is_key;
	char		identity;		/* REPLICA_IDENTITY_... */
} RemoteLayout;

/* How text from the source becomes a value of a mirror's column. */
typedef struct MirrorInput
{
	FmgrInfo	function;
	Oid			parameter;
	int32		typmod;
} MirrorInput;

/* What becomes of rows that exist when a mirror has changed; NULL: nothing. */
typedef struct MirrorChange
{
	char	   *pause;			/* why the lake cannot follow */
	char	   *copy;			/* why they may have other values */
} MirrorChange;

/*
 * Make the mirror of a table that joins the sync.  record gets source and
 * columns.  All of them in a transaction, as ever with the catalog.
 */
extern void mirror_make(const SyncRecord *sync, const RemoteTable *table, SyncTableRecord *record);

/* Let it be as the source is now; the record and the catalog follow. */
extern MirrorChange mirror_follow(const SyncRecord *sync, SyncTableRecord *record, const RemoteTable *table);

extern void mirror_drop(const SyncTableRecord *record);

/* Those of tables (SyncTableRecord *) that have left the sync, but for some that are taken up again. */
extern void mirror_drop_left(const List *left, const List *again);

/* Are the columns in two records of one table the same? */
extern bool mirror_is_same(const SyncTableRecord *a, const SyncTableRecord *b);

/* Has the source all columns of the mirror, as they are there? */
extern bool mirror_fits(const SyncTableRecord *record, Relation mirror, const RemoteTable *table);

/* The mirror's columns for those of the stream; false when it is not as the stream has it. */
extern bool mirror_match(const SyncTableRecord *record, Relation mirror, const RemoteLayout *layout, AttrNumber *numbers);

/* Its columns, as they are called at the source, for SQL. */
extern char *mirror_column_list(Relation mirror);

/* Be ready for a column's values, for as long as the context lasts; and make one. */
extern void mirror_input_prepare(MirrorInput *input, const FormData_pg_attribute *column, MemoryContext context);
extern Datum mirror_input_value(MirrorInput *input, char *text);

#endif							/* STREAMHOUSE_SYNC_MIRROR_H */
