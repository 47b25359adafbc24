/*
 * byte_marks.c
 *		Where some of a page's byte arrays begin, and the search for one if they ascend.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "format/parquet/byte_marks.h"

ByteMarks *
byte_marks_create(MemoryContext context, int64 count)
{
	int			capacity = (int) (count / MARK_STEP) + 1;
	ByteMarks  *marks = MemoryContextAllocZero(context, offsetof(ByteMarks, places) + capacity * sizeof(uint32));

	marks->count = count;
	marks->capacity = capacity;
	marks->known = 1;			/* the first value */
	return marks;
}

static inline const uint8 *
end_of(BytesView value)
{
	return (const uint8 *) value.data + value.length;
}

/* Go to the last mark that does not lie behind the value; then from mark to mark, and note new ones. */
static void
marked_skip(ValueDecoder *decoder, int64 count)
{
	ByteMarks  *marks = decoder->marks;
	int64		target = decoder->passed + count;
	int64		mark = Min(target / MARK_STEP, marks->known - 1);

	if (mark * MARK_STEP > decoder->passed)
	{
		decoder->cursor = decoder->begin + marks->places[mark];
		decoder->passed = mark * MARK_STEP;
	}
	while (decoder->passed < target)
	{
		int64		next = (decoder->passed / MARK_STEP + 1) * MARK_STEP;

		byte_array_skip(decoder, Min(next, target) - decoder->passed);
		if (decoder->passed == (int64) marks->known * MARK_STEP && marks->known < marks->capacity)
			marks->places[marks->known++] = decoder->cursor - decoder->begin;
	}
}

void
values_use_marks(ValueDecoder *decoder, ByteMarks *marks)
{
	Assert(decoder->type == PARQUET_BYTE_ARRAY && decoder->passed == 0);
	decoder->marks = marks;
	decoder->begin = decoder->cursor;
	decoder->skip = marked_skip;
}

static void
measure(ValueDecoder *decoder, ByteMarks *marks)
{
	const uint8 *cursor = decoder->begin;
	BytesView	last = {NULL, 0};
	int64		i;

	partial_need(decoder->partial, decoder->end);
	for (i = 0; i < marks->count && cursor < decoder->end; i++)
	{
		BytesView	value = byte_array_at(decoder, cursor);

		if (bytes_compare(last, value) > 0)
			break;
		if (i == (int64) marks->known * MARK_STEP)
			marks->places[marks->known++] = cursor - decoder->begin;
		cursor = end_of(value);
		last = value;
	}
	marks->ascending = i == marks->count;
	marks->measured = true;
}

bool
byte_arrays_ascend(ValueDecoder *decoder)
{
	ByteMarks  *marks = decoder->marks;

	if (marks == NULL)
		return false;
	if (!marks->measured)
		measure(decoder, marks);
	return marks->ascending;
}

static inline bool
is_before(BytesView value, BytesView bound, bool equal)
{
	int			order = bytes_compare(value, bound);

	return order < 0 || (equal && order == 0);
}

/* The last mark whose value is before the bound; the first one, if none is. */
static int
search_marks(ValueDecoder *decoder, BytesView bound, bool equal)
{
	const ByteMarks *marks = decoder->marks;
	int			low = 0;
	int			high = marks->known;

	while (high - low > 1)
	{
		int			middle = low + (high - low) / 2;

		if (is_before(byte_array_at(decoder, decoder->begin + marks->places[middle]), bound, equal))
			low = middle;
		else
			high = middle;
	}
	return low;
}

int64
byte_arrays_search(ValueDecoder *decoder, int64 count, BytesView bound, bool equal)
{
	const ByteMarks *marks = decoder->marks;
	int			mark = search_marks(decoder, bound, equal);
	const uint8 *cursor = decoder->begin + marks->places[mark];
	int64		before = (int64) mark * MARK_STEP;

	Assert(marks->ascending);
	while (before < marks->count)
	{
		BytesView	value = byte_array_at(decoder, cursor);

		if (!is_before(value, bound, equal))
			break;
		cursor = end_of(value);
		before++;
	}
	return Max(0, Min(before - decoder->passed, count));
}
