/* SPDX-License-Identifier: GPL-2.0-only */
/* The program that runs inside: init carries out the plan and watches over
 * its children, which are forks of itself: traffic, captures and events.
 *
 * Whatever fails ends the guest, with the reason in its outcome.
 */
#ifndef GUEST_H
#define GUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define NS_PER_SEC	1000000000ull
/* the working directory of the kernel's process on the host */
#define RUN_DIR		"/run/lab"

/* init.c: say why on the console and in the outcome, and end the guest. A
 * child ends itself, and init ends the guest with what the child said.
 */
void __attribute__((noreturn, format(printf, 1, 2))) give_up(const char *format, ...);

/* init.c: fork a child that is not traffic; 0 in the child */
pid_t child_fork(void);
/* init.c: has it ended (wait: wait for that)? Gives up if it has failed. */
bool child_has_ended(pid_t pid, const char *what, bool wait);

/* plan.c: carry out the plan's commands up to its traffic; false: it has none */
bool plan_run(char *text);
/* plan.c: the next line that is no comment, and its number; NULL at the end */
char *plan_next(int *number);

/* plan.c: a tool, ip or tc, that reads lines and carries out each as it comes.
 * command_new() makes the one that a line is for, command_is_for() asks whether
 * one is, and both leave in *text what it is to read. command_end() waits for
 * its end: 0, or which of its lines failed and what it said.
 */
struct command;
struct command *command_new(char **text, int line);
bool command_is_for(const struct command *command, char **text, int line);
void command_start(struct command *command);
void command_say(struct command *command, const char *text);
int command_end(struct command *command, const char **said);
void __attribute__((noreturn)) command_failed(const struct command *command, int line,
					      const char *said);

/* plan.c: move this process into a network namespace; NULL: the first one */
void enter_namespace(const char *name);

/* events.c: what the plan's "at" lines ask for, at their times after start_ns */
void events_prepare(void);
void events_start(uint64_t start_ns);
void events_end(void);

/* capture.c: write what passes a device into RUN_DIR/file, until captures_end() */
void capture_start(const char *ns, const char *device, const char *file, int line);
void captures_end(void);

/* traffic.c: run one traffic process; its exit status is its verdict. It
 * reports to init through the pipe, one message at a time.
 */
enum message_kind {
	MESSAGE_LISTENING,	/* sink: a connection can be made */
	MESSAGE_CONNECTING,	/* source: the first packet is about to leave */
	MESSAGE_START,		/* source: measuring starts at a, ends at b (0: open) */
	MESSAGE_END,		/* source: at a, had written b bytes, in calls system calls */
	MESSAGE_COMPLETE,	/* sink: at a, had verified b bytes, in calls system calls */
	MESSAGE_MISSING,	/* source: no subflow on the paths of bit mask a */
	MESSAGE_ERROR,		/* either: text says why */
};

struct message {
	uint32_t kind;
	uint32_t calls;
	uint64_t a;
	uint64_t b;
	char text[232];
};

struct traffic {
	bool is_sink;
	bool tcp;
	bool trace;		/* the scheduler's decisions */
	char peer[16];
	uint16_t port;
	unsigned int paths;
	uint64_t duration_ns;	/* 0: size_bytes counts */
	uint64_t size_bytes;
	uint64_t sample_interval_ns;
	uint64_t seed;
	char scheduler[16];	/* for this connection alone; "": that of the namespace */
};

void __attribute__((noreturn)) traffic_run(const struct traffic *t, int report_fd);

/* traffic.c: sleep until some nanoseconds since boot */
void sleep_until(uint64_t ns);

#endif
