/*
 * compat.h
 *		The differences between the supported servers, PostgreSQL 15 to 18.
 *
 * Call sites are written for the newest server; what an older one lacks is
 * made up for here.  No other file tests PG_VERSION_NUM.
 */
#ifndef STREAMHOUSE_COMPAT_H
#define STREAMHOUSE_COMPAT_H

#include "postgres.h"

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 190000
#error "streamhouse supports PostgreSQL 15 to 18"
#endif

#endif							/* STREAMHOUSE_COMPAT_H */
