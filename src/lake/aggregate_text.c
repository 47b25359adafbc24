/*
 * aggregate_text.c
 *		The aggregate function that joins strings: listagg.
 *
 * What was joined last grows where it lies, in room that doubles, so that a
 * key with many rows costs no more than what it becomes.
 */
#include "postgres.h"

#include "columnar/compare.h"
#include "lake/aggregator.h"
#include "utils/memutils.h"

#define FIRST_ROOM 64

static bool
accepts_unbounded_string(const DataType *type)
{
	return type->root == TYPE_VARCHAR && type->length == TYPE_MAX_LENGTH;
}

/* Append a string to what the accumulator holds. */
static void
append(Aggregator *aggregator, Scalar *accumulator, BytesView string)
{
	BytesView	old = accumulator->v.bytes;
	Size		length = (Size) old.length + string.length;

	if (length > PG_INT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("aggregated strings of column \"%s\" of lake table \"%s\" are too long",
						aggregator->field->name, aggregator->table_name)));
	if (aggregator->text == NULL || old.data != aggregator->text || length > aggregator->text_room)
	{
		aggregator->text_room = Max(length * 2, FIRST_ROOM);
		aggregator->text = (char *) MemoryContextAllocHuge(aggregator->context, aggregator->text_room);
		memcpy(aggregator->text, old.data, old.length);
		accumulator->v.bytes.data = aggregator->text;
	}
	if (string.length > 0)
		memcpy(aggregator->text + old.length, string.data, string.length);
	accumulator->v.bytes.length = (uint32) length;
}

/* Cut the first item off a list; false when there is none left. */
static bool
next_item(BytesView *list, BytesView delimiter, BytesView *item)
{
	uint32		end = 0;

	if (list->data == NULL)
		return false;
	while (end + delimiter.length <= list->length &&
		   memcmp(list->data + end, delimiter.data, delimiter.length) != 0)
		end++;
	item->data = list->data;
	if (end + delimiter.length > list->length)
	{
		item->length = list->length;
		list->data = NULL;
	}
	else
	{
		item->length = end;
		list->data += end + delimiter.length;
		list->length -= end + delimiter.length;
	}
	return true;
}

static bool
list_contains(BytesView list, BytesView delimiter, BytesView wanted)
{
	BytesView	item;

	while (next_item(&list, delimiter, &item))
		if (bytes_equal(item, wanted))
			return true;
	return false;
}

/* Append the items that are not there yet. */
static void
append_distinct(Aggregator *aggregator, Scalar *accumulator, BytesView list)
{
	BytesView	split = aggregator->delimiter;
	BytesView	before = accumulator->v.bytes;
	BytesView	seen = list;	/* the items of the list already taken */
	BytesView	item;

	if (split.length == 0)
		split = (BytesView) {" ", 1};
	while (next_item(&list, split, &item))
	{
		seen.length = (uint32) (item.data - seen.data);
		if (item.length == 0 || list_contains(before, split, item) || list_contains(seen, split, item))
			continue;
		append(aggregator, accumulator, aggregator->delimiter);
		append(aggregator, accumulator, item);
	}
}

static void
join(Aggregator *aggregator, Scalar *accumulator, const Scalar *input)
{
	if (accumulator->isnull)
	{
		*accumulator = *input;
		return;
	}
	if (input->isnull || input->v.bytes.length == 0)
		return;
	if (accumulator->v.bytes.length == 0)
		*accumulator = *input;
	else if (aggregator->distinct)
		append_distinct(aggregator, accumulator, input->v.bytes);
	else
	{
		append(aggregator, accumulator, aggregator->delimiter);
		append(aggregator, accumulator, input->v.bytes);
	}
}

const AggregateFunction aggregate_listagg = {
	.name = "listagg",
	.accepts = accepts_unbounded_string,
	.aggregate = join
};
