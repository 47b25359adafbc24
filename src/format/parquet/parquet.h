/*
 * parquet.h
 *		The Parquet format's routine, and the functions it is made of.
 *
 * See FormatRoutine in format.h for what each has to do.
 */
#ifndef STREAMHOUSE_PARQUET_H
#define STREAMHOUSE_PARQUET_H

#include "format/format.h"

extern const FormatRoutine parquet_format;

/* reader.c */
extern FormatReader *parquet_open(StorageFile *file, const FormatReadOptions *options);
extern bool parquet_next(FormatReader *reader);
extern void parquet_read_column(FormatReader *reader, int column, const int32 *selection, int nselected, Vector *out);
extern int	parquet_group_statistics(FormatReader *reader, int column, GroupStatistics **out);
extern void parquet_close(FormatReader *reader);

/* the writer */
extern FormatWriter *parquet_create(StorageWriter *file, const FormatWriteOptions *options);
extern void parquet_write(FormatWriter *writer, Vector *const *columns, const int32 *rows, int nrows);
extern uint64 parquet_position(FormatWriter *writer);
extern void parquet_finish(FormatWriter *writer, ColumnStatistics *statistics);

#endif							/* STREAMHOUSE_PARQUET_H */
