// SPDX-License-Identifier: GPL-2.0-only
/* daps: a schedule, made in advance, by which segments arrive in order.
 *
 * Each subflow delivers a window of segments, again and again, the first time
 * after the delay of its path. The order in which all of them arrive is the order
 * in which they are numbered: that is the schedule. Segments are queued on the
 * subflows in this order, whether their windows are full or not. The schedule is
 * made from the delays and windows of one moment, and is valid for the least
 * common multiple of the delays: then it would begin again.
 *
 * Source: Sarwar, Boreli, Lochin, Mifdaoui, Smith, "Mitigating Receiver's
 * Buffer Blocking by Delay Aware Packet Scheduling in Multipath Data Transfer",
 * WAINA 2013; Kuhn, Lochin, Mifdaoui, Sarwar, Mehani, Boreli, "DAPS:
 * Intelligent Delay-Aware Packet Scheduling for Multipath Transport", ICC 2014;
 * the module of Simone Ferlin in the out-of-tree kernel v0.89.
 *
 * Works where delays differ and are stable, and buffers are large. Fails where
 * they change: the schedule is of the past until it ends, and what is queued
 * cannot move any more; timetable queues nothing. Half the RTT stands for the
 * delay of the path.
 *
 * Look-ahead: the queues hold at most what the receive window and the send
 * buffer admit. The schedule itself is in parts/schedule.c.
 *
 * Differs from the source:
 * - delays_in_us: the source mistakes microseconds for milliseconds, so that the
 *   schedule of the first windows, as a rule, outlives the connection, or the
 *   common multiple overflows its int. Against the papers, and against its own
 *   comment: off by default.
 * - period_ms: the source's int overflows beyond 2147483647; here no schedule is
 *   longer than that, or than what is set.
 * - spare_backups: the source does not look at the flag. On, a backup subflow is
 *   used only if no other is usable.
 */

#include "parts/schedule.h"

enum {
	ROUND, USE_PLANNED_CWND, SMOOTH_CWND, DAPS_IN_SS, REPEAT, DELAYS_IN_US, PERIOD,
	SPARE_BACKUPS,
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
	[SPARE_BACKUPS] = MPS_BOOL("spare_backups", 0,
				   "use a backup subflow only if no other is usable"),
};

/* They may change while the connection lives. */
static void daps_read_params(struct mps_conn *conn)
{
	struct schedule *schedule = mps_conn_priv(conn);

	schedule->round_ms = mps_param(conn, ROUND);
	schedule->us_in_ms = mps_param(conn, DELAYS_IN_US) ? 1 : USEC_PER_MSEC;
	schedule->most_ms = mps_param(conn, PERIOD);
	schedule->planned_cwnd = mps_param(conn, USE_PLANNED_CWND);
	schedule->smooth_cwnd = mps_param(conn, SMOOTH_CWND);
	schedule->in_ss = mps_param(conn, DAPS_IN_SS);
}

/* What comes in the schedule before the subflow's next segment, of those that take no
 * part, is skipped.
 */
static void daps_skip(struct mps_conn *conn, struct mps_subflow *subflow)
{
	u64 us = schedule_arrival_us(conn, subflow), windows;
	struct mps_subflow *other;

	mps_for_each_subflow(conn, other) {
		struct schedule_subflow *state = mps_subflow_priv(other);

		if (other == subflow || !state->delay_ms || state->takes_part)
			continue;
		windows = div64_u64(schedule_before(conn, other, subflow, us), state->cwnd_pkts);
		if (windows > state->windows) {
			state->windows = windows;
			state->left_pkts = 0;
		}
	}
}

static bool daps_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *reinjection = mps_reinjection(conn), *head = mps_head(conn);
	bool backups = mps_may_use_backups(conn, SPARE_BACKUPS);
	struct mps_subflow *subflow;

	if (!reinjection && !head)
		return false;
	daps_read_params(conn);
	schedule_look(conn, backups);
	/* as in the source, also when the window is closed: turns that are missed pass */
	subflow = schedule_turn(conn);
	if (subflow)
		daps_skip(conn, subflow);
	if (!reinjection && mps_param(conn, REPEAT) && !mps_fits_window(conn, head) &&
	    schedule_repeat(conn, pick))
		return true;

	if (!subflow)
		subflow = schedule_lowest_rtt(conn, reinjection ?: head, backups);
	if (!subflow)
		return false;
	if (reinjection)
		return mps_pick_reinjection(pick, conn, subflow, reinjection);
	return mps_pick_new(pick, conn, subflow, head);
}

static struct mps_subflow *daps_get_subflow(struct mps_conn *conn, const struct mps_segment *seg)
{
	return schedule_lowest_rtt(conn, seg, mps_may_use_backups(conn, SPARE_BACKUPS));
}

static void daps_on_sent(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes)
{
	if (pick->kind == MPS_NEW || pick->kind == MPS_REINJECTION)
		schedule_count(conn, pick->subflow);
}

static struct mps_ops daps_ops = {
	.next_segment	= daps_next_segment,
	.get_subflow	= daps_get_subflow,
	.on_sent	= daps_on_sent,
	.name		= "daps",
	.owner		= THIS_MODULE,
	.conn_size	= sizeof(struct schedule),
	.subflow_size	= sizeof(struct schedule_subflow),
	.params		= daps_params,
	.num_params	= ARRAY_SIZE(daps_params),
};

mps_scheduler(daps_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler DAPS: delay-aware packet scheduling");
