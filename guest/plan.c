// SPDX-License-Identifier: GPL-2.0-only
/* Carries out the plan: the commands that a person could have typed (command.c), and
 *
 *	insmod FILE
 *	ip netns exec NS capture FILE
 *	ip netns exec NS drop DEV data|acks NUMBERS
 *	ip netns exec NS tunnel server|client --behind NS --NAME VALUE ...
 *	ip netns exec NS meter TO_NS ADDRESS COUNT BYTES INTERVAL_NS FILE
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base.h"
#include "capture.h"
#include "command.h"
#include "drop.h"
#include "meter.h"
#include "netlink.h"
#include "plan.h"
#include "tunnel.h"

/* of syslog(2); the C library does not name them */
#define SYSLOG_ACTION_READ_ALL	3
#define SYSLOG_ACTION_CLEAR	5

/* what is left of the plan, and the number of its line before that */
static struct {
	char *text;
	int line;
} rest;

/* The last thing that the kernel said since its log was cleared, or "". */
static const char *kernel_reason(void)
{
	static char log[4096];
	int len = klogctl(SYSLOG_ACTION_READ_ALL, log, sizeof(log) - 1);
	char *last;

	if (len <= 0)
		return "";
	log[len] = '\0';
	if (log[len - 1] == '\n')
		log[len - 1] = '\0';
	last = strrchr(log, '\n');
	last = last ? last + 1 : log;
	/* <4>[    1.234567] what it said, or without the time */
	if (*last == '<' && strchr(last, '>'))
		last = strchr(last, '>') + 1;
	if (*last == '[' && strstr(last, "] "))
		last = strstr(last, "] ") + 2;
	return last;
}

static void load_module(struct command *command)
{
	const char *file = command_word(command, "a file");
	char path[256];
	int fd;

	if (strchr(file, '/'))
		command_failed(command, "a file of the run directory is expected");
	command_expect_end(command);
	snprintf(path, sizeof(path), RUN_DIR "/%s", file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		command_failed(command, "%s", strerror(errno));
	klogctl(SYSLOG_ACTION_CLEAR, NULL, 0);
	if (syscall(SYS_finit_module, fd, "", 0)) {
		int error = errno;
		const char *reason = kernel_reason();

		command_failed(command, "%s%s%s", strerror(error), *reason ? ": " : "", reason);
	}
	close(fd);
}

char *plan_next(int *number)
{
	while (*rest.text) {
		char *text = rest.text, *end = strchrnul(text, '\n');

		rest.text = *end ? end + 1 : end;
		*end = '\0';
		*number = ++rest.line;
		if (*text && *text != '#')
			return text;
	}
	return NULL;
}

void plan_unread(char *line)
{
	size_t len = strlen(line);

	if (rest.text > line + len)
		line[len] = '\n';
	rest.text = line;
	rest.line--;
}

static bool is_workload(const char *text)
{
	char word[8];

	return sscanf(text, "ip netns exec %*s %7s", word) == 1 &&
	       (!strcmp(word, "traffic") || !strcmp(word, "program"));
}

bool plan_run(char *text)
{
	/* three for each path and two for each link; with so little memory Linux allows 500 */
	char room[] = "sysctl -qw user.max_net_namespaces=1000";
	struct command command;
	int line;

	enter_namespace(NULL);	/* which remembers the first one */
	command_parse(&command, room, 0);
	command_run(&command);
	rest.text = text;
	while ((text = plan_next(&line))) {
		if (is_workload(text)) {
			plan_unread(text);
			break;
		}
		command_parse(&command, text, line);
		if (!*command.ns && command_has(&command, "insmod"))
			load_module(&command);
		else if (*command.ns && command_has(&command, "capture"))
			capture_start(&command);
		else if (*command.ns && command_has(&command, "drop"))
			drop_prepare(&command);
		else if (*command.ns && command_has(&command, "meter"))
			meter_run(&command);
		else if (*command.ns && command_has(&command, "tunnel"))
			tunnel_run(&command);
		else
			command_run(&command);
	}
	netlink_close();
	return text;
}
