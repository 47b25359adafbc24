/*
 * clock.c
 *		Times as Paimon writes them.
 */
#include "postgres.h"

#include <time.h>

#include "lake/clock.h"

int64
clock_millis(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64
clock_local_millis(void)
{
	int64		now = clock_millis();
	time_t		seconds = (time_t) (now / 1000);
	struct tm	local;

	localtime_r(&seconds, &local);
	return now + (int64) local.tm_gmtoff * 1000;
}
