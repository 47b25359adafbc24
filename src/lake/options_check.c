/*
 * options_check.c
 *		What we refuse of a table, by name: options, types, kinds of table.
 *
 * Source: format digest section 11.  What only changes how fast or how large
 * something gets may be ignored and is not here; so is what readers find in
 * metadata anyway.
 */
#include "postgres.h"

#include "lake/merge_function.h"
#include "utils/memutils.h"

typedef enum RefusalTest
{
	IF_TRUE,					/* a boolean option that is on */
	IF_GIVEN,					/* any value */
	UNLESS						/* any value but those allowed */
} RefusalTest;

typedef struct Refusal
{
	const char *key;
	RefusalTest test;
	const char *allowed;		/* of UNLESS: values with commas between */
} Refusal;

/* Rows would come out wrong. */
static const Refusal read_refusals[] = {
	{"type", UNLESS, "table"},
	{"manifest.format", UNLESS, "avro,parquet,orc"},
	{"branch", UNLESS, "main"},
	{"blob-as-descriptor", IF_TRUE},
	{"blob-descriptor-field", IF_GIVEN},
	{"blob-external-storage-field", IF_GIVEN},
	{"vector-field", IF_GIVEN},
	{"pk-clustering-override", IF_TRUE},
	{"query-auth.enabled", IF_TRUE},
	{"chain-table.enabled", IF_TRUE},
	{"scan.fallback-branch", IF_GIVEN},
	{"scan.primary-branch", IF_GIVEN},
	{"scan.fallback-snapshot-branch", IF_GIVEN},
	{"scan.fallback-delta-branch", IF_GIVEN},
	{"scan.mode", UNLESS, "default,latest,latest-full,full,from-snapshot,from-snapshot-full,from-timestamp,incremental"},
	{"scan.file-creation-time-millis", IF_GIVEN},
	{"scan.creation-time-millis", IF_GIVEN},
	{"incremental-to-auto-tag", IF_GIVEN},
};

/* The same, of tables with a primary key. */
static const Refusal read_key_refusals[] = {
	{"sequence.snapshot-ordering", IF_TRUE},
};

/* What we would write would break the table's promises to others. */
static const Refusal write_refusals[] = {
	{"file.format", UNLESS, "parquet"},
	{"file.compression", UNLESS, "zstd,snappy,lz4,gzip,none"},
	{"manifest.format", UNLESS, "avro"},
	{"manifest.compression", UNLESS, "zstd,zstandard,snappy,deflate,none,null"},
	{"deletion-vectors.enabled", IF_TRUE},
	{"row-tracking.enabled", IF_TRUE},
	{"data-evolution.enabled", IF_TRUE},
	{"clustering.incremental", IF_TRUE},
	{"data-file.external-paths", IF_GIVEN},
	{"upsert-key", IF_GIVEN},
	{"commit.strict-mode.last-safe-snapshot", IF_GIVEN},
	{"commit.discard-duplicate-files", IF_TRUE},
};

static const Refusal write_key_refusals[] = {
	{"merge-engine", UNLESS, "deduplicate,partial-update,aggregation"},
	{"changelog-producer", UNLESS, "none"},
	{"record-level.expire-time", IF_GIVEN},
};

static const Refusal expire_refusals[] = {
	{"type", UNLESS, "table"},
	{"manifest.format", UNLESS, "avro"},
	{"branch", UNLESS, "main"},
	{"chain-table.enabled", IF_TRUE},
	{"index-file-in-data-file-dir", IF_TRUE},
};

static void
refuse(const char *table_name, const char *action, const char *key, const char *value, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("lake table \"%s\" cannot be %s: option \"%s\" = \"%s\" is not supported",
					table_name, action, key, value),
			 hint != NULL ? errhint("%s", hint) : 0));
}

static void
refuse_table(const char *table_name, const char *action, const char *reason)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("lake table \"%s\" cannot be %s: %s", table_name, action, reason)));
}

static bool
in_list(const char *list, const char *value)
{
	size_t		length = strlen(value);

	while (*list != '\0')
	{
		size_t		item = strcspn(list, ",");

		if (item == length && pg_strncasecmp(list, value, length) == 0)
			return true;
		list += item + (list[item] == ',');
	}
	return false;
}

static void
check_refusals(const TableSchema *schema, const Refusal *refusals, int n, const char *table_name, const char *action)
{
	for (int i = 0; i < n; i++)
	{
		const Refusal *refusal = &refusals[i];
		const char *value = schema_option(schema, refusal->key);

		if (value == NULL)
			continue;
		switch (refusal->test)
		{
			case IF_TRUE:
				if (option_is_true(schema, refusal->key))
					refuse(table_name, action, refusal->key, value, NULL);
				break;
			case IF_GIVEN:
				refuse(table_name, action, refusal->key, value, NULL);
				break;
			case UNLESS:
				if (!in_list(refusal->allowed, value))
					refuse(table_name, action, refusal->key, value,
						   psprintf("Supported: %s.", refusal->allowed));
				break;
		}
	}
}

static void
check_column_types(const TableSchema *schema, const char *table_name, const char *action)
{
	for (int i = 0; i < schema->nfields; i++)
	{
		const DataField *field = &schema->fields[i];

		if (!type_is_supported(field->type))
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("lake table \"%s\" cannot be %s: type %s of column \"%s\" is not supported",
							table_name, action, type_describe(field->type), field->name)));
	}
}

/* Making the merge function tells whether it is supported. */
static void
check_merge_function(const TableSchema *schema, const TableOptions *options, const char *table_name)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "streamhouse merge function check",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	(void) merge_function_create(schema, options, table_name);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

static void
check_readable_for(const TableSchema *schema, const TableOptions *options, const char *table_name,
				   const char *action)
{
	check_refusals(schema, read_refusals, lengthof(read_refusals), table_name, action);
	if (schema->nprimary_keys > 0)
	{
		check_refusals(schema, read_key_refusals, lengthof(read_key_refusals), table_name, action);
		check_merge_function(schema, options, table_name);
	}
	check_column_types(schema, table_name, action);
}

void
options_check_readable(const TableSchema *schema, const TableOptions *options, const char *table_name)
{
	check_readable_for(schema, options, table_name, "read");
}

static void
check_bucket_mode(const TableSchema *schema, const TableOptions *options, const char *table_name)
{
	switch (options->bucket_mode)
	{
		case BUCKET_UNAWARE:
			break;
		case BUCKET_FIXED:
			if (options->nbucket_keys == 0)
				refuse_table(table_name, "written", "it has buckets, but no option \"bucket-key\"");
			break;
		case BUCKET_DYNAMIC:
			refuse(table_name, "written", "bucket", "-1",
				   "Tables with a primary key need a fixed number of buckets.");
			break;
		case BUCKET_POSTPONE:
			refuse(table_name, "written", "bucket", "-2",
				   "Tables with a primary key need a fixed number of buckets.");
			break;
	}
}

/* With a partition column outside the key an upsert may have to delete in another partition. */
static void
check_cross_partition(const TableSchema *schema, const char *table_name)
{
	if (schema->nprimary_keys > 0 &&
		schema->nprimary_keys - schema->ntrimmed_keys < schema->npartition_keys)
		refuse_table(table_name, "written", "its primary key does not contain all partition columns");
}

/* "none", "counts", "full" or "truncate(n)" */
static bool
is_statistics_mode(const char *value)
{
	char	   *end;
	long		length;

	if (in_list("none,counts,full", value))
		return true;
	if (pg_strncasecmp(value, "truncate(", 9) != 0 || value[9] < '0' || value[9] > '9')
		return false;
	errno = 0;
	length = strtol(value + 9, &end, 10);
	return errno == 0 && length > 0 && strcmp(end, ")") == 0;
}

static bool
has_suffix(const char *text, const char *suffix)
{
	size_t		length = strlen(text);

	return length >= strlen(suffix) && strcmp(text + length - strlen(suffix), suffix) == 0;
}

static void
check_statistics_modes(const TableSchema *schema, const char *table_name)
{
	ListCell   *lc;

	foreach(lc, schema->options)
	{
		OptionPair *option = lfirst(lc);
		bool		is_mode = strcmp(option->key, "metadata.stats-mode") == 0 ||
			(strncmp(option->key, "fields.", 7) == 0 && has_suffix(option->key, ".stats-mode"));

		if (is_mode && !is_statistics_mode(option->value))
			refuse(table_name, "written", option->key, option->value,
				   "Supported: none, counts, full, truncate(n).");
	}
}

/* "0:avro,5:orc": each level's format */
static void
check_format_per_level(const TableSchema *schema, const char *table_name)
{
	const char *value = schema_option(schema, "file.format.per.level");
	ListCell   *lc;

	if (value == NULL)
		return;
	foreach(lc, schema_split_names(value))
	{
		const char *colon = strchr(lfirst(lc), ':');

		if (colon == NULL || pg_strcasecmp(colon + 1, "parquet") != 0)
			refuse(table_name, "written", "file.format.per.level", value, "Supported: parquet.");
	}
}

/* Java takes no table whose least number of snapshots is above the greatest. */
static void
check_retention(const TableSchema *schema, const TableOptions *options, const char *table_name)
{
	const char *key = "snapshot.num-retained.max";

	if (options->snapshot_num_retained_min > options->snapshot_num_retained_max)
		refuse(table_name, "written", key, schema_option(schema, key),
			   "It must not be less than \"snapshot.num-retained.min\", which is 10 where it is not given.");
}

void
options_check_writable(const TableSchema *schema, const TableOptions *options, const char *table_name)
{
	if (options->is_branch)
		refuse_table(table_name, "written", "it is a branch");
	check_readable_for(schema, options, table_name, "written");
	check_refusals(schema, write_refusals, lengthof(write_refusals), table_name, "written");
	if (schema->nprimary_keys > 0)
		check_refusals(schema, write_key_refusals, lengthof(write_key_refusals), table_name, "written");
	check_cross_partition(schema, table_name);
	check_bucket_mode(schema, options, table_name);
	check_format_per_level(schema, table_name);
	check_statistics_modes(schema, table_name);
	check_retention(schema, options, table_name);
}

/* A table that is written in general does not take changes of one sort. */
static void
refuse_changes(const TableSchema *schema, const char *table_name, const char *changes, const char *key,
			   const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("lake table \"%s\" takes no %s with option \"%s\" = \"%s\"",
					table_name, changes, key, schema_option(schema, key)),
			 hint != NULL ? errhint("%s", hint) : 0));
}

static void
check_no_rowkind_field(const TableSchema *schema, const TableOptions *options, const char *table_name,
					   const char *changes)
{
	if (options->rowkind_field >= 0)
		refuse_changes(schema, table_name, changes, "rowkind.field",
					   "The column tells of each row that is inserted what becomes of it.");
}

void
options_check_update(const TableSchema *schema, const TableOptions *options, const char *table_name)
{
	if (options->merge_engine != MERGE_DEDUPLICATE)
		refuse_changes(schema, table_name, "updates", "merge-engine",
					   "An INSERT merges its row with that of the same key.");
	check_no_rowkind_field(schema, options, table_name, "updates");
}

void
options_check_delete(const TableSchema *schema, const TableOptions *options, const char *table_name)
{
	const char *remove_key = options->merge_engine == MERGE_AGGREGATION ?
		"aggregation.remove-record-on-delete" : "partial-update.remove-record-on-delete";

	check_no_rowkind_field(schema, options, table_name, "deletes");
	if (options->ignore_delete)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("lake table \"%s\" ignores deletes by option \"ignore-delete\"", table_name)));
	if (options->merge_engine != MERGE_DEDUPLICATE && !option_is_true(schema, remove_key))
		refuse_changes(schema, table_name, "deletes", "merge-engine",
					   psprintf("It takes them with option \"%s\".", remove_key));
}

void
options_check_replicable(const TableSchema *schema, const TableOptions *options, const char *table_name)
{
	const char *changes = "changes of another table";

	options_check_writable(schema, options, table_name);
	if (options->merge_engine != MERGE_DEDUPLICATE)
		refuse_changes(schema, table_name, changes, "merge-engine", "Supported: deduplicate.");
	check_no_rowkind_field(schema, options, table_name, changes);
	if (options->nsequence_fields > 0)
		refuse_changes(schema, table_name, changes, "sequence.field",
					   "They are applied in the order in which they were committed.");
}

/*
 * Changelogs that outlive their snapshots keep files that rule 9.6 removes:
 * so it is when an option of theirs exceeds the snapshots'.
 */
void
options_check_expirable(const TableSchema *schema, const TableOptions *options, const char *table_name)
{
	static const char *const keys[] = {"changelog.num-retained.max", "changelog.num-retained.min"};
	const int64 limits[] = {options->snapshot_num_retained_max, options->snapshot_num_retained_min};
	const char *time_key = "changelog.time-retained";
	const char *value;

	if (options->is_branch)
		refuse_table(table_name, "expired", "it is a branch");
	check_refusals(schema, expire_refusals, lengthof(expire_refusals), table_name, "expired");
	for (int i = 0; i < lengthof(keys); i++)
	{
		value = schema_option(schema, keys[i]);
		if (value != NULL && strtoll(value, NULL, 10) > limits[i])
			refuse(table_name, "expired", keys[i], value, "Changelogs cannot outlive their snapshots.");
	}
	value = schema_option(schema, time_key);
	if (value != NULL && option_parse_duration(time_key, value) > options->snapshot_time_retained_ms)
		refuse(table_name, "expired", time_key, value, "Changelogs cannot outlive their snapshots.");
}
