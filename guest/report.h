/* SPDX-License-Identifier: GPL-2.0-only */
/* What the processes of the traffic, or of the programs, report to init: through a pipe,
 * one report at a time.
 */
#ifndef REPORT_H
#define REPORT_H

#include <stdint.h>

enum report_kind {
	REPORT_LISTENING,	/* server: a connection can be made */
	REPORT_CONNECTING,	/* client: it connects now */
	REPORT_START,		/* client: measuring starts at a, ends at b (0: open) */
	REPORT_DONE,		/* either: has written a bytes, has verified b bytes */
	REPORT_ENDED,		/* programs: the client's has ended, at a */
	REPORT_STATUS,		/* programs: a and b are the client's and the server's status */
	REPORT_UP,		/* tunnel: its connection can carry data */
	REPORT_MISSING,		/* client: no subflow on path b + i for each bit i of a */
	REPORT_ERROR,		/* either: text says why */
};

struct report {
	uint32_t kind;
	uint32_t calls;		/* system calls to move data */
	uint64_t a;
	uint64_t b;
	char text[232];
};

/* From REPORT_START to START: init starts the probes meanwhile. */
#define START_DELAY_NS	(NS_PER_SEC / 100)

/* the pipe that this process reports to */
void report_to(int fd);
void tell(enum report_kind kind, uint64_t a, uint64_t b, const char *text);
/* report an error, and end this process */
void __attribute__((noreturn, format(printf, 1, 2))) fail(const char *format, ...);

#endif
