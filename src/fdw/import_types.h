/*
 * import_types.h
 *		The types of imported columns: composite types for ROW are made here.
 */
#ifndef STREAMHOUSE_FDW_IMPORT_TYPES_H
#define STREAMHOUSE_FDW_IMPORT_TYPES_H

#include "nodes/pg_list.h"

#include "columnar/type.h"

typedef struct ImportTypes
{
	const char *schema;			/* where types are made */
	bool		rows_as_jsonb;	/* none are */
	List	   *reserved;		/* char *: names that imported tables will need */
} ImportTypes;

/*
 * The SQL type of a field: of ROW, and of ARRAY of it, a composite type called
 * <prefix>_<field>, which is made unless the schema has it.
 */
extern Oid	import_column_type(const ImportTypes *types, const char *prefix, const DataField *field, int32 *typmod);

#endif							/* STREAMHOUSE_FDW_IMPORT_TYPES_H */
