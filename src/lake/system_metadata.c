/*
 * system_metadata.c
 *		System tables of what lies in small JSON files: snapshots, schemas,
 *		tags, branches, consumers, statistics, and what options say.
 *
 * Source: format digest sections 2, 3, 9.7, 9.8 and 13.1.
 */
#include "postgres.h"

#include "format/json.h"
#include "lake/path.h"
#include "lake/system_table.h"

#define MAX_METADATA_SIZE (64 * 1024 * 1024)

#define INSTANT "TIMESTAMP(3) WITH LOCAL TIME ZONE"

/* Numbered files as items of a list. */
static List *
list_numbers(const char *location, const char *folder, const char *prefix)
{
	List	   *items = NIL;
	int			count;
	int64	   *numbers = list_numbered_files(location, folder, prefix, &count);

	for (int i = 0; i < count; i++)
		items = lappend(items, &numbers[i]);
	return items;
}

/* The rests of names in a folder that begin so. */
static List *
list_names(const char *location, const char *folder, const char *prefix)
{
	List	   *items = NIL;
	ListCell   *cell;

	foreach(cell, storage_list(storage_join(location, folder)))
	{
		char	   *name = lfirst(cell);

		if (strncmp(name, prefix, strlen(prefix)) == 0)
			items = lappend(items, name + strlen(prefix));
	}
	return items;
}

static void
set_snapshot(Scalar *values, const LakeSnapshot *snapshot)
{
	system_set_int64(&values[0], snapshot->id);
	system_set_int64(&values[1], snapshot->schema_id);
	system_set_text(&values[2], snapshot->commit_user);
	system_set_int64(&values[3], snapshot->commit_identifier);
	system_set_text(&values[4], commit_kind_name(snapshot->commit_kind));
	system_set_int64(&values[5], snapshot->time_millis);
	system_set_text(&values[6], snapshot->base_manifest_list);
	system_set_text(&values[7], snapshot->delta_manifest_list);
	system_set_text(&values[8], snapshot->changelog_manifest_list);
	system_set_int64(&values[9], snapshot->total_record_count);
	system_set_int64(&values[10], snapshot->delta_record_count);
	if (snapshot->has_changelog_record_count)
		system_set_int64(&values[11], snapshot->changelog_record_count);
	if (snapshot->has_watermark)
		system_set_int64(&values[12], snapshot->watermark);
	if (snapshot->has_next_row_id)
		system_set_int64(&values[13], snapshot->next_row_id);
}

static List *
list_snapshots(SystemSource *source)
{
	return list_numbers(source->table->branch_location, "snapshot", "snapshot-");
}

static bool
fill_snapshot(SystemSource *source, void *item, Scalar *values)
{
	LakeSnapshot *snapshot = snapshot_load(source->table->branch_location, *(int64 *) item, true);

	if (snapshot == NULL)
		return false;
	set_snapshot(values, snapshot);
	return true;
}

static const SystemColumn snapshot_columns[] = {
	{"snapshot_id", "BIGINT NOT NULL"},
	{"schema_id", "BIGINT NOT NULL"},
	{"commit_user", "STRING NOT NULL"},
	{"commit_identifier", "BIGINT NOT NULL"},
	{"commit_kind", "STRING NOT NULL"},
	{"commit_time", INSTANT " NOT NULL"},
	{"base_manifest_list", "STRING NOT NULL"},
	{"delta_manifest_list", "STRING NOT NULL"},
	{"changelog_manifest_list", "STRING"},
	{"total_record_count", "BIGINT"},
	{"delta_record_count", "BIGINT"},
	{"changelog_record_count", "BIGINT"},
	{"watermark", "BIGINT"},
	{"next_row_id", "BIGINT"},
};

const SystemTable system_snapshots = {
	"snapshots", lengthof(snapshot_columns), snapshot_columns, list_snapshots, fill_snapshot
};

static List *
list_schemas(SystemSource *source)
{
	return list_numbers(source->table->branch_location, "schema", "schema-");
}

static bool
fill_schema(SystemSource *source, void *item, Scalar *values)
{
	const TableSchema *schema = schema_load(source->table->branch_location, *(int64 *) item);
	const char *text = schema_to_json(schema);
	const char *path = schema_path(source->table->branch_location, schema->id);
	const JsonNode *document = json_parse_object(text, strlen(text), path);
	static const char *const members[] = {"fields", "partitionKeys", "primaryKeys", "options"};

	system_set_int64(&values[0], schema->id);
	for (int i = 0; i < lengthof(members); i++)
		system_set_text(&values[1 + i], json_to_flat_text(json_get(document, members[i])));
	system_set_text(&values[5], schema->comment);
	system_set_int64(&values[6], schema->time_millis);
	return true;
}

static const SystemColumn schema_columns[] = {
	{"schema_id", "BIGINT NOT NULL"},
	{"fields", "STRING NOT NULL"},
	{"partition_keys", "STRING NOT NULL"},
	{"primary_keys", "STRING NOT NULL"},
	{"options", "STRING NOT NULL"},
	{"comment", "STRING"},
	{"update_time", INSTANT " NOT NULL"},
};

const SystemTable system_schemas = {
	"schemas", lengthof(schema_columns), schema_columns, list_schemas, fill_schema
};

static List *
list_options(SystemSource *source)
{
	return source->table->schema->options;
}

static bool
fill_option(SystemSource *source, void *item, Scalar *values)
{
	const OptionPair *option = item;

	system_set_text(&values[0], option->key);
	system_set_text(&values[1], option->value);
	return true;
}

static const SystemColumn option_columns[] = {
	{"key", "STRING NOT NULL"},
	{"value", "STRING NOT NULL"},
};

const SystemTable system_options = {
	"options", lengthof(option_columns), option_columns, list_options, fill_option
};

/* An array [year, month, day, hour, minute, second, nanos], of which the last may lack; as millis. */
static int64
parse_local_time(const JsonNode *node, const char *path)
{
	int64		parts[7] = {0};
	int64		day;
	int64		year;

	if (node->kind != JSON_NODE_ARRAY || list_length(node->children) < 3 ||
		list_length(node->children) > lengthof(parts))
		json_error(path, "Field \"tagCreateTime\" is not a time.");
	for (int i = 0; i < list_length(node->children); i++)
	{
		const JsonNode *part = list_nth(node->children, i);

		if (part->kind == JSON_NODE_NUMBER)
			parts[i] = strtoll(part->text, NULL, 10);
		if (part->kind != JSON_NODE_NUMBER || parts[i] < 0 || parts[i] >= 1000000000)
			json_error(path, "Field \"tagCreateTime\" is not a time.");
	}
	/* days from civil, with years that begin in March */
	year = parts[0] - (parts[1] <= 2 ? 1 : 0);
	day = 365 * year + year / 4 - year / 100 + year / 400 +
		(153 * (parts[1] + (parts[1] > 2 ? -3 : 9)) + 2) / 5 + parts[2] - 1 - 719468;
	return (((day * 24 + parts[3]) * 60 + parts[4]) * 60 + parts[5]) * 1000 + parts[6] / 1000000;
}

/* Seconds, with a fraction, as a duration of Java: "PT36H". */
static char *
duration_text(const JsonNode *node, const char *path)
{
	StringInfoData out;
	char	   *fraction;
	int64		seconds;

	if (node->kind != JSON_NODE_NUMBER)
		json_error(path, "Field \"tagTimeRetained\" is not a number.");
	seconds = strtoll(node->text, &fraction, 10);
	initStringInfo(&out);
	appendStringInfoString(&out, "PT");
	if (seconds / 3600 != 0)
		appendStringInfo(&out, INT64_FORMAT "H", seconds / 3600);
	if (seconds / 60 % 60 != 0)
		appendStringInfo(&out, INT64_FORMAT "M", seconds / 60 % 60);
	if (*fraction == '.' && strspn(fraction + 1, "0") < strlen(fraction + 1))
	{
		appendStringInfo(&out, INT64_FORMAT "%s", seconds % 60, fraction);
		while (out.data[out.len - 1] == '0')
			out.data[--out.len] = '\0';
		appendStringInfoChar(&out, 'S');
	}
	else if (seconds % 60 != 0 || out.len == 2)
		appendStringInfo(&out, INT64_FORMAT "S", seconds % 60);
	return out.data;
}

static List *
list_tags(SystemSource *source)
{
	return list_names(source->table->branch_location, "tag", "tag-");
}

static bool
fill_tag(SystemSource *source, void *item, Scalar *values)
{
	const char *path = tag_path(source->table->branch_location, item);
	size_t		length;
	char	   *json = storage_read_whole(path, MAX_METADATA_SIZE, true, &length);
	const LakeSnapshot *snapshot;
	const JsonNode *document;
	const JsonNode *created;
	const JsonNode *retained;

	/* "tag-success-file" is a folder */
	if (json == NULL)
		return false;
	snapshot = snapshot_parse(json, length, path);
	document = json_parse_object(json, length, path);
	created = json_get(document, "tagCreateTime");
	retained = json_get(document, "tagTimeRetained");
	system_set_text(&values[0], item);
	system_set_int64(&values[1], snapshot->id);
	system_set_int64(&values[2], snapshot->schema_id);
	system_set_int64(&values[3], snapshot->time_millis);
	system_set_int64(&values[4], snapshot->total_record_count);
	if (created != NULL)
		system_set_int64(&values[5], parse_local_time(created, path));
	if (retained != NULL)
		system_set_text(&values[6], duration_text(retained, path));
	return true;
}

static const SystemColumn tag_columns[] = {
	{"tag_name", "STRING NOT NULL"},
	{"snapshot_id", "BIGINT NOT NULL"},
	{"schema_id", "BIGINT NOT NULL"},
	{"commit_time", INSTANT " NOT NULL"},
	{"record_count", "BIGINT"},
	{"create_time", "TIMESTAMP(3)"},
	{"time_retained", "STRING"},
};

const SystemTable system_tags = {
	"tags", lengthof(tag_columns), tag_columns, list_tags, fill_tag
};

static List *
list_branches(SystemSource *source)
{
	return list_names(source->table->location, "branch", "branch-");
}

static bool
fill_branch(SystemSource *source, void *item, Scalar *values)
{
	system_set_text(&values[0], item);
	system_set_int64(&values[1], storage_modified(psprintf("%s/branch/branch-%s", source->table->location,
														   (char *) item)));
	return true;
}

static const SystemColumn branch_columns[] = {
	{"branch_name", "STRING NOT NULL"},
	{"create_time", INSTANT " NOT NULL"},
};

const SystemTable system_branches = {
	"branches", lengthof(branch_columns), branch_columns, list_branches, fill_branch
};

static List *
list_consumers(SystemSource *source)
{
	return list_names(source->table->branch_location, "consumer", "consumer-");
}

static bool
fill_consumer(SystemSource *source, void *item, Scalar *values)
{
	const char *path = psprintf("%s/consumer/consumer-%s", source->table->branch_location, (char *) item);
	size_t		length;
	char	   *json = storage_read_whole(path, MAX_METADATA_SIZE, true, &length);
	const JsonNode *document;

	if (json == NULL)
		return false;
	document = json_parse_object(json, length, path);
	json_require(document, "nextSnapshot", JSON_NODE_NUMBER, path);
	system_set_text(&values[0], item);
	system_set_int64(&values[1], json_get_int64(document, "nextSnapshot", 0, path));
	return true;
}

static const SystemColumn consumer_columns[] = {
	{"consumer_id", "STRING NOT NULL"},
	{"next_snapshot_id", "BIGINT NOT NULL"},
};

const SystemTable system_consumers = {
	"consumers", lengthof(consumer_columns), consumer_columns, list_consumers, fill_consumer
};

static List *
list_statistics(SystemSource *source)
{
	if (source->snapshot == NULL || source->snapshot->statistics == NULL)
		return NIL;
	return list_make1(source->snapshot->statistics);
}

static bool
fill_statistics(SystemSource *source, void *item, Scalar *values)
{
	const char *path = statistics_path(source->table->location, item);
	size_t		length;
	char	   *json = storage_read_whole(path, MAX_METADATA_SIZE, false, &length);
	const JsonNode *document = json_parse_object(json, length, path);
	const JsonNode *columns = json_get(document, "colStats");

	system_set_int64(&values[0], json_get_int64(document, "snapshotId", 0, path));
	system_set_int64(&values[1], json_get_int64(document, "schemaId", 0, path));
	if (json_get(document, "mergedRecordCount") != NULL)
		system_set_int64(&values[2], json_get_int64(document, "mergedRecordCount", 0, path));
	if (json_get(document, "mergedRecordSize") != NULL)
		system_set_int64(&values[3], json_get_int64(document, "mergedRecordSize", 0, path));
	if (columns != NULL)
		system_set_text(&values[4], json_to_text(columns));
	return true;
}

static const SystemColumn statistics_columns[] = {
	{"snapshot_id", "BIGINT NOT NULL"},
	{"schema_id", "BIGINT NOT NULL"},
	{"mergedRecordCount", "BIGINT"},
	{"mergedRecordSize", "BIGINT"},
	{"colstat", "STRING"},
};

const SystemTable system_statistics = {
	"statistics", lengthof(statistics_columns), statistics_columns, list_statistics, fill_statistics
};

static List *
list_fields(SystemSource *source)
{
	const TableSchema *schema = source->table->schema;
	List	   *items = NIL;

	for (int i = 0; i < schema->nfields; i++)
		items = lappend(items, &schema->fields[i]);
	return items;
}

/* What options "fields.<name>.*" say: of functions their names, else the options' names. */
static char *
field_options_text(const TableSchema *schema, const char *field, bool functions)
{
	static const char function_suffix[] = ".aggregate-function";
	char	   *prefix = psprintf("fields.%s.", field);
	StringInfoData out;
	ListCell   *cell;

	initStringInfo(&out);
	appendStringInfoChar(&out, '[');
	foreach(cell, schema->options)
	{
		const OptionPair *option = lfirst(cell);
		const char *rest = option->key + strlen(prefix) - 1;

		if (strncmp(option->key, prefix, strlen(prefix)) != 0 ||
			(functions && strcmp(rest, function_suffix) != 0))
			continue;
		appendStringInfo(&out, "%s%s", out.len > 1 ? ", " : "", functions ? option->value : option->key);
	}
	appendStringInfoChar(&out, ']');
	return out.data;
}

static bool
fill_field(SystemSource *source, void *item, Scalar *values)
{
	const TableSchema *schema = source->table->schema;
	const DataField *field = item;

	system_set_text(&values[0], field->name);
	system_set_text(&values[1], type_to_text(field->type));
	system_set_text(&values[2], field_options_text(schema, field->name, true));
	system_set_text(&values[3], field_options_text(schema, field->name, false));
	system_set_text(&values[4], field->description);
	return true;
}

static const SystemColumn aggregation_columns[] = {
	{"field_name", "STRING NOT NULL"},
	{"field_type", "STRING NOT NULL"},
	{"function", "STRING"},
	{"function_options", "STRING"},
	{"comment", "STRING"},
};

const SystemTable system_aggregation_fields = {
	"aggregation_fields", lengthof(aggregation_columns), aggregation_columns, list_fields, fill_field
};
