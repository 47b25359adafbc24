/*
 * lake_relation.h
 *		The lake table behind a foreign table, for SQL functions about it.
 */
#ifndef STREAMHOUSE_API_LAKE_RELATION_H
#define STREAMHOUSE_API_LAKE_RELATION_H

#include "lake/table.h"

/*
 * For maintenance, which only the owner may do; and for inspection, for which
 * SELECT is needed: NULL for a table that this transaction has yet to make.
 */
extern LakeTable *lake_relation_maintain(Oid relid);
extern LakeTable *lake_relation_inspect(Oid relid);

#endif							/* STREAMHOUSE_API_LAKE_RELATION_H */
