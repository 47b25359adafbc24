/*
 * test_schema.c
 *		JSON, schema and snapshot files, options, tables in a warehouse.
 */
#include "postgres.h"

#include "format/json.h"
#include "lake/path.h"
#include "lake/table.h"
#include "miscadmin.h"
#include "storage/cache.h"
#include "storage/storage.h"

#include "unit.h"

static TableSchema *
parse_schema(const char *json)
{
	return schema_parse(json, strlen(json), "schema-0");
}

static LakeSnapshot *
parse_snapshot(const char *json)
{
	return snapshot_parse(json, strlen(json), "snapshot-1");
}

static const char nested_schema[] =
"{\n"
"  \"version\" : 3,\n"
"  \"id\" : 0,\n"
"  \"fields\" : [ {\n"
"    \"id\" : 0,\n"
"    \"name\" : \"id\",\n"
"    \"type\" : \"INT NOT NULL\"\n"
"  }, {\n"
"    \"id\" : 1,\n"
"    \"name\" : \"m\",\n"
"    \"type\" : {\n"
"      \"type\" : \"MAP\",\n"
"      \"key\" : \"STRING\",\n"
"      \"value\" : {\n"
"        \"type\" : \"ROW NOT NULL\",\n"
"        \"fields\" : [ {\n"
"          \"id\" : 2,\n"
"          \"name\" : \"x\",\n"
"          \"type\" : {\n"
"            \"type\" : \"ARRAY\",\n"
"            \"element\" : \"DECIMAL(10, 2)\"\n"
"          }\n"
"        } ]\n"
"      }\n"
"    },\n"
"    \"description\" : \"a \\\"map\\\"\\n\\u0001\"\n"
"  } ],\n"
"  \"highestFieldId\" : 7,\n"
"  \"partitionKeys\" : [ ],\n"
"  \"primaryKeys\" : [ \"id\" ],\n"
"  \"options\" : { },\n"
"  \"comment\" : \"gr\xc3\xbc\xc3\x9f\",\n"
"  \"timeMillis\" : 1,\n"
"  \"later\" : {\n"
"    \"kept\" : [ 1, null, true ]\n"
"  }\n"
"}";

static void
test_schema_text(void)
{
	TableSchema *schema = parse_schema(nested_schema);

	CHECK_STRING(schema_to_json(schema), nested_schema);
	CHECK_INT(schema->ntrimmed_keys, 1);
	CHECK_INT(schema->highest_field_id, 7);
	CHECK_INT(schema->fields[1].type->root, TYPE_MAP);
	CHECK_STRING(schema->fields[1].description, "a \"map\"\n\x01");
	CHECK_STRING(schema_to_json(schema_copy(schema)), nested_schema);
}

#define SCHEMA_OF(fields, rest) \
	"{\"version\":3,\"id\":0,\"fields\":[" fields "],\"partitionKeys\":[],\"primaryKeys\":[]" rest "}"

static void
test_schema_versions(void)
{
	TableSchema *schema = parse_schema("{\"id\":0,\"fields\":[{\"id\":0,\"name\":\"a\",\"type\":\"int array\"}],"
									   "\"partitionKeys\":[],\"primaryKeys\":[]}");

	CHECK_STRING(schema_option(schema, "bucket"), "1");
	CHECK_STRING(schema_option(schema, "file.format"), "orc");
	CHECK_INT(schema->fields[0].type->root, TYPE_ARRAY);
	schema = parse_schema("{\"version\":2,\"id\":0,\"fields\":[],\"partitionKeys\":[],\"primaryKeys\":[]}");
	CHECK(schema_option(schema, "bucket") == NULL);
	CHECK_STRING(schema_option(schema, "file.format"), "orc");
	schema = parse_schema(SCHEMA_OF("", ""));
	CHECK(schema_option(schema, "file.format") == NULL);
}

static void
test_damaged_schemas(void)
{
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "schema-0", parse_schema("{"));
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "schema-0", parse_schema("[]"));
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "schema-0", parse_schema("{\"id\":0}"));
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "schema-0", parse_schema("\"\xff\""));
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "schema-0",
				parse_schema(SCHEMA_OF("{\"id\":0,\"name\":\"a\",\"type\":\"WHAT\"}", "")));
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "schema-0",
				parse_schema(SCHEMA_OF("{\"id\":99999999999,\"name\":\"a\",\"type\":\"INT\"}", "")));
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "schema-0",
				parse_schema(SCHEMA_OF("{\"id\":0,\"name\":\"a\",\"type\":\"INT\"},"
									   "{\"id\":0,\"name\":\"b\",\"type\":\"INT\"}", "")));
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "schema-0",
				parse_schema(SCHEMA_OF("{\"id\":0,\"name\":\"a\",\"type\":{\"type\":\"ARRAY\"}}", "")));
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "schema-0", parse_schema(SCHEMA_OF("", ",\"options\":{\"a\":1}")));
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "schema-0",
				parse_schema("{\"id\":0,\"fields\":[],\"partitionKeys\":[],\"primaryKeys\":[\"a\"]}"));
}

/* Arrays in arrays, without end. */
static void
test_deep_json(void)
{
	char	   *text = palloc(1000001);

	memset(text, '[', 1000000);
	text[1000000] = '\0';
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "deep.json", json_parse(text, 1000000, "deep.json"));
}

static DataField
field(const char *name, const char *type)
{
	return (DataField) {.name = pstrdup(name), .type = type_parse_atomic(type)};
}

static TableSchema *
build(List *partition_keys, List *primary_keys, List *options)
{
	DataField	fields[] = {
		field("id", "INT"), field("dt", "DATE"), field("v", "STRING"), field("n", "BIGINT"),
	};

	return schema_build(lengthof(fields), fields, partition_keys, primary_keys, options, NULL);
}

#define OPTIONS(key, value) list_make1(option_pair_make(key, value))

static void
test_schema_build(void)
{
	List	   *options = list_make2(option_pair_make("primary-key", "dt, id"), option_pair_make("bucket", "2"));
	TableSchema *schema = build(list_make1("dt"), NIL, options);

	CHECK_INT(schema->nprimary_keys, 2);
	CHECK_INT(schema->primary_keys[0], 1);
	CHECK_INT(schema->ntrimmed_keys, 1);
	CHECK_INT(schema->trimmed_keys[0], 0);
	CHECK(!schema->fields[0].type->nullable && !schema->fields[1].type->nullable && schema->fields[2].type->nullable);
	CHECK_INT(schema->fields[3].id, 3);
	CHECK_INT(schema->highest_field_id, 3);
	CHECK(schema_option(schema, "primary-key") == NULL);
	CHECK_STRING(schema_option(schema, "bucket"), "2");
}

static void
test_schema_rules(void)
{
	DataField	twice[] = {field("a", "INT"), field("a", "INT")};
	DataField	reserved[] = {field("_KEY_a", "INT")};

	CHECK_ERROR(ERRCODE_DUPLICATE_COLUMN, "\"a\"", schema_build(2, twice, NIL, NIL, NIL, NULL));
	CHECK_ERROR(ERRCODE_RESERVED_NAME, "_KEY_a", schema_build(1, reserved, NIL, NIL, NIL, NULL));
	CHECK_ERROR(ERRCODE_INVALID_TABLE_DEFINITION, "column", schema_build(0, NULL, NIL, NIL, NIL, NULL));
	CHECK_ERROR(ERRCODE_UNDEFINED_COLUMN, "\"x\"", build(NIL, list_make1("x"), NIL));
	CHECK_ERROR(ERRCODE_DUPLICATE_COLUMN, "\"id\"", build(NIL, list_make2("id", "id"), NIL));
	CHECK_ERROR(ERRCODE_INVALID_TABLE_DEFINITION, "primary key", build(list_make1("id"), list_make1("id"), NIL));
	CHECK_ERROR(ERRCODE_INVALID_TABLE_DEFINITION, "bucket", build(NIL, NIL, OPTIONS("bucket", "2")));
	CHECK_ERROR(ERRCODE_INVALID_TABLE_DEFINITION, "bucket", build(NIL, NIL, OPTIONS("bucket", "-2")));
	CHECK_ERROR(ERRCODE_INVALID_PARAMETER_VALUE, "bucket", build(NIL, NIL, OPTIONS("bucket", "0")));
	CHECK_ERROR(ERRCODE_INVALID_PARAMETER_VALUE, "bucket", build(NIL, NIL, OPTIONS("bucket", "two")));
	CHECK_ERROR(ERRCODE_INVALID_TABLE_DEFINITION, "bucket-key", build(NIL, NIL, OPTIONS("bucket-key", "id")));
	CHECK_ERROR(ERRCODE_INVALID_TABLE_DEFINITION, "changelog-producer",
				build(NIL, NIL, OPTIONS("changelog-producer", "input")));
	CHECK_ERROR(ERRCODE_INVALID_TABLE_DEFINITION, "bucket-key",
				build(NIL, list_make1("id"),
					  list_make2(option_pair_make("bucket", "2"), option_pair_make("bucket-key", "v"))));
}

static void
test_durations(void)
{
	CHECK_INT(option_parse_duration("k", "10 s"), 10000);
	CHECK_INT(option_parse_duration("k", "1h"), 3600000);
	CHECK_INT(option_parse_duration("k", "1 MIN"), 60000);
	CHECK_INT(option_parse_duration("k", "2days"), 172800000);
	CHECK_INT(option_parse_duration("k", "1500"), 1500);
	CHECK_INT(option_parse_duration("k", "1500 micros"), 1);
	CHECK_INT(option_parse_duration("k", "PT1H"), 3600000);
	CHECK_INT(option_parse_duration("k", "P1DT2H3M4S"), 93784000);
	CHECK_ERROR(ERRCODE_INVALID_PARAMETER_VALUE, "\"k\"", option_parse_duration("k", "PT"));
	CHECK_ERROR(ERRCODE_INVALID_PARAMETER_VALUE, "\"k\"", option_parse_duration("k", "P1H"));
	CHECK_ERROR(ERRCODE_INVALID_PARAMETER_VALUE, "\"k\"", option_parse_duration("k", "1 fortnight"));
	CHECK_ERROR(ERRCODE_INVALID_PARAMETER_VALUE, "\"k\"", option_parse_duration("k", "-1 s"));
	CHECK_ERROR(ERRCODE_INVALID_PARAMETER_VALUE, "\"k\"", option_parse_duration("k", "99999999999999999 d"));
}

static void
test_memory_sizes(void)
{
	CHECK_INT(option_parse_memory("k", "128 mb"), 134217728);
	CHECK_INT(option_parse_memory("k", "1g"), 1073741824);
	CHECK_INT(option_parse_memory("k", "17"), 17);
	CHECK_INT(option_parse_memory("k", "2 KiBiBytes"), 2048);
	CHECK_ERROR(ERRCODE_INVALID_PARAMETER_VALUE, "\"k\"", option_parse_memory("k", "mb"));
	CHECK_ERROR(ERRCODE_INVALID_PARAMETER_VALUE, "\"k\"", option_parse_memory("k", "9999999999 tb"));
}

static void
test_options(void)
{
	TableSchema *schema = build(list_make1("dt"), list_make2("dt", "id"),
								list_make3(option_pair_make("bucket", "3"),
										   option_pair_make("snapshot.time-retained", "2 h"),
										   option_pair_make("num-sorted-run.compaction-trigger", "3")));
	TableOptions *options = options_parse(schema);

	CHECK_INT(options->bucket_mode, BUCKET_FIXED);
	CHECK_INT(options->nbucket_keys, 1);
	CHECK_INT(options->bucket_keys[0], 0);
	CHECK_INT(options->snapshot_time_retained_ms, 7200000);
	CHECK_INT(options->num_levels, 4);
	CHECK_INT(options->target_file_size, 128 * 1024 * 1024);
	CHECK_INT(options_parse(build(NIL, NIL, NIL))->bucket_mode, BUCKET_UNAWARE);
	CHECK_INT(options_parse(build(NIL, list_make1("id"), NIL))->bucket_mode, BUCKET_DYNAMIC);
}

typedef void (*Check) (const TableSchema *schema, const TableOptions *options, const char *table_name);

static void
check_option(Check check, bool with_key, const char *key, const char *value, bool refused)
{
	List	   *options = list_make2(option_pair_make("bucket", with_key ? "1" : "-1"), option_pair_make(key, value));
	TableSchema *schema = build(NIL, with_key ? list_make1("id") : NIL, options);

	if (refused)
		CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, key, check(schema, options_parse(schema), "db.t"));
	else
		check(schema, options_parse(schema), "db.t");
}

static void
test_refusals(void)
{
	TableSchema *schema;

	check_option(options_check_readable, true, "merge-engine", "first-row", false);
	check_option(options_check_readable, true, "merge-engine", "deduplicate", false);
	check_option(options_check_readable, true, "sequence.snapshot-ordering", "true", true);
	check_option(options_check_readable, true, "deduplicate.ignore-delete", "TRUE", false);
	/* an alias is refused by the option's own name */
	schema = build(NIL, list_make1("id"), list_make2(option_pair_make("bucket", "1"),
													 option_pair_make("deduplicate.ignore-delete", "TRUE")));
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "\"ignore-delete\"",
				options_check_delete(schema, options_parse(schema), "db.t"));
	check_option(options_check_delete, true, "ignore-delete", "false", false);
	check_option(options_check_delete, true, "merge-engine", "aggregation", true);
	check_option(options_check_update, true, "merge-engine", "partial-update", true);
	check_option(options_check_replicable, true, "merge-engine", "aggregation", true);
	check_option(options_check_readable, false, "deletion-vectors.enabled", "true", false);
	check_option(options_check_readable, false, "scan.snapshot-id", "1", false);
	check_option(options_check_readable, false, "manifest.format", "orc", false);
	check_option(options_check_readable, false, "manifest.format", "csv", true);
	check_option(options_check_writable, false, "manifest.format", "orc", true);
	check_option(options_check_readable, false, "row-tracking.enabled", "true", false);
	check_option(options_check_readable, false, "what.nobody.knows", "1", false);
	check_option(options_check_writable, false, "row-tracking.enabled", "true", true);
	check_option(options_check_writable, true, "merge-engine", "first-row", true);
	check_option(options_check_writable, true, "changelog-producer", "lookup", true);
	check_option(options_check_writable, false, "file.format", "orc", true);
	check_option(options_check_writable, true, "file.format.per.level", "0:parquet,5:orc", true);
	check_option(options_check_writable, true, "file.format.per.level", "0:parquet", false);
	check_option(options_check_writable, false, "metadata.stats-mode", "truncate(5)", false);
	check_option(options_check_writable, false, "metadata.stats-mode", "truncate(-5)", true);
	check_option(options_check_writable, false, "fields.v.stats-mode", "some", true);
	check_option(options_check_writable, false, "snapshot.num-retained.max", "9", true);
	check_option(options_check_writable, false, "snapshot.num-retained.max", "10", false);
	check_option(options_check_expirable, false, "changelog.time-retained", "2 h", true);
	check_option(options_check_expirable, false, "changelog.time-retained", "1 h", false);
	check_option(options_check_expirable, false, "changelog.num-retained.max", "5", false);
}

static void
test_refused_tables(void)
{
	TableSchema *schema = build(NIL, list_make1("id"), NIL);

	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "bucket",
				options_check_writable(schema, options_parse(schema), "db.t"));
	options_check_readable(schema, options_parse(schema), "db.t");

	schema = build(list_make1("dt"), list_make1("id"), OPTIONS("bucket", "1"));
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "primary key",
				options_check_writable(schema, options_parse(schema), "db.t"));

	schema = parse_schema(SCHEMA_OF("{\"id\":0,\"name\":\"v\",\"type\":{\"type\":\"ARRAY\",\"element\":\"BLOB\"}}", ""));
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "ARRAY<BLOB> of column \"v\"",
				options_check_readable(schema, options_parse(schema), "db.t"));
}

static const char snapshot_text[] =
"{\n"
"  \"version\" : 3,\n"
"  \"id\" : 2,\n"
"  \"schemaId\" : 0,\n"
"  \"baseManifestList\" : \"manifest-list-a-0\",\n"
"  \"baseManifestListSize\" : 10,\n"
"  \"deltaManifestList\" : \"manifest-list-a-1\",\n"
"  \"deltaManifestListSize\" : 11,\n"
"  \"commitUser\" : \"me\",\n"
"  \"commitIdentifier\" : 9223372036854775807,\n"
"  \"commitKind\" : \"OVERWRITE\",\n"
"  \"timeMillis\" : 5,\n"
"  \"totalRecordCount\" : 7,\n"
"  \"deltaRecordCount\" : -3,\n"
"  \"watermark\" : -9223372036854775808,\n"
"  \"properties\" : {\n"
"    \"lsn\" : \"0/1\"\n"
"  },\n"
"  \"nextRowId\" : 0\n"
"}";

static void
test_snapshot_text(void)
{
	LakeSnapshot *snapshot = parse_snapshot(snapshot_text);

	CHECK_STRING(snapshot_to_json(snapshot), snapshot_text);
	CHECK_INT(snapshot->commit_identifier, BATCH_COMMIT_IDENTIFIER);
	CHECK_INT(snapshot->delta_record_count, -3);
	CHECK(snapshot->changelog_manifest_list == NULL && !snapshot->has_changelog_record_count);
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "snapshot-1", parse_snapshot("{}"));
	CHECK_ERROR(ERRCODE_FEATURE_NOT_SUPPORTED, "version 4", parse_snapshot("{\"version\":4}"));
}

static void
publish(const char *location, int64 id, const char *user, int64 time_millis, bool expected)
{
	LakeSnapshot *snapshot = parse_snapshot(snapshot_text);

	snapshot->id = id;
	snapshot->commit_user = pstrdup(user);
	snapshot->time_millis = time_millis;
	CHECK(snapshot_publish(location, snapshot) == expected);
}

static void
check_time(const char *location, int64 time_millis, int64 expected)
{
	LakeSnapshot *snapshot = snapshot_load_at_time(location, time_millis);

	CHECK_INT(snapshot != NULL ? snapshot->id : 0, expected);
}

static void
test_snapshots(void)
{
	char	   *location = storage_join(unit_directory(), "snapshots");
	LakeSnapshot *snapshot;

	CHECK_INT(snapshot_latest_id(location), 0);
	CHECK(snapshot_load_latest(location) == NULL);
	for (int64 id = 1; id <= 5; id++)
		publish(location, id, id % 2 ? "odd" : "even", id * 10, true);
	publish(location, 5, "other", 50, false);

	CHECK_INT(snapshot_latest_id(location), 5);
	CHECK_INT(snapshot_earliest_id(location), 1);
	CHECK_INT(snapshot_load_latest(location)->id, 5);
	check_time(location, 9, 0);
	check_time(location, 10, 1);
	check_time(location, 35, 3);
	check_time(location, 1000, 5);

	snapshot = snapshot_latest_of_user(location, "even", 0);
	CHECK_INT(snapshot != NULL ? snapshot->id : 0, 4);
	CHECK(snapshot_latest_of_user(location, "even", 4) == NULL);
	CHECK(snapshot_latest_of_user(location, "nobody", 0) == NULL);

	CHECK(snapshot_load(location, 6, true) == NULL);
	CHECK_ERROR(ERRCODE_UNDEFINED_FILE, "snapshot-6", snapshot_load(location, 6, false));
	CHECK(snapshot_load_tag(location, "t", true) == NULL);
	CHECK_ERROR(ERRCODE_UNDEFINED_OBJECT, "\"t\"", snapshot_load_tag(location, "t", false));
	CHECK_ERROR(ERRCODE_INVALID_NAME, "../t", snapshot_load_tag(location, "../t", false));
}

static void
test_hints(void)
{
	char	   *location = storage_join(unit_directory(), "hints");
	char	   *latest = storage_join(location, "snapshot/LATEST");
	char	   *earliest = storage_join(location, "snapshot/EARLIEST");

	for (int64 id = 1; id <= 3; id++)
		publish(location, id, "me", id, true);

	/* too old, not a number, or lacking: the folder tells */
	storage_replace(latest, "2", 1);
	CHECK_INT(snapshot_latest_id(location), 3);
	storage_replace(latest, "2x", 2);
	CHECK_INT(snapshot_latest_id(location), 3);
	storage_remove(latest, false);
	CHECK_INT(snapshot_latest_id(location), 3);

	/* believed without looking */
	storage_replace(latest, "7\n", 2);
	CHECK_INT(snapshot_latest_id(location), 7);

	snapshot_write_earliest_hint(location, 2);
	CHECK_INT(snapshot_earliest_id(location), 2);
	storage_replace(earliest, "9", 1);
	CHECK_INT(snapshot_earliest_id(location), 1);

	storage_remove(latest, false);
	storage_replace(storage_join(location, "snapshot/snapshot-9.tmp"), "", 0);
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "snapshot-9.tmp", snapshot_latest_id(location));
}

/* A hint that cannot be written does not undo a commit. */
static void
test_failing_hint(void)
{
	char	   *location = storage_join(unit_directory(), "failing_hint");

	CHECK(storage_publish(storage_join(location, "snapshot/LATEST/in the way"), "", 0));
	shim_forget_messages();
	publish(location, 1, "me", 1, true);
	CHECK(shim_last_message() != NULL && strstr(shim_last_message(), "could not write hint file") != NULL);
	CHECK_INT(snapshot_load(location, 1, false)->id, 1);
	CHECK_INT(list_length(storage_list(storage_join(location, "snapshot"))), 2);
	CHECK_INT(InterruptHoldoffCount, 0);
}

static void
test_tables(void)
{
	char	   *warehouse = storage_join(unit_directory(), "warehouse");
	TableSchema *schema = build(list_make1("dt"), list_make2("dt", "id"), OPTIONS("bucket", "1"));
	LakeTable  *table;

	CHECK(lake_list_databases(warehouse) == NIL);
	table = lake_table_create(warehouse, "db", "t", schema);
	CHECK_STRING(table->name, "db.t");
	CHECK_INT(table->key_types[0]->root, TYPE_INT);
	CHECK_INT(table->partition_types[0]->root, TYPE_DATE);
	lake_table_close(table);
	CHECK_ERROR(ERRCODE_DUPLICATE_TABLE, "db.t", lake_table_create(warehouse, "db", "t", schema));

	table = lake_table_open(warehouse, "db", "t", false);
	CHECK_STRING(schema_to_json(table->schema), schema_to_json(schema));
	schema->id = 1;
	CHECK(schema_publish(table->location, schema));
	CHECK(!schema_publish(table->location, schema));
	CHECK_INT(lake_table_schema(table, 1)->id, 1);
	CHECK_INT(schema_load_latest(table->location, false)->id, 1);
	CHECK_ERROR(ERRCODE_UNDEFINED_FILE, "schema-2", lake_table_schema(table, 2));

	CHECK(lake_table_open(warehouse, "db", "u", true) == NULL);
	CHECK_ERROR(ERRCODE_UNDEFINED_TABLE, "db.u", lake_table_open(warehouse, "db", "u", false));
	CHECK_ERROR(ERRCODE_INVALID_NAME, "..", lake_table_open(warehouse, "db", "..", false));
	CHECK_ERROR(ERRCODE_INVALID_NAME, "a/b", lake_table_open(warehouse, "a/b", "t", false));
	CHECK_INT(list_length(lake_list_databases(warehouse)), 1);
	CHECK_INT(list_length(lake_list_tables(warehouse, "db")), 1);
	CHECK_STRING(linitial(lake_list_tables(warehouse, "db")), "t");
}

/* Schemas are kept for later statements, and a table that is made again at the same place is noticed. */
static void
test_kept_schemas(void)
{
	char	   *warehouse = storage_join(unit_directory(), "kept");
	TableSchema *schema = build(list_make1("dt"), list_make2("dt", "id"), OPTIONS("bucket", "1"));
	LakeTable  *first = lake_table_create(warehouse, "db", "t", schema);
	const TableSchema *kept;

	cache_limit = 1024;
	kept = schema_load(first->location, 0);
	CHECK(schema_load(first->location, 0) == kept);
	lake_table_close(lake_table_open(warehouse, "db", "t", false));
	CHECK(schema_load_latest(first->location, false) == kept);

	storage_remove(schema_path(first->location, 0), false);
	schema->fields[1].name[0] = 'X';
	CHECK(schema_publish(first->location, schema));
	CHECK(schema_load(first->location, 0) != kept);
	CHECK_STRING(schema_to_json(schema_load(first->location, 0)), schema_to_json(schema));
	CHECK(strcmp(kept->fields[1].name, schema->fields[1].name) != 0);

	cache_limit = 0;
	CHECK(schema_load(first->location, 0) != schema_load(first->location, 0));
	CHECK_INT(cache_size(), 0);
}

/* Whatever is done to a text, the parsers either take it or say what is wrong. */
static void
test_random_damage(void)
{
	for (int round = 0; round < 3000; round++)
	{
		bool		is_schema = round % 2 == 0;
		char	   *text = pstrdup(is_schema ? nested_schema : snapshot_text);
		int			length = strlen(text);
		MemoryContext context = CurrentMemoryContext;

		for (int i = 1 + unit_random_below(4); i > 0; i--)
			text[unit_random_below(length)] = (char) unit_random();
		length -= unit_random_below(2) * unit_random_below(length);

		PG_TRY();
		{
			if (is_schema)
				schema_to_json(schema_parse(text, length, "damaged"));
			else
				snapshot_to_json(snapshot_parse(text, length, "damaged"));
		}
		PG_CATCH();
		{
			MemoryContextSwitchTo(context);
			FlushErrorState();
		}
		PG_END_TRY();
	}
}

int
main(void)
{
	unit_begin();
	RUN(test_schema_text);
	RUN(test_schema_versions);
	RUN(test_damaged_schemas);
	RUN(test_deep_json);
	RUN(test_schema_build);
	RUN(test_schema_rules);
	RUN(test_durations);
	RUN(test_memory_sizes);
	RUN(test_options);
	RUN(test_refusals);
	RUN(test_refused_tables);
	RUN(test_snapshot_text);
	RUN(test_snapshots);
	RUN(test_hints);
	RUN(test_failing_hint);
	RUN(test_tables);
	RUN(test_kept_schemas);
	RUN(test_random_damage);
	return unit_end();
}
