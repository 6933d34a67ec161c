// SPDX-License-Identifier: GPL-2.0-only
/* When an interval of ols is over, and its reward: see ols_interval.h. */

#include "parts/ols.h"
#include "parts/ols_interval.h"

#define INTERVAL_US	(40 * USEC_PER_MSEC)
#define INTERVAL_RTTS	2
/* A highest rate that is older is forgotten with all sent twice. */
#define RATE_US		(50ULL * INTERVAL_US)

static struct ols_rates *rates_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

static void interval_begin(struct ols_interval *interval, u64 nxt_seq)
{
	*interval = (struct ols_interval) {
		.begin_seq = nxt_seq,
		.end_seq   = nxt_seq,
		.una_seq   = nxt_seq,
	};
}

static void interval_sends(struct ols_interval *interval, u64 nxt_seq, u64 now)
{
	if (!interval->begin_us && nxt_seq > interval->begin_seq)
		interval->begin_us = now;
	interval->end_seq = nxt_seq;
	interval->end_us = now;
}

static void interval_acked(struct ols_interval *interval, u64 now)
{
	interval->acked = true;
	interval->acked_us = now;
}

/* The goodput of the interval, bytes per second */
static u64 interval_rate(const struct ols_interval *interval)
{
	u64 us = interval->acked_us - interval->begin_us;

	if (interval->acked_us <= interval->begin_us)
		return 0;
	return div64_u64((interval->end_seq - interval->begin_seq) * USEC_PER_SEC, us);
}

/* The end of the data that has left the subflow. */
static u64 subflow_nxt(struct mps_subflow *subflow)
{
	u32 outstanding = subflow->outstanding_bytes;

	return rates_of(subflow)->acked_bytes +
	       (outstanding - min(subflow->unsent_bytes, outstanding));
}

/* Has every subflow, whatever its state, sent for long enough? */
static bool ols_all_sent(struct mps_conn *conn)
{
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow) {
		const struct ols_interval *interval = &rates_of(subflow)->interval;

		if (!interval->begin_us ||
		    interval->end_us - interval->begin_us < rates_of(subflow)->lasts_us)
			return false;
	}
	return true;
}

/* Is everything acknowledged that was sent in the interval? Of the connection, only an
 * acknowledgment counts that comes after the interval was over.
 */
static bool ols_all_acked(struct mps_conn *conn, u64 now)
{
	struct ols_intervals *state = mps_conn_priv(conn);
	struct ols_interval *whole = &state->interval;
	struct mps_subflow *subflow;
	bool all = true;

	mps_for_each_subflow(conn, subflow) {
		struct ols_interval *interval = &rates_of(subflow)->interval;

		if (subflow->usable && !interval->acked && state->sent &&
		    rates_of(subflow)->acked_bytes >= interval->end_seq)
			interval_acked(interval, now);
		all &= interval->acked;
	}
	if (state->sent && whole->una_seq < whole->end_seq && conn->una_seq >= whole->end_seq)
		interval_acked(whole, now);
	whole->una_seq = conn->una_seq;
	return all && whole->acked;
}

static u64 ols_reward(struct mps_conn *conn, bool renew, u64 now)
{
	const struct ols_intervals *state = mps_conn_priv(conn);
	struct mps_subflow *subflow;
	u64 sum = 0;

	mps_for_each_subflow(conn, subflow) {
		struct ols_rates *rates = rates_of(subflow);
		u64 rate = interval_rate(&rates->interval);

		if (!ols_is_active(subflow))
			continue;
		if (rate > rates->rate || (renew && now > rates->rate_us + RATE_US)) {
			rates->rate = rate;
			rates->rate_us = now;
		}
		sum += rates->rate;
	}
	return sum ? div64_u64(interval_rate(&state->interval) * SCALE, sum) : 0;
}

bool ols_interval_over(struct mps_conn *conn, bool renew, u64 *reward)
{
	u64 now = div_u64(mps_clock_ns(), NSEC_PER_USEC);
	struct ols_intervals *state = mps_conn_priv(conn);
	struct mps_subflow *subflow;

	if (!state->sent) {
		mps_for_each_subflow(conn, subflow)
			if (subflow->usable)
				interval_sends(&rates_of(subflow)->interval,
					       subflow_nxt(subflow), now);
		interval_sends(&state->interval, conn->nxt_seq, now);
		state->sent = ols_all_sent(conn);
	}
	if (!ols_all_acked(conn, now))
		return false;
	*reward = ols_reward(conn, renew, now);
	return true;
}
EXPORT_SYMBOL_GPL(ols_interval_over);

void ols_next_interval(struct mps_conn *conn)
{
	struct ols_intervals *state = mps_conn_priv(conn);
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow) {
		if (!subflow->usable)
			continue;
		interval_begin(&rates_of(subflow)->interval, subflow_nxt(subflow));
		rates_of(subflow)->lasts_us = max_t(u64, INTERVAL_US,
						    (u64)INTERVAL_RTTS * subflow->srtt_us);
	}
	interval_begin(&state->interval, conn->nxt_seq);
	state->sent = false;
}
EXPORT_SYMBOL_GPL(ols_next_interval);

void ols_first_interval(struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct ols_intervals *state = mps_conn_priv(conn);

	interval_begin(&state->interval, conn->nxt_seq);
	state->sent = false;
	interval_begin(&rates_of(subflow)->interval, subflow_nxt(subflow));
	rates_of(subflow)->lasts_us = INTERVAL_US;
}
EXPORT_SYMBOL_GPL(ols_first_interval);
