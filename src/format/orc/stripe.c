/*
 * stripe.c
 *		Stripes of an ORC file: footers, statistics, row groups.
 */
#include "postgres.h"

#include "format/orc/bloom.h"
#include "format/orc/statistics.h"
#include "format/orc/stripe.h"

/* An index of more row groups is left alone. */
#define MAX_GROUPS 1000000

/* ---- the footer ---- */

/* A stream lies behind the one before; only those of columns that are used are kept. */
static void
add_stream(ColumnShared *shared, ProtoReader *message, uint64 *offset, uint64 end)
{
	uint32		kind = 0;
	uint32		number = 0;
	uint64		length = 0;

	while (proto_next(message))
	{
		switch (message->field)
		{
			case 1:
				kind = proto_uint32(message);
				break;
			case 2:
				number = proto_uint32(message);
				break;
			case 3:
				length = proto_uint(message);
				break;
		}
	}
	if (length > end - *offset)
		orc_damaged(shared->file->path, NULL, "A stream lies behind the end of its stripe.");
	if (number < shared->tail->ntypes && shared->used[number] && kind < ORC_STREAM_KINDS)
	{
		OrcExtent  *extent = &shared->stripe_columns[number].streams[kind];

		extent->offset = *offset;
		extent->length = length;
		extent->exists = true;
	}
	*offset += length;
}

static void
set_encoding(ColumnShared *shared, ProtoReader *message, uint32 number)
{
	StripeColumn *column = &shared->stripe_columns[number];

	while (proto_next(message))
	{
		if (message->field == 1)
			column->encoding = proto_uint32(message);
		else if (message->field == 2)
			column->dictionary_size = proto_uint32(message);
	}
}

/* The time zone is that of the stripe before almost always. */
static void
set_zone(ColumnShared *shared, const char *name, MemoryContext zone_context)
{
	MemoryContext old;
	OrcPlace	place = {shared->file->path, NULL};

	if (shared->zone_name != NULL && strcmp(shared->zone_name, name) == 0)
		return;
	old = MemoryContextSwitchTo(zone_context);
	shared->zone = zone_load(&place, name);
	shared->zone_name = pstrdup(name);
	MemoryContextSwitchTo(old);
}

/* Does any column need the time zone?  Else nobody asks whether it is known. */
static bool
needs_zone(const ColumnShared *shared)
{
	for (uint32 i = 0; i < shared->tail->ntypes; i++)
	{
		if (shared->used[i] && shared->tail->types[i].kind == ORC_TIMESTAMP)
			return true;
	}
	return false;
}

static void
read_stripe_footer(ColumnShared *shared, BytesView bytes, const OrcStripeInfo *stripe, MemoryContext zone_context)
{
	ProtoReader message;
	ProtoReader part;
	uint64		offset = stripe->offset;
	uint64		end = stripe->offset + stripe->index_length + stripe->data_length;
	uint32		nencodings = 0;
	const char *zone = "";

	proto_init(&message, shared->file->path, bytes);
	while (proto_next(&message))
	{
		switch (message.field)
		{
			case 1:
				proto_message(&message, &part);
				add_stream(shared, &part, &offset, end);
				break;
			case 2:
				proto_message(&message, &part);
				if (nencodings == shared->tail->ntypes)
					orc_damaged(shared->file->path, NULL, "A stripe has encodings of more columns than the file.");
				set_encoding(shared, &part, nencodings++);
				break;
			case 3:
				zone = proto_string(&message);
				break;
		}
	}
	if (nencodings != shared->tail->ntypes)
		orc_damaged(shared->file->path, NULL, "A stripe has encodings of less columns than the file.");
	if (needs_zone(shared))
		set_zone(shared, zone, zone_context);
}

void
stripe_open(ColumnShared *shared, const OrcStripeInfo *stripe, MemoryContext zone_context)
{
	uint32		stride = shared->tail->row_index_stride;
	OrcPlace	place = {shared->file->path, NULL};
	BytesView	bytes;

	memset(shared->stripe_columns, 0, shared->tail->ntypes * sizeof(StripeColumn));
	shared->stripe_rows = stripe->rows;
	shared->ngroups = 0;
	if (stride > 0 && stripe->rows / stride < MAX_GROUPS)
		shared->ngroups = (uint32) ((stripe->rows + stride - 1) / stride);
	bytes = stream_read_section(shared->file, &place, stripe->offset + stripe->index_length + stripe->data_length,
								stripe->footer_length);
	read_stripe_footer(shared, bytes, stripe, zone_context);
	if (shared->stripe_columns[0].streams[ORC_STREAM_PRESENT].exists)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("file \"%s\" has rows that are null as a whole", shared->file->path)));
}

/* ---- statistics ---- */

void
stripe_statistics_read(StripeStatistics *statistics, ColumnShared *shared)
{
	const OrcTail *tail = shared->tail;
	OrcPlace	place = {shared->file->path, NULL};
	ProtoReader message;
	uint32		count = 0;

	statistics->nstripes = 0;
	if (tail->metadata_length == 0)
		return;
	statistics->stripes = palloc(Max(tail->nstripes, 1) * sizeof(BytesView));
	proto_init(&message, place.path,
			   stream_read_section(shared->file, &place, tail->metadata_start, tail->metadata_length));
	while (proto_next(&message))
	{
		if (message.field != 1)
			continue;
		if (count == tail->nstripes)
			return;
		statistics->stripes[count++] = proto_bytes(&message);
	}
	if (count == tail->nstripes)
		statistics->nstripes = count;
}

static const ColumnStatistics *
filter_statistics(void *arg, int column)
{
	StripeFilter *filter = arg;

	return &filter->statistics[column];
}

static bool
filter_may_match(const StripeFilter *filter, int64 rows)
{
	return predicate_may_match(filter->predicate, rows, filter_statistics, unconstify(StripeFilter *, filter));
}

/* A column that the file lacks has nothing but nulls. */
static void
set_absent(ColumnStatistics *statistics, int64 rows)
{
	memset(statistics, 0, sizeof(*statistics));
	statistics->has_null_count = true;
	statistics->null_count = rows;
}

static void
set_statistics(const OrcColumn *column, BytesView message, int64 rows, ColumnStatistics *out)
{
	const ColumnShared *shared = column->shared;

	orc_statistics_bounds(shared->tail, shared->file->path, column->type, column->wanted, message, rows, out);
}

void
stripe_column_statistics(const StripeStatistics *statistics, uint32 stripe, const OrcColumn *column,
						 ColumnStatistics *out)
{
	const ColumnShared *shared = column->shared;
	int64		rows = (int64) shared->tail->stripes[stripe].rows;
	ProtoReader message;
	uint32		number = 0;

	memset(out, 0, sizeof(*out));
	proto_init(&message, shared->file->path, statistics->stripes[stripe]);
	while (proto_next(&message))
	{
		if (message.field == 1 && number++ == column->number)
		{
			set_statistics(column, proto_bytes(&message), rows, out);
			return;
		}
	}
}

bool
stripe_may_match(const StripeStatistics *statistics, const ColumnShared *shared, uint32 stripe,
				 const StripeFilter *filter)
{
	int64		rows = (int64) shared->tail->stripes[stripe].rows;

	if (filter->predicate == NULL || stripe >= statistics->nstripes)
		return true;
	for (int i = 0; i < filter->ncolumns; i++)
	{
		if (!filter->used[i])
			continue;
		if (filter->columns[i] == NULL)
			set_absent(&filter->statistics[i], rows);
		else
			stripe_column_statistics(statistics, stripe, filter->columns[i], &filter->statistics[i]);
	}
	return filter_may_match(filter, rows);
}

/* ---- row groups ---- */

/* What is asked of a row group's bloom filters. */
typedef struct BloomTest
{
	const StripeFilter *filter;
	uint32		group;
	int64		rows;
} BloomTest;

/* Filters are read only for leaves that statistics leave open. */
static bool
test_leaf(const Predicate *leaf, void *arg)
{
	const BloomTest *test = arg;
	OrcColumn  *column = test->filter->columns[leaf->column];

	return predicate_leaf_may_match(leaf, test->rows, &test->filter->statistics[leaf->column]) &&
		(column == NULL || bloom_may_match(column, test->group, leaf));
}

static bool
bloom_filters_may_match(const StripeFilter *filter, uint32 group, int64 rows)
{
	BloomTest	test = {filter, group, rows};

	return predicate_may_hold(filter->predicate, test_leaf, &test);
}

static bool
has_bloom_filters(const StripeFilter *filter)
{
	for (int i = 0; i < filter->ncolumns; i++)
	{
		if (filter->used[i] && filter->columns[i] != NULL && bloom_exists(filter->columns[i]))
			return true;
	}
	return false;
}

/* What the row index tells of a group; nothing of columns that have none. */
static void
set_group_statistics(const StripeFilter *filter, uint32 group, int64 rows)
{
	memset(filter->statistics, 0, Max(filter->ncolumns, 1) * sizeof(ColumnStatistics));
	for (int i = 0; i < filter->ncolumns; i++)
	{
		const RowIndex *index;

		if (!filter->used[i])
			continue;
		if (filter->columns[i] == NULL)
		{
			set_absent(&filter->statistics[i], rows);
			continue;
		}
		index = orc_column_row_index(filter->columns[i]);
		if (index != NULL && index->statistics[group].data != NULL)
			set_statistics(filter->columns[i], index->statistics[group], rows, &filter->statistics[i]);
	}
}

static RowRange *
whole_stripe(ColumnShared *shared, int *nranges)
{
	RowRange   *range = palloc(sizeof(RowRange));

	range->start = 0;
	range->end = (int64) shared->stripe_rows;
	*nranges = 1;
	return range;
}

RowRange *
stripe_ranges(ColumnShared *shared, const StripeFilter *filter, int *nranges)
{
	int64		stride = shared->tail->row_index_stride;
	int64		rows = (int64) shared->stripe_rows;
	RowRange   *ranges;

	if (filter->predicate == NULL || shared->ngroups == 0 || (shared->ngroups == 1 && !has_bloom_filters(filter)))
		return whole_stripe(shared, nranges);
	ranges = palloc(((size_t) shared->ngroups / 2 + 1) * sizeof(RowRange));
	*nranges = 0;
	for (uint32 group = 0; group < shared->ngroups; group++)
	{
		int64		start = group * stride;
		int64		end = Min(start + stride, rows);

		set_group_statistics(filter, group, end - start);
		if (!filter_may_match(filter, end - start))
			shared->file->counters->pages_skipped++;
		else if (!bloom_filters_may_match(filter, group, end - start))
			shared->file->counters->bloom_excluded++;
		else if (*nranges > 0 && ranges[*nranges - 1].end == start)
			ranges[*nranges - 1].end = end;
		else
		{
			ranges[*nranges].start = start;
			ranges[*nranges].end = end;
			(*nranges)++;
		}
	}
	return ranges;
}
