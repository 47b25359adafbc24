/*
 * unit.h
 *		Unit tests: a program of test functions, checks, and their sums.
 *
 *		static void
 *		test_addition(void)
 *		{
 *			CHECK(1 + 1 == 2);
 *			CHECK_ERROR(ERRCODE_DATA_CORRUPTED, "bad magic", open_file(path));
 *		}
 *
 *		int
 *		main(void)
 *		{
 *			unit_begin();
 *			RUN(test_addition);
 *			return unit_end();
 *		}
 *
 * Every test runs in a memory context of its own; an error that it does not
 * expect fails it, a check that fails does not end it.  A file test_<x>.c is a
 * program by itself: the Makefile finds it.
 */
#ifndef STREAMHOUSE_UNIT_H
#define STREAMHOUSE_UNIT_H

#include "postgres.h"

#include "columnar/vector.h"
#include "shim/shim.h"

extern void unit_begin(void);
extern int	unit_end(void);		/* the exit status */
extern void unit_run(const char *name, void (*test) (void));

#define RUN(test) unit_run(#test, test)

extern bool unit_check(bool passed, const char *file, int line, const char *format,...) pg_attribute_printf(4, 5);
extern bool unit_check_int(int64 actual, int64 expected, const char *text, const char *file, int line);
extern bool unit_check_string(const char *actual, const char *expected, const char *text, const char *file, int line);
extern bool unit_check_bytes(BytesView actual, BytesView expected, const char *text, const char *file, int line);
extern void unit_check_error(int sqlstate, const char *part, const char *text, const char *file, int line);
extern void unit_no_error(const char *text, const char *file, int line);

/* Each is true if it passed, so that a loop over random cases can stop at the first that did not. */
#define CHECK(condition) \
	unit_check((condition), __FILE__, __LINE__, "%s", #condition)
#define CHECK_MESSAGE(condition, ...) \
	unit_check((condition), __FILE__, __LINE__, __VA_ARGS__)
#define CHECK_INT(actual, expected) \
	unit_check_int((actual), (expected), #actual, __FILE__, __LINE__)
#define CHECK_STRING(actual, expected) \
	unit_check_string((actual), (expected), #actual, __FILE__, __LINE__)
#define CHECK_BYTES(actual, expected) \
	unit_check_bytes((actual), (expected), #actual, __FILE__, __LINE__)

/* The statement must raise this SQLSTATE (0: any) with a message that has this part in it. */
#define CHECK_ERROR(sqlstate, part, statement) \
	do { \
		MemoryContext unit_context = CurrentMemoryContext; \
		bool		unit_raised = false; \
		PG_TRY(); \
		{ \
			statement; \
		} \
		PG_CATCH(); \
		{ \
			unit_raised = true; \
			MemoryContextSwitchTo(unit_context); \
			unit_check_error((sqlstate), (part), #statement, __FILE__, __LINE__); \
		} \
		PG_END_TRY(); \
		if (!unit_raised) \
			unit_no_error(#statement, __FILE__, __LINE__); \
	} while (0)

/* Bytes from hexadecimal digits; blanks between them are ignored. */
extern BytesView unit_hex(const char *digits);
extern BytesView unit_bytes(const char *text);

/*
 * A value of a type: numbers as they are written, dates, times and timestamps
 * as numbers in their own unit, binary strings as hexadecimal digits.  NULL
 * for null.
 */
extern Scalar unit_scalar(const DataType *type, const char *text);

/* A random value, now and then null; mostly of a small set, so that values meet. */
extern Scalar unit_random_scalar(const DataType *type);

/* A repeatable stream of random numbers; UNIT_SEED sets where it begins. */
extern uint64 unit_random(void);
extern int	unit_random_below(int bound);

/* A new empty folder, removed at the end. */
extern const char *unit_directory(void);

#endif							/* STREAMHOUSE_UNIT_H */
