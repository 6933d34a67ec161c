// SPDX-License-Identifier: GPL-2.0-only
/* proportional: segments in proportion to the measured rates of the paths.
 *
 * While it measures, each subflow in turn sends all that its window admits, until
 * throughput has stopped to grow. What was acknowledged on each subflow in the
 * last intervals of that are the shares, in permille. They hold strictly from then
 * on: the next segment goes to the subflow that is the farthest behind its share,
 * and waits for that one's room. It measures at the beginning, when a subflow
 * comes, goes or changes, when throughput has changed by a quarter or the queues
 * have fallen by two fifths, and every period_ms.
 *
 * Source: ours. The question of musher (Saha et al., MobiCom 2019), and its looks
 * at throughput and queues; but measured shares instead of a search, mixed
 * segments instead of bursts, and any number of paths.
 *
 * Works where rates are stable for seconds: hardly any data arrives out of order
 * over paths that are alike. Fails where rates change faster than it measures, and
 * where a path loses packets: all wait for that one. A path that has become faster
 * is seen at the next measuring only, and then as far as its window has grown.
 *
 * The looks are in parts/watch.c.
 *
 * Differs from the source: in nothing.
 */

#include "parts/watch.h"

/* of shares: permille */
#define WHOLE			1000
/* Shares are those of the intervals after which throughput has not grown by this much,
 * in permille: half of a step of musher's search. A window far from what its path
 * carries may grow for minutes, and measuring has to end.
 */
#define GROWTH			25
#define QUIET			5
#define PATIENCE		25
/* After that, a change of throughput by a quarter counts, and a fall of the queues
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

struct proportional_conn {
	struct watch	watch;		/* first, as watch.h asks */
	bool		measuring;
	bool		unclear;	/* for a time there was nothing to send */
	u32		sent;		/* segments in this round */
	unsigned long	begin;		/* jiffies of the latest measuring */
	u32		intervals;	/* of it */
	u32		quiet;		/* of these without growth */
	u64		most_bytes;	/* acknowledged in one of them */
	u64		acked_bytes;	/* by its begin, since throughput has grown */
};

struct proportional_subflow {
	struct watch_subflow watch;
	u32		sent;		/* segments in this round */
	u32		share;
	u64		acked_bytes;	/* since throughput has grown, while it measures */
};

static struct proportional_subflow *state_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

/* --- shares */

/* Do the others wait for it, if it is behind? */
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

/* The subflow that is the farthest behind its share, the newest one in a tie; of those
 * without a share only if there is no other. NULL: none takes part, or it has no room.
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

static void proportional_forget_acked(struct mps_conn *conn)
{
	struct proportional_conn *state = mps_conn_priv(conn);
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		state_of(subflow)->acked_bytes = 0;
	state->acked_bytes = 0;
	state->quiet = 0;
}

static void proportional_begin(struct mps_conn *conn)
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

/* An interval in which each sent what it could. */
static void proportional_measure(struct mps_conn *conn)
{
	struct proportional_conn *state = mps_conn_priv(conn);
	u64 all_bytes = 0, interval_bytes;
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		all_bytes += state_of(subflow)->acked_bytes;
	interval_bytes = all_bytes - state->acked_bytes;
	state->acked_bytes = all_bytes;
	if (!interval_bytes || state->unclear) {
		proportional_begin(conn);
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

static u32 proportional_interval_ms(struct mps_conn *conn)
{
	const struct proportional_conn *state = mps_conn_priv(conn);
	u32 ms = mps_param(conn, MEASURE_INTERVAL);
	struct mps_subflow *subflow;

	if (!state->measuring)
		return mps_param(conn, INTERVAL);
	/* what a path carries is seen in no less than its RTT */
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
		proportional_begin(conn);
	} else if (!watch->last_kbps) {
		if (watch_refer(watch)) {
			watch->change_kbps = CHANGE(watch->last_kbps);
			watch->fall_bytes = FALL(watch->last_queue);
		}
	} else {
		watch_differs(watch);
		if (watch_has_changed(watch) && past_ms >= mps_param(conn, SPACING))
			proportional_begin(conn);
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
		/* throughput is what the application writes */
		state->unclear |= !conn->writer_waits;
		return false;
	}
	subflow = proportional_choose(conn);
	if (!subflow)
		return false;
	/* what is picked counts, though the window of the receiver is closed */
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
	proportional_begin(conn);
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
