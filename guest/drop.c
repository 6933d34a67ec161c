// SPDX-License-Identifier: GPL-2.0-only
/* Exact losses: tells the kernel which packets a router is to lose by their
 * number (kernel/mptcp/drop.c), and when to begin to count.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base.h"
#include "drop.h"

#define DROPS_MAX	(4 * PATHS_MAX)	/* in 2 directions, of 2 kinds */

static struct {
	int fds[DROPS_MAX];
	int count;
} drops;

void drop_prepare(const char *ns, const char *what, int line)
{
	ssize_t len = strlen(what);
	int fd;

	if (drops.count == DROPS_MAX)
		give_up("plan line %d: more than %d lists of packets to lose", line, DROPS_MAX);
	enter_namespace(ns);
	fd = open("/proc/thread-self/net/mptcp_drop", O_WRONLY | O_CLOEXEC);
	enter_namespace(NULL);
	if (fd < 0 || write(fd, what, len) != len)
		give_up("plan line %d: drop %s: %s", line, what, strerror(errno));
	drops.fds[drops.count++] = fd;
}

void drops_start(void)
{
	int i;

	for (i = 0; i < drops.count; i++)
		if (write(drops.fds[i], "start", 5) != 5)
			give_up("drop: %s", strerror(errno));
}
