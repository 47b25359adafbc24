/*
 * server.c
 *		Small things of the server: random bytes, the clock, the encoding.
 */
#include "postgres.h"

#include <sys/random.h>
#include <sys/time.h>

#include "common/jsonapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "port.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

static uint32 wait_event;
uint32	   *my_wait_event_info = &wait_event;

int			MyProcPid = 0;
int			work_mem = 4096;
int			maintenance_work_mem = 65536;

void
pg_strong_random_init(void)
{
}

bool
pg_strong_random(void *buf, size_t len)
{
	return getrandom(buf, len, 0) == (ssize_t) len;
}

TimestampTz
GetCurrentTimestamp(void)
{
	struct timeval now;

	gettimeofday(&now, NULL);
	return ((TimestampTz) now.tv_sec -
			(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY) * USECS_PER_SEC + now.tv_usec;
}

int
GetDatabaseEncoding(void)
{
	return PG_UTF8;
}

#if PG_VERSION_NUM < 170000
char *
json_errdetail(JsonParseErrorType error, JsonLexContext *lex)
{
	/* at the end of the text there is no token */
	if (lex->token_start == NULL)
		return psprintf("JSON error %d at the end.", (int) error);
	return psprintf("JSON error %d near \"%s\".", (int) error,
					pnstrdup(lex->token_start, lex->token_terminator - lex->token_start));
}
#endif
