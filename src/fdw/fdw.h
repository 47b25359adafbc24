/*
 * fdw.h
 *		What the files of the foreign data wrapper share.
 *
 * Reading: plan_scan.c, plan_join_batches.c, plan_upper.c, quals.c, compute.c,
 * scan.c, join_scan.c, aggregate_scan.c, explain.c.  Writing: modify.c, and
 * transaction.c, which holds what a transaction has not published yet.  Both
 * stand on options.c (which lake table is meant) and relation.c (the lake
 * table behind a foreign table, and the snapshot to read).
 */
#ifndef STREAMHOUSE_FDW_H
#define STREAMHOUSE_FDW_H

#include "postgres.h"

#include "access/parallel.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "utils/rel.h"

#include "compat.h"
#include "lake/plan.h"
#include "lake/table.h"

/* Which lake table is meant. */
typedef struct TableAddress
{
	char	   *warehouse;
	char	   *database;
	char	   *table;			/* maybe with a branch: "t$branch_b" */
	char	   *location;		/* of the three; what the transaction's state is kept by */
	char	   *system;			/* a system table of it, or NULL */
	List	   *read_options;	/* OptionPair *: "scan.*" and such */
	bool		allow_external_paths;
	bool		fresh_reads;	/* its sync first brings what was committed before */
} TableAddress;

typedef enum RelationAccess
{
	RELATION_READ,
	RELATION_WRITE
} RelationAccess;

/* A foreign table with the lake table behind it. */
typedef struct ForeignRelation
{
	Relation	relation;		/* the caller's */
	TableAddress *address;
	LakeTable  *table;
	bool		created;		/* made by this transaction, so not in the lake yet */
	int		   *fields;			/* by attribute number - 1: table field, -1 for dropped attributes */
	int		   *attributes;		/* by table field: attribute number, 0 when the foreign table lacks it */
	const LakeSnapshot *snapshot;	/* RELATION_READ: what to read; NULL for a table without snapshots */
} ForeignRelation;

/* options.c */

/*
 * The warehouse of a server.  ERROR unless the server's owner may read (and
 * write, with for_write) files of this machine: whoever was granted the server
 * or a table of it acts by that privilege.
 */
extern char *server_warehouse(const ForeignServer *server, bool for_write);

/* The address of a foreign table, with the check of server_warehouse. */
extern TableAddress *table_address(Oid relid, bool for_write);

/* The address of a table in the lake, by its name there; warehouse and database are not copied. */
extern TableAddress *table_address_of_name(const ForeignServer *server, char *warehouse, char *database,
										   const char *name);

/* Is an option about the foreign table itself, rather than how to make its lake table? */
extern bool is_foreign_table_option(const char *name);

/* Is it an option of a foreign table that says which of the lake table's rows are meant? */
extern bool is_read_option(const char *name);

/* What the foreign table's options say of a lake table to be made. */
extern List *table_primary_key(Oid relid);	/* char * */
extern List *table_partition_keys(Oid relid);	/* char * */
extern List *table_lake_options(Oid relid); /* OptionPair *: Paimon's own */

/* relation.c */

/*
 * Open what is behind a foreign table, in CurrentMemoryContext: checks that the
 * lake table is there, may be read or written, and has the foreign table's
 * columns.
 *
 * statement: the query context of the running statement (es_query_cxt): all
 * scans of one statement get the same snapshot of a table.  NULL when
 * planning, or writing.  REPEATABLE READ and above keep the snapshot of the
 * first use until the transaction ends.
 *
 * RELATION_WRITE fails under streamhouse.as_of.
 */
extern ForeignRelation *foreign_relation_open(Relation relation, RelationAccess access, MemoryContext statement);

/* The same for a parallel worker: it reads what its leader does. */
extern ForeignRelation *foreign_relation_open_shared(Relation relation, const LakeSnapshot *snapshot,
													 int64 schema_id);
extern void foreign_relation_close(ForeignRelation *foreign);

/*
 * Open a lake table, or a system table, as options and streamhouse.as_of want
 * it seen; in *snapshot the one that they name, or NULL.
 */
extern LakeTable *lake_table_open_as_of(const TableAddress *address, const LakeSnapshot **snapshot);

/* The same, as it is now; NULL when there is no such table. */
extern LakeTable *lake_table_open_address(const TableAddress *address);

/* travel.c */

/* Does streamhouse.as_of name something? */
extern bool is_time_travelling(void);

/* The snapshot that options (of the foreign table, else of the lake table) or the setting name; NULL: none does. */
extern const LakeSnapshot *travel_snapshot(const LakeTable *table, List *read_options);

/*
 * The changes that options "incremental-between..." ask for, in the table's
 * context; NULL when they ask for none.
 */
extern const struct Incremental *travel_incremental(const LakeTable *table, List *read_options);

/*
 * Where each attribute of desc lies in the lake table (fields as in
 * ForeignRelation).  ERROR when a column is missing or of a type that cannot
 * show the lake's.
 */
extern int *match_columns(TupleDesc desc, const char *relation_name, const LakeTable *table);

/* import.c, explain.c, plan_scan.c, plan_upper.c, scan.c: callbacks */
extern List *streamhouseImportForeignSchema(ImportForeignSchemaStmt *stmt, Oid serverid);
extern void streamhouseExplainForeignScan(ForeignScanState *node, ExplainState *es);
extern void streamhouseGetForeignRelSize(PlannerInfo *root, RelOptInfo *baserel, Oid relid);
extern void streamhouseGetForeignPaths(PlannerInfo *root, RelOptInfo *baserel, Oid relid);
extern ForeignScan *streamhouseGetForeignPlan(PlannerInfo *root, RelOptInfo *baserel, Oid relid,
											  ForeignPath *best_path, List *tlist, List *scan_clauses,
											  Plan *outer_plan);
extern void streamhouseGetForeignJoinPaths(PlannerInfo *root, RelOptInfo *joinrel, RelOptInfo *outerrel,
										   RelOptInfo *innerrel, JoinType jointype, JoinPathExtraData *extra);
extern void streamhouseGetForeignUpperPaths(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel,
											RelOptInfo *output_rel, void *extra);
extern void streamhouseBeginForeignScan(ForeignScanState *node, int eflags);
extern TupleTableSlot *streamhouseIterateForeignScan(ForeignScanState *node);
extern void streamhouseReScanForeignScan(ForeignScanState *node);
extern void streamhouseEndForeignScan(ForeignScanState *node);

/* plan_join_servers.c: have the planner ask about joins across servers, too; once. */
extern void join_servers_init(void);

/* parallel.c: callbacks */
extern bool streamhouseIsForeignScanParallelSafe(PlannerInfo *root, RelOptInfo *rel, RangeTblEntry *rte);
extern Size streamhouseEstimateDSMForeignScan(ForeignScanState *node, ParallelContext *pcxt);
extern void streamhouseInitializeDSMForeignScan(ForeignScanState *node, ParallelContext *pcxt, void *coordinate);
extern void streamhouseReInitializeDSMForeignScan(ForeignScanState *node, ParallelContext *pcxt, void *coordinate);
extern void streamhouseInitializeWorkerForeignScan(ForeignScanState *node, shm_toc *toc, void *coordinate);
extern void streamhouseShutdownForeignScan(ForeignScanState *node);

/* analyze.c: callback */
extern bool streamhouseAnalyzeForeignTable(Relation relation, AcquireSampleRowsFunc *func, BlockNumber *totalpages);

/* modify.c: callbacks */
extern void streamhouseAddForeignUpdateTargets(PlannerInfo *root, Index rtindex, RangeTblEntry *target_rte,
											   Relation target_relation);
extern List *streamhousePlanForeignModify(PlannerInfo *root, ModifyTable *plan, Index result_relation,
										  int subplan_index);
extern void streamhouseBeginForeignModify(ModifyTableState *mtstate, ResultRelInfo *resultRelInfo,
										  List *fdw_private, int subplan_index, int eflags);
extern TupleTableSlot *streamhouseExecForeignInsert(EState *estate, ResultRelInfo *resultRelInfo,
													TupleTableSlot *slot, TupleTableSlot *planSlot);
extern TupleTableSlot *streamhouseExecForeignUpdate(EState *estate, ResultRelInfo *resultRelInfo,
													TupleTableSlot *slot, TupleTableSlot *planSlot);
extern TupleTableSlot *streamhouseExecForeignDelete(EState *estate, ResultRelInfo *resultRelInfo,
													TupleTableSlot *slot, TupleTableSlot *planSlot);
extern void streamhouseEndForeignModify(EState *estate, ResultRelInfo *resultRelInfo);
extern void streamhouseBeginForeignInsert(ModifyTableState *mtstate, ResultRelInfo *resultRelInfo);
extern void streamhouseEndForeignInsert(EState *estate, ResultRelInfo *resultRelInfo);
extern int	streamhouseIsForeignRelUpdatable(Relation relation);
extern void streamhouseExecForeignTruncate(List *relations, DropBehavior behavior, bool restart_seqs);

/*
 * transaction.c: what this transaction has written and not yet published.  All
 * is kept by location, and rolled back with subtransactions.
 */

/*
 * Unpublished files of a table: the writer's buffer is flushed, and copies of
 * its entries (ManifestEntry *) come in CurrentMemoryContext; NIL when this
 * transaction has written nothing to it.  *truncated: it has truncated the
 * table, so that the snapshot's files do not count.
 */
extern List *transaction_pending_entries(const char *location, bool *truncated);

/* Has this transaction made or written the table? */
extern bool transaction_has_changed(const char *location);

/*
 * Make a lake table when the transaction commits; schema is copied.  ERROR when
 * the transaction makes one there already.
 */
extern void transaction_create_table(const TableAddress *address, const TableSchema *schema);

/* The schema of a table that this transaction makes, or NULL. */
extern const TableSchema *transaction_created_table(const char *location);

#endif							/* STREAMHOUSE_FDW_H */
