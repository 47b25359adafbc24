/*
 * variant_read.c
 *		Shredded variants: made whole again as they are read.
 *
 * A group of a shredded variant has a "value", binary, and a "typed_value":
 * a scalar, a list of groups, or a group with a group for each field of
 * objects.  What lies in one does not lie in the other, but for objects: of
 * these "value" has the fields that are not in the schema.  Where neither is,
 * the field is not there.  The outermost group has the metadata too, with the
 * names of all fields.
 *
 * The groups are read like rows and lists, as a type that is made from the
 * file's schema; above are seen only values and metadata.
 *
 * Source: apache/parquet-format, VariantShredding.md.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "common/int.h"
#include "format/parquet/nested_read.h"
#include "miscadmin.h"

/* Fields of the types that groups are read as. */
#define PART_VALUE 0
#define PART_TYPED 1
#define PART_METADATA 2			/* of the outermost only */

#define ROOM_BYTES 65536		/* in which values are kept */

/* ---- types ---- */

static DataType *group_type(ShreddedVariant *variant, const ParquetField *field, int nparts);

static DataType *
bytes_type(void)
{
	return type_make(TYPE_VARBINARY, TYPE_MAX_LENGTH, 0, true);
}

/* Of values without an annotation; NULL: there are none such in variants. */
static DataType *
plain_type(const ParquetField *field)
{
	switch (field->type)
	{
		case PARQUET_BOOLEAN:
			return type_make(TYPE_BOOLEAN, 0, 0, true);
		case PARQUET_INT32:
			return type_make(TYPE_INT, 0, 0, true);
		case PARQUET_INT64:
			return type_make(TYPE_BIGINT, 0, 0, true);
		case PARQUET_FLOAT:
			return type_make(TYPE_FLOAT, 0, 0, true);
		case PARQUET_DOUBLE:
			return type_make(TYPE_DOUBLE, 0, 0, true);
		case PARQUET_BYTE_ARRAY:
			return bytes_type();
		default:
			return NULL;
	}
}

static DataType *
timestamp_type(const ParquetField *field)
{
	int			precision = field->unit == PARQUET_MILLIS ? 3 : field->unit == PARQUET_MICROS ? 6 : 9;

	return type_make(field->is_utc ? TYPE_TIMESTAMP_LTZ : TYPE_TIMESTAMP, precision, 0, true);
}

/* NULL: there are no such values in variants, or we do not read them. */
static DataType *
scalar_type(const ParquetField *field)
{
	switch (field->meaning)
	{
		case PARQUET_MEANING_NONE:
			return plain_type(field);
		case PARQUET_MEANING_STRING:
			return type_make(TYPE_VARCHAR, TYPE_MAX_LENGTH, 0, true);
		case PARQUET_MEANING_INTEGER:
			return field->is_unsigned ? NULL : plain_type(field);
		case PARQUET_MEANING_DECIMAL:
			if (field->precision < 1 || field->precision > TYPE_MAX_DECIMAL_PRECISION ||
				field->scale < 0 || field->scale > field->precision)
				return NULL;
			return type_make(TYPE_DECIMAL, field->precision, field->scale, true);
		case PARQUET_MEANING_DATE:
			return type_make(TYPE_DATE, 0, 0, true);
		case PARQUET_MEANING_TIMESTAMP:
			return timestamp_type(field);
		default:
			return NULL;
	}
}

static DataType *
object_type(ShreddedVariant *variant, const ParquetField *field)
{
	DataType   *type = type_make_nested(TYPE_ROW, field->nchildren, true);

	for (int i = 0; i < field->nchildren; i++)
	{
		const ParquetField *child = &field->children[i];
		BytesView	name = {child->name, (uint32) strlen(child->name)};

		variant_add_name(&variant->names, name);
		type->children[i].name = child->name;
		type->children[i].type = group_type(variant, child, PART_TYPED + 1);
	}
	return type;
}

static DataType *
typed_value_type(ShreddedVariant *variant, const ParquetField *field)
{
	DataType   *type;

	if (field->repetition != PARQUET_REPEATED && field->nchildren == 1 &&
		field->children[0].repetition == PARQUET_REPEATED)
	{
		type = type_make_nested(TYPE_ARRAY, 1, true);
		type->children[0].type = group_type(variant, nested_element(field), PART_TYPED + 1);
		return type;
	}
	if (field->nchildren > 0)
		return object_type(variant, field);
	type = scalar_type(field);
	if (type == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" of file \"%s\" cannot be read as VARIANT",
						variant->place.column, variant->place.path),
				 errdetail("A part of its values is of type %s.", parquet_field_type_text(field))));
	return type;
}

/* What the file lacks has a type all the same, and will be null. */
static DataType *
group_type(ShreddedVariant *variant, const ParquetField *field, int nparts)
{
	static char *const names[] = {"value", "typed_value", "metadata"};
	const ParquetField *typed = parquet_child(field, names[PART_TYPED]);
	DataType   *type = type_make_nested(TYPE_ROW, nparts, true);

	for (int i = 0; i < nparts; i++)
	{
		type->children[i].name = names[i];
		type->children[i].type = i == PART_TYPED && typed != NULL ? typed_value_type(variant, typed) : bytes_type();
	}
	return type;
}

/* Give the fields of objects their names' numbers among all. */
static void
number_fields(const ShreddedVariant *variant, DataType *group)
{
	DataType   *typed = group->children[PART_TYPED].type;

	for (int i = 0; i < typed->nchildren; i++)
	{
		DataField  *field = &typed->children[i];

		if (typed->root == TYPE_ROW)
		{
			BytesView	name = {field->name, (uint32) strlen(field->name)};

			field->id = variant_name_id(&variant->names, name);
		}
		number_fields(variant, field->type);
	}
}

ShreddedVariant *
shredded_create(const ParquetField *field, const char *path, const char *column)
{
	ShreddedVariant *variant = palloc0(sizeof(ShreddedVariant));

	variant->place.path = path;
	variant->place.column = column;
	variant->type = group_type(variant, field, PART_METADATA + 1);
	variant_finish_names(&variant->names);
	number_fields(variant, variant->type);
	variant->ids = palloc(Max(variant->names.count, 1) * sizeof(int));
	variant->vector = vector_create(variant->type, BATCH_ROWS);
	variant->capacity = 64;
	variant->members = palloc(variant->capacity * sizeof(VariantMember));
	initStringInfo(&variant->out);
	return variant;
}

/* ---- values ---- */

static bool append_group(ShreddedVariant *variant, const Vector *group, int row);

static pg_noinline void
shredded_damaged(const ShreddedVariant *variant, const char *detail)
{
	parquet_damaged(variant->place.path, variant->place.column, detail);
}

static void
check_size(const ShreddedVariant *variant, uint32 more)
{
	if (more > VARIANT_MAX_SIZE || variant->out.len > VARIANT_MAX_SIZE - (int) more)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("a value of column \"%s\" of file \"%s\" is too long for VARIANT",
						variant->place.column, variant->place.path)));
}

static inline bool
is_null(const Vector *vector, int row)
{
	return vector->has_nulls && vector->nulls[row];
}

/* Find the fields' names in the metadata, which many rows may share. */
static void
set_metadata(ShreddedVariant *variant, BytesView bytes)
{
	if (variant->has_metadata && bytes_equal(bytes, variant->metadata_bytes))
		return;
	if (!variant_read_metadata(bytes, &variant->metadata))
		shredded_damaged(variant, "The metadata of a variant is not valid.");
	variant->metadata_bytes = bytes;
	variant->has_metadata = true;
	for (int i = 0; i < variant->names.count; i++)
		variant->ids[i] = -1;
	for (uint32 i = 0; i < variant->metadata.count; i++)
	{
		BytesView	name;
		int			found;

		if (!variant_metadata_name(&variant->metadata, i, &name))
			shredded_damaged(variant, "The metadata of a variant is not valid.");
		found = variant_name_id(&variant->names, name);
		if (found >= 0)
			variant->ids[found] = (int) i;
	}
}

static void
push_member(ShreddedVariant *variant, VariantMember member)
{
	if (variant->nmembers == variant->capacity)
	{
		variant->capacity *= 2;
		variant->members = repalloc_huge(variant->members, variant->capacity * sizeof(VariantMember));
	}
	variant->members[variant->nmembers++] = member;
}

static void
append_bytes(ShreddedVariant *variant, const char *data, uint32 length)
{
	check_size(variant, length);
	appendBinaryStringInfo(&variant->out, data, length);
}

static void
append_whole(ShreddedVariant *variant, BytesView bytes)
{
	VariantValue value;

	if (!variant_read(bytes, &value))
		shredded_damaged(variant, "A part of a variant is not valid.");
	append_bytes(variant, value.start, value.size);
}

static void
append_timestamp(ShreddedVariant *variant, const Vector *vector, int row)
{
	bool		is_ltz = vector->type->root == TYPE_TIMESTAMP_LTZ;
	int64		value;

	/* the file's nanos are of 64 bits */
	if (vector->type->physical == PHYSICAL_INT128)
		value = (int64) vector->values.i128[row];
	else
		value = vector->values.i64[row];
	if (vector->type->precision <= 3 && pg_mul_s64_overflow(value, 1000, &value))
		shredded_damaged(variant, "A timestamp of a variant is out of range.");
	variant_append_timestamp(&variant->out, value, is_ltz, vector->type->physical == PHYSICAL_INT128);
}

static void
append_scalar(ShreddedVariant *variant, const Vector *vector, int row)
{
	StringInfo	out = &variant->out;

	switch (vector->type->root)
	{
		case TYPE_BOOLEAN:
			variant_append_boolean(out, vector->values.i8[row] != 0);
			break;
		case TYPE_INT:
			variant_append_integer(out, vector->values.i32[row]);
			break;
		case TYPE_BIGINT:
			variant_append_integer(out, vector->values.i64[row]);
			break;
		case TYPE_FLOAT:
			variant_append_float(out, vector->values.f32[row]);
			break;
		case TYPE_DOUBLE:
			variant_append_double(out, vector->values.f64[row]);
			break;
		case TYPE_DECIMAL:
			variant_append_decimal(out, vector->type->physical == PHYSICAL_INT128 ? vector->values.i128[row] :
								   vector->values.i64[row], vector->type->scale);
			break;
		case TYPE_DATE:
			variant_append_date(out, vector->values.i32[row]);
			break;
		case TYPE_TIMESTAMP:
		case TYPE_TIMESTAMP_LTZ:
			append_timestamp(variant, vector, row);
			break;
		case TYPE_VARCHAR:
			check_size(variant, vector->values.bytes[row].length);
			variant_append_string(out, vector->values.bytes[row]);
			break;
		default:
			Assert(vector->type->root == TYPE_VARBINARY);
			check_size(variant, vector->values.bytes[row].length);
			variant_append_binary(out, vector->values.bytes[row]);
			break;
	}
}

static void
append_array(ShreddedVariant *variant, const Vector *vector, int row)
{
	ListView	list = vector->values.list[row];
	int			first = variant->nmembers;
	int			start = variant->out.len;

	for (int i = 0; i < list.length; i++)
	{
		VariantMember member = {.offset = variant->out.len - start};

		CHECK_FOR_INTERRUPTS();
		/* elements are always there */
		if (!append_group(variant, vector->children[0], list.start + i))
			variant_append_null(&variant->out);
		push_member(variant, member);
	}
	variant_finish_array(&variant->out, start, variant->members + first, variant->nmembers - first);
	variant->nmembers = first;
}

/* The fields of an object that are in no group of their own. */
static void
append_other_fields(ShreddedVariant *variant, int start, BytesView bytes)
{
	VariantValue object;

	if (!variant_read(bytes, &object) || object.kind != VARIANT_OBJECT)
		shredded_damaged(variant, "The rest of a shredded object is no object.");
	for (uint32 i = 0; i < object.count; i++)
	{
		VariantMember member = {.offset = variant->out.len - start};
		VariantValue value;

		CHECK_FOR_INTERRUPTS();
		if (!variant_member(&object, &variant->metadata, i, &member.name, &value))
			shredded_damaged(variant, "A part of a variant is not valid.");
		member.id = (int) value.id;
		append_bytes(variant, value.start, value.size);
		push_member(variant, member);
	}
}

static int
compare_members(const void *a, const void *b)
{
	return bytes_compare(((const VariantMember *) a)->name, ((const VariantMember *) b)->name);
}

/* Sort what was appended since start, and make it an object. */
static void
finish_object(ShreddedVariant *variant, int start, VariantMember *members, int count)
{
	if (count > 0)
		qsort(members, count, sizeof(VariantMember), compare_members);
	for (int i = 1; i < count; i++)
	{
		if (bytes_equal(members[i - 1].name, members[i].name))
			shredded_damaged(variant, "An object of a variant has a field twice.");
	}
	variant_finish_sorted_object(&variant->out, start, members, count);
}

static void
append_object(ShreddedVariant *variant, const Vector *vector, int row, const BytesView *rest)
{
	int			first = variant->nmembers;
	int			start = variant->out.len;

	for (int i = 0; i < vector->nchildren; i++)
	{
		int			number = vector->type->children[i].id;
		VariantMember member = {variant->ids[number], variant->out.len - start, variant->names.names[number]};

		if (!append_group(variant, vector->children[i], row))
			continue;
		if (member.id < 0)
			shredded_damaged(variant, "The metadata of a variant lacks the name of a field.");
		push_member(variant, member);
	}
	if (rest != NULL)
		append_other_fields(variant, start, *rest);
	finish_object(variant, start, variant->members + first, variant->nmembers - first);
	variant->nmembers = first;
}

/* False: there is no value. */
static bool
append_group(ShreddedVariant *variant, const Vector *group, int row)
{
	const Vector *value = group->children[PART_VALUE];
	const Vector *typed = group->children[PART_TYPED];
	const BytesView *bytes;

	check_size(variant, 0);
	if (is_null(group, row))
		return false;
	bytes = is_null(value, row) ? NULL : &value->values.bytes[row];
	if (is_null(typed, row))
	{
		if (bytes == NULL)
			return false;
		append_whole(variant, *bytes);
	}
	else if (typed->type->physical == PHYSICAL_ROW)
		append_object(variant, typed, row, bytes);
	else if (bytes != NULL)
		shredded_damaged(variant, "A part of a variant is there twice.");
	else if (typed->type->physical == PHYSICAL_LIST)
		append_array(variant, typed, row);
	else
		append_scalar(variant, typed, row);
	return true;
}

/* ---- rows ---- */

/* Keep the value that was made, in CurrentMemoryContext. */
static BytesView
keep_value(ShreddedVariant *variant)
{
	BytesView	kept = {variant->room, (uint32) variant->out.len};

	check_size(variant, 0);
	if (kept.length > variant->room_left)
	{
		variant->room_left = Max(kept.length, ROOM_BYTES);
		kept.data = variant->room = palloc(variant->room_left);
	}
	memcpy(variant->room, variant->out.data, kept.length);
	variant->room += kept.length;
	variant->room_left -= kept.length;
	return kept;
}

static BytesView
rebuild_row(ShreddedVariant *variant, int row, BytesView metadata)
{
	const Vector *group = variant->vector;

	if (is_null(group->children[PART_TYPED], row) && !is_null(group->children[PART_VALUE], row))
		return group->children[PART_VALUE]->values.bytes[row];
	set_metadata(variant, metadata);
	variant->nmembers = 0;
	resetStringInfo(&variant->out);
	if (!append_group(variant, group, row))
		variant_append_null(&variant->out);
	return keep_value(variant);
}

void
shredded_rebuild(ShreddedVariant *variant, int count, Vector *out, int at)
{
	const Vector *group = variant->vector;
	const Vector *metadata = group->children[PART_METADATA];

	vector_reserve(out, (int64) at + count);
	/* what was kept of earlier rows may be gone with their batch */
	variant->room_left = 0;
	variant->has_metadata = false;
	for (int i = 0; i < count; i++)
	{
		bool		null = is_null(group, i);

		CHECK_FOR_INTERRUPTS();
		out->nulls[at + i] = out->children[0]->nulls[at + i] = out->children[1]->nulls[at + i] = null;
		out->has_nulls |= null;
		if (null)
			continue;
		if (is_null(metadata, i))
			shredded_damaged(variant, "A variant has no metadata.");
		out->children[0]->values.bytes[at + i] = rebuild_row(variant, i, metadata->values.bytes[i]);
		out->children[1]->values.bytes[at + i] = metadata->values.bytes[i];
	}
	out->children[0]->has_nulls |= out->has_nulls;
	out->children[1]->has_nulls |= out->has_nulls;
}
