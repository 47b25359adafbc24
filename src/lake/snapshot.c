/*
 * snapshot.c
 *		Snapshot files, their hints, and tags.
 *
 * Source: format digest sections 1, 3 and 9.2.
 */
#include "postgres.h"

#include "format/json.h"
#include "lake/path.h"
#include "lake/snapshot.h"
#include "miscadmin.h"
#include "storage/storage.h"
#include "utils/memutils.h"

#define SNAPSHOT_VERSION			3
#define MAX_SNAPSHOT_FILE_SIZE		(16 * 1024 * 1024)
#define MAX_HINT_FILE_SIZE			1024
#define HINT_TRIES					3

static const char *const kind_names[] = {
	[COMMIT_APPEND] = "APPEND",
	[COMMIT_COMPACT] = "COMPACT",
	[COMMIT_OVERWRITE] = "OVERWRITE",
	[COMMIT_ANALYZE] = "ANALYZE",
};

const char *
commit_kind_name(CommitKind kind)
{
	return kind_names[kind];
}

static CommitKind
parse_commit_kind(const char *name, const char *path)
{
	for (int i = 0; i < lengthof(kind_names); i++)
	{
		if (strcmp(kind_names[i], name) == 0)
			return i;
	}
	json_error(path, "Field \"commitKind\" is unknown: \"%s\".", name);
}

static List *
parse_properties(const JsonNode *document, const char *path)
{
	JsonNode   *object = json_get(document, "properties");
	List	   *properties = NIL;

	if (object == NULL)
		return NIL;
	if (object->kind != JSON_NODE_OBJECT)
		json_error(path, "Field \"properties\" is not an object.");

	for (int i = 0; i < list_length(object->names); i++)
	{
		const char *name = list_nth(object->names, i);
		JsonNode   *value = list_nth(object->children, i);

		if (value->kind != JSON_NODE_STRING)
			json_error(path, "Property \"%s\" is not a string.", name);
		properties = lappend(properties, option_pair_make(name, value->text));
	}
	return properties;
}

static int64
require_int64(const JsonNode *document, const char *name, const char *path)
{
	json_require(document, name, JSON_NODE_NUMBER, path);
	return json_get_int64(document, name, 0, path);
}

LakeSnapshot *
snapshot_parse(const char *json, size_t length, const char *path)
{
	JsonNode   *document = json_parse_object(json, length, path);
	LakeSnapshot *snapshot = palloc0(sizeof(LakeSnapshot));
	int32		version = json_get_int32(document, "version", 1, path);

	if (version > SNAPSHOT_VERSION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("snapshot \"%s\" is of version %d, which is not supported", path, version)));

	snapshot->id = require_int64(document, "id", path);
	snapshot->schema_id = require_int64(document, "schemaId", path);
	snapshot->base_manifest_list = json_get_string(document, "baseManifestList", true, path);
	snapshot->base_manifest_list_size = json_get_int64(document, "baseManifestListSize", -1, path);
	snapshot->delta_manifest_list = json_get_string(document, "deltaManifestList", true, path);
	snapshot->delta_manifest_list_size = json_get_int64(document, "deltaManifestListSize", -1, path);
	snapshot->changelog_manifest_list = json_get_string(document, "changelogManifestList", false, path);
	snapshot->changelog_manifest_list_size = json_get_int64(document, "changelogManifestListSize", -1, path);
	snapshot->index_manifest = json_get_string(document, "indexManifest", false, path);
	snapshot->commit_user = json_get_string(document, "commitUser", true, path);
	snapshot->commit_identifier = json_get_int64(document, "commitIdentifier", 0, path);
	snapshot->commit_kind = parse_commit_kind(json_get_string(document, "commitKind", true, path), path);
	snapshot->time_millis = json_get_int64(document, "timeMillis", 0, path);
	snapshot->total_record_count = json_get_int64(document, "totalRecordCount", 0, path);
	snapshot->delta_record_count = json_get_int64(document, "deltaRecordCount", 0, path);
	snapshot->has_changelog_record_count = json_get(document, "changelogRecordCount") != NULL;
	snapshot->changelog_record_count = json_get_int64(document, "changelogRecordCount", 0, path);
	snapshot->has_watermark = json_get(document, "watermark") != NULL;
	snapshot->watermark = json_get_int64(document, "watermark", 0, path);
	snapshot->statistics = json_get_string(document, "statistics", false, path);
	snapshot->properties = parse_properties(document, path);
	snapshot->has_next_row_id = json_get(document, "nextRowId") != NULL;
	snapshot->next_row_id = json_get_int64(document, "nextRowId", 0, path);
	return snapshot;
}

static void
add_manifest_list(JsonNode *document, const char *name, const char *list, const char *size_name, int64 size)
{
	json_add_string(document, name, list);
	if (size >= 0)
		json_add_int64(document, size_name, size);
}

char *
snapshot_to_json(const LakeSnapshot *snapshot)
{
	JsonNode   *document = json_make(JSON_NODE_OBJECT);
	ListCell   *lc;

	json_add_int64(document, "version", SNAPSHOT_VERSION);
	json_add_int64(document, "id", snapshot->id);
	json_add_int64(document, "schemaId", snapshot->schema_id);
	add_manifest_list(document, "baseManifestList", snapshot->base_manifest_list,
					  "baseManifestListSize", snapshot->base_manifest_list_size);
	add_manifest_list(document, "deltaManifestList", snapshot->delta_manifest_list,
					  "deltaManifestListSize", snapshot->delta_manifest_list_size);
	if (snapshot->changelog_manifest_list != NULL)
		add_manifest_list(document, "changelogManifestList", snapshot->changelog_manifest_list,
						  "changelogManifestListSize", snapshot->changelog_manifest_list_size);
	if (snapshot->index_manifest != NULL)
		json_add_string(document, "indexManifest", snapshot->index_manifest);
	json_add_string(document, "commitUser", snapshot->commit_user);
	json_add_int64(document, "commitIdentifier", snapshot->commit_identifier);
	json_add_string(document, "commitKind", commit_kind_name(snapshot->commit_kind));
	json_add_int64(document, "timeMillis", snapshot->time_millis);
	json_add_int64(document, "totalRecordCount", snapshot->total_record_count);
	json_add_int64(document, "deltaRecordCount", snapshot->delta_record_count);
	if (snapshot->has_changelog_record_count)
		json_add_int64(document, "changelogRecordCount", snapshot->changelog_record_count);
	if (snapshot->has_watermark)
		json_add_int64(document, "watermark", snapshot->watermark);
	if (snapshot->statistics != NULL)
		json_add_string(document, "statistics", snapshot->statistics);
	if (snapshot->properties != NIL)
	{
		JsonNode   *properties = json_make(JSON_NODE_OBJECT);

		foreach(lc, snapshot->properties)
		{
			OptionPair *property = lfirst(lc);

			json_add_string(properties, property->key, property->value);
		}
		json_add(document, "properties", properties);
	}
	json_add_int64(document, "nextRowId", snapshot->next_row_id);
	return json_to_text(document);
}

/* Ids and hints */

/* The number in a hint file, 0 when there is none that can be read. */
static int64
read_hint(const char *table_location, const char *name)
{
	char	   *path = psprintf("%s/snapshot/%s", table_location, name);

	for (int try = 0; try < HINT_TRIES; try++)
	{
		size_t		length;
		char	   *text = storage_read_whole(path, MAX_HINT_FILE_SIZE, true, &length);
		char	   *end;
		int64		id;

		if (text == NULL)
			return 0;

		errno = 0;
		id = strtoll(text, &end, 10);
		while (*end == '\n' || *end == '\r')
			end++;
		if (errno == 0 && end != text && *end == '\0')
			return id;
	}
	return 0;
}

/*
 * A hint is nothing but an optimisation: failing to write it, or a request to
 * cancel meanwhile, must not fail a commit that is already published.
 */
static void
write_hint(const char *table_location, const char *name, int64 id)
{
	MemoryContext old = CurrentMemoryContext;
	MemoryContext context = AllocSetContextCreate(old, "snapshot hint", ALLOCSET_SMALL_SIZES);
	char	   *path = psprintf("%s/snapshot/%s", table_location, name);
	char	   *text = psprintf("%lld", (long long) id);
	uint32		holdoff = InterruptHoldoffCount;
	volatile bool done = false;

	for (volatile int try = 1; !done && try <= HINT_TRIES; try++)
	{
		HOLD_INTERRUPTS();
		MemoryContextSwitchTo(context);
		PG_TRY();
		{
			storage_replace(path, text, strlen(text));
			done = true;
		}
		PG_CATCH();
		{
			MemoryContextSwitchTo(context);
			if (try == HINT_TRIES)
			{
				ErrorData  *error = CopyErrorData();

				ereport(LOG,
						(errmsg("could not write hint file \"%s\": %s", path, error->message)));
			}
			FlushErrorState();
		}
		PG_END_TRY();
		/* leaves no half-written file behind */
		MemoryContextSwitchTo(old);
		MemoryContextReset(context);
		InterruptHoldoffCount = holdoff;	/* an error has reset it */
	}
	MemoryContextDelete(context);
}

static bool
snapshot_exists(const char *table_location, int64 id)
{
	return storage_exists(snapshot_path(table_location, id));
}

/* As Java: the hint counts unless its successor exists; the hinted file itself is not looked for. */
int64
snapshot_latest_id(const char *table_location)
{
	int64		hint = read_hint(table_location, "LATEST");
	int64	   *ids;
	int			n;

	if (hint > 0 && hint < PG_INT64_MAX && !snapshot_exists(table_location, hint + 1))
		return hint;
	ids = list_numbered_files(table_location, "snapshot", "snapshot-", &n);
	return n > 0 ? ids[n - 1] : 0;
}

int64
snapshot_earliest_id(const char *table_location)
{
	int64		hint = read_hint(table_location, "EARLIEST");
	int64	   *ids;
	int			n;

	if (hint > 0 && snapshot_exists(table_location, hint))
		return hint;
	ids = list_numbered_files(table_location, "snapshot", "snapshot-", &n);
	return n > 0 ? ids[0] : 0;
}

void
snapshot_write_earliest_hint(const char *table_location, int64 id)
{
	write_hint(table_location, "EARLIEST", id);
}

/* Loading */

static LakeSnapshot *
load_snapshot_file(const char *path, bool missing_ok)
{
	size_t		length;
	char	   *json = storage_read_whole(path, MAX_SNAPSHOT_FILE_SIZE, missing_ok, &length);

	return json != NULL ? snapshot_parse(json, length, path) : NULL;
}

LakeSnapshot *
snapshot_load(const char *table_location, int64 id, bool missing_ok)
{
	char	   *path = snapshot_path(table_location, id);
	LakeSnapshot *snapshot = load_snapshot_file(path, missing_ok);

	if (snapshot != NULL && snapshot->id != id)
		json_error(path, "The snapshot's id is %lld.", (long long) snapshot->id);
	return snapshot;
}

LakeSnapshot *
snapshot_load_latest(const char *table_location)
{
	int64		id = snapshot_latest_id(table_location);

	return id > 0 ? snapshot_load(table_location, id, false) : NULL;
}

LakeSnapshot *
snapshot_load_tag(const char *table_location, const char *tag, bool missing_ok)
{
	LakeSnapshot *snapshot = load_snapshot_file(tag_path(table_location, tag), true);

	if (snapshot == NULL && !missing_ok)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("tag \"%s\" of table \"%s\" does not exist", tag, table_location)));
	return snapshot;
}

/*
 * Times do not decrease from one snapshot to the next, so that halving finds
 * the newest that is not too new.  A snapshot that expires meanwhile counts as
 * too old.
 */
LakeSnapshot *
snapshot_load_at_time(const char *table_location, int64 time_millis)
{
	int64		low = snapshot_earliest_id(table_location);
	int64		high = snapshot_latest_id(table_location);
	LakeSnapshot *found = NULL;

	if (low == 0)
		return NULL;
	while (low <= high)
	{
		int64		middle = low + (high - low) / 2;
		LakeSnapshot *snapshot = snapshot_load(table_location, middle, true);

		CHECK_FOR_INTERRUPTS();
		if (snapshot != NULL && snapshot->time_millis > time_millis)
			high = middle - 1;
		else
		{
			if (snapshot != NULL)
				found = snapshot;
			low = middle + 1;
		}
	}
	return found;
}

/* Watermarks do not decrease either; early snapshots may have none. */
LakeSnapshot *
snapshot_load_at_watermark(const char *table_location, int64 watermark)
{
	int64		low = snapshot_earliest_id(table_location);
	int64		high = snapshot_latest_id(table_location);
	LakeSnapshot *found = NULL;

	if (low == 0)
		return NULL;
	while (low <= high)
	{
		int64		middle = low + (high - low) / 2;
		LakeSnapshot *snapshot = snapshot_load(table_location, middle, true);

		CHECK_FOR_INTERRUPTS();
		if (snapshot != NULL && snapshot->has_watermark && snapshot->watermark >= watermark)
		{
			found = snapshot;
			high = middle - 1;
		}
		else
			low = middle + 1;
	}
	return found;
}

const char *
snapshot_property(const LakeSnapshot *snapshot, const char *key)
{
	return option_pair_value(snapshot->properties, key);
}

bool
snapshot_overwritten_since(const char *table_location, const LakeSnapshot *latest, int64 since)
{
	for (int64 id = since + 1; latest != NULL && id <= latest->id; id++)
	{
		const LakeSnapshot *snapshot = id == latest->id ? latest : snapshot_load(table_location, id, true);

		if (snapshot == NULL || snapshot->commit_kind == COMMIT_OVERWRITE)
			return true;
	}
	return false;
}

LakeSnapshot *
snapshot_latest_of_user(const char *table_location, const char *commit_user, int64 stop_id)
{
	int64		id = snapshot_latest_id(table_location);
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext, "snapshots of a user", ALLOCSET_SMALL_SIZES);
	bool		found = false;

	for (; id > Max(stop_id, 0) && !found; id--)
	{
		MemoryContext old = MemoryContextSwitchTo(scratch);
		LakeSnapshot *snapshot = snapshot_load(table_location, id, true);

		CHECK_FOR_INTERRUPTS();
		found = snapshot != NULL && strcmp(snapshot->commit_user, commit_user) == 0;
		MemoryContextSwitchTo(old);
		/* ids have no gaps: the rest has expired */
		if (snapshot == NULL)
			break;
		MemoryContextReset(scratch);
	}
	MemoryContextDelete(scratch);
	return found ? snapshot_load(table_location, id + 1, true) : NULL;
}

/* Publishing */

/*
 * A Java process on the same disk checks for the file and then renames over
 * it, so that it may replace ours within a moment.  Reading it again tells.
 */
static bool
is_still_ours(const char *path, const char *json, size_t length)
{
	size_t		found_length;
	char	   *found = storage_read_whole(path, MAX_SNAPSHOT_FILE_SIZE, true, &found_length);

	return found != NULL && found_length == length && memcmp(found, json, length) == 0;
}

/*
 * Once the file is there others may build on it, so whatever goes wrong then
 * must not look like a commit that failed: its data files would be removed.
 */
static bool
verify_publication(const char *path, const char *json, size_t length)
{
	MemoryContext context = CurrentMemoryContext;
	volatile bool ours = false;

	HOLD_INTERRUPTS();
	PG_TRY();
	{
		ours = is_still_ours(path, json, length);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		ereport(ERROR,
				(errcode(ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN),
				 errmsg("outcome of publishing \"%s\" is unknown", path),
				 errdetail("The file was written but could not be read again: %s.", error->message)));
	}
	PG_END_TRY();
	RESUME_INTERRUPTS();
	return ours;
}

bool
snapshot_publish(const char *table_location, const LakeSnapshot *snapshot)
{
	char	   *path = snapshot_path(table_location, snapshot->id);
	char	   *json = snapshot_to_json(snapshot);
	size_t		length = strlen(json);

	if (!storage_publish(path, json, length) || !verify_publication(path, json, length))
		return false;
	write_hint(table_location, "LATEST", snapshot->id);
	return true;
}
