/*
 * parquet.c
 *		The Parquet format as the rest of the program sees it.
 */
#include "postgres.h"

#include "format/parquet/parquet.h"

const FormatRoutine parquet_format = {
	.name = "parquet",
	.open = parquet_open,
	.next = parquet_next,
	.read_column = parquet_read_column,
	.close = parquet_close,
	.group_statistics = parquet_group_statistics,
	.takes_rows = true,
	.create = parquet_create,
	.write = parquet_write,
	.position = parquet_position,
	.finish = parquet_finish,
};
