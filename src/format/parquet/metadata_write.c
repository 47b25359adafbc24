/*
 * metadata_write.c
 *		The footer of a Parquet file: schema, row groups and column chunks.
 *
 * Source: format digest section 6.4 for the types, and parquet.thrift for the
 * structs, whose field numbers are used here as they stand there.
 */
#include "postgres.h"

#include "format/parquet/parquet_write.h"
#include "format/parquet/thrift.h"

#define FILE_VERSION 1
#define ROOT_NAME "paimon_schema"
#define CREATED_BY "streamhouse version 1.0"
#define MAX_STATISTICS_BYTES 4096	/* of both bounds together; longer ones are left out */
#define MAX_ORDINAL PG_INT16_MAX

/* LogicalType's members */
#define LOGICAL_STRING 1
#define LOGICAL_MAP 2
#define LOGICAL_LIST 3
#define LOGICAL_DECIMAL 5
#define LOGICAL_DATE 6
#define LOGICAL_TIME 7
#define LOGICAL_TIMESTAMP 8
#define LOGICAL_INTEGER 10

/* TimeUnit's members */
#define UNIT_MILLIS 1
#define UNIT_MICROS 2

/* Bytes that hold every number of so many decimal digits, in two's complement. */
static int
decimal_width(int precision)
{
	double		above = 1;		/* least power of ten that need not be held */
	double		range = 128;	/* of width bytes */
	int			width = 1;

	for (int i = 0; i < precision; i++)
		above *= 10;
	while (range < above)
	{
		range *= 256;
		width++;
	}
	return width;
}

static ColumnForm
make_form(ParquetType type, PhysicalType staged, int width)
{
	ColumnForm	form = {type, staged, width, true, false};

	return form;
}

static ColumnForm
decimal_form(const DataType *type)
{
	if (type->precision <= 9)
		return make_form(PARQUET_INT32, PHYSICAL_INT32, 4);
	if (type->precision <= 18)
		return make_form(PARQUET_INT64, PHYSICAL_INT64, 8);
	return make_form(PARQUET_FIXED_LEN_BYTE_ARRAY, PHYSICAL_INT128, decimal_width(type->precision));
}

static ColumnForm
timestamp_form(const DataType *type)
{
	ColumnForm	form;

	if (type->precision <= 6)
		return make_form(PARQUET_INT64, PHYSICAL_INT64, 8);
	form = make_form(PARQUET_INT96, PHYSICAL_INT128, 12);
	form.has_bounds = false;
	return form;
}

static ColumnForm
bytes_form(const DataType *type)
{
	ColumnForm	form = make_form(PARQUET_BYTE_ARRAY, PHYSICAL_BYTES, 0);

	form.is_text = type_is_string(type);
	return form;
}

ColumnForm
column_form(const DataField *field)
{
	switch (field->type->root)
	{
		case TYPE_BOOLEAN:
			return make_form(PARQUET_BOOLEAN, PHYSICAL_INT8, 1);
		case TYPE_TINYINT:
		case TYPE_SMALLINT:
		case TYPE_INT:
		case TYPE_DATE:
		case TYPE_TIME:
			return make_form(PARQUET_INT32, PHYSICAL_INT32, 4);
		case TYPE_BIGINT:
			return make_form(PARQUET_INT64, PHYSICAL_INT64, 8);
		case TYPE_FLOAT:
			return make_form(PARQUET_FLOAT, PHYSICAL_FLOAT, 4);
		case TYPE_DOUBLE:
			return make_form(PARQUET_DOUBLE, PHYSICAL_DOUBLE, 8);
		case TYPE_DECIMAL:
			return decimal_form(field->type);
		case TYPE_TIMESTAMP:
		case TYPE_TIMESTAMP_LTZ:
			return timestamp_form(field->type);
		case TYPE_CHAR:
		case TYPE_VARCHAR:
		case TYPE_BINARY:
		case TYPE_VARBINARY:
			return bytes_form(field->type);
		default:
			break;
	}
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("column \"%s\" of type %s cannot be written to a Parquet file",
					field->name, type_to_text(field->type))));
}

/* ---- schema ---- */

/* The old annotation; -1: none. */
static int
converted_type(const DataType *type)
{
	switch (type->root)
	{
		case TYPE_TINYINT:
			return PARQUET_CONVERTED_INT_8;
		case TYPE_SMALLINT:
			return PARQUET_CONVERTED_INT_16;
		case TYPE_CHAR:
		case TYPE_VARCHAR:
			return PARQUET_CONVERTED_UTF8;
		case TYPE_DECIMAL:
			return PARQUET_CONVERTED_DECIMAL;
		case TYPE_DATE:
			return PARQUET_CONVERTED_DATE;
		case TYPE_TIME:
			return PARQUET_CONVERTED_TIME_MILLIS;
		case TYPE_TIMESTAMP:
		case TYPE_TIMESTAMP_LTZ:
			if (type->precision > 6)
				return -1;
			return type->precision <= 3 ? PARQUET_CONVERTED_TIMESTAMP_MILLIS : PARQUET_CONVERTED_TIMESTAMP_MICROS;
		case TYPE_ARRAY:
			return PARQUET_CONVERTED_LIST;
		case TYPE_MAP:
		case TYPE_MULTISET:
			return PARQUET_CONVERTED_MAP;
		default:
			return -1;
	}
}

/* A struct without members. */
static void
write_empty_struct(ThriftWriter *out, int16 id)
{
	thrift_write_struct_end(out, thrift_write_struct_field(out, id));
}

/* TimeType and TimestampType */
static void
write_time_annotation(ThriftWriter *out, int16 logical, bool adjusted_to_utc, int16 unit)
{
	int16		time = thrift_write_struct_field(out, logical);
	int16		unit_saved;

	thrift_write_bool_field(out, 1, adjusted_to_utc);
	unit_saved = thrift_write_struct_field(out, 2);
	write_empty_struct(out, unit);
	thrift_write_struct_end(out, unit_saved);
	thrift_write_struct_end(out, time);
}

static void
write_decimal_annotation(ThriftWriter *out, const DataType *type)
{
	int16		saved = thrift_write_struct_field(out, LOGICAL_DECIMAL);

	thrift_write_i32_field(out, 1, type->scale);
	thrift_write_i32_field(out, 2, type->precision);
	thrift_write_struct_end(out, saved);
}

static void
write_integer_annotation(ThriftWriter *out, int8 bits)
{
	int16		saved = thrift_write_struct_field(out, LOGICAL_INTEGER);

	thrift_write_byte_field(out, 1, bits);
	thrift_write_bool_field(out, 2, true);	/* signed */
	thrift_write_struct_end(out, saved);
}

/* The LogicalType of a type that has a converted type too. */
static void
write_logical_type(ThriftWriter *out, const DataType *type)
{
	switch (type->root)
	{
		case TYPE_TINYINT:
			write_integer_annotation(out, 8);
			break;
		case TYPE_SMALLINT:
			write_integer_annotation(out, 16);
			break;
		case TYPE_DECIMAL:
			write_decimal_annotation(out, type);
			break;
		case TYPE_DATE:
			write_empty_struct(out, LOGICAL_DATE);
			break;
		case TYPE_TIME:
			write_time_annotation(out, LOGICAL_TIME, true, UNIT_MILLIS);
			break;
		case TYPE_TIMESTAMP:
		case TYPE_TIMESTAMP_LTZ:
			write_time_annotation(out, LOGICAL_TIMESTAMP, type->root == TYPE_TIMESTAMP_LTZ,
								  type->precision <= 3 ? UNIT_MILLIS : UNIT_MICROS);
			break;
		case TYPE_ARRAY:
			write_empty_struct(out, LOGICAL_LIST);
			break;
		case TYPE_MAP:
		case TYPE_MULTISET:
			write_empty_struct(out, LOGICAL_MAP);
			break;
		default:
			write_empty_struct(out, LOGICAL_STRING);
			break;
	}
}

/* The group that is repeated, between a list and its elements. */
static void
write_repeated_group(ThriftWriter *out, const WriteNode *node)
{
	const char *name = repeated_group_name(node);
	int16		group = thrift_write_struct_begin(out);

	thrift_write_i32_field(out, 3, PARQUET_REPEATED);
	thrift_write_binary_field(out, 4, name, strlen(name));
	thrift_write_i32_field(out, 5, node->nchildren);
	thrift_write_struct_end(out, group);
}

/* The element of one node, without those below it. */
static void
write_node_element(ThriftWriter *out, const WriteNode *node)
{
	const DataType *type = &node->type;
	int			converted = converted_type(type);
	int16		element = thrift_write_struct_begin(out);

	if (node->leaf != NULL)
		thrift_write_i32_field(out, 1, node->leaf->form.type);
	if (node->leaf != NULL && node->leaf->form.type == PARQUET_FIXED_LEN_BYTE_ARRAY)
		thrift_write_i32_field(out, 2, node->leaf->form.width);
	thrift_write_i32_field(out, 3, node->nullable ? PARQUET_OPTIONAL : PARQUET_REQUIRED);
	thrift_write_binary_field(out, 4, node->name, strlen(node->name));
	if (node->leaf == NULL)
		thrift_write_i32_field(out, 5, repeated_group_name(node) != NULL ? 1 : node->nchildren);
	if (converted >= 0)
		thrift_write_i32_field(out, 6, converted);
	if (type->root == TYPE_DECIMAL)
	{
		thrift_write_i32_field(out, 7, type->scale);
		thrift_write_i32_field(out, 8, type->precision);
	}
	thrift_write_i32_field(out, 9, node->id);
	if (converted >= 0)
	{
		int16		logical = thrift_write_struct_field(out, 10);

		write_logical_type(out, type);
		thrift_write_struct_end(out, logical);
	}
	thrift_write_struct_end(out, element);
}

static void
write_node_schema(ThriftWriter *out, const WriteNode *node)
{
	write_node_element(out, node);
	if (repeated_group_name(node) != NULL)
		write_repeated_group(out, node);
	for (int i = 0; i < node->nchildren; i++)
		write_node_schema(out, &node->children[i]);
}

static int
count_elements(const WriteNode *node)
{
	int			count = repeated_group_name(node) != NULL ? 2 : 1;

	for (int i = 0; i < node->nchildren; i++)
		count += count_elements(&node->children[i]);
	return count;
}

static void
write_schema(ThriftWriter *out, const ParquetWriter *writer)
{
	int			count = 1;
	int16		root;

	for (int i = 0; i < writer->ncolumns; i++)
		count += count_elements(&writer->nodes[i]);
	thrift_write_list_field(out, 2, THRIFT_STRUCT, count);
	root = thrift_write_struct_begin(out);
	thrift_write_binary_field(out, 4, ROOT_NAME, strlen(ROOT_NAME));
	thrift_write_i32_field(out, 5, writer->ncolumns);
	thrift_write_struct_end(out, root);
	for (int i = 0; i < writer->ncolumns; i++)
		write_node_schema(out, &writer->nodes[i]);
}

/* ---- column chunks ---- */

static void
write_encodings(ThriftWriter *out, const ColumnWriter *column)
{
	bool		coded = column->ncoded_pages > 0;

	/* the dictionary page itself is PLAIN, levels are RLE */
	thrift_write_list_field(out, 2, THRIFT_I32, coded ? 3 : 2);
	thrift_write_zigzag(out, PARQUET_PLAIN);
	thrift_write_zigzag(out, PARQUET_RLE);
	if (coded)
		thrift_write_zigzag(out, PARQUET_RLE_DICTIONARY);
}

static void
write_encoding_count(ThriftWriter *out, ParquetPageType type, ParquetEncoding encoding, int count)
{
	int16		saved = thrift_write_struct_begin(out);

	thrift_write_i32_field(out, 1, type);
	thrift_write_i32_field(out, 2, encoding);
	thrift_write_i32_field(out, 3, count);
	thrift_write_struct_end(out, saved);
}

/* How many pages have which encoding: lets readers know that all values are in the dictionary. */
static void
write_encoding_statistics(ThriftWriter *out, const ColumnWriter *column)
{
	int			coded = column->ncoded_pages;
	int			plain = column->npages - coded;

	thrift_write_list_field(out, 13, THRIFT_STRUCT, (coded > 0 ? 2 : 0) + (plain > 0 ? 1 : 0));
	if (coded > 0)
	{
		write_encoding_count(out, PARQUET_DICTIONARY_PAGE, PARQUET_PLAIN, 1);
		write_encoding_count(out, PARQUET_DATA_PAGE, PARQUET_RLE_DICTIONARY, coded);
	}
	if (plain > 0)
		write_encoding_count(out, PARQUET_DATA_PAGE, PARQUET_PLAIN, plain);
}

static void
write_statistics(ThriftWriter *out, const ColumnWriter *column)
{
	const ColumnForm *form = &column->form;
	int16		saved = thrift_write_struct_field(out, 12);
	Scalar		min;
	Scalar		max;

	thrift_write_i64_field(out, 3, column->nnulls);
	if (value_bounds_get(&column->chunk_bounds, form->staged, &min, &max))
	{
		char		min_buffer[MAX_FIXED_WIDTH];
		char		max_buffer[MAX_FIXED_WIDTH];
		BytesView	min_bytes = statistics_bytes(form, &min, min_buffer);
		BytesView	max_bytes = statistics_bytes(form, &max, max_buffer);

		if ((uint64) min_bytes.length + max_bytes.length < MAX_STATISTICS_BYTES)
		{
			thrift_write_binary_field(out, 5, max_bytes.data, max_bytes.length);
			thrift_write_binary_field(out, 6, min_bytes.data, min_bytes.length);
		}
	}
	thrift_write_struct_end(out, saved);
}

/* The names on the way from the root to a leaf. */
static void
write_path(ThriftWriter *out, const WriteNode *leaf)
{
	const char *names[2 * MAX_NESTING + 1];
	int			n = 0;

	for (const WriteNode *node = leaf; node != NULL; node = node->parent)
	{
		const char *group = node != leaf ? repeated_group_name(node) : NULL;

		if (group != NULL)
			names[n++] = group;
		names[n++] = node->name;
	}
	thrift_write_list_field(out, 3, THRIFT_BINARY, n);
	while (n-- > 0)
		thrift_write_binary(out, names[n], strlen(names[n]));
}

/* ColumnMetaData, as a struct on its own. */
void
metadata_write_chunk(const ColumnWriter *column, const ChunkPlace *place, StringInfo out)
{
	ThriftWriter chunk;

	thrift_write_init(&chunk, out);
	thrift_write_i32_field(&chunk, 1, column->form.type);
	write_encodings(&chunk, column);
	write_path(&chunk, column->node);
	thrift_write_i32_field(&chunk, 4, column->writer->parquet_codec);
	thrift_write_i64_field(&chunk, 5, column->nlevels);
	thrift_write_i64_field(&chunk, 6, place->raw_bytes);
	thrift_write_i64_field(&chunk, 7, place->stored_bytes);
	thrift_write_i64_field(&chunk, 9, (int64) place->data_offset);
	if (place->dictionary_offset != 0)
		thrift_write_i64_field(&chunk, 11, (int64) place->dictionary_offset);
	write_statistics(&chunk, column);
	write_encoding_statistics(&chunk, column);
	thrift_write_struct_end(&chunk, 0);
}

/* ---- file ---- */

static void
write_chunk(ThriftWriter *out, const ChunkFooter *chunk)
{
	int16		saved = thrift_write_struct_begin(out);
	int16		metadata;

	thrift_write_i64_field(out, 2, 0);	/* not used any more */
	metadata = thrift_write_struct_field(out, 3);
	appendBinaryStringInfo(out->out, chunk->metadata.data, chunk->metadata.length);
	out->last_field = metadata; /* its end was in the bytes */
	thrift_write_i64_field(out, 4, (int64) chunk->offset_index_offset);
	thrift_write_i32_field(out, 5, (int32) chunk->offset_index.length);
	if (chunk->column_index.length > 0)
	{
		thrift_write_i64_field(out, 6, (int64) chunk->column_index_offset);
		thrift_write_i32_field(out, 7, (int32) chunk->column_index.length);
	}
	thrift_write_struct_end(out, saved);
}

static void
write_row_group(ThriftWriter *out, const ParquetWriter *writer, int ordinal)
{
	const RowGroupFooter *group = &writer->row_groups[ordinal];
	int16		saved = thrift_write_struct_begin(out);

	thrift_write_list_field(out, 1, THRIFT_STRUCT, writer->nleaves);
	for (int i = 0; i < writer->nleaves; i++)
		write_chunk(out, &group->chunks[i]);
	thrift_write_i64_field(out, 2, group->raw_bytes);
	thrift_write_i64_field(out, 3, group->nrows);
	thrift_write_i64_field(out, 5, (int64) group->offset);
	thrift_write_i64_field(out, 6, group->stored_bytes);
	if (ordinal <= MAX_ORDINAL)
		thrift_write_i16_field(out, 7, (int16) ordinal);
	thrift_write_struct_end(out, saved);
}

/* FileMetaData */
void
metadata_write_footer(const ParquetWriter *writer, StringInfo out)
{
	ThriftWriter file;

	thrift_write_init(&file, out);
	thrift_write_i32_field(&file, 1, FILE_VERSION);
	write_schema(&file, writer);
	thrift_write_i64_field(&file, 3, writer->base.nrows);
	thrift_write_list_field(&file, 4, THRIFT_STRUCT, writer->nrow_groups);
	for (int i = 0; i < writer->nrow_groups; i++)
		write_row_group(&file, writer, i);
	thrift_write_binary_field(&file, 6, CREATED_BY, strlen(CREATED_BY));
	/* every column is ordered as its type is; without this, bounds of strings are not trusted */
	thrift_write_list_field(&file, 7, THRIFT_STRUCT, writer->nleaves);
	for (int i = 0; i < writer->nleaves; i++)
	{
		int16		order = thrift_write_struct_begin(&file);

		write_empty_struct(&file, 1);
		thrift_write_struct_end(&file, order);
	}
	thrift_write_struct_end(&file, 0);
}
