/*
 * join_table.h
 *		One side of an equi-join in memory: its rows are found by their keys.
 *
 *	join_table_add			for each batch of that side, until join_table_is_full
 *	join_table_finish		then rows can be found
 *	join_table_clear_rows	makes room for more rows; keys stay known
 *
 * Rows with a key that is NULL match nothing, and are not kept.
 */
#ifndef STREAMHOUSE_JOIN_TABLE_H
#define STREAMHOUSE_JOIN_TABLE_H

#include "columnar/vector.h"

#define JOIN_NONE (-1)

typedef struct JoinTable JoinTable;

typedef struct JoinTableSpec
{
	int			nkeys;
	const DataType **key_types;
	int			ncolumns;		/* that are kept beside the keys */
	const DataType **types;
	Size		memory_limit;
} JoinTableSpec;

/* A share of all keys, by their hash: part number part of so many, a power of two. */
typedef struct JoinPart
{
	uint32		part;
	uint32		nparts;
} JoinPart;

/* Lives in a child of CurrentMemoryContext; the specification must live as long. */
extern JoinTable *join_table_create(const JoinTableSpec *spec);
extern void join_table_free(JoinTable *table);

/*
 * Those of the selected rows (NULL: the first nrows) whose keys are in the
 * part; how many.  with_nulls: keys with a NULL are in the first part, else in
 * none.
 */
extern int	join_part_rows(const JoinPart *part, const Vector *const *keys, int nkeys, const int32 *rows, int nrows,
						   bool with_nulls, int32 *out);

/* Copy the rows listed, none of which has a key that is NULL. */
extern void join_table_add(JoinTable *table, const Vector *const *keys, Vector *const *columns, const int32 *rows,
						   int nrows);

/* Has it more rows than a batch, and takes more memory than it may? */
extern bool join_table_is_full(const JoinTable *table);
extern void join_table_finish(JoinTable *table);
extern void join_table_clear_rows(JoinTable *table);

/* The numbers of the keys of the selected rows at found[row]; JOIN_NONE: there is no such key. */
extern void join_table_find(JoinTable *table, const Vector *const *keys, const int32 *rows, int nrows, int32 *found);

/* Is the number of each key that of its only row? */
extern bool join_table_is_unique(const JoinTable *table);

/* The rows of a key. */
extern const int32 *join_table_rows(const JoinTable *table, int32 key, int *count);

/*
 * Values at the selected rows (NULL: the first nrows) of out: those of rows
 * from[row] of another vector, NULL for JOIN_NONE.  Codes stay codes.
 */
extern void join_gather(const Vector *source, const int32 *from, const int32 *rows, int nrows, Vector *out);

/* The same of a column's rows.  Strings come as codes of one dictionary. */
extern void join_table_gather(const JoinTable *table, int column, const int32 *from, const int32 *rows, int nrows,
							  Vector *out);

extern int	join_table_row_count(const JoinTable *table);
extern int	join_table_key_count(const JoinTable *table);

/* The values that count keys, from first on, have in one of their columns. */
extern void join_table_key_values(const JoinTable *table, int key, int first, int count, Vector *out);

/* Bytes that it takes. */
extern Size join_table_memory(const JoinTable *table);

#endif							/* STREAMHOUSE_JOIN_TABLE_H */
