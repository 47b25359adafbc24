/*
 * source.h
 *		A source table's definition, and the lake table that goes with it.
 */
#ifndef STREAMHOUSE_SYNC_SOURCE_H
#define STREAMHOUSE_SYNC_SOURCE_H

#include "postgres.h"

#include "utils/rel.h"

#include "fdw/types.h"
#include "lake/table.h"
#include "sync/sync_catalog.h"

/*
 * The columns that identify a row (attribute numbers, in the key's order): of
 * the index named as replica identity, else of the primary key.  NULL when
 * there is neither.
 */
extern AttrNumber *source_key(Relation relation, int *nkeys);

/* The index of that key, or InvalidOid. */
extern Oid	source_key_index(Relation relation);

/* Attribute numbers of the columns that are there. */
extern AttrNumber *source_columns(Relation relation, int *ncolumns);

extern bool attribute_is_among(const AttrNumber *numbers, int count, AttrNumber number);

/*
 * The lake type of a column: its counterpart, or else STRING for the text that
 * the type's output function prints; of arrays the same for their elements.
 */
extern DataType *source_lake_type(const char *column, Oid typid, int32 typmod, bool nullable);

/* Is a value, or are an array's elements, kept as the text that the type's output function prints? */
extern bool source_keeps_text(Oid typid, int32 typmod);

/* The encoder for it.  Allocates in CurrentMemoryContext. */
extern void source_encoder_init(ColumnEncoder *encoder, const char *table, const DataField *field,
								Oid typid, int32 typmod);

/*
 * The schema of a new lake table for the columns.  Only the key is NOT NULL:
 * deletes are written with the key alone.  Without all columns of the key it
 * is an append table, and also when it keeps history.  Fields of metadata
 * follow.
 */
extern TableSchema *source_lake_schema(Relation relation, const SyncTableRecord *record, List *options);

/*
 * ERROR unless the lake table is one that this sync may fill: it can be
 * written, and it was begun by this commit user, or is empty and has the
 * source's columns and key.  True in the first case: what it has is to be
 * replaced, and its columns are those of the record (column_change_align).
 */
extern bool source_check_target(Relation relation, const SyncTableRecord *record, LakeTable *lake, const char *commit_user);

/* ERROR unless the lake table is empty and as wanted; source: what is to go there, for the message. */
extern void source_require_fit(const char *source, const TableSchema *wanted, const LakeTable *lake);

/*
 * The next schema of a lake table that has never had a snapshot, as the sync
 * would make the table now; NULL when it is so already.
 */
extern TableSchema *source_other_schema(Relation relation, const SyncTableRecord *record, const LakeTable *lake);

#endif							/* STREAMHOUSE_SYNC_SOURCE_H */
