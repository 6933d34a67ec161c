/* SPDX-License-Identifier: GPL-2.0-only */
/* What several programs of the tests do. */

#ifndef TESTS_PROGRAMS_H
#define TESTS_PROGRAMS_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS	1000000000LL

/* Ends the program with the latest error, unless all is good. */
static inline void check(bool good, const char *what)
{
	if (!good) {
		perror(what);
		exit(1);
	}
}

static inline void put(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY);

	check(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), file);
	close(fd);
}

static inline void sleep_until(long long ns)
{
	struct timespec when = { .tv_sec = ns / SECOND_NS, .tv_nsec = ns % SECOND_NS };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL);
}

#endif
