/*
 * damage.h
 *		Sound bytes damaged at random, and read: what must not happen then.
 *
 * A reading may end with an error or with values.  It must not crash, end with
 * an internal error, take longer than DAMAGE_SECONDS of processor time, have
 * more than DAMAGE_BYTES in memory contexts, or leave files open.
 *
 * UNIT_SEED=<n> gives other damages, UNIT_DAMAGES=<n> so many times as many.
 */
#ifndef STREAMHOUSE_DAMAGE_H
#define STREAMHOUSE_DAMAGE_H

#include "unit.h"

#define DAMAGE_SECONDS 5
#define DAMAGE_BYTES ((Size) 64 * 1024 * 1024)

/* Read, in a memory context of its own, bytes that lie in memory just as long as they are. */
typedef void (*DamageReader) (BytesView bytes, void *arg);

/* Damage bytes so many times, and read each; what names them where a reading fails. */
extern void damage_read(const char *what, BytesView sound, int times, DamageReader reader, void *arg);

/*
 * The same for a data file, which is read in ways that differ at random: rows
 * and columns selected, predicates, ranges of rows, with and without cache.
 * columns: what is wanted of it.  The sound file must be readable.
 */
extern void damage_data_file(const char *what, const char *format, BytesView sound, int ncolumns,
							 const DataField *columns, int64 nrows, int times);

/* Columns of names and types, in turn, NULL at the end; how many they are. */
extern int	damage_columns(const char *const *names_and_types, DataField *columns);

#endif							/* STREAMHOUSE_DAMAGE_H */
