/* SPDX-License-Identifier: GPL-2.0-only */
/* The program that runs inside: init carries out the plan and watches over the
 * traffic processes, which are forks of itself.
 */
#ifndef GUEST_H
#define GUEST_H

#include <stdbool.h>
#include <stdint.h>

#define NS_PER_SEC	1000000000ull

/* plan.c: carry out the plan's commands up to the first traffic line, whose
 * text is returned; NULL when there is none. Ends the guest on any failure.
 */
char *plan_run(char *text);

/* plan.c: move this process into a network namespace; NULL: the first one */
void enter_namespace(const char *name);

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
	char peer[16];
	uint16_t port;
	unsigned int paths;
	uint64_t duration_ns;	/* 0: size_bytes counts */
	uint64_t size_bytes;
	uint64_t sample_interval_ns;
	uint64_t seed;
};

void __attribute__((noreturn)) traffic_run(const struct traffic *t, int report_fd);

/* init.c: say why on the console and in the outcome, and end the guest */
void __attribute__((noreturn, format(printf, 1, 2))) give_up(const char *format, ...);

#endif
