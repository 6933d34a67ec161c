// SPDX-License-Identifier: GPL-2.0-only
/* Events: commands of the plan that are carried out while the traffic runs.
 *
 *	at 3s ip REST | at 1500ms tc -n NS REST | at 1s ip netns exec NS nft|conntrack|sysctl REST
 *
 * Times are after START, in whole ns, us, ms or s. Each namespace with events has a process
 * (a player) that carries them out in turn, so that one that blocks in the kernel does not
 * delay those of other namespaces. Cross traffic has its own, see cross.c.
 */

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base.h"
#include "command.h"
#include "cross.h"
#include "events.h"

#define PLAYERS_MAX	(4 * PATHS_MAX)

struct event {
	uint64_t at_ns;		/* after START */
	char *text;		/* of the command */
	int line;
	int player;
};

static struct {
	struct event *list;
	int count;
	struct {
		char ns[32];
		pid_t pid;
	} players[PLAYERS_MAX];
	int player_count;
	int start_pipe[2];
} events;

/* of a player: SIGTERM ends it, wherever it waits */
static sigjmp_buf out_of_wait;
static sig_atomic_t waiting, ended;

/* The player of the command's namespace. */
static int player_for(const struct command *command)
{
	int i;

	if (!command_is_tool(command))
		command_failed(command, "only ip, tc, sysctl, nft and conntrack run at a time");
	for (i = 0; i < events.player_count; i++)
		if (!strcmp(events.players[i].ns, command->ns))
			break;
	if (i == PLAYERS_MAX)
		command_failed(command, "more than %d namespaces with events", PLAYERS_MAX);
	if (i == events.player_count)
		snprintf(events.players[events.player_count++].ns, sizeof(events.players[i].ns),
			 "%s", command->ns);
	return i;
}

static void add(const struct event *event)
{
	static int room;

	if (events.count == room) {
		room = room ? 2 * room : 64;
		events.list = realloc(events.list, room * sizeof(*events.list));
		if (!events.list)
			give_up("events: %s", strerror(errno));
	}
	events.list[events.count++] = *event;
}

static void leave_wait(int number)
{
	ended = number;
	if (waiting)
		siglongjmp(out_of_wait, 1);
}

/* Waits until that time; false: the traffic has ended before. */
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

static void __attribute__((noreturn)) play(int player)
{
	struct sigaction action = { .sa_handler = leave_wait, .sa_flags = SA_RESTART };
	uint64_t start_ns, reached_ns = NEVER;
	int i;

	sigaction(SIGTERM, &action, NULL);
	if (read(events.start_pipe[0], &start_ns, sizeof(start_ns)) != sizeof(start_ns))
		give_up("events: START is not known: %s", strerror(errno));
	for (i = 0; i < events.count; i++) {
		const struct event *event = &events.list[i];
		struct command command;

		if (event->player != player)
			continue;
		if (event->at_ns != reached_ns && !wait_until(start_ns + event->at_ns))
			break;
		reached_ns = event->at_ns;
		command_parse(&command, event->text, event->line);
		command_run(&command);
	}
	_exit(0);
}

void event_add(char *text, int line)
{
	char *rest = strchr(text + 3, ' '), *copy;
	static uint64_t before_ns;
	struct command command;
	uint64_t at_ns;

	if (!rest)
		give_up("plan line %d: after the traffic, at TIME COMMAND is expected", line);
	*rest++ = '\0';
	at_ns = parse_time(text + 3, line);
	if (at_ns < before_ns)
		give_up("plan line %d: at %s is earlier than the line before", line, text + 3);
	before_ns = at_ns;
	copy = strdup(rest);
	if (!copy)
		give_up("events: %s", strerror(errno));
	command_parse(&command, copy, line);
	if (command_has(&command, "cross"))
		cross_add(&command, at_ns);
	else
		add(&(struct event) { at_ns, rest, line, player_for(&command) });
	free(copy);
}

void events_prepare(void)
{
	int i;

	if (!events.count)
		return;
	if (pipe(events.start_pipe))
		give_up("pipe: %s", strerror(errno));
	for (i = 0; i < events.player_count; i++) {
		events.players[i].pid = child_fork();
		if (!events.players[i].pid)
			play(i);
	}
}

/* Each player reads it once. */
void events_start(uint64_t start_ns)
{
	int i;

	for (i = 0; i < events.player_count; i++)
		if (write(events.start_pipe[1], &start_ns, sizeof(start_ns)) != sizeof(start_ns))
			give_up("events: %s", strerror(errno));
}

/* Events after the end of the traffic are not carried out. */
void events_end(void)
{
	int i;

	for (i = 0; i < events.player_count; i++)
		child_end(events.players[i].pid, "the process of the events");
}
