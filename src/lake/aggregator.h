/*
 * aggregator.h
 *		Aggregate functions over the rows of a key.
 *
 * A function is one AggregateFunction and one line in the table in
 * aggregator.c.  It folds the values of a column, oldest first, into an
 * accumulator that begins as NULL.
 *
 * Source: format digest section 7.2.
 */
#ifndef STREAMHOUSE_AGGREGATOR_H
#define STREAMHOUSE_AGGREGATOR_H

#include "columnar/vector.h"
#include "lake/schema.h"

/* A function at work on a column */
typedef struct Aggregator
{
	const struct AggregateFunction *function;
	const TableSchema *schema;
	const DataField *field;
	const char *table_name;
	MemoryContext context;		/* of the values made */
	bool		ignore_retract;
	bool		distinct;		/* listagg, collect */
	BytesView	delimiter;		/* listagg */
	int			nnested_keys;	/* nested_update, nested_partial_update */
	int		   *nested_keys;	/* fields of the elements */
	int			count_limit;	/* nested_update */
	/* of the key at hand */
	bool		initialized;	/* the first value was taken */
	char	   *text;			/* the last text made, which may grow where it is */
	Size		text_room;
	struct NestedMaker *maker;	/* of lists and maps; NULL before the first one */
} Aggregator;

typedef void (*AggregateStep) (Aggregator *aggregator, Scalar *accumulator, const Scalar *input);

typedef struct AggregateFunction
{
	const char *name;
	bool		(*accepts) (const DataType *type);	/* NULL: any type */
	void		(*prepare) (Aggregator *aggregator);	/* read more options; may be NULL */
	AggregateStep aggregate;
	AggregateStep retract;		/* NULL: there is none */
	bool		unordered;		/* an older input is taken like a newer one */
} AggregateFunction;

/*
 * The aggregator of a field, with the options that the schema has for it, in
 * CurrentMemoryContext.  ERROR, naming it, when there is no such function, or
 * not for the field's type.  context is for values: it may be emptied between
 * keys.
 */
extern Aggregator *aggregator_create(const TableSchema *schema, int field, const char *function_name,
									 const char *table_name, MemoryContext context);

/* The value of "fields.<field>.<suffix>", or NULL. */
extern const char *aggregator_option(const Aggregator *aggregator, const char *suffix);

/* The function that the options name for a field, or for all, or NULL. */
extern const char *aggregate_function_name(const TableSchema *schema, int field);

/* Begin with the next key. */
extern void aggregator_reset(Aggregator *aggregator);

/* An input that is newer than what was accumulated, one that is older, one that is taken back. */
extern void aggregator_add(Aggregator *aggregator, Scalar *accumulator, const Scalar *input);
extern void aggregator_add_older(Aggregator *aggregator, Scalar *accumulator, const Scalar *input);
extern void aggregator_retract(Aggregator *aggregator, Scalar *accumulator, const Scalar *input);

/* the functions: aggregate_values.c */
extern const AggregateFunction aggregate_primary_key;
extern const AggregateFunction aggregate_last_value;
extern const AggregateFunction aggregate_last_non_null_value;
extern const AggregateFunction aggregate_first_value;
extern const AggregateFunction aggregate_first_non_null_value;
extern const AggregateFunction aggregate_first_not_null_value;	/* its older name */
extern const AggregateFunction aggregate_max;
extern const AggregateFunction aggregate_min;
extern const AggregateFunction aggregate_bool_and;
extern const AggregateFunction aggregate_bool_or;

/* aggregate_numbers.c */
extern const AggregateFunction aggregate_sum;
extern const AggregateFunction aggregate_product;

/* aggregate_text.c */
extern const AggregateFunction aggregate_listagg;

/* aggregate_bitmap.c */
extern const AggregateFunction aggregate_rbm32;
extern const AggregateFunction aggregate_rbm64;
extern const AggregateFunction aggregate_theta_sketch;
extern const AggregateFunction aggregate_hll_sketch;

/* aggregate_nested.c */
extern const AggregateFunction aggregate_collect;
extern const AggregateFunction aggregate_merge_map;
extern const AggregateFunction aggregate_nested_update;
extern const AggregateFunction aggregate_nested_partial_update;

#endif							/* STREAMHOUSE_AGGREGATOR_H */
