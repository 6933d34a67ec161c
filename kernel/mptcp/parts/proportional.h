/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of proportional, and its measuring of the shares. */
#ifndef _MPTCP_LAB_PROPORTIONAL_H
#define _MPTCP_LAB_PROPORTIONAL_H

#include "parts/watch.h"

/* of shares: permille */
#define WHOLE			1000

struct proportional_conn {
	struct watch	watch;		/* first, as watch.h asks */
	bool		measuring;
	bool		unclear;	/* for a time there was nothing to send */
	u32		sent;		/* segments in this round */
	unsigned long	begin;		/* jiffies of the latest measuring */
	u32		intervals;	/* of it */
	u32		quiet;		/* of these without growth */
	u64		most_bytes;	/* acknowledged in one of them */
	u64		acked_bytes;	/* by its begin, since throughput has grown */
};

struct proportional_subflow {
	struct watch_subflow watch;
	u32		sent;		/* segments in this round */
	u32		share;
	u64		acked_bytes;	/* since throughput has grown, while it measures */
};

void proportional_begin_measuring(struct mps_conn *conn);

/* An interval of measuring is over: each subflow has sent all that it could. */
void proportional_measure(struct mps_conn *conn);

#endif
