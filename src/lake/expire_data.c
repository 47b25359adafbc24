/*
 * expire_data.c
 *		Removing data files that no snapshot or tag shows any more.
 *
 * Source: format digest section 9.6, steps 1 and 2.  A file is deleted by the
 * snapshot that has its DELETE entry, unless the same commit adds the path
 * again (a file that only moved to another level).  Tags go on showing files:
 * the newest tag before the deleting snapshot tells which.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "lake/expire_data.h"
#include "lake/name_set.h"
#include "lake/path.h"
#include "lake/plan.h"
#include "miscadmin.h"
#include "storage/storage.h"
#include "utils/memutils.h"

/* A path that a delta deletes, and the files beside it that go with it. */
typedef struct DeletedItem
{
	const char *path;
	List	   *extra_paths;	/* char * */
	uint32		hash;
	char		status;
} DeletedItem;

#define SH_PREFIX deleted_table
#define SH_ELEMENT_TYPE DeletedItem
#define SH_KEY_TYPE const char *
#define SH_KEY path
#define SH_HASH_KEY(table, key) hash_bytes((const unsigned char *) (key), (int) strlen(key))
#define SH_EQUAL(table, a, b) (strcmp(a, b) == 0)
#define SH_STORE_HASH
#define SH_GET_HASH(table, item) (item)->hash
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct DataExpiration
{
	MemoryContext context;
	LakeTable  *table;
	List	   *tags;			/* LakeSnapshot *, ascending */
	int64		removed;
	/* paths of the files that one tag shows */
	MemoryContext tag_context;
	int64		tag_id;			/* 0: none loaded */
	NameSet    *tag_paths;
	/* folders that files were removed from; NULL when empty ones may stay */
	NameSet    *folder_set;
	List	   *folders;		/* char * */
	/* of the delta that is being read */
	MemoryContext delta_context;
	deleted_table_hash *deleted;
};

DataExpiration *
data_expiration_begin(LakeTable *table, List *tags)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "lake data expiration",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	DataExpiration *expiration = (DataExpiration *) palloc0(sizeof(DataExpiration));

	expiration->context = context;
	expiration->table = table;
	expiration->tags = tags;
	expiration->tag_context = AllocSetContextCreate(context, "lake tag files", ALLOCSET_DEFAULT_SIZES);
	expiration->delta_context = AllocSetContextCreate(context, "lake expired delta", ALLOCSET_DEFAULT_SIZES);
	if (table->options->snapshot_clean_empty_directories)
		expiration->folder_set = name_set_create();
	MemoryContextSwitchTo(old);
	return expiration;
}

/* The folder that a file lies in. */
static char *
folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return pnstrdup(path, slash - path);
}

/* A path that may be removed: one below the table's own folder. */
static char *
path_to_remove(const LakeTable *table, const ManifestEntry *entry)
{
	if (entry->file->external_path != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("snapshots of lake table \"%s\" cannot be expired: files outside its folder are not supported",
						table->name),
				 errdetail("There is a data file \"%s\".", entry->file->external_path)));
	return lake_data_file_path(table, entry->partition, entry->bucket, entry->file);
}

static List *
extra_paths(const LakeTable *table, const ManifestEntry *entry, const char *path)
{
	char	   *folder = folder_of(path);
	List	   *paths = NIL;
	ListCell   *lc;

	foreach(lc, entry->file->extra_files)
	{
		const char *name = (const char *) lfirst(lc);

		if (!path_step_is_safe(name))
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("metadata of lake table \"%s\" has an invalid file name \"%s\"", table->name, name)));
		paths = lappend(paths, storage_join(folder, name));
	}
	return paths;
}

/* An entry of a delta, in order: DELETE puts its path down, ADD takes it away. */
static void
note_entry(const ManifestEntry *entry, void *arg)
{
	DataExpiration *expiration = (DataExpiration *) arg;
	MemoryContext old = MemoryContextSwitchTo(expiration->delta_context);
	char	   *path = path_to_remove(expiration->table, entry);

	if (entry->kind == FILE_ADD)
		deleted_table_delete(expiration->deleted, path);
	else
	{
		bool		found;
		DeletedItem *item = deleted_table_insert(expiration->deleted, path, &found);

		item->extra_paths = extra_paths(expiration->table, entry, path);
	}
	MemoryContextSwitchTo(old);
}

/* The opposite, for changelog manifests: all files they add are to go. */
static void
note_changelog_entry(const ManifestEntry *entry, void *arg)
{
	ManifestEntry deleted = *entry;

	if (entry->kind != FILE_ADD)
		return;
	deleted.kind = FILE_DELETE;
	note_entry(&deleted, arg);
}

bool
manifest_list_read_if_there(const char *table_location, const char *name, int64 size, List **manifests)
{
	*manifests = NIL;
	if (!storage_exists(manifest_path(table_location, name)))
		return false;
	*manifests = manifest_list_read(table_location, name, size);
	return true;
}

/*
 * Collect what the manifests of a list delete.  False, and nothing is to be
 * removed, when not all of them are there.
 */
static bool
collect_deleted(DataExpiration *expiration, const char *list_name, int64 list_size, ManifestEntryCallback callback)
{
	const char *location = expiration->table->location;
	List	   *manifests;
	ListCell   *lc;

	if (!manifest_list_read_if_there(location, list_name, list_size, &manifests))
		return false;
	foreach(lc, manifests)
	{
		const ManifestFileMeta *manifest = (const ManifestFileMeta *) lfirst(lc);

		CHECK_FOR_INTERRUPTS();
		if (!storage_exists(manifest_path(location, manifest->file_name)))
			return false;
		manifest_read(location, manifest, callback, expiration);
	}
	return true;
}

/* Load the paths that the newest tag before a snapshot shows. */
static void
load_tag_before(DataExpiration *expiration, int64 snapshot_id)
{
	const LakeSnapshot *tag = NULL;
	MemoryContext scan_context;
	MemoryContext old;
	List	   *entries;
	ListCell   *lc;

	foreach(lc, expiration->tags)
	{
		if (((const LakeSnapshot *) lfirst(lc))->id < snapshot_id)
			tag = (const LakeSnapshot *) lfirst(lc);
	}
	if (tag == NULL || tag->id == expiration->tag_id)
		return;
	MemoryContextReset(expiration->tag_context);
	expiration->tag_id = 0;
	old = MemoryContextSwitchTo(expiration->tag_context);
	expiration->tag_paths = name_set_create();
	scan_context = AllocSetContextCreate(expiration->context, "lake tag scan", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(scan_context);
	entries = scan_live_entries(expiration->table, tag, NULL, NULL);
	foreach(lc, entries)
	{
		const ManifestEntry *entry = (const ManifestEntry *) lfirst(lc);

		name_set_add(expiration->tag_paths,
					 lake_data_file_path(expiration->table, entry->partition, entry->bucket, entry->file));
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(scan_context);
	expiration->tag_id = tag->id;
}

static void
remove_file(DataExpiration *expiration, const char *path)
{
	if (storage_remove(path, true))
		expiration->removed++;
}

/* Remember a folder that may be empty now. */
static void
note_folder(DataExpiration *expiration, const char *path)
{
	char	   *folder;

	if (expiration->folder_set == NULL)
		return;
	folder = folder_of(path);
	if (name_set_add(expiration->folder_set, folder))
	{
		MemoryContext old = MemoryContextSwitchTo(expiration->context);

		expiration->folders = lappend(expiration->folders, pstrdup(folder));
		MemoryContextSwitchTo(old);
	}
}

/* Remove what was collected, but for the paths kept. */
static void
remove_collected(DataExpiration *expiration, NameSet *kept)
{
	deleted_table_iterator iterator;
	DeletedItem *item;

	deleted_table_start_iterate(expiration->deleted, &iterator);
	while ((item = deleted_table_iterate(expiration->deleted, &iterator)) != NULL)
	{
		ListCell   *lc;

		CHECK_FOR_INTERRUPTS();
		if (kept != NULL && name_set_contains(kept, item->path))
			continue;
		remove_file(expiration, item->path);
		foreach(lc, item->extra_paths)
			remove_file(expiration, (const char *) lfirst(lc));
		note_folder(expiration, item->path);
	}
}

/* Begin to collect paths; the caller switches back and resets. */
static MemoryContext
begin_delta(DataExpiration *expiration)
{
	MemoryContext old = MemoryContextSwitchTo(expiration->delta_context);

	expiration->deleted = deleted_table_create(expiration->delta_context, 64, NULL);
	return old;
}

static void
end_delta(DataExpiration *expiration, MemoryContext old)
{
	MemoryContextSwitchTo(old);
	MemoryContextReset(expiration->delta_context);
	expiration->deleted = NULL;
}

void
data_expiration_remove_deleted(DataExpiration *expiration, const LakeSnapshot *snapshot)
{
	MemoryContext old;

	load_tag_before(expiration, snapshot->id);
	old = begin_delta(expiration);
	if (collect_deleted(expiration, snapshot->delta_manifest_list, snapshot->delta_manifest_list_size, note_entry))
		remove_collected(expiration, expiration->tag_id != 0 ? expiration->tag_paths : NULL);
	end_delta(expiration, old);
}

void
data_expiration_remove_changelog(DataExpiration *expiration, const LakeSnapshot *snapshot)
{
	MemoryContext old;

	if (snapshot->changelog_manifest_list == NULL)
		return;
	old = begin_delta(expiration);
	if (collect_deleted(expiration, snapshot->changelog_manifest_list, snapshot->changelog_manifest_list_size,
						note_changelog_entry))
		remove_collected(expiration, NULL);
	end_delta(expiration, old);
}

/* Remove the folders of buckets that are empty now, and of partitions above them. */
static void
remove_empty_folders(DataExpiration *expiration)
{
	int			npartition_keys = expiration->table->schema->npartition_keys;
	ListCell   *lc;

	foreach(lc, expiration->folders)
	{
		char	   *folder = (char *) lfirst(lc);

		for (int depth = 0; depth <= npartition_keys; depth++)
		{
			if (!storage_remove_empty_directory(folder))
				break;
			folder = folder_of(folder);
		}
	}
}

int64
data_expiration_end(DataExpiration *expiration)
{
	int64		removed = expiration->removed;

	remove_empty_folders(expiration);
	MemoryContextDelete(expiration->context);
	return removed;
}
