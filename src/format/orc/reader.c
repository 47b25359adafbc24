/*
 * reader.c
 *		ORC files as batches: stripes, row ranges, columns.
 *
 * Stripes come one after another; their statistics, then their row indexes,
 * leave ranges of rows that may match the predicate.  Batches are cut from
 * these.  A column's streams are only touched when it is read.
 */
#include "postgres.h"

#include "format/orc/orc.h"
#include "format/orc/statistics.h"
#include "format/orc/stripe.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/* Of all columns together, and of one stream. */
#define WINDOW_BUDGET_BYTES (32 * 1024 * 1024)
#define MIN_WINDOW_BYTES (64 * 1024)
#define MAX_WINDOW_BYTES (1024 * 1024)

/* Batches of long values have fewer rows, so that they do not take more than about this. */
#define BATCH_BYTES (32 * 1024 * 1024)

typedef struct OrcReader
{
	FormatReader base;
	MemoryContext context;		/* holds all of this */
	MemoryContext batch_context;
	OrcFile		file;
	OrcTail		tail;
	FormatCounters own_counters;	/* when the caller wants none */
	RowRange	rows;			/* of the file, that are wanted */
	ColumnShared shared;
	OrcColumn **columns;		/* NULL: the file lacks it */
	StripeFilter filter;
	StripeStatistics statistics;	/* read when there is a predicate */
	int			batch_rows;

	/* the stripe */
	uint32		next_stripe;
	bool		in_stripe;
	int64		stripe_start;	/* its first row in the file */
	RowRange   *ranges;
	int			nranges;
	int			range;			/* the one that position is in */
	int64		position;		/* within the stripe: the next batch */
} OrcReader;

/* ---- opening ---- */

static void
open_columns(OrcReader *reader, const FormatReadOptions *options)
{
	int			n = options->ncolumns;
	size_t		window = WINDOW_BUDGET_BYTES / Max(n, 1);

	reader->shared.window_bytes = Max(MIN_WINDOW_BYTES, Min(window, MAX_WINDOW_BYTES));
	orc_column_shared_init(&reader->shared);
	reader->base.ncolumns = n;
	reader->base.present = palloc0(Max(n, 1) * sizeof(bool));
	reader->columns = palloc0(Max(n, 1) * sizeof(OrcColumn *));
	for (int i = 0; i < n; i++)
	{
		const DataField *wanted = &options->columns[i];
		int			field = type_find_field(&reader->tail.types[0], wanted->name);

		if (field < 0)
			continue;
		reader->columns[i] = orc_column_create(&reader->shared, reader->tail.types[0].children[field],
										   pstrdup(wanted->name), wanted->type);
		reader->base.present[i] = true;
	}
}

static void
open_filter(OrcReader *reader, const FormatReadOptions *options)
{
	bool	   *used = palloc0(Max(options->ncolumns, 1) * sizeof(bool));

	reader->filter.predicate = options->predicate;
	reader->filter.ncolumns = options->ncolumns;
	reader->filter.columns = reader->columns;
	reader->filter.used = used;
	reader->filter.statistics = palloc0(Max(options->ncolumns, 1) * sizeof(ColumnStatistics));
	if (options->predicate == NULL)
		return;
	predicate_columns(options->predicate, used);
	stripe_statistics_read(&reader->statistics, &reader->shared);
}

/* How many rows a batch may have so that its values are not too many bytes. */
static int
choose_batch_rows(OrcReader *reader)
{
	double		bytes = 0;

	for (int i = 0; i < reader->base.ncolumns; i++)
	{
		if (reader->columns[i] != NULL)
			bytes += orc_column_bytes(reader->columns[i]);
	}
	if (bytes <= 0)
		return BATCH_ROWS;
	return (int) Max(1, Min(BATCH_BYTES / (bytes / reader->tail.rows), BATCH_ROWS));
}

FormatReader *
orc_open(StorageFile *file, const FormatReadOptions *options)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "orc reader", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	OrcReader  *reader = palloc0(sizeof(OrcReader));

	reader->context = context;
	reader->batch_context = AllocSetContextCreate(context, "orc batch", ALLOCSET_SMALL_SIZES);
	tail_read(&reader->tail, &reader->file, file, options->file_size,
			  options->counters != NULL ? options->counters : &reader->own_counters);
	reader->shared.file = &reader->file;
	reader->shared.tail = &reader->tail;
	reader->shared.stripe_context = AllocSetContextCreate(context, "orc stripe", ALLOCSET_SMALL_SIZES);
	reader->shared.batch_context = reader->batch_context;
	open_columns(reader, options);
	open_filter(reader, options);
	reader->base.file_rows = (int64) reader->tail.rows;
	reader->batch_rows = choose_batch_rows(reader);
	reader->rows = format_rows(options, reader->base.file_rows, reader->file.path);
	if (reader->rows.start == 0)
		reader->file.counters->row_groups += reader->tail.nstripes;
	MemoryContextSwitchTo(old);
	return &reader->base;
}

void
orc_close(FormatReader *base)
{
	OrcReader  *reader = (OrcReader *) base;

	MemoryContextDelete(reader->context);
}

/* Those of the stripes. */
int
orc_group_statistics(FormatReader *base, int column, GroupStatistics **out)
{
	OrcReader  *reader = (OrcReader *) base;
	StripeStatistics *statistics = &reader->statistics;

	if (statistics->stripes == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(reader->context);

		stripe_statistics_read(statistics, &reader->shared);
		MemoryContextSwitchTo(old);
	}
	if (statistics->nstripes == 0)
		return 0;
	*out = palloc(statistics->nstripes * sizeof(GroupStatistics));
	for (uint32 i = 0; i < statistics->nstripes; i++)
	{
		(*out)[i].nrows = (int64) reader->tail.stripes[i].rows;
		stripe_column_statistics(statistics, i, reader->columns[column], &(*out)[i].statistics);
	}
	return (int) statistics->nstripes;
}

/* ---- moving ---- */

/* Open the stripe, if any of its rows may match. */
static bool
begin_stripe(OrcReader *reader, uint32 number)
{
	const OrcStripeInfo *stripe = &reader->tail.stripes[number];

	if (stripe->rows == 0 || reader->stripe_start + (int64) stripe->rows <= reader->rows.start ||
		!stripe_may_match(&reader->statistics, &reader->shared, number, &reader->filter))
		return false;
	/* it counts for who reads its first row */
	if (reader->stripe_start >= reader->rows.start)
		reader->file.counters->row_groups_read++;
	stripe_open(&reader->shared, stripe, reader->context);
	for (int i = 0; i < reader->base.ncolumns; i++)
	{
		if (reader->columns[i] != NULL)
			orc_column_begin_stripe(reader->columns[i]);
	}
	reader->ranges = stripe_ranges(&reader->shared, &reader->filter, &reader->nranges);
	row_ranges_clip(reader->ranges, &reader->nranges, reader->stripe_start, &reader->rows);
	if (reader->nranges == 0)
		return false;
	reader->range = 0;
	reader->position = reader->ranges[0].start;
	return true;
}

/* Go to the next stripe that may have matching rows; false at the end. */
static bool
next_stripe(OrcReader *reader)
{
	MemoryContext old = MemoryContextSwitchTo(reader->shared.stripe_context);

	if (reader->in_stripe)
		reader->stripe_start += reader->tail.stripes[reader->next_stripe - 1].rows;
	reader->in_stripe = false;
	MemoryContextReset(reader->shared.stripe_context);
	while (!reader->in_stripe && reader->next_stripe < reader->tail.nstripes &&
		   reader->stripe_start < reader->rows.end)
	{
		uint32		number = reader->next_stripe++;

		CHECK_FOR_INTERRUPTS();
		reader->in_stripe = begin_stripe(reader, number);
		if (!reader->in_stripe)
		{
			reader->stripe_start += reader->tail.stripes[number].rows;
			MemoryContextReset(reader->shared.stripe_context);
		}
	}
	MemoryContextSwitchTo(old);
	return reader->in_stripe;
}

bool
orc_next(FormatReader *base)
{
	OrcReader  *reader = (OrcReader *) base;

	MemoryContextReset(reader->batch_context);
	if (reader->in_stripe && reader->position == reader->ranges[reader->range].end &&
		++reader->range < reader->nranges)
		reader->position = reader->ranges[reader->range].start;
	if ((!reader->in_stripe || reader->range == reader->nranges) && !next_stripe(reader))
	{
		base->nrows = 0;
		return false;
	}
	base->first_row = reader->stripe_start + reader->position;
	base->nrows = (int) Min(reader->ranges[reader->range].end - reader->position, reader->batch_rows);
	reader->position += base->nrows;
	reader->file.counters->rows_read += base->nrows;
	return true;
}

void
orc_read_column(FormatReader *base, int column, const int32 *selection, int nselected, Vector *out)
{
	OrcReader  *reader = (OrcReader *) base;
	MemoryContext old = MemoryContextSwitchTo(reader->batch_context);

	orc_column_read(reader->columns[column], reader->position - base->nrows, base->nrows, selection, nselected, out);
	MemoryContextSwitchTo(old);
}
