/*
 * uuid.c
 *		Random names for files, from the server's strong random source.
 */
#include "postgres.h"

#include "storage/uuid.h"

void
lake_uuid(char out[UUID_TEXT_LENGTH + 1])
{
	static const char digits[] = "0123456789abcdef";
	uint8		bytes[16];
	char	   *p = out;

	if (!pg_strong_random(bytes, sizeof(bytes)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random values")));

	bytes[6] = (bytes[6] & 0x0f) | 0x40;	/* version 4: random */
	bytes[8] = (bytes[8] & 0x3f) | 0x80;	/* variant of RFC 4122 */

	for (int i = 0; i < 16; i++)
	{
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*p++ = '-';
		*p++ = digits[bytes[i] >> 4];
		*p++ = digits[bytes[i] & 0x0f];
	}
	*p = '\0';
}
