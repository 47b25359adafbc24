/*
 * shared_target.h
 *		Lake tables that several sources fill, each a part of its own: its shard.
 *
 * The shard is a constant of the source, in a column by which the lake table is
 * partitioned first, so that it is in the key, too.  Copies and their like
 * replace this partition alone.  Columns of the sources go together by name
 * when a source is taken up; later they are known by number, as ever.
 */
#ifndef STREAMHOUSE_SYNC_SHARED_TARGET_H
#define STREAMHOUSE_SYNC_SHARED_TARGET_H

#include "columnar/predicate.h"
#include "sync/sync_catalog.h"

/*
 * The lake table's schema: as it is (lake is not NULL), or as another source of
 * the sync makes it; NULL: as this source makes it.
 */
extern const TableSchema *shared_target_schema(const SyncRecord *sync, const SyncTableRecord *record, const LakeTable *lake);

/*
 * Let the columns of the record, which are those of the source that are published, be those of
 * the schema's fields.  ERROR unless rows of the source go into the lake
 * table.  exists: it is there, so columns may still be added, and become wider.
 */
extern void shared_target_match(Relation source, SyncTableRecord *record, const TableSchema *schema, bool exists);

/* Fill in the shard of a row of the source. */
extern void shared_target_set_shard(const SyncTableRecord *record, const TableSchema *schema, Scalar *row);

/* "This row is of the source." */
extern Predicate *shared_target_condition(const SyncTableRecord *record, const TableSchema *schema);

/* Are there rows in the part of the source? */
extern bool shared_target_has_rows(const SyncTableRecord *record, LakeTable *lake);

/*
 * Is the lake table filled by syncs of this database, if by any?  Others would
 * not know which of our tables are being copied, and compact it meanwhile.
 */
extern bool shared_target_is_ours(const LakeTable *lake);

#endif							/* STREAMHOUSE_SYNC_SHARED_TARGET_H */
