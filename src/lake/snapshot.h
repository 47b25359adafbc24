/*
 * snapshot.h
 *		Snapshot files and their hints (format digest sections 1 and 3).
 *
 * LakeSnapshot, since the server has a Snapshot of its own.
 */
#ifndef STREAMHOUSE_SNAPSHOT_H
#define STREAMHOUSE_SNAPSHOT_H

#include "nodes/pg_list.h"

#include "lake/schema.h"		/* OptionPair */

typedef enum CommitKind
{
	COMMIT_APPEND,
	COMMIT_COMPACT,
	COMMIT_OVERWRITE,
	COMMIT_ANALYZE
} CommitKind;

#define BATCH_COMMIT_IDENTIFIER PG_INT64_MAX

/* Property of snapshots that a sync makes: the position of the source's WAL up to which it has its transactions. */
#define SNAPSHOT_LSN_PROPERTY "streamhouse.lsn"

/* Beside it, whose WAL that is: the system identifier, and the timeline. */
#define SNAPSHOT_SYSTEM_PROPERTY "streamhouse.system-identifier"
#define SNAPSHOT_TIMELINE_PROPERTY "streamhouse.timeline"

/* Beside it, while a source of the table is paused or being copied: from the position on the snapshot does not show all rows. */
#define SNAPSHOT_PARTIAL_PROPERTY "streamhouse.partial"

/* Beside it, where others may fill a part of the table. */
#define SNAPSHOT_SHARED_PROPERTY "streamhouse.shared"

/* Of a snapshot with which one source of several begins anew: the position that its copy is of. */
#define SNAPSHOT_COPIED_PROPERTY "streamhouse.copied-as-of"

typedef struct LakeSnapshot
{
	int64		id;
	int64		schema_id;
	char	   *base_manifest_list;
	int64		base_manifest_list_size;	/* -1 unknown */
	char	   *delta_manifest_list;
	int64		delta_manifest_list_size;	/* -1 unknown */
	char	   *changelog_manifest_list;	/* or NULL */
	int64		changelog_manifest_list_size;
	char	   *index_manifest; /* or NULL */
	char	   *commit_user;
	int64		commit_identifier;
	CommitKind	commit_kind;
	int64		time_millis;
	int64		total_record_count;
	int64		delta_record_count;
	bool		has_changelog_record_count;
	int64		changelog_record_count;
	bool		has_watermark;
	int64		watermark;
	char	   *statistics;		/* or NULL */
	List	   *properties;		/* OptionPair *, NIL when none */
	bool		has_next_row_id;
	int64		next_row_id;	/* 0 when absent */
} LakeSnapshot;

/* The value of a property, NULL when there is none. */
extern const char *snapshot_property(const LakeSnapshot *snapshot, const char *key);

extern const char *commit_kind_name(CommitKind kind);

/* Latest and earliest ids by hint, else by listing; 0 when there is none. */
extern int64 snapshot_latest_id(const char *table_location);
extern int64 snapshot_earliest_id(const char *table_location);

/* Load by id: NULL when missing_ok and it is gone. */
extern LakeSnapshot *snapshot_load(const char *table_location, int64 id, bool missing_ok);

/* NULL for a table without snapshots. */
extern LakeSnapshot *snapshot_load_latest(const char *table_location);

/* Is a snapshot after since, up to latest, an OVERWRITE, or may it be one that has expired? */
extern bool snapshot_overwritten_since(const char *table_location, const LakeSnapshot *latest, int64 since);

/* Newest snapshot with time_millis <= time; NULL if none. */
extern LakeSnapshot *snapshot_load_at_time(const char *table_location, int64 time_millis);

/* Oldest snapshot with a watermark >= this; NULL if none. */
extern LakeSnapshot *snapshot_load_at_watermark(const char *table_location, int64 watermark);

/* tag/tag-<name>; NULL when missing_ok. */
extern LakeSnapshot *snapshot_load_tag(const char *table_location, const char *tag, bool missing_ok);

extern LakeSnapshot *snapshot_parse(const char *json, size_t length, const char *path);
extern char *snapshot_to_json(const LakeSnapshot *snapshot);

/*
 * Atomic create of snapshot-<id>: false if that id is taken.  The LATEST hint
 * is written after, best effort.  ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN when
 * the snapshot may be there all the same: then its files must be kept.
 */
extern bool snapshot_publish(const char *table_location, const LakeSnapshot *snapshot);

extern void snapshot_write_earliest_hint(const char *table_location, int64 id);

/*
 * The newest snapshot of a commit user, walking down from the latest; NULL if
 * none is left.  Ids at or below stop_id are not looked at (0: all).
 */
extern LakeSnapshot *snapshot_latest_of_user(const char *table_location, const char *commit_user, int64 stop_id);

#endif							/* STREAMHOUSE_SNAPSHOT_H */
