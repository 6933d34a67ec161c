// SPDX-License-Identifier: GPL-2.0-only
/* proportional: segments in proportion to the measured rates of the paths.
 *
 * While it measures, each subflow in turn sends all that its window admits, until
 * throughput has stopped growing. The data acknowledged on each subflow in the
 * last intervals is its share, in permille. The shares hold strictly from then on:
 * the next segment goes to the subflow that is farthest behind its share, and
 * waits for room there. It measures at the beginning, when a subflow comes, goes
 * or changes, when throughput has changed by a quarter or the queues have fallen
 * by two fifths, and every period_ms.
 *
 * Source: ours. The question of musher (Saha et al., MobiCom 2019), and its looks
 * at throughput and queues; but measured shares instead of a search, mixed
 * segments instead of bursts, and any number of paths.
 *
 * Works where rates are stable for seconds: hardly any data arrives out of order
 * over paths that are alike. Fails where rates change faster than it measures,
 * and where a path loses packets: all others wait for that path. A faster path
 * shows only at the next measurement, and only as far as its window has grown.
 *
 * Measuring is in parts/proportional.c, the watch between two measurings in
 * parts/watch.c.
 *
 * Differs from the source: in nothing.
 */

#include "parts/proportional.h"

/* Between measurings, a change of throughput by a quarter counts, and a fall of the queues
 * by two fifths: a window of cubic falls by three tenths at a loss.
 */
#define CHANGE(_rate)		((_rate) / 4)
#define FALL(_queue)		((_queue) * 2 / 5)

enum { CWND_LIMITED, INTERVAL, MEASURE_INTERVAL, SPACING, PERIOD, SPARE_BACKUPS };

static const struct mps_param proportional_params[] = {
	[CWND_LIMITED] = MPS_BOOL("cwnd_limited", 0,
				  "pass over a subflow whose congestion window is full"),
	[INTERVAL] = MPS_UINT("interval_ms", 10, 10000, 100, "ms", "from one look to the next"),
	[MEASURE_INTERVAL] = MPS_UINT("measure_interval_ms", 10, 10000, 200, "ms",
				      "the same while it measures, if no RTT is longer"),
	[SPACING] = MPS_UINT("spacing_ms", 0, 600000, 3000, "ms",
			     "from one measuring to the next after a change, at least"),
	[PERIOD] = MPS_UINT("period_ms", 0, 600000, 10000, "ms",
			    "from one measuring to the next, at most; 0: no matter"),
	[SPARE_BACKUPS] = MPS_BOOL("spare_backups", 0,
				   "use a backup subflow only if no other is usable"),
};

static struct proportional_subflow *state_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

/* --- shares */

/* Do the other subflows wait for this one, if it is behind its share? */
static bool proportional_takes_part(struct mps_conn *conn, const struct mps_subflow *subflow,
				    bool backups)
{
	const struct proportional_conn *state = mps_conn_priv(conn);

	if (!mps_has_room_soon(subflow) || (subflow->backup && !backups))
		return false;
	return mps_has_room(subflow) || (!mps_param(conn, CWND_LIMITED) && !state->measuring);
}

static void proportional_begin_round(struct mps_conn *conn)
{
	bool backups = mps_may_use_backups(conn, SPARE_BACKUPS);
	struct proportional_conn *state = mps_conn_priv(conn);
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		if (proportional_takes_part(conn, subflow, backups))
			state_of(subflow)->sent = 0;
	state->sent = 0;
}

/* The subflow that is farthest behind its share, in a tie the newest one; a subflow without
 * a share only if no other takes part. NULL: none takes part, or that one has no room.
 */
static struct mps_subflow *proportional_choose(struct mps_conn *conn)
{
	bool backups = mps_may_use_backups(conn, SPARE_BACKUPS);
	struct mps_subflow *subflow, *next = NULL;

	list_for_each_entry_reverse(subflow, &conn->subflows, node) {
		if (!proportional_takes_part(conn, subflow, backups))
			continue;
		/* (sent + 1) / share is less: it comes first */
		if (!next || (state_of(subflow)->sent + 1ULL) * state_of(next)->share <
			     (state_of(next)->sent + 1ULL) * state_of(subflow)->share)
			next = subflow;
	}
	return next && mps_has_room(next) ? next : NULL;
}

/* --- measuring */

static u32 proportional_interval_ms(struct mps_conn *conn)
{
	const struct proportional_conn *state = mps_conn_priv(conn);
	u32 ms = mps_param(conn, MEASURE_INTERVAL);
	struct mps_subflow *subflow;

	if (!state->measuring)
		return mps_param(conn, INTERVAL);
	/* a path takes an RTT to show its rate */
	mps_for_each_subflow(conn, subflow)
		if (subflow->usable && subflow->min_rtt_us != ~0U)
			ms = max(ms, subflow->min_rtt_us / (u32)USEC_PER_MSEC);
	return ms;
}

/* Looks at throughput and queues, if it is time to. */
static void proportional_look(struct mps_conn *conn)
{
	struct proportional_conn *state = mps_conn_priv(conn);
	struct watch *watch = &state->watch;
	u32 past_ms;

	if (!watch_look(conn, proportional_interval_ms(conn)))
		return;
	past_ms = jiffies_to_msecs(jiffies - state->begin);
	if (state->measuring) {
		proportional_measure(conn);
	} else if (mps_param(conn, PERIOD) && past_ms >= mps_param(conn, PERIOD)) {
		proportional_begin_measuring(conn);
	} else if (!watch->last_kbps) {
		if (watch_refer(watch)) {
			watch->change_kbps = CHANGE(watch->last_kbps);
			watch->fall_bytes = FALL(watch->last_queue);
		}
	} else {
		watch_differs(watch);
		if (watch_has_changed(watch) && past_ms >= mps_param(conn, SPACING))
			proportional_begin_measuring(conn);
	}
}

/* --- hooks */

static struct mps_subflow *proportional_get_subflow(struct mps_conn *conn,
						    const struct mps_segment *seg)
{
	return mps_first_available(conn, seg, mps_may_use_backups(conn, SPARE_BACKUPS));
}

static bool proportional_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *reinjection = mps_reinjection(conn), *head = mps_head(conn);
	struct proportional_conn *state = mps_conn_priv(conn);
	struct mps_subflow *subflow;

	proportional_look(conn);
	if (reinjection) {
		subflow = proportional_get_subflow(conn, reinjection);
		return subflow && mps_pick_reinjection(pick, conn, subflow, reinjection);
	}
	if (!head) {
		/* the application limits the throughput */
		state->unclear |= !conn->writer_waits;
		return false;
	}
	subflow = proportional_choose(conn);
	if (!subflow)
		return false;
	/* a pick counts even if the receive window is closed */
	if (!mps_fits_window(conn, head))
		state_of(subflow)->sent++;
	return mps_pick_new(pick, conn, subflow, head);
}

static void proportional_on_sent(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes)
{
	struct proportional_conn *state = mps_conn_priv(conn);

	if (pick->kind != MPS_NEW)
		return;
	state_of(pick->subflow)->sent++;
	/* each has had its share */
	if (++state->sent == WHOLE)
		proportional_begin_round(conn);
}

static void proportional_on_ack(struct mps_conn *conn, struct mps_subflow *subflow,
				u64 acked_bytes)
{
	state_of(subflow)->acked_bytes += acked_bytes;
}

static void proportional_init(struct mps_conn *conn)
{
	struct proportional_conn *state = mps_conn_priv(conn);

	/* the first look may be at once */
	state->watch.look = jiffies - msecs_to_jiffies(mps_param(conn, INTERVAL)) - 1;
	state->begin = jiffies - msecs_to_jiffies(mps_param(conn, SPACING));
}

static void proportional_upset(struct mps_conn *conn, struct mps_subflow *subflow)
{
	proportional_begin_measuring(conn);
}

static struct mps_ops proportional_ops = {
	.next_segment		= proportional_next_segment,
	.get_subflow		= proportional_get_subflow,
	.init			= proportional_init,
	.init_subflow		= proportional_upset,
	.release_subflow	= proportional_upset,
	.on_ack			= proportional_on_ack,
	.on_subflow_state	= proportional_upset,
	.on_sent		= proportional_on_sent,
	.name			= "proportional",
	.owner			= THIS_MODULE,
	.conn_size		= sizeof(struct proportional_conn),
	.subflow_size		= sizeof(struct proportional_subflow),
	.params			= proportional_params,
	.num_params		= ARRAY_SIZE(proportional_params),
};

mps_scheduler(proportional_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler: in proportion to the measured rates of the paths");
