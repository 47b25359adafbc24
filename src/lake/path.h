/*
 * path.h
 *		Where a table's metadata files lie, and the numbered ones listed.
 *
 * Source: format digest section 1.  Names that come from metadata are checked
 * not to lead out of their folder.
 */
#ifndef STREAMHOUSE_LAKE_PATH_H
#define STREAMHOUSE_LAKE_PATH_H

#include "postgres.h"

extern char *schema_path(const char *table_location, int64 id);
extern char *snapshot_path(const char *table_location, int64 id);
extern char *tag_path(const char *table_location, const char *tag);
/* The path of a file that metadata names, in a folder of the table. */
extern char *named_file_path(const char *table_location, const char *folder, const char *name);
extern char *manifest_path(const char *table_location, const char *name);	/* lists, too */
extern char *index_path(const char *table_location, const char *name);
extern char *statistics_path(const char *table_location, const char *name);

/*
 * May a name be used as one step of a path?  Not when it is empty, "." or
 * "..", or has a slash in it.
 */
extern bool path_step_is_safe(const char *name);

/*
 * The numbers n of the files <table>/<folder>/<prefix><n>, ascending.  As in
 * Java a name that begins with the prefix must go on with a number.
 */
extern int64 *list_numbered_files(const char *table_location, const char *folder, const char *prefix, int *count);

#endif							/* STREAMHOUSE_LAKE_PATH_H */
