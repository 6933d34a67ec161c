// SPDX-License-Identifier: GPL-2.0-only
/* Carries out the plan: the commands that a person would have typed.
 *
 *	ip REST | ip -n NS REST | tc -n NS REST
 *	[ip netns exec NS] sysctl -qw KEY=VALUE ...
 *	ip netns exec NS ethtool -K DEV FEATURE on|off ...
 *	insmod FILE
 *	ip netns exec NS capture FILE
 *	ip netns exec NS drop DEV data|acks NUMBERS
 *	ip netns exec NS meter TO_NS ADDRESS COUNT BYTES INTERVAL_NS FILE
 *
 * No tool of the host is started: a process costs more than all its work, and
 * would make runs hang on the version that a machine has. What is not here is in
 * the files of the commands' names.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest.h"

/* of syslog(2); the C library does not name them */
#define SYSLOG_ACTION_READ_ALL	3
#define SYSLOG_ACTION_CLEAR	5

/* what is still to be done of the plan */
static struct {
	char *text;
	int line;
} rest;

uint64_t parse_time(const char *text, int line)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", NS_PER_SEC },
	};
	char unit[4] = "", rest;
	uint64_t n;
	size_t i;

	if (sscanf(text, "%" SCNu64 "%3[a-z]%c", &n, unit, &rest) == 2)
		for (i = 0; i < sizeof(units) / sizeof(*units); i++)
			if (!strcmp(unit, units[i].name))
				return n * units[i].ns;
	give_up("plan line %d: at %s: a time such as 3s or 1500ms is expected", line, text);
}

/* THE WORDS OF A COMMAND */

void command_failed(const struct command *command, const char *format, ...)
{
	char text[300] = "", reason[160];
	size_t len = 0;
	va_list args;
	int i;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	for (i = 0; i < command->count && len < sizeof(text); i++)
		len += snprintf(text + len, sizeof(text) - len, "%s%s", i ? " " : "",
				command->words[i]);
	give_up("plan line %d: %s: %s", command->line, text, reason);
}

bool command_at_end(const struct command *command)
{
	return command->next == command->count;
}

bool command_has(struct command *command, const char *word)
{
	if (command_at_end(command) || strcmp(command->words[command->next], word))
		return false;
	command->next++;
	return true;
}

const char *command_word(struct command *command, const char *what)
{
	if (command_at_end(command))
		command_failed(command, "%s is expected after it", what);
	return command->words[command->next++];
}

void command_expect(struct command *command, const char *word)
{
	const char *other = command_word(command, word);

	if (strcmp(other, word))
		command_failed(command, "%s is expected, not %s", word, other);
}

void command_expect_end(const struct command *command)
{
	if (!command_at_end(command))
		command_failed(command, "%s is not known here", command->words[command->next]);
}

uint32_t command_number(struct command *command, uint32_t most)
{
	const char *word = command_word(command, "a number");
	uint32_t number;
	char more;

	if (*word < '0' || *word > '9' || strlen(word) > 10 ||
	    sscanf(word, "%" SCNu32 "%c", &number, &more) != 1 || number > most)
		command_failed(command, "%s: a number up to %" PRIu32 " is expected", word, most);
	return number;
}

const char *command_device(struct command *command, int *index)
{
	const char *name = command_word(command, "a device");

	*index = device_index(command->ns, name);
	if (!*index)
		command_failed(command, "there is no device %s", name);
	return name;
}

/* Splits at blanks; '...' holds a word together. Returns the number of words. */
static int split(char *text, const char **words)
{
	int n = 0;

	while (*text) {
		if (*text == ' ') {
			*text++ = '\0';
			continue;
		}
		if (n == COMMAND_WORDS_MAX)
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

static void set_sysctl(struct command *command)
{
	const char *assignment = command_word(command, "KEY=VALUE");
	const char *value = strchr(assignment, '=');
	char path[256], *p;
	int fd;

	if (!value)
		command_failed(command, "%s has no value", assignment);
	snprintf(path, sizeof(path), "/proc/sys/%.*s", (int)(value - assignment), assignment);
	for (p = path; *p; p++)
		if (*p == '.')
			*p = '/';
	value++;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		command_failed(command, "%s: %s", assignment, strerror(errno));
	close(fd);
}

static void set_offload(struct command *command, const char *device)
{
	static const struct {
		const char *name;
		uint32_t command;
	} features[] = {
		{ "tso", ETHTOOL_STSO },
		{ "gso", ETHTOOL_SGSO },
		{ "gro", ETHTOOL_SGRO },
	};
	const char *feature = command_word(command, "a feature");
	struct ethtool_value value = { .data = !strcmp(command_word(command, "on or off"), "on") };
	struct ifreq request = { .ifr_data = (void *)&value };
	size_t i;
	int fd;

	for (i = 0; i < sizeof(features) / sizeof(*features); i++)
		if (!strcmp(features[i].name, feature))
			value.cmd = features[i].command;
	if (!value.cmd)
		command_failed(command, "%s is not known here", feature);
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || ioctl(fd, SIOCETHTOOL, &request))
		command_failed(command, "%s: %s", feature, strerror(errno));
	close(fd);
}

static void set_sysctls(struct command *command)
{
	command_expect(command, "-qw");
	while (!command_at_end(command))
		set_sysctl(command);
}

static void set_offloads(struct command *command)
{
	const char *device;

	command_expect(command, "-K");
	device = command_word(command, "a device");
	while (!command_at_end(command))
		set_offload(command, device);
}

/* sysctl or ethtool, in the namespace of the command */
static void run_here(struct command *command)
{
	enter_namespace(command->ns);
	if (command_has(command, "sysctl"))
		set_sysctls(command);
	else if (command_has(command, "ethtool"))
		set_offloads(command);
	else
		command_failed(command, "not a command that the guest knows");
	enter_namespace(NULL);
}

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
	/* <4>[    1.234567] what it said */
	return strstr(last, "] ") ? strstr(last, "] ") + 2 : last;
}

static void load_module(const char *file, int line)
{
	char path[256];
	int fd;

	if (strchr(file, '/'))
		give_up("plan line %d: insmod %s: a file of the run directory is expected", line,
			file);
	snprintf(path, sizeof(path), RUN_DIR "/%s", file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		give_up("plan line %d: insmod %s: %s", line, file, strerror(errno));
	klogctl(SYSLOG_ACTION_CLEAR, NULL, 0);
	if (syscall(SYS_finit_module, fd, "", 0)) {
		int error = errno;
		const char *reason = kernel_reason();

		give_up("plan line %d: insmod %s: %s%s%s", line, file, strerror(error),
			*reason ? ": " : "", reason);
	}
	close(fd);
}

/* THE COMMANDS */

void command_parse(struct command *command, char *text, int line)
{
	*command = (struct command) { .ns = "", .line = line };
	command->count = split(text, command->words);
	if (command->count < 1)
		give_up("plan line %d: cannot be read", line);
	if (command_has(command, "ip")) {
		command->run = ip_run;
		if (command_has(command, "netns") && command_has(command, "exec")) {
			command->ns = command_word(command, "a namespace");
			command->run = run_here;
			return;
		}
		command->next = 1;
	} else if (command_has(command, "tc")) {
		command->run = tc_run;
	} else {
		command->run = run_here;
		return;
	}
	if (command_has(command, "-n"))
		command->ns = command_word(command, "a namespace");
}

bool command_is_tool(const struct command *command)
{
	return command->run != run_here;
}

void command_run(struct command *command)
{
	static char found[32];
	char path[64];

	if (strcmp(command->ns, found)) {
		snprintf(path, sizeof(path), NETNS_DIR "/%s", command->ns);
		if (access(path, F_OK))
			command_failed(command, "there is no namespace %s", command->ns);
		snprintf(found, sizeof(found), "%s", command->ns);
	}
	command->run(command);
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
	/* three for each path and two for each link; in so little memory Linux allows 500 */
	char room[] = "sysctl -qw user.max_net_namespaces=1000";
	struct command command;
	int line;

	enter_namespace(NULL);	/* remember it before anything leaves it */
	command_parse(&command, room, 0);
	command_run(&command);
	rest.text = text;
	while ((text = plan_next(&line))) {
		char ns[32], file[64], more;
		int rest_of_line = 0;

		if (is_workload(text)) {
			plan_unread(text);
			break;
		}
		if (!strncmp(text, "insmod ", 7)) {
			load_module(text + 7, line);
		} else if (sscanf(text, "ip netns exec %31s capture %63s %c", ns, file,
				  &more) == 2) {
			capture_start(ns, file, line);
		} else if (sscanf(text, "ip netns exec %31s drop %n", ns, &rest_of_line) == 1 &&
			   rest_of_line) {
			drop_prepare(ns, text + rest_of_line, line);
		} else if (sscanf(text, "ip netns exec %31s meter %n", ns, &rest_of_line) == 1 &&
			   rest_of_line) {
			meter_run(ns, text + rest_of_line, line);
		} else {
			command_parse(&command, text, line);
			command_run(&command);
		}
	}
	netlink_close();
	return text;
}
