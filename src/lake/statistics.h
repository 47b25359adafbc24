/*
 * statistics.h
 *		From a file's column statistics to what its metadata keeps of them.
 *
 * Source: format digest section 4.5.
 */
#ifndef STREAMHOUSE_LAKE_STATISTICS_H
#define STREAMHOUSE_LAKE_STATISTICS_H

#include "columnar/predicate.h"
#include "lake/manifest.h"
#include "lake/schema.h"

typedef enum StatsModeKind
{
	STATS_NONE,
	STATS_COUNTS,				/* null counts only */
	STATS_FULL,
	STATS_TRUNCATE				/* strings cut to length characters */
} StatsModeKind;

typedef struct StatsMode
{
	StatsModeKind kind;
	int32		length;			/* of STATS_TRUNCATE */
} StatsMode;

/* Of key columns, whatever the options say. */
extern const StatsMode stats_mode_of_keys;

/* Parse "none", "counts", "full" or "truncate(n)"; ERROR that names the option. */
extern StatsMode stats_mode_parse(const char *key, const char *value);

/*
 * The mode of each table field for files of a level: metadata.stats-mode,
 * metadata.stats-mode.per.level, fields.<name>.stats-mode and
 * metadata.stats-keep-first-n-columns.  In thin mode key columns are treated as
 * the key columns that the file lacks.  out has nfields entries.
 */
extern void stats_modes_of_table(const TableSchema *schema, bool thin_mode, int32 level, StatsMode *out);

/*
 * Reduce exact statistics to what the mode keeps.  New bytes are made in
 * CurrentMemoryContext.
 */
extern void column_statistics_truncate(ColumnStatistics *statistics, const DataType *type, StatsMode mode);

/* One row of minima, one of maxima and the null counts, of all columns given. */
extern SimpleStats simple_stats_build(const DataType *const *types, const ColumnStatistics *statistics, int ncolumns);

/*
 * The same, leaving out columns of which nothing is known; if any is left out,
 * *columns gets the names (char *) of those that stay, and *has_columns is
 * true.
 */
extern SimpleStats simple_stats_build_dense(const TableSchema *schema, const ColumnStatistics *statistics,
											bool *has_columns, List **columns);

/* Statistics of no columns. */
extern SimpleStats simple_stats_empty(void);

#endif							/* STREAMHOUSE_LAKE_STATISTICS_H */
