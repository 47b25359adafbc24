/*
 * commit.h
 *		Publishing a snapshot (format digest section 9).
 */
#ifndef STREAMHOUSE_LAKE_COMMIT_H
#define STREAMHOUSE_LAKE_COMMIT_H

#include "lake/pending_files.h"
#include "lake/plan.h"
#include "lake/writer.h"

/*
 * Called, if set, around a commit's tries, with the table's location: the
 * server takes a lock there, so that its own sessions queue instead of racing.
 * It is released by a second call, or by whatever cleans up after an ERROR.
 */
extern void (*lake_commit_lock_hook) (const char *location, bool acquire);

typedef struct CommitRequest
{
	CommitKind	kind;
	List	   *entries;		/* ManifestEntry *: ADD and DELETE */
	bool		overwrite_table;	/* delete all live files as well (recomputed at each try) */
	const Predicate *overwritten;	/* of these partitions only; NULL: of all */
	CommitInfo	info;

	/*
	 * The new data files, or NULL.  They are forgotten once published, and
	 * kept when the outcome is unknown.
	 */
	PendingFiles *files;

	/*
	 * Called before each try with the snapshot the commit will be based on
	 * (NULL: none); may change entries, or raise.  NULL: not called.
	 */
	void		(*before_try) (struct CommitRequest *request, const LakeSnapshot *latest, void *arg);
	void	   *arg;
} CommitRequest;

/*
 * Try until published, within the table's retry options: conflict checks
 * (9.3), manifest merge (4.8), atomic create.  Returns the new snapshot; NULL
 * when there is nothing to commit and it is not forced.
 * ERRCODE_T_R_SERIALIZATION_FAILURE when files to delete are gone.
 */
extern LakeSnapshot *lake_commit(LakeTable *table, CommitRequest *request);

#endif							/* STREAMHOUSE_LAKE_COMMIT_H */
