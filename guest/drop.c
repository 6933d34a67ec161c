// SPDX-License-Identifier: GPL-2.0-only
/* Exact losses: tells the kernel which packets a router is to lose by their
 * number (kernel/mptcp/drop.c), and when to begin to count.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base.h"
#include "drop.h"

#define DROPS_MAX	(4 * PATHS_MAX)	/* in 2 directions, of 2 kinds */

static struct {
	int fds[DROPS_MAX];
	int count;
} drops;

void drop_prepare(struct command *command)
{
	const char *device = command_word(command, "a device");
	const char *kind = command_word(command, "data or acks");
	const char *numbers = command_word(command, "a list of numbers");
	char *text;
	int fd, len;

	command_expect_end(command);
	if (drops.count == DROPS_MAX)
		command_failed(command, "more than %d lists of packets to lose", DROPS_MAX);
	len = asprintf(&text, "%s %s %s", device, kind, numbers);
	enter_namespace(command->ns);
	fd = open("/proc/thread-self/net/mptcp_drop", O_WRONLY | O_CLOEXEC);
	enter_namespace(NULL);
	if (len < 0 || fd < 0 || write(fd, text, len) != len)
		command_failed(command, "%s", strerror(errno));
	free(text);
	drops.fds[drops.count++] = fd;
}

void drops_start(void)
{
	int i;

	for (i = 0; i < drops.count; i++)
		if (write(drops.fds[i], "start", 5) != 5)
			give_up("drop: %s", strerror(errno));
}
