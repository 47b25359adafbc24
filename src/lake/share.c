/*
 * share.c
 *		A scan's splits cut and packed into units, for several readers to share.
 *
 * Readers that take units one after the other are done at about the same time
 * if the last units are small; each unit costs something to open, though.  So
 * units begin large, and shrink with what is left.  Files that need no merge are cut
 * by rows: a reader goes straight to the row group, and with a page index to
 * the page, where its part begins; a format may move that place a little
 * (rows_may_move).  What has to be merged stays together.
 */
#include "postgres.h"

#include "lake/data_file.h"
#include "lake/share.h"

/* Less is not worth to be opened for itself; nor is less than this part of what each reader has to read. */
#define MIN_UNIT_BYTES (1024 * 1024)
#define SMALLEST_PART 16
#define MIN_PART_ROWS (40 * BATCH_ROWS)

typedef struct Sharing
{
	LakeTable  *table;
	int			readers;
	int64		least;			/* bytes of a unit */
	int64		bytes;			/* not yet in units */
	List	   *units;			/* Split * */
} Sharing;

/* What the next unit should have: half of what is left is given out in equal shares. */
static int64
unit_target(const Sharing *sharing)
{
	return Max(sharing->bytes / (2 * sharing->readers), sharing->least);
}

static Split *
add_unit(Sharing *sharing, const Split *split, List *files, int64 row_count, int64 bytes)
{
	Split	   *unit = palloc(sizeof(Split));

	*unit = *split;
	unit->files = files;
	unit->row_count = row_count;
	unit->bytes = bytes;
	sharing->units = lappend(sharing->units, unit);
	sharing->bytes -= bytes;
	return unit;
}

/* The rows of a file for a unit; all that are left, if hardly more than these are. */
static int64
part_rows(const Sharing *sharing, const DataFileMeta *file, int64 left)
{
	double		rows = (double) unit_target(sharing) * file->row_count / Max(file->file_size, 1);
	int64		whole_batches = (int64) Min(rows, left) / BATCH_ROWS * BATCH_ROWS;
	int64		part = Max(whole_batches, MIN_PART_ROWS);

	return left - part < MIN_PART_ROWS ? left : part;
}

static void
cut_file(Sharing *sharing, const Split *split, DataFileMeta *file)
{
	int64		start = 0;

	while (start < file->row_count)
	{
		int64		rows = part_rows(sharing, file, file->row_count - start);
		Split	   *unit = add_unit(sharing, split, list_make1(file), rows,
									(int64) ((double) file->file_size * rows / file->row_count));

		unit->is_part = rows < file->row_count;
		unit->rows.start = start;
		unit->rows.end = start + rows;
		start += rows;
	}
}

static bool
is_worth_cutting(const Sharing *sharing, const DataFileMeta *file)
{
	return file->file_size > unit_target(sharing) && file->row_count >= 2 * MIN_PART_ROWS &&
		data_file_format(sharing->table, file->file_name)->takes_rows;
}

/* Large files are cut, small ones stay together. */
static void
share_files(Sharing *sharing, const Split *split)
{
	List	   *pack = NIL;
	int64		row_count = 0;
	int64		bytes = 0;
	ListCell   *cell;

	foreach(cell, split->files)
	{
		DataFileMeta *file = lfirst(cell);

		if (is_worth_cutting(sharing, file))
		{
			cut_file(sharing, split, file);
			continue;
		}
		pack = lappend(pack, file);
		row_count += file->row_count;
		bytes += file->file_size;
		if (bytes >= unit_target(sharing))
		{
			add_unit(sharing, split, pack, row_count, bytes);
			pack = NIL;
			row_count = bytes = 0;
		}
	}
	if (pack != NIL)
		add_unit(sharing, split, pack, row_count, bytes);
}

/* From large to small. */
static int
compare_splits(const ListCell *a, const ListCell *b)
{
	const Split *first = lfirst(a);
	const Split *second = lfirst(b);

	return (first->bytes < second->bytes) - (first->bytes > second->bytes);
}

List *
share_splits(LakeTable *table, const List *splits, int readers)
{
	Sharing		sharing = {.table = table, .readers = readers};
	List	   *ordered = list_copy(splits);
	ListCell   *cell;

	/* rows of other tables are not those of files */
	if (table->view == VIEW_SYSTEM || table->view == VIEW_BINLOG)
		return ordered;
	foreach(cell, ordered)
		sharing.bytes += ((const Split *) lfirst(cell))->bytes;
	sharing.least = Max(sharing.bytes / (SMALLEST_PART * readers), MIN_UNIT_BYTES);
	list_sort(ordered, compare_splits);
	foreach(cell, ordered)
	{
		const Split *split = lfirst(cell);

		if (split->raw)
			share_files(&sharing, split);
		else
			add_unit(&sharing, split, split->files, split->row_count, split->bytes);
	}
	list_sort(sharing.units, compare_splits);
	list_free(ordered);
	return sharing.units;
}
