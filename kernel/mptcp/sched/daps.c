// SPDX-License-Identifier: GPL-2.0-only
/* daps: a schedule, made in advance, by which segments arrive in order.
 *
 * Each subflow delivers a window of segments, again and again, the first time
 * after the delay of its path. The order in which all of them arrive is the
 * order in which they are numbered: that is the schedule. Segments are queued
 * on the subflows as it says, whether their windows are full or not. It is made
 * from the delays and windows of one moment, and is valid for the least common
 * multiple of the delays: then it would begin anew.
 *
 * Source: Sarwar, Boreli, Lochin, Mifdaoui, Smith, "Mitigating Receiver's
 * Buffer Blocking by Delay Aware Packet Scheduling in Multipath Data Transfer",
 * WAINA 2013; Kuhn, Lochin, Mifdaoui, Sarwar, Mehani, Boreli, "DAPS:
 * Intelligent Delay-Aware Packet Scheduling for Multipath Transport", ICC 2014;
 * the module of Simone Ferlin in the out-of-tree kernel v0.89.
 *
 * Works where delays differ and are stable, and buffers are large. Fails where
 * they change: the schedule is of the past until it ends, and what is queued
 * cannot move any more. Half the RTT stands for the delay of the path.
 *
 * Look-ahead: the queues hold at most what the receive window and the send
 * buffer admit. With commit=off, look_ahead_pkts unsent segments. The schedule
 * is not written down: where a subflow's next segment stands in it is computed.
 *
 * Differs from the source:
 * - delays_in_us: the source takes microseconds for milliseconds, so that the
 *   schedule of the first windows, as a rule, outlives the connection, or the
 *   common multiple overflows its int. Against the papers, and against its own
 *   comment: off by default.
 * - period_ms: the source's int overflows beyond 2147483647; here no schedule is
 *   longer than that, or than what is set.
 * - commit: the source queues segments as scheduled. Off, a subflow with room
 *   sends the first unsent segment that is its own, and what has not been sent
 *   is scheduled again when the schedule ends, when nothing unsent is left for
 *   the subflow that asks, or when a subflow comes, goes or changes; and a
 *   reinjection goes where the default scheduler of v0.9x would send it.
 * - ack_clocked: in the source a window arrives in each delay, half an RTT, all
 *   of it at once: twice as much as TCP admits. On, it takes a round trip, evenly
 *   spread.
 * - spare_backups: the source does not look at the flag. On, a backup subflow is
 *   used only if no other is usable.
 */

#include <linux/gcd.h>

#include "mpsched.h"

/* A bound that no window reaches: products below fit into 64 bits. */
#define DAPS_MAX_PKTS	BIT(20)

enum {
	ROUND, USE_PLANNED_CWND, SMOOTH_CWND, DAPS_IN_SS, REPEAT, DELAYS_IN_US,
	PERIOD, COMMIT, LOOK_AHEAD, ACK_CLOCKED, SPARE_BACKUPS,
};

static const struct mps_param daps_params[] = {
	[ROUND] = MPS_UINT("round_ms", 1, 100, 4, "ms", "delays are rounded to multiples of it"),
	[USE_PLANNED_CWND] = MPS_BOOL("use_planned_cwnd", 1,
				      "windows as when the schedule was made, not as they are"),
	[SMOOTH_CWND] = MPS_BOOL("smooth_cwnd", 1, "windows are smoothed over eight round trips"),
	[DAPS_IN_SS] = MPS_BOOL("daps_in_ss", 1,
				"schedule subflows in slow start after a loss, too"),
	[REPEAT] = MPS_BOOL("repeat", 1,
			    "when the receive window is closed, repeat what others carry"),
	[DELAYS_IN_US] = MPS_BOOL("delays_in_us", 0, "take microseconds for milliseconds"),
	[PERIOD] = MPS_UINT("period_ms", 1, 2147483647, 2147483647, "ms",
			    "no schedule is longer, if that is not less than a delay"),
	[COMMIT] = MPS_BOOL("commit", 1, "queue segments on full subflows, as scheduled"),
	[LOOK_AHEAD] = MPS_UINT("look_ahead_pkts", 1, 65536, 1024, "segments",
				"commit=off: instead of one farther away, that one is sent"),
	[ACK_CLOCKED] = MPS_BOOL("ack_clocked", 0,
				 "spread a window over a round trip, not at once each delay"),
	[SPARE_BACKUPS] = MPS_BOOL("spare_backups", 0,
				   "use a backup subflow only if no other is usable"),
};

struct daps_conn {
	u64	period_ms;	/* 0: there is no schedule */
};

struct daps_subflow {
	/* of the schedule */
	u64	delay_ms;	/* 0: not in it */
	u32	srtt_us;
	u64	cwnd_pkts;
	u64	windows;	/* that it has sent */
	u64	left_pkts;	/* of the next one; 0: all of it */

	bool	takes_part;	/* at present */
	u64	cwnd8_pkts;	/* smoothed, times 8; 0: not yet */
	u64	round_end;	/* acknowledged when it is smoothed the next time */
};

static struct daps_subflow *state_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

/* --- what a schedule is made from */

static u64 daps_delay_ms(const struct mps_conn *conn, const struct mps_subflow *subflow)
{
	u32 us_in_ms = mps_param(conn, DELAYS_IN_US) ? 1 : USEC_PER_MSEC;
	u32 delay_ms = subflow->srtt_us / us_in_ms / 2, unit_ms = mps_param(conn, ROUND);
	u32 over_ms = delay_ms % unit_ms;

	/* half of an odd unit is less than half */
	delay_ms -= over_ms;
	if (over_ms && over_ms >= unit_ms / 2)
		delay_ms += unit_ms;
	return max(delay_ms, 1U);
}

/* Once in a round trip, when all that was on its way the last time has arrived. */
static void daps_smooth(struct mps_subflow *subflow)
{
	struct daps_subflow *state = state_of(subflow);
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

static u64 daps_cwnd(const struct mps_conn *conn, struct mps_subflow *subflow)
{
	u64 cwnd8_pkts = mps_param(conn, SMOOTH_CWND) ? state_of(subflow)->cwnd8_pkts : 0;
	u64 cwnd_pkts = cwnd8_pkts ? cwnd8_pkts / 8 : mps_cwnd(subflow);

	return clamp_t(u64, cwnd_pkts, 1, DAPS_MAX_PKTS);
}

/* Who takes part now: whose queue moves on. */
static void daps_look(struct mps_conn *conn)
{
	bool backups = !mps_param(conn, SPARE_BACKUPS) || mps_only_backups(conn);
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow) {
		state_of(subflow)->takes_part = mps_has_room_soon(subflow) &&
						!mps_throttled(subflow) &&
						(backups || !subflow->backup);
		if (state_of(subflow)->takes_part)
			daps_smooth(subflow);
	}
}

/* --- the schedule */

static bool daps_is_to_be_scheduled(struct mps_conn *conn, struct mps_subflow *subflow)
{
	if (!state_of(subflow)->takes_part || !subflow->srtt_us)
		return false;
	return mps_param(conn, DAPS_IN_SS) || subflow->cwnd_pkts > subflow->ssthresh_pkts ||
	       subflow->ssthresh_pkts >= TCP_INFINITE_SSTHRESH;
}

static void daps_begin(struct mps_conn *conn)
{
	u64 longest_ms = 0, period_ms = 1, most_ms = mps_param(conn, PERIOD);
	struct daps_conn *schedule = mps_conn_priv(conn);
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow) {
		struct daps_subflow *state = state_of(subflow);

		state->delay_ms = 0;
		if (!daps_is_to_be_scheduled(conn, subflow))
			continue;
		state->delay_ms = daps_delay_ms(conn, subflow);
		state->srtt_us = subflow->srtt_us;
		state->cwnd_pkts = daps_cwnd(conn, subflow);
		state->windows = 0;
		state->left_pkts = 0;
		longest_ms = max(longest_ms, state->delay_ms);
		/* no more than 2^31 x 2^31 */
		if (period_ms <= most_ms)
			period_ms *= state->delay_ms / gcd(period_ms, state->delay_ms);
	}
	if (period_ms > most_ms)
		period_ms = max(longest_ms, most_ms - most_ms % max(longest_ms, 1ULL));
	schedule->period_ms = longest_ms ? period_ms : 0;
}

/* So many of its segments are sent. */
static u64 daps_sent(const struct daps_subflow *state)
{
	return state->windows * state->cwnd_pkts +
	       (state->left_pkts ? state->cwnd_pkts - state->left_pkts : 0);
}

/* When its next segment arrives, in us of the schedule. */
static u64 daps_arrival_us(const struct mps_conn *conn, const struct daps_subflow *state)
{
	u64 delay_us = state->delay_ms * USEC_PER_MSEC;
	u64 pkts = daps_sent(state) - state->windows * state->cwnd_pkts;

	if (!mps_param(conn, ACK_CLOCKED))
		return (state->windows + 1) * delay_us;
	return (2 * state->windows + 1) * delay_us + 2 * delay_us * pkts / state->cwnd_pkts;
}

/* Of those that arrive at a time, the shorter RTT comes first. */
static bool daps_comes_first(struct mps_subflow *one, struct mps_subflow *other)
{
	u32 one_us = state_of(one)->srtt_us, other_us = state_of(other)->srtt_us;

	return one_us < other_us || (one_us == other_us && one->id < other->id);
}

/* How many segments of `other` come before one of `subflow` that arrives at a
 * time, from the begin of the schedule.
 */
static u64 daps_before(const struct mps_conn *conn, struct mps_subflow *other,
		       struct mps_subflow *subflow, u64 us)
{
	const struct daps_subflow *state = state_of(other);
	u64 delay_us = state->delay_ms * USEC_PER_MSEC;

	us += daps_comes_first(other, subflow);
	if (us <= delay_us)
		return 0;
	if (!mps_param(conn, ACK_CLOCKED))
		return (us - 1) / delay_us * state->cwnd_pkts;
	return DIV_ROUND_UP((us - delay_us) * state->cwnd_pkts, 2 * delay_us);
}

/* How many unsent segments are others' before the next one of this subflow. */
static u64 daps_nth(struct mps_conn *conn, struct mps_subflow *subflow)
{
	u64 arrival_us = daps_arrival_us(conn, state_of(subflow)), before, nth = 0;
	struct mps_subflow *other;

	mps_for_each_subflow(conn, other) {
		struct daps_subflow *state = state_of(other);

		if (other == subflow || !state->delay_ms || !state->takes_part)
			continue;
		before = daps_before(conn, other, subflow, arrival_us);
		if (before > daps_sent(state))
			nth += before - daps_sent(state);
	}
	return nth;
}

/* The subflow whose segment is the next in the schedule; if nothing is queued
 * on full ones, of those with room. NULL: it has none of them any more.
 */
static struct mps_subflow *daps_next(struct mps_conn *conn)
{
	struct daps_conn *schedule = mps_conn_priv(conn);
	struct mps_subflow *subflow, *next = NULL;
	u64 us, next_us = 0;

	mps_for_each_subflow(conn, subflow) {
		struct daps_subflow *state = state_of(subflow);

		if (!state->delay_ms || !state->takes_part ||
		    (state->windows + 1) * state->delay_ms > schedule->period_ms ||
		    (!mps_param(conn, COMMIT) && !mps_has_room(subflow)))
			continue;
		us = daps_arrival_us(conn, state);
		if (!next || us < next_us || (us == next_us && daps_comes_first(subflow, next))) {
			next = subflow;
			next_us = us;
		}
	}
	return next;
}

/* What comes in the schedule before the subflow's next segment, of those that take no
 * part, is skipped.
 */
static void daps_skip(struct mps_conn *conn, struct mps_subflow *subflow)
{
	u64 us = daps_arrival_us(conn, state_of(subflow)), windows;
	struct mps_subflow *other;

	mps_for_each_subflow(conn, other) {
		struct daps_subflow *state = state_of(other);

		if (other == subflow || !state->delay_ms || state->takes_part)
			continue;
		windows = daps_before(conn, other, subflow, us) / state->cwnd_pkts;
		if (windows > state->windows) {
			state->windows = windows;
			state->left_pkts = 0;
		}
	}
}

/* Whose turn it is, if need be by a new schedule. */
static struct mps_subflow *daps_turn(struct mps_conn *conn)
{
	struct daps_conn *schedule = mps_conn_priv(conn);
	struct mps_subflow *subflow = NULL;

	if (schedule->period_ms)
		subflow = daps_next(conn);
	if (!subflow) {
		daps_begin(conn);
		subflow = daps_next(conn);
	}
	if (subflow && mps_param(conn, COMMIT))
		daps_skip(conn, subflow);
	return subflow;
}

static void daps_count(struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct daps_subflow *state = state_of(subflow);

	if (!state->delay_ms)
		return;
	if (!state->left_pkts) {
		if (!mps_param(conn, USE_PLANNED_CWND))
			state->cwnd_pkts = daps_cwnd(conn, subflow);
		state->left_pkts = state->cwnd_pkts;
	}
	if (!--state->left_pkts)
		state->windows++;
}

/* --- decisions */

/* The window of the subflow counts, as in the source. NULL: for any segment. */
static bool daps_is_available(const struct mps_subflow *subflow, const struct mps_segment *seg)
{
	u32 bytes = seg ? min(mps_len(seg), subflow->mss_bytes) : 0;

	return mps_available(subflow) && !mps_throttled(subflow) &&
	       bytes <= subflow->window_bytes;
}

/* The lowest RTT of those with room that have not carried the segment, or else of
 * all with room.
 */
static struct mps_subflow *daps_lowest_rtt(struct mps_conn *conn, const struct mps_segment *seg)
{
	bool backups = !mps_param(conn, SPARE_BACKUPS) || mps_only_backups(conn);
	struct mps_subflow *subflow, *best = NULL;
	bool carried, best_carried = true;

	mps_for_each_subflow(conn, subflow) {
		if (!daps_is_available(subflow, seg) || (subflow->backup && !backups))
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

/* The oldest segment that a subflow with room has not carried, on the one with the
 * lowest RTT of these.
 */
static bool daps_repeat(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_subflow *subflow, *best = NULL;
	struct mps_segment *seg, *oldest = NULL;

	mps_for_each_subflow(conn, subflow) {
		seg = mps_oldest_missing(conn, subflow);
		if (!seg || !daps_is_available(subflow, seg) ||
		    (oldest && mps_seq(conn, seg) > mps_seq(conn, oldest)))
			continue;
		if (seg != oldest || subflow->srtt_us < best->srtt_us) {
			oldest = seg;
			best = subflow;
		}
	}
	return oldest && mps_pick_duplicate(pick, conn, best, oldest);
}

/* Which unsent segment the subflow sends; NULL: there is no more than others will
 * carry before.
 */
static struct mps_segment *daps_own(struct mps_conn *conn, struct mps_subflow *subflow)
{
	u64 most = mps_param(conn, LOOK_AHEAD);

	if (mps_param(conn, COMMIT) || !state_of(subflow)->delay_ms)
		return mps_head(conn);
	return mps_nth_unsent(conn, min(daps_nth(conn, subflow), most));
}

static bool daps_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *reinjection = mps_reinjection(conn), *head = mps_head(conn), *seg;
	struct mps_subflow *subflow = NULL;

	if (reinjection && !mps_param(conn, COMMIT))
		return mps_reinject(conn, pick);
	if (!reinjection && !head)
		return false;
	daps_look(conn);
	/* as in the source, also when the window is closed: turns that are missed pass */
	if (mps_param(conn, COMMIT))
		subflow = daps_turn(conn);
	if (!reinjection && mps_param(conn, REPEAT) && !mps_fits_window(conn, head) &&
	    daps_repeat(conn, pick))
		return true;

	if (!mps_param(conn, COMMIT))
		subflow = daps_turn(conn);
	subflow = subflow ?: daps_lowest_rtt(conn, reinjection ?: head);
	if (!subflow)
		return false;
	if (reinjection)
		return mps_pick_reinjection(pick, conn, subflow, reinjection);
	seg = daps_own(conn, subflow);
	if (!seg) {
		/* or a subflow that the schedule of the past gives too much to would
		 * keep one with room from all that there is
		 */
		daps_begin(conn);
		subflow = daps_next(conn) ?: subflow;
		seg = daps_own(conn, subflow);
	}
	return seg && mps_pick_new(pick, conn, subflow, seg);
}

static void daps_on_sent(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes)
{
	if (pick->kind == MPS_NEW || (pick->kind == MPS_REINJECTION && mps_param(conn, COMMIT)))
		daps_count(conn, pick->subflow);
}

static void daps_on_subflow_state(struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct daps_conn *schedule = mps_conn_priv(conn);

	if (!mps_param(conn, COMMIT))
		schedule->period_ms = 0;
}

static struct mps_ops daps_ops = {
	.next_segment	  = daps_next_segment,
	.get_subflow	  = daps_lowest_rtt,
	.init_subflow	  = daps_on_subflow_state,
	.on_sent	  = daps_on_sent,
	.on_subflow_state = daps_on_subflow_state,
	.name		  = "daps",
	.owner		  = THIS_MODULE,
	.conn_size	  = sizeof(struct daps_conn),
	.subflow_size	  = sizeof(struct daps_subflow),
	.params		  = daps_params,
	.num_params	  = ARRAY_SIZE(daps_params),
};

mps_scheduler(daps_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler DAPS: delay-aware packet scheduling");
