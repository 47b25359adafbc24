/*
 * preflight_check.h
 *		What the parts of the preflight share: its state, and how problems are told.
 */
#ifndef STREAMHOUSE_SYNC_PREFLIGHT_CHECK_H
#define STREAMHOUSE_SYNC_PREFLIGHT_CHECK_H

#include "catalog/pg_publication.h"

#include "sync/preflight.h"
#include "sync/remote_check.h"

typedef struct Preflight
{
	SyncRecord *sync;
	bool		preloaded;
	bool		with_warnings;
	char	   *warehouse;		/* NULL: the server is not usable */
	Publication *publication;	/* NULL: there is none */
	const char *table;			/* being checked, or NULL */
	List	   *problems;		/* PreflightProblem * */
	List	   *published;		/* PublishedTable * */
	List	   *left;			/* SyncTableRecord *: of the sync, and taken out or anew */
} Preflight;

/* A table as the publication has it. */
typedef struct PublishedTable
{
	Oid			relid;
	char	   *name;			/* "schema.table" */
	char	   *table;			/* without schema */
	bool		deferrable_key;

	const RemotePublished *remote;	/* of another server: relid is the mirror; or NULL */
} PublishedTable;

/* Add a problem, or a remark that is perhaps only a warning, of the table being checked. */
extern void preflight_problem(Preflight *check, const char *text, const char *cure);
extern void preflight_remark(Preflight *check, bool is_warning, const char *text, const char *cure);

/* Run a check that raises; its error becomes a problem. */
extern void preflight_attempt(Preflight *check, void (*function) (Preflight *check, void *arg), void *arg);

/* preflight_source.c */

/* Check this server, or the source elsewhere, and the publication, whose tables become check->published. */
extern void preflight_source(Preflight *check);

/* Check what rules for messages need of the source, of a sync that is there. */
extern void preflight_source_messages(Preflight *check);

/* What does not keep the sync from working, but may end it later. */
extern void preflight_warn_of_settings(Preflight *check);

#endif							/* STREAMHOUSE_SYNC_PREFLIGHT_CHECK_H */
