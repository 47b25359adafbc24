/*
 * java_map.h
 *		Sets and maps of values, with the order that Java's hash maps have.
 *
 * Where the reference implementation lets rows or elements pass through a hash
 * map, the order in which they come out is part of what readers see.
 */
#ifndef STREAMHOUSE_JAVA_MAP_H
#define STREAMHOUSE_JAVA_MAP_H

#include "columnar/vector.h"

typedef struct JavaMapEntry
{
	Scalar		key;
	Scalar		value;
	int32		hash;
	int			next;			/* in its chain, -1: the last */
	bool		removed;
} JavaMapEntry;

/* Keys of one type; bytes and nested values are not copied. */
typedef struct JavaMap
{
	const DataType *key_type;
	int			nentries;		/* in the order of insertion, removed ones included */
	int			max_entries;
	JavaMapEntry *entries;
	int			nchains;		/* a power of two */
	int		   *chains;			/* first entry, -1: none */
	bool		newest_first;	/* where hashes collide, as computeIfAbsent does it; put does not */
} JavaMap;

/* In CurrentMemoryContext, with room for so many entries. */
extern JavaMap *java_map_create(const DataType *key_type, int max_entries);

/* The entry of a key, NULL if there is none. */
extern JavaMapEntry *java_map_find(const JavaMap *map, const Scalar *key);

/* The entry of a key, made with a NULL value if there is none. */
extern JavaMapEntry *java_map_enter(JavaMap *map, const Scalar *key, bool *found);
extern void java_map_remove(JavaMap *map, const Scalar *key);

/* The entries in the order in which Java's map would give them; how many. */
extern int	java_map_order(const JavaMap *map, JavaMapEntry **out);

/* Are two values, of which none is NULL or both may be, equal to Java? */
extern bool java_values_equal(const DataType *type, const Scalar *a, const Scalar *b);

#endif							/* STREAMHOUSE_JAVA_MAP_H */
