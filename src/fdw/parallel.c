/*
 * parallel.c
 *		A scan shared by parallel workers.
 *
 * The leader gives them its snapshot, as it holds it in memory; then all of
 * them plan the same files, cut them into the same units, and take these by
 * number, one after the other.  What this transaction has written and not published
 * only the leader knows: then it reads everything itself.
 */
#include "postgres.h"

#ifdef __GLIBC__
#include <malloc.h>
#include <sys/mman.h>
#endif

#include "access/parallel.h"
#include "common/hashfn.h"
#include "port/atomics.h"
#include "storage/spin.h"
#include "utils/memutils.h"

#include "fdw/parallel.h"
#include "fdw/scan.h"
#include "lake/share.h"
#include "settings.h"

#define KEPT_FREE_BYTES (32 * 1024 * 1024)
#define FIRST_BYTES (10 * 1024 * 1024)	/* windows and pages of a few columns */
#define LARGE_PAGE_BYTES (2 * 1024 * 1024)	/* of the kernel on x86-64, and most often elsewhere */

#define COUNTERS (sizeof(FormatCounters) / sizeof(int64))

StaticAssertDecl(sizeof(FormatCounters) % sizeof(int64) == 0, "counters are numbers of 64 bits");

/* In dynamic shared memory. */
struct SharedScan
{
	int64		schema_id;
	bool		leader_only;
	int			readers;		/* processes, with the leader */
	pg_atomic_uint64 next_unit;
	pg_atomic_uint64 plan_hash; /* of its units, rows and columns; 0: nobody has planned yet */
	slock_t		mutex;			/* of what follows */
	bool		executed;
	ScanCounters planned;
	FormatCounters read;		/* by workers */
	Size		snapshot_length;	/* 0: no snapshot */
	char		snapshot[FLEXIBLE_ARRAY_MEMBER];	/* JSON */
};

bool
streamhouseIsForeignScanParallelSafe(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte)
{
	return !transaction_has_changed(table_address(rte->relid, false)->location);
}

static char *
snapshot_text(const ForeignTableScan *scan)
{
	return scan->foreign->snapshot != NULL ? snapshot_to_json(scan->foreign->snapshot) : pstrdup("");
}

Size
streamhouseEstimateDSMForeignScan(ForeignScanState *node, ParallelContext *pcxt)
{
	return offsetof(SharedScan, snapshot) + strlen(snapshot_text(node->fdw_state)) + 1;
}

void
streamhouseInitializeDSMForeignScan(ForeignScanState *node, ParallelContext *pcxt, void *coordinate)
{
	ForeignTableScan *scan = node->fdw_state;
	SharedScan *shared = coordinate;
	char	   *snapshot = snapshot_text(scan);

	memset(shared, 0, offsetof(SharedScan, snapshot));
	shared->schema_id = scan->foreign->table->schema->id;
	shared->leader_only = scan->pending != NIL || scan->truncated || scan->foreign->created ||
		!lake_table_shows_state(scan->foreign->table);
	shared->readers = pcxt->nworkers + 1;
	pg_atomic_init_u64(&shared->next_unit, 0);
	pg_atomic_init_u64(&shared->plan_hash, 0);
	SpinLockInit(&shared->mutex);
	shared->snapshot_length = strlen(snapshot);
	memcpy(shared->snapshot, snapshot, shared->snapshot_length + 1);
	scan->shared = shared;
}

void
streamhouseReInitializeDSMForeignScan(ForeignScanState *node, ParallelContext *pcxt, void *coordinate)
{
	SharedScan *shared = coordinate;

	pg_atomic_write_u64(&shared->next_unit, 0);
	pg_atomic_write_u64(&shared->plan_hash, 0);
}

/*
 * A worker ends soon, and all of its memory with it: it keeps what units have
 * freed, and begins with some in large pages, where the kernel has these for
 * who asks.  To be given small ones, one after the other, costs a short scan
 * as much as a tenth of its reading.
 */
static void
prepare_memory(void)
{
#ifdef M_TRIM_THRESHOLD
	static bool prepared = false;
	char	   *memory;

	if (prepared)
		return;
	prepared = true;
	(void) mallopt(M_MMAP_THRESHOLD, KEPT_FREE_BYTES);
	(void) mallopt(M_TRIM_THRESHOLD, KEPT_FREE_BYTES);
	memory = malloc(FIRST_BYTES);
#ifdef MADV_HUGEPAGE
	if (memory != NULL)
	{
		char	   *start = (char *) TYPEALIGN(LARGE_PAGE_BYTES, memory);

		(void) madvise(start, TYPEALIGN_DOWN(LARGE_PAGE_BYTES, memory + FIRST_BYTES - start), MADV_HUGEPAGE);
	}
#endif
	free(memory);
#endif
}

void
streamhouseInitializeWorkerForeignScan(ForeignScanState *node, shm_toc *toc, void *coordinate)
{
	ForeignTableScan *scan = node->fdw_state;
	MemoryContext old_context = MemoryContextSwitchTo(node->ss.ps.state->es_query_cxt);
	const LakeSnapshot *snapshot = NULL;

	prepare_memory();
	scan->shared = coordinate;
	if (scan->shared->snapshot_length > 0)
		snapshot = snapshot_parse(scan->shared->snapshot, scan->shared->snapshot_length, "the leader's snapshot");
	foreign_scan_open(node, foreign_relation_open_shared(foreign_scan_relation(node), snapshot,
														 scan->shared->schema_id));
	MemoryContextSwitchTo(old_context);
}

/* The next unit for this process. */
static int64
choose_unit(void *arg)
{
	SharedScan *shared = arg;

	if (shared->leader_only && IsParallelWorker())
		return PG_INT64_MAX;
	return (int64) pg_atomic_fetch_add_u64(&shared->next_unit, 1);
}

List *
shared_scan_units(ForeignTableScan *scan, const ScanPlan *plan)
{
	const SharedScan *shared = scan->shared;

	return shared->leader_only ? plan->splits : share_splits(scan->foreign->table, plan->splits, shared->readers);
}

void
shared_scan_start(ForeignTableScan *scan, const ScanPlan *plan, const List *units)
{
	SharedScan *shared = scan->shared;
	uint32		columns = table_reader_share(scan->reader, choose_unit, shared);
	uint64		hash = hash_combine64((uint64) plan->row_count * 31 + list_length(units), columns) | 1;
	uint64		none = 0;

	if (shared->leader_only)
		return;
	if (!pg_atomic_compare_exchange_u64(&shared->plan_hash, &none, hash) && none != hash)
		elog(ERROR, "parallel workers have not planned the same files and columns of foreign table \"%s\"",
			 RelationGetRelationName(scan->foreign->relation));
	SpinLockAcquire(&shared->mutex);
	shared->executed = true;
	shared->planned = plan->counters;
	SpinLockRelease(&shared->mutex);
}

static void
add_counters(FormatCounters *sum, const FormatCounters *part)
{
	int			i;

	for (i = 0; i < COUNTERS; i++)
		((int64 *) sum)[i] += ((const int64 *) part)[i];
}

/* Workers leave what they counted; the leader takes it before the memory goes away. */
void
streamhouseShutdownForeignScan(ForeignScanState *node)
{
	ForeignTableScan *scan = node->fdw_state;
	SharedScan *shared = scan != NULL ? scan->shared : NULL;

	if (shared == NULL)
		return;
	SpinLockAcquire(&shared->mutex);
	if (IsParallelWorker())
		add_counters(&shared->read, &scan->read);
	else
	{
		add_counters(&scan->read, &shared->read);
		memset(&shared->read, 0, sizeof(FormatCounters));
		if (shared->executed)
			scan->planned = shared->planned;
		scan->executed |= shared->executed;
	}
	SpinLockRelease(&shared->mutex);
	if (IsParallelWorker())
		memset(&scan->read, 0, sizeof(FormatCounters));
}
