/*
 * travel.c
 *		Time travel: which snapshot options and streamhouse.as_of name.
 *
 * Options of a foreign table say what it shows once and for all; the setting
 * goes for all other tables; and what the lake table's own options say comes
 * last, since any reader of it sees that.
 *
 * Source: format digest section 13.2.
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "fdw/epoch.h"
#include "fdw/fdw.h"
#include "settings.h"

#define SETTING_NAME "setting \"streamhouse.as_of\""
#define WATERMARK_WORD "watermark"

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

/* The number in "watermark-5" or "watermark 5", NULL if it is not of that form. */
static const char *
watermark_of(const char *text)
{
	const char *number = text + strlen(WATERMARK_WORD);

	if (pg_strncasecmp(text, WATERMARK_WORD, strlen(WATERMARK_WORD)) != 0 || (*number != '-' && *number != ' '))
		return NULL;
	return number + 1;
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
	if (watermark_of(value) != NULL)
		return find_by_watermark(table, source, watermark_of(value));
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
