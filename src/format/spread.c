/*
 * spread.c
 *		Spreading dense values over the rows that are not null.
 */
#include "postgres.h"

#include "format/spread.h"

typedef struct Wide
{
	uint64		halves[2];
} Wide;

#define SPREAD(type) \
	do { \
		const type *from = dense; \
		type	   *to = out; \
		for (int i = 0; i < count; i++) \
		{ \
			to[i] = *from; \
			from += !nulls[i]; \
		} \
	} while (0)

void
spread_values(size_t size, const void *dense, const bool *nulls, int count, void *out)
{
	switch (size)
	{
		case 1:
			SPREAD(uint8);
			break;
		case 2:
			SPREAD(uint16);
			break;
		case 4:
			SPREAD(uint32);
			break;
		case 8:
			SPREAD(uint64);
			break;
		case sizeof(Wide):
			SPREAD(Wide);
			break;
		default:
			elog(ERROR, "no values have %zu bytes", size);
	}
}
