// SPDX-License-Identifier: GPL-2.0-only
/* Waits in a loop until a time, told in the way that is the argument, has moved; and
 * looks at the same only now and then.
 */

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <time.h>

static long long at(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static long long told(const char *way)
{
	struct rusage used;
	struct tms tms;

	if (!strcmp(way, "times"))
		return times(&tms);
	if (!strcmp(way, "coarse"))
		return at(CLOCK_MONOTONIC_COARSE);
	if (!strcmp(way, "clock"))
		return clock();
	getrusage(RUSAGE_SELF, &used);
	return used.ru_utime.tv_usec + used.ru_stime.tv_usec;
}

int main(int count, char **arguments)
{
	long long begin, first;
	int i;

	if (count != 2)
		return 2;
	begin = at(CLOCK_MONOTONIC);
	for (i = 0; i < 10; i++)
		told(arguments[1]);
	printf("%lld ns\n", at(CLOCK_MONOTONIC) - begin);
	first = told(arguments[1]);
	while (told(arguments[1]) == first)
		;
	puts("moved");
	return 0;
}
