/*
 * lake_relation.c
 *		The lake table behind a foreign table, for SQL functions about it.
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"

#include "api/lake_relation.h"
#include "compat.h"
#include "fdw/fdw.h"

static void
require_foreign_table(Oid relid)
{
	if (get_rel_relkind(relid) == RELKIND_FOREIGN_TABLE)
	{
		ForeignServer *server = GetForeignServer(GetForeignTable(relid)->serverid);

		if (strcmp(GetForeignDataWrapper(server->fdwid)->fdwname, "streamhouse") == 0)
			return;
	}
	ereport(ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("\"%s\" is not a foreign table of streamhouse", get_rel_name(relid))));
}

LakeTable *
lake_relation_maintain(Oid relid)
{
	TableAddress *address;

	require_foreign_table(relid);
	if (!compat_table_ownercheck(relid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_FOREIGN_TABLE, get_rel_name(relid));
	address = table_address(relid, true);
	if (address->system != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" shows a system table", get_rel_name(relid))));
	return lake_table_open(address->warehouse, address->database, address->table, false);
}

LakeTable *
lake_relation_inspect(Oid relid)
{
	AclResult	access;
	TableAddress *address;

	require_foreign_table(relid);
	access = pg_class_aclcheck(relid, GetUserId(), ACL_SELECT);
	if (access != ACLCHECK_OK)
		aclcheck_error(access, OBJECT_FOREIGN_TABLE, get_rel_name(relid));
	address = table_address(relid, false);
	if (transaction_created_table(address->location))
		return NULL;
	return lake_table_open(address->warehouse, address->database, address->table, false);
}
