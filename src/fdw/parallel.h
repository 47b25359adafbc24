/*
 * parallel.h
 *		A scan shared by parallel workers: what scan.c knows of it.
 */
#ifndef STREAMHOUSE_FDW_PARALLEL_H
#define STREAMHOUSE_FDW_PARALLEL_H

#include "fdw/scan.h"

/* The units of a plan that the processes share. */
extern List *shared_scan_units(ForeignTableScan *scan, const ScanPlan *plan);

/* The reader was opened, on these units: it is to take its share of them. */
extern void shared_scan_start(ForeignTableScan *scan, const ScanPlan *plan, const List *units);

#endif							/* STREAMHOUSE_FDW_PARALLEL_H */
