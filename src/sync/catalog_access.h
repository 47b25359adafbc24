/*
 * catalog_access.h
 *		SQL with the extension's rights.
 *
 * The catalog, and the mirrors of tables elsewhere, belong to the extension:
 * whoever may call the functions that lead there reads and writes them with
 * its rights, and with a safe search path.  An abort undoes all of this by itself.
 */
#ifndef STREAMHOUSE_SYNC_CATALOG_ACCESS_H
#define STREAMHOUSE_SYNC_CATALOG_ACCESS_H

#include "postgres.h"

/* What a session was before. */
typedef struct CatalogAccess
{
	Oid			user;
	int			security;
	int			guc_level;
} CatalogAccess;

/* Between them SPI is connected. */
extern void catalog_enter(CatalogAccess *access);
extern void catalog_leave(const CatalogAccess *access);

#endif							/* STREAMHOUSE_SYNC_CATALOG_ACCESS_H */
