// SPDX-License-Identifier: GPL-2.0-only
/* video: lowest RTT first, not what is too late; after the idea of Corbillon.
 *
 * The application announces its units, such as the frames of a video, with their
 * sizes, deadlines, importance and dependencies (docs/units.md). Before the next
 * one begins, the scheduler goes through them: it compares the data that all
 * paths can deliver before a unit's deadline with the data up to its end in the
 * queue. If a unit will miss its deadline, less important ones before it are
 * dropped, if that helps. A unit that would still arrive after it expires is
 * useless, and is dropped with all that depend on it. Whatever is left is sent in
 * order, on the available path of the lowest RTT, or the unit waits for a faster
 * one that is only full where the other one would bring it too late.
 *
 * Source: after the idea of Corbillon, Aparicio-Pardo, Kuhn, Texier, Simon,
 * "Cross-Layer Scheduler for Video Streaming over MPTCP", MMSys 2016. We had only
 * the abstract, and no code. The paper's part: the scheduler knows the units of
 * the video, and sends only what arrives in time and can be decoded. Every
 * formula is ours.
 *
 * Works where a live video needs a little more than the paths carry: others fall
 * behind until every frame is late. Fails where windows and RTTs say little of the
 * rate to come: after a drop of the rate, units leave that will be late, and when
 * a path comes back with a small window, some are dropped that would not have
 * been. Without units it is minrtt:rp=off.
 *
 * What the paths bring is in parts/video_paths.c, promises are in
 * parts/video_promise.c.
 *
 * Differs from the source:
 * - margin_percent: that an RTT is kept for losses is ours; 0 keeps nothing.
 * - importance: less important units are dropped for others. The source knows what
 *   depends on what; how it chooses is not known to us. Off, only what is late
 *   itself is dropped.
 * - always: units stay in order, where the source moves them. What leaves out of
 *   order could not be dropped any more, nor what is before it.
 * - always: the socket option stands for what is called cross-layer there.
 */

#include "parts/video.h"

enum { DROP, IMPORTANCE, MARGIN };

static const struct mps_param video_params[] = {
	[DROP]	     = MPS_BOOL("drop", 1, "do not send units that would be of no use"),
	[IMPORTANCE] = MPS_BOOL("importance", 1, "drop less important units for others"),
	[MARGIN]     = MPS_UINT("margin_percent", 0, 400, 100, "%",
				"of an RTT, kept for losses: so much earlier data is to be there"),
};

struct video_conn {
	u32	announced;	/* units that were there at the last look */
	bool	look;		/* something has changed since */
	struct video_promise promise;
};

/* Of the units before `late`, or itself: which is to be dropped so that `late`
 * is in time, with `too_much` bytes before its deadline? Less important ones go,
 * the least and largest first, if they are enough. NULL: none.
 */
static const struct mps_unit *video_victim(struct mps_conn *conn, const struct mps_unit *late,
					   u64 too_much)
{
	const struct mps_unit *unit, *victim = NULL;
	u64 bytes = 0;

	for (unit = mps_first_unit(conn); unit != late; unit = mps_next_unit(conn, unit)) {
		if (unit->importance >= late->importance || !mps_may_drop(conn, unit))
			continue;
		bytes += unit->bytes;
		if (!victim || unit->importance < victim->importance ||
		    (unit->importance == victim->importance && unit->bytes > victim->bytes))
			victim = unit;
	}
	return bytes >= too_much ? victim : NULL;
}

/* The first unit that has to go; NULL: all may stay. */
static const struct mps_unit *video_hopeless(struct mps_conn *conn)
{
	struct video_conn *state = mps_conn_priv(conn);
	bool idle = conn->una_seq == conn->nxt_seq;
	bool can_tell = video_look_at_paths(conn, mps_param(conn, MARGIN));
	const struct mps_unit *unit, *victim;
	u64 now_ns = mps_clock_ns();

	video_promise(&state->promise, conn, now_ns, can_tell);
	for (unit = mps_first_unit(conn); unit; unit = mps_next_unit(conn, unit)) {
		u64 end = unit->seq + unit->bytes, left, in_time;
		bool may_drop = mps_may_drop(conn, unit);

		if (unit->useless && may_drop)
			return unit;
		if (!can_tell || end <= conn->nxt_seq)
			continue;
		left = end - conn->nxt_seq;
		video_promise_unit(&state->promise, conn, left,
				   min(unit->deadline_ns, unit->expires_ns));
		in_time = video_brings(conn, now_ns, unit->deadline_ns);
		victim = NULL;
		if (left > in_time && mps_param(conn, IMPORTANCE))
			victim = video_victim(conn, unit, left - in_time);
		if (victim)
			return victim;
		if (unit->expires_ns != unit->deadline_ns)
			in_time = video_brings(conn, now_ns, unit->expires_ns);
		/* If nothing is in flight, the first one is sent, unless it is of no use
		 * already: a window that is not used never becomes larger, and an RTT
		 * that was too long remains so.
		 */
		if (may_drop && left > in_time && !(idle && unit->expires_ns > now_ns))
			return unit;
		idle = false;
	}
	return NULL;
}

/* Is the segment in time on `fast`, which has room again after an ACK, and not
 * on `slow`?
 */
static bool video_waits(struct mps_conn *conn, const struct mps_segment *seg,
			const struct mps_subflow *fast, const struct mps_subflow *slow)
{
	const struct mps_unit *unit = mps_unit_of(conn, seg);
	u64 now_ns = mps_clock_ns(), left_us;
	u32 room_us;

	if (!unit || unit->deadline_ns == U64_MAX || unit->deadline_ns <= now_ns)
		return false;
	left_us = div_u64(unit->deadline_ns - now_ns, NSEC_PER_USEC);
	/* a window of ACKs comes in a round trip */
	room_us = fast->srtt_us / max(mps_cwnd(fast), 1U);
	return video_trip_us(slow) > left_us && (u64)room_us + video_trip_us(fast) <= left_us;
}

/* Is it time to look which units go? Not again before something has changed; and
 * not before the next unit begins, as what has begun stays.
 */
static bool video_may_look(struct mps_conn *conn, const struct mps_segment *head)
{
	const struct mps_unit *first = mps_first_unit(conn);
	struct video_conn *state = mps_conn_priv(conn);

	if (!first || !mps_param(conn, DROP) ||
	    !(state->look || state->announced != conn->units_announced))
		return false;
	return !head || mps_seq(conn, head) <= first->seq;
}

static bool video_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *head = mps_head(conn);
	struct video_conn *state = mps_conn_priv(conn);
	struct mps_subflow *best, *fast;
	const struct mps_unit *unit;

	if (video_may_look(conn, head)) {
		unit = NULL;
		if (state->announced != conn->units_announced ||
		    !video_is_promised(&state->promise, conn, mps_param(conn, MARGIN)))
			unit = video_hopeless(conn);
		if (unit) {
			state->promise.holds = false;
			return mps_pick_drop(pick, unit);
		}
		state->look = false;
		state->announced = conn->units_announced;
	}
	if (mps_reinjection(conn))
		return mps_reinject(conn, pick);
	best = head ? mps_lowest_rtt(conn, NULL) : NULL;
	if (!best)
		return false;
	fast = mps_faster_but_full(conn, best);
	if (fast && video_waits(conn, head, fast, best))
		return false;
	return mps_pick_new(pick, conn, best, head);
}

static void video_look_again(struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct video_conn *state = mps_conn_priv(conn);

	state->look = true;
}

/* A path more, or less */
static void video_paths_changed(struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct video_conn *state = mps_conn_priv(conn);

	state->look = true;
	state->promise.holds = false;
}

static void video_on_ack(struct mps_conn *conn, struct mps_subflow *subflow, u64 acked_bytes)
{
	video_look_again(conn, subflow);
}

static struct mps_ops video_ops = {
	.next_segment		= video_next_segment,
	.init_subflow		= video_paths_changed,
	.release_subflow	= video_paths_changed,
	.on_ack			= video_on_ack,
	.on_loss		= video_look_again,
	.on_rto			= video_look_again,
	.on_subflow_state	= video_paths_changed,
	.takes_units		= true,
	.name			= "video",
	.owner			= THIS_MODULE,
	.conn_size		= sizeof(struct video_conn),
	.subflow_size		= sizeof(struct video_subflow),
	.params			= video_params,
	.num_params		= ARRAY_SIZE(video_params),
};

mps_scheduler(video_ops);

MODULE_DESCRIPTION("MPTCP scheduler: units of a video by deadline and importance");
MODULE_LICENSE("GPL");
