/*
 * output.h
 *		The output plugin for clients of logical decoding: changes as messages.
 *
 * output.c has the callbacks, output_options.c what a client may ask for,
 * output_relation.c which rows and columns of a relation it gets, and the
 * formats make messages: output_json.c lines of JSON, output_binary.c those of
 * the logical replication protocol.
 */
#ifndef STREAMHOUSE_SYNC_OUTPUT_H
#define STREAMHOUSE_SYNC_OUTPUT_H

#include "postgres.h"

#include "access/attmap.h"
#include "nodes/bitmapset.h"
#include "nodes/execnodes.h"
#include "nodes/pg_list.h"
#include "replication/logical.h"
#include "replication/output_plugin.h"
#include "replication/reorderbuffer.h"
#include "utils/hsearch.h"
#include "utils/rel.h"

struct OutputFormat;

/* What the client asked for. */
typedef struct OutputOptions
{
	const struct OutputFormat *format;
	char	   *publication;	/* NULL: all tables */
	List	   *tables;			/* OutputPattern *; NIL: all */
	List	   *exclude_tables;	/* OutputPattern * */
	bool		arrays;			/* JSON in the shape of wal2json's second version */
	bool		include_xids;
	bool		include_lsn;
	bool		include_time;
	bool		include_types;
	bool		include_transactions;	/* begin and commit */
	bool		skip_empty;		/* transactions without a change */
	bool		messages;
	List	   *message_prefixes;	/* char *; NIL: all */
	bool		local_only;		/* no changes that were replicated to here */
	bool		streaming;		/* large transactions before they commit */
	bool		actions[REORDER_BUFFER_CHANGE_TRUNCATE + 1];	/* which kinds of changes */
} OutputOptions;

/* A qualified name; NULL stands for any. */
typedef struct OutputPattern
{
	char	   *schema;
	char	   *table;
} OutputPattern;

/* What goes out of a relation. */
typedef struct OutputRelation
{
	Oid			relid;			/* hash key */
	bool		valid;			/* since the last invalidation */
	bool		wanted;
	MemoryContext context;		/* of the rest */
	bool		actions[REORDER_BUFFER_CHANGE_TRUNCATE + 1];
	Oid			published_as;	/* itself, or the root of the partition */
	AttrMap    *map;			/* to the root's columns; NULL: they are the same */
	TupleTableSlot *old_slot;	/* of the relation */
	TupleTableSlot *new_slot;
	TupleTableSlot *old_root_slot;	/* of the root, when there is a map */
	TupleTableSlot *new_root_slot;
	ExprState  *filter;			/* NULL: all rows */
	ExprContext *filter_context;
	char	   *schema;			/* names of what it is published as */
	char	   *table;
	Bitmapset  *columns;		/* attribute numbers, of what it is published as */
	Bitmapset  *identity;		/* those that identify a row, and of which old rows consist */
	void	   *format_data;	/* NULL: the format has not met it yet */
} OutputRelation;

typedef struct OutputState
{
	MemoryContext context;		/* all of this */
	MemoryContext change_context;	/* reset for each change */
	OutputOptions options;
	HTAB	   *relations;
	bool		begun;			/* the client knows of the transaction */
	bool		in_stream;		/* inside a block of a transaction in progress */
} OutputState;

/* A row that was changed, in the columns that it is published with. */
typedef struct OutputRow
{
	char		action;			/* 'I', 'U' or 'D' */
	TransactionId xid;
	XLogRecPtr	lsn;
	const TupleTableSlot *old_row;	/* NULL: not known, or there was none */
	const TupleTableSlot *new_row;
} OutputRow;

/* What happens to a transaction; letters are those of the logical replication protocol. */
typedef struct OutputEvent
{
	char		action;			/* B C, b P K r, S E A c p */
	ReorderBufferTXN *transaction;
	XLogRecPtr	lsn;
	TransactionId xid;			/* of the whole transaction */
	TransactionId subxid;		/* that is aborted */
	TimestampTz time;			/* 0: none */
	bool		first;			/* block of a transaction in progress */
} OutputEvent;

typedef struct OutputMessage
{
	TransactionId xid;
	XLogRecPtr	lsn;
	bool		transactional;
	const char *prefix;
	Size		size;
	const char *content;
} OutputMessage;

typedef struct OutputTruncate
{
	int			ntargets;
	OutputRelation **targets;
	TransactionId xid;
	XLogRecPtr	lsn;
	bool		cascade;
	bool		restart_identity;
} OutputTruncate;

typedef struct OutputFormat
{
	bool		binary;
	bool		one_by_one;		/* a message for each table of a TRUNCATE */

	/* Each appends one message; CurrentMemoryContext is reset afterwards. */
	void		(*event) (const OutputState *state, StringInfo out, const OutputEvent *event);
	void		(*row) (const OutputState *state, StringInfo out, OutputRelation *target, Relation relation,
						const OutputRow *row);
	void		(*truncate) (const OutputState *state, StringInfo out, const OutputTruncate *truncate);
	void		(*message) (const OutputState *state, StringInfo out, const OutputMessage *message);

	/* Messages that must come before the first row of a relation; may be NULL. */
	void		(*describe) (OutputState *state, LogicalDecodingContext *context, OutputRelation *target,
							 Relation relation, TransactionId xid);
} OutputFormat;

extern const OutputFormat output_json;
extern const OutputFormat output_binary;

/* Of the library as the plugin of a client's slot. */
extern void output_callbacks(OutputPluginCallbacks *callbacks);

/* List of DefElem; ERROR names an option that is wrong.  Allocates in CurrentMemoryContext. */
extern void output_options_parse(OutputOptions *options, List *given);

/* The entry of a relation, made or made anew if needed.  While decoding. */
extern HTAB *output_relations_create(OutputState *state);
extern OutputRelation *output_relation_find(OutputState *state, Relation relation);

/* Does the filter let the row pass that a slot of the relation has? */
extern bool output_relation_passes(const OutputRelation *target, TupleTableSlot *slot);

/* A slot of the relation in the columns that it is published with. */
extern const TupleTableSlot *output_relation_row(const OutputRelation *target, TupleTableSlot *slot);

#endif							/* STREAMHOUSE_SYNC_OUTPUT_H */
