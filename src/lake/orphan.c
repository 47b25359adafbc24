/*
 * orphan.c
 *		Removal of files that nothing refers to: of writers that were killed.
 *
 * Source: format digest section 9.10.  A file is an orphan if it is older than
 * a given time, and its name occurs in no snapshot, tag or changelog of any
 * branch.  Files are listed first, and what refers to them is read afterwards, from the
 * oldest snapshot to the newest, so that one that goes from a snapshot that
 * expires meanwhile into a later one is found there.
 *
 * Memory is bounded: names are looked at in passes, by hash, and the metadata
 * are read once for each.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "lake/index_manifest.h"
#include "lake/maintain.h"
#include "lake/name_set.h"
#include "lake/path.h"
#include "miscadmin.h"
#include "storage/storage.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#define NAMES_IN_PASS 100000
#define NAME_LENGTH 256			/* names in folders are shorter */
#define MAX_SNAPSHOT_SIZE (16 * 1024 * 1024)
#define BRANCH_PREFIX "branch-"

/* A file that may be an orphan. */
typedef struct Candidate
{
	char		name[NAME_LENGTH];	/* hash key */
	List	   *paths;			/* char * */
} Candidate;

typedef struct OrphanSearch
{
	const LakeTable *table;
	int64		older_than;		/* milliseconds since 1970 */
	bool		dry_run;
	OrphanCallback callback;
	void	   *arg;
	int64		files;			/* in the folders, while they are counted */
	int			pass;
	int			npasses;
	MemoryContext context;		/* of one pass */
	HTAB	   *candidates;
	NameSet    *manifests;		/* that were read */
	OrphanResult result;
} OrphanSearch;

/* ---- the files that are there ---- */

typedef void (*FileAction) (OrphanSearch *search, const char *folder, const char *name);

static void
count_file(OrphanSearch *search, const char *folder, const char *name)
{
	search->files++;
}

static void
add_candidate(OrphanSearch *search, const char *folder, const char *name)
{
	Candidate  *candidate;
	MemoryContext old;
	char	   *path;
	int64		modified;
	bool		found;

	if (hash_bytes((const unsigned char *) name, strlen(name)) % search->npasses != search->pass ||
		strlen(name) >= NAME_LENGTH)
		return;
	path = storage_join(folder, name);
	modified = storage_modified(path);
	if (modified == 0 || modified >= search->older_than)
		return;
	candidate = hash_search(search->candidates, name, HASH_ENTER, &found);
	if (!found)
		candidate->paths = NIL;
	old = MemoryContextSwitchTo(search->context);
	candidate->paths = lappend(candidate->paths, pstrdup(path));
	MemoryContextSwitchTo(old);
}

/* Files of a folder; what only happens to lie beside snapshots is told apart by its name. */
static void
for_files(OrphanSearch *search, const char *folder, const char *spared, FileAction action)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "lake folder", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	ListCell   *lc;

	foreach(lc, storage_list(folder))
	{
		const char *name = (const char *) lfirst(lc);

		CHECK_FOR_INTERRUPTS();
		if (spared && (strncmp(name, spared, strlen(spared)) == 0 || strcmp(name, "EARLIEST") == 0 ||
					   strcmp(name, "LATEST") == 0))
			continue;
		action(search, folder, name);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* The folders of buckets, below those of so many partition columns. */
static void
for_bucket_files(OrphanSearch *search, const char *folder, int depth, FileAction action)
{
	ListCell   *lc;

	foreach(lc, storage_list(folder))
	{
		const char *name = (const char *) lfirst(lc);
		char	   *path = storage_join(folder, name);

		CHECK_FOR_INTERRUPTS();
		if (depth > 0 && strchr(name, '=') != NULL)
			for_bucket_files(search, path, depth - 1, action);
		else if (depth == 0 && strncmp(name, "bucket-", strlen("bucket-")) == 0)
			for_files(search, path, NULL, action);
	}
}

static void
for_all_files(OrphanSearch *search, List *branches, FileAction action)
{
	const LakeTable *table = search->table;
	const char *directory = table->options->data_path_directory;
	ListCell   *lc;

	for_files(search, storage_join(table->location, "manifest"), NULL, action);
	for_files(search, storage_join(table->location, "index"), NULL, action);
	for_files(search, storage_join(table->location, "statistics"), NULL, action);
	for_bucket_files(search, directory ? storage_join(table->location, directory) : table->location,
					 table->schema->npartition_keys, action);
	foreach(lc, branches)
	{
		for_files(search, storage_join((const char *) lfirst(lc), "snapshot"), "snapshot-", action);
		for_files(search, storage_join((const char *) lfirst(lc), "changelog"), "changelog-", action);
	}
}

/* ---- what refers to them ---- */

static void
keep_name(OrphanSearch *search, const char *name)
{
	if (strlen(name) < NAME_LENGTH)
		hash_search(search->candidates, name, HASH_REMOVE, NULL);
}

static void
keep_entry(const ManifestEntry *entry, void *arg)
{
	OrphanSearch *search = (OrphanSearch *) arg;
	ListCell   *lc;

	keep_name(search, entry->file->file_name);
	foreach(lc, entry->file->extra_files)
		keep_name(search, (const char *) lfirst(lc));
}

static void
keep_index_entry(const IndexEntry *entry, void *arg)
{
	keep_name((OrphanSearch *) arg, entry->file_name);
}

static void
keep_list(OrphanSearch *search, const char *name, int64 size)
{
	const char *location = search->table->location;
	ListCell   *lc;

	/* an old snapshot's name may be empty when another engine left it out */
	if (name == NULL || name[0] == '\0' || !name_set_add(search->manifests, name))
		return;
	keep_name(search, name);
	foreach(lc, manifest_list_read(location, name, size))
	{
		const ManifestFileMeta *manifest = (const ManifestFileMeta *) lfirst(lc);

		CHECK_FOR_INTERRUPTS();
		if (!name_set_add(search->manifests, manifest->file_name))
			continue;
		keep_name(search, manifest->file_name);
		manifest_read(location, manifest, keep_entry, search);
	}
}

static void
keep_snapshot(OrphanSearch *search, const LakeSnapshot *snapshot)
{
	keep_list(search, snapshot->base_manifest_list, snapshot->base_manifest_list_size);
	keep_list(search, snapshot->delta_manifest_list, snapshot->delta_manifest_list_size);
	keep_list(search, snapshot->changelog_manifest_list, snapshot->changelog_manifest_list_size);
	if (snapshot->index_manifest != NULL && name_set_add(search->manifests, snapshot->index_manifest))
	{
		keep_name(search, snapshot->index_manifest);
		index_manifest_read(search->table->location, snapshot->index_manifest, keep_index_entry, search);
	}
	if (snapshot->statistics != NULL)
		keep_name(search, snapshot->statistics);
}

/*
 * The snapshot in a file.  One that expires meanwhile may lack some of its
 * files: it is gone then, or the error counts, and nothing is removed.
 */
static void
keep_snapshot_file(OrphanSearch *search, const char *path)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "lake snapshot", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	size_t		length;
	char	   *json;

	CHECK_FOR_INTERRUPTS();
	json = storage_read_whole(path, MAX_SNAPSHOT_SIZE, true, &length);
	if (json != NULL)
		keep_snapshot(search, snapshot_parse(json, length, path));
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* Snapshots or changelogs, by number, and those that are made meanwhile. */
static void
keep_numbered(OrphanSearch *search, const char *branch, const char *folder, const char *prefix)
{
	int64		last = 0;
	int64	   *ids;
	int			count;

	do
	{
		int64		before = last;

		ids = list_numbered_files(branch, folder, prefix, &count);
		for (int i = 0; i < count; i++)
		{
			if (ids[i] <= before)
				continue;
			keep_snapshot_file(search, psprintf("%s/%s/%s" INT64_FORMAT, branch, folder, prefix, ids[i]));
			last = ids[i];
		}
		if (last == before)
			break;
	} while (true);
}

static void
keep_branch(OrphanSearch *search, const char *branch)
{
	char	   *tags = storage_join(branch, "tag");
	int			count;
	ListCell   *lc;

	(void) list_numbered_files(branch, "schema", "schema-", &count);
	if (count == 0)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("\"%s\" of lake table \"%s\" has no schema", branch, search->table->name),
				 errhint("Orphan files are not removed while it is not known which files it needs.")));
	keep_numbered(search, branch, "changelog", "changelog-");
	keep_numbered(search, branch, "snapshot", "snapshot-");
	foreach(lc, storage_list(tags))
	{
		const char *name = (const char *) lfirst(lc);

		if (strncmp(name, "tag-", strlen("tag-")) == 0 && strcmp(name, "tag-success-file") != 0)
			keep_snapshot_file(search, storage_join(tags, name));
	}
}

/* ---- the whole ---- */

static void
remove_candidates(OrphanSearch *search)
{
	HASH_SEQ_STATUS status;
	Candidate  *candidate;

	hash_seq_init(&status, search->candidates);
	while ((candidate = hash_seq_search(&status)) != NULL)
	{
		ListCell   *lc;

		foreach(lc, candidate->paths)
		{
			const char *path = (const char *) lfirst(lc);

			CHECK_FOR_INTERRUPTS();
			search->callback(path, search->arg);
			if (search->dry_run || storage_remove(path, true))
				search->result.files++;
		}
	}
}

static void
run_pass(OrphanSearch *search, List *branches)
{
	HASHCTL		control = {.keysize = NAME_LENGTH, .entrysize = sizeof(Candidate)};
	MemoryContext old;
	ListCell   *lc;

	search->context = AllocSetContextCreate(CurrentMemoryContext, "lake orphan files", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(search->context);
	control.hcxt = search->context;
	search->candidates = hash_create("lake orphan files", 1024, &control, HASH_ELEM | HASH_STRINGS | HASH_CONTEXT);
	search->manifests = name_set_create();
	for_all_files(search, branches, add_candidate);
	if (hash_get_num_entries(search->candidates) > 0)
	{
		foreach(lc, branches)
			keep_branch(search, (const char *) lfirst(lc));
		remove_candidates(search);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(search->context);
}

/* The table's own folder, and those of its branches. */
static List *
list_branches(const LakeTable *table)
{
	char	   *folder = storage_join(table->location, "branch");
	List	   *branches = list_make1(table->location);
	ListCell   *lc;

	foreach(lc, storage_list(folder))
	{
		const char *name = (const char *) lfirst(lc);

		if (strncmp(name, BRANCH_PREFIX, strlen(BRANCH_PREFIX)) == 0)
			branches = lappend(branches, storage_join(folder, name));
	}
	return branches;
}

OrphanResult
lake_remove_orphan_files(const LakeTable *table, int64 older_than, bool dry_run, OrphanCallback callback, void *arg)
{
	OrphanSearch search = {.table = table, .older_than = older_than, .dry_run = dry_run,
	.callback = callback, .arg = arg};
	List	   *branches = list_branches(table);

	for_all_files(&search, branches, count_file);
	search.npasses = search.files / NAMES_IN_PASS + 1;
	for (search.pass = 0; search.pass < search.npasses; search.pass++)
		run_pass(&search, branches);
	return search.result;
}
