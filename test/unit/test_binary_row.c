/*
 * test_binary_row.c
 *		Row bytes and hashes: the vectors of the format, round trips, damage.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "lake/binary_row.h"
#include "unit.h"

#define MAX_FIELDS 70

static const char *const all_types[] = {
	"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE",
	"DECIMAL(9, 2)", "DECIMAL(18, 0)", "DECIMAL(19, 0)", "DECIMAL(38, 10)",
	"CHAR(3)", "VARCHAR(20)", "STRING", "BINARY(4)", "BYTES", "DATE", "TIME(3)",
	"TIMESTAMP(0)", "TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(9)",
	"TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(6) WITH LOCAL TIME ZONE",
	"TIMESTAMP(9) WITH LOCAL TIME ZONE",
};

/* Rows of up to two fields; types NULL where there is none. */
typedef struct RowCase
{
	const char *types[2];
	const char *values[2];
	const char *bytes;			/* NULL: only the hash is known */
	int32		hash;
} RowCase;

static const RowCase row_cases[] = {
	{{NULL}, {NULL}, "0000000000000000", -1670924195},
	{{"INT"}, {"1"}, "0000000000000000 0100000000000000", 1465514398},
	{{"BIGINT"}, {"1"}, "0000000000000000 0100000000000000", 1465514398},
	{{"INT"}, {"0"}, "0000000000000000 0000000000000000", -300363099},
	{{"BIGINT"}, {"-1"}, "0000000000000000 ffffffffffffffff", -821098432},
	{{"STRING"}, {"abc"}, "0000000000000000 6162630000000083", -101922419},
	{{"STRING"}, {""}, "0000000000000000 0000000000000080", 302122119},
	{{"INT", "STRING"}, {"1", "a"}, "0000000000000000 0100000000000000 6100000000000081", -948407462},
	{{"INT", "STRING"}, {"1", "Hello Paimon"},
	"0000000000000000 0100000000000000 0c00000018000000 48656c6c6f205061 696d6f6e00000000", 1890256762},
	{{"INT", "STRING"}, {"1", NULL}, "0002000000000000 0100000000000000 0000000000000000", -74682006},
	{{"DECIMAL(20, 2)"}, {"12.34"},
	"0000000000000000 0200000010000000 04d2000000000000 0000000000000000", -531788649},
	{{"DECIMAL(20, 2)"}, {NULL},
	"0001000000000000 0000000010000000 0000000000000000 0000000000000000", -1380280760},
	{{"DECIMAL(10, 2)"}, {"12.34"}, "0000000000000000 d204000000000000", -1096042293},
	{{"TIMESTAMP(6)"}, {"1700000000123456"},
	"0000000000000000 40f5060010000000 7b68e5cf8b010000", 1196670069},
	{{"TIMESTAMP(3)"}, {"1700000000123"}, "0000000000000000 7b68e5cf8b010000", -1285420957},
	/* one before the epoch: millis are rounded down */
	{{"TIMESTAMP(9)"}, {"-1"}, "0000000000000000 3f420f0010000000 ffffffffffffffff", 0},
	{{"TIMESTAMP(6)"}, {NULL}, "0001000000000000 0000000010000000 0000000000000000", 0},
	{{"DECIMAL(38, 0)"}, {"-129"},
	"0000000000000000 0200000010000000 ff7f000000000000 0000000000000000", 0},
	{{"DECIMAL(38, 0)"}, {"-128"},
	"0000000000000000 0100000010000000 8000000000000000 0000000000000000", 0},
	{{"DECIMAL(38, 0)"}, {"0"},
	"0000000000000000 0100000010000000 0000000000000000 0000000000000000", 0},
	{{"BOOLEAN", "TINYINT"}, {"true", "-1"}, "0000000000000000 0100000000000000 ff00000000000000", 0},
	{{"SMALLINT", "FLOAT"}, {"-2", "1"}, "0000000000000000 feff000000000000 0000803f00000000", 0},
	{{"BYTES", "BYTES"}, {"01020304050607", "0102030405060708"},
	"0000000000000000 0102030405060787 0800000018000000 0102030405060708", 0},
};

static int
read_case(const RowCase *row_case, const DataType **types, Scalar *values)
{
	int			nfields = 0;

	while (nfields < 2 && row_case->types[nfields] != NULL)
	{
		types[nfields] = type_parse_atomic(row_case->types[nfields]);
		values[nfields] = unit_scalar(types[nfields], row_case->values[nfields]);
		nfields++;
	}
	return nfields;
}

static void
test_known_rows(void)
{
	for (int i = 0; i < lengthof(row_cases); i++)
	{
		const DataType *types[2];
		Scalar		values[2];
		int			nfields = read_case(&row_cases[i], types, values);
		BytesView	row = binary_row_encode(types, values, nfields);

		CHECK_BYTES(row, unit_hex(row_cases[i].bytes));
		if (row_cases[i].hash != 0)
			CHECK_INT(binary_row_hash(row), row_cases[i].hash);
	}
}

static void
test_serialized(void)
{
	const DataType *types[2] = {type_parse_atomic("INT"), type_parse_atomic("STRING")};
	Scalar		values[2] = {unit_scalar(types[0], "1"), unit_scalar(types[1], "a")};

	CHECK_BYTES(binary_row_serialize(types, values, 2),
				unit_hex("00000002 0000000000000000 0100000000000000 6100000000000081"));
	CHECK_BYTES(binary_row_serialize_empty(), unit_hex("00000000 0000000000000000"));
	binary_row_deserialize(binary_row_serialize_empty(), NULL, NULL, 0, "partition", "t");
}

/* 56 fields have their null bits in one word, 57 need two. */
static void
test_wide_rows(void)
{
	const DataType *types[MAX_FIELDS];
	Scalar		values[MAX_FIELDS];

	for (int i = 0; i < MAX_FIELDS; i++)
	{
		types[i] = type_parse_atomic("INT");
		values[i] = unit_scalar(types[i], i % 3 == 0 ? NULL : "7");
	}
	CHECK_INT(binary_row_encode(types, values, 56).length, 8 + 56 * 8);
	CHECK_INT(binary_row_encode(types, values, 57).length, 16 + 57 * 8);
	CHECK_INT(binary_row_encode(types, values, 64).data[8] & 0xff, 0x92);
}

static int
random_types(const DataType **types)
{
	int			nfields = unit_random_below(20) == 0 ? MAX_FIELDS : unit_random_below(6);

	for (int i = 0; i < nfields; i++)
		types[i] = type_parse_atomic(all_types[unit_random_below(lengthof(all_types))]);
	return nfields;
}

static bool
same_value(const DataType *type, const Scalar *a, const Scalar *b)
{
	if (scalar_compare(type->physical, a, b) != 0)
		return false;
	/* compare takes -0 for 0, row bytes do not */
	return a->isnull || type->physical != PHYSICAL_DOUBLE || signbit(a->v.f64) == signbit(b->v.f64);
}

static void
test_round_trips(void)
{
	for (int round = 0; round < 3000; round++)
	{
		const DataType *types[MAX_FIELDS];
		Scalar		values[MAX_FIELDS];
		Scalar		back[MAX_FIELDS];
		int			nfields = random_types(types);
		BytesView	row;

		for (int i = 0; i < nfields; i++)
			values[i] = unit_random_scalar(types[i]);
		row = binary_row_serialize(types, values, nfields);
		CHECK_INT(row.length % 8, 4);
		binary_row_deserialize(row, types, back, nfields, "row", "test");
		for (int i = 0; i < nfields; i++)
		{
			if (!CHECK(same_value(types[i], &values[i], &back[i])))
				return;
		}
	}
}

static void
test_hashes_of_vectors(void)
{
	for (int round = 0; round < 300; round++)
	{
		const DataType *types[MAX_FIELDS];
		Scalar		values[MAX_FIELDS];
		int			nfields = round < lengthof(all_types) ? 1 : random_types(types);
		int			nrows = 1 + unit_random_below(50);
		int32		rows[50];
		int32		hashes[50];
		Batch	   *batch;

		if (round < lengthof(all_types))
			types[0] = type_parse_atomic(all_types[round]);
		batch = batch_create(nfields, types, nrows);
		for (int row = 0; row < nrows; row++)
		{
			rows[row] = nrows - 1 - row;
			for (int i = 0; i < nfields; i++)
			{
				Scalar		value = unit_random_scalar(types[i]);

				vector_set(batch->columns[i], row, &value);
			}
		}
		binary_row_hash_vectors(batch->columns, nfields, rows, nrows, hashes);
		for (int k = 0; k < nrows; k++)
		{
			for (int i = 0; i < nfields; i++)
				values[i] = vector_get(batch->columns[i], rows[k]);
			if (!CHECK_INT(hashes[k], binary_row_hash(binary_row_encode(types, values, nfields))))
				return;
		}
		binary_row_hash_vectors(batch->columns, nfields, NULL, nrows, rows);
		CHECK_INT(rows[0], hashes[nrows - 1]);
	}
}

/* Damage must end in an error that says so, or in values within the row. */
static void
read_damaged(BytesView row, const DataType *const *types, int nfields)
{
	Scalar		values[MAX_FIELDS];
	volatile uint32 sum = 0;
	MemoryContext context = CurrentMemoryContext;

	PG_TRY();
	{
		binary_row_deserialize(row, types, values, nfields, "minimum key", "manifest-1");
		for (int i = 0; i < nfields; i++)
		{
			if (types[i]->physical == PHYSICAL_BYTES && !values[i].isnull)
			{
				for (uint32 at = 0; at < values[i].v.bytes.length; at++)
					sum += (unsigned char) values[i].v.bytes.data[at];
			}
		}
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		unit_check_error(ERRCODE_DATA_CORRUPTED, "minimum key in \"manifest-1\" is damaged",
						 "deserialize", __FILE__, __LINE__);
	}
	PG_END_TRY();
}

static void
test_damage(void)
{
	for (int round = 0; round < 2000; round++)
	{
		const DataType *types[MAX_FIELDS];
		Scalar		values[MAX_FIELDS];
		int			nfields = random_types(types);
		BytesView	row;
		char	   *copy;

		for (int i = 0; i < nfields; i++)
			values[i] = unit_random_scalar(types[i]);
		row = binary_row_serialize(types, values, nfields);
		if (round % 2 == 0)
			row.length = unit_random_below(row.length);
		copy = (char *) palloc(row.length);	/* just as long, for the sanitizer */
		memcpy(copy, row.data, row.length);
		row.data = copy;
		for (int i = 0; round % 2 == 1 && i < 4; i++)
			copy[unit_random_below(row.length)] = (char) unit_random();
		read_damaged(row, types, nfields);
	}
}

static void
test_wrong_arity(void)
{
	const DataType *types[2] = {type_parse_atomic("INT"), type_parse_atomic("STRING")};
	Scalar		values[2] = {unit_scalar(types[0], "1"), unit_scalar(types[1], "a")};
	BytesView	row = binary_row_serialize(types, values, 2);
	BytesView	nothing = {NULL, 0};

	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "partition in \"p\" is damaged",
				binary_row_deserialize(row, types, values, 1, "partition", "p"));
	CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "partition in \"p\" is damaged",
				binary_row_deserialize(nothing, types, values, 2, "partition", "p"));
}

int
main(void)
{
	unit_begin();
	RUN(test_known_rows);
	RUN(test_serialized);
	RUN(test_wide_rows);
	RUN(test_round_trips);
	RUN(test_hashes_of_vectors);
	RUN(test_damage);
	RUN(test_wrong_arity);
	return unit_end();
}
