/*
 * decode_variant.h
 *		VARIANT becomes jsonb.
 */
#ifndef STREAMHOUSE_FDW_DECODE_VARIANT_H
#define STREAMHOUSE_FDW_DECODE_VARIANT_H

#include "fdw/json_build.h"
#include "fdw/types.h"

extern void decode_variant(JsonBuild *build, JsonbIteratorToken place, const ColumnDecoder *decoder,
						   BytesView metadata, BytesView value);

#endif							/* STREAMHOUSE_FDW_DECODE_VARIANT_H */
