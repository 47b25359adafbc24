/*
 * byte_input.h
 *		Little-endian numbers in bytes that are not to be trusted.
 */
#ifndef STREAMHOUSE_BYTE_INPUT_H
#define STREAMHOUSE_BYTE_INPUT_H

#include "columnar/vector.h"
#include "lib/stringinfo.h"

typedef struct ByteInput
{
	const char *next;
	const char *end;
} ByteInput;

static inline ByteInput
byte_input(BytesView bytes)
{
	ByteInput	input = {bytes.data, bytes.data + bytes.length};

	return input;
}

/* Take so many bytes, NULL if there are not as many. */
static inline const char *
byte_input_take(ByteInput *input, size_t length)
{
	const char *bytes = input->next;

	if (length > (size_t) (input->end - input->next))
		return NULL;
	input->next += length;
	return bytes;
}

/* The number in width bytes. */
static inline uint64
bytes_number(const char *bytes, int width)
{
	uint64		number = 0;

	for (int i = width - 1; i >= 0; i--)
		number = number << 8 | (uint8) bytes[i];
	return number;
}

static inline bool
byte_input_number(ByteInput *input, int width, uint64 *number)
{
	const char *bytes = byte_input_take(input, width);

	if (bytes == NULL)
		return false;
	*number = bytes_number(bytes, width);
	return true;
}

static inline void
append_number(StringInfo out, uint64 number, int width)
{
	for (int i = 0; i < width; i++, number >>= 8)
		appendStringInfoCharMacro(out, (char) number);
}

#endif							/* STREAMHOUSE_BYTE_INPUT_H */
