/*
 * column_seek.c
 *		Columns of an ORC file: making them, opening their streams, moving them.
 */
#include "postgres.h"

#include "format/orc/column.h"
#include "format/orc/statistics.h"
#include "utils/memutils.h"

#define WIDEST_VALUE 16
#define MAX_DEPTH 100

void
orc_column_damaged(const OrcColumn *column, const char *detail)
{
	orc_damaged(column->place.path, column->place.column, detail);
}

/* ---- making ---- */

void
orc_column_shared_init(ColumnShared *shared)
{
	uint32		ntypes = shared->tail->ntypes;

	shared->stripe_columns = palloc0(ntypes * sizeof(StripeColumn));
	shared->used = palloc0(ntypes * sizeof(bool));
	shared->numbers = palloc0((BATCH_ROWS + 1) * sizeof(int64));
	shared->more_numbers = palloc0((BATCH_ROWS + 1) * sizeof(int64));
	shared->dense = palloc0((BATCH_ROWS + 1) * WIDEST_VALUE);
	shared->codes = palloc0((BATCH_ROWS + 1) * sizeof(int32));
	shared->flags = palloc0((BATCH_ROWS + 1) * sizeof(bool));
}

/* The number of the child that has a part of the wanted type, or -1: there is none, or it is not needed. */
static int
child_of_part(const OrcType *type, const DataType *wanted, int part)
{
	if (wanted->root == TYPE_ROW)
		return type_part(wanted, part)->unused ? -1 : type_find_field(type, type_part(wanted, part)->name);
	return part;
}

static void
create_children(OrcColumn *column)
{
	column->nchildren = type_part_count(column->wanted);
	column->children = palloc0(Max(column->nchildren, 1) * sizeof(OrcColumn *));
	for (int i = 0; i < column->nchildren; i++)
	{
		int			child = child_of_part(column->type, column->wanted, i);

		if (child >= 0)
			column->children[i] = orc_column_create(column->shared, column->type->children[child],
												column->place.column, type_part(column->wanted, i)->type);
	}
}

OrcColumn *
orc_column_create(ColumnShared *shared, uint32 number, const char *name, const DataType *wanted)
{
	OrcColumn  *column = palloc0(sizeof(OrcColumn));
	OrcFile    *file = shared->file;

	column->shared = shared;
	column->place.path = file->path;
	column->place.column = name;
	column->number = number;
	column->type = &shared->tail->types[number];
	column->wanted = wanted;
	column->routine = values_find(shared->tail, column->type, wanted);
	if (column->routine == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" of file \"%s\" cannot be read as %s",
						name, file->path, type_to_text(wanted)),
				 errdetail("The file's type is %s.", orc_type_text(shared->tail, number))));
	shared->used[number] = true;
	stream_init(&column->present.bytes.stream, file, &column->place, shared->window_bytes);
	/* all members of the union begin with the stream */
	stream_init(&column->data.raw, file, &column->place, shared->window_bytes);
	stream_init(&column->second.stream, file, &column->place, shared->window_bytes);
	create_children(column);
	return column;
}

/* ---- the stripe ---- */

void
orc_column_begin_stripe(OrcColumn *column)
{
	column->opened = false;
	column->row = 0;
	column->index_read = false;
	column->index = NULL;
	column->bloom_read = false;
	column->bloom = NULL;
	for (int i = 0; i < column->nchildren; i++)
	{
		if (column->children[i] != NULL)
			orc_column_begin_stripe(column->children[i]);
	}
}

void
orc_column_open_stream(OrcColumn *column, OrcStream *stream, OrcStreamKind kind)
{
	const OrcExtent *extent = &column->shared->stripe_columns[column->number].streams[kind];

	stream_open(stream, extent->offset, extent->length);
}

static void
check_encoding(const OrcColumn *column)
{
	uint32		encoding = column->shared->stripe_columns[column->number].encoding;
	bool		is_string;

	is_string = column->type->kind == ORC_STRING || column->type->kind == ORC_VARCHAR || column->type->kind == ORC_CHAR;
	if (encoding > ORC_DICTIONARY_V2)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("column \"%s\" of file \"%s\" has the unknown encoding %u",
						column->place.column, column->place.path, encoding)));
	if (!is_string && (encoding == ORC_DICTIONARY || encoding == ORC_DICTIONARY_V2))
		orc_column_damaged(column, "It has a dictionary, which its type cannot have.");
}

/* The streams at the begin of the stripe. */
static void
open_column(OrcColumn *column)
{
	check_encoding(column);
	column->opened = true;
	column->has_present = column->shared->stripe_columns[column->number].streams[ORC_STREAM_PRESENT].exists;
	if (column->has_present)
	{
		orc_column_open_stream(column, &column->present.bytes.stream, ORC_STREAM_PRESENT);
		bit_reader_reset(&column->present);
	}
	column->routine->open(column);
	for (int i = 0; i < column->nchildren; i++)
	{
		if (column->children[i] != NULL)
			open_column(column->children[i]);
	}
}

/* ---- the row index ---- */

static RowIndex *
read_row_index(OrcColumn *column, const OrcExtent *extent)
{
	const char *path = column->place.path;
	RowIndex   *index = palloc0(sizeof(RowIndex));
	uint32		ngroups = column->shared->ngroups;
	ProtoReader message;
	ProtoReader entry;

	index->positions = palloc0(ngroups * sizeof(BytesView));
	index->statistics = palloc0(ngroups * sizeof(BytesView));
	proto_init(&message, path,
			   stream_read_section(column->shared->file, &column->place, extent->offset, extent->length));
	while (proto_next(&message))
	{
		if (message.field != 1)
			continue;
		if (index->nentries == ngroups)
			return NULL;
		proto_message(&message, &entry);
		while (proto_next(&entry))
		{
			if (entry.field == 1)
				index->positions[index->nentries] = proto_bytes(&entry);
			else if (entry.field == 2)
				index->statistics[index->nentries] = proto_bytes(&entry);
		}
		index->nentries++;
	}
	return index->nentries == ngroups ? index : NULL;
}

const RowIndex *
orc_column_row_index(OrcColumn *column)
{
	const OrcExtent *extent = &column->shared->stripe_columns[column->number].streams[ORC_STREAM_ROW_INDEX];

	if (!column->index_read && extent->exists && column->shared->ngroups > 0)
	{
		MemoryContext old = MemoryContextSwitchTo(column->shared->stripe_context);

		column->index_read = true;
		column->index = read_row_index(column, extent);
		MemoryContextSwitchTo(old);
	}
	return column->index;
}

/* Can the whole tree go to a row group? */
static bool
has_positions(OrcColumn *column)
{
	if (orc_column_row_index(column) == NULL)
		return false;
	for (int i = 0; i < column->nchildren; i++)
	{
		if (column->children[i] != NULL && !has_positions(column->children[i]))
			return false;
	}
	return true;
}

static uint64
next_position(OrcStream *stream, ProtoReader *positions)
{
	uint64		position = 0;

	if (!proto_list_next(positions, &position))
		orc_damaged(stream->place->path, stream->place->column, "The row index has too few positions.");
	return position;
}

void
seek_stream(OrcStream *stream, ProtoReader *positions)
{
	uint64		position = next_position(stream, positions);
	uint64		within = stream->file->compressed ? next_position(stream, positions) : 0;

	stream_seek(stream, position, within);
}

void
seek_bytes(ByteReader *reader, ProtoReader *positions)
{
	uint64		consumed;

	seek_stream(&reader->stream, positions);
	byte_reader_reset(reader);
	consumed = next_position(&reader->stream, positions);
	byte_reader_skip(reader, Min(consumed, PG_INT32_MAX));
}

void
seek_bits(BitReader *reader, ProtoReader *positions)
{
	uint64		consumed;

	seek_bytes(&reader->bytes, positions);
	reader->bits_left = 0;
	consumed = next_position(&reader->bytes.stream, positions);
	bit_reader_skip(reader, Min(consumed, PG_INT32_MAX));
}

void
seek_integers(IntReader *reader, ProtoReader *positions)
{
	uint64		consumed;

	seek_stream(&reader->stream, positions);
	int_reader_reset(reader, reader->is_signed, reader->version2);
	consumed = next_position(&reader->stream, positions);
	int_reader_skip(reader, Min(consumed, PG_INT32_MAX));
}

static void
seek_group(OrcColumn *column, uint32 group)
{
	ProtoReader positions;

	proto_init(&positions, column->place.path, column->index->positions[group]);
	if (column->has_present)
		seek_bits(&column->present, &positions);
	column->routine->seek(column, &positions);
	for (int i = 0; i < column->nchildren; i++)
	{
		if (column->children[i] != NULL)
			seek_group(column->children[i], group);
	}
}

void
orc_column_seek(OrcColumn *column, int64 row)
{
	uint32		stride = column->shared->tail->row_index_stride;
	bool		jumps = column->shared->ngroups > 0 && row / stride > column->row / stride;

	if (row < column->row)
		elog(ERROR, "column \"%s\" cannot be read backwards", column->place.column);
	if (!column->opened)
		open_column(column);
	if (row == column->row)
		return;
	/* the very next row group begins soon anyhow, unless much of this one is left */
	if (jumps && row - column->row > stride / 4 && has_positions(column))
	{
		uint32		group = (uint32) (row / stride);

		seek_group(column, group);
		column->row = (int64) group * stride;
	}
	orc_column_skip(column, row - column->row);
	column->row = row;
}

double
orc_column_bytes(const OrcColumn *column)
{
	const BytesView *statistics = column->shared->tail->statistics;
	double		bytes = 0;

	if (statistics != NULL)
	{
		OrcVolume	volume = orc_statistics_volume(column->place.path, statistics[column->number]);

		bytes = (double) volume.values * physical_size(column->wanted->physical) + volume.bytes;
	}
	for (int i = 0; i < column->nchildren; i++)
	{
		if (column->children[i] != NULL)
			bytes += orc_column_bytes(column->children[i]);
	}
	return bytes;
}
