/*
 * binary_row.c
 *		Paimon's row bytes: partitions, keys, statistics and bucket hashes.
 *
 * A row is a header (kind and null bits), one slot of eight bytes a field,
 * and a variable part to which slots refer by offset and length.  All numbers
 * are little-endian.  The hash runs over all the bytes: what is unused must be
 * zero, and NULLs of some types still take their room in the variable part.
 */
#include "postgres.h"

#include "lake/binary_row.h"
#include "port/pg_bitutils.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"

#ifdef WORDS_BIGENDIAN
#error "row bytes are written as the machine has them, which must be little-endian"
#endif

#define SLOT_SIZE 8
#define HEADER_BITS 8			/* before the first null bit */
#define ARITY_SIZE 4
#define INLINE_MAX 7			/* bytes that fit into a slot */
#define INLINE_MARK 0x80
#define DECIMAL_ROOM 16			/* of a decimal that is no long */
#define HASH_SEED 42

#define MAX_ROW_SIZE MaxAllocSize

/* ---- layout ---- */

static uint32
header_size(int nfields)
{
	return (nfields + 63 + HEADER_BITS) / 64 * 8;
}

static uint32
fixed_size(int nfields)
{
	return header_size(nfields) + (uint32) nfields * SLOT_SIZE;
}

static bool
is_big_decimal(const DataType *type)
{
	return type->root == TYPE_DECIMAL && type->physical == PHYSICAL_INT128;
}

/* Timestamps finer than milliseconds keep the millis in the variable part. */
static bool
is_fine_timestamp(const DataType *type)
{
	return (type->root == TYPE_TIMESTAMP || type->root == TYPE_TIMESTAMP_LTZ) && type->precision > 3;
}

/* Room in the variable part that a field takes even when it is NULL. */
static uint32
reserved_size(const DataType *type)
{
	if (is_big_decimal(type))
		return DECIMAL_ROOM;
	return is_fine_timestamp(type) ? sizeof(int64) : 0;
}

static uint64
variable_size(const DataType *type, const Scalar *value)
{
	if (type->physical == PHYSICAL_BYTES && !value->isnull && value->v.bytes.length > INLINE_MAX)
		return TYPEALIGN64(SLOT_SIZE, (uint64) value->v.bytes.length);
	return reserved_size(type);
}

/* ---- encoding ---- */

/* A row being written into zeroed memory. */
typedef struct RowWriter
{
	char	   *row;
	uint32		slots;			/* where they begin */
	uint32		end;			/* of what is in use */
} RowWriter;

static void
write_slot_pair(char *slot, uint32 low, uint32 high)
{
	memcpy(slot, &low, sizeof(low));
	memcpy(slot + sizeof(low), &high, sizeof(high));
}

static void
write_bytes(RowWriter *writer, char *slot, BytesView bytes)
{
	if (bytes.length <= INLINE_MAX)
	{
		if (bytes.length > 0)
			memcpy(slot, bytes.data, bytes.length);
		slot[INLINE_MAX] = (char) (INLINE_MARK | bytes.length);
		return;
	}
	write_slot_pair(slot, bytes.length, writer->end);
	memcpy(writer->row + writer->end, bytes.data, bytes.length);
	writer->end += TYPEALIGN(SLOT_SIZE, bytes.length);
}

/* The shortest big-endian two's complement. */
static void
write_big_decimal(RowWriter *writer, char *slot, int128 unscaled)
{
	int			length = 1;

	while (length < DECIMAL_ROOM && (unscaled >> (8 * length - 1)) != (unscaled < 0 ? -1 : 0))
		length++;
	for (int i = 0; i < length; i++)
		writer->row[writer->end + i] = (char) (unscaled >> (8 * (length - 1 - i)));
	write_slot_pair(slot, length, writer->end);
	writer->end += DECIMAL_ROOM;
}

/* Split into millis (rounded down) and the rest in nanoseconds. */
static int64
timestamp_millis(const DataType *type, const Scalar *value, uint32 *nanos)
{
	bool		in_micros = type->physical == PHYSICAL_INT64;
	int128		time = in_micros ? value->v.i64 : value->v.i128;
	int128		per_milli = in_micros ? 1000 : 1000000;
	int128		millis = time / per_milli;
	int128		rest = time % per_milli;

	if (rest < 0)
	{
		rest += per_milli;
		millis--;
	}
	if (millis != (int64) millis)
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp out of range")));
	*nanos = (uint32) (in_micros ? rest * 1000 : rest);
	return (int64) millis;
}

static void
write_fine_timestamp(RowWriter *writer, char *slot, const DataType *type, const Scalar *value)
{
	uint32		nanos;
	int64		millis = timestamp_millis(type, value, &nanos);

	write_slot_pair(slot, nanos, writer->end);
	memcpy(writer->row + writer->end, &millis, sizeof(millis));
	writer->end += sizeof(millis);
}

static void
write_null(RowWriter *writer, const DataType *type, int field)
{
	int			bit = field + HEADER_BITS;
	uint32		reserved = reserved_size(type);

	writer->row[bit / 8] |= (char) (1 << (bit % 8));
	if (reserved > 0)
	{
		write_slot_pair(writer->row + writer->slots + field * SLOT_SIZE, 0, writer->end);
		writer->end += reserved;
	}
}

static void
write_field(RowWriter *writer, const DataType *type, int field, const Scalar *value)
{
	char	   *slot = writer->row + writer->slots + field * SLOT_SIZE;

	if (value->isnull)
		write_null(writer, type, field);
	else if (is_fine_timestamp(type))
		write_fine_timestamp(writer, slot, type, value);
	else if (is_big_decimal(type))
		write_big_decimal(writer, slot, value->v.i128);
	else if (type->physical == PHYSICAL_BYTES)
		write_bytes(writer, slot, value->v.bytes);
	else if (type_is_nested(type))
		elog(ERROR, "no row bytes of type %s", type_to_text(type));
	else
		memcpy(slot, &value->v, physical_size(type->physical));
}

static void
begin_row(RowWriter *writer, char *row, int nfields)
{
	writer->row = row;
	writer->slots = header_size(nfields);
	writer->end = fixed_size(nfields);
}

static void
check_row_size(uint64 size)
{
	if (size > MAX_ROW_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("row of " UINT64_FORMAT " bytes is too large", size)));
}

/* Encode with room for a prefix in front, which stays zero. */
static BytesView
encode(const DataType *const *types, const Scalar *values, int nfields, uint32 prefix)
{
	RowWriter	writer;
	BytesView	bytes;
	uint64		size = (uint64) prefix + fixed_size(nfields);
	char	   *buffer;

	for (int i = 0; i < nfields; i++)
		size += variable_size(types[i], &values[i]);
	check_row_size(size);

	buffer = (char *) palloc0(size);
	begin_row(&writer, buffer + prefix, nfields);
	for (int i = 0; i < nfields; i++)
		write_field(&writer, types[i], i, &values[i]);

	bytes.data = buffer;
	bytes.length = (uint32) size;
	return bytes;
}

BytesView
binary_row_encode(const DataType *const *types, const Scalar *values, int nfields)
{
	return encode(types, values, nfields, 0);
}

BytesView
binary_row_serialize(const DataType *const *types, const Scalar *values, int nfields)
{
	BytesView	row = encode(types, values, nfields, ARITY_SIZE);
	uint32		arity = pg_hton32((uint32) nfields);

	memcpy(unconstify(char *, row.data), &arity, sizeof(arity));
	return row;
}

/* Serialised row of no fields. */
BytesView
binary_row_serialize_empty(void)
{
	return binary_row_serialize(NULL, NULL, 0);
}

/* ---- decoding ---- */

/* A row being read, and what to say when it is damaged. */
typedef struct RowReader
{
	const char *row;
	uint32		size;
	uint32		slots;			/* where they begin */
	uint32		variable;		/* where the variable part begins */
	const char *what;
	const char *path;
} RowReader;

static void
damaged(const RowReader *reader, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("%s in \"%s\" is damaged", reader->what, reader->path),
			 errdetail("%s", detail)));
}

/* A piece of the variable part. */
static const char *
variable_part(const RowReader *reader, uint32 offset, uint32 length)
{
	if (offset < reader->variable || offset > reader->size || length > reader->size - offset)
		damaged(reader, "A field lies outside of the row.");
	return reader->row + offset;
}

static BytesView
read_bytes(const RowReader *reader, const char *slot)
{
	unsigned char mark = (unsigned char) slot[INLINE_MAX];
	BytesView	bytes;
	uint32		offset;

	if (mark & INLINE_MARK)
	{
		bytes.data = slot;
		bytes.length = mark & ~INLINE_MARK;
		if (bytes.length > INLINE_MAX)
			damaged(reader, "A field within its slot is too long.");
		return bytes;
	}
	memcpy(&bytes.length, slot, sizeof(bytes.length));
	memcpy(&offset, slot + sizeof(bytes.length), sizeof(offset));
	bytes.data = variable_part(reader, offset, bytes.length);
	return bytes;
}

static int128
read_big_decimal(const RowReader *reader, const char *slot)
{
	uint32		length;
	uint32		offset;
	const char *data;
	uint128		value;

	memcpy(&length, slot, sizeof(length));
	memcpy(&offset, slot + sizeof(length), sizeof(offset));
	if (length < 1 || length > DECIMAL_ROOM)
		damaged(reader, "A decimal has an impossible length.");
	data = variable_part(reader, offset, length);
	value = (data[0] & 0x80) ? ~(uint128) 0 : 0;
	for (uint32 i = 0; i < length; i++)
		value = (value << 8) | (unsigned char) data[i];
	return (int128) value;
}

static void
read_fine_timestamp(const RowReader *reader, const char *slot, const DataType *type, Scalar *value)
{
	uint32		nanos;
	uint32		offset;
	int64		millis;

	memcpy(&nanos, slot, sizeof(nanos));
	memcpy(&offset, slot + sizeof(nanos), sizeof(offset));
	memcpy(&millis, variable_part(reader, offset, sizeof(millis)), sizeof(millis));
	if (nanos > 999999)
		damaged(reader, "A timestamp has an impossible fraction.");
	if (type->physical == PHYSICAL_INT128)
		value->v.i128 = (int128) millis * 1000000 + nanos;
	else
	{
		int128		micros = (int128) millis * 1000 + nanos / 1000;

		if (micros != (int64) micros)
			damaged(reader, "A timestamp is out of range.");
		value->v.i64 = (int64) micros;
	}
}

static void
read_field(const RowReader *reader, const DataType *type, int field, Scalar *value)
{
	const char *slot = reader->row + reader->slots + field * SLOT_SIZE;
	int			bit = field + HEADER_BITS;

	value->isnull = (reader->row[bit / 8] >> (bit % 8)) & 1;
	if (value->isnull)
		return;
	if (is_fine_timestamp(type))
		read_fine_timestamp(reader, slot, type, value);
	else if (is_big_decimal(type))
		value->v.i128 = read_big_decimal(reader, slot);
	else if (type->physical == PHYSICAL_BYTES)
		value->v.bytes = read_bytes(reader, slot);
	else if (type->root == TYPE_BOOLEAN)
		value->v.i8 = *slot != 0;
	else if (type_is_nested(type))
		elog(ERROR, "no row bytes of type %s", type_to_text(type));
	else
		memcpy(&value->v, slot, physical_size(type->physical));
}

/* Decode a serialised row; bytes of the values point into it. */
void
binary_row_deserialize(BytesView row, const DataType *const *types, Scalar *values, int nfields,
					   const char *what, const char *path)
{
	RowReader	reader = {0};
	uint32		arity;

	reader.what = what;
	reader.path = path;
	if (row.length < ARITY_SIZE)
		damaged(&reader, "The row is cut off.");
	memcpy(&arity, row.data, sizeof(arity));
	arity = pg_ntoh32(arity);
	if (arity != (uint32) nfields)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("%s in \"%s\" is damaged", what, path),
				 errdetail("The row has %u fields, not %d.", arity, nfields)));

	reader.row = row.data + ARITY_SIZE;
	reader.size = row.length - ARITY_SIZE;
	reader.slots = header_size(nfields);
	reader.variable = fixed_size(nfields);
	if (reader.size < reader.variable)
		damaged(&reader, "The row is cut off.");
	for (int i = 0; i < nfields; i++)
		read_field(&reader, types[i], i, &values[i]);
}

/* ---- hashing: murmur3 of 32 bits over whole words ---- */

static inline uint32
mix_word(uint32 hash, uint32 word)
{
	word *= 0xcc9e2d51;
	word = pg_rotate_left32(word, 15);
	word *= 0x1b873593;
	hash ^= word;
	hash = pg_rotate_left32(hash, 13);
	return hash * 5 + 0xe6546b64;
}

static inline int32
finish_hash(uint32 hash, uint32 length)
{
	hash ^= length;
	hash ^= hash >> 16;
	hash *= 0x85ebca6b;
	hash ^= hash >> 13;
	hash *= 0xc2b2ae35;
	hash ^= hash >> 16;
	return (int32) hash;
}

/* Bytes beyond the last whole word, which rows have none of, count as words each, with their sign. */
int32
binary_row_hash(BytesView row)
{
	uint32		hash = HASH_SEED;
	uint32		at = 0;

	for (; at + sizeof(uint32) <= row.length; at += sizeof(uint32))
	{
		uint32		word;

		memcpy(&word, row.data + at, sizeof(word));
		hash = mix_word(hash, word);
	}
	for (; at < row.length; at++)
		hash = mix_word(hash, (uint32) (int8) row.data[at]);
	return finish_hash(hash, row.length);
}

/* The row of one field without a variable part: null bit and slot are all that varies. */
static inline int32
hash_one_slot(bool isnull, uint64 slot)
{
	uint32		hash = HASH_SEED;

	hash = mix_word(hash, isnull ? 1 << HEADER_BITS : 0);
	hash = mix_word(hash, 0);
	hash = mix_word(hash, isnull ? 0 : (uint32) slot);
	hash = mix_word(hash, isnull ? 0 : (uint32) (slot >> 32));
	return finish_hash(hash, header_size(1) + SLOT_SIZE);
}

#define HASH_ONE_COLUMN(member, unsigned_type) \
	for (int k = 0; k < nrows; k++) \
	{ \
		int			row = rows != NULL ? rows[k] : k; \
		unsigned_type slot; \
		memcpy(&slot, &column->values.member[row], sizeof(slot)); \
		out[k] = hash_one_slot(column->has_nulls && column->nulls[row], slot); \
	}

/* A key of one column that fits its slot; false if it is not such a one. */
static bool
hash_one_column(const Vector *column, const int32 *rows, int nrows, int32 *out)
{
	if (reserved_size(column->type) > 0)
		return false;
	switch (column->type->physical)
	{
		case PHYSICAL_INT8:
			HASH_ONE_COLUMN(i8, uint8);
			return true;
		case PHYSICAL_INT16:
			HASH_ONE_COLUMN(i16, uint16);
			return true;
		case PHYSICAL_INT32:
			HASH_ONE_COLUMN(i32, uint32);
			return true;
		case PHYSICAL_INT64:
			HASH_ONE_COLUMN(i64, uint64);
			return true;
		case PHYSICAL_FLOAT:
			HASH_ONE_COLUMN(f32, uint32);
			return true;
		case PHYSICAL_DOUBLE:
			HASH_ONE_COLUMN(f64, uint64);
			return true;
		default:
			return false;
	}
}

/* Row bytes of one row of the vectors, in a buffer that grows as needed. */
static BytesView
encode_vector_row(Vector *const *columns, int ncolumns, int row, Scalar *values, char **buffer, uint64 *room)
{
	RowWriter	writer;
	BytesView	bytes;
	uint64		size = fixed_size(ncolumns);

	for (int i = 0; i < ncolumns; i++)
	{
		values[i] = vector_get(columns[i], row);
		size += variable_size(columns[i]->type, &values[i]);
	}
	if (size > *room)
	{
		check_row_size(size);
		pfree(*buffer);
		*room = Min(size * 2, MAX_ROW_SIZE);
		*buffer = (char *) palloc(*room);
	}
	memset(*buffer, 0, size);
	begin_row(&writer, *buffer, ncolumns);
	for (int i = 0; i < ncolumns; i++)
		write_field(&writer, columns[i]->type, i, &values[i]);
	bytes.data = *buffer;
	bytes.length = (uint32) size;
	return bytes;
}

/* Hashes of many rows at once; rows NULL means 0 .. nrows-1. */
void
binary_row_hash_vectors(Vector *const *columns, int ncolumns, const int32 *rows, int nrows, int32 *out)
{
	uint64		room = fixed_size(ncolumns) + 256;
	char	   *buffer;
	Scalar	   *values;

	if (ncolumns == 1 && hash_one_column(columns[0], rows, nrows, out))
		return;

	buffer = (char *) palloc(room);
	values = (Scalar *) palloc(Max(ncolumns, 1) * sizeof(Scalar));
	for (int k = 0; k < nrows; k++)
		out[k] = binary_row_hash(encode_vector_row(columns, ncolumns, rows != NULL ? rows[k] : k,
												   values, &buffer, &room));
	pfree(values);
	pfree(buffer);
}
