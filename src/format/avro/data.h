/*
 * data.h
 *		Avro container files as data files: records decoded into vectors.
 *
 * Source: format digest section 6.5.
 */
#ifndef STREAMHOUSE_AVRO_DATA_H
#define STREAMHOUSE_AVRO_DATA_H

#include "format/avro/avro.h"
#include "format/format.h"

extern const FormatRoutine avro_format;

/* How the values of a type of the file become those of a type wanted. */
typedef struct AvroValue AvroValue;

/* NULL when they cannot. */
extern AvroValue *avro_value_bind(const AvroSchema *schema, const DataType *type);

/* Decode one value into a row of a vector of the type wanted, which was reset before the first one. */
extern void avro_value_decode(const AvroValue *value, AvroInput *input, Vector *vector, int row);

/* The file's type in words, for errors. */
extern const char *avro_type_text(const AvroSchema *schema);

#endif							/* STREAMHOUSE_AVRO_DATA_H */
