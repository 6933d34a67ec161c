// SPDX-License-Identifier: GPL-2.0-only
/* Events: commands of the plan that are carried out while the traffic runs.
 *
 *	at 3s ip REST | at 1500ms tc -n NS REST
 *
 * 3 s after START; whole numbers of ns, us, ms or s. Commands of the same time
 * are done one after the other. One process waits for their times, and has a
 * tool running for each namespace that they are for, which gets its lines one
 * by one: to start a tool costs more than a hundred of them, and one that waits
 * inside the kernel does not delay those of other namespaces. Those for cross
 * traffic are done in cross.c.
 */

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest.h"

#define TOOLS_MAX	(4 * PATHS_MAX)

struct event {
	uint64_t at_ns;		/* after START */
	char *text;		/* what the tool reads */
	struct command *tool;
	int line;
};

static struct {
	struct event *list;
	int count;
	struct command *tools[TOOLS_MAX];
	int tool_count;
	int start_pipe[2];
	pid_t pid;
} events;

/* of the process that waits: SIGTERM ends it, wherever it is */
static sigjmp_buf out_of_wait;
static sig_atomic_t waiting, ended;

/* The tool that is to read the line, of which *text becomes what it reads. */
static struct command *tool_for(char **text, int line)
{
	struct command *tool;
	int i;

	for (i = 0; i < events.tool_count; i++)
		if (command_is_for(events.tools[i], text, line))
			return events.tools[i];
	tool = command_new(text, line);
	if (i == TOOLS_MAX)
		give_up("plan line %d: more than %d namespaces with events", line, TOOLS_MAX);
	return events.tools[events.tool_count++] = tool;
}

static void leave_wait(int number)
{
	ended = number;
	if (waiting)
		siglongjmp(out_of_wait, 1);
}

/* Waits for that time; false: no longer, the traffic has ended. */
static bool wait_until(uint64_t ns)
{
	if (!sigsetjmp(out_of_wait, 1)) {
		waiting = 1;
		if (!ended)
			sleep_until(ns);
	}
	waiting = 0;
	return !ended;
}

/* The line of the plan that was the nth of a tool. */
static int nth_line(const struct command *tool, int n)
{
	int i, line = 0;

	for (i = 0; i < events.count && n; i++) {
		if (events.list[i].tool == tool) {
			line = events.list[i].line;
			n--;
		}
	}
	return line;
}

static void __attribute__((noreturn)) play(void)
{
	struct sigaction action = { .sa_handler = leave_wait };
	int i, failed;
	uint64_t start_ns;

	sigaction(SIGTERM, &action, NULL);
	for (i = 0; i < events.tool_count; i++)
		command_start(events.tools[i]);
	if (read(events.start_pipe[0], &start_ns, sizeof(start_ns)) != sizeof(start_ns))
		give_up("events: START is not known: %s", strerror(errno));
	for (i = 0; i < events.count; i++) {
		const struct event *event = &events.list[i];

		if ((!i || event->at_ns != event[-1].at_ns) &&
		    !wait_until(start_ns + event->at_ns))
			break;
		/* one that has failed is gone, which is told below */
		command_say(event->tool, event->text);
	}
	for (i = 0; i < events.tool_count; i++) {
		const char *said;

		failed = command_end(events.tools[i], &said);
		if (failed)
			command_failed(events.tools[i], nth_line(events.tools[i], failed), said);
	}
	_exit(0);
}

void event_add(char *text, int line)
{
	char *rest = strncmp(text, "at ", 3) ? NULL : strchr(text + 3, ' ');
	static uint64_t before_ns;
	struct event *event;
	static int room;
	uint64_t at_ns;

	if (!rest)
		give_up("plan line %d: after the traffic, at TIME COMMAND is expected", line);
	*rest++ = '\0';
	at_ns = parse_time(text + 3, line);
	if (at_ns < before_ns)
		give_up("plan line %d: at %s is earlier than the line before", line, text + 3);
	before_ns = at_ns;
	if (cross_add(rest, at_ns, line))
		return;
	if (events.count == room) {
		room = room ? 2 * room : 64;
		events.list = realloc(events.list, room * sizeof(*events.list));
		if (!events.list)
			give_up("events: %s", strerror(errno));
	}
	event = &events.list[events.count++];
	event->at_ns = at_ns;
	event->text = rest;
	event->line = line;
	event->tool = tool_for(&event->text, line);
}

void events_prepare(void)
{
	if (!events.count)
		return;
	if (pipe(events.start_pipe))
		give_up("pipe: %s", strerror(errno));
	events.pid = child_fork();
	if (!events.pid)
		play();
}

void events_start(uint64_t start_ns)
{
	if (events.count &&
	    write(events.start_pipe[1], &start_ns, sizeof(start_ns)) != sizeof(start_ns))
		give_up("events: %s", strerror(errno));
}

/* What would come after the end of the traffic does not happen. */
void events_end(void)
{
	if (!events.count || child_has_ended(events.pid, "the process of the events", false))
		return;
	kill(events.pid, SIGTERM);
	child_has_ended(events.pid, "the process of the events", true);
}
