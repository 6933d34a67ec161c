/* SPDX-License-Identifier: GPL-2.0-only */
/* The bursts of musher: all that the source finds in the first buffer of its send queue
 * goes to one subflow, once that has room for a segment.
 */
#ifndef _MPTCP_LAB_MUSHER_BURST_H
#define _MPTCP_LAB_MUSHER_BURST_H

#include "mpsched.h"

struct musher_burst {
	u32	id;		/* the subflow of the latest burst, */
	u64	end_seq;	/* which has all before that */
	u64	buffer_end_seq;	/* of the source's first buffer, if it is full and in part
				 * sent; else before the head
				 */
	u32	window_bytes;	/* the largest receive window there was */
};

/* At each decision: notes the receive window. */
void musher_note_window(struct musher_burst *burst, const struct mps_conn *conn);

/* Begins a burst on a subflow with room, which has `left` segments left of its share.
 * Returns how many segments the source counts for it.
 */
u32 musher_begin_burst(struct musher_burst *burst, const struct mps_conn *conn,
		       struct mps_subflow *subflow, const struct mps_segment *head, u32 left);

/* The subflow of the burst that the segment is in. NULL: there is no such burst, or the
 * subflow might never have room for the rest.
 */
struct mps_subflow *musher_in_burst(const struct musher_burst *burst, struct mps_conn *conn,
				    const struct mps_segment *head);

#endif
