/*
 * decode.h
 *		Parquet's encodings: decoders of levels, dictionary codes and values.
 *
 * Decoders work on a page in memory and check every access against its end;
 * at most READ_PADDING bytes behind it are loaded, never used.  All of them
 * stand somewhere in a sequence and are told how many values to read or skip.
 */
#ifndef STREAMHOUSE_PARQUET_DECODE_H
#define STREAMHOUSE_PARQUET_DECODE_H

#include "columnar/vector.h"
#include "format/parquet/footer.h"
#include "format/parquet/parquet_format.h"
#include "format/parquet/partial.h"

#ifdef WORDS_BIGENDIAN
#error "reading Parquet needs a little-endian machine"
#endif

/* What a decoder names in errors. */
typedef struct ParquetPlace
{
	const char *path;
	const char *column;
} ParquetPlace;

extern void decode_damaged(const ParquetPlace *place, const char *detail);

/*
 * Runs of equal values and bit-packed groups of eight (decode_rle.c): levels,
 * dictionary codes, booleans.
 */
typedef struct RleDecoder
{
	const ParquetPlace *place;
	const uint8 *cursor;		/* behind the current run */
	const uint8 *end;
	PartialBytes *partial;		/* set behind rle_init if not all bytes are there */
	int			bit_width;		/* 0 .. 32 */
	uint64		repeat_left;	/* of a run of equal values */
	int32		repeat_value;
	const uint8 *packed;		/* of a bit-packed run */
	uint64		packed_index;
	uint64		packed_left;
} RleDecoder;

extern void rle_init(RleDecoder *decoder, const ParquetPlace *place, const uint8 *data, size_t length, int bit_width);

/* Packed values only, without runs around them. */
extern void rle_init_bits(RleDecoder *decoder, const ParquetPlace *place, const uint8 *data, size_t length, int bit_width);
extern void rle_read(RleDecoder *decoder, int count, int32 *out);
extern void rle_read_bits(RleDecoder *decoder, int count, uint8 *out);	/* bit width 1, to 0 and 1 */
extern void rle_read_levels(RleDecoder *decoder, int count, uint8 *out);	/* bit width 8 at most */
extern void rle_skip(RleDecoder *decoder, int64 count);

/* Skip values of bit width 1; returns how many of them are 1. */
extern int64 rle_skip_bits(RleDecoder *decoder, int64 count);

/* DELTA_BINARY_PACKED (decode_delta.c). */
#define DELTA_GROUP 32			/* values unpacked at a time */

typedef struct DeltaDecoder
{
	const ParquetPlace *place;
	const uint8 *cursor;
	const uint8 *end;
	uint32		miniblocks;		/* in a block */
	uint32		miniblock_values;
	uint64		total;			/* values, the first included */
	uint64		left;			/* not yet unpacked */
	uint64		last;			/* the value before */
	uint64		min_delta;
	const uint8 *widths;		/* of the block's miniblocks */
	uint32		miniblock;		/* the next one, within the block */
	uint32		miniblock_left; /* values of the current one not yet unpacked */
	const uint8 *packed;
	int			width;
	int			buffered;		/* values in buffer not yet read */
	int			buffer_next;
	uint64		buffer[DELTA_GROUP];
} DeltaDecoder;

extern void delta_init(DeltaDecoder *decoder, const ParquetPlace *place, const uint8 *data, size_t length);
extern void delta_read_int32(DeltaDecoder *decoder, int count, int32 *out);
extern void delta_read_int64(DeltaDecoder *decoder, int count, int64 *out);
extern void delta_skip(DeltaDecoder *decoder, int64 count);

/* Behind all values: unpacks what is left. */
extern const uint8 *delta_end(DeltaDecoder *decoder);

/*
 * Values of a page, without nulls, in native form: int8 for booleans, int32,
 * int64, float, double, and BytesView for everything else, into the page or
 * into memory of the context that values_read is called in.
 */
typedef struct ValueDecoder
{
	ParquetPlace place;
	ParquetType type;
	int			width;			/* of values of fixed length, in bytes */
	bool		packed;			/* integers in fewer bytes, to which base is added (packed_numbers.h) */
	bool		ascending;		/* integers, one for each row of the page, of which it is known that they do */
	int64		base;
	void		(*read) (struct ValueDecoder *decoder, int count, void *out);
	void		(*skip) (struct ValueDecoder *decoder, int64 count);
	const uint8 *cursor;
	const uint8 *end;
	PartialBytes *partial;		/* set behind values_init, of plain numbers and bytes, if not all bytes are there */
	struct ByteMarks *marks;	/* set with values_use_marks, of plain byte arrays; NULL: none */
	const uint8 *begin;			/* of the first value, with marks */
	int64		passed;			/* values read or skipped, with marks */
	RleDecoder	bits;
	DeltaDecoder delta;			/* of numbers, or of prefix lengths */
	int32	   *lengths;		/* of byte arrays, all of the page */
	int64		nlengths;
	int64		next_length;
	uint8	   *last;			/* the byte array before, in its own buffer */
	uint32		last_length;
	size_t		last_capacity;
	MemoryContext context;		/* for last */
} ValueDecoder;

/* Bytes in which a decoder gives a value of the type. */
extern size_t native_size(ParquetType type);

/*
 * Begin a page of count values at most (nulls may make it fewer).  What the
 * decoder allocates lies in CurrentMemoryContext, which should live as long as
 * the page.
 */
extern void values_init(ValueDecoder *decoder, const char *path, const char *column, ParquetType type, int type_length,
						ParquetEncoding encoding, const uint8 *data, size_t length, int64 count);

/* Go past count values of fixed length, all of them there; for those who read them. */
extern const uint8 *values_take_fixed(ValueDecoder *decoder, int64 count);

/* Of plain byte arrays: go past count of them; the one at a place, its length checked. */
extern void byte_array_skip(ValueDecoder *decoder, int64 count);
extern BytesView byte_array_at(ValueDecoder *decoder, const uint8 *cursor);

/* of the single encodings, for values_init */
extern void plain_init(ValueDecoder *decoder);
extern void byte_stream_split_init(ValueDecoder *decoder);
extern void delta_values_init(ValueDecoder *decoder);
extern void delta_length_init(ValueDecoder *decoder, int64 count);
extern void delta_byte_array_init(ValueDecoder *decoder, int64 count);

#endif							/* STREAMHOUSE_PARQUET_DECODE_H */
