// SPDX-License-Identifier: GPL-2.0-only
/* daps: a schedule, made in advance, by which segments arrive in order.
 *
 * Each subflow delivers a window of segments, again and again, its first one
 * after the delay of its path. The order in which all of them arrive is the
 * order in which they are numbered: that is the schedule. It says which of the
 * unsent segments are whose, and a subflow that has room sends the first one
 * that is its own, so that a slow path carries what the fast ones will have
 * come to when it arrives. The schedule is made from the delays and windows of
 * one moment, and is valid for the least common multiple of the delays: then
 * it would begin anew.
 *
 * Source: Sarwar, Boreli, Lochin, Mifdaoui, Smith, "Mitigating Receiver's
 * Buffer Blocking by Delay Aware Packet Scheduling in Multipath Data Transfer",
 * WAINA 2013; Kuhn, Lochin, Mifdaoui, Sarwar, Mehani, Boreli, "DAPS:
 * Intelligent Delay-Aware Packet Scheduling for Multipath Transport", ICC 2014;
 * the module in the out-of-tree kernel v0.89.
 *
 * Works where delays differ and are stable, and buffers are large. Fails where
 * they change: the schedule is of the past until it ends. Half the RTT stands
 * for the delay of the path.
 *
 * Look-ahead: look_ahead_pkts unsent segments; period_ms of schedule. It is not
 * written down: where a subflow's next segment stands in it is computed.
 */

#include <linux/gcd.h>

#include "mpsched.h"

/* A bound that no window reaches: products below fit into 64 bits. */
#define DAPS_MAX_PKTS	BIT(20)

enum { ROUND, PERIOD, LOOK_AHEAD, ACK_CLOCKED, REPEAT };

static const struct mps_param daps_params[] = {
	[ROUND]	      = MPS_UINT("round_ms", 1, 100, 4, "ms",
				 "delays are rounded to multiples of it"),
	[PERIOD]      = MPS_UINT("period_ms", 1, 60000, 1000, "ms",
				 "no schedule is longer, if that is not less than a delay"),
	[LOOK_AHEAD]  = MPS_UINT("look_ahead_pkts", 1, 65536, 1024, "segments",
				 "of what is farther from the first unsent one, the next is sent"),
	[ACK_CLOCKED] = MPS_BOOL("ack_clocked", 1,
				 "spread a window over a round trip, not at once each delay"),
	[REPEAT]      = MPS_BOOL("repeat", 1,
				 "when the receive window is closed, repeat what others carry"),
};

struct daps_conn {
	u64	period_us;	/* 0: there is no schedule */
};

struct daps_subflow {
	u64	delay_us;
	u64	cwnd_pkts;
	u64	sent_pkts;	/* since the schedule was made */
	bool	takes_part;	/* at present */
};

static struct daps_subflow *state_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

/* --- the schedule */

static u64 daps_delay_us(const struct mps_conn *conn, const struct mps_subflow *subflow)
{
	u64 unit_us = (u64)mps_param(conn, ROUND) * USEC_PER_MSEC;
	u64 units = (subflow->srtt_us / 2 + unit_us / 2) / unit_us;

	return max(units, 1ULL) * unit_us;
}

static void daps_begin(struct mps_conn *conn)
{
	u64 most_us = (u64)mps_param(conn, PERIOD) * USEC_PER_MSEC;
	struct daps_conn *schedule = mps_conn_priv(conn);
	struct mps_subflow *subflow;
	u64 longest_us = 0;
	u64 period_us = 1;

	mps_for_each_subflow(conn, subflow) {
		struct daps_subflow *state = state_of(subflow);

		state->delay_us = daps_delay_us(conn, subflow);
		state->cwnd_pkts = clamp_t(u64, mps_cwnd(subflow), 1, DAPS_MAX_PKTS);
		state->sent_pkts = 0;
		if (!state->takes_part)
			continue;
		longest_us = max(longest_us, state->delay_us);
		/* no more than 2^36 x 2^31 */
		if (period_us <= most_us)
			period_us *= state->delay_us / gcd(period_us, state->delay_us);
	}
	if (period_us > most_us)
		period_us = max(longest_us, most_us - most_us % max(longest_us, 1ULL));
	schedule->period_us = period_us;
}

static bool daps_has_ended(struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct daps_conn *schedule = mps_conn_priv(conn);
	struct daps_subflow *state = state_of(subflow);

	return state->sent_pkts >= state->cwnd_pkts * (schedule->period_us / state->delay_us);
}

/* When its next segment arrives, in us of the schedule. */
static u64 daps_arrival_us(const struct mps_conn *conn, const struct daps_subflow *state)
{
	u64 windows = state->sent_pkts / state->cwnd_pkts;
	u64 pkts = state->sent_pkts % state->cwnd_pkts;

	if (!mps_param(conn, ACK_CLOCKED))
		return (windows + 1) * state->delay_us;
	return (2 * windows + 1) * state->delay_us + 2 * state->delay_us * pkts / state->cwnd_pkts;
}

/* How many of its segments arrive before that, from the begin of the schedule. */
static u64 daps_before(const struct mps_conn *conn, const struct daps_subflow *state, u64 us)
{
	if (us <= state->delay_us)
		return 0;
	if (!mps_param(conn, ACK_CLOCKED))
		return (us - 1) / state->delay_us * state->cwnd_pkts;
	return DIV_ROUND_UP((us - state->delay_us) * state->cwnd_pkts, 2 * state->delay_us);
}

/* How many unsent segments are others' before the next one of this subflow. */
static u64 daps_nth(struct mps_conn *conn, struct mps_subflow *subflow)
{
	u64 arrival_us = daps_arrival_us(conn, state_of(subflow)), before, nth = 0;
	struct mps_subflow *other;

	mps_for_each_subflow(conn, other) {
		struct daps_subflow *state = state_of(other);
		u64 us = arrival_us;

		if (other == subflow || !state->takes_part)
			continue;
		/* of those that arrive at a time, the shorter delay comes first */
		us += state->delay_us < state_of(subflow)->delay_us ||
		      (state->delay_us == state_of(subflow)->delay_us && other->id < subflow->id);
		before = daps_before(conn, state, us);
		if (before > state->sent_pkts)
			nth += before - state->sent_pkts;
	}
	return nth;
}

/* Who takes part now; false: none has room. */
static bool daps_look(struct mps_conn *conn)
{
	struct daps_conn *schedule = mps_conn_priv(conn);
	bool backups = mps_only_backups(conn);
	struct mps_subflow *subflow;
	bool room = false;

	mps_for_each_subflow(conn, subflow) {
		struct daps_subflow *state = state_of(subflow);

		state->takes_part = mps_has_room_soon(subflow) && (backups || !subflow->backup);
		room |= state->takes_part && mps_has_room(subflow);
		/* one that is new */
		if (state->takes_part && !state->delay_us)
			schedule->period_us = 0;
	}
	return room;
}

/* The subflow with room that comes first in the schedule, and in *nth where it
 * stands there, in unsent segments. NULL: wait for room.
 */
static struct mps_subflow *daps_next(struct mps_conn *conn, u64 *nth)
{
	struct daps_conn *schedule = mps_conn_priv(conn);
	struct mps_subflow *subflow, *best = NULL;
	u64 position;

	if (!daps_look(conn))
		return NULL;
	if (!schedule->period_us)
		daps_begin(conn);
	mps_for_each_subflow(conn, subflow) {
		if (state_of(subflow)->takes_part && mps_has_room(subflow) &&
		    daps_has_ended(conn, subflow)) {
			daps_begin(conn);
			break;
		}
	}
	mps_for_each_subflow(conn, subflow) {
		if (!state_of(subflow)->takes_part || !mps_has_room(subflow))
			continue;
		position = daps_nth(conn, subflow);
		if (!best || position < *nth) {
			best = subflow;
			*nth = position;
		}
	}
	return best;
}

/* --- decisions */

static bool daps_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *head = mps_head(conn);
	struct mps_subflow *subflow;
	struct mps_segment *seg;
	u64 nth;

	if (mps_reinjection(conn))
		return mps_reinject(conn, pick);
	if (!head)
		return false;

	if (mps_param(conn, REPEAT) && !mps_fits_window(conn, head)) {
		subflow = mps_lowest_rtt(conn, NULL);
		seg = subflow ? mps_oldest_missing(conn, subflow) : NULL;
		if (seg)
			return mps_pick_duplicate(pick, conn, subflow, seg);
	}
	subflow = daps_next(conn, &nth);
	if (!subflow)
		return false;
	seg = mps_nth_unsent(conn, min_t(u64, nth, mps_param(conn, LOOK_AHEAD)));
	/* none: there is no more than others will carry before */
	return seg && mps_pick_new(pick, conn, subflow, seg);
}

static void daps_on_sent(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes)
{
	if (pick->kind == MPS_NEW)
		state_of(pick->subflow)->sent_pkts++;
}

static void daps_on_subflow_state(struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct daps_conn *schedule = mps_conn_priv(conn);

	schedule->period_us = 0;
}

static struct mps_ops daps_ops = {
	.next_segment	  = daps_next_segment,
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
