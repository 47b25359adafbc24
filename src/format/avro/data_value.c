/*
 * data_value.c
 *		Avro values as values of columns.
 *
 * What is to be done with a value follows from its type in the file and the
 * type wanted, and is decided once, when the file is opened.  Java's names for
 * timestamps are swapped with those of local timestamps, so of a logical type
 * only the unit counts.
 */
#include "postgres.h"

#include "columnar/decimal.h"
#include "format/avro/data.h"

#define MILLIS_DIGITS 3
#define MICROS_DIGITS 6
#define NANOS_DIGITS 9

typedef struct RecordField
{
	const AvroSchema *schema;	/* in the file, union and all */
	int			part;			/* of the type wanted; -1: skip */
} RecordField;

typedef void (*DecodeValue) (const AvroValue *value, AvroInput *input, Vector *vector, int row);

struct AvroValue
{
	const AvroSchema *schema;	/* without the union with null */
	int			null_branch;	/* of that union; -1: there is none */
	const DataType *type;
	DecodeValue decode;
	/* of numbers: to the unit wanted, and within these bounds */
	int64		multiplier;
	int64		divisor;
	int64		minimum;
	int64		maximum;
	/* of nested types, by part; NULL: a field that the file lacks */
	AvroValue **parts;
	RecordField *fields;		/* of records, in the file's order */
};

/* ---- numbers ---- */

static void
out_of_range(const AvroValue *value, AvroInput *input)
{
	avro_error(input->path, "A value is out of range for type %s.", type_to_text(value->type));
}

static void
decode_boolean(const AvroValue *value, AvroInput *input, Vector *vector, int row)
{
	vector->values.i8[row] = *avro_read_fixed(input, 1) != 0;
}

/* Integers, dates, times, and timestamps that are not of nanoseconds */
static void
decode_integer(const AvroValue *value, AvroInput *input, Vector *vector, int row)
{
	int64		number = avro_read_long(input);

	if (value->divisor > 1)
		number = number / value->divisor - (number % value->divisor < 0 ? 1 : 0);
	if (__builtin_mul_overflow(number, value->multiplier, &number) ||
		number < value->minimum || number > value->maximum)
		out_of_range(value, input);
	switch (value->type->physical)
	{
		case PHYSICAL_INT8:
			vector->values.i8[row] = (int8) number;
			break;
		case PHYSICAL_INT16:
			vector->values.i16[row] = (int16) number;
			break;
		case PHYSICAL_INT32:
			vector->values.i32[row] = (int32) number;
			break;
		default:
			vector->values.i64[row] = number;
			break;
	}
}

static void
decode_nanoseconds(const AvroValue *value, AvroInput *input, Vector *vector, int row)
{
	vector->values.i128[row] = (int128) avro_read_long(input) * value->multiplier;
}

static uint64
read_little_endian(AvroInput *input, int length)
{
	const unsigned char *bytes = (const unsigned char *) avro_read_fixed(input, length);
	uint64		bits = 0;

	for (int i = length - 1; i >= 0; i--)
		bits = bits << 8 | bytes[i];
	return bits;
}

static float
read_float(AvroInput *input)
{
	uint32		bits = (uint32) read_little_endian(input, sizeof(float));
	float		number;

	memcpy(&number, &bits, sizeof(number));
	return number;
}

static void
decode_float(const AvroValue *value, AvroInput *input, Vector *vector, int row)
{
	vector->values.f32[row] = read_float(input);
}

static void
decode_float_as_double(const AvroValue *value, AvroInput *input, Vector *vector, int row)
{
	vector->values.f64[row] = read_float(input);
}

static void
decode_double(const AvroValue *value, AvroInput *input, Vector *vector, int row)
{
	uint64		bits = read_little_endian(input, sizeof(double));

	memcpy(&vector->values.f64[row], &bits, sizeof(double));
}

static BytesView
read_bytes(const AvroValue *value, AvroInput *input)
{
	BytesView	bytes;

	if (value->schema->kind != AVRO_FIXED)
		return avro_read_bytes(input);
	bytes.length = value->schema->fixed_size;
	bytes.data = avro_read_fixed(input, bytes.length);
	return bytes;
}

/* Big-endian two's complement of any length; what is beyond 16 bytes must be the sign. */
static void
decode_decimal(const AvroValue *value, AvroInput *input, Vector *vector, int row)
{
	BytesView	bytes = read_bytes(value, input);
	bool		negative = bytes.length > 0 && (bytes.data[0] & 0x80) != 0;
	uint128		bits = negative ? ~(uint128) 0 : 0;
	uint8		sign = negative ? 0xff : 0;
	int128		unscaled;

	for (uint32 i = 0; i < bytes.length; i++)
	{
		if (i + sizeof(int128) < bytes.length && (uint8) bytes.data[i] != sign)
			out_of_range(value, input);
		bits = bits << 8 | (uint8) bytes.data[i];
	}
	unscaled = (int128) bits;
	if ((unscaled < 0) != negative || !decimal_fits(unscaled, value->type->precision))
		out_of_range(value, input);
	if (value->type->physical == PHYSICAL_INT128)
		vector->values.i128[row] = unscaled;
	else
		vector->values.i64[row] = (int64) unscaled;
}

static void
decode_bytes(const AvroValue *value, AvroInput *input, Vector *vector, int row)
{
	vector->values.bytes[row] = read_bytes(value, input);
}

/* ---- nested values ---- */

/* Room for so many more elements in a list's children, which have as many in use. */
static void
reserve_elements(Vector *vector, int64 count)
{
	for (int i = 0; i < vector->nchildren; i++)
		vector_reserve(vector->children[i], vector->children[i]->filled + count);
}

/* Decode one element, or key and value of one entry. */
typedef void (*DecodeElement) (const AvroValue *value, AvroInput *input, Vector *vector, int element);

static void
decode_elements(const AvroValue *value, AvroInput *input, Vector *vector, int row, DecodeElement decode_element)
{
	int32		start = vector->children[0]->filled;
	int64		count;

	while ((count = avro_read_item_count(input)) > 0)
	{
		reserve_elements(vector, count);
		for (int64 i = 0; i < count; i++)
		{
			int			element = vector->children[0]->filled;

			/* first, as elements within elements are counted in other vectors */
			for (int k = 0; k < vector->nchildren; k++)
				vector->children[k]->filled++;
			decode_element(value, input, vector, element);
		}
	}
	vector->values.list[row].start = start;
	vector->values.list[row].length = vector->children[0]->filled - start;
}

static void
decode_array_element(const AvroValue *value, AvroInput *input, Vector *vector, int element)
{
	avro_value_decode(value->parts[0], input, vector->children[0], element);
}

static void
decode_array(const AvroValue *value, AvroInput *input, Vector *vector, int row)
{
	decode_elements(value, input, vector, row, decode_array_element);
}

static void
decode_map_entry(const AvroValue *value, AvroInput *input, Vector *vector, int element)
{
	Vector	   *keys = vector->children[0];

	keys->values.bytes[element] = avro_read_bytes(input);
	if (keys->has_nulls)
		keys->nulls[element] = false;
	avro_value_decode(value->parts[1], input, vector->children[1], element);
}

static void
decode_map(const AvroValue *value, AvroInput *input, Vector *vector, int row)
{
	decode_elements(value, input, vector, row, decode_map_entry);
}

/* The fields of a record into the children of a row, or of an entry. */
static void
decode_fields(const AvroValue *value, AvroInput *input, Vector *vector, int row)
{
	static const Scalar null_value = {.isnull = true};

	for (int i = 0; i < vector->nchildren; i++)
	{
		if (value->parts[i] == NULL)
			vector_set(vector->children[i], row, &null_value);
	}
	for (int i = 0; i < value->schema->nchildren; i++)
	{
		const RecordField *field = &value->fields[i];

		if (field->part < 0)
			avro_skip(input, field->schema);
		else
			avro_value_decode(value->parts[field->part], input, vector->children[field->part], row);
	}
}

/* An array of records with key and value: the record's plan has no type, and no vector, of its own. */
static void
decode_record_entry(const AvroValue *value, AvroInput *input, Vector *vector, int element)
{
	const AvroValue *entry = value->parts[0];

	if (avro_read_null(input, entry->null_branch))
		avro_error(input->path, "A map has an entry that is null.");
	decode_fields(entry, input, vector, element);
}

static void
decode_map_of_records(const AvroValue *value, AvroInput *input, Vector *vector, int row)
{
	decode_elements(value, input, vector, row, decode_record_entry);
}

void
avro_value_decode(const AvroValue *value, AvroInput *input, Vector *vector, int row)
{
	static const Scalar null_value = {.isnull = true};

	if (avro_read_null(input, value->null_branch))
	{
		vector_set(vector, row, &null_value);
		return;
	}
	if (vector->has_nulls)
		vector->nulls[row] = false;
	value->decode(value, input, vector, row);
}

/* ---- which values become which ---- */

static bool
bind_integer(AvroValue *value, int64 minimum, int64 maximum)
{
	value->minimum = minimum;
	value->maximum = maximum;
	value->decode = decode_integer;
	return value->schema->kind == AVRO_INT || value->schema->kind == AVRO_LONG;
}

/* Digits of the fraction of a second that the unit of a logical type has, or what else. */
static int
unit_digits(const AvroSchema *schema, int otherwise)
{
	const char *unit = schema->logical_type != NULL ? strrchr(schema->logical_type, '-') : NULL;

	if (unit == NULL)
		return otherwise;
	if (strcmp(unit, "-millis") == 0)
		return MILLIS_DIGITS;
	if (strcmp(unit, "-micros") == 0)
		return MICROS_DIGITS;
	return strcmp(unit, "-nanos") == 0 ? NANOS_DIGITS : otherwise;
}

static void
bind_unit(AvroValue *value, int from_digits, int to_digits)
{
	for (; from_digits < to_digits; from_digits++)
		value->multiplier *= 10;
	for (; from_digits > to_digits; from_digits--)
		value->divisor *= 10;
}

static bool
bind_timestamp(AvroValue *value)
{
	int			digits = value->type->precision <= MILLIS_DIGITS ? MILLIS_DIGITS :
		value->type->precision <= MICROS_DIGITS ? MICROS_DIGITS : NANOS_DIGITS;

	bind_unit(value, unit_digits(value->schema, digits), digits);
	if (!bind_integer(value, PG_INT64_MIN, PG_INT64_MAX))
		return false;
	if (digits == NANOS_DIGITS)
		value->decode = decode_nanoseconds;
	return true;
}

static bool
bind_bytes(AvroValue *value, DecodeValue decode)
{
	value->decode = decode;
	return value->schema->kind == AVRO_BYTES || value->schema->kind == AVRO_STRING ||
		value->schema->kind == AVRO_FIXED;
}

static bool
bind_double(AvroValue *value)
{
	value->decode = value->schema->kind == AVRO_DOUBLE ? decode_double : decode_float_as_double;
	return value->schema->kind == AVRO_DOUBLE || value->schema->kind == AVRO_FLOAT;
}

static bool
bind_part(AvroValue *value, int part, const AvroSchema *schema)
{
	value->parts[part] = avro_value_bind(schema, type_part(value->type, part)->type);
	return value->parts[part] != NULL;
}

/* Fields are found by the parts' names. */
static bool
bind_fields(AvroValue *value, const char *const *names)
{
	const AvroSchema *schema = value->schema;

	value->fields = palloc0(Max(schema->nchildren, 1) * sizeof(RecordField));
	for (int i = 0; i < schema->nchildren; i++)
	{
		RecordField *field = &value->fields[i];

		field->schema = schema->children[i];
		field->part = -1;
		for (int part = 0; part < type_part_count(value->type); part++)
		{
			if (value->parts[part] != NULL || strcmp(names[part], schema->field_names[i]) != 0)
				continue;
			field->part = part;
			if (!bind_part(value, part, field->schema))
				return false;
			break;
		}
	}
	return true;
}

static bool
bind_row(AvroValue *value)
{
	int			nparts = type_part_count(value->type);
	const char **names = palloc(Max(nparts, 1) * sizeof(char *));

	if (value->schema->kind != AVRO_RECORD)
		return false;
	for (int i = 0; i < nparts; i++)
		names[i] = type_part(value->type, i)->name;
	value->decode = decode_fields;
	return bind_fields(value, names);
}

static bool
bind_array(AvroValue *value)
{
	value->decode = decode_array;
	return value->schema->kind == AVRO_ARRAY && bind_part(value, 0, value->schema->children[0]);
}

/* With keys that are strings a map, else an array of records. */
static bool
bind_map(AvroValue *value)
{
	static const char *const names[] = {"key", "value"};
	const DataType *key_type = type_part(value->type, 0)->type;
	AvroValue  *entry;

	if (value->schema->kind == AVRO_MAP)
	{
		value->decode = decode_map;
		return type_is_string(key_type) && bind_part(value, 1, value->schema->children[0]);
	}
	if (value->schema->kind != AVRO_ARRAY)
		return false;
	entry = palloc0(sizeof(AvroValue));
	entry->type = value->type;
	entry->schema = avro_strip_null(value->schema->children[0], &entry->null_branch);
	entry->parts = palloc0(lengthof(names) * sizeof(AvroValue *));
	if (entry->schema->kind != AVRO_RECORD || !bind_fields(entry, names) ||
		entry->parts[0] == NULL || entry->parts[1] == NULL)
		return false;
	value->parts[0] = entry;
	value->decode = decode_map_of_records;
	return true;
}

static bool
bind(AvroValue *value)
{
	AvroKind	kind = value->schema->kind;

	switch (value->type->root)
	{
		case TYPE_BOOLEAN:
			value->decode = decode_boolean;
			return kind == AVRO_BOOLEAN;
		case TYPE_TINYINT:
			return bind_integer(value, PG_INT8_MIN, PG_INT8_MAX);
		case TYPE_SMALLINT:
			return bind_integer(value, PG_INT16_MIN, PG_INT16_MAX);
		case TYPE_INT:
		case TYPE_DATE:
			return bind_integer(value, PG_INT32_MIN, PG_INT32_MAX);
		case TYPE_TIME:
			bind_unit(value, unit_digits(value->schema, MILLIS_DIGITS), MILLIS_DIGITS);
			return bind_integer(value, PG_INT32_MIN, PG_INT32_MAX);
		case TYPE_BIGINT:
			return bind_integer(value, PG_INT64_MIN, PG_INT64_MAX);
		case TYPE_TIMESTAMP:
		case TYPE_TIMESTAMP_LTZ:
			return bind_timestamp(value);
		case TYPE_FLOAT:
			value->decode = decode_float;
			return kind == AVRO_FLOAT;
		case TYPE_DOUBLE:
			return bind_double(value);
		case TYPE_DECIMAL:
			return kind != AVRO_STRING && value->schema->scale == value->type->scale &&
				bind_bytes(value, decode_decimal);
		case TYPE_CHAR:
		case TYPE_VARCHAR:
		case TYPE_BINARY:
		case TYPE_VARBINARY:
		case TYPE_BLOB:
			return bind_bytes(value, decode_bytes);
		case TYPE_ROW:
			return bind_row(value);
		case TYPE_ARRAY:
			return bind_array(value);
		case TYPE_MAP:
		case TYPE_MULTISET:
			return bind_map(value);
		case TYPE_VARIANT:
		case TYPE_VECTOR:
			break;
	}
	return false;
}

AvroValue *
avro_value_bind(const AvroSchema *schema, const DataType *type)
{
	AvroValue  *value = palloc0(sizeof(AvroValue));

	value->schema = avro_strip_null(schema, &value->null_branch);
	value->type = type;
	value->multiplier = value->divisor = 1;
	value->parts = palloc0(Max(type_part_count(type), 1) * sizeof(AvroValue *));
	return bind(value) ? value : NULL;
}

const char *
avro_type_text(const AvroSchema *schema)
{
	static const char *const names[] = {
		[AVRO_NULL] = "null",
		[AVRO_BOOLEAN] = "boolean",
		[AVRO_INT] = "int",
		[AVRO_LONG] = "long",
		[AVRO_FLOAT] = "float",
		[AVRO_DOUBLE] = "double",
		[AVRO_BYTES] = "bytes",
		[AVRO_STRING] = "string",
		[AVRO_FIXED] = "fixed",
		[AVRO_ENUM] = "enum",
		[AVRO_ARRAY] = "array",
		[AVRO_MAP] = "map",
		[AVRO_UNION] = "union",
		[AVRO_RECORD] = "record",
	};
	int			null_branch;
	const AvroSchema *plain = avro_strip_null(schema, &null_branch);

	if (plain->logical_type != NULL)
		return psprintf("%s (%s)", names[plain->kind], plain->logical_type);
	return names[plain->kind];
}
