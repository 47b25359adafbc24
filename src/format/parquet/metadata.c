/*
 * metadata.c
 *		Decoding the metadata at the end of a Parquet file.
 */
#include "postgres.h"

#include "format/parquet/metadata.h"

#define MAX_LEVELS 200			/* of fields in each other */

/* An element of the schema's tree, in the order of a walk from its root. */
typedef struct SchemaElement
{
	ParquetField field;
	bool		has_type;
	bool		has_logical_type;
	bool		has_converted_type;
	int32		converted_type;
} SchemaElement;

static void
damaged(const ThriftReader *reader, const char *detail)
{
	parquet_damaged(reader->path, NULL, detail);
}

static BytesView
read_bytes(ThriftReader *reader, ThriftType type)
{
	BytesView	bytes;

	thrift_expect(reader, type, THRIFT_BINARY);
	bytes.data = thrift_read_binary(reader, &bytes.length);
	return bytes;
}

static int32
read_i32(ThriftReader *reader, ThriftType type)
{
	thrift_expect(reader, type, THRIFT_I32);
	return thrift_read_i32(reader);
}

static int64
read_i64(ThriftReader *reader, ThriftType type)
{
	thrift_expect(reader, type, THRIFT_I64);
	return thrift_read_int(reader);
}

static uint32
read_struct_list(ThriftReader *reader, ThriftType type)
{
	ThriftType	element;
	uint32		count;

	thrift_expect(reader, type, THRIFT_LIST);
	count = thrift_read_list(reader, &element);
	if (count > 0)
		thrift_expect(reader, element, THRIFT_STRUCT);
	return count;
}

/* ---- the schema ---- */

/* A union of empty structs: the number of the one that is set. */
static int16
read_empty_union(ThriftReader *reader, ThriftType type)
{
	int16		saved;
	int16		id;
	int16		chosen = 0;

	thrift_expect(reader, type, THRIFT_STRUCT);
	saved = thrift_struct_begin(reader);
	while (thrift_field(reader, &id, &type))
	{
		chosen = id;
		thrift_skip(reader, type);
	}
	thrift_struct_end(reader, saved);
	return chosen;
}

/* DecimalType, TimeType, TimestampType and IntType: two fields each. */
static void
read_logical_parameters(ThriftReader *reader, ParquetField *field)
{
	int16		saved = thrift_struct_begin(reader);
	int16		id;
	ThriftType	type;

	while (thrift_field(reader, &id, &type))
	{
		if (field->meaning == PARQUET_MEANING_DECIMAL && id == 1)
			field->scale = read_i32(reader, type);
		else if (field->meaning == PARQUET_MEANING_DECIMAL && id == 2)
			field->precision = read_i32(reader, type);
		else if (field->meaning == PARQUET_MEANING_INTEGER && id == 2)
			field->is_unsigned = !thrift_read_bool(reader, type);
		else if (field->meaning == PARQUET_MEANING_TIMESTAMP && id == 1)
			field->is_utc = thrift_read_bool(reader, type);
		else if ((field->meaning == PARQUET_MEANING_TIME || field->meaning == PARQUET_MEANING_TIMESTAMP) && id == 2)
		{
			int16		unit = read_empty_union(reader, type);

			if (unit < 1 || unit > 3)
				damaged(reader, "A time has an unknown unit.");
			field->unit = (ParquetTimeUnit) (unit - 1);
		}
		else
			thrift_skip(reader, type);
	}
	thrift_struct_end(reader, saved);
}

static ParquetMeaning
logical_type_meaning(int16 id)
{
	switch (id)
	{
		case 1:					/* STRING */
		case 4:					/* ENUM */
		case 12:				/* JSON */
			return PARQUET_MEANING_STRING;
		case 5:
			return PARQUET_MEANING_DECIMAL;
		case 6:
			return PARQUET_MEANING_DATE;
		case 7:
			return PARQUET_MEANING_TIME;
		case 8:
			return PARQUET_MEANING_TIMESTAMP;
		case 10:
			return PARQUET_MEANING_INTEGER;
		case 15:
			return PARQUET_MEANING_FLOAT16;
		default:
			return PARQUET_MEANING_OTHER;
	}
}

static void
read_logical_type(ThriftReader *reader, ThriftType type, ParquetField *field)
{
	int16		saved;
	int16		id;

	thrift_expect(reader, type, THRIFT_STRUCT);
	saved = thrift_struct_begin(reader);
	while (thrift_field(reader, &id, &type))
	{
		thrift_expect(reader, type, THRIFT_STRUCT);
		field->meaning = logical_type_meaning(id);
		read_logical_parameters(reader, field);
	}
	thrift_struct_end(reader, saved);
}

/* The annotations that were there before logical types. */
static void
apply_converted_type(ParquetField *field, int32 converted_type)
{
	switch (converted_type)
	{
		case PARQUET_CONVERTED_UTF8:
		case PARQUET_CONVERTED_ENUM:
		case PARQUET_CONVERTED_JSON:
			field->meaning = PARQUET_MEANING_STRING;
			break;
		case PARQUET_CONVERTED_DECIMAL:
			field->meaning = PARQUET_MEANING_DECIMAL;
			break;
		case PARQUET_CONVERTED_DATE:
			field->meaning = PARQUET_MEANING_DATE;
			break;
		case PARQUET_CONVERTED_TIME_MILLIS:
		case PARQUET_CONVERTED_TIME_MICROS:
			field->meaning = PARQUET_MEANING_TIME;
			field->unit = converted_type == PARQUET_CONVERTED_TIME_MILLIS ? PARQUET_MILLIS : PARQUET_MICROS;
			break;
		case PARQUET_CONVERTED_TIMESTAMP_MILLIS:
		case PARQUET_CONVERTED_TIMESTAMP_MICROS:
			field->meaning = PARQUET_MEANING_TIMESTAMP;
			field->unit = converted_type == PARQUET_CONVERTED_TIMESTAMP_MILLIS ? PARQUET_MILLIS : PARQUET_MICROS;
			field->is_utc = true;
			break;
		case PARQUET_CONVERTED_UINT_8:
		case PARQUET_CONVERTED_UINT_16:
		case PARQUET_CONVERTED_UINT_32:
		case PARQUET_CONVERTED_UINT_64:
			field->meaning = PARQUET_MEANING_INTEGER;
			field->is_unsigned = true;
			break;
		case PARQUET_CONVERTED_INT_8:
		case PARQUET_CONVERTED_INT_16:
		case PARQUET_CONVERTED_INT_32:
		case PARQUET_CONVERTED_INT_64:
			field->meaning = PARQUET_MEANING_INTEGER;
			break;
		default:
			field->meaning = PARQUET_MEANING_OTHER;
			break;
	}
}

static void
read_schema_element(ThriftReader *reader, SchemaElement *element)
{
	int16		saved = thrift_struct_begin(reader);
	int16		id;
	ThriftType	type;
	int32		value;

	memset(element, 0, sizeof(*element));
	while (thrift_field(reader, &id, &type))
	{
		switch (id)
		{
			case 1:
				value = read_i32(reader, type);
				if (value < PARQUET_BOOLEAN || value > PARQUET_FIXED_LEN_BYTE_ARRAY)
					damaged(reader, "A column has an unknown physical type.");
				element->field.type = (ParquetType) value;
				element->has_type = true;
				break;
			case 2:
				element->field.type_length = read_i32(reader, type);
				break;
			case 3:
				value = read_i32(reader, type);
				if (value < PARQUET_REQUIRED || value > PARQUET_REPEATED)
					damaged(reader, "A column has an unknown repetition.");
				element->field.repetition = (ParquetRepetition) value;
				break;
			case 4:
				thrift_expect(reader, type, THRIFT_BINARY);
				element->field.name = thrift_read_string(reader);
				break;
			case 5:
				element->field.nchildren = read_i32(reader, type);
				break;
			case 6:
				element->converted_type = read_i32(reader, type);
				element->has_converted_type = true;
				break;
			case 7:
				if (!element->has_logical_type)
					element->field.scale = read_i32(reader, type);
				break;
			case 8:
				if (!element->has_logical_type)
					element->field.precision = read_i32(reader, type);
				break;
			case 10:
				read_logical_type(reader, type, &element->field);
				element->has_logical_type = true;
				break;
			default:
				thrift_skip(reader, type);
				break;
		}
	}
	thrift_struct_end(reader, saved);
	if (element->has_converted_type && !element->has_logical_type)
		apply_converted_type(&element->field, element->converted_type);
	if (element->field.name == NULL)
		damaged(reader, "A column has no name.");
	if (element->field.nchildren < 0)
		damaged(reader, "A column has an impossible number of children.");
}

/* What is read of a schema that comes as a walk through its tree. */
typedef struct SchemaWalk
{
	ThriftReader *reader;
	ParquetMetadata *metadata;
	uint32		left;			/* elements not yet read */
} SchemaWalk;

static void read_children(SchemaWalk *walk, ParquetField *parent, int level);

static void
next_element(SchemaWalk *walk, SchemaElement *element)
{
	if (walk->left == 0)
		damaged(walk->reader, "Its schema has fewer columns than it says.");
	walk->left--;
	read_schema_element(walk->reader, element);
	/* before memory is allocated for them */
	if ((uint32) element->field.nchildren > walk->left)
		damaged(walk->reader, "Its schema has fewer columns than it says.");
}

static void
read_field(SchemaWalk *walk, const ParquetField *parent, ParquetField *field, int level)
{
	SchemaElement element;

	next_element(walk, &element);
	*field = element.field;
	field->leaf = walk->metadata->nleaves;
	field->max_definition = parent->max_definition + (field->repetition != PARQUET_REQUIRED);
	field->max_repetition = parent->max_repetition + (field->repetition == PARQUET_REPEATED);
	if (field->nchildren > 0)
		read_children(walk, field, level + 1);
	else if (element.has_type)
	{
		walk->metadata->nleaves++;
		field->flat = level == 0 && field->repetition != PARQUET_REPEATED;
		if (field->type == PARQUET_FIXED_LEN_BYTE_ARRAY && field->type_length <= 0)
			parquet_damaged(walk->reader->path, field->name, "Its values have no length.");
	}
	else
		parquet_damaged(walk->reader->path, field->name, "It has neither a type nor children.");
}

static void
read_children(SchemaWalk *walk, ParquetField *parent, int level)
{
	if (level == MAX_LEVELS)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("columns of file \"%s\" are nested too deeply", walk->reader->path)));
	parent->children = palloc0(Max(parent->nchildren, 1) * sizeof(ParquetField));
	for (int i = 0; i < parent->nchildren; i++)
		read_field(walk, parent, &parent->children[i], level);
}

static void
read_schema(ThriftReader *reader, ThriftType type, ParquetMetadata *metadata)
{
	SchemaWalk	walk = {reader, metadata};
	SchemaElement root;

	walk.left = read_struct_list(reader, type);
	if (walk.left == 0 || metadata->fields != NULL)
		damaged(reader, "Its schema is missing, or there twice.");
	next_element(&walk, &root);
	read_children(&walk, &root.field, 0);
	metadata->nfields = root.field.nchildren;
	metadata->fields = root.field.children;
	if (walk.left > 0)
		damaged(reader, "Its schema has more columns than it says.");
}

/* Which leaves' statistics follow the order that their type defines. */
static void
read_column_orders(ThriftReader *reader, ThriftType type, ParquetMetadata *metadata)
{
	uint32		count = read_struct_list(reader, type);
	int			field = 0;

	for (uint32 leaf = 0; leaf < count; leaf++)
	{
		bool		defined = read_empty_union(reader, THRIFT_STRUCT) == 1;

		while (field < metadata->nfields && metadata->fields[field].leaf < (int) leaf)
			field++;
		if (field < metadata->nfields && metadata->fields[field].leaf == (int) leaf)
			metadata->fields[field].has_order = defined;
	}
}

static void
refuse_encryption(const ThriftReader *reader)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("file \"%s\" is encrypted", reader->path),
			 errdetail("Parquet's encryption is not supported.")));
}

/* Remember where the row groups are, and go past them. */
static void
note_row_groups(ThriftReader *reader, ThriftType type, ParquetMetadata *metadata)
{
	uint32		count = read_struct_list(reader, type);

	metadata->nrow_groups = metadata->row_groups_left = count;
	metadata->row_groups = *reader;
	while (count-- > 0)
		thrift_skip(reader, THRIFT_STRUCT);
}

ParquetMetadata *
metadata_decode(const char *footer, uint32 length, const char *path)
{
	ParquetMetadata *metadata = palloc0(sizeof(ParquetMetadata));
	ThriftReader reader;
	int16		id;
	ThriftType	type;
	bool		has_num_rows = false;

	thrift_read_init(&reader, footer, length, path);
	(void) thrift_struct_begin(&reader);
	while (thrift_field(&reader, &id, &type))
	{
		switch (id)
		{
			case 2:
				read_schema(&reader, type, metadata);
				break;
			case 3:
				metadata->num_rows = read_i64(&reader, type);
				has_num_rows = true;
				break;
			case 4:
				note_row_groups(&reader, type, metadata);
				break;
			case 7:
				read_column_orders(&reader, type, metadata);
				break;
			case 8:
				refuse_encryption(&reader);
				break;
			default:
				thrift_skip(&reader, type);
				break;
		}
	}
	if (metadata->fields == NULL)
		damaged(&reader, "It has no schema.");
	if (!has_num_rows || metadata->num_rows < 0)
		damaged(&reader, "The number of its rows is missing or impossible.");
	return metadata;
}

void
metadata_begin(ParquetMetadata *metadata, const ParquetFile *file)
{
	*metadata = *file->metadata;
	metadata->row_groups.path = file->path;
}

static const ParquetField *
find_field(const ParquetField *fields, int nfields, const char *name)
{
	for (int i = 0; i < nfields; i++)
	{
		if (strcmp(fields[i].name, name) == 0)
			return &fields[i];
	}
	return NULL;
}

const ParquetField *
parquet_child(const ParquetField *field, const char *name)
{
	return find_field(field->children, field->nchildren, name);
}

const ParquetField *
metadata_field(const ParquetMetadata *metadata, const char *name)
{
	return find_field(metadata->fields, metadata->nfields, name);
}

/* ---- row groups ---- */

void
statistics_parse(ThriftReader *reader, ParquetStatistics *statistics)
{
	int16		saved = thrift_struct_begin(reader);
	int16		id;
	ThriftType	type;

	while (thrift_field(reader, &id, &type))
	{
		switch (id)
		{
			case 1:
				statistics->old_max = read_bytes(reader, type);
				break;
			case 2:
				statistics->old_min = read_bytes(reader, type);
				break;
			case 3:
				statistics->null_count = read_i64(reader, type);
				statistics->has_null_count = true;
				break;
			case 5:
				statistics->max_value = read_bytes(reader, type);
				break;
			case 6:
				statistics->min_value = read_bytes(reader, type);
				break;
			default:
				thrift_skip(reader, type);
				break;
		}
	}
	thrift_struct_end(reader, saved);
}

static void
read_chunk_metadata(ThriftReader *reader, ThriftType type, ParquetChunk *chunk)
{
	int16		saved;
	int16		id;

	thrift_expect(reader, type, THRIFT_STRUCT);
	saved = thrift_struct_begin(reader);
	while (thrift_field(reader, &id, &type))
	{
		switch (id)
		{
			case 1:
				chunk->type = (ParquetType) read_i32(reader, type);
				break;
			case 4:
				chunk->codec = (ParquetCodec) read_i32(reader, type);
				break;
			case 5:
				chunk->num_values = read_i64(reader, type);
				break;
			case 6:
				chunk->uncompressed_size = read_i64(reader, type);
				break;
			case 7:
				chunk->compressed_size = read_i64(reader, type);
				break;
			case 9:
				chunk->data_page_offset = read_i64(reader, type);
				break;
			case 11:
				chunk->dictionary_page_offset = read_i64(reader, type);
				break;
			case 12:
				thrift_expect(reader, type, THRIFT_STRUCT);
				statistics_parse(reader, &chunk->statistics);
				break;
			case 14:
				chunk->bloom_filter_offset = read_i64(reader, type);
				break;
			default:
				thrift_skip(reader, type);
				break;
		}
	}
	thrift_struct_end(reader, saved);
}

static void
refuse_external_chunk(const ThriftReader *reader)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("file \"%s\" keeps columns in other files", reader->path),
			 errdetail("Column chunks in other files are not supported.")));
}

static void
read_chunk(ThriftReader *reader, ParquetChunk *chunk)
{
	int16		saved = thrift_struct_begin(reader);
	int16		id;
	ThriftType	type;
	bool		has_metadata = false;

	memset(chunk, 0, sizeof(*chunk));
	while (thrift_field(reader, &id, &type))
	{
		switch (id)
		{
			case 1:
				if (read_bytes(reader, type).length > 0)
					refuse_external_chunk(reader);
				break;
			case 3:
				read_chunk_metadata(reader, type, chunk);
				has_metadata = true;
				break;
			case 4:
				chunk->offset_index_offset = read_i64(reader, type);
				break;
			case 5:
				chunk->offset_index_length = read_i32(reader, type);
				break;
			case 6:
				chunk->column_index_offset = read_i64(reader, type);
				break;
			case 7:
				chunk->column_index_length = read_i32(reader, type);
				break;
			case 8:
				refuse_encryption(reader);
				break;
			default:
				thrift_skip(reader, type);
				break;
		}
	}
	thrift_struct_end(reader, saved);
	if (!has_metadata)
		damaged(reader, "A column chunk has no metadata.");
}

static void
read_chunks(ThriftReader *reader, ThriftType type, ParquetMetadata *metadata, const bool *wanted, ParquetChunk *chunks)
{
	uint32		count = read_struct_list(reader, type);

	if (count != (uint32) metadata->nleaves)
		damaged(reader, "A row group has not one chunk for each column.");
	for (uint32 i = 0; i < count; i++)
	{
		if (wanted[i])
			read_chunk(reader, &chunks[i]);
		else
			thrift_skip(reader, THRIFT_STRUCT);
	}
}

bool
metadata_next_row_group(ParquetMetadata *metadata, const bool *wanted, ParquetRowGroup *row_group)
{
	ThriftReader *reader = &metadata->row_groups;
	int16		saved;
	int16		id;
	ThriftType	type;
	bool		has_columns = false;
	bool		has_num_rows = false;

	if (metadata->row_groups_left == 0)
		return false;
	metadata->row_groups_left--;
	saved = thrift_struct_begin(reader);
	while (thrift_field(reader, &id, &type))
	{
		if (id == 1)
		{
			read_chunks(reader, type, metadata, wanted, row_group->chunks);
			has_columns = true;
		}
		else if (id == 3)
		{
			row_group->num_rows = read_i64(reader, type);
			has_num_rows = true;
		}
		else
			thrift_skip(reader, type);
	}
	thrift_struct_end(reader, saved);
	if (!has_columns || !has_num_rows || row_group->num_rows < 0)
		damaged(reader, "A row group has no columns or an impossible number of rows.");
	return true;
}
