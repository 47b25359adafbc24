/*
 * orc.h
 *		The ORC format's routine, and the functions it is made of.
 *
 * See FormatRoutine in format.h for what each has to do.
 */
#ifndef STREAMHOUSE_ORC_H
#define STREAMHOUSE_ORC_H

#include "format/format.h"

extern const FormatRoutine orc_format;

/* reader.c */
extern FormatReader *orc_open(StorageFile *file, const FormatReadOptions *options);
extern bool orc_next(FormatReader *reader);
extern void orc_read_column(FormatReader *reader, int column, const int32 *selection, int nselected, Vector *out);
extern void orc_close(FormatReader *reader);
extern int	orc_group_statistics(FormatReader *reader, int column, GroupStatistics **out);

#endif							/* STREAMHOUSE_ORC_H */
