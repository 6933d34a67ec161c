/* SPDX-License-Identifier: GPL-2.0-only */
/* The intervals of ols: each lasts until all data that was sent in it is acknowledged. The
 * goodput of an interval is the reward of its arm. Times are in us.
 */
#ifndef _MPTCP_LAB_OLS_INTERVAL_H
#define _MPTCP_LAB_OLS_INTERVAL_H

#include "mpsched.h"

/* An interval, of a subflow or of the connection */
struct ols_interval {
	u64	begin_seq;
	u64	end_seq;
	u64	una_seq;	/* all before it was acknowledged at the last look */
	u64	begin_us;	/* when the first byte left; 0: none has */
	u64	end_us;		/* the last look, while it lasts */
	u64	acked_us;	/* when all of it was acknowledged */
	bool	acked;
};

/* Both structures come first in the scheduler's own state, of the connection and of each
 * subflow.
 */
struct ols_intervals {
	struct ols_interval interval;
	bool	sent;		/* all subflows have sent for long enough */
};

struct ols_rates {
	struct ols_interval interval;
	u64	acked_bytes;	/* of the subflow, ever */
	u64	lasts_us;	/* its interval, at least */
	u64	rate;		/* the highest one, bytes per second */
	u64	rate_us;	/* when it was seen */
};

static inline bool ols_is_active(const struct mps_subflow *subflow)
{
	return subflow->usable && !subflow->backup;
}

/* Looks at the interval. False: it lasts. True: *reward is the goodput of the connection
 * over the sum of the highest rates of its subflows, in SCALE. With `renew`, a subflow
 * forgets a highest rate that is too old.
 */
bool ols_interval_over(struct mps_conn *conn, bool renew, u64 *reward);

/* Begins the next interval, on all usable subflows. */
void ols_next_interval(struct mps_conn *conn);

/* Begins the first interval of a new subflow, and a new one of the connection. */
void ols_first_interval(struct mps_conn *conn, struct mps_subflow *subflow);

#endif
