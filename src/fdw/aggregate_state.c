/*
 * aggregate_state.c
 *		States of aggregates in the form that the server's own combine.
 *
 * A parallel worker hands over states that core's "Finalize Aggregate"
 * deserialises.  Their layout has been the same in PostgreSQL 15 to 18
 * (numeric.c, float.c).
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "libpq/pqformat.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"

#include "fdw/aggregate_state.h"

/* A numeric as numericvar_serialize writes it: numeric_send's fields in 32 bits, digits in 16. */
static void
send_numeric(StringInfo out, Numeric value)
{
	bytea	   *sent = DatumGetByteaPP(DirectFunctionCall1(numeric_send, NumericGetDatum(value)));
	StringInfoData in;
	int			ndigits;
	int			i;

	initStringInfo(&in);
	appendBinaryStringInfo(&in, VARDATA_ANY(sent), VARSIZE_ANY_EXHDR(sent));
	ndigits = pq_getmsgint(&in, sizeof(int16));
	pq_sendint32(out, ndigits);
	pq_sendint32(out, (uint32) (int16) pq_getmsgint(&in, sizeof(int16)));	/* weight */
	pq_sendint32(out, pq_getmsgint(&in, sizeof(int16)));	/* sign */
	pq_sendint32(out, pq_getmsgint(&in, sizeof(int16)));	/* display scale */
	for (i = 0; i < ndigits; i++)
		pq_sendint16(out, pq_getmsgint(&in, sizeof(int16)));
	pfree(in.data);
}

Datum
int8_state(int64 count, Numeric sum)
{
	StringInfoData out;

	pq_begintypsend(&out);
	pq_sendint64(&out, count);
	send_numeric(&out, sum);
	return PointerGetDatum(pq_endtypsend(&out));
}

Datum
numeric_state(int64 count, Numeric sum, int scale)
{
	StringInfoData out;

	pq_begintypsend(&out);
	pq_sendint64(&out, count);
	send_numeric(&out, sum);
	pq_sendint32(&out, scale);	/* the largest scale, and how many values have it */
	pq_sendint64(&out, count);
	pq_sendint64(&out, 0);		/* NaN, infinity, -infinity */
	pq_sendint64(&out, 0);
	pq_sendint64(&out, 0);
	return PointerGetDatum(pq_endtypsend(&out));
}

Datum
int_state(int64 count, int64 sum)
{
	Datum		values[2] = {Int64GetDatum(count), Int64GetDatum(sum)};

	return PointerGetDatum(construct_array(values, lengthof(values), INT8OID, sizeof(int64), FLOAT8PASSBYVAL,
										   TYPALIGN_DOUBLE));
}

Datum
float_state(double count, double sum, double squares)
{
	Datum		values[3] = {Float8GetDatum(count), Float8GetDatum(sum), Float8GetDatum(squares)};

	return PointerGetDatum(construct_array(values, lengthof(values), FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL,
										   TYPALIGN_DOUBLE));
}
