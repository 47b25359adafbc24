/*
 * bucket.c
 *		Which bucket a row belongs to (format digest section 5.7).
 *
 * A bucket is a function of the bucket key's values alone: two writers that
 * disagree on it would give a key to two buckets.
 */
#include "postgres.h"

#include "lake/binary_row.h"
#include "lake/table.h"

/* ---- default: the hash of the key's row bytes ---- */

static void
assign_default(Vector *const *keys, int nkeys, int32 buckets, const int32 *rows, int nrows, int32 *out)
{
	binary_row_hash_vectors(keys, nkeys, rows, nrows, out);
	for (int i = 0; i < nrows; i++)
		out[i] = abs(out[i] % buckets);
}

/* ---- mod: the key itself ---- */

static int32
floor_mod(int64 value, int32 divisor)
{
	int32		rest = (int32) (value % divisor);

	return rest < 0 ? rest + divisor : rest;
}

static void
assign_mod(const LakeTable *table, Vector *const *keys, int nkeys, const int32 *rows, int nrows, int32 *out)
{
	const Vector *key = keys[0];
	int32		buckets = table->options->buckets;

	if (nkeys != 1 || (key->type->root != TYPE_INT && key->type->root != TYPE_BIGINT))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("table \"%s\" needs one bucket key of type INT or BIGINT", table->name),
				 errdetail("Its option \"bucket-function.type\" is \"mod\".")));
	for (int i = 0; i < nrows; i++)
	{
		int32		row = rows[i];

		if (key->has_nulls && key->nulls[row])
			ereport(ERROR,
					(errcode(ERRCODE_NOT_NULL_VIOLATION),
					 errmsg("bucket key of table \"%s\" is null", table->name),
					 errdetail("Its option \"bucket-function.type\" is \"mod\".")));
		out[i] = floor_mod(key->type->root == TYPE_INT ? key->values.i32[row] : key->values.i64[row], buckets);
	}
}

/* ---- hive: Java's hash codes ---- */

static int32
hive_hash_int64(int64 value)
{
	return (int32) ((uint64) value ^ ((uint64) value >> 32));
}

static int32
hive_hash_float(float value)
{
	int32		bits;

	if (value == 0)
		return 0;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static int32
hive_hash_double(double value)
{
	int64		bits;

	if (value == 0)
		return 0;
	memcpy(&bits, &value, sizeof(bits));
	return hive_hash_int64(bits);
}

static int32
hive_hash_bytes(BytesView bytes)
{
	uint32		hash = 0;

	for (uint32 i = 0; i < bytes.length; i++)
		hash = hash * 31 + (uint32) (signed char) bytes.data[i];
	return (int32) hash;
}

/* BigDecimal's: of the magnitude's words, with the sign, and of the scale without zeros at the end. */
static int32
hive_hash_decimal(int128 unscaled, int scale)
{
	uint128		magnitude;
	uint32		hash = 0;

	while (scale > 0 && unscaled % 10 == 0)
	{
		unscaled /= 10;
		scale--;
	}
	magnitude = unscaled < 0 ? -(uint128) unscaled : (uint128) unscaled;
	for (int shift = 96; shift >= 0; shift -= 32)
		hash = hash * 31 + (uint32) (magnitude >> shift);
	if (unscaled < 0)
		hash = -hash;
	return (int32) (hash * 31 + (uint32) scale);
}

static int32
hive_hash(const LakeTable *table, const DataType *type, const Scalar *value)
{
	if (value->isnull)
		return 0;
	switch (type->root)
	{
		case TYPE_BOOLEAN:
		case TYPE_TINYINT:
			return value->v.i8;
		case TYPE_SMALLINT:
			return value->v.i16;
		case TYPE_INT:
		case TYPE_DATE:
		case TYPE_TIME:
			return value->v.i32;
		case TYPE_BIGINT:
			return hive_hash_int64(value->v.i64);
		case TYPE_FLOAT:
			return hive_hash_float(value->v.f32);
		case TYPE_DOUBLE:
			return hive_hash_double(value->v.f64);
		case TYPE_DECIMAL:
			return hive_hash_decimal(type->physical == PHYSICAL_INT128 ? value->v.i128 : value->v.i64, type->scale);
		case TYPE_CHAR:
		case TYPE_VARCHAR:
		case TYPE_BINARY:
		case TYPE_VARBINARY:
			return hive_hash_bytes(value->v.bytes);
		default:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("table \"%s\" has a bucket key of type %s, which option \"bucket-function.type\" = 'hive' does not take",
							table->name, type_to_text(type))));
	}
}

static void
assign_hive(const LakeTable *table, Vector *const *keys, int nkeys, const int32 *rows, int nrows, int32 *out)
{
	for (int i = 0; i < nrows; i++)
	{
		uint32		hash = 0;

		for (int key = 0; key < nkeys; key++)
		{
			Scalar		value = vector_get(keys[key], rows[i]);

			hash = hash * 31 + (uint32) hive_hash(table, keys[key]->type, &value);
		}
		out[i] = (int32) ((hash & PG_INT32_MAX) % (uint32) table->options->buckets);
	}
}

/* ---- all ---- */

static void
assign_fixed(const LakeTable *table, Vector *const *columns, const int32 *rows, int nrows, int32 *out)
{
	const TableOptions *options = table->options;
	Vector	  **keys = (Vector **) palloc(options->nbucket_keys * sizeof(Vector *));

	for (int i = 0; i < options->nbucket_keys; i++)
		keys[i] = columns[options->bucket_keys[i]];
	switch (options->bucket_function)
	{
		case BUCKET_FUNCTION_DEFAULT:
			assign_default(keys, options->nbucket_keys, options->buckets, rows, nrows, out);
			break;
		case BUCKET_FUNCTION_MOD:
			assign_mod(table, keys, options->nbucket_keys, rows, nrows, out);
			break;
		case BUCKET_FUNCTION_HIVE:
			assign_hive(table, keys, options->nbucket_keys, rows, nrows, out);
			break;
	}
	pfree(keys);
}

/* Bucket of each row; columns are indexed by table field, and flat. */
void
lake_assign_buckets(const LakeTable *table, Vector *const *columns, const int32 *rows, int nrows, int32 *out)
{
	switch (table->options->bucket_mode)
	{
		case BUCKET_UNAWARE:
			memset(out, 0, nrows * sizeof(int32));
			break;
		case BUCKET_FIXED:
			assign_fixed(table, columns, rows, nrows, out);
			break;
		case BUCKET_DYNAMIC:
		case BUCKET_POSTPONE:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("table \"%s\" with option \"bucket\" = '%d' cannot be written",
							table->name, table->options->buckets)));
	}
}
