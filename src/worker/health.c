/*
 * health.c
 *		Alerts when a sync of the database becomes late, fails, or recovers.
 *
 * What counts as health is said by the view streamhouse.sync_status alone.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "worker/health.h"
#include "worker/wal_limit.h"
#include "worker/worker.h"

#define CHECK_INTERVAL_MS 1000
#define HEALTH_LENGTH 16

/* A sync's health as it was told last. */
typedef struct KnownHealth
{
	char		sync[NAMEDATALEN];	/* hash key */
	char		health[HEALTH_LENGTH];
} KnownHealth;

/* A sync is taken as well until something else is known. */
static KnownHealth *
known_health(const char *sync)
{
	static HTAB *known = NULL;
	KnownHealth *entry;
	bool		found;

	if (known == NULL)
	{
		HASHCTL		control = {.keysize = NAMEDATALEN, .entrysize = sizeof(KnownHealth), .hcxt = TopMemoryContext};

		known = hash_create("streamhouse health", 16, &control, HASH_ELEM | HASH_STRINGS | HASH_CONTEXT);
	}
	entry = hash_search(known, sync, HASH_ENTER, &found);
	if (!found)
		strlcpy(entry->health, "ok", HEALTH_LENGTH);
	return entry;
}

static void
notify(const char *payload)
{
	Oid			types[1] = {TEXTOID};
	Datum		values[1];

	values[0] = CStringGetTextDatum(payload);
	if (SPI_execute_with_args("SELECT pg_catalog.pg_notify('streamhouse_health', $1)", 1, types, values, NULL, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not notify of a sync's health");
}

static void
tell_change(const char *sync, const char *health, const char *reason, const char *payload)
{
	KnownHealth *known = known_health(sync);

	if (strcmp(known->health, health) == 0)
		return;
	strlcpy(known->health, health, HEALTH_LENGTH);
	if (strcmp(health, "ok") == 0)
		ereport(LOG,
				(errmsg("sync \"%s\" is well again", sync)));
	else
		ereport(strcmp(health, "paused") == 0 ? LOG : WARNING,
				(errmsg("sync \"%s\" is %s", sync, health),
				 reason ? errdetail_internal("%s", reason) : 0));
	notify(payload);
}

static char *
column_text(const SPITupleTable *table, uint64 row, int column)
{
	return SPI_getvalue(table->vals[row], table->tupdesc, column);
}

void
health_check(void)
{
	static TimestampTz checked_at = 0;
	MemoryContext context = CurrentMemoryContext;
	TimestampTz now = GetCurrentTimestamp();
	SPITupleTable *table;
	uint64		rows;
	uint64		i;

	if (!TimestampDifferenceExceeds(checked_at, now, CHECK_INTERVAL_MS))
		return;
	checked_at = now;
	wal_limits_enforce();
	worker_begin_transaction();
	SPI_connect();
	if (SPI_execute("SELECT name, health, health_reason,"
					" pg_catalog.json_build_object('sync', name, 'health', health, 'reason', pg_catalog.left(health_reason, 4000))::text"
					" FROM streamhouse.sync_status", true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read the health of syncs");
	table = SPI_tuptable;
	rows = SPI_processed;
	for (i = 0; i < rows; i++)
		tell_change(column_text(table, i, 1), column_text(table, i, 2), column_text(table, i, 3), column_text(table, i, 4));
	SPI_finish();
	worker_end_transaction(context);
}
