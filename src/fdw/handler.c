/*
 * handler.c
 *		The foreign data wrapper's callbacks.
 */
#include "postgres.h"

#include "fmgr.h"

#include "fdw/fdw.h"

PG_FUNCTION_INFO_V1(streamhouse_fdw_handler);
PGDLLEXPORT Datum streamhouse_fdw_handler(PG_FUNCTION_ARGS);

Datum
streamhouse_fdw_handler(PG_FUNCTION_ARGS)
{
	FdwRoutine *routine = makeNode(FdwRoutine);

	routine->GetForeignRelSize = streamhouseGetForeignRelSize;
	routine->GetForeignPaths = streamhouseGetForeignPaths;
	routine->GetForeignPlan = streamhouseGetForeignPlan;
	routine->GetForeignJoinPaths = streamhouseGetForeignJoinPaths;
	routine->GetForeignUpperPaths = streamhouseGetForeignUpperPaths;
	routine->BeginForeignScan = streamhouseBeginForeignScan;
	routine->IterateForeignScan = streamhouseIterateForeignScan;
	routine->ReScanForeignScan = streamhouseReScanForeignScan;
	routine->EndForeignScan = streamhouseEndForeignScan;
	routine->ExplainForeignScan = streamhouseExplainForeignScan;

	routine->IsForeignScanParallelSafe = streamhouseIsForeignScanParallelSafe;
	routine->EstimateDSMForeignScan = streamhouseEstimateDSMForeignScan;
	routine->InitializeDSMForeignScan = streamhouseInitializeDSMForeignScan;
	routine->ReInitializeDSMForeignScan = streamhouseReInitializeDSMForeignScan;
	routine->InitializeWorkerForeignScan = streamhouseInitializeWorkerForeignScan;
	routine->ShutdownForeignScan = streamhouseShutdownForeignScan;

	routine->AddForeignUpdateTargets = streamhouseAddForeignUpdateTargets;
	routine->PlanForeignModify = streamhousePlanForeignModify;
	routine->BeginForeignModify = streamhouseBeginForeignModify;
	routine->ExecForeignInsert = streamhouseExecForeignInsert;
	routine->ExecForeignUpdate = streamhouseExecForeignUpdate;
	routine->ExecForeignDelete = streamhouseExecForeignDelete;
	routine->EndForeignModify = streamhouseEndForeignModify;
	routine->BeginForeignInsert = streamhouseBeginForeignInsert;
	routine->EndForeignInsert = streamhouseEndForeignInsert;
	routine->IsForeignRelUpdatable = streamhouseIsForeignRelUpdatable;
	routine->ExecForeignTruncate = streamhouseExecForeignTruncate;

	routine->AnalyzeForeignTable = streamhouseAnalyzeForeignTable;
	routine->ImportForeignSchema = streamhouseImportForeignSchema;

	PG_RETURN_POINTER(routine);
}
