/* SPDX-License-Identifier: GPL-2.0-only */
/* What earliest expects of a path: when a segment arrives, and how much leaves in a time. */
#ifndef _MPTCP_LAB_EARLIEST_PATH_H
#define _MPTCP_LAB_EARLIEST_PATH_H

#include "mpsched.h"

/* State of a subflow: the rate at which its path delivers, measured with always more to send. */
struct earliest_subflow {
	u64	rate;		/* bytes per second; 0: not known yet */
	u64	since_ns;	/* when this measurement began; 0: it has not */
	u64	bytes;		/* acknowledged since */
};

/* Would more data leave later, but not elsewhere? Then the subflow is paced more slowly than
 * by its window, as with BBR but not with CUBIC or Reno, and has enough in its queue.
 */
bool earliest_is_busy(const struct mps_subflow *subflow);

/* The time from now until a new segment on the subflow arrives, behind its queue here, too. */
u32 earliest_delay_us(struct mps_subflow *subflow);

/* How many bytes leave in the time? */
u64 earliest_sends(const struct mps_subflow *subflow, u32 us);

void earliest_measure(struct mps_conn *conn, struct mps_subflow *subflow, u64 acked_bytes);
void earliest_stop_measuring(struct mps_conn *conn, struct mps_subflow *subflow);

#endif
