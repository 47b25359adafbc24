/*
 * settings.c
 *		Definitions of the settings (GUCs), sorted by name.
 */
#include "postgres.h"

#include <limits.h>

#include "utils/guc.h"

#include "settings.h"
#include "storage/cache.h"

char	   *setting_as_of = NULL;
int			setting_copy_chunk_size = 128 * 1024;
int			setting_copy_workers = 2;
bool		setting_enable_lookup_join = true;
bool		setting_fresh_reads = false;
bool		setting_maintenance = true;
int			setting_maintenance_interval = 10;
int			setting_orphan_file_interval = 24 * 60 * 60;
bool		setting_pushdown = true;
int			setting_sync_lag_limit = 60;
int			setting_sync_memory = 128 * 1024;
int			setting_sync_wal_limit = 0;
int			setting_write_buffer_size = 64 * 1024;

static void
define_copy_settings(void)
{
	DefineCustomIntVariable("streamhouse.copy_chunk_size",
							"Size of the parts in which the initial copy of a sync takes tables.",
							"Each part becomes a snapshot of the lake table; after a crash a copy goes on with the parts that are left.",
							&setting_copy_chunk_size,
							128 * 1024,
							64,
							MAX_KILOBYTES,
							PGC_SIGHUP,
							GUC_UNIT_KB,
							NULL, NULL, NULL);

	DefineCustomIntVariable("streamhouse.copy_workers",
							"Number of processes that copy tables of one sync.",
							NULL,
							&setting_copy_workers,
							2,
							1,
							MAX_COPY_WORKERS,
							PGC_SIGHUP,
							0,
							NULL, NULL, NULL);
}

/* Of sessions. */
static void
define_session_settings(void)
{
	DefineCustomStringVariable("streamhouse.as_of",
							   "Reads lake tables as they were: a tag, a snapshot id, a timestamp, \"watermark\" and a number, or \"lsn\" and a position of the source's WAL.",
							   "An empty string reads the newest snapshot. Tables cannot be written while it is set.",
							   &setting_as_of,
							   "",
							   PGC_USERSET,
							   0,
							   NULL, NULL, NULL);

	DefineCustomBoolVariable("streamhouse.enable_lookup_join",
							 "Enables the planner's use of joins that look rows of lake tables up by many keys at a time.",
							 NULL,
							 &setting_enable_lookup_join,
							 true,
							 PGC_USERSET,
							 GUC_EXPLAIN,
							 NULL, NULL, NULL);

	DefineCustomBoolVariable("streamhouse.fresh_reads",
							 "Lets a statement see what was committed in the source before it began.",
							 "Its lake tables that a sync of this database fills are first brought up to date.",
							 &setting_fresh_reads,
							 false,
							 PGC_USERSET,
							 0,
							 NULL, NULL, NULL);

	DefineCustomIntVariable("streamhouse.metadata_cache_size",
							"Memory of a session for manifests, deletion vectors, footers of data files, and pages in which it looked rows up.",
							"0 keeps nothing.",
							&cache_limit,
							192 * 1024,
							0,
							MAX_KILOBYTES,
							PGC_USERSET,
							GUC_UNIT_KB,
							NULL, NULL, NULL);

	DefineCustomBoolVariable("streamhouse.pushdown",
							 "Filters rows while lake files are read, and skips what cannot match.",
							 "Off leaves every filter to the executor.",
							 &setting_pushdown,
							 true,
							 PGC_USERSET,
							 0,
							 NULL, NULL, NULL);

	DefineCustomIntVariable("streamhouse.write_buffer_size",
							"Memory for rows of one lake table before they are written to files.",
							NULL,
							&setting_write_buffer_size,
							64 * 1024,
							1024,
							MAX_KILOBYTES,
							PGC_USERSET,
							GUC_UNIT_KB,
							NULL, NULL, NULL);
}

/* Of the background workers. */
static void
define_worker_settings(void)
{
	DefineCustomBoolVariable("streamhouse.maintenance",
							 "Lets a background worker compact lake tables and expire their snapshots.",
							 "Tables with the option \"write-only\" are always left alone.",
							 &setting_maintenance,
							 true,
							 PGC_SIGHUP,
							 0,
							 NULL, NULL, NULL);

	DefineCustomIntVariable("streamhouse.maintenance_interval",
							"Time between two rounds of maintenance over the lake tables of a database.",
							NULL,
							&setting_maintenance_interval,
							10,
							1,
							24 * 60 * 60,
							PGC_SIGHUP,
							GUC_UNIT_S,
							NULL, NULL, NULL);

	DefineCustomIntVariable("streamhouse.orphan_file_interval",
							"Time between two removals of a lake table's orphan files, which are older than a day.",
							"0: they are not removed in the background.",
							&setting_orphan_file_interval,
							24 * 60 * 60,
							0,
							30 * 24 * 60 * 60,
							PGC_SIGHUP,
							GUC_UNIT_S,
							NULL, NULL, NULL);

	DefineCustomIntVariable("streamhouse.sync_lag_limit",
							"Time by which the lake may be behind the source before the sync counts as late.",
							"0 sets no limit.",
							&setting_sync_lag_limit,
							60,
							0,
							INT_MAX / 1000,
							PGC_SIGHUP,
							GUC_UNIT_S,
							NULL, NULL, NULL);

	DefineCustomIntVariable("streamhouse.sync_memory",
							"Memory of one sync worker for changes being decoded and rows being collected.",
							"What does not fit goes to files. A worker takes a new value when it starts.",
							&setting_sync_memory,
							128 * 1024,
							8 * 1024,
							MAX_KILOBYTES,
							PGC_SIGHUP,
							GUC_UNIT_KB,
							NULL, NULL, NULL);

	DefineCustomIntVariable("streamhouse.sync_wal_limit",
							"WAL that a sync's slot may retain before the sync counts as late.",
							"0 sets no limit.",
							&setting_sync_wal_limit,
							0,
							0,
							MAX_KILOBYTES,
							PGC_SIGHUP,
							GUC_UNIT_MB,
							NULL, NULL, NULL);
}

void
settings_init(void)
{
	define_session_settings();
	define_worker_settings();
	define_copy_settings();
	MarkGUCPrefixReserved("streamhouse");
}
