/*
 * run_length.c
 *		Runs of bytes, booleans and integers.
 *
 * Integers have two versions of runs.  A run is decoded as a whole: right into
 * the place where the values are wanted if it ends there, else into a buffer.
 * Runs that are skipped wholly are not decoded.
 */
#include "postgres.h"

#include "format/orc/run_length.h"

#define MIN_REPEAT 3
#define BYTES_AT_ONCE 256

static void
damaged(const OrcStream *stream, const char *detail)
{
	orc_damaged(stream->place->path, stream->place->column, detail);
}

/* ---- bytes ---- */

void
byte_reader_reset(ByteReader *reader)
{
	reader->left = 0;
}

/* A control byte: runs of up to 130 equal bytes, or up to 128 literal ones. */
static void
begin_byte_run(ByteReader *reader)
{
	uint8		control = stream_byte(&reader->stream);

	reader->repeats = control < 0x80;
	reader->left = reader->repeats ? control + MIN_REPEAT : 0x100 - control;
	if (reader->repeats)
		reader->value = stream_byte(&reader->stream);
}

void
byte_reader_read(ByteReader *reader, int64 count, uint8 *out)
{
	while (count > 0)
	{
		int			n;

		if (reader->left == 0)
			begin_byte_run(reader);
		n = (int) Min(count, reader->left);
		if (reader->repeats)
			memset(out, reader->value, n);
		else
			stream_read(&reader->stream, n, out);
		reader->left -= n;
		out += n;
		count -= n;
	}
}

void
byte_reader_skip(ByteReader *reader, int64 count)
{
	while (count > 0)
	{
		int			n;

		if (reader->left == 0)
			begin_byte_run(reader);
		n = (int) Min(count, reader->left);
		if (!reader->repeats)
			stream_skip(&reader->stream, n);
		reader->left -= n;
		count -= n;
	}
}

/* ---- booleans ---- */

void
bit_reader_reset(BitReader *reader)
{
	byte_reader_reset(&reader->bytes);
	reader->bits_left = 0;
}

static void
take_bits(BitReader *reader, int count, uint8 *out)
{
	for (int i = 0; i < count; i++)
		out[i] = (reader->byte >> --reader->bits_left) & 1;
}

/*
 * The bits of a byte as eight bytes: each copy of the byte has another of its
 * bits at the top of a byte of the product.
 */
static inline void
spread_bits(uint8 byte, uint8 *out)
{
	uint64		spread = (uint64) byte * UINT64CONST(0x8040201008040201) >> 7 & UINT64CONST(0x0101010101010101);

	memcpy(out, &spread, sizeof(spread));
}

void
bit_reader_read(BitReader *reader, int64 count, uint8 *out)
{
	uint8		bytes[BYTES_AT_ONCE];
	int			n = (int) Min(count, reader->bits_left);

	take_bits(reader, n, out);
	out += n;
	count -= n;
	while (count >= 8)
	{
		n = (int) Min(count / 8, BYTES_AT_ONCE);
		byte_reader_read(&reader->bytes, n, bytes);
		for (int i = 0; i < n; i++)
			spread_bits(bytes[i], out + 8 * i);
		out += 8 * n;
		count -= 8 * n;
	}
	if (count > 0)
	{
		byte_reader_read(&reader->bytes, 1, &reader->byte);
		reader->bits_left = 8;
		take_bits(reader, (int) count, out);
	}
}

void
bit_reader_skip(BitReader *reader, int64 count)
{
	int			n = (int) Min(count, reader->bits_left);

	reader->bits_left -= n;
	count -= n;
	byte_reader_skip(&reader->bytes, count / 8);
	if (count % 8 > 0)
	{
		byte_reader_read(&reader->bytes, 1, &reader->byte);
		reader->bits_left = 8 - count % 8;
	}
}

/* ---- integers ---- */

static inline int64
unzigzag(uint64 value)
{
	return (int64) (value >> 1) ^ -(int64) (value & 1);
}

static inline int64
varint(IntReader *reader)
{
	uint64		value = stream_varint(&reader->stream);

	return reader->is_signed ? unzigzag(value) : (int64) value;
}

/* Big-endian, as so many bytes. */
static uint64
fixed_number(OrcStream *stream, int bytes)
{
	const uint8 *data = stream_take(stream, bytes);
	uint64		value = 0;

	for (int i = 0; i < bytes; i++)
		value = value << 8 | data[i];
	return value;
}

typedef enum RunKind
{
	RUN_REPEAT,
	RUN_PROGRESSION,			/* base, and the same step to each next value */
	RUN_VARINTS,
	RUN_PACKED,
	RUN_PATCHED,
	RUN_DELTAS					/* base, a first step, then packed ones without sign */
} RunKind;

/* A run whose header has been read. */
typedef struct Run
{
	RunKind		kind;
	int			length;
	int			width;			/* of packed values, in bits */
	int64		base;
	int64		step;
	int			patch_width;
	int			patch_gap_width;
	int			npatches;
	int			patch_entry_width;
} Run;

static size_t
packed_bytes(int64 count, int width)
{
	return (size_t) ((count * width + 7) / 8);
}

/* Version 1: repeated with a small step, or literals. */
static void
begin_run_v1(IntReader *reader, Run *run)
{
	uint8		control = stream_byte(&reader->stream);

	if (control < 0x80)
	{
		run->kind = RUN_PROGRESSION;
		run->length = control + MIN_REPEAT;
		run->step = (int8) stream_byte(&reader->stream);
		run->base = varint(reader);
	}
	else
	{
		run->kind = RUN_VARINTS;
		run->length = 0x100 - control;
	}
}

/* Widths are coded in five bits. */
static int
decode_width(int code)
{
	static const uint8 large[] = {26, 28, 30, 32, 40, 48, 56, 64};

	return code < 24 ? code + 1 : large[code - 24];
}

/* The least width that can be coded and is no less. */
static int
closest_width(int width)
{
	for (int code = 0; code < 32; code++)
	{
		if (decode_width(code) >= width)
			return decode_width(code);
	}
	return 64;
}

static void
begin_patched_run(IntReader *reader, Run *run)
{
	OrcStream  *stream = &reader->stream;
	uint8		widths[2];
	int			base_bytes;
	uint64		base;
	uint64		sign;

	widths[0] = stream_byte(stream);
	widths[1] = stream_byte(stream);
	base_bytes = (widths[0] >> 5) + 1;
	run->patch_width = decode_width(widths[0] & 0x1f);
	run->patch_gap_width = (widths[1] >> 5) + 1;
	run->npatches = widths[1] & 0x1f;
	if (run->patch_width + run->patch_gap_width > 64)
		damaged(stream, "The patches of a run of integers are too wide.");
	run->patch_entry_width = closest_width(run->patch_width + run->patch_gap_width);
	base = fixed_number(stream, base_bytes);
	sign = UINT64CONST(1) << (8 * base_bytes - 1);
	run->base = base & sign ? -(int64) (base & ~sign) : (int64) base;
}

static void
begin_run_v2(IntReader *reader, Run *run)
{
	OrcStream  *stream = &reader->stream;
	uint8		header = stream_byte(stream);
	int			width_code = (header >> 1) & 0x1f;

	if (header >> 6 == 0)
	{
		uint64		value = fixed_number(stream, ((header >> 3) & 7) + 1);

		run->kind = RUN_REPEAT;
		run->length = (header & 7) + MIN_REPEAT;
		run->base = reader->is_signed ? unzigzag(value) : (int64) value;
		return;
	}
	run->length = ((header & 1) << 8 | stream_byte(stream)) + 1;
	run->width = decode_width(width_code);
	switch (header >> 6)
	{
		case 1:
			run->kind = RUN_PACKED;
			break;
		case 2:
			run->kind = RUN_PATCHED;
			begin_patched_run(reader, run);
			break;
		default:
			/* here, and only here, zero is a width */
			run->kind = width_code == 0 ? RUN_PROGRESSION : RUN_DELTAS;
			run->base = varint(reader);
			run->step = unzigzag(stream_varint(stream));
			break;
	}
}

static void
begin_run(IntReader *reader, Run *run)
{
	if (reader->version2)
		begin_run_v2(reader, run);
	else
		begin_run_v1(reader, run);
}

static void
decode_progression(const Run *run, int64 *out)
{
	uint64		value = run->base;

	for (int i = 0; i < run->length; i++, value += run->step)
		out[i] = (int64) value;
}

static void
decode_packed(IntReader *reader, const Run *run, int64 *out)
{
	const uint8 *data = stream_take(&reader->stream, packed_bytes(run->length, run->width));

	unpack_bits(data, run->width, run->length, (uint64 *) out);
	if (reader->is_signed)
	{
		for (int i = 0; i < run->length; i++)
			out[i] = unzigzag((uint64) out[i]);
	}
}

/*
 * Most values have width bits above the base.  Patches are further bits of the
 * few that have more, each with its distance from the one before.
 */
static void
decode_patched(IntReader *reader, const Run *run, int64 *out)
{
	const uint8 *data = stream_take(&reader->stream, packed_bytes(run->length, run->width));
	uint64		patches[32];
	uint64		patch_mask = PG_UINT64_MAX >> (64 - run->patch_width);
	uint64		at = 0;

	unpack_bits(data, run->width, run->length, (uint64 *) out);
	data = stream_take(&reader->stream, packed_bytes(run->npatches, run->patch_entry_width));
	unpack_bits(data, run->patch_entry_width, run->npatches, patches);
	for (int i = 0; i < run->npatches; i++)
	{
		uint64		patch = patches[i] & patch_mask;

		at += run->patch_width < 64 ? patches[i] >> run->patch_width : 0;
		if (at >= run->length)
			damaged(&reader->stream, "A patch of a run of integers lies behind the run.");
		if (patch != 0 && run->width < 64)
			out[at] |= (int64) (patch << run->width);
	}
	for (int i = 0; i < run->length; i++)
		out[i] = (int64) ((uint64) out[i] + (uint64) run->base);
}

static int
packed_deltas(const Run *run)
{
	return Max(run->length - 2, 0);
}

static void
decode_deltas(IntReader *reader, const Run *run, int64 *out)
{
	int			ndeltas = packed_deltas(run);
	const uint8 *data = stream_take(&reader->stream, packed_bytes(ndeltas, run->width));
	uint64		value = run->base;

	out[0] = (int64) value;
	if (run->length == 1)
		return;
	value += run->step;
	out[1] = (int64) value;
	unpack_bits(data, run->width, ndeltas, (uint64 *) out + 2);
	for (int i = 2; i < run->length; i++)
	{
		value += run->step < 0 ? -(uint64) out[i] : (uint64) out[i];
		out[i] = (int64) value;
	}
}

static void
decode_run(IntReader *reader, const Run *run, int64 *out)
{
	switch (run->kind)
	{
		case RUN_REPEAT:
			for (int i = 0; i < run->length; i++)
				out[i] = run->base;
			break;
		case RUN_PROGRESSION:
			decode_progression(run, out);
			break;
		case RUN_VARINTS:
			for (int i = 0; i < run->length; i++)
				out[i] = varint(reader);
			break;
		case RUN_PACKED:
			decode_packed(reader, run, out);
			break;
		case RUN_PATCHED:
			decode_patched(reader, run, out);
			break;
		case RUN_DELTAS:
			decode_deltas(reader, run, out);
			break;
	}
}

static void
skip_run(IntReader *reader, const Run *run)
{
	OrcStream  *stream = &reader->stream;

	switch (run->kind)
	{
		case RUN_REPEAT:
		case RUN_PROGRESSION:
			break;
		case RUN_VARINTS:
			for (int i = 0; i < run->length; i++)
				stream_varint(stream);
			break;
		case RUN_PATCHED:
			stream_skip(stream, packed_bytes(run->npatches, run->patch_entry_width));
			/* FALLTHROUGH */
		case RUN_PACKED:
			stream_skip(stream, packed_bytes(run->length, run->width));
			break;
		case RUN_DELTAS:
			stream_skip(stream, packed_bytes(packed_deltas(run), run->width));
			break;
	}
}

void
int_reader_reset(IntReader *reader, bool is_signed, bool version2)
{
	reader->is_signed = is_signed;
	reader->version2 = version2;
	reader->buffered = reader->next = 0;
}

/* The rest of a run that was read in part. */
static int
take_buffered(IntReader *reader, int64 count, int64 *out)
{
	int			n = (int) Min(count, reader->buffered - reader->next);

	if (n > 0 && out != NULL)
		memcpy(out, reader->buffer + reader->next, n * sizeof(int64));
	reader->next += n;
	return n;
}

void
int_reader_read(IntReader *reader, int64 count, int64 *out)
{
	while (count > 0)
	{
		int			n = take_buffered(reader, count, out);

		if (n == 0)
		{
			Run			run;

			begin_run(reader, &run);
			if (run.length > count)
			{
				decode_run(reader, &run, reader->buffer);
				reader->buffered = run.length;
				reader->next = 0;
				continue;
			}
			decode_run(reader, &run, out);
			n = run.length;
		}
		out += n;
		count -= n;
	}
}

void
int_reader_skip(IntReader *reader, int64 count)
{
	while (count > 0)
	{
		int			n = take_buffered(reader, count, NULL);

		if (n == 0)
		{
			Run			run;

			begin_run(reader, &run);
			if (run.length > count)
			{
				decode_run(reader, &run, reader->buffer);
				reader->buffered = run.length;
				reader->next = 0;
				continue;
			}
			skip_run(reader, &run);
			n = run.length;
		}
		count -= n;
	}
}
