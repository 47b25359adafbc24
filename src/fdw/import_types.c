/*
 * import_types.c
 *		The types of imported columns: composite types for ROW are made here.
 *
 * A type outlives the foreign table that it was made for: the next import
 * finds and uses it, if it still has the attributes.  Another type of the same
 * name is left alone, and a number appended.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "executor/spi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "fdw/import_types.h"
#include "fdw/types.h"

/* An attribute of a composite type. */
typedef struct Attribute
{
	const char *name;
	Oid			typid;
	int32		typmod;
} Attribute;

typedef struct RowShape
{
	int			nattributes;
	Attribute  *attributes;
} RowShape;

static Oid	import_type(const ImportTypes *types, const char *prefix, const char *name, const DataType *type,
						int32 *typmod);

static void
check_attribute_name(const char *row, const char *name)
{
	if (strlen(name) >= NAMEDATALEN)
		ereport(ERROR,
				(errcode(ERRCODE_NAME_TOO_LONG),
				 errmsg("field name \"%s\" of \"%s\" is too long", name, row),
				 errdetail("Names in SQL have up to %d bytes.", NAMEDATALEN - 1),
				 errhint("Import with the option rows 'jsonb'.")));
}

/* Is the type that a name has in the schema one of just these attributes? */
static bool
has_shape(Oid typid, const RowShape *shape)
{
	TupleDesc	desc;
	bool		same;
	int			i;

	if (get_typtype(typid) != TYPTYPE_COMPOSITE)
		return false;
	desc = lookup_rowtype_tupdesc(typid, -1);
	same = desc->natts == shape->nattributes;
	for (i = 0; i < shape->nattributes && same; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		same = !attribute->attisdropped && strcmp(NameStr(attribute->attname), shape->attributes[i].name) == 0 &&
			attribute->atttypid == shape->attributes[i].typid && attribute->atttypmod == shape->attributes[i].typmod;
	}
	ReleaseTupleDesc(desc);
	return same;
}

static bool
is_reserved(const ImportTypes *types, const char *name)
{
	ListCell   *lc;

	foreach(lc, types->reserved)
	{
		if (strcmp(lfirst(lc), name) == 0)
			return true;
	}
	return false;
}

static Oid
find_type(const char *name, Oid schema)
{
	return GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, PointerGetDatum(name), ObjectIdGetDatum(schema));
}

static void
create_type(const ImportTypes *types, const char *name, const RowShape *shape)
{
	StringInfoData sql;
	int			i;

	initStringInfo(&sql);
	appendStringInfo(&sql, "CREATE TYPE %s.%s AS (", quote_identifier(types->schema), quote_identifier(name));
	for (i = 0; i < shape->nattributes; i++)
		appendStringInfo(&sql, "%s%s %s", i > 0 ? ", " : "", quote_identifier(shape->attributes[i].name),
						 format_type_extended(shape->attributes[i].typid, shape->attributes[i].typmod,
											  FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY));
	appendStringInfoChar(&sql, ')');
	pg_verifymbstr(sql.data, sql.len, false);

	SPI_connect();
	if (SPI_execute(sql.data, false, 0) != SPI_OK_UTILITY)
		elog(ERROR, "could not make composite type \"%s\"", name);
	SPI_finish();
}

static Oid
composite_type(const ImportTypes *types, const char *prefix, const char *name, const RowShape *shape)
{
	Oid			schema = get_namespace_oid(types->schema, false);
	int			number;

	for (number = 0;; number++)
	{
		char	   *candidate = makeObjectName(prefix, name, number > 0 ? psprintf("%d", number) : NULL);
		Oid			typid = find_type(candidate, schema);

		CHECK_FOR_INTERRUPTS();
		if (is_reserved(types, candidate))
			continue;
		if (OidIsValid(typid) && has_shape(typid, shape))
			return typid;
		if (OidIsValid(typid) || OidIsValid(get_relname_relid(candidate, schema)))
			continue;
		create_type(types, candidate, shape);
		return find_type(candidate, schema);
	}
}

static Oid
row_type(const ImportTypes *types, const char *prefix, const char *name, const DataType *type)
{
	const char *full_name = makeObjectName(prefix, name, NULL);
	RowShape	shape = {.nattributes = type->nchildren};
	int			i;

	shape.attributes = palloc(shape.nattributes * sizeof(Attribute));
	for (i = 0; i < shape.nattributes; i++)
	{
		const DataField *field = &type->children[i];
		Attribute  *attribute = &shape.attributes[i];

		check_attribute_name(full_name, field->name);
		attribute->name = field->name;
		attribute->typid = import_type(types, full_name, field->name, field->type, &attribute->typmod);
	}
	return composite_type(types, prefix, name, &shape);
}

static Oid
import_type(const ImportTypes *types, const char *prefix, const char *name, const DataType *type, int32 *typmod)
{
	Oid			typid;

	check_stack_depth();
	if (types->rows_as_jsonb)
		sql_type_of_lake(type, &typid, typmod);
	else if (type->root == TYPE_ROW && type->nchildren > 0)
	{
		*typmod = -1;
		typid = row_type(types, prefix, name, type);
	}
	else if (lake_type_is_array(type))
		typid = get_array_type(import_type(types, prefix, name, type->children[0].type, typmod));
	else
		sql_type_of_lake(type, &typid, typmod);
	return typid;
}

Oid
import_column_type(const ImportTypes *types, const char *prefix, const DataField *field, int32 *typmod)
{
	return import_type(types, prefix, field->name, field->type, typmod);
}
