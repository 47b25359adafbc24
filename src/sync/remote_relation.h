/*
 * remote_relation.h
 *		Relations of another server, as the stream describes them, and their rows.
 *
 * A description holds for the rows that follow it.  One that comes within a
 * transaction that is streamed while it runs is that transaction's alone, until it
 * commits.
 */
#ifndef STREAMHOUSE_SYNC_REMOTE_RELATION_H
#define STREAMHOUSE_SYNC_REMOTE_RELATION_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "replication/logicalproto.h"

#include "sync/mirror.h"
#include "sync/stream.h"

typedef struct RemoteRelations RemoteRelations;

/* Of a column of the mirror. */
typedef struct RemoteColumnInput
{
	AttrNumber	number;
	MirrorInput input;
	bool		varlena;
} RemoteColumnInput;

typedef struct RemoteRelationKey
{
	TransactionId xid;			/* invalid: of all that are sent when they have committed */
	Oid			relid;			/* its number there */
} RemoteRelationKey;

typedef struct RemoteRelation
{
	RemoteRelationKey key;		/* hash key */
	uint64		number;			/* of the description: later ones have higher ones */
	MemoryContext context;		/* of the rest */
	const SyncTableRecord *record;	/* NULL: of no concern */
	RemoteLayout layout;
	bool		matched;		/* with the mirror as it is now */
	RemoteColumnInput *inputs;	/* by column of the layout */
} RemoteRelation;

/* One for the process: it hears of mirrors that change. */
extern RemoteRelations *remote_relations_create(MemoryContext context);

/* Read a description. */
extern void remote_relation_describe(RemoteRelations *relations, const SyncRecord *sync, TransactionId xid, StringInfo in);

/* ERROR when it was not described. */
extern RemoteRelation *remote_relation_find(RemoteRelations *relations, TransactionId xid, Oid relid);

/* A transaction has ended that was streamed. */
extern void remote_relations_end(RemoteRelations *relations, TransactionId xid, bool committed);

/* Its mirror, to be closed; ERROR, to be followed as a change of columns, when it is not as it was described. */
extern Relation remote_relation_open(SyncStream *stream, RemoteRelation *relation, XLogRecPtr lsn);

/* A row of the mirror. */
extern HeapTuple remote_relation_row(const RemoteRelation *relation, Relation mirror, const LogicalRepTupleData *data);

/* What the source sends is not what it should be. */
pg_noreturn extern void remote_raise_damaged(const char *what);

#endif							/* STREAMHOUSE_SYNC_REMOTE_RELATION_H */
