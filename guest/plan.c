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
 * A process costs more than all its work, so lines of the same tool and
 * namespace that follow each other become one batch of that tool, and sysctl,
 * ethtool and insmod are done here. The others are in files of their names.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define WORDS_MAX	32
#define PIPE_BYTES	65536
#define BATCH_BYTES	32768	/* fits into a pipe */
#define BATCH_LINES	512
#define SAID_BYTES	8192	/* a usage message is some 2 KB */
/* of syslog(2); the C library does not name them */
#define SYSLOG_ACTION_READ_ALL	3
#define SYSLOG_ACTION_CLEAR	5

struct command {
	char tool[4];		/* ip or tc, which get text; "": done here */
	char ns[32];
	char text[BATCH_BYTES];
	size_t len;
	int lines[BATCH_LINES];	/* their numbers in the plan */
	int count;
	pid_t pid;		/* of the tool; 0: not started */
	int text_fd;
	int said_fd;
};

/* what is still to be done of the plan */
static struct {
	char *text;
	int line;
} rest;

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

/* sysctl or ethtool, in the namespace of the command */
static void run_here(struct command *command)
{
	int line = command->lines[0];
	char *words[WORDS_MAX];
	int n = split(command->text, words), i;

	if (n < 1)
		give_up("plan line %d: cannot be read", line);

	enter_namespace(command->ns);
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

static bool add_text(struct command *command, const char *text, int line)
{
	size_t room = sizeof(command->text) - command->len;
	int len;

	if (command->count == BATCH_LINES)
		return false;
	len = snprintf(command->text + command->len, room, "%s\n", text);
	if ((size_t)len >= room)
		return false;
	command->len += len;
	command->lines[command->count++] = line;
	return true;
}

/* Which tool a line is for ("": none, it is done here), and in which namespace;
 * returns what the tool is to read.
 */
static char *parse(char *text, char tool[4], char ns[32], int line)
{
	int skip = 0;

	*tool = '\0';
	*ns = '\0';
	if (strncmp(text, "sysctl ", 7) &&
	    (sscanf(text, "ip netns exec %31s %n", ns, &skip) != 1 || !skip)) {
		skip = 0;
		if (sscanf(text, "%3[ipct] -n %31s %n", tool, ns, &skip) != 2 || !skip) {
			*ns = '\0';
			skip = 0;
			if (sscanf(text, "%3[ipct] %n", tool, &skip) != 1)
				*tool = '\0';
		}
		if (!skip || (strcmp(tool, "ip") && strcmp(tool, "tc")))
			give_up("plan line %d: not a command that the guest knows: %s", line, text);
	}
	return text + skip;
}

static struct command *command_alloc(const char tool[4], const char ns[32], int line)
{
	struct command *command = calloc(1, sizeof(*command));

	if (!command)
		give_up("plan line %d: %s", line, strerror(errno));
	memcpy(command->tool, tool, sizeof(command->tool));
	memcpy(command->ns, ns, sizeof(command->ns));
	return command;
}

/* The line joins the last command, or becomes a new one. */
static struct command *command_add(struct command *last, char *text, int line)
{
	struct command *command;
	char tool[4], ns[32];

	text = parse(text, tool, ns, line);
	if (last && *tool && !strcmp(tool, last->tool) && !strcmp(ns, last->ns) &&
	    add_text(last, text, line))
		return last;

	command = command_alloc(tool, ns, line);
	if (!add_text(command, text, line))
		give_up("plan line %d: too long", line);
	if (!*tool)
		command->text[command->len - 1] = '\0';
	return command;
}

struct command *command_new(char **text, int line)
{
	char tool[4], ns[32];

	*text = parse(*text, tool, ns, line);
	if (!*tool)
		give_up("plan line %d: only ip and tc can be run at a time", line);
	return command_alloc(tool, ns, line);
}

bool command_is_for(const struct command *command, char **text, int line)
{
	char tool[4], ns[32];
	char *rest = parse(*text, tool, ns, line);

	if (strcmp(tool, command->tool) || strcmp(ns, command->ns))
		return false;
	*text = rest;
	return true;
}

void command_start(struct command *command)
{
	int text[2], said[2];

	if (pipe2(text, O_CLOEXEC) || pipe2(said, O_CLOEXEC))
		give_up("pipe: %s", strerror(errno));

	/* not fork(): to copy this process costs as much as to start the tool */
	command->pid = vfork();
	if (command->pid < 0)
		give_up("vfork: %s", strerror(errno));
	if (!command->pid) {
		enter_namespace(command->ns);
		dup2(text[0], 0);
		dup2(said[1], 2);
		execlp(command->tool, command->tool, "-batch", "-", (char *)NULL);
		_exit(127);
	}
	close(text[0]);
	close(said[1]);
	command->text_fd = text[1];
	command->said_fd = said[0];
}

/* Shows what the tool says on the console, and keeps the beginning of it. */
static void hear(int fd, char *said, size_t room)
{
	size_t kept = 0;
	char piece[1024];
	ssize_t got;

	while ((got = read(fd, piece, sizeof(piece))) > 0) {
		size_t fits = (size_t)got < room - 1 - kept ? (size_t)got : room - 1 - kept;

		dprintf(2, "%.*s", (int)got, piece);
		memcpy(said + kept, piece, fits);
		kept += fits;
	}
	said[kept] = '\0';
}

void command_say(struct command *command, const char *text)
{
	dprintf(command->text_fd, "%s\n", text);
}

int command_end(struct command *command, const char **said_out)
{
	static char said[SAID_BYTES];
	int status, line = 1;
	char *where;

	close(command->text_fd);
	hear(command->said_fd, said, sizeof(said));
	close(command->said_fd);
	if (waitpid(command->pid, &status, 0) != command->pid)
		give_up("waitpid: %s", strerror(errno));
	if (!status)
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		give_up("cannot run %s", command->tool);
	/* "Command failed -:7": line 7 of the batch */
	where = strstr(said, "Command failed -:");
	if (!where || sscanf(where, "Command failed -:%d", &line) != 1 || line < 1)
		line = 1;
	said[strcspn(said, "\n")] = '\0';
	*said_out = said;
	return line;
}

void command_failed(const struct command *command, int line, const char *said)
{
	give_up("plan line %d: %s failed in namespace \"%s\": %s", line, command->tool,
		command->ns, said);
}

/* hostfs forgets a file as soon as nobody has it open: each process of a tool
 * would read it, and its libraries, from the host again, page by page. So those
 * of the first one of each tool stay open. It has its text; when the pipe has
 * room for a comment as long as the pipe, that was read, and the tool is loaded.
 * To wait for a while instead would change random numbers.
 */
static void keep_files(const struct command *command)
{
	static char known[2][sizeof(command->tool)];
	char path[32], line[512], last[512] = "";
	static char comment[PIPE_BYTES];
	size_t i;
	FILE *maps;

	for (i = 0; i < sizeof(known) / sizeof(*known) && *known[i]; i++)
		if (!strcmp(known[i], command->tool))
			return;
	memcpy(known[i], command->tool, sizeof(command->tool));
	memset(comment, '#', sizeof(comment));
	comment[sizeof(comment) - 1] = '\n';
	if (write(command->text_fd, comment, sizeof(comment)) != sizeof(comment))
		return;		/* it failed, as is told below */
	snprintf(path, sizeof(path), "/proc/%d/maps", command->pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		char *file = strchr(line, '/');

		if (!file)
			continue;
		file[strcspn(file, "\n")] = '\0';
		if (strcmp(file, last) && open(file, O_RDONLY | O_CLOEXEC) >= 0)
			memcpy(last, file, sizeof(last) - (file - line));
	}
	if (maps)
		fclose(maps);
}

static void run_tool(struct command *command)
{
	const char *said;
	int failed;

	/* it fits into the pipe; a tool that is gone says so below */
	if (write(command->text_fd, command->text, command->len) < 0 && errno != EPIPE)
		give_up("plan line %d: %s: %s", command->lines[0], command->tool, strerror(errno));
	keep_files(command);
	failed = command_end(command, &said);
	if (failed)
		command_failed(command, command->lines[failed > command->count ? 0 : failed - 1],
			       said);
}

static struct command *start_and_run(struct command *command)
{
	if (!command)
		return NULL;
	if (*command->tool) {
		command_start(command);
		run_tool(command);
	} else {
		run_here(command);
	}
	free(command);
	return NULL;
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
	char room[] = "user.max_net_namespaces=1000";
	struct command *last = NULL;
	int line;

	enter_namespace(NULL);	/* remember it before anything leaves it */
	set_sysctl(room, 0);
	rest.text = text;
	while ((text = plan_next(&line))) {
		char ns[32], file[64], more;
		int rest_of_line = 0;

		if (is_workload(text)) {
			start_and_run(last);
			plan_unread(text);
			return true;
		}
		if (!strncmp(text, "insmod ", 7)) {
			last = start_and_run(last);
			load_module(text + 7, line);
		} else if (sscanf(text, "ip netns exec %31s capture %63s %c", ns, file,
				  &more) == 2) {
			last = start_and_run(last);
			capture_start(ns, file, line);
		} else if (sscanf(text, "ip netns exec %31s drop %n", ns, &rest_of_line) == 1 &&
			   rest_of_line) {
			last = start_and_run(last);
			drop_prepare(ns, text + rest_of_line, line);
		} else if (sscanf(text, "ip netns exec %31s meter %n", ns, &rest_of_line) == 1 &&
			   rest_of_line) {
			last = start_and_run(last);
			meter_run(ns, text + rest_of_line, line);
		} else {
			struct command *command = command_add(last, text, line);

			if (command != last)
				start_and_run(last);
			last = command;
		}
	}
	start_and_run(last);
	return false;
}
