/*
 * streamhouse.c
 *		The library's entry point: settings and workers.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"

#include "fdw/fdw.h"
#include "fdw/lookup_join.h"
#include "fdw/transaction.h"
#include "settings.h"
#include "worker/sync_wait.h"
#include "worker/worker.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

void
_PG_init(void)
{
	settings_init();
	transaction_init();
	lookup_join_init();
	join_servers_init();
	if (process_shared_preload_libraries_in_progress)
	{
		worker_init();
		sync_wait_init();
	}
}
