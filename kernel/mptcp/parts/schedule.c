// SPDX-License-Identifier: GPL-2.0-only
/* The schedule of the module mptcp_daps.c of v0.89: see schedule.h. */

#include <linux/gcd.h>

#include "parts/schedule.h"

/* A bound that no window reaches: products below fit into 64 bits. */
#define SCHEDULE_MAX_PKTS	BIT(20)

static struct schedule_subflow *state_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

/* --- delays and windows */

static u64 schedule_delay_ms(const struct schedule *schedule, const struct mps_subflow *subflow)
{
	u32 delay_ms = subflow->srtt_us / schedule->us_in_ms / 2;
	u32 over_ms = delay_ms % schedule->round_ms;

	/* half of an odd unit is less than half */
	delay_ms -= over_ms;
	if (over_ms && over_ms >= schedule->round_ms / 2)
		delay_ms += schedule->round_ms;
	return max(delay_ms, 1U);
}

/* Once in a round trip, when all that was on its way the last time has arrived. */
static void schedule_smooth(struct mps_subflow *subflow)
{
	struct schedule_subflow *state = state_of(subflow);
	u64 cwnd_pkts = mps_cwnd(subflow);

	if (subflow->acked_bytes < state->round_end)
		return;
	if (state->cwnd8_pkts)
		cwnd_pkts += state->cwnd8_pkts - state->cwnd8_pkts / 8;
	else
		cwnd_pkts *= 8;
	state->cwnd8_pkts = max(cwnd_pkts, 1ULL);
	state->round_end = subflow->acked_bytes + subflow->outstanding_bytes -
			   min(subflow->unsent_bytes, subflow->outstanding_bytes);
}

static u64 schedule_cwnd(const struct schedule *schedule, struct mps_subflow *subflow)
{
	u64 cwnd8_pkts = schedule->smooth_cwnd ? state_of(subflow)->cwnd8_pkts : 0;
	u64 cwnd_pkts = cwnd8_pkts ? cwnd8_pkts / 8 : mps_cwnd(subflow);

	return clamp_t(u64, cwnd_pkts, 1, SCHEDULE_MAX_PKTS);
}

void schedule_look(struct mps_conn *conn, bool backups)
{
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow) {
		state_of(subflow)->takes_part = mps_has_room_soon(subflow) &&
						!mps_throttled(subflow) &&
						(backups || !subflow->backup);
		if (state_of(subflow)->takes_part)
			schedule_smooth(subflow);
	}
}
EXPORT_SYMBOL_GPL(schedule_look);

/* --- the schedule */

static bool schedule_takes(const struct schedule *schedule, struct mps_subflow *subflow)
{
	if (!state_of(subflow)->takes_part || !subflow->srtt_us)
		return false;
	return schedule->in_ss || subflow->cwnd_pkts > subflow->ssthresh_pkts ||
	       subflow->ssthresh_pkts >= TCP_INFINITE_SSTHRESH;
}

void schedule_begin(struct mps_conn *conn)
{
	struct schedule *schedule = mps_conn_priv(conn);
	u64 longest_ms = 0, period_ms = 1, rest_ms, most_ms = schedule->most_ms;
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow) {
		struct schedule_subflow *state = state_of(subflow);

		state->delay_ms = 0;
		if (!schedule_takes(schedule, subflow))
			continue;
		state->delay_ms = schedule_delay_ms(schedule, subflow);
		state->srtt_us = subflow->srtt_us;
		state->cwnd_pkts = schedule_cwnd(schedule, subflow);
		state->windows = 0;
		state->left_pkts = 0;
		longest_ms = max(longest_ms, state->delay_ms);
		/* no more than 2^31 x 2^31 */
		if (period_ms <= most_ms)
			period_ms *= div64_ul(state->delay_ms, gcd(period_ms, state->delay_ms));
	}
	div64_u64_rem(most_ms, max(longest_ms, 1ULL), &rest_ms);
	if (period_ms > most_ms)
		period_ms = max(longest_ms, most_ms - rest_ms);
	schedule->period_ms = longest_ms ? period_ms : 0;
}
EXPORT_SYMBOL_GPL(schedule_begin);

u64 schedule_sent(struct mps_subflow *subflow)
{
	const struct schedule_subflow *state = state_of(subflow);

	return state->windows * state->cwnd_pkts +
	       (state->left_pkts ? state->cwnd_pkts - state->left_pkts : 0);
}
EXPORT_SYMBOL_GPL(schedule_sent);

u64 schedule_arrival_us(struct mps_conn *conn, struct mps_subflow *subflow)
{
	const struct schedule *schedule = mps_conn_priv(conn);
	const struct schedule_subflow *state = state_of(subflow);
	u64 delay_us = state->delay_ms * USEC_PER_MSEC;
	u64 pkts = schedule_sent(subflow) - state->windows * state->cwnd_pkts;

	if (!schedule->ack_clocked)
		return (state->windows + 1) * delay_us;
	return (2 * state->windows + 1) * delay_us +
	       div64_u64(2 * delay_us * pkts, state->cwnd_pkts);
}
EXPORT_SYMBOL_GPL(schedule_arrival_us);

/* Of those that arrive at a time, the shorter RTT comes first. */
static bool schedule_comes_first(struct mps_subflow *one, struct mps_subflow *other)
{
	u32 one_us = state_of(one)->srtt_us, other_us = state_of(other)->srtt_us;

	return one_us < other_us || (one_us == other_us && one->id < other->id);
}

u64 schedule_before(struct mps_conn *conn, struct mps_subflow *other,
		    struct mps_subflow *subflow, u64 us)
{
	const struct schedule *schedule = mps_conn_priv(conn);
	const struct schedule_subflow *state = state_of(other);
	u64 delay_us = state->delay_ms * USEC_PER_MSEC;

	us += schedule_comes_first(other, subflow);
	if (us <= delay_us)
		return 0;
	if (!schedule->ack_clocked)
		return div64_u64(us - 1, delay_us) * state->cwnd_pkts;
	return DIV64_U64_ROUND_UP((us - delay_us) * state->cwnd_pkts, 2 * delay_us);
}
EXPORT_SYMBOL_GPL(schedule_before);

struct mps_subflow *schedule_next(struct mps_conn *conn)
{
	const struct schedule *schedule = mps_conn_priv(conn);
	struct mps_subflow *subflow, *next = NULL;
	u64 us, next_us = 0;

	mps_for_each_subflow(conn, subflow) {
		struct schedule_subflow *state = state_of(subflow);

		if (!state->delay_ms || !state->takes_part ||
		    (state->windows + 1) * state->delay_ms > schedule->period_ms ||
		    (schedule->with_room && !mps_has_room(subflow)))
			continue;
		us = schedule_arrival_us(conn, subflow);
		if (!next || us < next_us ||
		    (us == next_us && schedule_comes_first(subflow, next))) {
			next = subflow;
			next_us = us;
		}
	}
	return next;
}
EXPORT_SYMBOL_GPL(schedule_next);

struct mps_subflow *schedule_turn(struct mps_conn *conn)
{
	const struct schedule *schedule = mps_conn_priv(conn);
	struct mps_subflow *subflow = NULL;

	if (schedule->period_ms)
		subflow = schedule_next(conn);
	if (subflow)
		return subflow;
	schedule_begin(conn);
	return schedule_next(conn);
}
EXPORT_SYMBOL_GPL(schedule_turn);

void schedule_count(struct mps_conn *conn, struct mps_subflow *subflow)
{
	const struct schedule *schedule = mps_conn_priv(conn);
	struct schedule_subflow *state = state_of(subflow);

	if (!state->delay_ms)
		return;
	if (!state->left_pkts) {
		if (!schedule->planned_cwnd)
			state->cwnd_pkts = schedule_cwnd(schedule, subflow);
		state->left_pkts = state->cwnd_pkts;
	}
	if (!--state->left_pkts)
		state->windows++;
}
EXPORT_SYMBOL_GPL(schedule_count);

/* --- beside the schedule */

/* The window of the subflow counts, as in the source. NULL: for any segment. */
static bool schedule_is_available(const struct mps_subflow *subflow,
				  const struct mps_segment *seg)
{
	u32 bytes = seg ? min(mps_len(seg), subflow->mss_bytes) : 0;

	return mps_available(subflow) && !mps_throttled(subflow) &&
	       bytes <= subflow->window_bytes;
}

struct mps_subflow *schedule_lowest_rtt(struct mps_conn *conn, const struct mps_segment *seg,
					bool backups)
{
	struct mps_subflow *subflow, *best = NULL;
	bool carried, best_carried = true;

	mps_for_each_subflow(conn, subflow) {
		if (!schedule_is_available(subflow, seg) || (subflow->backup && !backups))
			continue;
		carried = mps_carried_by(seg, subflow);
		if (!best || carried < best_carried ||
		    (carried == best_carried && subflow->srtt_us < best->srtt_us)) {
			best = subflow;
			best_carried = carried;
		}
	}
	return best;
}
EXPORT_SYMBOL_GPL(schedule_lowest_rtt);

bool schedule_repeat(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_subflow *subflow, *best = NULL;
	struct mps_segment *seg, *oldest = NULL;

	mps_for_each_subflow(conn, subflow) {
		seg = mps_oldest_missing(conn, subflow);
		if (!seg || !schedule_is_available(subflow, seg) ||
		    (oldest && mps_seq(conn, seg) > mps_seq(conn, oldest)))
			continue;
		if (seg != oldest || subflow->srtt_us < best->srtt_us) {
			oldest = seg;
			best = subflow;
		}
	}
	return oldest && mps_pick_duplicate(pick, conn, best, oldest);
}
EXPORT_SYMBOL_GPL(schedule_repeat);
