/* SPDX-License-Identifier: GPL-2.0-only */
/* The interval of raven: where it expects the next RTT of a subflow. */
#ifndef _MPTCP_LAB_RAVEN_INTERVAL_H
#define _MPTCP_LAB_RAVEN_INTERVAL_H

#include "mpsched.h"

/* The parameters */
enum { LOWER1, UPPER1, LOWER, UPPER, HALF_LIFE, AGING, WHOLE_UPPER };

/* first in the scheduler's state of a subflow */
struct raven_interval {
	u64	rtts_us;	/* sum of the samples, by weight */
	u64	weights;	/* sum of the weights; 0: no sample yet */
	u64	aged_ns;	/* both are as of this time */
	u64	sampled_ns;

	u64	low_us;		/* 0: there is no interval */
	u64	high_us;
	u64	expires_ns;	/* the bounds hold until then */
};

/* The hook on_ack(): adds a sample. */
void raven_sample(struct mps_conn *conn, struct mps_subflow *subflow, u64 acked_bytes);

/* Brings the bounds up to date. */
void raven_predict(const struct mps_conn *conn, struct mps_subflow *subflow, u64 now_ns);

#endif
