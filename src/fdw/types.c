/*
 * types.c
 *		Which SQL type shows a lake type, and the reverse.
 *
 * The conversion of values is in decode*.c and encode*.c.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "fdw/types.h"

/* numeric's type modifier, as numeric.c has it */
#define NUMERIC_TYPMOD(precision, scale) ((((precision) << 16) | ((scale) & 0x7FF)) + VARHDRSZ)
#define NUMERIC_TYPMOD_PRECISION(typmod) ((((typmod) - VARHDRSZ) >> 16) & 0xFFFF)
#define NUMERIC_TYPMOD_SCALE(typmod) (((((typmod) - VARHDRSZ) & 0x7FF) ^ 1024) - 1024)

#define MAX_CHARACTER_LENGTH 10485760	/* of character(n) and varchar(n) */
#define LAKE_TIME_PRECISION 3	/* times are stored as milliseconds */

static bool
is_list(const DataType *type)
{
	return type->root == TYPE_ARRAY || type->root == TYPE_VECTOR;
}

/* Arrays of arrays in SQL are rectangles: those of the lake need not be. */
bool
lake_type_is_array(const DataType *type)
{
	return is_list(type) && !is_list(type->children[0].type);
}

void
sql_type_of_lake(const DataType *type, Oid *typid, int32 *typmod)
{
	*typmod = -1;
	switch (type->root)
	{
		case TYPE_BOOLEAN:
			*typid = BOOLOID;
			break;
		case TYPE_TINYINT:
		case TYPE_SMALLINT:
			*typid = INT2OID;
			break;
		case TYPE_INT:
			*typid = INT4OID;
			break;
		case TYPE_BIGINT:
			*typid = INT8OID;
			break;
		case TYPE_FLOAT:
			*typid = FLOAT4OID;
			break;
		case TYPE_DOUBLE:
			*typid = FLOAT8OID;
			break;
		case TYPE_DECIMAL:
			*typid = NUMERICOID;
			*typmod = NUMERIC_TYPMOD(type->precision, type->scale);
			break;
		case TYPE_CHAR:
		case TYPE_VARCHAR:
			*typid = type->length > MAX_CHARACTER_LENGTH ? TEXTOID :
				type->root == TYPE_CHAR ? BPCHAROID : VARCHAROID;
			if (*typid != TEXTOID)
				*typmod = type->length + VARHDRSZ;
			break;
		case TYPE_BINARY:
		case TYPE_VARBINARY:
		case TYPE_BLOB:
			*typid = BYTEAOID;
			break;
		case TYPE_DATE:
			*typid = DATEOID;
			break;
		case TYPE_TIME:
			*typid = TIMEOID;
			*typmod = Min(type->precision, LAKE_TIME_PRECISION);
			break;
		case TYPE_TIMESTAMP:
			*typid = TIMESTAMPOID;
			*typmod = Min(type->precision, MAX_TIMESTAMP_PRECISION);
			break;
		case TYPE_TIMESTAMP_LTZ:
			*typid = TIMESTAMPTZOID;
			*typmod = Min(type->precision, MAX_TIMESTAMP_PRECISION);
			break;
		case TYPE_ARRAY:
		case TYPE_VECTOR:
			*typid = JSONBOID;
			if (lake_type_is_array(type))
			{
				Oid			element;

				sql_type_of_lake(type->children[0].type, &element, typmod);
				*typid = get_array_type(element);
			}
			break;
		case TYPE_MULTISET:
		case TYPE_MAP:
		case TYPE_ROW:
		case TYPE_VARIANT:
			*typid = JSONBOID;
			break;
	}
}

static void
refuse_type(const char *column, Oid typid, int32 typmod, const char *hint)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("column \"%s\" has type %s, which a lake table cannot have",
					column, format_type_with_typemod(typid, typmod)),
			 errhint("%s", hint)));
}

/* Does a DECIMAL hold what this numeric holds? */
static bool
numeric_is_decimal(int32 typmod)
{
	int			scale = NUMERIC_TYPMOD_SCALE(typmod);

	return typmod >= (int32) VARHDRSZ && NUMERIC_TYPMOD_PRECISION(typmod) <= TYPE_MAX_DECIMAL_PRECISION &&
		scale >= 0 && scale <= NUMERIC_TYPMOD_PRECISION(typmod);
}

static DataType *
lake_decimal(const char *column, int32 typmod, bool nullable)
{
	if (typmod < (int32) VARHDRSZ)
		refuse_type(column, NUMERICOID, typmod,
					"Give precision and scale, up to numeric(38, 38).");
	if (!numeric_is_decimal(typmod))
		refuse_type(column, NUMERICOID, typmod,
					"Precision can be up to 38, and scale from 0 to the precision.");
	return type_make(TYPE_DECIMAL, NUMERIC_TYPMOD_PRECISION(typmod), NUMERIC_TYPMOD_SCALE(typmod), nullable);
}

static DataType *
lake_timestamp(TypeRoot root, int32 typmod, bool nullable)
{
	return type_make(root, typmod < 0 ? MAX_TIMESTAMP_PRECISION : typmod, 0, nullable);
}

static DataType *
lake_array(const char *column, Oid element, int32 typmod, bool nullable)
{
	DataType   *type = type_make_nested(TYPE_ARRAY, 1, nullable);

	type->children[0].type = lake_type_of_sql(psprintf("%s[]", column), element, typmod, true);
	return type;
}

static DataType *
lake_row(const char *column, Oid typid, bool nullable)
{
	TupleDesc	desc = lookup_rowtype_tupdesc(typid, -1);
	DataType   *type = type_make_nested(TYPE_ROW, desc->natts, nullable);
	int			i;

	type->nchildren = 0;
	for (i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);
		DataField  *field = &type->children[type->nchildren];

		if (attribute->attisdropped)
			continue;
		type->nchildren++;
		field->name = pstrdup(NameStr(attribute->attname));
		field->type = lake_type_of_sql(psprintf("%s.%s", column, field->name), attribute->atttypid,
									   attribute->atttypmod, true);
	}
	ReleaseTupleDesc(desc);
	if (type->nchildren == 0)
		refuse_type(column, typid, -1, "The composite type has no attributes.");
	return type;
}

/* Types that are made of others. */
static DataType *
lake_nested(const char *column, Oid typid, int32 typmod, bool nullable)
{
	Oid			element = get_element_type(typid);

	/* not of oidvector and the like, which have elements, too */
	if (OidIsValid(element) && get_array_type(element) == typid)
		return lake_array(column, element, typmod, nullable);
	if (get_typtype(typid) == TYPTYPE_COMPOSITE)
		return lake_row(column, typid, nullable);
	refuse_type(column, typid, typmod,
				"Use a boolean, number, text, bytea, date, time or timestamp type, an array or a composite type of them; "
				"most others can be kept as text.");
	return NULL;				/* keep compiler quiet */
}

DataType *
lake_type_of_sql(const char *column, Oid typid, int32 typmod, bool nullable)
{
	check_stack_depth();
	typid = getBaseTypeAndTypmod(typid, &typmod);
	switch (typid)
	{
		case BOOLOID:
			return type_make(TYPE_BOOLEAN, 0, 0, nullable);
		case INT2OID:
			return type_make(TYPE_SMALLINT, 0, 0, nullable);
		case INT4OID:
			return type_make(TYPE_INT, 0, 0, nullable);
		case INT8OID:
			return type_make(TYPE_BIGINT, 0, 0, nullable);
		case FLOAT4OID:
			return type_make(TYPE_FLOAT, 0, 0, nullable);
		case FLOAT8OID:
			return type_make(TYPE_DOUBLE, 0, 0, nullable);
		case NUMERICOID:
			return lake_decimal(column, typmod, nullable);
		case TEXTOID:
			return type_make(TYPE_VARCHAR, TYPE_MAX_LENGTH, 0, nullable);
		case VARCHAROID:
			return type_make(TYPE_VARCHAR, typmod < 0 ? TYPE_MAX_LENGTH : typmod - VARHDRSZ, 0, nullable);
		case BPCHAROID:
			if (typmod < 0)
				refuse_type(column, typid, typmod, "Use text, or character with a length.");
			return type_make(TYPE_CHAR, typmod - VARHDRSZ, 0, nullable);
		case BYTEAOID:
			return type_make(TYPE_VARBINARY, TYPE_MAX_LENGTH, 0, nullable);
		case DATEOID:
			return type_make(TYPE_DATE, 0, 0, nullable);
		case TIMEOID:
			if (typmod < 0 || typmod > LAKE_TIME_PRECISION)
				refuse_type(column, typid, typmod, "Use time(3): lake tables keep milliseconds.");
			return type_make(TYPE_TIME, typmod, 0, nullable);
		case TIMESTAMPOID:
			return lake_timestamp(TYPE_TIMESTAMP, typmod, nullable);
		case TIMESTAMPTZOID:
			return lake_timestamp(TYPE_TIMESTAMP_LTZ, typmod, nullable);
		case JSONOID:
		case JSONBOID:
			refuse_type(column, typid, typmod,
						"Use text for any JSON; or arrays and composite types, which can be shown as jsonb, too.");
			return NULL;		/* keep compiler quiet */
		default:
			return lake_nested(column, typid, typmod, nullable);
	}
}

bool
lake_type_exists(Oid typid, int32 typmod)
{
	typid = getBaseTypeAndTypmod(typid, &typmod);
	switch (typid)
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case FLOAT4OID:
		case FLOAT8OID:
		case TEXTOID:
		case VARCHAROID:
		case BYTEAOID:
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return true;
		case NUMERICOID:
			return numeric_is_decimal(typmod);
		case BPCHAROID:
			return typmod >= 0;
		case TIMEOID:
			return typmod >= 0 && typmod <= LAKE_TIME_PRECISION;
		default:
			return false;
	}
}

/* A larger scale would hold the values, too, but must show them with more digits. */
static bool
numeric_holds(int32 typmod, const DataType *type)
{
	if (typmod < (int32) VARHDRSZ)
		return true;
	return NUMERIC_TYPMOD_SCALE(typmod) == type->scale && NUMERIC_TYPMOD_PRECISION(typmod) >= type->precision;
}

static bool
string_holds(Oid typid, int32 typmod, const DataType *type)
{
	switch (typid)
	{
		case TEXTOID:
			return true;
		case BPCHAROID:
			/* blanks at the end of a VARCHAR count, those of a character(n) do not */
			if (type->root != TYPE_CHAR)
				return false;
			break;
		case VARCHAROID:
			break;
		default:
			return false;
	}
	return typmod < 0 || typmod - (int32) VARHDRSZ >= type->length;
}

int
row_attribute(TupleDesc desc, const char *field)
{
	int			i;

	for (i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, i);

		if (!attribute->attisdropped && strcmp(NameStr(attribute->attname), field) == 0)
			return i;
	}
	return -1;
}

/* Each attribute must show a field; others need not be shown. */
static bool
composite_holds(Oid typid, const DataType *type)
{
	TupleDesc	desc = lookup_rowtype_tupdesc(typid, -1);
	int			nattributes = 0;
	int			nheld = 0;
	int			i;

	for (i = 0; i < desc->natts; i++)
		nattributes += TupleDescAttr(desc, i)->attisdropped ? 0 : 1;
	for (i = 0; i < type->nchildren; i++)
	{
		int			attribute = row_attribute(desc, type->children[i].name);

		if (attribute >= 0 && sql_type_holds_lake(TupleDescAttr(desc, attribute)->atttypid,
												  TupleDescAttr(desc, attribute)->atttypmod, type->children[i].type))
			nheld++;
	}
	ReleaseTupleDesc(desc);
	return nheld == nattributes;
}

/* typid: no domain */
static bool
nested_holds(Oid typid, int32 typmod, const DataType *type)
{
	Oid			element;

	check_stack_depth();
	if (typid == JSONBOID)
		return true;
	if (type->root == TYPE_ROW)
		return get_typtype(typid) == TYPTYPE_COMPOSITE && composite_holds(typid, type);
	element = get_element_type(typid);
	return lake_type_is_array(type) && OidIsValid(element) && get_array_type(element) == typid &&
		sql_type_holds_lake(element, typmod, type->children[0].type);
}

bool
sql_type_holds_lake(Oid typid, int32 typmod, const DataType *type)
{
	Oid			natural;
	int32		natural_typmod;

	typid = getBaseTypeAndTypmod(typid, &typmod);
	if (type_is_nested(type))
		return nested_holds(typid, typmod, type);
	if (type_is_string(type))
		return string_holds(typid, typmod, type);
	sql_type_of_lake(type, &natural, &natural_typmod);
	if (typid != natural)
		return false;
	if (type->root == TYPE_DECIMAL)
		return numeric_holds(typmod, type);
	return typmod < 0 || typmod >= natural_typmod;
}
