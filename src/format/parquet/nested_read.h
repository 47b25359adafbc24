/*
 * nested_read.h
 *		Reading nested columns of a Parquet file.
 *
 * A nested column is a tree: lists, maps and rows, and at its leaves columns
 * of values with definition and repetition levels.  For the rows wanted, each
 * leaf gives its values, straight into the vector that they belong to, and
 * those that are needed for it the levels; from these the lists and nulls
 * above are made, from the root down.
 *
 * Slots are the places of a vector: of one outside of lists its rows, of one
 * within a list the elements.  Every leaf below has an entry at least for
 * each.
 */
#ifndef STREAMHOUSE_PARQUET_NESTED_READ_H
#define STREAMHOUSE_PARQUET_NESTED_READ_H

#include "columnar/variant.h"
#include "format/parquet/column_read.h"

/* A leaf's entries: levels of the rows being read. */
typedef struct LevelList
{
	MemoryContext context;
	uint8	   *definitions;
	uint8	   *repetitions;
	int			count;
	int			capacity;
} LevelList;

typedef struct NestedLeaf
{
	ParquetColumn column;		/* wanted NULL: only for its levels */
	int			slot_definition;	/* least level with which there is a slot */
	bool		keep_levels;
	LevelList	levels;

	/* where the values go */
	Vector	   *out;
	int			base;			/* the first slot of the rows being read */
	int			nslots;			/* so far */

	/* where it stands in the row group */
	int64		row;			/* rows that have begun */
	int64		page_left;		/* entries of the page of which the levels are not yet decoded */
	int			nahead;			/* entries decoded */
	int			ahead;			/* the next of them */
	uint8		definitions[BATCH_ROWS];
	uint8		repetitions[BATCH_ROWS];
} NestedLeaf;

/* ---- nested_leaf.c ---- */

/* Begin a row group, after column_begin_group. */
extern void leaf_begin_group(NestedLeaf *leaf);

/* Read rows start .. start+nrows-1 of the row group; out and base are set. */
extern void leaf_read_rows(NestedLeaf *leaf, int64 start, int nrows);

/* ---- variant_read.c ---- */

/* A shredded variant, while rows are read: of its parts whole values are made. */
typedef struct ShreddedVariant
{
	ParquetPlace place;
	DataType   *type;			/* that it is read as */
	Vector	   *vector;			/* so read, from slot 0 on */

	VariantNames names;			/* of the fields that have columns of their own */
	int		   *ids;			/* their numbers in the metadata, -1: not there */
	bool		has_metadata;
	BytesView	metadata_bytes;
	VariantMetadata metadata;

	StringInfoData out;			/* the value that is being built */
	VariantMember *members;		/* of all containers begun, outer ones first */
	int			nmembers;
	int			capacity;
	char	   *room;			/* for values that are made, in the batch's memory */
	uint32		room_left;
} ShreddedVariant;

/* In CurrentMemoryContext; path and column must last. */
extern ShreddedVariant *shredded_create(const ParquetField *field, const char *path, const char *column);

/* The first count slots that were read become values in out, in CurrentMemoryContext. */
extern void shredded_rebuild(ShreddedVariant *variant, int count, Vector *out, int at);

/* ---- nested_read.c ---- */

typedef struct NestedNode
{
	const ParquetField *field;	/* NULL: the file lacks it */
	const DataType *wanted;
	int			slot_definition;
	int			slot_repetition;	/* greatest level with which a slot begins */
	int			definition;		/* least level with which the value is not null */
	int			element_definition; /* of a list: least level with which there is an element */
	NestedLeaf *leaf;			/* of a value, or whose levels tell of lists and nulls */
	int			nchildren;
	struct NestedNode *children;
	ShreddedVariant *shredded;	/* else NULL; wanted is then its type */
} NestedNode;

typedef struct NestedColumn
{
	NestedNode	root;
	int			nleaves;
	NestedLeaf **leaves;		/* those that are read */
} NestedColumn;

/* What all columns of a file have in common. */
typedef struct NestedSource
{
	ParquetFile *file;
	ColumnScratch *scratch;
	MemoryContext batch_context;
	size_t		window_bytes;
} NestedSource;

/* The element of a list that has a group of its own. */
extern const ParquetField *nested_element(const ParquetField *list);

/*
 * A column to be read as the type wanted, whose rows' fields are found by
 * name.  In CurrentMemoryContext.  ERROR when that cannot be.
 */
extern NestedColumn *nested_column_create(const NestedSource *source, const ParquetField *field, const char *name,
										  const DataType *wanted);

/* As column_read. */
extern void nested_column_read(NestedColumn *column, int64 start, int nrows, const int32 *selection, int nselected,
							   Vector *out);

#endif							/* STREAMHOUSE_PARQUET_NESTED_READ_H */
