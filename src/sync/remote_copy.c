/*
 * remote_copy.c
 *		The initial copy of tables of another server: their blocks by COPY.
 *
 * Each chunk has a connection and a transaction of its own, which imports the
 * round's snapshot.  Servers before 14 cannot read a range of blocks without
 * the others: there a relation is one chunk.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "sync/copy_plan.h"
#include "sync/mirror.h"
#include "sync/remote_copy.h"

#define FIRST_WITH_RANGES 140000	/* of blocks */

typedef struct ColumnInput
{
	int			column;			/* of the mirror, from 0 */
	MirrorInput input;
} ColumnInput;

struct RemoteCopy
{
	const char *table;			/* for messages */
	RemoteConnection *remote;
	int			ncolumns;
	ColumnInput *columns;
};

/* ---- planning ---- */

/* The leaves of a partitioned table, or the table itself; rows of tables that inherit from it are others'. */
static char *
relations_query(const RemoteTable *table)
{
	if (table->partitioned)
		return psprintf("SELECT relid FROM pg_catalog.pg_partition_tree(%u) WHERE isleaf", table->oid);
	return psprintf("SELECT %u::oid AS relid", table->oid);
}

static CopyRelation *
relation_of_row(const RemoteRows *rows, int row, int version)
{
	CopyRelation *relation = palloc0(sizeof(CopyRelation));

	relation->relid = remote_oid(rows, row, 0);
	relation->file = remote_oid(rows, row, 1);
	relation->blocks = (BlockNumber) remote_int(rows, row, 2);
	relation->toast_blocks = (BlockNumber) remote_int(rows, row, 3);
	relation->rows = strtod(remote_text(rows, row, 4), NULL);
	relation->whole_rows = remote_bool(rows, row, 5);
	relation->divisible = version >= FIRST_WITH_RANGES && remote_bool(rows, row, 6);
	return relation;
}

pg_noreturn static void
raise_missing(const CopyTable *table)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_TABLE),
			 errmsg("table \"%s\" does not exist any more at the source", table->record->source_name),
			 errhint("Call streamhouse.refresh_sync.")));
}

List *
remote_copy_relations(const CopyTable *table)
{
	RemoteConnection *remote = remote_session(table->sync);
	RemoteTable *definition = remote_table(remote, table->sync->publication, table->record->remote_table);
	List	   *relations = NIL;
	RemoteRows *rows;
	int			i;

	if (definition == NULL)
		raise_missing(table);
	rows = remote_query(remote,
						psprintf("SELECT c.oid, pg_catalog.pg_relation_filenode(c.oid),"
								 " pg_catalog.pg_relation_size(c.oid) / b.size, coalesce(pg_catalog.pg_relation_size(nullif(c.reltoastrelid, 0)), 0) / b.size,"
								 " c.reltuples, c.relreplident = 'f', coalesce(a.amname = 'heap', true)"
								 " FROM (%s) r JOIN pg_catalog.pg_class c ON c.oid = r.relid"
								 " LEFT JOIN pg_catalog.pg_am a ON a.oid = c.relam"
								 " CROSS JOIN (SELECT pg_catalog.current_setting('block_size')::bigint) b(size)"
								 " WHERE c.relkind = 'r' ORDER BY c.oid", relations_query(definition)));
	for (i = 0; i < rows->nrows; i++)
		relations = lappend(relations, relation_of_row(rows, i, remote_version(remote)));
	return relations;
}

/* ---- a chunk ---- */

static ColumnInput *
make_inputs(Relation mirror, int *ncolumns)
{
	TupleDesc	desc = RelationGetDescr(mirror);
	ColumnInput *inputs = palloc0(sizeof(ColumnInput) * Max(desc->natts, 1));
	int			i;

	*ncolumns = 0;
	for (i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute column = TupleDescAttr(desc, i);
		ColumnInput *input = &inputs[*ncolumns];

		if (column->attisdropped)
			continue;
		mirror_input_prepare(&input->input, column, CurrentMemoryContext);
		input->column = i;
		(*ncolumns)++;
	}
	return inputs;
}

/*
 * The lock keeps the relation as it is; its columns and its file are those of now,
 * whatever the snapshot sees.
 */
static RemoteTable *
check_relation(RemoteConnection *remote, const CopyTable *table, const CopyChunk *chunk, const char *name, Relation mirror)
{
	RemoteTable *definition;
	RemoteRows *rows;

	(void) remote_query_patiently(remote, psprintf("LOCK TABLE ONLY %s IN ACCESS SHARE MODE", name));
	definition = remote_table(remote, table->sync->publication, table->record->remote_table);
	if (definition == NULL)
		raise_missing(table);
	if (!mirror_fits(table->record, mirror, definition))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("columns of table \"%s\" have changed while it was copied", table->record->source_name)));
	/* the function tells of now, the catalog of the snapshot */
	rows = remote_query(remote, psprintf("SELECT coalesce(pg_catalog.pg_relation_filenode(oid), 0), relfilenode"
										 " FROM pg_catalog.pg_class WHERE oid = %u", chunk->relid));
	if (rows->nrows == 0 || remote_oid(rows, 0, 0) != chunk->file || remote_oid(rows, 0, 1) != chunk->file)
		copy_raise_written_anew(table);
	return definition;
}

/* The relation's name for SQL. */
static char *
relation_name(RemoteConnection *remote, const CopyTable *table, Oid relid)
{
	RemoteRows *rows;

	rows = remote_query(remote,
						psprintf("SELECT pg_catalog.format('%%I.%%I', n.nspname, c.relname) FROM pg_catalog.pg_class c"
								 " JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = %u", relid));
	if (rows->nrows == 0)
		raise_missing(table);
	return remote_text(rows, 0, 0);
}

static char *
copy_command(RemoteConnection *remote, const CopyChunk *chunk, const RemoteTable *definition, const char *name,
			 Relation mirror)
{
	StringInfoData command;

	initStringInfo(&command);
	appendStringInfo(&command, "COPY (SELECT %s FROM ONLY %s WHERE true", mirror_column_list(mirror), name);
	if (remote_version(remote) >= FIRST_WITH_RANGES)
		appendStringInfo(&command, " AND ctid >= '(%u,0)' AND ctid < '(%u,0)'", chunk->start, chunk->end);
	if (definition->filter)
		appendStringInfo(&command, " AND (%s)", definition->filter);
	appendStringInfoString(&command, ") TO STDOUT");
	return command.data;
}

RemoteCopy *
remote_copy_begin_chunk(const CopyTable *table, const CopyChunk *chunk, Relation mirror)
{
	RemoteCopy *copy = palloc0(sizeof(RemoteCopy));
	RemoteConnection *remote = remote_connect(table->sync, false);
	char	   *name = relation_name(remote, table, chunk->relid);
	RemoteTable *definition;

	copy->table = table->record->source_name;
	copy->remote = remote;
	copy->columns = make_inputs(mirror, &copy->ncolumns);
	(void) remote_query(remote, "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
	(void) remote_query(remote, psprintf("SET TRANSACTION SNAPSHOT %s", quote_literal_cstr(table->snapshot)));
	definition = check_relation(remote, table, chunk, name, mirror);
	remote_copy_begin(remote, copy_command(remote, chunk, definition, name, mirror));
	return copy;
}

/* ---- rows in the text format of COPY ---- */

pg_noreturn static void
raise_damaged(const RemoteCopy *copy)
{
	ereport(ERROR,
			(errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
			 errmsg("a row of table \"%s\" does not come as it should from the source", copy->table)));
}

/* What stands behind a backslash. */
static char
unescape(char c)
{
	switch (c)
	{
		case 'b':
			return '\b';
		case 'f':
			return '\f';
		case 'n':
			return '\n';
		case 'r':
			return '\r';
		case 't':
			return '\t';
		case 'v':
			return '\v';
		default:
			return c;
	}
}

/*
 * Resolve a field in place and end it with a zero byte; *next is what comes
 * after it, NULL if it was the last one.  NULL when the field is null.
 */
static char *
next_field(char *text, char *end, char **next)
{
	char	   *from = text;
	char	   *to = text;
	bool		isnull = end - text >= 2 && text[0] == '\\' && text[1] == 'N' && (end - text == 2 || text[2] == '\t');

	while (from < end && *from != '\t')
	{
		if (*from == '\\' && from + 1 < end)
		{
			*to++ = unescape(from[1]);
			from += 2;
		}
		else
			*to++ = *from++;
	}
	*next = from < end ? from + 1 : NULL;
	*to = '\0';
	return isnull ? NULL : text;
}

static void
store_fields(RemoteCopy *copy, TupleTableSlot *slot, char *text, char *end)
{
	int			i;

	for (i = 0; i < copy->ncolumns; i++)
	{
		ColumnInput *input = &copy->columns[i];
		char	   *value;

		if (text == NULL)
			raise_damaged(copy);
		value = next_field(text, end, &text);
		slot->tts_isnull[input->column] = value == NULL;
		if (value)
			slot->tts_values[input->column] = mirror_input_value(&input->input, value);
	}
	if (text != NULL)
		raise_damaged(copy);
}

bool
remote_copy_row(RemoteCopy *copy, TupleTableSlot *slot, MemoryContext context)
{
	char	   *text;
	int			length = remote_copy_next(copy->remote, true, &text);
	MemoryContext old;

	if (length < 0)
		return false;
	/* libpq ends a message with a zero byte, the row with a line feed */
	if (length < 1 || text[length - 1] != '\n')
		raise_damaged(copy);
	old = MemoryContextSwitchTo(context);
	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts);
	store_fields(copy, slot, text, text + length - 1);
	ExecStoreVirtualTuple(slot);
	MemoryContextSwitchTo(old);
	return true;
}

void
remote_copy_end_chunk(RemoteCopy *copy)
{
	(void) remote_query(copy->remote, "COMMIT");
	remote_close(copy->remote);
}
