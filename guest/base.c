// SPDX-License-Identifier: GPL-2.0-only
/* What all other files of the guest program build on: giving up, child processes,
 * namespaces, random numbers and the time.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base.h"
#include "outcome.h"

/* of the message of a child that gives up */
#define COMPLAINT_BYTES	232

/* The pipe in which children, but for the traffic's, say why they give up. */
static int complaints[2];

/* false in its children; to compare getpid() with 1 is not enough, as the programs' first
 * process is number 1 of a PID namespace of its own
 */
static bool is_init = true;

void give_up(const char *format, ...)
{
	char reason[512], complaint[COMPLAINT_BYTES] = "";
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	dprintf(2, "mptcplab: %s\n", reason);
	if (is_init)
		finish_failed(reason);
	snprintf(complaint, sizeof(complaint), "%.*s", (int)sizeof(complaint) - 1, reason);
	if (write(complaints[1], complaint, sizeof(complaint)) != sizeof(complaint))
		dprintf(2, "mptcplab: init cannot be told\n");
	_exit(1);
}

void children_prepare(void)
{
	if (pipe2(complaints, O_CLOEXEC))
		give_up("pipe: %s", strerror(errno));
}

int children_fd(void)
{
	return complaints[0];
}

void children_failed(void)
{
	char complaint[COMPLAINT_BYTES];

	if (read(complaints[0], complaint, sizeof(complaint)) != sizeof(complaint))
		give_up("a child failed and does not say why");
	finish_failed(complaint);
}

pid_t child_fork(void)
{
	pid_t pid = fork();

	if (pid < 0)
		give_up("fork: %s", strerror(errno));
	if (!pid)
		is_init = false;
	return pid;
}

bool child_has_ended(pid_t pid, const char *what, bool wait)
{
	struct pollfd heard = { complaints[0], POLLIN, 0 };
	int status;
	pid_t ended = waitpid(pid, &status, wait ? 0 : WNOHANG);

	if (ended < 0)
		give_up("waitpid: %s", strerror(errno));
	if (!ended)
		return false;
	if (status && poll(&heard, 1, 0) == 1)
		children_failed();
	if (status)
		give_up("%s died of signal %d", what, WTERMSIG(status));
	return true;
}

void child_end(pid_t pid, const char *what)
{
	if (child_has_ended(pid, what, false))
		return;
	kill(pid, SIGTERM);
	child_has_ended(pid, what, true);
}

/* NAMESPACES */

int open_namespace(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), NETNS_DIR "/%s", name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

void enter_namespace(const char *name)
{
	static int first_ns = -1;
	int fd;

	if (first_ns < 0)
		first_ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	fd = first_ns;
	if (name && *name)
		fd = open_namespace(name);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		give_up("namespace %s: %s", name ? name : "", strerror(errno));
	if (fd != first_ns)
		close(fd);
}

/* RANDOM NUMBERS */

/* On lossless paths nothing else is random, and runs that differ only in their phase
 * against the kernel's timers show how much a result depends on it.
 */
uint64_t phase_ns(uint64_t seed)
{
	return splitmix(seed) % NS_PER_SEC;
}

/* Depends on the run's seed alone, which the kernel passes on from its command line: the
 * kernel's own random numbers also depend on how it was built.
 */
uint64_t random_number(const char *name)
{
	const char *seed = getenv("LAB_SEED");
	uint64_t hash = splitmix(seed ? strtoull(seed, NULL, 10) : 0);

	/* FNV-1a (draft-eastlake-fnv), with another offset basis */
	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 0x100000001b3ull;
	return splitmix(hash);
}

/* TIME */

uint32_t calls;

uint64_t now_ns(void)
{
	struct timespec t;

	calls++;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return to_ns(&t);
}

void sleep_until(uint64_t ns)
{
	struct timespec t = to_timespec(ns);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* The coarse clocks give the time of the last tick: reading them does not move the time. */
uint64_t time_of_day_offset_ns(void)
{
	struct timespec real, boot;

	clock_gettime(CLOCK_REALTIME_COARSE, &real);
	clock_gettime(CLOCK_MONOTONIC_COARSE, &boot);
	return to_ns(&real) - to_ns(&boot);
}
