/*
 * options.c
 *		Paimon's table options, parsed.
 *
 * Source: format digest section 11.
 */
#include "postgres.h"

#include "common/int.h"
#include "lake/options.h"

#define KB INT64CONST(1024)
#define MB (KB * 1024)
#define GB (MB * 1024)
#define TB (GB * 1024)

static void
invalid_value(const char *key, const char *value, const char *expected)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value for option \"%s\": \"%s\"", key, value),
			 errdetail("Expected is %s.", expected)));
}

typedef struct Unit
{
	const char *name;
	int64		factor;
} Unit;

/* Of memory, in bytes. */
static const Unit memory_units[] = {
	{"", 1}, {"b", 1}, {"bytes", 1},
	{"k", KB}, {"kb", KB}, {"kibibytes", KB},
	{"m", MB}, {"mb", MB}, {"mebibytes", MB},
	{"g", GB}, {"gb", GB}, {"gibibytes", GB},
	{"t", TB}, {"tb", TB}, {"tebibytes", TB},
};

/* Of time, in nanoseconds. */
#define NANOS_PER_MILLI INT64CONST(1000000)
#define NANOS_PER_SECOND (1000 * NANOS_PER_MILLI)
#define NANOS_PER_MINUTE (60 * NANOS_PER_SECOND)
#define NANOS_PER_HOUR (60 * NANOS_PER_MINUTE)
#define NANOS_PER_DAY (24 * NANOS_PER_HOUR)

static const Unit time_units[] = {
	{"", NANOS_PER_MILLI},
	{"ns", 1}, {"nano", 1}, {"nanosecond", 1}, {"nanos", 1}, {"nanoseconds", 1},
	{"\xc2\xb5s", 1000}, {"micro", 1000}, {"microsecond", 1000}, {"micros", 1000}, {"microseconds", 1000},
	{"ms", NANOS_PER_MILLI}, {"milli", NANOS_PER_MILLI}, {"millisecond", NANOS_PER_MILLI},
	{"millis", NANOS_PER_MILLI}, {"milliseconds", NANOS_PER_MILLI},
	{"s", NANOS_PER_SECOND}, {"sec", NANOS_PER_SECOND}, {"second", NANOS_PER_SECOND},
	{"secs", NANOS_PER_SECOND}, {"seconds", NANOS_PER_SECOND},
	{"m", NANOS_PER_MINUTE}, {"min", NANOS_PER_MINUTE}, {"minute", NANOS_PER_MINUTE},
	{"mins", NANOS_PER_MINUTE}, {"minutes", NANOS_PER_MINUTE},
	{"h", NANOS_PER_HOUR}, {"hour", NANOS_PER_HOUR}, {"hours", NANOS_PER_HOUR},
	{"d", NANOS_PER_DAY}, {"day", NANOS_PER_DAY}, {"days", NANOS_PER_DAY},
};

static const char *
skip_blanks(const char *text)
{
	while (*text == ' ' || *text == '\t')
		text++;
	return text;
}

/* Digits; false when there are none or too many. */
static bool
parse_digits(const char **text, int64 *value)
{
	const char *p = *text;

	*value = 0;
	for (; *p >= '0' && *p <= '9'; p++)
	{
		if (pg_mul_s64_overflow(*value, 10, value) || pg_add_s64_overflow(*value, *p - '0', value))
			return false;
	}
	if (p == *text)
		return false;
	*text = p;
	return true;
}

/* "10 s" as a number and the factor of its unit. */
static bool
parse_quantity(const char *text, const Unit *units, int nunits, int64 *value, int64 *factor)
{
	size_t		length;

	text = skip_blanks(text);
	if (!parse_digits(&text, value))
		return false;

	text = skip_blanks(text);
	length = strlen(text);
	while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
		length--;

	for (int i = 0; i < nunits; i++)
	{
		if (strlen(units[i].name) == length && pg_strncasecmp(units[i].name, text, length) == 0)
		{
			*factor = units[i].factor;
			return true;
		}
	}
	return false;
}

/* ISO 8601: "P1DT2H3M4S", each part optional; milliseconds out. */
static bool
parse_iso_duration(const char *text, int64 *millis)
{
	static const char order[] = "DTHMS";
	static const int64 factors[] = {86400000, 0, 3600000, 60000, 1000};
	int			next = 0;
	bool		found = false;

	text = skip_blanks(text);
	if (pg_toupper((unsigned char) *text) != 'P')
		return false;
	text++;
	*millis = 0;

	while (*text != '\0')
	{
		int64		value = 0;
		const char *unit;

		if (pg_toupper((unsigned char) *text) != 'T' && !parse_digits(&text, &value))
			return false;
		unit = *text != '\0' ? strchr(order + next, pg_toupper((unsigned char) *text)) : NULL;
		/* hours and less only after the T */
		if (unit == NULL || (unit - order > 1 && next < 2))
			return false;
		if (pg_mul_s64_overflow(value, factors[unit - order], &value) ||
			pg_add_s64_overflow(*millis, value, millis))
			return false;
		found |= *unit != 'T';
		next = unit - order + 1;
		text++;
	}
	return found;
}

int64
option_parse_duration(const char *key, const char *value)
{
	int64		number;
	int64		factor;

	if (parse_iso_duration(value, &number))
		return number;
	if (!parse_quantity(value, time_units, lengthof(time_units), &number, &factor))
		invalid_value(key, value, "a duration like \"10 s\" or \"1 h\"");

	if (factor < NANOS_PER_MILLI)
		return number / (NANOS_PER_MILLI / factor);
	if (pg_mul_s64_overflow(number, factor / NANOS_PER_MILLI, &number))
		invalid_value(key, value, "a shorter duration");
	return number;
}

int64
option_parse_memory(const char *key, const char *value)
{
	int64		number;
	int64		factor;

	if (!parse_quantity(value, memory_units, lengthof(memory_units), &number, &factor))
		invalid_value(key, value, "a size like \"128 mb\"");
	if (pg_mul_s64_overflow(number, factor, &number))
		invalid_value(key, value, "a smaller size");
	return number;
}

/* Options of a schema, with their defaults */

static int64
get_duration(const TableSchema *schema, const char *key, const char *missing)
{
	const char *value = schema_option(schema, key);

	return option_parse_duration(key, value != NULL ? value : missing);
}

static int64
get_memory(const TableSchema *schema, const char *key, int64 missing)
{
	const char *value = schema_option(schema, key);

	return value != NULL ? option_parse_memory(key, value) : missing;
}

static int32
get_int(const TableSchema *schema, const char *key, int32 missing, int32 minimum)
{
	const char *value = schema_option(schema, key);
	char	   *end;
	long long	number;

	if (value == NULL)
		return missing;
	errno = 0;
	number = strtoll(value, &end, 10);
	if (errno != 0 || end == value || *skip_blanks(end) != '\0' || number > PG_INT32_MAX || number < PG_INT32_MIN)
		invalid_value(key, value, "an integer");
	if (number < minimum)
		invalid_value(key, value, psprintf("at least %d", minimum));
	return (int32) number;
}

static bool
get_bool(const TableSchema *schema, const char *key, bool missing)
{
	const char *value = schema_option(schema, key);

	if (value == NULL)
		return missing;
	if (pg_strcasecmp(value, "true") == 0)
		return true;
	if (pg_strcasecmp(value, "false") != 0)
		invalid_value(key, value, "\"true\" or \"false\"");
	return false;
}

static char *
get_text(const TableSchema *schema, const char *key, const char *missing)
{
	const char *value = schema_option(schema, key);

	if (value == NULL)
		value = missing;
	return value != NULL ? pstrdup(value) : NULL;
}

/* Names of formats and codecs: in any case, as Java takes them. */
static char *
get_name(const TableSchema *schema, const char *key, const char *missing)
{
	char	   *value = get_text(schema, key, missing);

	for (char *p = value; *p != '\0'; p++)
		*p = pg_ascii_tolower((unsigned char) *p);
	return value;
}

int32
option_int(const TableSchema *schema, const char *key, int32 missing, int32 minimum)
{
	return get_int(schema, key, missing, minimum);
}

bool
option_is_true(const TableSchema *schema, const char *key)
{
	return get_bool(schema, key, false);
}

static BucketFunction
parse_bucket_function(const TableSchema *schema)
{
	const char *value = schema_option(schema, "bucket-function.type");

	if (value == NULL || pg_strcasecmp(value, "default") == 0)
		return BUCKET_FUNCTION_DEFAULT;
	if (pg_strcasecmp(value, "mod") == 0)
		return BUCKET_FUNCTION_MOD;
	if (pg_strcasecmp(value, "hive") != 0)
		invalid_value("bucket-function.type", value, "\"default\", \"mod\" or \"hive\"");
	return BUCKET_FUNCTION_HIVE;
}

/* The positions of the columns that an option lists, NULL if it lists none. */
static int *
get_fields(const TableSchema *schema, const char *key, int *nfields)
{
	const char *value = schema_option(schema, key);
	List	   *names = value != NULL ? schema_split_names(value) : NIL;
	int		   *fields = NULL;
	ListCell   *lc;

	*nfields = 0;
	if (names != NIL)
		fields = palloc(list_length(names) * sizeof(int));
	foreach(lc, names)
	{
		int			field = schema_field(schema, lfirst(lc));

		if (field < 0)
			invalid_value(key, value, "a list of columns");
		fields[(*nfields)++] = field;
	}
	return fields;
}

/* The columns that are hashed: the option's, else the primary key without the partition. */
static void
parse_bucket_keys(const TableSchema *schema, TableOptions *options)
{
	options->bucket_keys = get_fields(schema, "bucket-key", &options->nbucket_keys);
	if (options->nbucket_keys == 0)
	{
		options->nbucket_keys = schema->ntrimmed_keys;
		options->bucket_keys = schema->trimmed_keys;
	}
}

static void
parse_buckets(const TableSchema *schema, TableOptions *options)
{
	options->buckets = get_int(schema, "bucket", -1, -2);
	options->bucket_function = parse_bucket_function(schema);
	if (options->buckets == 0)
		invalid_value("bucket", "0", "-1, or -2 (postponed), or a positive number");
	if (options->buckets > 0)
	{
		options->bucket_mode = BUCKET_FIXED;
		parse_bucket_keys(schema, options);
	}
	else if (options->buckets == -2)
		options->bucket_mode = BUCKET_POSTPONE;
	else
		options->bucket_mode = schema->nprimary_keys > 0 ? BUCKET_DYNAMIC : BUCKET_UNAWARE;
}

static MergeEngineKind
parse_merge_engine(const TableSchema *schema)
{
	static const char *const names[] = {
		[MERGE_DEDUPLICATE] = "deduplicate",
		[MERGE_PARTIAL_UPDATE] = "partial-update",
		[MERGE_AGGREGATION] = "aggregation",
		[MERGE_FIRST_ROW] = "first-row"
	};
	const char *value = schema_option(schema, "merge-engine");

	if (value == NULL)
		return MERGE_DEDUPLICATE;
	for (int i = 0; i < lengthof(names); i++)
		if (pg_strcasecmp(value, names[i]) == 0)
			return (MergeEngineKind) i;
	invalid_value("merge-engine", value, "\"deduplicate\", \"partial-update\", \"aggregation\" or \"first-row\"");
	return MERGE_DEDUPLICATE;	/* keep compiler quiet */
}

/* The first of the option's names that is given counts. */
static bool
parse_ignore_delete(const TableSchema *schema)
{
	static const char *const keys[] = {
		"ignore-delete", "first-row.ignore-delete", "deduplicate.ignore-delete", "partial-update.ignore-delete"
	};

	for (int i = 0; i < lengthof(keys); i++)
		if (schema_option(schema, keys[i]) != NULL)
			return get_bool(schema, keys[i], false);
	return false;
}

static int
parse_rowkind_field(const TableSchema *schema)
{
	const char *key = "rowkind.field";
	const char *name = schema_option(schema, key);
	int			field;

	if (name == NULL)
		return -1;
	field = schema_field(schema, name);
	if (field < 0 || !type_is_string(schema->fields[field].type))
		invalid_value(key, name, "a column of strings");
	return field;
}

static void
parse_merging(const TableSchema *schema, TableOptions *options)
{
	const char *key = "sequence.field";
	const char *order = schema_option(schema, "sequence.field.sort-order");

	options->merge_engine = parse_merge_engine(schema);
	options->ignore_delete = parse_ignore_delete(schema);
	options->ignore_update_before = get_bool(schema, "ignore-update-before", false);
	options->sequence_fields = get_fields(schema, key, &options->nsequence_fields);
	options->rowkind_field = parse_rowkind_field(schema);
	if (order != NULL)
	{
		options->sequence_descending = pg_strcasecmp(order, "descending") == 0;
		if (!options->sequence_descending && pg_strcasecmp(order, "ascending") != 0)
			invalid_value("sequence.field.sort-order", order, "\"ascending\" or \"descending\"");
	}
}

static void
parse_data_files(const TableSchema *schema, TableOptions *options)
{
	options->file_format = get_name(schema, "file.format", "parquet");
	options->file_compression = get_name(schema, "file.compression", "zstd");
	options->zstd_level = get_int(schema, "file.compression.zstd-level", 1, 1);
	options->target_file_size = get_memory(schema, "target-file-size",
										   schema->nprimary_keys > 0 ? 128 * MB : 256 * MB);
	options->data_file_prefix = get_text(schema, "data-file.prefix", "data-");
	options->data_path_directory = get_text(schema, "data-file.path-directory", NULL);
	options->thin_mode = get_bool(schema, "data-file.thin-mode", false);
	options->index_file_in_data_dir = get_bool(schema, "index-file-in-data-file-dir", false);
	options->data_evolution = get_bool(schema, "data-evolution.enabled", false);
	options->deletion_vectors = get_bool(schema, "deletion-vectors.enabled", false);
	options->partition_default_name = get_text(schema, "partition.default-name", "__DEFAULT_PARTITION__");
	options->partition_legacy_name = get_bool(schema, "partition.legacy-name", true);
	options->stats_dense_store = get_bool(schema, "metadata.stats-dense-store", true);
}

static void
parse_retention(const TableSchema *schema, TableOptions *options)
{
	options->snapshot_num_retained_min = get_int(schema, "snapshot.num-retained.min", 10, 1);
	options->snapshot_num_retained_max = get_int(schema, "snapshot.num-retained.max", PG_INT32_MAX, 1);
	options->snapshot_time_retained_ms = get_duration(schema, "snapshot.time-retained", "1 h");
	options->snapshot_expire_limit = get_int(schema, "snapshot.expire.limit", 50, 1);
	options->snapshot_clean_empty_directories = get_bool(schema, "snapshot.clean-empty-directories", false);
}

static void
parse_compaction(const TableSchema *schema, TableOptions *options)
{
	options->compaction_trigger = get_int(schema, "num-sorted-run.compaction-trigger", 5, 1);
	options->num_levels = get_int(schema, "num-levels", Min(options->compaction_trigger, PG_INT32_MAX - 1) + 1, 2);
	options->size_amplification_percent = get_int(schema, "compaction.max-size-amplification-percent", 200, 0);
	options->size_ratio = get_int(schema, "compaction.size-ratio", 1, 0);
	options->compaction_min_file_num = get_int(schema, "compaction.min.file-num", 5, 1);
	options->write_only = get_bool(schema, schema_option(schema, "write-only") != NULL ?
								   "write-only" : "write.compaction-skip", false);
}

TableOptions *
options_parse(const TableSchema *schema)
{
	TableOptions *options = palloc0(sizeof(TableOptions));

	parse_buckets(schema, options);
	parse_data_files(schema, options);
	parse_merging(schema, options);
	parse_retention(schema, options);
	parse_compaction(schema, options);

	options->manifest_compression = get_name(schema, "manifest.compression", "zstd");
	options->manifest_target_size = get_memory(schema, "manifest.target-file-size", 8 * MB);
	options->manifest_full_threshold = get_memory(schema, "manifest.full-compaction-threshold-size", 16 * MB);
	options->manifest_merge_min_count = get_int(schema, "manifest.merge-min-count", 30, 1);

	options->commit_max_retries = get_int(schema, "commit.max-retries", 10, 0);
	options->commit_min_retry_wait_ms = get_duration(schema, "commit.min-retry-wait", "10 ms");
	options->commit_max_retry_wait_ms = get_duration(schema, "commit.max-retry-wait", "10 s");
	return options;
}
