/*
 * nested_fields.h
 *		Which fields of ROW columns a query uses: the others are not read.
 */
#ifndef STREAMHOUSE_FDW_NESTED_FIELDS_H
#define STREAMHOUSE_FDW_NESTED_FIELDS_H

#include "nodes/pathnodes.h"

#include "fdw/fdw.h"

/*
 * Paths to fields, of those columns of a relation of which the query uses no
 * more than fields: lists of an Integer, the attribute number, and Strings,
 * names from the outer to the inner field.
 */
extern List *nested_fields_used(PlannerInfo *root, RelOptInfo *baserel);

/* Mark all other fields of these columns as unused in the table's types, which become its own. */
extern void nested_fields_apply(ForeignRelation *foreign, const List *paths);

/* A path as text, "column.field". */
extern char *nested_field_name(const ForeignRelation *foreign, const List *path);

#endif							/* STREAMHOUSE_FDW_NESTED_FIELDS_H */
