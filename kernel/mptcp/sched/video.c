// SPDX-License-Identifier: GPL-2.0-only
/* video: lowest RTT first, not what is too late; after the idea of Corbillon.
 *
 * The application announces its units, such as the frames of a video, with their
 * sizes, deadlines, importance and dependencies (docs/units.md). Before the next
 * one begins, the scheduler adds up: what all paths together can have brought by a
 * deadline, against all that is before its end in the queue. A unit that will miss
 * its deadline has less important ones before it dropped, if that helps; one that
 * will not be there before it is of no use, and what depends on it, is dropped
 * itself. Whatever is left is sent in order, on the available path of the lowest
 * RTT, or the unit waits for a faster one that is only full where the other one
 * would bring it too late.
 *
 * Source: after the idea of Corbillon, Aparicio-Pardo, Kuhn, Texier, Simon,
 * "Cross-Layer Scheduler for Video Streaming over MPTCP", MMSys 2016. Only the
 * abstract was at hand, and no code. The paper's part: the scheduler knows the
 * units of the video, and sends only what arrives in time and can be decoded.
 * Every formula is ours.
 *
 * Works where a live video needs a little more than the paths carry: others fall
 * behind until every frame is late. Fails where windows and RTTs say little of the
 * rate to come: after a drop of the rate, units leave that will be late, and when
 * a path comes back with a small window, some are dropped that would not have
 * been. Without units it is minrtt:rp=off.
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

#include "mpsched.h"

/* Bounds that keep all sums in 64 bits: no path has a larger window, and nobody
 * plans further ahead.
 */
#define VIDEO_WINDOW_MAX_BYTES	((u64)SZ_1G)
#define VIDEO_AHEAD_MAX_US	(60ULL * USEC_PER_SEC)
/* of rates, so that they are divided once for all units */
#define VIDEO_RATE_SHIFT	20
/* A promise leaves a quarter of each rate and trip; less, down to this power of two, if
 * a unit needs that.
 */
#define VIDEO_LEAVES_SHIFT	2
#define VIDEO_LEAVES_SHIFT_MAX	8
/* and so that it outlasts a few ACKs */
#define VIDEO_SPARE_SEGMENTS	4ULL

enum { DROP, IMPORTANCE, MARGIN };

static const struct mps_param video_params[] = {
	[DROP]	     = MPS_BOOL("drop", 1, "do not send units that would be of no use"),
	[IMPORTANCE] = MPS_BOOL("importance", 1, "drop less important units for others"),
	[MARGIN]     = MPS_UINT("margin_percent", 0, 400, 100, "%",
				"of an RTT, kept for losses: so much earlier data is to be there"),
};

/* A promise: at the last look at the units, all were in time with so much to spare,
 * counting each path for less than it brings. As long as no path brings less than
 * that, and what is sent keeps up with it, they are in time without another look.
 */
struct video_promise {
	bool	holds;
	u64	nxt_seq;	/* what was sent then */
	u64	now_ns;
	u64	spare_bytes;
	u64	rate;		/* of all paths, as in struct video_window */
	u32	leaves_shift;
};

struct video_conn {
	u32	announced;	/* units that were there at the last look */
	bool	look;		/* something has changed since */
	struct video_promise promise;
};

/* A congestion window, and as a rate: bytes per microsecond << VIDEO_RATE_SHIFT. */
struct video_window {
	u64	bytes;
	u64	rate;
};

/* A path, as of the last look. */
struct video_subflow {
	u32	trip_us;	/* what leaves now counts as there then; ~0: never */
	u32	rtt_us;
	u64	room_bytes;	/* so much can leave now, */
	struct video_window window;	/* and so much in each RTT from now on; in slow */
	struct video_window grows_to;	/* start twice as much in the next one, up to this */
	u64	promised_rate;	/* 0: the path is not counted */
	u32	promised_trip_us;
};

/* Queues are on the way to the receiver, and not on the way back. */
static u32 video_trip_us(const struct mps_subflow *subflow)
{
	return subflow->srtt_us - min(subflow->min_rtt_us, subflow->srtt_us) / 2;
}

static struct video_window video_window(const struct mps_subflow *subflow, u32 pkts)
{
	u64 bytes = clamp((u64)pkts * subflow->mss_bytes, 1ULL, VIDEO_WINDOW_MAX_BYTES);

	return (struct video_window) {
		.bytes	= bytes,
		.rate	= div_u64(bytes << VIDEO_RATE_SHIFT, subflow->srtt_us),
	};
}

static u32 video_counted_trip_us(const struct mps_conn *conn, const struct mps_subflow *subflow)
{
	return min(video_trip_us(subflow) + (u64)subflow->srtt_us * mps_param(conn, MARGIN) / 100,
		   VIDEO_AHEAD_MAX_US);
}

/* False: a path has no sample of its RTT, so that nothing can be said. */
static bool video_look_at_paths(struct mps_conn *conn)
{
	bool backups = mps_only_backups(conn);
	struct mps_subflow *subflow;
	u64 used;

	mps_for_each_subflow(conn, subflow) {
		struct video_subflow *path = mps_subflow_priv(subflow);

		path->trip_us = ~0;
		if (!subflow->usable || (subflow->backup && !backups))
			continue;
		if (!subflow->srtt_us)
			return false;
		path->trip_us = video_counted_trip_us(conn, subflow);
		path->rtt_us = subflow->srtt_us;
		path->window = video_window(subflow, mps_cwnd(subflow));
		path->grows_to = path->window;
		if (mps_cwnd(subflow) < subflow->ssthresh_pkts)
			path->grows_to = video_window(subflow, min(subflow->ssthresh_pkts,
								   subflow->limit_pkts));
		used = (u64)subflow->in_flight_pkts * subflow->mss_bytes + subflow->unsent_bytes;
		path->room_bytes = path->window.bytes - min(used, path->window.bytes);
	}
	return true;
}

/* How much of what is sent from now on has a path brought so much later? */
static u64 video_path_brings(const struct video_subflow *path, u64 left_us)
{
	struct video_window window = path->window;
	u64 bytes = path->room_bytes;

	if (left_us < path->trip_us)
		return 0;
	left_us -= path->trip_us;
	/* no more than 30 rounds, as the window is doubled up to 1 GiB */
	while (window.bytes < path->grows_to.bytes && left_us >= path->rtt_us) {
		bytes += window.bytes;
		window.bytes = min(2 * window.bytes, path->grows_to.bytes);
		window.rate = min(2 * window.rate, path->grows_to.rate);
		left_us -= path->rtt_us;
	}
	return bytes + mul_u64_u64_shr(window.rate, left_us, VIDEO_RATE_SHIFT);
}

/* How many bytes, from the first that was not sent on, can be there by then;
 * ~0: at any time.
 */
static u64 video_brings(struct mps_conn *conn, u64 now_ns, u64 then_ns)
{
	u64 left_us = then_ns > now_ns ? div_u64(then_ns - now_ns, NSEC_PER_USEC) : 0;
	struct mps_subflow *subflow;
	u64 bytes = 0;

	if (then_ns == U64_MAX)
		return U64_MAX;
	left_us = min(left_us, VIDEO_AHEAD_MAX_US);
	mps_for_each_subflow(conn, subflow)
		bytes += video_path_brings(mps_subflow_priv(subflow), left_us);
	return bytes;
}

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

/* A part less of the rate of each path, and more of its trip: so that what changes a
 * little does not break the promise.
 */
static void video_promise_paths(struct mps_conn *conn, u32 leaves_shift)
{
	struct video_promise *promise = &((struct video_conn *)mps_conn_priv(conn))->promise;
	struct mps_subflow *subflow;

	promise->leaves_shift = leaves_shift;
	promise->rate = 0;
	mps_for_each_subflow(conn, subflow) {
		struct video_subflow *path = mps_subflow_priv(subflow);
		u64 rate = path->window.rate;

		path->promised_rate = path->trip_us == ~0 ? 0 : rate - (rate >> leaves_shift);
		path->promised_trip_us = path->trip_us + (path->trip_us >> leaves_shift);
		promise->rate += path->promised_rate;
	}
}

static void video_promise(struct mps_conn *conn, u64 now_ns, bool can_tell)
{
	struct video_conn *state = mps_conn_priv(conn);

	state->promise = (struct video_promise) {
		.holds		= can_tell,
		.nxt_seq	= conn->nxt_seq,
		.now_ns		= now_ns,
		.spare_bytes	= U64_MAX,
	};
	video_promise_paths(conn, VIDEO_LEAVES_SHIFT);
}

/* What is promised to be there so much later. */
static u64 video_promised(struct mps_conn *conn, u64 left_us)
{
	struct mps_subflow *subflow;
	u64 bytes = 0;

	mps_for_each_subflow(conn, subflow) {
		const struct video_subflow *path = mps_subflow_priv(subflow);

		if (left_us > path->promised_trip_us)
			bytes += mul_u64_u64_shr(path->promised_rate,
						 left_us - path->promised_trip_us,
						 VIDEO_RATE_SHIFT);
	}
	return bytes;
}

/* So much is left to be sent that is wanted by then. If that takes a higher rate, what
 * was to spare before is no less with it.
 */
static void video_promise_unit(struct mps_conn *conn, u64 left_bytes, u64 then_ns)
{
	struct video_promise *promise = &((struct video_conn *)mps_conn_priv(conn))->promise;
	u64 left_us, bytes;

	if (then_ns == U64_MAX || !promise->holds)
		return;
	left_us = then_ns > promise->now_ns ? div_u64(then_ns - promise->now_ns, NSEC_PER_USEC) : 0;
	left_us = min(left_us, VIDEO_AHEAD_MAX_US);
	bytes = video_promised(conn, left_us);
	while (bytes < left_bytes + VIDEO_SPARE_SEGMENTS * conn->segment_bytes &&
	       promise->leaves_shift < VIDEO_LEAVES_SHIFT_MAX) {
		video_promise_paths(conn, promise->leaves_shift + 1);
		bytes = video_promised(conn, left_us);
	}
	if (bytes < left_bytes)
		promise->holds = false;
	else
		promise->spare_bytes = min(promise->spare_bytes, bytes - left_bytes);
}

/* Is everything still in time, as it was promised? What was rounded down is counted
 * as one more.
 */
static bool video_is_promised(struct mps_conn *conn)
{
	const struct video_promise *promise = &((struct video_conn *)mps_conn_priv(conn))->promise;
	u64 past_us, due, sent = conn->nxt_seq - promise->nxt_seq;
	struct mps_subflow *subflow;

	if (!promise->holds)
		return false;
	past_us = div_u64(mps_clock_ns() - promise->now_ns, NSEC_PER_USEC) + 1;
	if (past_us > VIDEO_AHEAD_MAX_US)
		return false;
	due = mul_u64_u64_shr(promise->rate, past_us, VIDEO_RATE_SHIFT) + conn->subflows_usable + 1;
	if (due > sent && due - sent > promise->spare_bytes)
		return false;
	mps_for_each_subflow(conn, subflow) {
		const struct video_subflow *path = mps_subflow_priv(subflow);
		u64 bytes = min((u64)mps_cwnd(subflow) * subflow->mss_bytes,
				VIDEO_WINDOW_MAX_BYTES);

		if (!path->promised_rate)
			continue;
		if (video_counted_trip_us(conn, subflow) > path->promised_trip_us ||
		    mul_u64_u64_shr(path->promised_rate, subflow->srtt_us, VIDEO_RATE_SHIFT) >=
		    bytes)
			return false;
	}
	return true;
}

/* The first unit that has to go; NULL: all may stay. */
static const struct mps_unit *video_hopeless(struct mps_conn *conn)
{
	bool idle = conn->una_seq == conn->nxt_seq;
	bool can_tell = video_look_at_paths(conn);
	const struct mps_unit *unit, *victim;
	u64 now_ns = mps_clock_ns();

	video_promise(conn, now_ns, can_tell);
	for (unit = mps_first_unit(conn); unit; unit = mps_next_unit(conn, unit)) {
		u64 end = unit->seq + unit->bytes, left, in_time;
		bool may_drop = mps_may_drop(conn, unit);

		if (unit->useless && may_drop)
			return unit;
		if (!can_tell || end <= conn->nxt_seq)
			continue;
		left = end - conn->nxt_seq;
		video_promise_unit(conn, left, min(unit->deadline_ns, unit->expires_ns));
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
		if (state->announced != conn->units_announced || !video_is_promised(conn))
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
