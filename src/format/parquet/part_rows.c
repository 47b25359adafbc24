/*
 * part_rows.c
 *		Where a part of a file that is read for itself really begins and ends.
 *
 * A page with rows of two parts is read and decompressed for both.  Where
 * pages are large, a bound in the midst of a row group can cost more than it
 * shares out.
 */
#include "postgres.h"

#include "format/parquet/part_rows.h"

/* What writers aim at, for chunks that do not say where their pages are. */
#define USUAL_PAGE_BYTES (1024 * 1024)

/* Bytes of the chunk's page that has the row. */
static int64
page_bytes(const ParquetColumn *leaf, const ParquetChunk *chunk, int64 num_rows, int64 row)
{
	OffsetIndex *offsets = offset_index_read(leaf->file, &leaf->place, chunk, num_rows);
	const PageLocation *page;

	if (offsets == NULL || offsets->npages == 0)
		return Min(chunk->compressed_size, USUAL_PAGE_BYTES);
	page = &offsets->pages[offset_index_find(offsets, row)];
	return (int64) (page->end - page->offset);
}

/*
 * Where a bound at this row of a row group goes: to the nearer edge, if fewer
 * bytes change sides by this than would be read twice without.
 */
static int64
align_in_group(const ParquetRowGroup *group, ParquetColumn *const *leaves, int nleaves, int64 row)
{
	bool		begins = row < group->num_rows - row;	/* nearer to the first row */
	int64		distance = begins ? row : group->num_rows - row;
	double		moved = 0;
	double		twice = 0;

	for (int i = 0; i < nleaves; i++)
	{
		const ParquetChunk *chunk = &group->chunks[leaves[i]->field->leaf];

		moved += (double) chunk->compressed_size * distance / group->num_rows;
		twice += page_bytes(leaves[i], chunk, group->num_rows, row);
	}
	if (moved >= twice)
		return row;
	return begins ? 0 : group->num_rows;
}

RowRange
part_rows_align(ParquetMetadata metadata, const bool *wanted_leaves, ParquetColumn *const *leaves, int nleaves,
				RowRange rows)
{
	ParquetRowGroup group = {.chunks = palloc0(Max(metadata.nleaves, 1) * sizeof(ParquetChunk))};
	RowRange	aligned = rows;
	int64		start = 0;

	while (start <= rows.end && metadata_next_row_group(&metadata, wanted_leaves, &group))
	{
		int64		end = start + Min(group.num_rows, metadata.num_rows - start);

		if (rows.start > start && rows.start < end)
			aligned.start = start + align_in_group(&group, leaves, nleaves, rows.start - start);
		if (rows.end > start && rows.end < end)
			aligned.end = start + align_in_group(&group, leaves, nleaves, rows.end - start);
		start = end;
	}
	return aligned;
}
