/*
 * blob.h
 *		Files of large values: one column of bytes, one value after the other.
 */
#ifndef STREAMHOUSE_BLOB_H
#define STREAMHOUSE_BLOB_H

#include "format/format.h"

extern const FormatRoutine blob_format;

#endif							/* STREAMHOUSE_BLOB_H */
