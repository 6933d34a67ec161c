/* SPDX-License-Identifier: GPL-2.0-only */
/* An interval of ols, of a subflow or of the connection: what is sent in it, and when all of
 * that is acknowledged. Times are in us.
 */
#ifndef _MPTCP_LAB_OLS_INTERVAL_H
#define _MPTCP_LAB_OLS_INTERVAL_H

#include <linux/math64.h>
#include <linux/time64.h>
#include <linux/types.h>

struct ols_interval {
	u64	begin_seq;
	u64	end_seq;
	u64	una_seq;	/* all before it was acknowledged at the last look */
	u64	begin_us;	/* when the first byte left; 0: none has */
	u64	end_us;		/* the last look, while it lasts */
	u64	acked_us;	/* when all of it was acknowledged */
	bool	acked;
};

static inline void interval_begin(struct ols_interval *interval, u64 nxt_seq)
{
	*interval = (struct ols_interval) {
		.begin_seq = nxt_seq,
		.end_seq   = nxt_seq,
		.una_seq   = nxt_seq,
	};
}

static inline void interval_sends(struct ols_interval *interval, u64 nxt_seq, u64 now)
{
	if (!interval->begin_us && nxt_seq > interval->begin_seq)
		interval->begin_us = now;
	interval->end_seq = nxt_seq;
	interval->end_us = now;
}

static inline void interval_acked(struct ols_interval *interval, u64 now)
{
	interval->acked = true;
	interval->acked_us = now;
}

/* The goodput of the interval, bytes per second */
static inline u64 interval_rate(const struct ols_interval *interval)
{
	u64 us = interval->acked_us - interval->begin_us;

	if (interval->acked_us <= interval->begin_us)
		return 0;
	return div64_u64((interval->end_seq - interval->begin_seq) * USEC_PER_SEC, us);
}

#endif
