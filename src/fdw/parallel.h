/*
 * parallel.h
 *		A scan shared by parallel workers: what scan.c knows of it.
 */
#ifndef STREAMHOUSE_FDW_PARALLEL_H
#define STREAMHOUSE_FDW_PARALLEL_H

#include "fdw/scan.h"

/* The reader was opened, on all splits of the plan: it is to take its share of them. */
extern void shared_scan_start(ForeignTableScan *scan, const ScanPlan *plan);

#endif							/* STREAMHOUSE_FDW_PARALLEL_H */
