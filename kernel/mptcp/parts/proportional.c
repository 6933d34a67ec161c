// SPDX-License-Identifier: GPL-2.0-only
/* Measures the shares of proportional: each subflow in turn sends all that its window admits,
 * until throughput has stopped to grow.
 */

#include "parts/proportional.h"

/* Shares come from the intervals after which throughput has not grown by this much, in
 * permille: half of a step of musher's search. A window far from the rate of its path may
 * grow for minutes, and measuring has to end.
 */
#define GROWTH			25
#define QUIET			5
#define PATIENCE		25

static struct proportional_subflow *state_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

static void proportional_forget_acked(struct mps_conn *conn)
{
	struct proportional_conn *state = mps_conn_priv(conn);
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		state_of(subflow)->acked_bytes = 0;
	state->acked_bytes = 0;
	state->quiet = 0;
}

void proportional_begin_measuring(struct mps_conn *conn)
{
	struct proportional_conn *state = mps_conn_priv(conn);
	struct mps_subflow *subflow;

	/* each in turn, if it has room */
	mps_for_each_subflow(conn, subflow) {
		state_of(subflow)->share = WHOLE;
		state_of(subflow)->sent = 0;
	}
	state->begin = jiffies;
	state->intervals = 0;
	state->most_bytes = 0;
	proportional_forget_acked(conn);
	state->unclear = false;
	state->measuring = true;
	state->watch.look = jiffies;
	state->watch.last_kbps = 0;
	state->watch.queue_diff = 0;
}
EXPORT_SYMBOL_GPL(proportional_begin_measuring);

void proportional_measure(struct mps_conn *conn)
{
	struct proportional_conn *state = mps_conn_priv(conn);
	u64 all_bytes = 0, interval_bytes;
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		all_bytes += state_of(subflow)->acked_bytes;
	interval_bytes = all_bytes - state->acked_bytes;
	state->acked_bytes = all_bytes;
	if (!interval_bytes || state->unclear) {
		proportional_begin_measuring(conn);
		return;
	}
	state->intervals++;
	state->quiet++;
	if (interval_bytes * WHOLE > state->most_bytes * (WHOLE + GROWTH)) {
		state->most_bytes = interval_bytes;
		if (state->intervals < PATIENCE)
			proportional_forget_acked(conn);
	}
	if (state->quiet < QUIET && state->intervals < PATIENCE)
		return;
	mps_for_each_subflow(conn, subflow) {
		struct proportional_subflow *own = state_of(subflow);

		own->share = div64_u64(own->acked_bytes * WHOLE + all_bytes / 2, all_bytes);
		own->sent = 0;
	}
	state->sent = 0;
	state->measuring = false;
}
EXPORT_SYMBOL_GPL(proportional_measure);
