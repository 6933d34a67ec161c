// SPDX-License-Identifier: GPL-2.0-only
/* earliest: each segment is sent where it arrives first, and is due then.
 *
 * Of the subflows with room, that one is next whose segment would arrive first.
 * Faster ones may be full. What these deliver until then is left to them: so
 * much unsent data is skipped, and the segment behind it is sent. If there is no
 * more unsent data than that, or if that segment is beyond the receive window,
 * the subflow waits. So data arrives in order, nothing slow is at the end of a
 * message or holds the window that a faster path needs, and bulk data fills all
 * paths.
 *
 * How long a subflow takes to deliver: half of its RTT. What its RTT is above
 * the least one is a queue: the half that this leaves out counts too, by how
 * full the subflow is, since the queue is on the way of the data. How much it
 * delivers in a time: a window, or what it is paced at, in each round trip, and
 * twice as much each time in slow start.
 *
 * repeat: while all is sent, or the receive window is full, a path with room
 * would idle. Then it sends what other paths have lost and are repairing; and if
 * the window or the send buffer is full, the oldest segment of a path that is 4
 * times slower.
 *
 * Source: ours. The question of ECF (Lim et al., CoNEXT 2017), asked of amounts
 * and rates; the window of BLEST (Ferlin et al., IFIP Networking 2016), without
 * a factor that is learnt; the order of arrival of Yang and Amer, ChinaCom 2014.
 *
 * Works where links are not known: equal or unequal, with any buffer, for bulk
 * data and messages, with windows (CUBIC) and pacing (BBR). Fails where an
 * estimate is wrong for long: delays that change within a round trip, other
 * traffic that comes and goes. It waits where others send something anywhere, so
 * a stream near the capacity of all paths has a higher delay after losses.
 *
 * Differs from the source: in nothing.
 */

#include "mpsched.h"

/* HyStart++ (RFC 9406, 4.2): a queue is there, and the window at its end, when the RTT
 * exceeds the least one by an eighth, but by no less than 4 and no more than 16 ms.
 */
#define EARLIEST_QUEUE_SHARE	8
#define EARLIEST_QUEUE_LEAST_US	(4 * USEC_PER_MSEC)
#define EARLIEST_QUEUE_MOST_US	(16 * USEC_PER_MSEC)

/* Of the bytes per second: TCP itself lets about a ms wait below it (sk_pacing_shift),
 * and at least two packets (TCP small queues).
 */
#define EARLIEST_PACING_SHIFT	10
#define EARLIEST_QUEUE_PKTS	2

enum { REPEAT };

static const struct mps_param earliest_params[] = {
	[REPEAT] = MPS_BOOL("repeat", 1,
			    "repeat what is lost or late elsewhere rather than idle"),
};

struct earliest_subflow {
	u64	flight_8;	/* 8 x the packets in flight, smoothed as the RTT is; 0: none */
};

/* --- what a subflow can do */

static u32 earliest_srtt_us(const struct mps_subflow *subflow)
{
	return max(subflow->srtt_us, 1U);
}

/* What of the RTT is a queue. */
static u32 earliest_queue_us(const struct mps_subflow *subflow)
{
	return subflow->srtt_us - min(subflow->srtt_us, subflow->min_rtt_us);
}

static u64 earliest_window_bytes(const struct mps_subflow *subflow)
{
	return (u64)max(mps_cwnd(subflow), 1U) * subflow->mss_bytes;
}

/* What is sent per second if a window leaves in each round trip. */
static u64 earliest_window_rate(const struct mps_subflow *subflow)
{
	return mul_u64_u32_div(earliest_window_bytes(subflow), USEC_PER_SEC,
			       earliest_srtt_us(subflow));
}

/* Is the pacing tighter than the window? So with BBR, but not with CUBIC or Reno, whose
 * rate is that of the window by 6/5, and by 2 in slow start.
 */
static bool earliest_is_paced(const struct mps_subflow *subflow)
{
	return subflow->pacing_rate < earliest_window_rate(subflow);
}

/* What leaves in a round trip. */
static u64 earliest_round_bytes(const struct mps_subflow *subflow)
{
	if (!earliest_is_paced(subflow))
		return earliest_window_bytes(subflow);
	return max_t(u64, subflow->mss_bytes,
		     mul_u64_u32_div(subflow->pacing_rate, earliest_srtt_us(subflow),
				     USEC_PER_SEC));
}

/* Has it enough in its queue, so that more would leave later, and not elsewhere? */
static bool earliest_is_busy(const struct mps_subflow *subflow)
{
	return earliest_is_paced(subflow) &&
	       subflow->unsent_bytes > max_t(u64, EARLIEST_QUEUE_PKTS * subflow->mss_bytes,
					     subflow->pacing_rate >> EARLIEST_PACING_SHIFT);
}

/* From now until a segment given to the subflow arrives: behind its queue here, and
 * that on the way, which is as long as usual if as much as usual is in flight.
 */
static u32 earliest_delay_us(struct mps_subflow *subflow)
{
	const struct earliest_subflow *state = mps_subflow_priv(subflow);
	u64 usual_8 = max(state->flight_8, 8ULL);
	u64 own_8 = min(8ULL * subflow->in_flight_pkts, usual_8);
	u64 us = subflow->srtt_us / 2;

	us += div64_u64(earliest_queue_us(subflow) / 2 * own_8, usual_8);
	us += div64_u64((u64)subflow->unsent_bytes * earliest_srtt_us(subflow),
			earliest_round_bytes(subflow));
	return min_t(u64, us, U32_MAX);
}

/* In slow start, and its window is not at the end of it: the next round is twice as
 * large. TCP paces twice the window then, and 6/5 of it later: 3/2 is between. BBR,
 * whose threshold is infinite, has its own gain in the rate already.
 */
static bool earliest_doubles(const struct mps_subflow *subflow)
{
	u32 least_us = clamp(subflow->min_rtt_us / EARLIEST_QUEUE_SHARE,
			     EARLIEST_QUEUE_LEAST_US, EARLIEST_QUEUE_MOST_US);

	return subflow->cwnd_pkts < subflow->ssthresh_pkts &&
	       earliest_queue_us(subflow) < least_us &&
	       subflow->pacing_rate / 3 >= earliest_window_rate(subflow) / 2;
}

/* How many bytes leave in the time. No more than all that could be unsent is counted. */
static u64 earliest_sends(const struct mps_subflow *subflow, u32 us)
{
	u64 round = earliest_round_bytes(subflow), sent = 0;
	u32 rtt_us = earliest_srtt_us(subflow);

	if (earliest_doubles(subflow)) {
		u64 last = (u64)subflow->ssthresh_pkts * subflow->mss_bytes;

		for (; us >= rtt_us && round < last && sent <= U32_MAX; us -= rtt_us) {
			sent += round;
			round = min(2 * round, last);
		}
	}
	if (sent > U32_MAX)
		return sent;
	return sent + mul_u64_u32_div(round, us, rtt_us);
}

static void earliest_on_ack(struct mps_conn *conn, struct mps_subflow *subflow, u64 acked_bytes)
{
	struct earliest_subflow *state = mps_subflow_priv(subflow);
	u64 pkts = subflow->in_flight_pkts +
		   div64_u64(acked_bytes, max(subflow->mss_bytes, 1U));

	state->flight_8 = state->flight_8 ? state->flight_8 - state->flight_8 / 8 + pkts : 8 * pkts;
}

/* --- decisions */

/* The subflow with room on which a segment arrives first, the first one in a tie. */
static struct mps_subflow *earliest_best(struct mps_conn *conn)
{
	bool backups = mps_only_backups(conn);
	struct mps_subflow *subflow, *best = NULL;
	u32 us, best_us = 0;

	mps_for_each_subflow(conn, subflow) {
		if (!mps_available(subflow) || earliest_is_busy(subflow) ||
		    (subflow->backup && !backups))
			continue;
		us = earliest_delay_us(subflow);
		if (!best || us < best_us) {
			best = subflow;
			best_us = us;
		}
	}
	return best;
}

/* What the faster subflows, which are full, deliver before `best` delivers what it
 * sends now; or, with `late`, later by the variation of the RTT (ECF's delta): early
 * data waits, late data is waited for.
 */
static u64 earliest_before(struct mps_conn *conn, struct mps_subflow *best, bool late)
{
	u32 best_us = earliest_delay_us(best), us;
	struct mps_subflow *fast;
	u64 bytes = 0;

	mps_for_each_subflow(conn, fast) {
		if (fast == best || fast->backup > best->backup || !mps_has_room_soon(fast))
			continue;
		us = earliest_delay_us(fast);
		if (us >= best_us)
			continue;
		us = best_us - us;
		if (late)
			us += min(max(best->rttvar_us, fast->rttvar_us), U32_MAX - us);
		bytes += earliest_sends(fast, us);
	}
	return bytes;
}

/* Until something is acknowledged, or a paced subflow has sent what it has. */
static bool earliest_wait(struct mps_conn *conn)
{
	struct mps_subflow *subflow;
	u64 ns, first = 0;

	mps_for_each_subflow(conn, subflow) {
		if (!mps_available(subflow) || !earliest_is_busy(subflow) || !subflow->pacing_rate)
			continue;
		ns = mps_clock_ns() + div64_u64((u64)subflow->unsent_bytes * NSEC_PER_SEC,
						subflow->pacing_rate);
		if (!first || ns < first)
			first = ns;
	}
	mps_wake_at(conn, first);
	return false;
}

/* The first segment that `best` did not carry, if all that did are repairing losses. */
static bool earliest_repair(struct mps_conn *conn, struct mps_subflow *best,
			    struct mps_pick *pick)
{
	struct mps_segment *seg = mps_oldest_missing(conn, best);
	struct mps_subflow *other;

	if (!seg)
		return false;
	mps_for_each_subflow(conn, other)
		if (mps_carried_by(seg, other) && other->ca_state < TCP_CA_Recovery)
			return false;
	return mps_pick_duplicate(pick, conn, best, seg);
}

/* Nothing faster is full: the next segment; or, if none can leave, what is missing. */
static bool earliest_next(struct mps_conn *conn, struct mps_subflow *best,
			  struct mps_segment *head, struct mps_pick *pick)
{
	bool repeat = mps_param(conn, REPEAT);

	if (repeat && (!head || !mps_fits_window(conn, head)) && earliest_repair(conn, best, pick))
		return true;
	return mps_new_or_repeat(conn, best, head, repeat ? MPS_RP_REPEAT : MPS_RP_OFF, pick);
}

static bool earliest_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *seg = mps_head(conn);
	struct mps_subflow *best;
	u64 before;

	if (mps_reinjection(conn))
		return mps_reinject(conn, pick);
	best = earliest_best(conn);
	if (!best)
		return earliest_wait(conn);
	before = earliest_before(conn, best, false);
	if (!before)
		return earliest_next(conn, best, seg, pick);
	if (before >= conn->unsent_bytes)
		return earliest_wait(conn);

	before = min(earliest_before(conn, best, true), conn->unsent_bytes - 1ULL);
	seg = mps_nth_unsent(conn, div64_u64(before, max(conn->segment_bytes, 1U)));
	if (!seg || !mps_fits_window(conn, seg))
		return earliest_wait(conn);
	return mps_pick_new(pick, conn, best, seg);
}

static struct mps_ops earliest_ops = {
	.next_segment	= earliest_next_segment,
	.on_ack		= earliest_on_ack,
	.name		= "earliest",
	.owner		= THIS_MODULE,
	.subflow_size	= sizeof(struct earliest_subflow),
	.params		= earliest_params,
	.num_params	= ARRAY_SIZE(earliest_params),
};

mps_scheduler(earliest_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler: where it arrives first, and due when it arrives");
