/*
 * damage.c
 *		Damage at random, and the limits of reading what is damaged.
 */
#include "postgres.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "damage.h"
#include "utils/memutils.h"

#define MAX_INSERTED 8
#define LONGEST_RUN 32

/* ---- what is done to bytes ---- */

/* Lengths, counts and offsets as formats write them, that are too large, or negative */
static const struct
{
	int			length;
	const char *bytes;
}			attacks[] = {
	{5, "\xff\xff\xff\xff\x0f"}, {5, "\xff\xff\xff\xff\x07"}, {5, "\x80\x80\x80\x80\x10"}, {5, "\xfe\xff\xff\xff\x0f"},
	{10, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"}, {9, "\xff\xff\xff\xff\xff\xff\xff\xff\x7f"},
	{10, "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"}, {3, "\xff\xff\x7f"}, {2, "\xff\x7f"}, {4, "\x80\x80\x80\x40"},
	{4, "\xff\xff\xff\xff"}, {4, "\xff\xff\xff\x7f"}, {4, "\x7f\xff\xff\xff"}, {4, "\x00\x00\x00\x80"},
	{4, "\x80\x00\x00\x00"}, {4, "\x00\x00\x00\x40"}, {8, "\xff\xff\xff\xff\xff\xff\xff\x7f"},
	{8, "\x7f\xff\xff\xff\xff\xff\xff\xff"}, {8, "\x80\x00\x00\x00\x00\x00\x00\x00"}, {1, "\xff"}, {1, "\x00"}, {1, "\x7f"}, {1, "\x80"},
};

/* Footers, headers and dictionaries lie at the ends. */
static uint32
random_place(uint32 length)
{
	uint32		part = Min(length, 1 + length / 8);

	switch (unit_random_below(4))
	{
		case 0:
			return length - 1 - unit_random_below(part);
		case 1:
			return unit_random_below(part);
		default:
			return unit_random_below(length);
	}
}

static void
set_run(char *bytes, uint32 length)
{
	uint32		at = random_place(length);
	uint32		run = 1 + unit_random_below(LONGEST_RUN);
	uint32		from;

	run = Min(run, length - at);
	from = unit_random_below(length - run + 1);
	switch (unit_random_below(4))
	{
		case 0:
			memset(bytes + at, 0, run);
			break;
		case 1:
			memset(bytes + at, 0xff, run);
			break;
		case 2:
			memmove(bytes + at, bytes + from, run);
			break;
		default:
			for (uint32 i = 0; i < run; i++)
				bytes[at + i] = (char) unit_random();
	}
}

static void
attack(char *bytes, uint32 length)
{
	int			i = unit_random_below(lengthof(attacks));
	uint32		at = random_place(length);

	memcpy(bytes + at, attacks[i].bytes, Min(attacks[i].length, length - at));
}

/* Take bytes away, or put some in, so that all behind them moves. */
static uint32
shift(char *bytes, uint32 length)
{
	uint32		at = random_place(length);
	uint32		count = 1 + unit_random_below(MAX_INSERTED);

	if (unit_random_below(2))
	{
		memmove(bytes + at + count, bytes + at, length - at);
		return length + count;
	}
	count = Min(count, length - at);
	memmove(bytes + at, bytes + at + count, length - at - count);
	return length - count;
}

/* There is room for MAX_INSERTED bytes more; the new length. */
static uint32
damage(char *bytes, uint32 length)
{
	switch (unit_random_below(8))
	{
		case 0:
		case 1:
			for (int i = unit_random_below(3); i >= 0; i--)
				bytes[random_place(length)] ^= (char) (1 << unit_random_below(8));
			return length;
		case 2:
			for (int i = unit_random_below(3); i >= 0; i--)
				bytes[random_place(length)] = (char) unit_random();
			return length;
		case 3:
			set_run(bytes, length);
			return length;
		case 4:
			return unit_random_below(length);
		case 5:
			return shift(bytes, length);
		default:
			for (int i = unit_random_below(2); i >= 0; i--)
				attack(bytes, length);
			return length;
	}
}

/* ---- reading within limits ---- */

static const char *current_damage;

static void
out_of_time(int signal)
{
	static const char text[] = "not ok - a reading does not end: ";

	if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0 ||
		write(STDOUT_FILENO, current_damage, strlen(current_damage)) < 0)
		_exit(2);
	abort();
}

/* Of the process's time, since others may have the processor. */
static void
limit_time(int seconds)
{
	struct itimerval timer = {.it_value = {.tv_sec = seconds}};

	setitimer(ITIMER_PROF, &timer, NULL);
}

static void
read_within_limits(const char *what, BytesView bytes, DamageReader reader, void *arg)
{
	MemoryContext context = CurrentMemoryContext;

	limit_time(DAMAGE_SECONDS);
	shim_limit_memory(DAMAGE_BYTES);
	PG_TRY();
	{
		reader(bytes, arg);
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		CHECK_MESSAGE(error->sqlerrcode != ERRCODE_INTERNAL_ERROR, "%s: internal error: %s (%s:%d)", what,
					  error->message, error->filename, error->lineno);
	}
	PG_END_TRY();
	limit_time(0);
	shim_limit_memory(0);
	CHECK_MESSAGE(shim_refused_bytes() == 0, "%s: an allocation of %zu bytes was wanted", what, shim_refused_bytes());
}

static int
multiplied(int times)
{
	const char *factor = getenv("UNIT_DAMAGES");

	return factor != NULL ? times * atoi(factor) : times;
}

void
damage_read(const char *what, BytesView sound, int times, DamageReader reader, void *arg)
{
	MemoryContext old = CurrentMemoryContext;
	int			open_files = shim_open_files();

	signal(SIGPROF, out_of_time);
	for (int i = 0; i < multiplied(times); i++)
	{
		MemoryContext context = AllocSetContextCreate(old, "damage", ALLOCSET_DEFAULT_SIZES);
		char	   *bytes = palloc(sound.length + MAX_INSERTED);
		uint32		length = sound.length;
		char	   *exact;

		MemoryContextSwitchTo(context);
		current_damage = psprintf("damage %d of %s\n", i, what);
		memcpy(bytes, sound.data, sound.length);
		length = damage(bytes, length);
		/* of its own size, so that reading beyond the end shows */
		exact = memcpy(palloc(Max(length, 1)), bytes, length);
		pfree(bytes);
		read_within_limits(pnstrdup(current_damage, strlen(current_damage) - 1), (BytesView) {exact, length}, reader, arg);
		MemoryContextSwitchTo(old);
		MemoryContextDelete(context);
		if (!CHECK_INT(shim_open_files(), open_files))
			return;
	}
}
