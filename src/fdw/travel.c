/*
 * travel.c
 *		Time travel: which snapshot options and streamhouse.as_of name.
 *
 * Options of a foreign table say what it shows once and for all; the setting
 * goes for all other tables; and what the lake table's own options say comes
 * last, since any reader of it sees that.
 *
 * Or the changes between two snapshots are shown, where options ask for them.
 *
 * Source: format digest sections 13.2 and 13.4.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/pg_lsn.h"
#include "utils/timestamp.h"

#include "fdw/epoch.h"
#include "fdw/fdw.h"
#include "fdw/source_position.h"
#include "lake/incremental.h"
#include "settings.h"

#define SETTING_NAME "setting \"streamhouse.as_of\""
#define WATERMARK_WORD "watermark"
#define POSITION_WORD "lsn"

/* A way to name a snapshot */
typedef struct TravelOption
{
	const char *key;
	const LakeSnapshot *(*find) (const LakeTable *table, const char *source, const char *value);
} TravelOption;

bool
is_time_travelling(void)
{
	return setting_as_of != NULL && setting_as_of[0] != '\0';
}

typedef struct TimeContext
{
	const char *source;
	const char *table;
} TimeContext;

static void
time_error_context(void *arg)
{
	TimeContext *context = arg;

	errcontext("%s, where table \"%s\" has neither a tag nor a snapshot of that name", context->source, context->table);
}

/* Milliseconds since 1970 of a time as SQL reads it. */
static int64
parse_time(const LakeTable *table, const char *source, const char *text)
{
	ErrorContextCallback callback;
	TimeContext context = {source, table->name};
	TimestampTz time;

	callback.callback = time_error_context;
	callback.arg = &context;
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	time = DatumGetTimestampTz(DirectFunctionCall3(timestamptz_in, CStringGetDatum(text),
												   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1)));
	error_context_stack = callback.previous;

	if (TIMESTAMP_NOT_FINITE(time))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s cannot be infinity", source)));
	return (int64) floor_divide((int128) time + EPOCH_MICROS, MICROS_PER_MILLI);
}

static const LakeSnapshot *
at_millis(const LakeTable *table, int64 millis, const char *text)
{
	const LakeSnapshot *snapshot = snapshot_load_at_time(table->branch_location, millis);

	if (snapshot == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("table \"%s\" has no snapshot as of \"%s\"", table->name, text),
				 errdetail("The time is before its earliest snapshot.")));
	return snapshot;
}

static const LakeSnapshot *
find_by_time(const LakeTable *table, const char *source, const char *value)
{
	return at_millis(table, parse_time(table, source, value), value);
}

static const LakeSnapshot *
find_by_millis(const LakeTable *table, const char *source, const char *value)
{
	return at_millis(table, pg_strtoint64(value), value);
}

static const LakeSnapshot *
find_by_id(const LakeTable *table, const char *source, const char *value)
{
	int64		id = pg_strtoint64(value);
	const LakeSnapshot *snapshot = snapshot_load(table->branch_location, id, true);

	if (snapshot == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("table \"%s\" has no snapshot %s", table->name, value),
				 errdetail("Its snapshots are " INT64_FORMAT " to " INT64_FORMAT ".",
						   snapshot_earliest_id(table->branch_location),
						   snapshot_latest_id(table->branch_location))));
	return snapshot;
}

static const LakeSnapshot *
find_by_watermark(const LakeTable *table, const char *source, const char *value)
{
	const LakeSnapshot *snapshot = snapshot_load_at_watermark(table->branch_location, pg_strtoint64(value));

	if (snapshot == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("table \"%s\" has no snapshot with watermark %s", table->name, value),
				 errdetail("The watermark of its newest snapshot, if it has one, is lower.")));
	return snapshot;
}

static const LakeSnapshot *
find_by_tag(const LakeTable *table, const char *source, const char *value)
{
	const LakeSnapshot *snapshot = snapshot_load_tag(table->branch_location, value, true);

	if (snapshot == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("table \"%s\" has no tag \"%s\"", table->name, value)));
	return snapshot;
}

static const LakeSnapshot *
find_by_position(const LakeTable *table, const char *source, const char *value)
{
	return snapshot_at_source_position(table, DatumGetLSN(DirectFunctionCall1(pg_lsn_in, CStringGetDatum(value))));
}

/* What follows the word in "word-5" or "word 5", NULL if it is not of that form. */
static const char *
text_after(const char *word, const char *text)
{
	const char *rest = text + strlen(word);

	if (pg_strncasecmp(text, word, strlen(word)) != 0 || (*rest != '-' && *rest != ' '))
		return NULL;
	return rest + 1;
}

/* As Paimon has it, a tag goes before a snapshot's id; other texts are times. */
static const LakeSnapshot *
find_by_version(const LakeTable *table, const char *source, const char *value)
{
	/* a tag's name is a file's name */
	if (strchr(value, '/') == NULL)
	{
		const LakeSnapshot *tagged = snapshot_load_tag(table->branch_location, value, true);

		if (tagged != NULL)
			return tagged;
	}
	if (text_after(WATERMARK_WORD, value) != NULL)
		return find_by_watermark(table, source, text_after(WATERMARK_WORD, value));
	if (text_after(POSITION_WORD, value) != NULL)
		return find_by_position(table, source, text_after(POSITION_WORD, value));
	if (strspn(value, "0123456789") == strlen(value))
		return find_by_id(table, source, value);
	return find_by_time(table, source, value);
}

static const TravelOption travel_options[] = {
	{"scan.snapshot-id", find_by_id},
	{"scan.tag-name", find_by_tag},
	{"scan.timestamp", find_by_time},
	{"scan.timestamp-millis", find_by_millis},
	{"scan.version", find_by_version},
	{"scan.watermark", find_by_watermark},
};

/* The snapshot that one of the options names, NULL if none does. */
static const LakeSnapshot *
snapshot_of_options(const LakeTable *table, List *options)
{
	const LakeSnapshot *snapshot = NULL;
	const char *key = NULL;
	ListCell   *lc;

	foreach(lc, options)
	{
		const OptionPair *option = lfirst(lc);

		for (int i = 0; i < lengthof(travel_options); i++)
		{
			if (strcmp(travel_options[i].key, option->key) != 0)
				continue;
			if (key != NULL)
				ereport(ERROR,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("options \"%s\" and \"%s\" exclude each other", key, option->key)));
			key = option->key;
			snapshot = travel_options[i].find(table, psprintf("option \"%s\"", key), option->value);
		}
	}
	return snapshot;
}

const LakeSnapshot *
travel_snapshot(const LakeTable *table, List *read_options)
{
	const LakeSnapshot *snapshot = snapshot_of_options(table, read_options);

	if (snapshot == NULL && is_time_travelling())
		snapshot = find_by_version(table, SETTING_NAME, setting_as_of);
	if (snapshot == NULL)
		snapshot = snapshot_of_options(table, table->schema->options);
	return snapshot;
}

/* Of the foreign table, else of the lake table. */
static const char *
read_option(const LakeTable *table, List *read_options, const char *key)
{
	ListCell   *lc;

	foreach(lc, read_options)
	{
		const OptionPair *option = lfirst(lc);

		if (strcmp(option->key, key) == 0)
			return option->value;
	}
	return schema_option(table->schema, key);
}

/* "a,b" as two texts. */
static void
split_pair(const char *key, const char *value, char **first, char **second)
{
	List	   *parts = schema_split_names(value);

	if (list_length(parts) != 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option \"%s\": \"%s\"", key, value),
				 errdetail("Expected are two snapshots, with a comma in between.")));
	*first = linitial(parts);
	*second = lsecond(parts);
}

static bool
is_number(const char *text)
{
	return *text != '\0' && strspn(text, "0123456789") == strlen(text);
}

/* The id of the newest snapshot at a time, that before the earliest when there is none. */
static int64
snapshot_id_at(const LakeTable *table, const char *source, const char *text)
{
	int64		millis = is_number(text) ? pg_strtoint64(text) : parse_time(table, source, text);
	const LakeSnapshot *snapshot = snapshot_load_at_time(table->branch_location, millis);

	return snapshot != NULL ? snapshot->id : snapshot_earliest_id(table->branch_location) - 1;
}

static void
check_range(const LakeTable *table, const Incremental *incremental)
{
	int64		earliest = snapshot_earliest_id(table->branch_location);
	int64		latest = snapshot_latest_id(table->branch_location);

	if (incremental->start_id > incremental->end_id)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("changes of table \"%s\" cannot be read backward", table->name),
				 errdetail("Snapshot " INT64_FORMAT " is older than " INT64_FORMAT ".",
						   incremental->end_id, incremental->start_id)));
	if (incremental->start_id < earliest - 1 || incremental->end_id > latest)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("table \"%s\" has not all snapshots after " INT64_FORMAT " up to " INT64_FORMAT,
						table->name, incremental->start_id, incremental->end_id),
				 errdetail("Its snapshots are " INT64_FORMAT " to " INT64_FORMAT ".", earliest, latest)));
}

static void
set_mode(const LakeTable *table, List *read_options, Incremental *incremental)
{
	const char *key = "incremental-between-scan-mode";
	const char *mode = read_option(table, read_options, key);
	const char *producer = schema_option(table->schema, "changelog-producer");

	if (mode == NULL || pg_strcasecmp(mode, "auto") == 0)
		incremental->mode = producer == NULL || pg_strcasecmp(producer, "none") == 0 ?
			INCREMENTAL_DELTA : INCREMENTAL_CHANGELOG;
	else if (pg_strcasecmp(mode, "delta") == 0)
		incremental->mode = INCREMENTAL_DELTA;
	else if (pg_strcasecmp(mode, "changelog") == 0)
		incremental->mode = INCREMENTAL_CHANGELOG;
	else if (pg_strcasecmp(mode, "diff") == 0)
		incremental->mode = INCREMENTAL_DIFF;
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option \"%s\": \"%s\"", key, mode),
				 errhint("Supported: auto, delta, changelog, diff.")));
	if (incremental->mode != INCREMENTAL_DIFF)
		return;
	incremental->end = snapshot_load(table->branch_location, incremental->end_id, false);
	if (incremental->start_id > 0)
		incremental->start = snapshot_load(table->branch_location, incremental->start_id, false);
}

/* Two tags are always compared; two ids may be. */
static void
set_between(const LakeTable *table, List *read_options, const char *value, Incremental *incremental)
{
	const char *key = "incremental-between";
	char	   *first;
	char	   *second;

	split_pair(key, value, &first, &second);
	if (strchr(value, '/') == NULL)
	{
		incremental->start = snapshot_load_tag(table->branch_location, first, true);
		incremental->end = snapshot_load_tag(table->branch_location, second, true);
	}
	if (incremental->start != NULL && incremental->end != NULL)
	{
		incremental->mode = INCREMENTAL_DIFF;
		if (incremental->start->id > incremental->end->id)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("changes of table \"%s\" cannot be read backward", table->name),
					 errdetail("Tag \"%s\" is older than \"%s\".", second, first)));
		return;
	}
	if (!is_number(first) || !is_number(second))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for option \"%s\": \"%s\"", key, value),
				 errdetail("Table \"%s\" has not both tags, and they are not both ids of snapshots.", table->name)));
	incremental->start = incremental->end = NULL;
	incremental->start_id = pg_strtoint64(first);
	incremental->end_id = pg_strtoint64(second);
	check_range(table, incremental);
	set_mode(table, read_options, incremental);
}

const Incremental *
travel_incremental(const LakeTable *table, List *read_options)
{
	const char *time_key = "incremental-between-timestamp";
	const char *between = read_option(table, read_options, "incremental-between");
	const char *times = read_option(table, read_options, time_key);
	Incremental *incremental;
	MemoryContext old;
	char	   *first;
	char	   *second;

	if (between == NULL && times == NULL)
		return NULL;
	old = MemoryContextSwitchTo(table->context);
	incremental = palloc0(sizeof(Incremental));
	if (between != NULL)
		set_between(table, read_options, between, incremental);
	else
	{
		split_pair(time_key, times, &first, &second);
		incremental->start_id = snapshot_id_at(table, psprintf("option \"%s\"", time_key), first);
		incremental->end_id = snapshot_id_at(table, psprintf("option \"%s\"", time_key), second);
		check_range(table, incremental);
		set_mode(table, read_options, incremental);
	}
	MemoryContextSwitchTo(old);
	return incremental;
}
