/* SPDX-License-Identifier: GPL-2.0-only */
/* The watch of musher and proportional: a scheduler looks at the throughput of the
 * paths and at the queues of the subflows, and learns whether either has changed so
 * far, and for so long, that other shares might be better.
 *
 * Both structures come first in the scheduler's own state, of the connection and of
 * each subflow.
 */
#ifndef _MPTCP_LAB_WATCH_H
#define _MPTCP_LAB_WATCH_H

#include "mpsched.h"

struct watch {
	unsigned long	look;		/* jiffies of the latest one */
	/* the latest look */
	u64		kbps;		/* throughput since the one before */
	u64		queue_bytes;	/* mean of what was queued since then */

	/* sums of the looks that make the reference */
	u64		reference_kbps;
	u64		reference_queue;
	u32		references;
	/* the look to compare with; 0: there is no reference */
	u64		last_kbps;
	u64		last_queue;
	s64		rate_diff;	/* from the reference */
	s64		queue_diff;
	u64		change_kbps;	/* differences from the reference that count */
	s64		fall_bytes;
	u32		rate_count;	/* looks in a row that differ */
	u32		queue_count;
};

struct watch_subflow {
	u64		queue_bytes;	/* sum over its samples since the latest look */
	u32		samples;
	u64		device_bytes;	/* that its device had sent then */
	unsigned long	device_look;
};

/* Takes a sample of the queues at each call. True: the interval is over, and the watch
 * has a new look.
 */
bool watch_look(struct mps_conn *conn, u32 interval_ms);

/* Adds the look to the reference. True: the reference is complete, and the scheduler
 * sets the differences that count.
 */
bool watch_refer(struct watch *watch);

/* Adds what the look differs by from the one before. */
void watch_differs(struct watch *watch);

/* Do so many looks in a row differ from the reference that other shares might be better?
 * Then the watch begins anew.
 */
bool watch_has_changed(struct watch *watch);

#endif
