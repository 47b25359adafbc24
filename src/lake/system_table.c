/*
 * system_table.c
 *		Paimon's system tables: finding, opening and reading them.
 */
#include "postgres.h"

#include "lake/read.h"
#include "lake/system_table.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* Types of columns that are more than their text */
#define STRING_ARRAY "ARRAY<STRING>"
#define VECTOR_RANGE_ARRAY "ARRAY<ROW<f0 STRING NOT NULL, f1 INT NOT NULL, f2 INT NOT NULL, _CARDINALITY BIGINT>>"

static const SystemTable *const table_systems[] = {
	&system_aggregation_fields,
	&system_branches,
	&system_buckets,
	&system_consumers,
	&system_file_key_ranges,
	&system_files,
	&system_manifests,
	&system_options,
	&system_partitions,
	&system_schemas,
	&system_snapshots,
	&system_statistics,
	&system_table_indexes,
	&system_tags,
};

static const SystemTable *const global_systems[] = {
	&system_all_partitions,
	&system_all_table_options,
	&system_all_tables,
	&system_catalog_options,
};

struct SystemReader
{
	LakeTable  *table;
	MemoryContext row_context;	/* values of one batch */
	/* of a system table */
	SystemSource source;
	List	   *items;
	int			next_item;
	Vector	  **vectors;		/* by field */
	/* of a binlog */
	TableReader *rows;
	Batch	   *batch;
	int		   *columns;		/* of the batch, by field */
};

void
system_table_split_name(const char *name, char **table, char **system)
{
	const char *mark = strrchr(name, '$');

	if (mark == NULL || strncmp(mark, "$branch_", strlen("$branch_")) == 0)
	{
		*table = pstrdup(name);
		*system = NULL;
		return;
	}
	*table = pnstrdup(name, mark - name);
	*system = pstrdup(mark + 1);
}

/* The type of a system table's column. */
static DataType *
column_type(const char *text)
{
	DataType   *type = type_parse_atomic(text);
	DataType   *element;

	if (type != NULL)
		return type;
	type = type_make(TYPE_ARRAY, 0, 0, true);
	type->nchildren = 1;
	type->children = palloc0(sizeof(DataField));
	if (strcmp(text, STRING_ARRAY) == 0)
	{
		type->children[0].type = type_parse_atomic("STRING");
		return type;
	}
	Assert(strcmp(text, VECTOR_RANGE_ARRAY) == 0);
	element = type_make(TYPE_ROW, 0, 0, true);
	element->nchildren = 4;
	element->children = palloc0(4 * sizeof(DataField));
	for (int i = 0; i < 4; i++)
	{
		static char *const names[] = {"f0", "f1", "f2", "_CARDINALITY"};
		static const char *const types[] = {"STRING NOT NULL", "INT NOT NULL", "INT NOT NULL", "BIGINT"};

		element->children[i].id = i;
		element->children[i].name = names[i];
		element->children[i].type = type_parse_atomic(types[i]);
	}
	type->children[0].type = element;
	return type;
}

static TableSchema *
schema_of_system(const SystemTable *system)
{
	TableSchema *schema = palloc0(sizeof(TableSchema));

	schema->nfields = system->ncolumns;
	schema->fields = palloc0(system->ncolumns * sizeof(DataField));
	schema->highest_field_id = system->ncolumns - 1;
	for (int i = 0; i < system->ncolumns; i++)
	{
		schema->fields[i].id = i;
		schema->fields[i].name = pstrdup(system->columns[i].name);
		schema->fields[i].type = column_type(system->columns[i].type);
	}
	return schema;
}

static void
add_field(TableSchema *schema, int32 id, const char *name, const char *type)
{
	DataField  *fields = palloc0((schema->nfields + 1) * sizeof(DataField));

	memcpy(fields, schema->fields, schema->nfields * sizeof(DataField));
	fields[schema->nfields].id = id;
	fields[schema->nfields].name = pstrdup(name);
	fields[schema->nfields].type = type_parse_atomic(type);
	schema->fields = fields;
	schema->nfields++;
}

/* Deleted rows have kinds; their other columns may be null. */
static LakeTable *
open_audit_log(LakeTable *base)
{
	TableSchema schema = *base->schema;

	add_field(&schema, FIELD_ID_ROW_KIND, "rowkind", "STRING");
	if (option_is_true(&schema, "table-read.sequence-number.enabled"))
		add_field(&schema, FIELD_ID_SEQUENCE_NUMBER, "_SEQUENCE_NUMBER", "BIGINT");
	return lake_table_view(base, VIEW_AUDIT_LOG, &schema);
}

/* The fields of the audit log; what is the table's own becomes arrays. */
static LakeTable *
open_binlog(LakeTable *base)
{
	LakeTable  *audit_log = open_audit_log(base);
	TableSchema schema = *audit_log->schema;

	schema.fields = palloc(schema.nfields * sizeof(DataField));
	for (int i = 0; i < schema.nfields; i++)
	{
		DataType   *type;

		schema.fields[i] = audit_log->schema->fields[i];
		if (FIELD_ID_IS_OF_VIEW(schema.fields[i].id))
			continue;
		type = type_make(TYPE_ARRAY, 0, 0, true);
		type->nchildren = 1;
		type->children = palloc0(sizeof(DataField));
		/* of blobs there are no arrays in files, of bytes there are */
		type->children[0].type = schema.fields[i].type->root == TYPE_BLOB ? type_parse_atomic("BYTES") : schema.fields[i].type;
		schema.fields[i].type = type;
	}
	/* rows are no longer found by a key, nor laid out by what the options say of columns */
	schema.nprimary_keys = schema.ntrimmed_keys = schema.npartition_keys = 0;
	schema.options = NIL;
	return lake_table_view(audit_log, VIEW_BINLOG, &schema);
}

static LakeTable *
open_row_tracking(LakeTable *base)
{
	TableSchema schema = *base->schema;

	if (!option_is_true(&schema, "row-tracking.enabled"))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("lake table \"%s\" has no system table \"row_tracking\"", base->name),
				 errdetail("Its option \"row-tracking.enabled\" is not on.")));
	add_field(&schema, FIELD_ID_ROW_ID, "_ROW_ID", "BIGINT");
	add_field(&schema, FIELD_ID_SEQUENCE_NUMBER, "_SEQUENCE_NUMBER", "BIGINT");
	return lake_table_view(base, VIEW_ROW_TRACKING, &schema);
}

LakeTable *
system_table_open(LakeTable *base, const char *name)
{
	for (int i = 0; i < lengthof(table_systems); i++)
	{
		LakeTable  *table;

		if (strcmp(table_systems[i]->name, name) != 0)
			continue;
		table = lake_table_view(base, VIEW_SYSTEM, schema_of_system(table_systems[i]));
		table->system = table_systems[i];
		return table;
	}
	if (strcmp(name, "audit_log") == 0)
		return open_audit_log(base);
	if (strcmp(name, "binlog") == 0)
		return open_binlog(base);
	if (strcmp(name, "ro") == 0)
		return lake_table_view(base, VIEW_READ_OPTIMIZED, base->schema);
	if (strcmp(name, "row_tracking") == 0)
		return open_row_tracking(base);
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_TABLE),
			 errmsg("lake table \"%s\" has no system table \"%s\"", base->name, name)));
}

LakeTable *
system_table_open_global(const char *warehouse, const char *name)
{
	for (int i = 0; i < lengthof(global_systems); i++)
	{
		LakeTable  *table;

		if (strcmp(global_systems[i]->name, name) != 0)
			continue;
		table = lake_table_with_schema(warehouse, SYSTEM_DATABASE, name, schema_of_system(global_systems[i]));
		table->view = VIEW_SYSTEM;
		table->system = global_systems[i];
		table->warehouse = MemoryContextStrdup(table->context, warehouse);
		return table;
	}
	return NULL;
}

List *
system_table_global_names(void)
{
	List	   *names = NIL;

	for (int i = 0; i < lengthof(global_systems); i++)
		names = lappend(names, pstrdup(global_systems[i]->name));
	return names;
}

int
system_table_leading_fields(const LakeTable *table)
{
	int			count = 0;

	if (table->view != VIEW_AUDIT_LOG && table->view != VIEW_BINLOG)
		return 0;
	for (int i = 0; i < table->schema->nfields; i++)
		count += FIELD_ID_IS_OF_VIEW(table->schema->fields[i].id) ? 1 : 0;
	return count;
}

/* The rows of a binlog are those of the audit log, column by column. */
static void
open_rows(SystemReader *reader, const Split *split, const int *fields, int nfields, FormatCounters *counters)
{
	reader->columns = palloc0(reader->table->schema->nfields * sizeof(int));
	for (int i = 0; i < nfields; i++)
		reader->columns[fields[i]] = i;
	reader->rows = table_reader_open(reader->table->base, list_make1(unconstify(Split *, split)), fields, nfields,
									 NULL, counters);
}

SystemReader *
system_reader_open(LakeTable *table, const Split *split, const int *fields, int nfields, FormatCounters *counters)
{
	SystemReader *reader = palloc0(sizeof(SystemReader));

	reader->table = table;
	if (table->view == VIEW_BINLOG)
	{
		open_rows(reader, split, fields, nfields, counters);
		return reader;
	}
	reader->row_context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse system table rows",
												ALLOCSET_DEFAULT_SIZES);
	reader->source.warehouse = table->warehouse;
	reader->source.table = table->base;
	reader->source.snapshot = split->snapshot;
	reader->source.types = palloc(table->schema->nfields * sizeof(DataType *));
	reader->vectors = palloc(table->schema->nfields * sizeof(Vector *));
	for (int i = 0; i < table->schema->nfields; i++)
	{
		reader->source.types[i] = table->schema->fields[i].type;
		reader->vectors[i] = vector_create(table->schema->fields[i].type, SYSTEM_BATCH_ROWS);
	}
	reader->items = table->system->list(&reader->source);
	return reader;
}

/* The next rows of the producer. */
static int
produce_rows(SystemReader *reader)
{
	int			ncolumns = reader->table->schema->nfields;
	MemoryContext old;
	Scalar	   *values;
	int			nrows = 0;

	MemoryContextReset(reader->row_context);
	old = MemoryContextSwitchTo(reader->row_context);
	values = palloc(ncolumns * sizeof(Scalar));
	for (int i = 0; i < ncolumns; i++)
		vector_reset(reader->vectors[i]);
	while (nrows < SYSTEM_BATCH_ROWS && reader->next_item < list_length(reader->items))
	{
		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < ncolumns; i++)
		{
			memset(&values[i], 0, sizeof(Scalar));
			values[i].isnull = true;
		}
		if (!reader->table->system->fill(&reader->source, list_nth(reader->items, reader->next_item++), values))
			continue;
		for (int i = 0; i < ncolumns; i++)
			vector_set(reader->vectors[i], nrows, &values[i]);
		nrows++;
	}
	MemoryContextSwitchTo(old);
	return nrows;
}

int
system_reader_next(SystemReader *reader)
{
	if (reader->rows == NULL)
		return produce_rows(reader);
	reader->batch = table_reader_next(reader->rows);
	return reader->batch != NULL ? reader->batch->nselected : 0;
}

/* Each value becomes an array of itself. */
static void
wrap_column(const SystemReader *reader, const Vector *source, const int32 *rows, int nrows, Vector *out)
{
	vector_reset(out);
	vector_reserve(out->children[0], nrows);
	vector_gather(out->children[0], 0, source, rows, nrows);
	out->filled = nrows;
	for (int i = 0; i < nrows; i++)
	{
		out->values.list[i].start = i;
		out->values.list[i].length = 1;
	}
}

void
system_reader_read_field(SystemReader *reader, int field, const int32 *selection, int nselected, Vector *out)
{
	const Vector *source;
	int32	   *rows;
	int			nrows;

	if (reader->rows == NULL)
	{
		nrows = selection != NULL ? selection[nselected - 1] + 1 : nselected;
		source = reader->vectors[field];
	}
	else
	{
		nrows = reader->batch->nselected;
		source = reader->batch->columns[reader->columns[field]];
	}
	rows = palloc(nrows * sizeof(int32));
	for (int i = 0; i < nrows; i++)
		rows[i] = reader->rows != NULL && reader->batch->selection != NULL ? reader->batch->selection[i] : i;
	vector_reset(out);
	if (reader->rows != NULL && !FIELD_ID_IS_OF_VIEW(reader->table->schema->fields[field].id))
		wrap_column(reader, source, rows, nrows, out);
	else
		vector_gather(out, 0, source, rows, nrows);
	pfree(rows);
}

void
system_set_text(Scalar *value, const char *text)
{
	value->isnull = text == NULL;
	if (text == NULL)
		return;
	value->v.bytes.data = text;
	value->v.bytes.length = strlen(text);
}

void
system_set_int64(Scalar *value, int64 number)
{
	value->isnull = false;
	value->v.i64 = number;
}

void
system_set_int32(Scalar *value, int32 number)
{
	value->isnull = false;
	value->v.i32 = number;
}

void
system_set_texts(const DataType *type, Scalar *value, List *texts)
{
	Vector	   *vector = vector_create(type, 1);
	int			count = 0;
	ListCell   *cell;

	vector_reserve(vector->children[0], list_length(texts));
	foreach(cell, texts)
	{
		Scalar		element = {0};

		system_set_text(&element, lfirst(cell));
		vector_set(vector->children[0], count++, &element);
	}
	vector->filled = count;
	vector->values.list[0].start = 0;
	vector->values.list[0].length = count;
	value->isnull = false;
	value->v.nested.vector = vector;
	value->v.nested.row = 0;
}
