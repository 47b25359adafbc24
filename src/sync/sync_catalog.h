/*
 * sync_catalog.h
 *		The tables streamhouse.sync and streamhouse.sync_table.
 *
 * All functions need a transaction with an active snapshot.  Results are
 * allocated in CurrentMemoryContext.
 */
#ifndef STREAMHOUSE_SYNC_CATALOG_H
#define STREAMHOUSE_SYNC_CATALOG_H

#include "postgres.h"

#include "access/attnum.h"
#include "access/xlogdefs.h"
#include "nodes/pg_list.h"

#include "fdw/types.h"
#include "lake/table.h"
#include "sync/table_rule.h"

/* What becomes of changes of the sources' columns. */
typedef enum SchemaChangePolicy
{
	SCHEMA_CHANGE_EVOLVE,		/* the lake follows */
	SCHEMA_CHANGE_IGNORE,		/* the lake keeps its columns */
	SCHEMA_CHANGE_PAUSE,		/* the table is paused */
	SCHEMA_CHANGE_STOP			/* the sync fails */
} SchemaChangePolicy;

/* What becomes of a sync whose replication slot is lost. */
typedef enum SlotLossPolicy
{
	SLOT_LOSS_ERROR,			/* it fails, until it is told to copy all tables again */
	SLOT_LOSS_RESYNC			/* it does so by itself */
} SlotLossPolicy;

/* A column of a table elsewhere, as the mirror's columns know it. */
typedef struct RemoteColumn
{
	AttrNumber	number;
	Oid			type;			/* as it is called there */
	int32		typmod;
} RemoteColumn;

/* What was written of a table. */
typedef struct TableCounts
{
	int64		inserted;		/* rows, by the stream */
	int64		updated;
	int64		deleted;
	int64		copied;			/* rows */
	int64		bytes;			/* of data files */
} TableCounts;

typedef struct SyncTableRecord
{
	Oid			source;
	char	   *source_name;	/* "schema.table", as it is called now */
	char	   *lake_table;
	int			rule_number;	/* that it joined by, 0 for none */
	const TableRule *rule;		/* or NULL */
	char	   *shard;			/* which part of the lake table is its own; NULL: all */
	bool		history;		/* every change is kept */
	int			nused;			/* columns that the rule uses */
	char	  **used_names;		/* as its expressions call them */
	AttrNumber *used_columns;
	Oid		   *used_types;
	int			nmetadata;		/* of the fields that follow the source's */
	MetadataField metadata[METADATA_FIELDS];
	int			ncolumns;
	AttrNumber *columns;		/* of the source, in the order of the lake's fields; 0: it was dropped */
	char	   *copy_id;		/* of this copy of the table; another one when it is taken anew */
	XLogRecPtr	base;			/* changes of transactions that end after this are taken; invalid: not known yet */
	bool		copied;			/* the copy is made, and the stream has passed it */
	bool		copy_failed;	/* the last time it was tried */
	bool		column_list;	/* some columns may not be published, or were not for a while */
	bool		paused;			/* its changes are not taken */
	char	   *refused;		/* it is published and could not join: why; or NULL */
	XLogRecPtr	schema_lsn;		/* rows before this had other columns than the lake table has; or invalid */

	/* of a table of another server (mirror.h): source is its mirror */
	Oid			remote_table;	/* or InvalidOid */
	int			nmirrored;
	RemoteColumn *mirrored;		/* by column of the mirror */
} SyncTableRecord;

typedef struct SyncRecord
{
	char	   *name;
	char	   *slot;
	char	   *publication;
	char	   *server;
	char	   *database;
	int64		flush_interval; /* microseconds */
	List	   *options;		/* OptionPair *: of lake tables made by the sync */
	UnrepresentablePolicy on_unrepresentable;
	List	   *rules;			/* TableRule * */
	bool		history;		/* all lake tables keep every change */
	SchemaChangePolicy on_schema_change;
	bool		auto_refresh;	/* tables added to the publication join by themselves */
	Oid			owner;
	SlotLossPolicy on_slot_loss;
	int64		wal_limit;		/* bytes that the slot may retain; 0: any */
	char	   *diverged;		/* in what the lake is not of this server's history, or NULL */
	char	   *slot_dropped;	/* why we dropped the slot of a sync that is there, or NULL */
	bool		enabled;
	bool		slot_made;		/* once; so it must be there */

	/* of a source that is another server */
	char	   *connection;		/* to it; or NULL */
	char	   *remote;			/* where that leads, without secrets */
	char	   *remote_publish;	/* operations that its publication publishes */
	const struct SourceHistory *source_history; /* see lake_position.h; NULL: not asked yet */

	List	   *tables;			/* SyncTableRecord *, by source oid */
	List	   *message_tables; /* SyncTableRecord *, of logical messages: see message_table.h */
} SyncRecord;

/* By name or by slot; NULL when there is none. */
extern SyncRecord *sync_catalog_find(const char *name);
extern SyncRecord *sync_catalog_find_by_slot(const char *slot);

/*
 * Those that fill a lake table, given as "database.table", of whatever server;
 * with that table alone.
 */
extern List *sync_catalog_find_by_lake_table(const char *name);	/* SyncRecord * */

/* Wait until no other transaction changes which tables the sync has. */
extern void sync_catalog_lock(const char *name);

/* Slots (char *) of all syncs of this database, and names by slot of those enabled. */
extern List *sync_catalog_list(void);	/* SyncRecord *, without tables */

/* Insert with its tables; flush_interval, options and rules as given by the user. */
extern void sync_catalog_insert(const SyncRecord *sync, Datum flush_interval, Datum options, Datum rules);

/* Let a table follow a rule of the sync, by its number, or none. */
extern void sync_table_set_rule(const SyncRecord *sync, SyncTableRecord *table, int number);

/* Fields of the lake table that the rule computes; they follow the source's. */
static inline int
sync_table_ncomputed(const SyncTableRecord *table)
{
	return table->rule ? list_length(table->rule->columns) : 0;
}

/* Do deleted rows stay in the lake, marked as such? */
static inline bool
sync_table_keeps_deleted(const SyncTableRecord *table)
{
	return table->rule && table->rule->soft_delete;
}

/* A field of metadata by its number. */
extern DataField sync_table_metadata_field(const SyncTableRecord *table, int number);

/* Options (OptionPair *) of the lake table, if the sync makes it. */
extern List *sync_table_options(const SyncRecord *sync, const SyncTableRecord *table);

/* Change what is not NULL; *flush_interval is of type interval. */
extern void sync_catalog_alter(const char *name, const Datum *flush_interval, const UnrepresentablePolicy *policy,
							   const SchemaChangePolicy *on_schema_change, const bool *auto_refresh,
							   const SlotLossPolicy *on_slot_loss, const int64 *wal_limit);

/* Where the source is, and what its publication publishes; of what is there in the record. */
extern void sync_catalog_set_remote(const SyncRecord *sync);

/* Other rules, as given by the user; and the one that counts for a table. */
extern void sync_catalog_set_rules(const char *name, Datum rules);
extern void sync_catalog_set_rule_number(const char *sync, const SyncTableRecord *table);

extern void sync_catalog_delete(const char *name);
extern void sync_catalog_set_enabled(const char *name, bool enabled);

/* The sync cannot go on from where the lake is, and why. */
extern void sync_catalog_set_diverged(const char *name, const char *reason);
extern void sync_catalog_set_slot_dropped(const char *name, const char *reason);

/* Whether the sync can go on is to be found out again. */
extern void sync_catalog_forget_loss(const char *name);

/*
 * Copy all tables again, under a new slot.  The sync's worker must be started again
 * afterwards.
 */
extern void sync_catalog_resync(const char *name);

extern void sync_catalog_set_slot_made(const char *name);

/*
 * The way of a table's copy: its base is known, it failed (error), or it is
 * made.  Nothing happens if the table was taken anew meanwhile.
 */
extern void sync_catalog_set_base(const SyncTableRecord *table, XLogRecPtr base);
extern void sync_catalog_set_copy_error(const char *copy_id, const char *error);
extern void sync_catalog_set_copied(const char *copy_id);

/*
 * Is a table of some sync being copied into this lake table?  Then it must not be
 * compacted: deletes of rows that the copy has yet to bring would be lost.
 */
extern bool sync_catalog_is_copied_to(const LakeTable *lake);

extern void sync_catalog_add_table(const char *sync, const SyncTableRecord *table);
extern void sync_catalog_remove_table(const char *sync, const SyncTableRecord *table);

/*
 * Add to what was written of a table.  False when somebody is just changing its
 * entry: nothing has been added then.
 */
extern bool sync_catalog_add_counts(const char *sync, const SyncTableRecord *table, const TableCounts *counts);

/* The lake table has these columns of the source now, as those of rows from lsn on are. */
extern void sync_catalog_set_columns(const char *sync, const SyncTableRecord *table, const AttrNumber *columns,
									 int ncolumns, bool column_list, XLogRecPtr lsn);

/* The columns of a table elsewhere, as its mirror has them now: table->mirrored. */
extern void sync_catalog_set_mirrored(const char *sync, const SyncTableRecord *table);

/* The rule of a table uses the columns that are in this record. */
extern void sync_catalog_set_used(const char *sync, const SyncTableRecord *table, const SyncTableRecord *used);

/*
 * Copy the table again, also if it is paused: what the lake has of it is
 * replaced.  The sync's worker must be started again afterwards.
 */
extern void sync_catalog_copy_again(const char *sync, const SyncTableRecord *table);

/* No more changes of the table are taken, from the transaction that commits at lsn on. */
extern void sync_catalog_pause_table(const char *sync, const SyncTableRecord *table, XLogRecPtr lsn, const char *error);

/* evolve, ignore, pause or stop; ERROR for anything else. */
extern SchemaChangePolicy schema_change_policy_parse(const char *text);

/* error or resync; ERROR for anything else. */
extern SlotLossPolicy slot_loss_policy_parse(const char *text);

/* error, null or clamp; ERROR for anything else. */
extern UnrepresentablePolicy unrepresentable_policy_parse(const char *text);

#endif							/* STREAMHOUSE_SYNC_CATALOG_H */
