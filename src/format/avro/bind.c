/*
 * bind.c
 *		Decoding records into structs: a layout bound to a file's schema.
 */
#include "postgres.h"

#include "format/avro/avro.h"
#include "utils/memutils.h"

/* What to do with one field of the file. */
typedef struct FieldPlan
{
	const AvroField *field;		/* NULL: skip */
	const AvroSchema *schema;	/* in the file, union and all */
	int			null_branch;	/* of a union: which branch is null, -1 for no union */
	int			element_null_branch;	/* the same of an array's elements */
	AvroPlan   *record;			/* of records and lists of them */
} FieldPlan;

struct AvroPlan
{
	const AvroLayout *layout;
	bool		skips;			/* here or below */
	int			nfields;		/* of the file */
	FieldPlan  *fields;
};

static AvroPlan *bind_record(const AvroSchema *schema, const AvroLayout *layout, const char *path);

static bool
kind_fits(AvroTarget target, AvroKind kind)
{
	switch (target)
	{
		case AVRO_TO_INT32:
			return kind == AVRO_INT;
		case AVRO_TO_INT64:
			return kind == AVRO_INT || kind == AVRO_LONG;
		case AVRO_TO_STRING:
			return kind == AVRO_STRING;
		case AVRO_TO_BYTES:
			return kind == AVRO_BYTES || kind == AVRO_STRING;
		case AVRO_TO_RECORD:
			return kind == AVRO_RECORD;
		case AVRO_TO_STRING_LIST:
		case AVRO_TO_INT64_ARRAY:
		case AVRO_TO_RECORD_LIST:
			return kind == AVRO_ARRAY;
	}
	return false;
}

static bool
element_fits(AvroTarget target, AvroKind kind)
{
	switch (target)
	{
		case AVRO_TO_STRING_LIST:
			return kind == AVRO_STRING;
		case AVRO_TO_INT64_ARRAY:
			return kind == AVRO_LONG || kind == AVRO_INT;
		case AVRO_TO_RECORD_LIST:
			return kind == AVRO_RECORD;
		default:
			return true;
	}
}

static void
bind_field(FieldPlan *plan, const AvroField *field, const AvroSchema *schema, const char *path)
{
	const AvroSchema *type = avro_strip_null(schema, &plan->null_branch);

	plan->field = field;
	plan->element_null_branch = -1;
	if (!kind_fits(field->target, type->kind))
		avro_error(path, "Field \"%s\" is of another type than expected.", field->name);

	if (type->kind == AVRO_ARRAY)
	{
		type = avro_strip_null(type->children[0], &plan->element_null_branch);
		if (!element_fits(field->target, type->kind))
			avro_error(path, "The elements of field \"%s\" are of another type than expected.", field->name);
	}
	if (field->record != NULL)
		plan->record = bind_record(type, field->record, path);
}

static AvroPlan *
bind_record(const AvroSchema *schema, const AvroLayout *layout, const char *path)
{
	AvroPlan   *plan = palloc0(sizeof(AvroPlan));
	bool	   *found = palloc0(Max(layout->nfields, 1) * sizeof(bool));

	plan->layout = layout;
	plan->nfields = schema->nchildren;
	plan->fields = palloc0(Max(plan->nfields, 1) * sizeof(FieldPlan));

	for (int i = 0; i < plan->nfields; i++)
	{
		plan->fields[i].schema = schema->children[i];
		for (int k = 0; k < layout->nfields; k++)
		{
			if (!found[k] && strcmp(layout->fields[k].name, schema->field_names[i]) == 0)
			{
				bind_field(&plan->fields[i], &layout->fields[k], schema->children[i], path);
				found[k] = true;
				break;
			}
		}
		if (plan->fields[i].field == NULL ||
			(plan->fields[i].record != NULL && plan->fields[i].record->skips))
			plan->skips = true;
	}

	for (int k = 0; k < layout->nfields; k++)
	{
		if (!found[k] && !layout->fields[k].optional)
			avro_error(path, "Field \"%s\" is missing.", layout->fields[k].name);
	}
	pfree(found);
	return plan;
}

AvroPlan *
avro_bind(const AvroSchema *schema, const AvroLayout *layout, const char *path)
{
	if (schema->kind != AVRO_RECORD)
		avro_error(path, "It does not hold records.");
	return bind_record(schema, layout, path);
}

bool
avro_plan_skips(const AvroPlan *plan)
{
	return plan->skips;
}

/* Decoding */

static void decode_record(const AvroPlan *plan, AvroInput *input, char *target);

static char *
read_string(AvroInput *input)
{
	BytesView	view = avro_read_bytes(input);
	char	   *text = pnstrdup(view.data, view.length);

	if (strlen(text) != view.length)
		avro_error(input->path, "A string has a zero byte in it.");
	return text;
}

static List *
read_string_list(const FieldPlan *plan, AvroInput *input)
{
	List	   *list = NIL;
	int64		count;

	while ((count = avro_read_item_count(input)) > 0)
	{
		for (int64 i = 0; i < count; i++)
		{
			if (avro_read_null(input, plan->element_null_branch))
				avro_error(input->path, "Field \"%s\" has a null element.", plan->field->name);
			list = lappend(list, read_string(input));
		}
	}
	return list;
}

static List *
read_record_list(const FieldPlan *plan, AvroInput *input)
{
	List	   *list = NIL;
	int64		count;

	while ((count = avro_read_item_count(input)) > 0)
	{
		for (int64 i = 0; i < count; i++)
		{
			if (!avro_read_null(input, plan->element_null_branch))
			{
				char	   *record = palloc(plan->record->layout->size);

				decode_record(plan->record, input, record);
				list = lappend(list, record);
			}
		}
	}
	return list;
}

/* Counts are within the block's size, which bounds what is allocated. */
static int64 *
read_int64_array(const FieldPlan *plan, AvroInput *input, int *length)
{
	int64	   *values = NULL;
	int64		count;
	int			n = 0;

	while ((count = avro_read_item_count(input)) > 0)
	{
		if (count > MaxAllocSize / sizeof(int64) - n)
			avro_error(input->path, "Field \"%s\" is too long.", plan->field->name);
		values = values == NULL ? palloc(count * sizeof(int64)) : repalloc(values, (n + count) * sizeof(int64));
		for (int64 i = 0; i < count; i++)
			values[n++] = avro_read_null(input, plan->element_null_branch) ? -1 : avro_read_long(input);
	}
	*length = n;
	return values;
}

static void
decode_field(const FieldPlan *plan, AvroInput *input, char *target)
{
	const AvroField *field = plan->field;
	char	   *place = target + field->offset;

	if (avro_read_null(input, plan->null_branch))
	{
		if (!field->optional)
			avro_error(input->path, "Field \"%s\" is null.", field->name);
		return;
	}
	if (field->flag != AVRO_NO_OFFSET)
		*(bool *) (target + field->flag) = true;

	switch (field->target)
	{
		case AVRO_TO_INT32:
			*(int32 *) place = avro_read_int(input);
			break;
		case AVRO_TO_INT64:
			*(int64 *) place = avro_read_long(input);
			break;
		case AVRO_TO_STRING:
			*(char **) place = read_string(input);
			break;
		case AVRO_TO_BYTES:
			*(BytesView *) place = avro_read_bytes(input);
			break;
		case AVRO_TO_STRING_LIST:
			*(List **) place = read_string_list(plan, input);
			break;
		case AVRO_TO_INT64_ARRAY:
			*(int64 **) place = read_int64_array(plan, input, (int *) (target + field->count));
			break;
		case AVRO_TO_RECORD:
			decode_record(plan->record, input, place);
			break;
		case AVRO_TO_RECORD_LIST:
			*(List **) place = read_record_list(plan, input);
			break;
	}
}

static void
decode_record(const AvroPlan *plan, AvroInput *input, char *target)
{
	memset(target, 0, plan->layout->size);
	for (int i = 0; i < plan->nfields; i++)
	{
		const FieldPlan *field = &plan->fields[i];

		if (field->field == NULL)
			avro_skip(input, field->schema);
		else
			decode_field(field, input, target);
	}
}

void
avro_decode(const AvroPlan *plan, AvroInput *input, void *target)
{
	decode_record(plan, input, target);
}
