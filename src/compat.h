/*
 * compat.h
 *		The differences between the supported servers, PostgreSQL 15 to 18.
 *
 * Call sites are written for the newest server; what an older one lacks is
 * made up for here.  No other file tests PG_VERSION_NUM.
 */
#ifndef STREAMHOUSE_COMPAT_H
#define STREAMHOUSE_COMPAT_H

#include "postgres.h"

#include "access/xlog.h"
#include "common/jsonapi.h"
#include "mb/pg_wchar.h"
#include "nodes/pathnodes.h"
#include "utils/pg_locale.h"
#include "replication/message.h"
#include "replication/reorderbuffer.h"
#include "replication/slot.h"

#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#if PG_VERSION_NUM >= 180000
#include "rewrite/rewriteHandler.h"
#endif

#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#else
#include "commands/explain.h"
#endif

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 190000
#error "streamhouse supports PostgreSQL 15 to 18"
#endif

/*
 * The actions of the JSON parser return a result since 16:
 *
 *		static JsonActionResult
 *		on_scalar(void *state, ...)
 *		{
 *			...
 *			JSON_ACTION_RETURN;
 *		}
 */
#if PG_VERSION_NUM >= 160000
typedef JsonParseErrorType JsonActionResult;
#define JSON_ACTION_RETURN return JSON_SUCCESS
#else
typedef void JsonActionResult;
#define JSON_ACTION_RETURN return
#endif

/* A lexer for UTF-8 text, with escapes resolved. */
static inline JsonLexContext *
compat_json_lexer(const char *text, size_t length)
{
#if PG_VERSION_NUM >= 170000
	return makeJsonLexContextCstringLen(NULL, text, length, PG_UTF8, true);
#else
	return makeJsonLexContextCstringLen(unconstify(char *, text), (int) length, PG_UTF8, true);
#endif
}

/*
 * Replication slots: arguments for failover slots since 17, and whether to
 * fail for an invalidated slot since 18.
 */
#if PG_VERSION_NUM < 170000
#define ReplicationSlotCreate(name, db_specific, persistency, two_phase, failover, synced) \
	ReplicationSlotCreate(name, db_specific, persistency, two_phase)
#endif
#if PG_VERSION_NUM < 180000
#define ReplicationSlotAcquire(name, nowait, error_if_invalid) ReplicationSlotAcquire(name, nowait)
#endif

/* Whether a deferrable key counts is an argument since 18; it never did before. */
#if PG_VERSION_NUM < 180000
#define RelationGetPrimaryKeyIndex(relation, deferrable_ok) RelationGetPrimaryKeyIndex(relation)
#endif

/* One function checks privileges on most kinds of objects since 16. */
#if PG_VERSION_NUM >= 160000
#define compat_server_aclcheck(server, role, mode) object_aclcheck(ForeignServerRelationId, server, role, mode)
#else
#define compat_server_aclcheck(server, role, mode) pg_foreign_server_aclcheck(server, role, mode)
#endif

#if PG_VERSION_NUM >= 160000
#define compat_table_ownercheck(relid, role) object_ownercheck(RelationRelationId, relid, role)
#define compat_database_ownercheck(database, role) object_ownercheck(DatabaseRelationId, database, role)
#else
#define compat_table_ownercheck(relid, role) pg_class_ownercheck(relid, role)
#define compat_database_ownercheck(database, role) pg_database_ownercheck(database, role)
#endif

/* The relations that a foreign scan stands for; since 16 outer joins are counted beside them. */
#if PG_VERSION_NUM >= 160000
#define compat_scan_relids(plan) ((plan)->fs_base_relids)
#else
#define compat_scan_relids(plan) ((plan)->fs_relids)
#endif

/* Has the slot lost the WAL it needs? */
static inline bool
compat_slot_is_invalidated(const ReplicationSlotPersistentData *slot)
{
#if PG_VERSION_NUM >= 160000
	return slot->invalidated != RS_INVAL_NONE;
#else
	return slot->invalidated_at != InvalidXLogRecPtr;
#endif
}

/* Do standbys get the slot, since 17? */
static inline bool
compat_slot_has_failover(const ReplicationSlotPersistentData *slot)
{
#if PG_VERSION_NUM >= 170000
	return slot->failover;
#else
	return false;
#endif
}

/* Nothing is named by synchronized_standby_slots before 17. */
#if PG_VERSION_NUM < 170000
#define StandbySlotsHaveCaughtup(lsn, elevel) true
#endif

/* The tuples of a decoded change; they have been in a wrapper before 17. */
static inline HeapTuple
compat_old_tuple(const ReorderBufferChange *change)
{
#if PG_VERSION_NUM >= 170000
	return change->data.tp.oldtuple;
#else
	return change->data.tp.oldtuple ? &change->data.tp.oldtuple->tuple : NULL;
#endif
}

static inline HeapTuple
compat_new_tuple(const ReorderBufferChange *change)
{
#if PG_VERSION_NUM >= 170000
	return change->data.tp.newtuple;
#else
	return change->data.tp.newtuple ? &change->data.tp.newtuple->tuple : NULL;
#endif
}

/* Let them be a change's; either may be NULL. */
static inline void
compat_set_tuples(ReorderBufferChange *change, HeapTuple old_tuple, HeapTuple new_tuple)
{
#if PG_VERSION_NUM >= 170000
	change->data.tp.oldtuple = old_tuple;
	change->data.tp.newtuple = new_tuple;
#else
	change->data.tp.oldtuple = change->data.tp.newtuple = NULL;
	if (old_tuple)
	{
		change->data.tp.oldtuple = (ReorderBufferTupleBuf *) palloc0(sizeof(ReorderBufferTupleBuf));
		change->data.tp.oldtuple->tuple = *old_tuple;
	}
	if (new_tuple)
	{
		change->data.tp.newtuple = (ReorderBufferTupleBuf *) palloc0(sizeof(ReorderBufferTupleBuf));
		change->data.tp.newtuple->tuple = *new_tuple;
	}
#endif
}

/* The whole transaction of a subtransaction, or of itself. */
#if PG_VERSION_NUM < 160000
#define rbtxn_get_toptxn(txn) ((txn)->toptxn ? (txn)->toptxn : (txn))
#endif

/* Messages of the logical replication protocol: aborts say more since 16, generated columns may be sent since 18. */
#if PG_VERSION_NUM < 160000
#define logicalrep_write_stream_abort(out, xid, subxid, lsn, time, more) logicalrep_write_stream_abort(out, xid, subxid)
#endif
#if PG_VERSION_NUM < 180000
#define logicalrep_write_rel(out, xid, relation, columns, generated) logicalrep_write_rel(out, xid, relation, columns)
#define logicalrep_write_insert(out, xid, relation, row, binary, columns, generated) \
	logicalrep_write_insert(out, xid, relation, row, binary, columns)
#define logicalrep_write_update(out, xid, relation, old, row, binary, columns, generated) \
	logicalrep_write_update(out, xid, relation, old, row, binary, columns)
#define logicalrep_write_delete(out, xid, relation, old, binary, columns, generated) \
	logicalrep_write_delete(out, xid, relation, old, binary, columns)
#endif

/* A missing column may be tolerated since 16. */
#if PG_VERSION_NUM < 160000
#define build_attrmap_by_name_if_req(in, out, missing_ok) build_attrmap_by_name_if_req(in, out)
#endif

/* A non-transactional logical message: returns where it ends, on disk. */
static inline XLogRecPtr
compat_log_message(const char *prefix)
{
	XLogRecPtr	end;

#if PG_VERSION_NUM >= 170000
	end = LogLogicalMessage(prefix, "", 0, false, true);
#else
	end = LogLogicalMessage(prefix, "", 0, false);
#endif
	XLogFlush(end);
	return end;
}

/* A message that belongs to the transaction. */
static inline void
compat_log_transactional_message(const char *prefix, const char *text, Size size)
{
#if PG_VERSION_NUM >= 170000
	(void) LogLogicalMessage(prefix, text, size, true, false);
#else
	(void) LogLogicalMessage(prefix, text, size, true);
#endif
}

/* The expression of a generated column can be changed since 17. */
#if PG_VERSION_NUM >= 170000
#define compat_sets_expression(subtype) ((subtype) == AT_SetExpression)
#else
#define compat_sets_expression(subtype) false
#endif

/* An expression about the relation's columns, as variables of range 1; some are computed when read, since 18. */
static inline Node *
compat_expand_generated_columns(Node *expression, Relation relation)
{
#if PG_VERSION_NUM >= 180000
	return expand_generated_columns_in_expr(expression, relation, 1);
#else
	return expression;
#endif
}

/* Do strings under this collation sort as their bytes do? */
static inline bool
compat_collation_is_c(Oid collation)
{
#if PG_VERSION_NUM >= 180000
	return pg_newlocale_from_collation(collation)->collate_is_c;
#else
	return lc_collate_is_c(collation);
#endif
}

/* Foreign paths: fdw_restrictinfo since 17, disabled_nodes since 18. */
#if PG_VERSION_NUM < 170000
#define create_foreignscan_path(root, rel, target, rows, disabled_nodes, startup, total, pathkeys, outer, outerpath, \
								restrictinfo, private) \
	create_foreignscan_path(root, rel, target, rows, startup, total, pathkeys, outer, outerpath, private)
#elif PG_VERSION_NUM < 180000
#define create_foreignscan_path(root, rel, target, rows, disabled_nodes, startup, total, pathkeys, outer, outerpath, \
								restrictinfo, private) \
	create_foreignscan_path(root, rel, target, rows, startup, total, pathkeys, outer, outerpath, restrictinfo, private)
#endif

#if PG_VERSION_NUM < 170000
#define create_foreign_upper_path(root, rel, target, rows, disabled_nodes, startup, total, pathkeys, outerpath, \
								  restrictinfo, private) \
	create_foreign_upper_path(root, rel, target, rows, startup, total, pathkeys, outerpath, private)
#elif PG_VERSION_NUM < 180000
#define create_foreign_upper_path(root, rel, target, rows, disabled_nodes, startup, total, pathkeys, outerpath, \
								  restrictinfo, private) \
	create_foreign_upper_path(root, rel, target, rows, startup, total, pathkeys, outerpath, restrictinfo, private)
#endif

/* A column knows which outer joins may make it null, since 16: let one be made null by the same as another. */
static inline void
compat_copy_nulling_joins(Var *to, const Var *from)
{
#if PG_VERSION_NUM >= 160000
	to->varnullingrels = from->varnullingrels;
#endif
}

/* Is it the same placeholder, but for those joins?  Then let it be the same with them. */
static inline bool
compat_match_placeholder(PlaceHolderVar *to, const PlaceHolderVar *from)
{
	if (to->phid != from->phid || to->phlevelsup != from->phlevelsup)
		return false;
#if PG_VERSION_NUM >= 160000
	to->phnullingrels = from->phnullingrels;
#endif
	return true;
}

/* A function that does not return is declared so since 18. */
#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#endif

/* ANALYZE says that it is one where it waits, since 18. */
#if PG_VERSION_NUM < 180000
#define vacuum_delay_point(is_analyze) vacuum_delay_point()
#endif

/* Opening a relation of the range table tells whether rows are written to it, since 18. */
#if PG_VERSION_NUM < 180000
#define ExecGetRangeTableRelation(estate, rti, is_result) ExecGetRangeTableRelation(estate, rti)
#endif

#endif							/* STREAMHOUSE_COMPAT_H */
