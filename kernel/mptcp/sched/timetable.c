// SPDX-License-Identifier: GPL-2.0-only
/* timetable: the schedule of daps, but nothing is queued by it.
 *
 * A schedule says in which order the segments of all subflows arrive, if each
 * delivers a window of them in every round trip, evenly spread, the first segment
 * after half a round trip. A subflow with room sends the first unsent segment
 * that is its own. Unsent data is scheduled again when the schedule ends, when
 * nothing unsent is left for the subflow that asks, or when a subflow comes, goes
 * or changes. A reinjection goes where the default scheduler of v0.9x would send
 * it.
 *
 * Source: ours. The schedule of daps (Sarwar et al., WAINA 2013; Kuhn et al., ICC
 * 2014), which queues segments in advance, and a window in each half of an RTT:
 * twice as much as TCP admits.
 *
 * Works where delays differ and are stable: little data arrives out of order,
 * and nothing waits in a queue that has become the wrong one. Fails where delays
 * change faster than a schedule lasts. Half the RTT stands for the delay of the
 * path.
 *
 * Look-ahead: look_ahead_pkts unsent segments. The schedule itself is in
 * parts/schedule.c.
 *
 * Differs from the source: in nothing.
 */

#include "parts/schedule.h"

enum {
	ROUND, USE_PLANNED_CWND, SMOOTH_CWND, IN_SS, REPEAT, PERIOD, LOOK_AHEAD, ACK_CLOCKED,
	SPARE_BACKUPS,
};

static const struct mps_param timetable_params[] = {
	[ROUND] = MPS_UINT("round_ms", 1, 100, 4, "ms", "delays are rounded to multiples of it"),
	[USE_PLANNED_CWND] = MPS_BOOL("use_planned_cwnd", 1,
				      "windows as when the schedule was made, not as they are"),
	[SMOOTH_CWND] = MPS_BOOL("smooth_cwnd", 1, "windows are smoothed over eight round trips"),
	[IN_SS] = MPS_BOOL("in_ss", 1, "schedule subflows in slow start after a loss, too"),
	[REPEAT] = MPS_BOOL("repeat", 1,
			    "when the receive window is closed, repeat what others carry"),
	[PERIOD] = MPS_UINT("period_ms", 1, 2147483647, 2147483647, "ms",
			    "no schedule is longer, if that is not less than a delay"),
	[LOOK_AHEAD] = MPS_UINT("look_ahead_pkts", 1, 65536, 1024, "segments",
				"instead of one farther away, the segment there is sent"),
	[ACK_CLOCKED] = MPS_BOOL("ack_clocked", 1,
				 "spread a window over a round trip, not at once each delay"),
	[SPARE_BACKUPS] = MPS_BOOL("spare_backups", 0,
				   "use a backup subflow only if no other is usable"),
};

/* They may change while the connection lives. */
static void timetable_read_params(struct mps_conn *conn)
{
	struct schedule *schedule = mps_conn_priv(conn);

	schedule->round_ms = mps_param(conn, ROUND);
	schedule->most_ms = mps_param(conn, PERIOD);
	schedule->planned_cwnd = mps_param(conn, USE_PLANNED_CWND);
	schedule->smooth_cwnd = mps_param(conn, SMOOTH_CWND);
	schedule->in_ss = mps_param(conn, IN_SS);
	schedule->ack_clocked = mps_param(conn, ACK_CLOCKED);
}

static void timetable_init(struct mps_conn *conn)
{
	struct schedule *schedule = mps_conn_priv(conn);

	schedule->us_in_ms = USEC_PER_MSEC;
	schedule->with_room = true;
}

/* How many unsent segments are others' before the next one of this subflow. */
static u64 timetable_nth(struct mps_conn *conn, struct mps_subflow *subflow)
{
	u64 arrival_us = schedule_arrival_us(conn, subflow), before, nth = 0;
	struct mps_subflow *other;

	mps_for_each_subflow(conn, other) {
		struct schedule_subflow *state = mps_subflow_priv(other);

		if (other == subflow || !state->delay_ms || !state->takes_part)
			continue;
		before = schedule_before(conn, other, subflow, arrival_us);
		if (before > schedule_sent(other))
			nth += before - schedule_sent(other);
	}
	return nth;
}

/* Which unsent segment the subflow sends; NULL: there is no more than others will
 * carry before.
 */
static struct mps_segment *timetable_own(struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct schedule_subflow *state = mps_subflow_priv(subflow);
	u64 most = mps_param(conn, LOOK_AHEAD);

	if (!state->delay_ms)
		return mps_head(conn);
	return mps_nth_unsent(conn, min(timetable_nth(conn, subflow), most));
}

static bool timetable_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *head = mps_head(conn), *seg;
	bool backups = mps_may_use_backups(conn, SPARE_BACKUPS);
	struct mps_subflow *subflow;

	if (mps_reinjection(conn))
		return mps_reinject(conn, pick);
	if (!head)
		return false;
	timetable_read_params(conn);
	schedule_look(conn, backups);
	if (mps_param(conn, REPEAT) && !mps_fits_window(conn, head) &&
	    schedule_repeat(conn, pick))
		return true;

	subflow = schedule_turn(conn) ?: schedule_lowest_rtt(conn, head, backups);
	if (!subflow)
		return false;
	seg = timetable_own(conn, subflow);
	if (!seg) {
		/* or a subflow that the schedule of the past gives too much to would
		 * keep one with room from all that there is
		 */
		schedule_begin(conn);
		subflow = schedule_next(conn) ?: subflow;
		seg = timetable_own(conn, subflow);
	}
	return seg && mps_pick_new(pick, conn, subflow, seg);
}

static struct mps_subflow *timetable_get_subflow(struct mps_conn *conn,
						 const struct mps_segment *seg)
{
	return schedule_lowest_rtt(conn, seg, mps_may_use_backups(conn, SPARE_BACKUPS));
}

static void timetable_on_sent(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes)
{
	if (pick->kind == MPS_NEW)
		schedule_count(conn, pick->subflow);
}

/* What there is of the schedule is of other subflows. */
static void timetable_on_subflow_state(struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct schedule *schedule = mps_conn_priv(conn);

	schedule->period_ms = 0;
}

static struct mps_ops timetable_ops = {
	.next_segment	  = timetable_next_segment,
	.get_subflow	  = timetable_get_subflow,
	.init		  = timetable_init,
	.init_subflow	  = timetable_on_subflow_state,
	.on_sent	  = timetable_on_sent,
	.on_subflow_state = timetable_on_subflow_state,
	.name		  = "timetable",
	.owner		  = THIS_MODULE,
	.conn_size	  = sizeof(struct schedule),
	.subflow_size	  = sizeof(struct schedule_subflow),
	.params		  = timetable_params,
	.num_params	  = ARRAY_SIZE(timetable_params),
};

mps_scheduler(timetable_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler: the schedule of DAPS, with nothing queued in advance");
