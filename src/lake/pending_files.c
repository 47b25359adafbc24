/*
 * pending_files.c
 *		Files written but not yet named by any snapshot.
 */
#include "postgres.h"

#include "lake/pending_files.h"
#include "nodes/pg_list.h"
#include "storage/storage.h"

struct PendingFiles
{
	MemoryContext context;
	List	   *paths;			/* char * */
	bool		held;
	MemoryContextCallback cleanup;
};

/* The context goes away: so must the files, unless their fate is unknown. */
static void
remove_pending_files(void *arg)
{
	PendingFiles *files = (PendingFiles *) arg;
	ListCell   *lc;

	if (files->held)
		return;
	foreach(lc, files->paths)
		storage_remove_quietly((const char *) lfirst(lc));
	files->paths = NIL;
}

/* A registry that belongs to CurrentMemoryContext. */
PendingFiles *
pending_files_create(void)
{
	PendingFiles *files = (PendingFiles *) palloc0(sizeof(PendingFiles));

	files->context = CurrentMemoryContext;
	files->cleanup.func = remove_pending_files;
	files->cleanup.arg = files;
	MemoryContextRegisterResetCallback(files->context, &files->cleanup);
	return files;
}

void
pending_files_add(PendingFiles *files, const char *path)
{
	MemoryContext old = MemoryContextSwitchTo(files->context);

	files->paths = lappend(files->paths, pstrdup(path));
	MemoryContextSwitchTo(old);
}

/* Remove one registered file now; the newest are looked at first. */
void
pending_files_remove(PendingFiles *files, const char *path)
{
	for (int i = list_length(files->paths) - 1; i >= 0; i--)
	{
		char	   *known = (char *) list_nth(files->paths, i);

		if (strcmp(known, path) != 0)
			continue;
		storage_remove_quietly(known);
		files->paths = list_delete_nth_cell(files->paths, i);
		pfree(known);
		return;
	}
}

void
pending_files_take(PendingFiles *files, PendingFiles *other)
{
	ListCell   *lc;

	foreach(lc, other->paths)
		pending_files_add(files, (const char *) lfirst(lc));
	pending_files_forget(other);
}

int
pending_files_count(const PendingFiles *files)
{
	return list_length(files->paths);
}

void
pending_files_cut(PendingFiles *files, int count)
{
	while (list_length(files->paths) > count)
	{
		char	   *path = (char *) llast(files->paths);

		storage_remove_quietly(path);
		files->paths = list_delete_last(files->paths);
		pfree(path);
	}
}

void
pending_files_hold(PendingFiles *files, bool hold)
{
	files->held = hold;
}

void
pending_files_forget(PendingFiles *files)
{
	list_free_deep(files->paths);
	files->paths = NIL;
	files->held = false;
}
