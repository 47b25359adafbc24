/*
 * parquet_write.h
 *		What the parts of the Parquet writer share.
 *
 * A file has a tree of nodes, of which the leaves hold values: one for a flat
 * column, more for a nested one, whose values are first shredded into levels
 * and positions.  Values travel from vectors to pages in slices of at most
 * SLICE_ROWS rows: the nulls become definition levels, the others are gathered,
 * counted into the page's bounds, and appended to the open page as dictionary
 * codes or in PLAIN form.  A full page is compressed and kept until its row group is
 * written; so what a row group costs in memory is its compressed size, and one
 * open page and one dictionary a column.
 */
#ifndef STREAMHOUSE_PARQUET_WRITE_H
#define STREAMHOUSE_PARQUET_WRITE_H

#include "postgres.h"

#include "lib/stringinfo.h"

#include "format/codec.h"
#include "format/format.h"
#include "format/parquet/parquet_format.h"

#define SLICE_ROWS 2048
#define PAGE_ROWS 20000
#define PAGE_LEVELS (256 * 1024)	/* of nested columns */
#define PAGE_BYTES (1024 * 1024)
#define DICTIONARY_BYTES (1024 * 1024)
#define ROW_GROUP_BYTES ((size_t) 128 * 1024 * 1024)
#define ROW_GROUP_ROWS (1024 * 1024)
#define MAX_FIXED_WIDTH 16		/* bytes of a value that is not a byte array */

/* ---- encode.c: bytes that grow, and the encodings ---- */

/* Unlike StringInfo it may pass 1 GB: a page holds at least one value. */
typedef struct ByteBuffer
{
	MemoryContext context;
	char	   *data;
	size_t		length;
	size_t		capacity;
} ByteBuffer;

extern void byte_buffer_init(ByteBuffer *buffer, MemoryContext context);

/* Make room for so many more bytes; returns where they go. */
extern char *byte_buffer_reserve(ByteBuffer *buffer, size_t extra);
extern void byte_buffer_append(ByteBuffer *buffer, const void *data, size_t length);

/* Empty it; memory is given back when it is more than keep bytes. */
extern void byte_buffer_clear(ByteBuffer *buffer, size_t keep);

/* Bits needed for the numbers 0 .. count - 1, at least one. */
extern int	code_bit_width(int count);

/* The RLE/bit-packing hybrid: levels (a byte each), and codes. */
extern void rle_encode_levels(ByteBuffer *out, const uint8 *levels, int nlevels, int width);
extern void rle_encode_codes(ByteBuffer *out, const int32 *codes, int ncodes, int width);

/* PLAIN: booleans (bytes of 0 or 1) as bits, byte arrays with their lengths. */
extern void plain_encode_booleans(ByteBuffer *out, const uint8 *values, int nvalues);
extern void plain_encode_bytes(ByteBuffer *out, const BytesView *values, int nvalues);

/* PLAIN: big-endian decimals of width bytes, and INT96 timestamps from nanoseconds. */
extern void plain_encode_decimals(char *out, const int128 *values, int nvalues, int width);
extern void plain_encode_int96(char *out, const int128 *values, int nvalues);

/* ---- metadata_write.c: how a column's type is stored ---- */

typedef struct ColumnForm
{
	ParquetType type;
	PhysicalType staged;		/* of the values on their way into a page */
	int			width;			/* bytes of a value in PLAIN; 0: byte array */
	bool		has_bounds;		/* the type has an order */
	bool		is_text;		/* byte arrays that hold UTF-8 */
} ColumnForm;

/* ERROR when the type cannot be written. */
extern ColumnForm column_form(const DataField *field);

/* ---- statistics_write.c: extremes of values ---- */

typedef struct ValueBounds
{
	bool		any;			/* a value was seen: min and max are set */
	bool		has_nan;		/* a NaN was seen: there are no bounds */
	Scalar		min;			/* of the staged type; bytes lie in the buffers */
	Scalar		max;
	ByteBuffer	min_bytes;
	ByteBuffer	max_bytes;
} ValueBounds;

extern void value_bounds_init(ValueBounds *bounds, MemoryContext context);
extern void value_bounds_reset(ValueBounds *bounds);
extern void value_bounds_add(ValueBounds *bounds, PhysicalType staged, const void *values, int nvalues);
extern void value_bounds_merge(ValueBounds *bounds, PhysicalType staged, const ValueBounds *other);

/* False when there are none.  Zeros get the sign that is safe for readers. */
extern bool value_bounds_get(const ValueBounds *bounds, PhysicalType staged, Scalar *min, Scalar *max);

/* A value's bytes in statistics; fixed widths go into buffer (MAX_FIXED_WIDTH). */
extern BytesView statistics_bytes(const ColumnForm *form, const Scalar *value, char *buffer);

/* ---- dictionary_write.c: distinct values of a column chunk ---- */

typedef struct DictionarySlot
{
	uint32		hash;
	int32		code;			/* plus one; 0: free */
} DictionarySlot;

typedef struct ValueDictionary
{
	MemoryContext context;
	int			width;			/* bytes of a value; 0: byte arrays */
	int			nvalues;
	ByteBuffer	plain;			/* the values in PLAIN form, by code */
	ByteBuffer	offsets;		/* of byte arrays: uint32 of each within plain */
	ByteBuffer	pages;			/* of byte arrays: int32, the last page each occurred in */
	uint32		nslots;			/* a power of two */
	DictionarySlot *slots;
} ValueDictionary;

extern void dictionary_writer_init(ValueDictionary *dictionary, MemoryContext context, int width);
extern void dictionary_writer_reset(ValueDictionary *dictionary);

/* Values to codes; false when the dictionary is full (then it only can be rewound). */
extern bool dictionary_encode_fixed(ValueDictionary *dictionary, const void *plain, int nvalues, int32 *codes);
extern bool dictionary_encode_bytes(ValueDictionary *dictionary, const BytesView *values, int nvalues, int32 *codes);

/* Code of one byte array; -1 when full. */
extern int32 dictionary_code_of(ValueDictionary *dictionary, BytesView value);

/* Forget the values from code nvalues on; nothing can be added any more. */
extern void dictionary_rewind(ValueDictionary *dictionary, int nvalues);

/* Codes to values, in PLAIN form. */
extern void dictionary_decode(const ValueDictionary *dictionary, const int32 *codes, int ncodes, ByteBuffer *out);

/* Bounds of the values (byte arrays) that codes name, each looked at once a page. */
extern void dictionary_add_bounds(ValueDictionary *dictionary, const int32 *codes, int ncodes, int page,
								  ValueBounds *bounds);

/* ---- column_write.c: pages and column chunks ---- */

/* A finished data page. */
typedef struct WrittenPage
{
	char	   *data;			/* header and compressed body */
	size_t		length;
	int64		first_row;		/* within the row group */
	int			nlevels;		/* values with nulls */
	int			nnulls;
	bool		has_bounds;
	Scalar		min;			/* for the column index: strings shortened */
	Scalar		max;
} WrittenPage;

/* Values of a leaf. */
typedef struct ColumnWriter
{
	struct ParquetWriter *writer;
	const DataField *field;
	const struct WriteNode *node;
	ColumnForm	form;
	ValueDictionary dictionary;

	/* the open page */
	int			page_rows;
	int			page_levels;	/* rows, or of a nested column more */
	int			page_values;	/* those that are not null */
	size_t		page_plain_bytes;	/* the values' size in PLAIN */
	ByteBuffer	definitions;	/* a byte each, where there is more than one level */
	ByteBuffer	repetitions;
	ByteBuffer	values;			/* int32 codes, or PLAIN (booleans: bytes) */
	ValueBounds page_bounds;

	/* the open column chunk */
	bool		use_dictionary; /* its next page has codes */
	int			npages;
	int			max_pages;
	WrittenPage *pages;
	int			ncoded_pages;	/* of npages, those with codes */
	int64		nrows;			/* in finished pages */
	int64		nlevels;		/* likewise */
	int64		nnulls;
	size_t		raw_bytes;		/* of finished pages, with headers, not compressed */
	size_t		stored_bytes;	/* the same compressed */
	ValueBounds chunk_bounds;

	/* the whole file, without the open chunk */
	size_t		file_raw_bytes;
	size_t		file_stored_bytes;
	int64		file_nulls;
	ValueBounds file_bounds;
} ColumnWriter;

/* What the footer says of a column chunk: thrift structs, ready to be copied. */
typedef struct ChunkFooter
{
	BytesView	metadata;		/* ColumnMetaData */
	BytesView	column_index;	/* no bytes: none */
	BytesView	offset_index;
	uint64		column_index_offset;
	uint64		offset_index_offset;
} ChunkFooter;

/* What is appended to a column. */
typedef struct ColumnInput
{
	const Vector *vector;
	const int32 *rows;			/* NULL: all in order */

	/*
	 * Of nested columns, beside rows: the levels of each.  A row of -1 is null,
	 * or there is nothing.
	 */
	const uint8 *definitions;
	const uint8 *repetitions;
} ColumnInput;

/* node: the leaf, whose name and type in field. */
extern void column_writer_init(ColumnWriter *column, struct ParquetWriter *writer, const DataField *field,
							   const struct WriteNode *node);

/* Append count of the input's rows, from the first on; it ends with a row of the table. */
extern void column_writer_append(ColumnWriter *column, const ColumnInput *input, int first, int count);

/* Write the chunk to the file, and begin the next. */
extern void column_writer_end_chunk(ColumnWriter *column, ChunkFooter *footer, int64 *raw_bytes, int64 *stored_bytes);

/* Bytes in memory for the open chunk; and what they would come to in the file. */
extern size_t column_writer_buffered(const ColumnWriter *column);
extern size_t column_writer_expected(const ColumnWriter *column);

/* ---- page_index_write.c ---- */

/* Keep what the column index says of a page, from the open page's bounds. */
extern void page_index_add(ColumnWriter *column, WrittenPage *page);

/* Both append to out; the first writes nothing where no valid index can be made. */
extern void page_index_write_columns(const ColumnWriter *column, StringInfo out);
extern void page_index_write_offsets(const ColumnWriter *column, uint64 offset, StringInfo out);

/* ---- nested_write.c: the tree of nodes, and shredding ---- */

#define MAX_NESTING 64			/* of lists, maps and rows in each other */

typedef struct WriteNode
{
	const struct WriteNode *parent; /* NULL: a column */
	const char *name;			/* in the file */
	int32		id;
	DataType	type;			/* without its children */
	bool		nullable;		/* in the file */
	int			definition;		/* the level of values that are not null */
	int			repetition;		/* that of elements within the nearest list, itself included */
	int			nchildren;
	struct WriteNode *children;
	ColumnWriter *leaf;			/* of a node without children */
	/* while rows are shredded */
	ByteBuffer	positions;
	ByteBuffer	definitions;
	ByteBuffer	element_positions;
	ByteBuffer	element_definitions;
	ByteBuffer	element_repetitions;
} WriteNode;

/* Count the leaves below a type; ERROR if it cannot be written. */
extern int	count_leaves(const DataField *field);

/* Make a column's node; its leaves are those that follow the writer's nleaves. */
extern void write_node_init(WriteNode *node, struct ParquetWriter *writer, const DataField *field);

/* The group between a list and its elements; NULL for what is no list. */
extern const char *repeated_group_name(const WriteNode *node);

/* Append rows of a column to its leaves. */
extern void write_node_append(WriteNode *node, const Vector *vector, const int32 *rows, int first, int nrows);

/* ---- metadata_write.c ---- */

/* Where a finished chunk lies. */
typedef struct ChunkPlace
{
	uint64		dictionary_offset;	/* 0: it has none */
	uint64		data_offset;	/* of the first data page */
	int64		raw_bytes;		/* with the dictionary page and headers */
	int64		stored_bytes;
} ChunkPlace;

typedef struct RowGroupFooter
{
	int64		nrows;
	uint64		offset;
	int64		raw_bytes;
	int64		stored_bytes;
	ChunkFooter *chunks;
} RowGroupFooter;

extern void metadata_write_chunk(const ColumnWriter *column, const ChunkPlace *place, StringInfo out);
extern void metadata_write_footer(const struct ParquetWriter *writer, StringInfo out);

/* ---- file_write.c ---- */

/* The values that are not null of some rows of a column, on their way into its page. */
typedef struct ValueSlice
{
	int			nrows;			/* of the table that begin in it */
	int			nlevels;
	int			nvalues;
	size_t		plain_bytes;	/* size in PLAIN */
	const int32 *input_codes;	/* codes of dictionary-encoded input, or NULL */
	int			input_dictionary_size;
	bool		consecutive;	/* the values are rows first, first + 1 ... of the vector */
	int			first;
	int32		positions[SLICE_ROWS];	/* otherwise, their rows */
	uint8		definitions[SLICE_ROWS];
	int32		codes[SLICE_ROWS];
	int128		values[SLICE_ROWS]; /* of the staged type */
	char		plain[SLICE_ROWS * MAX_FIXED_WIDTH];
	int32		code_map[SLICE_ROWS];	/* codes of the input to those of the chunk */
} ValueSlice;

typedef struct ParquetWriter
{
	FormatWriter base;
	MemoryContext context;		/* holds all of it */
	MemoryContext row_group_context;	/* finished pages */
	StorageWriter *file;
	Codec		codec;
	ParquetCodec parquet_codec;
	int			level;
	size_t		row_group_bytes;
	int			ncolumns;
	WriteNode  *nodes;			/* of the columns */
	int			nleaves;
	ColumnWriter *leaves;
	int64		row_group_rows; /* in the open row group */
	int			nrow_groups;
	int			max_row_groups;
	RowGroupFooter *row_groups;
	/* for one page at a time */
	ValueSlice *slice;
	StringInfoData header;
	ByteBuffer	body;
	ByteBuffer	compressed;
	const char *page_data;		/* in one of the two */
	size_t		page_length;
} ParquetWriter;

#endif							/* STREAMHOUSE_PARQUET_WRITE_H */
