/*
 * uuid.h
 *		Random names: files of the lake are named by UUIDs.
 */
#ifndef STREAMHOUSE_UUID_H
#define STREAMHOUSE_UUID_H

#define UUID_TEXT_LENGTH 36

/* A lower-case random UUID (version 4), with its terminating zero. */
extern void lake_uuid(char out[UUID_TEXT_LENGTH + 1]);

#endif							/* STREAMHOUSE_UUID_H */
