/*
 * orc.c
 *		The ORC format as the rest of the program sees it: for reading only.
 */
#include "postgres.h"

#include "format/orc/orc.h"

const FormatRoutine orc_format = {
	.name = "orc",
	.open = orc_open,
	.next = orc_next,
	.read_column = orc_read_column,
	.close = orc_close,
	.group_statistics = orc_group_statistics,
	.takes_rows = true,
};
