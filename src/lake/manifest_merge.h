/*
 * manifest_merge.h
 *		Merging a table's manifests at commit (format digest section 4.8).
 */
#ifndef STREAMHOUSE_MANIFEST_MERGE_H
#define STREAMHOUSE_MANIFEST_MERGE_H

#include "lake/pending_files.h"
#include "lake/table.h"

/*
 * The manifests (ManifestFileMeta *) of a snapshot, given in order, as the
 * next snapshot's base: small ones merged, deleted entries dropped, once
 * enough has come together.  Manifests that need no change stay as they are
 * and are not read.  New ones are registered with files.
 */
extern List *manifest_merge(LakeTable *table, ManifestNames *names, List *manifests, PendingFiles *files);

#endif							/* STREAMHOUSE_MANIFEST_MERGE_H */
