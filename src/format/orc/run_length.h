/*
 * run_length.h
 *		ORC's run length encodings: of bytes, of booleans, of integers.
 *
 * Readers stand somewhere in a stream's values and are told how many to read
 * or to skip.
 */
#ifndef STREAMHOUSE_ORC_RUN_LENGTH_H
#define STREAMHOUSE_ORC_RUN_LENGTH_H

#include "format/orc/stream.h"

typedef struct ByteReader
{
	OrcStream	stream;
	int			left;			/* of the current run */
	bool		repeats;
	uint8		value;			/* of a run that repeats */
} ByteReader;

extern void byte_reader_reset(ByteReader *reader);	/* the stream was opened or moved */
extern void byte_reader_read(ByteReader *reader, int64 count, uint8 *out);
extern void byte_reader_skip(ByteReader *reader, int64 count);

typedef struct BitReader
{
	ByteReader	bytes;
	uint8		byte;			/* its low bits_left bits are next, the highest first */
	int			bits_left;
} BitReader;

extern void bit_reader_reset(BitReader *reader);
extern void bit_reader_read(BitReader *reader, int64 count, uint8 *out);	/* to 0 and 1 */
extern void bit_reader_skip(BitReader *reader, int64 count);

#define RUN_MAX_VALUES 512

typedef struct IntReader
{
	OrcStream	stream;
	bool		is_signed;
	bool		version2;
	int			buffered;		/* values of a run that was read in part */
	int			next;
	int64		buffer[RUN_MAX_VALUES];
} IntReader;

extern void int_reader_reset(IntReader *reader, bool is_signed, bool version2);
extern void int_reader_read(IntReader *reader, int64 count, int64 *out);
extern void int_reader_skip(IntReader *reader, int64 count);

/* Numbers of width bits each, packed, the high bits first; loads up to 7 bytes behind them. */
extern void unpack_bits(const uint8 *data, int width, int count, uint64 *out);

#endif							/* STREAMHOUSE_ORC_RUN_LENGTH_H */
