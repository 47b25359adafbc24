/*
 * settings.h
 *		The settings (GUCs) of the extension, sorted by name.
 */
#ifndef STREAMHOUSE_SETTINGS_H
#define STREAMHOUSE_SETTINGS_H

#include "postgres.h"

/* streamhouse.as_of: a tag, snapshot id, timestamp, watermark or position of the source; "" reads the newest snapshot. */
extern char *setting_as_of;

/* streamhouse.copy_chunk_size, in kB: of a source table, for one commit of its initial copy. */
extern int	setting_copy_chunk_size;

#define MAX_COPY_WORKERS 64

/* streamhouse.copy_workers: processes that copy tables of one sync. */
extern int	setting_copy_workers;

/* streamhouse.enable_lookup_join: the planner may look rows up by the keys of many rows at a time. */
extern bool setting_enable_lookup_join;

/* streamhouse.fresh_reads: a read first has the table's sync bring what was committed before. */
extern bool setting_fresh_reads;

/* streamhouse.maintenance: compact and expire in the background. */
extern bool setting_maintenance;

/* streamhouse.maintenance_interval, in seconds. */
extern int	setting_maintenance_interval;

/* streamhouse.orphan_file_interval, in seconds; 0: never. */
extern int	setting_orphan_file_interval;

/* streamhouse.pushdown: filter in the lake's reader, not only in the executor. */
extern bool setting_pushdown;

/* streamhouse.sync_lag_limit, in seconds: a sync that is further behind is late; 0: no limit. */
extern int	setting_sync_lag_limit;

/* streamhouse.sync_memory, in kB: of one sync worker, for decoding and for rows being collected. */
extern int	setting_sync_memory;

/* streamhouse.sync_wal_limit, in MB: a sync whose slot retains more is late; 0: no limit. */
extern int	setting_sync_wal_limit;

/* streamhouse.write_buffer_size, in kB: rows buffered by a table's writer before they go to files. */
extern int	setting_write_buffer_size;

/* Define them; called once from _PG_init. */
extern void settings_init(void);

#endif							/* STREAMHOUSE_SETTINGS_H */
