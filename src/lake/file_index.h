/*
 * file_index.h
 *		Indexes of single data files: which rows may match a predicate.
 *
 * They lie in the manifest or in a file beside the data file, and may be used
 * only where the file's rows are not merged with others (7.1, step 6).
 *
 * Source: format digest sections 8.2 to 8.5.
 */
#ifndef STREAMHOUSE_FILE_INDEX_H
#define STREAMHOUSE_FILE_INDEX_H

#include "columnar/predicate.h"
#include "lake/row_set.h"
#include "lake/table.h"

/*
 * The rows of a file that may match, in CurrentMemoryContext.  data_path: of
 * the file, beside which an index may lie.
 */
extern RowSet file_index_rows(LakeTable *table, const DataFileMeta *file, const char *data_path,
							  const Predicate *predicate);

/* Bytes of an index, of which position is the next. */
typedef struct IndexInput
{
	const char *start;
	const char *position;
	const char *end;
	const char *path;			/* for messages */
} IndexInput;

#define index_error(path, ...) \
	ereport(ERROR, \
			(errcode(ERRCODE_DATA_CORRUPTED), \
			 errmsg("file index \"%s\" is damaged", path), \
			 errdetail(__VA_ARGS__)))

/* Numbers are big endian; the input must hold them. */
extern const char *index_take(IndexInput *input, int64 length);
extern uint8 index_take_byte(IndexInput *input);
extern int32 index_take_int32(IndexInput *input);
extern int64 index_take_int64(IndexInput *input);

/* A value of the column's type as indexes keep it; false when they keep none of that type as SQL compares it. */
extern bool index_take_value(IndexInput *input, const DataType *type, Scalar *value);
extern bool index_type_is_supported(const DataType *type);

/* The bytes from an offset on. */
extern IndexInput index_input_at(const IndexInput *input, int64 offset);

/* The rows that may satisfy a leaf; all of them where the index does not tell. */
extern RowSet bloom_index_rows(IndexInput input, const Predicate *leaf, int64 nrows);
extern RowSet bitmap_index_rows(IndexInput input, const Predicate *leaf, int64 nrows);
extern RowSet bsi_index_rows(IndexInput input, const Predicate *leaf, int64 nrows);
extern RowSet range_bitmap_index_rows(IndexInput input, const Predicate *leaf, int64 nrows);

#endif							/* STREAMHOUSE_FILE_INDEX_H */
