/*
 * decode_nested.c
 *		Lists and rows of the lake become arrays and composite values.
 *
 * The parts of all values are decoded as columns, in a context of their own;
 * then arrays are laid one behind the other into one piece of memory.  Lists
 * are taken some elements at a time.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupmacs.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "compat.h"
#include "fdw/decode.h"

#define ELEMENTS_AT_ONCE 16384	/* unless a single list has more */

static MemoryContext
parts_context(void)
{
	return AllocSetContextCreate(CurrentMemoryContext, "streamhouse parts of values", ALLOCSET_DEFAULT_SIZES);
}

static void *
allocate(int64 count, Size size)
{
	return MemoryContextAllocHuge(CurrentMemoryContext, Max(count, 1) * size);
}

/* ---- arrays ---- */

/* Some lists that are not null, and all their elements as Datums, one list's behind the other's. */
typedef struct ListGroup
{
	int			nlists;
	int			places[BATCH_ROWS]; /* among the values asked for */
	ListView	lists[BATCH_ROWS];
	int64		nelements;
	Datum	   *elements;
	bool	   *nulls;
} ListGroup;

static void
group_add(ListGroup *group, int place, ListView list)
{
	group->places[group->nlists] = place;
	group->lists[group->nlists++] = list;
	group->nelements += list.length;
}

static bool
group_is_full(const ListGroup *group, ListView next)
{
	return group->nlists == BATCH_ROWS ||
		(group->nlists > 0 && group->nelements + next.length > ELEMENTS_AT_ONCE);
}

static void
decode_elements(const ColumnDecoder *element, const Vector *vector, ListGroup *group)
{
	int32	   *rows = allocate(group->nelements, sizeof(int32));
	int64		n = 0;
	int			i;
	int32		k;

	for (i = 0; i < group->nlists; i++)
	{
		for (k = 0; k < group->lists[i].length; k++)
			rows[n++] = group->lists[i].start + k;
	}
	group->elements = allocate(n, sizeof(Datum));
	group->nulls = allocate(n, sizeof(bool));
	column_decode(element, vector, rows, (int) n, group->elements, group->nulls);
}

static Size
array_header_size(int count, bool has_nulls)
{
	return count == 0 ? ARR_OVERHEAD_NONULLS(0) :
		has_nulls ? ARR_OVERHEAD_WITHNULLS(1, count) : ARR_OVERHEAD_NONULLS(1);
}

static bool
any_null(const bool *nulls, int count)
{
	return memchr(nulls, true, count) != NULL;
}

static Size
array_size(const ColumnDecoder *decoder, const Datum *elements, const bool *nulls, int count)
{
	const ColumnDecoder *element = decoder->parts;
	Size		size = array_header_size(count, any_null(nulls, count));
	int			i;

	for (i = 0; i < count; i++)
	{
		if (nulls[i])
			continue;
		size = att_addlength_datum(size, element->typlen, elements[i]);
		size = att_align_nominal(size, element->typalign);
	}
	if (size > MaxAllocSize)
		decode_too_long(decoder);
	return size;
}

/* Returns where the elements begin. */
static char *
put_array_header(char *place, Size size, Oid element, int count, bool has_nulls)
{
	ArrayType  *array = (ArrayType *) place;
	Size		header = array_header_size(count, has_nulls);

	memset(array, 0, header);
	SET_VARSIZE(array, size);
	array->elemtype = element;
	if (count > 0)
	{
		array->ndim = 1;
		array->dataoffset = has_nulls ? header : 0;
		ARR_DIMS(array)[0] = count;
		ARR_LBOUND(array)[0] = 1;
	}
	return place + header;
}

static void
put_array(const ColumnDecoder *decoder, char *place, Size size, const Datum *elements, const bool *nulls, int count)
{
	const ColumnDecoder *element = decoder->parts;
	bool		has_nulls = any_null(nulls, count);
	char	   *data = put_array_header(place, size, element->typid, count, has_nulls);
	bits8	   *bitmap = has_nulls ? ARR_NULLBITMAP((ArrayType *) place) : NULL;
	int			i;

	for (i = 0; i < count; i++)
	{
		Size		length;
		Size		room;

		if (nulls[i])
			continue;
		if (bitmap)
			bitmap[i / 8] |= 1 << i % 8;
		length = att_addlength_datum(0, element->typlen, elements[i]);
		room = att_align_nominal(length, element->typalign);
		if (element->typbyval)
			store_att_byval(data, elements[i], element->typlen);
		else
			memcpy(data, DatumGetPointer(elements[i]), length);
		memset(data + length, 0, room - length);
		data += room;
	}
}

/* Arrays of elements that have become Datums. */
static void
make_arrays(const ColumnDecoder *decoder, const ListGroup *group, MemoryContext context, Datum *values)
{
	Size	   *sizes = allocate(group->nlists, sizeof(Size));
	Size		total = 0;
	int64		at = 0;
	char	   *place;
	int			i;

	for (i = 0; i < group->nlists; i++)
	{
		int			count = group->lists[i].length;

		sizes[i] = array_size(decoder, group->elements + at, group->nulls + at, count);
		total += MAXALIGN(sizes[i]);
		at += count;
	}
	place = MemoryContextAllocHuge(context, total);
	at = 0;
	for (i = 0; i < group->nlists; i++)
	{
		int			count = group->lists[i].length;

		put_array(decoder, place, sizes[i], group->elements + at, group->nulls + at, count);
		values[group->places[i]] = PointerGetDatum(place);
		place += MAXALIGN(sizes[i]);
		at += count;
	}
}

/* Arrays of elements that lie in the vector as they do in an array, without nulls. */
static void
copy_arrays(const ColumnDecoder *decoder, const Vector *elements, const ListGroup *group, MemoryContext context,
			Datum *values)
{
	const ColumnDecoder *element = decoder->parts;
	Size		total = 0;
	char	   *place;
	int			i;

	for (i = 0; i < group->nlists; i++)
	{
		Size		size = array_header_size(1, false) + (Size) group->lists[i].length * element->typlen;

		if (size > MaxAllocSize)
			decode_too_long(decoder);
		total += MAXALIGN(size);
	}
	place = MemoryContextAllocHuge(context, total);
	for (i = 0; i < group->nlists; i++)
	{
		ListView	list = group->lists[i];
		Size		bytes = (Size) list.length * element->typlen;
		Size		size = array_header_size(list.length, false) + bytes;
		char	   *data = put_array_header(place, size, element->typid, list.length, false);

		memcpy(data, (const char *) elements->values.any + (Size) list.start * element->typlen, bytes);
		values[group->places[i]] = PointerGetDatum(place);
		place += MAXALIGN(size);
	}
}

/* Are the lake's values in memory what an array has? */
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

/* Make the group's arrays in the context; what it takes beside is left in the current one. */
static void
decode_group(const ColumnDecoder *decoder, const Vector *elements, ListGroup *group, MemoryContext context,
			 Datum *values)
{
	CHECK_FOR_INTERRUPTS();
	if (is_plain(elements->type) && !elements->has_nulls)
		copy_arrays(decoder, elements, group, context, values);
	else
	{
		if (group->nelements > PG_INT32_MAX)
			decode_too_long(decoder);
		decode_elements(decoder->parts, elements, group);
		make_arrays(decoder, group, context, values);
	}
	group->nlists = 0;
	group->nelements = 0;
}

static void
decode_array(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows, Datum *values)
{
	MemoryContext result = CurrentMemoryContext;
	MemoryContext parts = parts_context();
	ListGroup  *group = MemoryContextAlloc(result, sizeof(ListGroup));
	int			i;
	int			r;

	group->nlists = 0;
	group->nelements = 0;
	MemoryContextSwitchTo(parts);
	FOR_EACH_VALUE(i, r)
	{
		ListView	list = vector->values.list[r];

		if (group_is_full(group, list))
		{
			decode_group(decoder, vector->children[0], group, result, values);
			MemoryContextReset(parts);
		}
		group_add(group, i, list);
	}
	decode_group(decoder, vector->children[0], group, result, values);
	MemoryContextSwitchTo(result);
	MemoryContextDelete(parts);
	pfree(group);
}

/* ---- composite values ---- */

/* The attributes of some rows that are not null: value i of attribute a is values[a][i]. */
typedef struct RowGroup
{
	int			nrows;
	int32	   *rows;
	int		   *places;			/* among the values asked for */
	Datum	  **values;
	bool	  **nulls;
} RowGroup;

static void
decode_attributes(const ColumnDecoder *decoder, const Vector *vector, RowGroup *group)
{
	int			a;

	group->values = palloc0(decoder->nparts * sizeof(Datum *));
	group->nulls = palloc0(decoder->nparts * sizeof(bool *));
	for (a = 0; a < decoder->nparts; a++)
	{
		group->values[a] = allocate(group->nrows, sizeof(Datum));
		group->nulls[a] = allocate(group->nrows, sizeof(bool));
		if (decoder->fields[a] < 0)
			memset(group->nulls[a], true, group->nrows * sizeof(bool));
		else
			column_decode(&decoder->parts[a], vector->children[decoder->fields[a]], group->rows, group->nrows,
						  group->values[a], group->nulls[a]);
	}
}

static void
make_tuples(const ColumnDecoder *decoder, const RowGroup *group, MemoryContext context, Datum *out)
{
	Datum	   *values = palloc(decoder->nparts * sizeof(Datum));
	bool	   *nulls = palloc(decoder->nparts * sizeof(bool));
	MemoryContext old_context = MemoryContextSwitchTo(context);
	int			i;
	int			a;

	for (i = 0; i < group->nrows; i++)
	{
		for (a = 0; a < decoder->nparts; a++)
		{
			values[a] = group->values[a][i];
			nulls[a] = group->nulls[a][i];
		}
		out[group->places[i]] = HeapTupleGetDatum(heap_form_tuple(decoder->desc, values, nulls));
	}
	MemoryContextSwitchTo(old_context);
}

static void
decode_row(const ColumnDecoder *decoder, const Vector *vector, const int32 *rows, int nrows, Datum *values)
{
	MemoryContext result = CurrentMemoryContext;
	MemoryContext parts = parts_context();
	RowGroup	group = {0};
	int			i;
	int			r;

	MemoryContextSwitchTo(parts);
	group.rows = allocate(nrows, sizeof(int32));
	group.places = allocate(nrows, sizeof(int));
	FOR_EACH_VALUE(i, r)
	{
		group.rows[group.nrows] = r;
		group.places[group.nrows++] = i;
	}
	decode_attributes(decoder, vector, &group);
	make_tuples(decoder, &group, result, values);
	MemoryContextSwitchTo(result);
	MemoryContextDelete(parts);
}

/* ---- decoders ---- */

static void
init_array(ColumnDecoder *decoder)
{
	Oid			element = get_element_type(decoder->typid);

	decoder->nparts = 1;
	decoder->parts = palloc(sizeof(ColumnDecoder));
	column_decoder_init(decoder->parts, decoder->table, psprintf("%s[]", decoder->column),
						decoder->type->children[0].type, element, decoder->typmod);
	/* it may be a domain */
	decoder->parts->typid = element;
	decoder->decode = decode_array;
}

static int
row_field(const DataType *type, const char *name)
{
	int			i;

	for (i = 0; i < type->nchildren; i++)
	{
		if (strcmp(type->children[i].name, name) == 0)
			return i;
	}
	elog(ERROR, "field \"%s\" is missing", name);
}

static void
init_row(ColumnDecoder *decoder)
{
	int		   *fields;
	int			a;

	decoder->desc = lookup_rowtype_tupdesc_copy(decoder->typid, -1);
	decoder->nparts = decoder->desc->natts;
	decoder->parts = palloc0(decoder->nparts * sizeof(ColumnDecoder));
	decoder->fields = fields = palloc(decoder->nparts * sizeof(int));
	for (a = 0; a < decoder->nparts; a++)
	{
		Form_pg_attribute attribute = TupleDescAttr(decoder->desc, a);
		const DataField *field;

		fields[a] = -1;
		if (attribute->attisdropped)
			continue;
		fields[a] = row_field(decoder->type, NameStr(attribute->attname));
		field = &decoder->type->children[fields[a]];
		column_decoder_init(&decoder->parts[a], decoder->table, psprintf("%s.%s", decoder->column, field->name),
							field->type, attribute->atttypid, attribute->atttypmod);
	}
	decoder->decode = decode_row;
}

void
decoder_init_nested(ColumnDecoder *decoder)
{
	if (decoder->type->root == TYPE_ROW)
		init_row(decoder);
	else
		init_array(decoder);
}
