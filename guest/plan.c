// SPDX-License-Identifier: GPL-2.0-only
/* Carries out the plan: the commands that a person would have typed.
 *
 *	ip REST | ip -n NS REST | tc -n NS REST
 *	[ip netns exec NS] sysctl -qw KEY=VALUE ...
 *	ip netns exec NS ethtool -K DEV FEATURE on|off ...
 *
 * A process costs more than all its work, so lines of the same tool and
 * namespace that follow each other become one batch of that tool, and sysctl
 * and ethtool are done here.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define WORDS_MAX	32
#define BATCH_BYTES	32768	/* fits into a pipe */

static struct {
	char tool[4];
	char ns[32];
	char text[BATCH_BYTES];
	size_t len;
	int first_line;
} batch;

void enter_namespace(const char *name)
{
	static int first_ns = -1;
	char path[64];
	int fd;

	if (first_ns < 0)
		first_ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	fd = first_ns;
	if (name && *name) {
		snprintf(path, sizeof(path), "/run/netns/%s", name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
	}
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		give_up("namespace %s: %s", name ? name : "", strerror(errno));
	if (fd != first_ns)
		close(fd);
}

static void flush_batch(void)
{
	int pipe_fd[2], status;
	pid_t pid;

	if (!batch.len)
		return;
	if (pipe(pipe_fd))
		give_up("pipe: %s", strerror(errno));
	if (write(pipe_fd[1], batch.text, batch.len) != (ssize_t)batch.len)
		give_up("plan line %d: the batch does not fit into a pipe", batch.first_line);
	close(pipe_fd[1]);

	/* not fork(): to copy this process costs as much as to start the tool */
	pid = vfork();
	if (pid < 0)
		give_up("vfork: %s", strerror(errno));
	if (!pid) {
		enter_namespace(batch.ns);
		dup2(pipe_fd[0], 0);
		execlp(batch.tool, batch.tool, "-batch", "-", (char *)NULL);
		_exit(127);
	}
	close(pipe_fd[0]);
	if (waitpid(pid, &status, 0) != pid)
		give_up("waitpid: %s", strerror(errno));
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		give_up("cannot run %s", batch.tool);
	if (status)
		give_up("plan: %s failed in namespace \"%s\", in the batch from line %d on",
			batch.tool, batch.ns, batch.first_line);
	batch.len = 0;
}

static void add_to_batch(const char *tool, const char *ns, const char *rest, int line)
{
	int len;

	if (batch.len && (strcmp(tool, batch.tool) || strcmp(ns, batch.ns)))
		flush_batch();
	if (!batch.len) {
		snprintf(batch.tool, sizeof(batch.tool), "%s", tool);
		snprintf(batch.ns, sizeof(batch.ns), "%s", ns);
		batch.first_line = line;
	}
	len = snprintf(batch.text + batch.len, sizeof(batch.text) - batch.len, "%s\n", rest);
	if (len < 0 || (size_t)len >= sizeof(batch.text) - batch.len)
		give_up("plan line %d: too long a batch", line);
	batch.len += len;
}

/* Splits at blanks; '...' holds a word together. Returns the number of words. */
static int split(char *text, char **words)
{
	int n = 0;

	while (*text) {
		if (*text == ' ') {
			*text++ = '\0';
			continue;
		}
		if (n == WORDS_MAX)
			return -1;
		if (*text == '\'') {
			words[n++] = ++text;
			text = strchr(text, '\'');
			if (!text)
				return -1;
			*text++ = '\0';
		} else {
			words[n++] = text;
			text += strcspn(text, " ");
		}
	}
	return n;
}

static void set_sysctl(char *assignment, int line)
{
	char *value = strchr(assignment, '=');
	char path[256], *p;
	int fd;

	if (!value)
		give_up("plan line %d: sysctl %s: no value", line, assignment);
	*value++ = '\0';
	for (p = assignment; *p; p++)
		if (*p == '.')
			*p = '/';
	snprintf(path, sizeof(path), "/proc/sys/%s", assignment);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		give_up("plan line %d: sysctl %s=%s: %s", line, assignment, value, strerror(errno));
	close(fd);
}

static void set_offload(const char *dev, const char *feature, const char *state, int line)
{
	static const struct {
		const char *name;
		uint32_t command;
	} features[] = {
		{ "tso", ETHTOOL_STSO },
		{ "gso", ETHTOOL_SGSO },
		{ "gro", ETHTOOL_SGRO },
	};
	struct ethtool_value value = { .data = !strcmp(state, "on") };
	struct ifreq request = { .ifr_data = (void *)&value };
	size_t i;
	int fd;

	for (i = 0; i < sizeof(features) / sizeof(*features); i++)
		if (!strcmp(features[i].name, feature))
			value.cmd = features[i].command;
	if (!value.cmd)
		give_up("plan line %d: ethtool: %s is not known here", line, feature);
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", dev);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0 || ioctl(fd, SIOCETHTOOL, &request))
		give_up("plan line %d: ethtool -K %s %s %s: %s", line, dev, feature, state,
			strerror(errno));
	close(fd);
}

/* sysctl or ethtool, in a namespace */
static void run_here(const char *ns, char *command, int line)
{
	char *words[WORDS_MAX];
	int n = split(command, words), i;

	if (n < 1)
		give_up("plan line %d: cannot be read", line);

	flush_batch();
	enter_namespace(ns);
	if (n >= 3 && !strcmp(words[0], "sysctl") && !strcmp(words[1], "-qw")) {
		for (i = 2; i < n; i++)
			set_sysctl(words[i], line);
	} else if (n >= 5 && n % 2 && !strcmp(words[0], "ethtool") && !strcmp(words[1], "-K")) {
		for (i = 3; i + 1 < n; i += 2)
			set_offload(words[2], words[i], words[i + 1], line);
	} else {
		give_up("plan line %d: %s: not a command that the guest knows", line, words[0]);
	}
	enter_namespace(NULL);
}

static void run_line(char *text, int line)
{
	char ns[32] = "", tool[4] = "";
	int skip = 0;

	if (!strncmp(text, "sysctl ", 7) ||
	    (sscanf(text, "ip netns exec %31s %n", ns, &skip) == 1 && skip)) {
		run_here(ns, text + skip, line);
		return;
	}
	if (sscanf(text, "%3[ipct] -n %31s %n", tool, ns, &skip) != 2 || !skip) {
		*ns = '\0';
		skip = 0;
		if (sscanf(text, "%3[ipct] %n", tool, &skip) != 1 || !skip)
			give_up("plan line %d: neither ip nor tc: %s", line, text);
	}
	add_to_batch(tool, ns, text + skip, line);
}

char *plan_run(char *text)
{
	int line = 1;
	char *end;

	enter_namespace(NULL);	/* remember it before anything leaves it */
	for (; *text; text = end, line++) {
		end = strchrnul(text, '\n');
		if (*end)
			*end++ = '\0';
		if (!*text || *text == '#')
			continue;
		if (strstr(text, " traffic ")) {
			flush_batch();
			if (*end)
				end[-1] = '\n';
			return text;
		}
		run_line(text, line);
	}
	flush_batch();
	return NULL;
}
