/*
 * schema_build.c
 *		Schemas of new tables: field ids, keys and the rules they must obey; and copies.
 *
 * Source: format digest sections 2.3 and 2.5.
 */
#include "postgres.h"

#include "format/json.h"
#include "lake/clock.h"
#include "lake/options.h"
#include "lake/schema.h"

static const char *const reserved_names[] = {
	"_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "rowkind", "_ROW_ID",
};

List *
schema_split_names(const char *text)
{
	List	   *names = NIL;

	for (;;)
	{
		size_t		length = strcspn(text, ",");
		const char *next = text + length;

		while (length > 0 && *text == ' ')
		{
			text++;
			length--;
		}
		while (length > 0 && text[length - 1] == ' ')
			length--;
		if (length > 0)
			names = lappend(names, pnstrdup(text, length));
		if (*next == '\0')
			return names;
		text = next + 1;
	}
}

static DataType *copy_type(const DataType *type);

static char *
copy_text(const char *text)
{
	return text != NULL ? pstrdup(text) : NULL;
}

static DataField *
copy_fields(const DataField *fields, int nfields)
{
	DataField  *copies = palloc(Max(nfields, 1) * sizeof(DataField));

	for (int i = 0; i < nfields; i++)
	{
		copies[i] = fields[i];
		copies[i].name = copy_text(fields[i].name);
		copies[i].type = copy_type(fields[i].type);
		copies[i].description = copy_text(fields[i].description);
		copies[i].default_value = copy_text(fields[i].default_value);
		/* who reads the copy may look at all of it */
		copies[i].unused = false;
	}
	return copies;
}

static DataType *
copy_type(const DataType *type)
{
	DataType   *copy = palloc(sizeof(DataType));

	*copy = *type;
	if (type->nchildren > 0)
		copy->children = copy_fields(type->children, type->nchildren);
	return copy;
}

static int *
copy_key(const int *fields, int nfields)
{
	int		   *copy = palloc(Max(nfields, 1) * sizeof(int));

	if (nfields > 0)
		memcpy(copy, fields, nfields * sizeof(int));
	return copy;
}

TableSchema *
schema_copy(const TableSchema *schema)
{
	TableSchema *copy = palloc(sizeof(TableSchema));
	ListCell   *lc;

	*copy = *schema;
	copy->fields = copy_fields(schema->fields, schema->nfields);
	copy->partition_keys = copy_key(schema->partition_keys, schema->npartition_keys);
	copy->primary_keys = copy_key(schema->primary_keys, schema->nprimary_keys);
	copy->trimmed_keys = copy_key(schema->trimmed_keys, schema->ntrimmed_keys);
	copy->options = NIL;
	foreach(lc, schema->options)
	{
		const OptionPair *option = lfirst(lc);

		copy->options = lappend(copy->options, option_pair_make(option->key, option->value));
	}
	copy->comment = copy_text(schema->comment);
	if (schema->unknown != NULL)
	{
		char	   *json = json_to_text(schema->unknown);

		copy->unknown = json_parse_object(json, strlen(json), "schema in memory");
	}
	return copy;
}

/* Number the fields of nested rows, depth first. */
static void
assign_nested_ids(DataType *type, int32 *highest)
{
	for (int i = 0; i < type->nchildren; i++)
	{
		if (type->root == TYPE_ROW)
			type->children[i].id = ++*highest;
		assign_nested_ids(type->children[i].type, highest);
	}
}

bool
schema_name_is_reserved(const char *name)
{
	bool		reserved = strncmp(name, "_KEY_", 5) == 0;

	for (int i = 0; i < lengthof(reserved_names); i++)
		reserved |= strcmp(name, reserved_names[i]) == 0;
	return reserved;
}

static void
check_column_name(const char *name)
{
	if (schema_name_is_reserved(name))
		ereport(ERROR,
				(errcode(ERRCODE_RESERVED_NAME),
				 errmsg("column name \"%s\" is reserved", name),
				 errdetail("Paimon uses it for a system column.")));
}

static void
build_fields(TableSchema *schema, int nfields, const DataField *fields)
{
	if (nfields == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("a lake table needs at least one column")));

	schema->fields = palloc(nfields * sizeof(DataField));
	schema->highest_field_id = -1;
	for (int i = 0; i < nfields; i++)
	{
		DataField  *field = &schema->fields[i];

		check_column_name(fields[i].name);
		if (schema_field(schema, fields[i].name) >= 0)
			ereport(ERROR,
					(errcode(ERRCODE_DUPLICATE_COLUMN),
					 errmsg("column \"%s\" specified more than once", fields[i].name)));

		*field = fields[i];
		field->name = pstrdup(fields[i].name);
		field->type = copy_type(fields[i].type);
		field->id = ++schema->highest_field_id;
		assign_nested_ids(field->type, &schema->highest_field_id);
		schema->nfields = i + 1;
	}
}

/*
 * The options without the keys, which have a place of their own in a schema.
 * A key is given as a list or as an option.
 */
static void
build_options(TableSchema *schema, List *options, List **partition_keys, List **primary_keys)
{
	ListCell   *lc;

	foreach(lc, options)
	{
		OptionPair *option = lfirst(lc);
		List	  **keys = strcmp(option->key, "primary-key") == 0 ? primary_keys :
			strcmp(option->key, "partition") == 0 ? partition_keys : NULL;

		if (keys == NULL)
			schema->options = lappend(schema->options, option_pair_make(option->key, option->value));
		else if (*keys == NIL)
			*keys = schema_split_names(option->value);
		else
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
					 errmsg("option \"%s\" is given twice", option->key)));
	}
}

static int *
build_key(const TableSchema *schema, List *names, const char *what, int *nkeys)
{
	int		   *keys = palloc(Max(list_length(names), 1) * sizeof(int));
	int			n = 0;
	ListCell   *lc;

	foreach(lc, names)
	{
		const char *name = lfirst(lc);
		int			field = schema_field(schema, name);

		if (field < 0)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN),
					 errmsg("column \"%s\" of the %s does not exist", name, what)));
		if (!type_is_primitive(schema->fields[field].type))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
					 errmsg("column \"%s\" cannot be in the %s", name, what),
					 errdetail("Its type %s is not a primitive one.", type_to_text(schema->fields[field].type))));
		for (int i = 0; i < n; i++)
		{
			if (keys[i] == field)
				ereport(ERROR,
						(errcode(ERRCODE_DUPLICATE_COLUMN),
						 errmsg("column \"%s\" is twice in the %s", name, what)));
		}
		keys[n++] = field;
	}
	*nkeys = n;
	return keys;
}

static bool
contains(const int *keys, int nkeys, int field)
{
	for (int i = 0; i < nkeys; i++)
	{
		if (keys[i] == field)
			return true;
	}
	return false;
}

static void
invalid_option(const char *key, const char *value, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
			 errmsg("invalid value for option \"%s\": \"%s\"", key, value),
			 errdetail("%s", detail)));
}

static void
check_bucket_rules(const TableSchema *schema, const TableOptions *options)
{
	const char *bucket_key = schema_option(schema, "bucket-key");
	const char *bucket = schema_option(schema, "bucket");
	ListCell   *lc;

	if (options->buckets == -2 && schema->nprimary_keys == 0)
		invalid_option("bucket", bucket, "Postponed buckets need a primary key.");
	if (options->buckets > 0 && schema->nprimary_keys == 0 && bucket_key == NULL)
		invalid_option("bucket", bucket, "A table without a primary key needs the option \"bucket-key\", too.");
	if (bucket_key == NULL)
		return;
	if (options->buckets == -1)
		invalid_option("bucket-key", bucket_key, "It needs the option \"bucket\" with a fixed number.");

	foreach(lc, schema_split_names(bucket_key))
	{
		int			field = schema_field(schema, lfirst(lc));

		if (field < 0)
			invalid_option("bucket-key", bucket_key, psprintf("Column \"%s\" does not exist.", (char *) lfirst(lc)));
		if (contains(schema->partition_keys, schema->npartition_keys, field))
			invalid_option("bucket-key", bucket_key,
						   psprintf("Column \"%s\" is in the partition key.", (char *) lfirst(lc)));
		if (schema->nprimary_keys > 0 && !contains(schema->primary_keys, schema->nprimary_keys, field))
			invalid_option("bucket-key", bucket_key,
						   psprintf("Column \"%s\" is not in the primary key.", (char *) lfirst(lc)));
		if (!type_is_primitive(schema->fields[field].type))
			invalid_option("bucket-key", bucket_key,
						   psprintf("Column \"%s\" is not of a primitive type.", (char *) lfirst(lc)));
	}
}

static void
check_sequence_fields(const TableSchema *schema)
{
	const char *value = schema_option(schema, "sequence.field");
	int			n;

	if (value == NULL)
		return;
	build_key(schema, schema_split_names(value), "option \"sequence.field\"", &n);
	for (int i = 0; i < schema->npartition_keys; i++)
	{
		if (schema->nprimary_keys > 0 &&
			!contains(schema->primary_keys, schema->nprimary_keys, schema->partition_keys[i]))
			invalid_option("sequence.field", value, "It needs all partition columns in the primary key.");
	}
}

static void
check_rules(const TableSchema *schema)
{
	TableOptions *options;
	const char *producer = schema_option(schema, "changelog-producer");

	if (schema->nprimary_keys > 0 && schema->ntrimmed_keys == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TABLE_DEFINITION),
				 errmsg("the primary key has no column besides those of the partition"),
				 errdetail("Each partition could hold a single row.")));
	if (producer != NULL && strcmp(producer, "none") != 0 && schema->nprimary_keys == 0)
		invalid_option("changelog-producer", producer, "It needs a primary key.");

	check_sequence_fields(schema);
	options = options_parse(schema);
	check_bucket_rules(schema, options);
}

List *
schema_with_default_bucket(List *options)
{
	if (option_pair_value(options, "bucket") != NULL)
		return options;
	return lappend(list_copy(options), option_pair_make("bucket", "1"));
}

TableSchema *
schema_build(int nfields, DataField *fields, List *partition_keys, List *primary_keys,
			 List *options, const char *comment)
{
	TableSchema *schema = palloc0(sizeof(TableSchema));

	build_fields(schema, nfields, fields);
	build_options(schema, options, &partition_keys, &primary_keys);
	schema->partition_keys = build_key(schema, partition_keys, "partition key", &schema->npartition_keys);
	schema->primary_keys = build_key(schema, primary_keys, "primary key", &schema->nprimary_keys);
	schema_set_trimmed_keys(schema);
	for (int i = 0; i < schema->nprimary_keys; i++)
		schema->fields[schema->primary_keys[i]].type->nullable = false;

	schema->comment = copy_text(comment);
	schema->time_millis = clock_millis();
	check_rules(schema);
	return schema;
}

/* Make room for a field in the positions of a key. */
static void
shift_key(int *keys, int nkeys, int position)
{
	for (int i = 0; i < nkeys; i++)
	{
		if (keys[i] >= position)
			keys[i]++;
	}
}

TableSchema *
schema_next(const TableSchema *schema)
{
	TableSchema *next = schema_copy(schema);

	next->id++;
	next->time_millis = clock_millis();
	return next;
}

void
schema_set_option(TableSchema *schema, const char *key, const char *value)
{
	ListCell   *lc;

	foreach(lc, schema->options)
	{
		if (strcmp(((OptionPair *) lfirst(lc))->key, key) == 0)
			schema->options = foreach_delete_current(schema->options, lc);
	}
	if (value != NULL)
		schema->options = lappend(schema->options, option_pair_make(key, value));
}

/* A field with ids that no other has had. */
static void
set_new_field(TableSchema *schema, int position, const DataField *field)
{
	schema->fields[position] = *field;
	schema->fields[position].type = copy_type(field->type);
	schema->fields[position].id = ++schema->highest_field_id;
	assign_nested_ids(schema->fields[position].type, &schema->highest_field_id);
}

void
schema_add_field(TableSchema *schema, int position, const DataField *field)
{
	DataField  *fields = palloc((schema->nfields + 1) * sizeof(DataField));

	memcpy(fields, schema->fields, position * sizeof(DataField));
	memcpy(fields + position + 1, schema->fields + position, (schema->nfields - position) * sizeof(DataField));
	schema->fields = fields;
	schema->nfields++;
	set_new_field(schema, position, field);
	shift_key(schema->partition_keys, schema->npartition_keys, position);
	shift_key(schema->primary_keys, schema->nprimary_keys, position);
	shift_key(schema->trimmed_keys, schema->ntrimmed_keys, position);
}

void
schema_replace_field(TableSchema *schema, int position, const DataField *field)
{
	set_new_field(schema, position, field);
}

void
schema_retype_field(TableSchema *schema, int position, const DataType *type)
{
	bool		nullable = schema->fields[position].type->nullable;

	schema->fields[position].type = copy_type(type);
	schema->fields[position].type->nullable = nullable;
}

/* Names, one of them changed, as a list in one text. */
static char *
replace_name(const char *names, const char *old_name, const char *new_name)
{
	StringInfoData text;
	ListCell   *cell;

	initStringInfo(&text);
	foreach(cell, schema_split_names(names))
		appendStringInfo(&text, "%s%s", text.len > 0 ? "," : "",
						 strcmp(lfirst(cell), old_name) == 0 ? new_name : (const char *) lfirst(cell));
	return text.data;
}

static bool
lists_columns(const char *key)
{
	size_t		length = strlen(key);

	return strcmp(key, "bucket-key") == 0 || (length > 8 && strcmp(key + length - 8, ".columns") == 0);
}

void
schema_rename_field(TableSchema *schema, int position, const char *name)
{
	const char *old_name = schema->fields[position].name;
	char	   *prefix = psprintf("fields.%s.", old_name);
	ListCell   *cell;

	foreach(cell, schema->options)
	{
		OptionPair *option = lfirst(cell);

		if (lists_columns(option->key))
			option->value = replace_name(option->value, old_name, name);
		else if (strncmp(option->key, prefix, strlen(prefix)) == 0)
			option->key = psprintf("fields.%s.%s", name, option->key + strlen(prefix));
	}
	schema->fields[position].name = pstrdup(name);
}
