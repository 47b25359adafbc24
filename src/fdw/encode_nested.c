/*
 * encode_nested.c
 *		Arrays and composite values become lists and rows of the lake.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "compat.h"
#include "fdw/encode.h"

int32
encode_list(const ColumnEncoder *encoder, Vector *target, int row, int64 count)
{
	int32		start = target->children[0]->filled;
	int			i;

	if (encoder->type->root == TYPE_VECTOR && count != encoder->type->length)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("value for column \"%s\" of table \"%s\" has " INT64_FORMAT " elements",
						encoder->column, encoder->table, count),
				 errdetail("The column's type in the lake is %s.", type_describe(encoder->type))));
	for (i = 0; i < target->nchildren; i++)
	{
		vector_reserve(target->children[i], start + count);
		target->children[i]->filled = start + (int) count;
	}
	target->values.list[row].start = start;
	target->values.list[row].length = (int32) count;
	return start;
}

/* ---- arrays ---- */

/* Do an array's elements lie as the lake's values do in memory? */
static bool
is_plain(const DataType *type)
{
	switch (type->root)
	{
		case TYPE_SMALLINT:
		case TYPE_INT:
		case TYPE_BIGINT:
		case TYPE_FLOAT:
		case TYPE_DOUBLE:
			return true;
		default:
			return false;
	}
}

static void
fill_elements(const ColumnEncoder *element, ArrayType *array, Vector *target, int32 start)
{
	Datum	   *values;
	bool	   *nulls;
	int			count;
	int			i;

	deconstruct_array(array, ARR_ELEMTYPE(array), element->typlen, element->typbyval, element->typalign,
					  &values, &nulls, &count);
	for (i = 0; i < count; i++)
		encode_into(element, values[i], nulls[i], target, start + i);
}

static void
fill_array(const ColumnEncoder *encoder, Datum value, Vector *target, int row)
{
	const ColumnEncoder *element = encoder->parts;
	ArrayType  *array = DatumGetArrayTypeP(value);
	int			count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	int32		start;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("value for column \"%s\" of table \"%s\" has %d dimensions",
						encoder->column, encoder->table, ARR_NDIM(array)),
				 errdetail("The column's type in the lake is %s.", type_describe(encoder->type))));
	start = encode_list(encoder, target, row, count);
	if (is_plain(element->type) && !ARR_HASNULL(array))
		memcpy((char *) target->children[0]->values.any + (Size) start * element->typlen, ARR_DATA_PTR(array),
			   (Size) count * element->typlen);
	else
		fill_elements(element, array, target->children[0], start);
}

void
encoder_init_array(ColumnEncoder *encoder, EncoderInit init_element)
{
	Oid			element = get_element_type(encoder->typid);

	if (!lake_type_is_array(encoder->type) || !OidIsValid(element))
		encode_mismatch(encoder, encoder->typid);
	encoder->nparts = 1;
	encoder->parts = palloc(sizeof(ColumnEncoder));
	init_element(encoder->parts, encoder->table, psprintf("%s[]", encoder->column),
				 encoder->type->children[0].type, element);
	encoder->fill = fill_array;
}

/* ---- composite values ---- */

static void
fill_row(const ColumnEncoder *encoder, Datum value, Vector *target, int row)
{
	HeapTupleHeader header = DatumGetHeapTupleHeader(value);
	HeapTupleData tuple = {.t_len = HeapTupleHeaderGetDatumLength(header), .t_data = header};
	Datum	   *values = palloc(encoder->desc->natts * sizeof(Datum));
	bool	   *nulls = palloc(encoder->desc->natts * sizeof(bool));
	int			i;

	if (HeapTupleHeaderGetNatts(header) > encoder->desc->natts)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("composite type %s of column \"%s\" of table \"%s\" has changed",
						format_type_be(encoder->desc->tdtypeid), encoder->column, encoder->table)));
	ItemPointerSetInvalid(&tuple.t_self);
	heap_deform_tuple(&tuple, encoder->desc, values, nulls);
	for (i = 0; i < encoder->nparts; i++)
		encode_into(&encoder->parts[i], values[encoder->fields[i]], nulls[encoder->fields[i]], target->children[i], row);
	pfree(values);
	pfree(nulls);
}

/* Parts are by the lake's fields; fields are the attributes, all of which are needed. */
void
encoder_init_row(ColumnEncoder *encoder)
{
	const DataType *type = encoder->type;
	int		   *attributes = palloc(Max(type->nchildren, 1) * sizeof(int));
	int			i;

	if (get_typtype(encoder->typid) != TYPTYPE_COMPOSITE)
		encode_mismatch(encoder, encoder->typid);
	encoder->desc = lookup_rowtype_tupdesc_copy(encoder->typid, -1);
	encoder->nparts = type->nchildren;
	encoder->parts = palloc0(Max(type->nchildren, 1) * sizeof(ColumnEncoder));
	encoder->fields = attributes;
	for (i = 0; i < type->nchildren; i++)
	{
		const DataField *field = &type->children[i];

		attributes[i] = row_attribute(encoder->desc, field->name);
		if (attributes[i] < 0)
			ereport(ERROR,
					(errcode(ERRCODE_DATATYPE_MISMATCH),
					 errmsg("composite type %s of column \"%s\" of table \"%s\" lacks attribute \"%s\"",
							format_type_be(encoder->typid), encoder->column, encoder->table, field->name),
					 errdetail("The column's type in the lake is %s.", type_describe(type))));
		column_encoder_init(&encoder->parts[i], encoder->table, psprintf("%s.%s", encoder->column, field->name),
							field->type, TupleDescAttr(encoder->desc, attributes[i])->atttypid);
	}
	encoder->fill = fill_row;
}
