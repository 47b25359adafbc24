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

/* Most often few values are null, so eight rows at once often have none. */
#define SPREAD(type) \
	do { \
		const type *from = dense; \
		type	   *to = out; \
		int			i = 0; \
		for (; i + 8 <= count; i += 8) \
		{ \
			uint64		eight; \
			memcpy(&eight, nulls + i, sizeof(eight)); \
			if (eight == 0) \
			{ \
				memcpy(to + i, from, 8 * sizeof(type)); \
				from += 8; \
			} \
			else \
			{ \
				for (int k = i; k < i + 8; k++) \
				{ \
					to[k] = *from; \
					from += !nulls[k]; \
				} \
			} \
		} \
		for (; i < count; i++) \
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
