/*
 * remote_catalog.c
 *		What the catalogs of another server say of a publication and its tables.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "sync/remote_catalog.h"

/* The entry of a relation in a publication, which names it. */
#define PUBLICATION_ENTRY \
	"(pg_catalog.pg_publication_rel e JOIN pg_catalog.pg_publication p ON p.oid = e.prpubid AND p.pubname = %s)"

char *
remote_publication(RemoteConnection *remote, const char *publication)
{
	RemoteRows *rows;

	rows = remote_query(remote,
						psprintf("SELECT pg_catalog.concat_ws(', ', CASE WHEN pubinsert THEN 'insert' END, CASE WHEN pubupdate THEN 'update' END,"
								 " CASE WHEN pubdelete THEN 'delete' END, CASE WHEN pubtruncate THEN 'truncate' END)"
								 " FROM pg_catalog.pg_publication WHERE pubname = %s", quote_literal_cstr(publication)));
	return rows->nrows > 0 ? remote_text(rows, 0, 0) : NULL;
}

List *
remote_published_tables(RemoteConnection *remote, const char *publication)
{
	List	   *tables = NIL;
	RemoteRows *rows;
	int			i;

	rows = remote_query(remote,
						psprintf("SELECT c.oid FROM pg_catalog.pg_publication_tables p"
								 " JOIN pg_catalog.pg_namespace n ON n.nspname = p.schemaname"
								 " JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid AND c.relname = p.tablename"
								 " WHERE p.pubname = %s AND n.nspname <> 'streamhouse' ORDER BY c.oid",
								 quote_literal_cstr(publication)));
	for (i = 0; i < rows->nrows; i++)
		tables = lappend_oid(tables, remote_oid(rows, i, 0));
	return tables;
}

/* ---- columns ---- */

/*
 * The type of that number and name here: only the server's own base types are
 * the same everywhere.  What prints as names of objects, which are others here, is text, and so is what
 * prints otherwise under another locale or version.
 */
static Oid
type_here(Oid oid, const char *name)
{
	Oid			result = TEXTOID;
	HeapTuple	tuple;

	if (oid >= FirstGenbkiObjectId || strncmp(name, "reg", 3) == 0 || strcmp(name, "aclitem") == 0 ||
		oid == MONEYOID || oid == CHAROID)
		return TEXTOID;
	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(oid));
	if (!HeapTupleIsValid(tuple))
		return TEXTOID;
	if (strcmp(NameStr(((Form_pg_type) GETSTRUCT(tuple))->typname), name) == 0 &&
		(((Form_pg_type) GETSTRUCT(tuple))->typtype == TYPTYPE_BASE || ((Form_pg_type) GETSTRUCT(tuple))->typtype == TYPTYPE_RANGE ||
		 ((Form_pg_type) GETSTRUCT(tuple))->typtype == TYPTYPE_MULTIRANGE))
		result = oid;
	ReleaseSysCache(tuple);
	return result;
}

static void
set_type_here(RemoteTableColumn *column, Oid oid, const char *name, int32 typmod, bool is_array)
{
	column->type = type_here(oid, name);
	column->typmod = column->type == oid ? typmod : -1;
	if (is_array)
		column->type = get_array_type(column->type);
}

/* Is column a of the relation published?  Generated ones are not before 18, and then if the publication says so. */
static char *
published_condition(int version, const char *publication)
{
	if (version >= 180000)
		return psprintf("coalesce(a.attnum = ANY (e.prattrs::int2[]), a.attgenerated = '' OR (a.attgenerated = 's' AND EXISTS (SELECT"
						" FROM pg_catalog.pg_publication g WHERE g.pubname = %s AND g.pubgencols = 's')))", publication);
	if (version >= 150000)
		return pstrdup("a.attgenerated = '' AND coalesce(a.attnum = ANY (e.prattrs::int2[]), true)");
	return pstrdup(version >= 120000 ? "a.attgenerated = ''" : "true");
}

/*
 * The columns with what their types come to: of domains their base type, of
 * arrays their elements.
 */
static RemoteRows *
query_columns(RemoteConnection *remote, const char *publication, Oid oid)
{
	int			version = remote_version(remote);
	char	   *name = quote_literal_cstr(publication);

	return remote_query(remote,
						psprintf("WITH RECURSIVE c(attnum, typid, typmod, is_array, depth) AS ("
								 " SELECT attnum, atttypid, atttypmod, false, 0 FROM pg_catalog.pg_attribute"
								 " WHERE attrelid = %u AND attnum > 0 AND NOT attisdropped"
								 " UNION ALL"
								 " SELECT c.attnum, CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.typelem END,"
								 " CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE c.typmod END, c.is_array OR t.typtype <> 'd', c.depth + 1"
								 " FROM c JOIN pg_catalog.pg_type t ON t.oid = c.typid LEFT JOIN pg_catalog.pg_type i ON i.oid = t.typelem"
								 " WHERE t.typtype = 'd' OR (NOT c.is_array AND i.typarray = t.oid))"
								 " SELECT DISTINCT ON (a.attnum) a.attnum, a.attname, a.atttypid, a.atttypmod, %s,"
								 " a.atthasdef OR a.atthasmissing OR a.attidentity <> '' OR d.typdefault IS NOT NULL,"
								 " t.oid, t.typname, c.typmod, c.is_array"
								 " FROM c JOIN pg_catalog.pg_attribute a ON a.attrelid = %u AND a.attnum = c.attnum"
								 " JOIN pg_catalog.pg_type t ON t.oid = c.typid JOIN pg_catalog.pg_type d ON d.oid = a.atttypid"
								 " LEFT JOIN " PUBLICATION_ENTRY " ON e.prrelid = a.attrelid"
								 " ORDER BY a.attnum, c.depth DESC",
								 oid, published_condition(version, name), oid, name));
}

static void
load_columns(RemoteConnection *remote, const char *publication, RemoteTable *table)
{
	RemoteRows *rows = query_columns(remote, publication, table->oid);
	int			i;

	table->ncolumns = rows->nrows;
	table->columns = palloc0(sizeof(RemoteTableColumn) * Max(rows->nrows, 1));
	for (i = 0; i < rows->nrows; i++)
	{
		RemoteTableColumn *column = &table->columns[i];

		column->column.number = (AttrNumber) remote_int(rows, i, 0);
		column->name = remote_text(rows, i, 1);
		column->column.type = remote_oid(rows, i, 2);
		column->column.typmod = (int32) remote_int(rows, i, 3);
		column->published = remote_bool(rows, i, 4);
		column->came_with_values = remote_bool(rows, i, 5);
		set_type_here(column, remote_oid(rows, i, 6), remote_text(rows, i, 7), (int32) remote_int(rows, i, 8), remote_bool(rows, i, 9));
	}
}

static void
load_key(RemoteConnection *remote, RemoteTable *table)
{
	RemoteRows *rows;
	int			i;

	rows = remote_query(remote,
						psprintf("SELECT a.attname FROM pg_catalog.pg_index i"
								 " CROSS JOIN LATERAL pg_catalog.unnest(i.indkey::int2[]) WITH ORDINALITY k(attnum, place)"
								 " JOIN pg_catalog.pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum"
								 " WHERE i.indrelid = %u AND k.place <= i.indnkeyatts AND i.indisvalid AND %s ORDER BY k.place",
								 table->oid, table->identity == REPLICA_IDENTITY_INDEX ? "i.indisreplident" : "i.indisprimary AND i.indimmediate"));
	for (i = 0; i < rows->nrows; i++)
		table->key = lappend(table->key, remote_text(rows, i, 0));
}

/* Partitions whose changes do not say which row of the root they mean, that are foreign tables, or cannot be read. */
static void
load_bad_partition(RemoteConnection *remote, RemoteTable *table)
{
	RemoteRows *rows;

	rows = remote_query(remote,
						psprintf("SELECT n.nspname || '.' || c.relname FROM pg_catalog.pg_partition_tree(%u) t"
								 " JOIN pg_catalog.pg_class c ON c.oid = t.relid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
								 " WHERE t.isleaf AND (c.relkind <> 'r' OR c.relreplident IN ('n', 'i')"
								 " OR NOT pg_catalog.has_table_privilege(c.oid, 'SELECT')) ORDER BY 1 LIMIT 1", table->oid));
	if (rows->nrows > 0)
		table->bad_partition = remote_text(rows, 0, 0);
}

/* A filter does not count where all of a schema is published. */
#define LIST_AND_FILTER \
	"e.prattrs IS NOT NULL, CASE WHEN NOT EXISTS (SELECT FROM pg_catalog.pg_publication_namespace s" \
	" JOIN pg_catalog.pg_publication p ON p.oid = s.pnpubid WHERE s.pnnspid = c.relnamespace AND p.pubname = %s)" \
	" THEN pg_catalog.pg_get_expr(e.prqual, e.prrelid) END"

static RemoteRows *
query_table(RemoteConnection *remote, const char *publication, Oid oid)
{
	bool		lists = remote_version(remote) >= 150000;
	char	   *name = quote_literal_cstr(publication);

	return remote_query(remote,
						psprintf("SELECT c.relname, n.nspname || '.' || c.relname,"
								 " c.relreplident, c.relkind = 'p',"
								 " EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'p' AND k.condeferrable),"
								 " pg_catalog.has_table_privilege(c.oid, 'SELECT') AND NOT pg_catalog.row_security_active(c.oid), %s"
								 " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
								 " LEFT JOIN " PUBLICATION_ENTRY " ON e.prrelid = c.oid WHERE c.oid = %u",
								 lists ? psprintf(LIST_AND_FILTER, name) : "false, NULL", name, oid));
}

RemoteTable *
remote_table(RemoteConnection *remote, const char *publication, Oid oid)
{
	RemoteRows *rows = query_table(remote, publication, oid);
	RemoteTable *table;

	if (rows->nrows == 0)
		return NULL;
	table = palloc0(sizeof(RemoteTable));
	table->oid = oid;
	table->table = remote_text(rows, 0, 0);
	table->name = remote_text(rows, 0, 1);
	table->identity = remote_text(rows, 0, 2)[0];
	table->partitioned = remote_bool(rows, 0, 3);
	table->deferrable_key = remote_bool(rows, 0, 4);
	table->readable = remote_bool(rows, 0, 5);
	table->column_list = remote_bool(rows, 0, 6);
	table->filter = remote_value(rows, 0, 7);
	load_columns(remote, publication, table);
	load_key(remote, table);
	if (table->partitioned)
		load_bad_partition(remote, table);
	return table;
}
