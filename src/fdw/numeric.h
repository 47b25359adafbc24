/*
 * numeric.h
 *		The lake's decimals (scaled integers) and the server's numeric.
 *
 * Both ways without text: numeric's disk format is stable, and known here.
 */
#ifndef STREAMHOUSE_FDW_NUMERIC_H
#define STREAMHOUSE_FDW_NUMERIC_H

#include "postgres.h"

/* Room for the numeric of any decimal, and the distance between two in a buffer. */
#define DECIMAL_NUMERIC_SIZE 32

/* The same of one whose unscaled value has 64 bits. */
#define DECIMAL64_NUMERIC_SIZE 20

/* Write a numeric (a whole varlena) for unscaled / 10^scale at an aligned place. */
extern void decimal_to_numeric(int128 unscaled, int scale, char *out);
extern void decimal64_to_numeric(int64 unscaled, int scale, char *out);

typedef enum DecimalPlace
{
	DECIMAL_MINUS_INFINITY,
	DECIMAL_BELOW,				/* -10^38 or less once scaled */
	DECIMAL_FINITE,
	DECIMAL_ABOVE,				/* 10^38 or more once scaled */
	DECIMAL_PLUS_INFINITY,
	DECIMAL_NAN
} DecimalPlace;

/* A numeric times 10^scale. */
typedef struct DecimalValue
{
	DecimalPlace place;
	int128		floor;			/* largest integer not above it */
	int128		rounded;		/* nearest integer, halves away from zero */
	bool		exact;			/* it is an integer: floor and rounded are it */
} DecimalValue;

/* The numeric may have any header (detoast it, at most "packed"). */
extern DecimalValue decimal_from_numeric(const struct varlena *numeric, int scale);

#endif							/* STREAMHOUSE_FDW_NUMERIC_H */
