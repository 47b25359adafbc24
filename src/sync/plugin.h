/*
 * plugin.h
 *		The output plugin: decoded transactions go to the sync's stream.
 */
#ifndef STREAMHOUSE_SYNC_PLUGIN_H
#define STREAMHOUSE_SYNC_PLUGIN_H

#include "postgres.h"

#include "replication/output_plugin.h"

/* This process is a sync worker: what it decodes goes to the sync, not to a client. */
extern void plugin_serve_sync(void);

extern PGDLLEXPORT void _PG_output_plugin_init(OutputPluginCallbacks *callbacks);

#endif							/* STREAMHOUSE_SYNC_PLUGIN_H */
