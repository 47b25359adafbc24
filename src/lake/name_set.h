/*
 * name_set.h
 *		A set of names or paths.
 */
#ifndef STREAMHOUSE_NAME_SET_H
#define STREAMHOUSE_NAME_SET_H

#include "postgres.h"

typedef struct NameSet NameSet;

/* In CurrentMemoryContext, where names are copied to as well. */
extern NameSet *name_set_create(void);

/* True if the name was not there yet. */
extern bool name_set_add(NameSet *set, const char *name);
extern bool name_set_contains(NameSet *set, const char *name);

#endif							/* STREAMHOUSE_NAME_SET_H */
