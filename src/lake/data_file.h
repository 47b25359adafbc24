/*
 * data_file.h
 *		One data file as columns of the table's present schema.
 *
 * The file may be of an older schema: columns are found by field id, those
 * that it lacks are null, and partition columns come from the manifest.
 */
#ifndef STREAMHOUSE_DATA_FILE_H
#define STREAMHOUSE_DATA_FILE_H

#include "format/format.h"
#include "lake/row_set.h"
#include "lake/table.h"

/* System columns of primary key files, asked for like fields */
#define FIELD_SEQUENCE_NUMBER (-1)
#define FIELD_VALUE_KIND (-2)

typedef struct DataFileReader DataFileReader;

/* The format that a data file's name tells, "" if none: its name. */
extern char *data_file_format_name(const char *file_name);

/* The same as a routine; ERROR if it cannot be read. */
extern const FormatRoutine *data_file_format(const LakeTable *table, const char *file_name);

/* The type of a field, system columns included. */
extern const DataType *data_file_field_type(const LakeTable *table, int field);

/*
 * Open in CurrentMemoryContext, which owns all of it.  fields: the table
 * fields and system columns that may be read.  predicate: over table fields,
 * only to skip rows that cannot match, may be NULL; partition must outlive the
 * reader.  rows: give only these of the file, NULL: all.
 */
extern DataFileReader *data_file_open(LakeTable *table, BytesView partition, int32 bucket,
									  const DataFileMeta *file, const int *fields, int nfields,
									  const Predicate *predicate, const RowRange *rows, FormatCounters *counters);

/* Move to the next batch: its number of rows, 0 at the end. */
extern int	data_file_next(DataFileReader *reader);

/* Position in the file of the batch's first row. */
extern int64 data_file_first_row(const DataFileReader *reader);

/* Let only these rows of the file count. */
extern void data_file_restrict(DataFileReader *reader, RowSet rows);

/* List the rows of the batch that count, as they are not deleted; their number, which may be 0. */
extern int	data_file_live_rows(const DataFileReader *reader, int32 *rows);

/* Are there rows after the current batch, as far as is known without looking? */
extern bool data_file_may_have_more(const DataFileReader *reader);

/*
 * Statistics of a field's values, group by group, where they come from the file
 * as they are and no row is deleted; else 0.  To be asked before data_file_next.
 */
extern int	data_file_group_statistics(DataFileReader *reader, int field, GroupStatistics **out);

/* As format_read_column, by table field. */
extern void data_file_read_field(DataFileReader *reader, int field, const int32 *selection, int nselected,
								 Vector *out);
extern void data_file_close(DataFileReader *reader);

#endif							/* STREAMHOUSE_DATA_FILE_H */
