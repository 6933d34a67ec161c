// SPDX-License-Identifier: GPL-2.0-only
/* earliest: each segment is sent where it arrives first, and is due then.
 *
 * Of the subflows with room, the one on which a segment arrives first is next.
 * Faster ones may be full. What these deliver until then is left to them: so much
 * unsent data is skipped, and the segment behind it is sent. If there is no more
 * unsent data than that, or that segment is beyond the receive window, it waits.
 * So data is in order, nothing slow ends a message, and bulk data fills all paths.
 *
 * How long a subflow takes to deliver: half of its RTT, or, behind a queue, what
 * its path takes to serve all that is in flight. How much it delivers in a time: a
 * window, or what it is paced at, in each round trip; twice as much in slow start.
 *
 * repeat: a path that would idle sends what others are repairing; or, where the
 * window or the send buffer is full, the oldest segment of one 4 times slower.
 *
 * Source: ours. The question of ECF (CoNEXT 2017), of amounts and rates; the
 * window of BLEST (Networking 2016); the order of Yang, Amer (ChinaCom 2014).
 *
 * Works where links are not known: equal or not, any buffer, bulk or messages,
 * CUBIC or BBR; after outages, as it asks for recovery. Fails where estimates are
 * wrong for long: traffic that comes and goes, jitter as large as paths differ.
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

/* What TCP small queues let wait below: a ms (sk_pacing_shift), at least two packets. */
#define EARLIEST_PACING_SHIFT	10
#define EARLIEST_QUEUE_PKTS	2
/* No amount, rate or time is more: 10^6 times as much has 64 bits, and so have all sums. */
#define EARLIEST_MOST		BIT_ULL(44)

enum { REPEAT };

static const struct mps_param earliest_params[] = {
	[REPEAT] = MPS_BOOL("repeat", 0, "repeat what is lost or late elsewhere rather than idle"),
};

/* The rate at which the path delivers, measured while there was always more to send. */
struct earliest_subflow {
	u64	rate;		/* bytes per second; 0: not known yet */
	u64	since_ns;	/* when this measurement began; 0: it has not */
	u64	bytes;		/* acknowledged since */
};

/* --- what a subflow can do */

static u32 earliest_srtt_us(const struct mps_subflow *subflow)
{
	return max(subflow->srtt_us, 1U);
}

/* Bytes per second of bytes in us, and us of bytes at bytes per second. */
static u64 earliest_ratio(u64 bytes, u64 by)
{
	return min(div64_u64(min(bytes, EARLIEST_MOST) * USEC_PER_SEC, by), EARLIEST_MOST);
}

/* Bytes per second, if a window leaves in each round trip. */
static u64 earliest_window_rate(const struct mps_subflow *subflow)
{
	return earliest_ratio((u64)mps_cwnd(subflow) * subflow->mss_bytes,
			      earliest_srtt_us(subflow));
}

/* Bytes per second that leave. */
static u64 earliest_rate(const struct mps_subflow *subflow)
{
	return clamp(subflow->pacing_rate, 1ULL, max(earliest_window_rate(subflow), 1ULL));
}

/* Is it paced more slowly than by its window, as with BBR, but not with CUBIC or Reno, and
 * has it so much in its queue that more would leave later, and not elsewhere?
 */
static bool earliest_is_busy(const struct mps_subflow *subflow)
{
	return subflow->pacing_rate < earliest_window_rate(subflow) &&
	       subflow->unsent_bytes > max_t(u64, EARLIEST_QUEUE_PKTS * subflow->mss_bytes,
					     subflow->pacing_rate >> EARLIEST_PACING_SHIFT);
}

/* Is there a queue on the way? */
static bool earliest_has_queue(const struct mps_subflow *subflow)
{
	u32 queue_us = subflow->srtt_us - min(subflow->srtt_us, subflow->min_rtt_us);

	return queue_us >= clamp(subflow->min_rtt_us / EARLIEST_QUEUE_SHARE,
				 EARLIEST_QUEUE_LEAST_US, EARLIEST_QUEUE_MOST_US);
}

/* How long the path takes to serve what is in flight and one packet more, without the way
 * back: unlike the RTT, this follows a queue that grows or drains within a round trip.
 */
static u64 earliest_service_us(struct mps_subflow *subflow)
{
	const struct earliest_subflow *state = mps_subflow_priv(subflow);
	u64 us, bytes = (subflow->in_flight_pkts + 1ULL) * subflow->mss_bytes;

	if (!state->rate || !earliest_has_queue(subflow))
		return 0;
	us = earliest_ratio(bytes, state->rate);
	return us - min_t(u64, us, subflow->min_rtt_us / 2);
}

/* From now until a segment given to the subflow arrives: behind its queue here, too. */
static u32 earliest_delay_us(struct mps_subflow *subflow)
{
	u64 us = max_t(u64, subflow->srtt_us / 2, earliest_service_us(subflow));

	us += earliest_ratio(subflow->unsent_bytes, earliest_rate(subflow));
	return min_t(u64, us, U32_MAX);
}

/* Is the next round twice as large? In slow start TCP paces twice the window, later 6/5. */
static bool earliest_doubles(const struct mps_subflow *subflow)
{
	return subflow->cwnd_pkts < subflow->ssthresh_pkts && !earliest_has_queue(subflow) &&
	       subflow->pacing_rate / 3 >= earliest_window_rate(subflow) / 2;
}

/* How many bytes leave in the time. */
static u64 earliest_sends(const struct mps_subflow *subflow, u32 us)
{
	u64 rate = earliest_rate(subflow), last = rate, bytes = 0;
	u32 rtt_us = earliest_srtt_us(subflow);

	if (earliest_doubles(subflow))
		last = earliest_ratio((u64)subflow->ssthresh_pkts * subflow->mss_bytes, rtt_us);
	for (; us >= rtt_us && rate < last; us -= rtt_us) {
		bytes += mul_u64_u32_div(rate, rtt_us, USEC_PER_SEC);
		rate = min(2 * rate, last);
	}
	return bytes + mul_u64_u32_div(rate, us, USEC_PER_SEC);
}

/* What is acknowledged in a round trip in which there was always more to send is what the
 * path carries. The most of the last ones counts, fading by an eighth as SRTT (RFC 6298).
 */
static void earliest_on_ack(struct mps_conn *conn, struct mps_subflow *subflow, u64 acked_bytes)
{
	bool loaded = conn->unsent_bytes && subflow->in_flight_pkts;
	struct earliest_subflow *state = mps_subflow_priv(subflow);
	u64 now = mps_clock_ns(), ns = now - state->since_ns;

	state->bytes += acked_bytes;
	if (loaded && state->since_ns) {
		if (ns < (u64)earliest_srtt_us(subflow) * NSEC_PER_USEC)
			return;
		state->rate = max(div64_u64(state->bytes * NSEC_PER_SEC, ns),
				  state->rate - state->rate / 8);
	}
	state->since_ns = loaded ? now : 0;
	state->bytes = 0;
}

/* What an outage lets through says nothing of the rate. */
static void earliest_on_rto(struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct earliest_subflow *state = mps_subflow_priv(subflow);

	state->since_ns = 0;
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

/* What faster subflows, which are full, deliver before `best` does what it sends now; or,
 * with `late`, later by the variation of the RTT: early data waits, late data is waited for.
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
	.on_rto		= earliest_on_rto,
	.name		= "earliest",
	.owner		= THIS_MODULE,
	.recovers	= true,
	.subflow_size	= sizeof(struct earliest_subflow),
	.params		= earliest_params,
	.num_params	= ARRAY_SIZE(earliest_params),
};

mps_scheduler(earliest_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler: where it arrives first, and due when it arrives");
