/*
 * string_table.h
 *		Numbers for strings: each distinct one gets the next number.
 *
 * Grouping and counting distinct values then work on numbers alone.
 */
#ifndef STREAMHOUSE_STRING_TABLE_H
#define STREAMHOUSE_STRING_TABLE_H

#include "columnar/vector.h"

/* Codes of what is no string with a number. */
#define STRING_NULL (-1)
#define STRING_UNKNOWN (-2)

typedef struct StringTable StringTable;

/* Lives in CurrentMemoryContext. */
extern StringTable *string_table_create(void);

/*
 * The numbers of the strings of the selected rows (NULL: the first nrows), at
 * codes[row].  Strings that are new get a number if add, else are
 * STRING_UNKNOWN.
 */
extern void string_table_codes(StringTable *table, const Vector *vector, const int32 *rows, int nrows, bool add,
							   int32 *codes);

extern BytesView string_table_get(const StringTable *table, int32 code);

/* All strings by their numbers, valid until one is added; how many. */
extern const BytesView *string_table_entries(const StringTable *table, int *count);

/* Bytes that it takes. */
extern Size string_table_memory(const StringTable *table);

#endif							/* STREAMHOUSE_STRING_TABLE_H */
