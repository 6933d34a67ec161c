// SPDX-License-Identifier: GPL-2.0-only
/* Events: commands of the plan that are carried out while the traffic runs.
 *
 *	at 3s COMMAND
 *
 * 3 s after START; whole numbers of ns, us, ms or s. Commands of the same time
 * are done one after the other. Each time has a process of its own, which
 * exists before the traffic starts, so that a command that waits inside the
 * kernel does not delay those of a later time.
 */

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define TIMES_MAX	64
#define LINES_MAX	64	/* of one time */

static struct {
	int start_pipe[2];
	pid_t pids[TIMES_MAX];
	int count;
} events;

static uint64_t parse_time(const char *text, int line)
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

static void __attribute__((noreturn)) run_event(uint64_t at_ns, char **texts, const int *lines,
						int count)
{
	struct command *commands[LINES_MAX], *last = NULL;
	uint64_t start_ns;
	int n = 0, i;

	for (i = 0; i < count; i++) {
		struct command *command = command_add(last, texts[i], lines[i]);

		if (command != last)
			commands[n++] = command;
		last = command;
	}
	for (i = 0; i < n; i++)
		command_start(commands[i]);
	if (read(events.start_pipe[0], &start_ns, sizeof(start_ns)) != sizeof(start_ns))
		give_up("plan line %d: START is not known: %s", lines[0], strerror(errno));
	sleep_until(start_ns + at_ns);
	for (i = 0; i < n; i++)
		command_run(commands[i]);
	_exit(0);
}

static void add_event(uint64_t at_ns, char **texts, const int *lines, int count)
{
	pid_t pid;

	if (events.count == TIMES_MAX)
		give_up("plan line %d: more than %d times of events", lines[0], TIMES_MAX);
	pid = child_fork();
	if (!pid)
		run_event(at_ns, texts, lines, count);
	events.pids[events.count++] = pid;
}

void events_prepare(void)
{
	char *texts[LINES_MAX], *text, *rest;
	int lines[LINES_MAX], line, count = 0;
	uint64_t at_ns = 0;

	if (pipe(events.start_pipe))
		give_up("pipe: %s", strerror(errno));
	while ((text = plan_next(&line))) {
		uint64_t ns;

		rest = strncmp(text, "at ", 3) ? NULL : strchr(text + 3, ' ');
		if (!rest)
			give_up("plan line %d: after the traffic, at TIME COMMAND is expected",
				line);
		*rest++ = '\0';
		ns = parse_time(text + 3, line);
		if (ns < at_ns)
			give_up("plan line %d: at %s is earlier than the line before", line,
				text + 3);
		if (count && ns != at_ns) {
			add_event(at_ns, texts, lines, count);
			count = 0;
		}
		if (count == LINES_MAX)
			give_up("plan line %d: more than %d commands at a time", line, LINES_MAX);
		at_ns = ns;
		texts[count] = rest;
		lines[count++] = line;
	}
	if (count)
		add_event(at_ns, texts, lines, count);
}

void events_start(uint64_t start_ns)
{
	int i;

	for (i = 0; i < events.count; i++)
		if (write(events.start_pipe[1], &start_ns, sizeof(start_ns)) != sizeof(start_ns))
			give_up("events: %s", strerror(errno));
}

/* What would come after the end of the traffic does not happen. */
void events_end(void)
{
	int i;

	for (i = 0; i < events.count; i++) {
		if (child_has_ended(events.pids[i], "an event", false))
			continue;
		kill(events.pids[i], SIGKILL);
		waitpid(events.pids[i], NULL, 0);
	}
}
