/*
 * catalog_access.c
 *		SQL with the extension's rights.
 */
#include "postgres.h"

#include "catalog/pg_authid.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/guc.h"

#include "sync/catalog_access.h"

void
catalog_enter(CatalogAccess *access)
{
	GetUserIdAndSecContext(&access->user, &access->security);
	SetUserIdAndSecContext(BOOTSTRAP_SUPERUSERID, access->security | SECURITY_LOCAL_USERID_CHANGE);
	access->guc_level = NewGUCNestLevel();
	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	SPI_connect();
}

void
catalog_leave(const CatalogAccess *access)
{
	SPI_finish();
	AtEOXact_GUC(true, access->guc_level);
	SetUserIdAndSecContext(access->user, access->security);
}
