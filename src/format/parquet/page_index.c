/*
 * page_index.c
 *		Reading page indexes, and choosing rows by them.
 *
 * Columns have their pages at different rows.  So a row group is cut wherever
 * a page of one of the predicate's columns begins: within such a piece each
 * column has one page, whose statistics hold for the piece.
 */
#include "postgres.h"

#include "format/parquet/page_index.h"
#include "storage/cache.h"
#include "utils/memutils.h"

/* Pages with less than this between them are read together. */
#define READ_GAP_BYTES (32 * 1024)

/* The column index of a chunk; bytes point into the file's encoded form. */
typedef struct PageBounds
{
	bool		is_null;		/* all of its rows */
	BytesView	min;
	BytesView	max;
	int64		null_count;		/* -1: unknown */
} PageBounds;

/* Where the cutting stands in one column. */
typedef struct PageCursor
{
	IndexedColumn *column;
	PageBounds *bounds;			/* by page; NULL: no index, the chunk's statistics are used */
	int			page;
	ColumnStatistics statistics;	/* of the current page, its null count aside */
	int64		null_count;		/* of the current page; -1: unknown */
	ColumnStatistics piece;		/* of the current piece */
} PageCursor;

typedef struct IndexScan
{
	PageCursor *cursors;		/* by column */
	int64		piece_rows;
} IndexScan;

static void
index_damaged(const ParquetPlace *place)
{
	parquet_damaged(place->path, place->column, "Its page index is damaged.");
}

/* ---- offset index ---- */

static void
read_page_location(ThriftReader *reader, PageLocation *location, int64 *size)
{
	int16		saved = thrift_struct_begin(reader);
	int16		id;
	ThriftType	type;

	while (thrift_field(reader, &id, &type))
	{
		switch (id)
		{
			case 1:
				thrift_expect(reader, type, THRIFT_I64);
				location->offset = (uint64) thrift_read_int(reader);
				break;
			case 2:
				thrift_expect(reader, type, THRIFT_I32);
				*size = thrift_read_i32(reader);
				break;
			case 3:
				thrift_expect(reader, type, THRIFT_I64);
				location->first_row = thrift_read_int(reader);
				break;
			default:
				thrift_skip(reader, type);
				break;
		}
	}
	thrift_struct_end(reader, saved);
}

/* Pages in order, within the file, and without a gap in the rows. */
static void
check_locations(const ParquetPlace *place, const OffsetIndex *index, uint64 data_end, int64 num_rows)
{
	if (index->npages == 0 ? num_rows > 0 : index->pages[0].first_row != 0)
		index_damaged(place);
	for (int i = 0; i < index->npages; i++)
	{
		const PageLocation *page = &index->pages[i];

		if (page->first_row > page[1].first_row || page->end > data_end ||
			(i + 1 < index->npages && page->end > page[1].offset))
			index_damaged(place);
	}
}

static OffsetIndex *
parse_offset_index(ThriftReader *reader, const ParquetPlace *place, uint64 data_end, int64 num_rows)
{
	OffsetIndex *index = palloc0(sizeof(OffsetIndex));
	int16		id;
	ThriftType	type;

	(void) thrift_struct_begin(reader);
	while (thrift_field(reader, &id, &type))
	{
		ThriftType	element;

		if (id != 1 || index->pages != NULL)
		{
			thrift_skip(reader, type);
			continue;
		}
		thrift_expect(reader, type, THRIFT_LIST);
		index->npages = (int) thrift_read_list(reader, &element);
		index->pages = palloc0(((size_t) index->npages + 1) * sizeof(PageLocation));
		for (int i = 0; i < index->npages; i++)
		{
			int64		size = -1;

			thrift_expect(reader, element, THRIFT_STRUCT);
			read_page_location(reader, &index->pages[i], &size);
			if (size < 0 || index->pages[i].offset > data_end)
				index_damaged(place);
			index->pages[i].end = index->pages[i].read_end = index->pages[i].offset + (uint64) size;
		}
	}
	if (index->pages == NULL)
		index_damaged(place);
	index->pages[index->npages].first_row = num_rows;
	check_locations(place, index, data_end, num_rows);
	return index;
}

/* Memory for a range of an index; false when the chunk has none there. */
static bool
prepare_range(const ParquetFile *file, const ParquetPlace *place, int64 offset, int32 length, FileRange *range)
{
	if (offset <= 0 || length <= 0)
		return false;
	if ((uint64) offset > file->data_end || (uint64) length > file->data_end - (uint64) offset)
		index_damaged(place);
	range->offset = (uint64) offset;
	range->length = (size_t) length;
	range->buffer = palloc_extended(range->length + READ_PADDING, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	return true;
}

/* Read ranges, those in memory already without asking the storage. */
static void
read_index_ranges(ParquetFile *file, FileRange *ranges, int nranges)
{
	int			left = 0;

	for (int i = 0; i < nranges; i++)
	{
		const char *bytes = parquet_file_peek(file, ranges[i].offset, ranges[i].length);

		if (bytes != NULL)
			memcpy(ranges[i].buffer, bytes, ranges[i].length);
		else
			ranges[left++] = ranges[i];
	}
	if (left > 0)
		parquet_file_read_ranges(file, ranges, left);
}

/* Read and parse the index into the cache. */
static const OffsetIndex *
load_offset_index(ParquetFile *file, const ParquetPlace *place, const ParquetChunk *chunk, int64 num_rows)
{
	MemoryContext context = cache_context_create();
	MemoryContext old;
	FileRange	range;
	ThriftReader reader;
	const OffsetIndex *index;

	if (!prepare_range(file, place, chunk->offset_index_offset, chunk->offset_index_length, &range))
		return NULL;
	thrift_read_init(&reader, range.buffer, range.length, file->path);
	read_index_ranges(file, &range, 1);
	old = MemoryContextSwitchTo(context);
	index = parse_offset_index(&reader, place, file->data_end, num_rows);
	MemoryContextSwitchTo(old);
	pfree(range.buffer);
	if (cache_has_room(MemoryContextMemAllocated(context, true)))
		cache_put(CACHE_PARQUET_INDEX, file->path, chunk->offset_index_offset, context, index);
	return index;
}

OffsetIndex *
offset_index_read(ParquetFile *file, const ParquetPlace *place, const ParquetChunk *chunk, int64 num_rows)
{
	const OffsetIndex *kept = cache_get(CACHE_PARQUET_INDEX, file->path, chunk->offset_index_offset);
	OffsetIndex *index;
	Size		bytes;

	if (kept == NULL)
		kept = load_offset_index(file, place, chunk, num_rows);
	if (kept == NULL)
		return NULL;
	/* another row group may point to the same index by mistake */
	if (kept->pages[kept->npages].first_row != num_rows)
		index_damaged(place);
	/* the caller's own, to be marked */
	bytes = ((Size) kept->npages + 1) * sizeof(PageLocation);
	index = palloc(sizeof(OffsetIndex));
	index->npages = kept->npages;
	index->pages = palloc_extended(bytes, MCXT_ALLOC_HUGE);
	memcpy(index->pages, kept->pages, bytes);
	return index;
}

/* From the last page to the first: how far to read from each on. */
void
offset_index_mark(OffsetIndex *index, const RowRange *ranges, int nranges)
{
	int			range = nranges - 1;
	const PageLocation *next = NULL;	/* the wanted page behind */

	for (int i = index->npages - 1; i >= 0; i--)
	{
		PageLocation *page = &index->pages[i];

		while (range >= 0 && ranges[range].start >= page[1].first_row)
			range--;
		if (range < 0 || ranges[range].end <= page->first_row)
			continue;
		page->read_end = page->end;
		if (next != NULL && next->offset - page->end <= READ_GAP_BYTES)
			page->read_end = next->read_end;
		next = page;
	}
}

int
offset_index_find(const OffsetIndex *index, int64 row)
{
	int			low = 0;
	int			high = index->npages - 1;

	/* the last page that begins at or before the row: the others there are empty */
	while (low < high)
	{
		int			middle = low + (high - low + 1) / 2;

		if (index->pages[middle].first_row <= row)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* ---- column index ---- */

static void
read_bytes_list(ThriftReader *reader, ThriftType type, PageBounds *bounds, int npages, bool is_max)
{
	ThriftType	element;
	int			count;

	thrift_expect(reader, type, THRIFT_LIST);
	count = (int) thrift_read_list(reader, &element);
	for (int i = 0; i < count; i++)
	{
		BytesView	bytes;

		thrift_expect(reader, element, THRIFT_BINARY);
		bytes.data = thrift_read_binary(reader, &bytes.length);
		if (i < npages)
			*(is_max ? &bounds[i].max : &bounds[i].min) = bytes;
	}
}

static void
read_null_pages(ThriftReader *reader, ThriftType type, PageBounds *bounds, int npages)
{
	ThriftType	element;
	int			count;

	thrift_expect(reader, type, THRIFT_LIST);
	count = (int) thrift_read_list(reader, &element);
	for (int i = 0; i < count; i++)
	{
		bool		is_null = thrift_read_byte(reader) == THRIFT_TRUE;

		if (i < npages)
			bounds[i].is_null = is_null;
	}
}

static void
read_null_counts(ThriftReader *reader, ThriftType type, PageBounds *bounds, int npages)
{
	ThriftType	element;
	int			count;

	thrift_expect(reader, type, THRIFT_LIST);
	count = (int) thrift_read_list(reader, &element);
	for (int i = 0; i < count; i++)
	{
		int64		null_count;

		thrift_expect(reader, element, THRIFT_I64);
		null_count = thrift_read_int(reader);
		if (i < npages)
			bounds[i].null_count = null_count;
	}
}

/* A list that is too short leaves its pages without bounds. */
static PageBounds *
parse_column_index(ThriftReader *reader, int npages)
{
	PageBounds *bounds = palloc0(Max(npages, 1) * sizeof(PageBounds));
	int16		id;
	ThriftType	type;

	for (int i = 0; i < npages; i++)
		bounds[i].null_count = -1;
	(void) thrift_struct_begin(reader);
	while (thrift_field(reader, &id, &type))
	{
		switch (id)
		{
			case 1:
				read_null_pages(reader, type, bounds, npages);
				break;
			case 2:
			case 3:
				read_bytes_list(reader, type, bounds, npages, id == 3);
				break;
			case 5:
				read_null_counts(reader, type, bounds, npages);
				break;
			default:
				thrift_skip(reader, type);
				break;
		}
	}
	return bounds;
}

/* ---- choosing rows ---- */

/* Begin a page: its statistics in our types. */
static void
cursor_set_page(PageCursor *cursor, int page)
{
	IndexedColumn *column = cursor->column;
	const PageBounds *bounds = &cursor->bounds[page];
	const PageLocation *location = &column->offsets->pages[page];
	int64		rows = location[1].first_row - location->first_row;

	cursor->page = page;
	memset(&cursor->statistics, 0, sizeof(cursor->statistics));
	cursor->null_count = bounds->null_count;
	if (bounds->is_null)
		cursor->null_count = rows;
	else
		statistics_bounds(column->field, column->conversion, column->wanted,
						  bounds->min, bounds->max, false, &cursor->statistics);
	if (column->field->repetition == PARQUET_REQUIRED)
		cursor->null_count = 0;
	else if (cursor->null_count > rows)
		cursor->null_count = -1;
}

/* The statistics of a piece: of its page, but nulls only when there are none or only nulls. */
static void
cursor_set_piece(PageCursor *cursor, int64 piece_rows)
{
	IndexedColumn *column = cursor->column;
	int64		rows;

	if (cursor->bounds == NULL)
	{
		cursor->piece.has_null_count = cursor->null_count == 0;
		if (column->field == NULL)
		{
			cursor->piece.has_null_count = true;
			cursor->piece.null_count = piece_rows;
		}
		return;
	}
	rows = column->offsets->pages[cursor->page + 1].first_row - column->offsets->pages[cursor->page].first_row;
	cursor->piece = cursor->statistics;
	cursor->piece.has_null_count = cursor->null_count == 0 || cursor->null_count == rows;
	cursor->piece.null_count = cursor->null_count == 0 ? 0 : piece_rows;
}

static const ColumnStatistics *
piece_statistics(void *arg, int column)
{
	IndexScan  *scan = arg;
	PageCursor *cursor = &scan->cursors[column];

	cursor_set_piece(cursor, scan->piece_rows);
	return &cursor->piece;
}

/* Where the page of a cursor ends, after moving it to the page with the row. */
static int64
cursor_advance(PageCursor *cursor, int64 row)
{
	const PageLocation *pages = cursor->column->offsets->pages;
	int			page = cursor->page;

	while (pages[page + 1].first_row <= row)
		page++;
	if (page != cursor->page)
		cursor_set_page(cursor, page);
	return pages[page + 1].first_row;
}

/* Read the indexes of the predicate's columns; false when there are none. */
static bool
read_indexes(ParquetFile *file, IndexedColumn *columns, int ncolumns, PageCursor *cursors, int64 num_rows)
{
	FileRange  *ranges = palloc(2 * Max(ncolumns, 1) * sizeof(FileRange));
	ThriftReader *readers = palloc(2 * Max(ncolumns, 1) * sizeof(ThriftReader));
	int			nranges = 0;
	int			nreaders = 0;

	for (int i = 0; i < ncolumns; i++)
	{
		IndexedColumn *column = &columns[i];
		FileRange  *range = &ranges[nranges];

		cursors[i].column = column;
		cursors[i].piece = column->statistics;
		cursors[i].null_count = column->statistics.has_null_count ? column->statistics.null_count : -1;
		if (!column->used || column->field == NULL)
			continue;
		if (!prepare_range(file, column->place, column->chunk->offset_index_offset,
						   column->chunk->offset_index_length, &range[0]) ||
			!prepare_range(file, column->place, column->chunk->column_index_offset,
						   column->chunk->column_index_length, &range[1]))
			continue;
		nranges += 2;
		thrift_read_init(&readers[2 * i], range[0].buffer, range[0].length, file->path);
		thrift_read_init(&readers[2 * i + 1], range[1].buffer, range[1].length, file->path);
		cursors[i].page = -1;	/* has indexes, see below */
		nreaders++;
	}
	if (nreaders == 0)
		return false;
	read_index_ranges(file, ranges, nranges);
	for (int i = 0; i < ncolumns; i++)
	{
		if (cursors[i].page != -1)
			continue;
		columns[i].offsets = parse_offset_index(&readers[2 * i], columns[i].place, file->data_end, num_rows);
		cursors[i].bounds = parse_column_index(&readers[2 * i + 1], columns[i].offsets->npages);
		cursor_set_page(&cursors[i], 0);
	}
	return true;
}

/* Append a range, or extend the last. */
static void
add_range(RowRange **ranges, int *nranges, int *capacity, int64 start, int64 end)
{
	if (*nranges > 0 && (*ranges)[*nranges - 1].end == start)
	{
		(*ranges)[*nranges - 1].end = end;
		return;
	}
	if (*nranges == *capacity)
	{
		*capacity *= 2;
		*ranges = repalloc_huge(*ranges, *capacity * sizeof(RowRange));
	}
	(*ranges)[*nranges].start = start;
	(*ranges)[*nranges].end = end;
	(*nranges)++;
}

RowRange *
page_index_ranges(ParquetFile *file, IndexedColumn *columns, int ncolumns,
				  const Predicate *predicate, int64 num_rows, int *nranges)
{
	int			capacity = 16;
	RowRange   *ranges = palloc(capacity * sizeof(RowRange));
	IndexScan	scan;
	int64		row = 0;

	*nranges = 0;
	scan.cursors = palloc0(Max(ncolumns, 1) * sizeof(PageCursor));
	if (!read_indexes(file, columns, ncolumns, scan.cursors, num_rows))
	{
		add_range(&ranges, nranges, &capacity, 0, num_rows);
		return ranges;
	}
	while (row < num_rows)
	{
		int64		end = num_rows;

		for (int i = 0; i < ncolumns; i++)
		{
			if (scan.cursors[i].bounds != NULL)
			{
				int64		page_end = cursor_advance(&scan.cursors[i], row);

				end = Min(end, page_end);
			}
		}
		scan.piece_rows = end - row;
		if (predicate_may_match(predicate, scan.piece_rows, piece_statistics, &scan))
			add_range(&ranges, nranges, &capacity, row, end);
		row = end;
	}
	return ranges;
}
