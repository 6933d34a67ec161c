// SPDX-License-Identifier: GPL-2.0-only
/* earliest: each segment is sent where it arrives first, and is due then.
 *
 * Of the subflows with room, the one on which a segment arrives first is next.
 * Faster ones may be full. It skips the unsent data that these deliver until then,
 * and sends the segment behind that data. If there is no more unsent data, or the
 * segment is beyond the receive window, it waits. Thus data arrives in order,
 * nothing slow ends a message, and bulk data fills all paths.
 *
 * A subflow delivers a segment after half of its RTT, or, behind a queue, after
 * its path has served all packets in flight. In each round trip it delivers a
 * window, or its pacing rate; in slow start twice as much in the next one.
 *
 * repeat: a path that would idle sends segments that others are repairing; or,
 * with a full window or send buffer, the oldest one of a path 4 times slower.
 * warm_kbps: copies of data in flight elsewhere keep the window of a backup.
 *
 * Source: ours. The question of ECF (CoNEXT 2017), the window of BLEST (Networking
 * 2016), the order of Yang, Amer (ChinaCom 2014).
 *
 * Works where links are not known: equal or not, any buffer, bulk or messages,
 * CUBIC or BBR; after outages, as it asks for recovery. Fails where estimates are
 * wrong for long: traffic that comes and goes, jitter as large as paths differ.
 *
 * Differs from the source: in nothing.
 */

#include "parts/earliest_path.h"

enum { REPEAT, WARM };

static const struct mps_param earliest_params[] = {
	[REPEAT] = MPS_BOOL("repeat", 0, "repeat what is lost or late elsewhere rather than idle"),
	[WARM]	 = MPS_UINT("warm_kbps", 0, 100000000, 0, "kbit/s",
			    "rate that a backup is ready for, by copies at half of it; 0: none"),
};

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

/* How many bytes faster, full subflows deliver before `best` delivers its next segment; with
 * `late`, later by the variation of the RTT: early data waits, the receiver waits for late data.
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

/* Does the backup lack a copy? In slow start a window grows to twice the packets in flight, and
 * shrinks with fewer: half of the wanted one suffices. The least RTT bounds the copies by a rate.
 */
static bool earliest_is_cold(const struct mps_subflow *subflow, u32 kbps)
{
	u64 window = div_u64((u64)kbps * min(subflow->min_rtt_us, subflow->srtt_us), 8000);
	u64 bytes = subflow->unsent_bytes + (subflow->in_flight_pkts + 1ULL) * subflow->mss_bytes;

	return subflow->backup && mps_available(subflow) && !earliest_is_busy(subflow) &&
	       window > (u64)TCP_INIT_CWND * subflow->mss_bytes && bytes <= window / 2;
}

/* No new data can leave: the oldest segment that a backup did not carry. */
static bool earliest_warm(struct mps_conn *conn, struct mps_pick *pick)
{
	u32 kbps = mps_param(conn, WARM);
	struct mps_subflow *subflow;
	struct mps_segment *seg;

	if (!kbps || mps_only_backups(conn))
		return false;
	mps_for_each_subflow(conn, subflow) {
		seg = earliest_is_cold(subflow, kbps) ? mps_oldest_missing(conn, subflow) : NULL;
		if (seg)
			return mps_pick_duplicate(pick, conn, subflow, seg);
	}
	return false;
}

/* Waits until something is acknowledged, or the first paced subflow has sent its queue. */
static bool earliest_wait(struct mps_conn *conn, struct mps_pick *pick)
{
	u64 *wake_ns = mps_conn_priv(conn), now = mps_clock_ns();
	u64 first = *wake_ns > now ? *wake_ns : 0; /* others' ACKs put nothing off */
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow) {
		if (!mps_available(subflow) || !earliest_is_busy(subflow) || !subflow->pacing_rate)
			continue;
		first = min_not_zero(first, now + div64_u64((u64)subflow->unsent_bytes *
							    NSEC_PER_SEC, subflow->pacing_rate));
	}
	*wake_ns = first;
	mps_wake_at(conn, first);
	return earliest_warm(conn, pick);
}

/* The first segment that `best` did not carry, if all its carriers are repairing losses. */
static bool earliest_repair(struct mps_conn *conn, struct mps_subflow *best, struct mps_pick *pick)
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
		return earliest_wait(conn, pick);
	before = earliest_before(conn, best, false);
	if (!before)
		return earliest_next(conn, best, seg, pick) || earliest_warm(conn, pick);
	if (before >= conn->unsent_bytes)
		return earliest_wait(conn, pick);
	before = min(earliest_before(conn, best, true), conn->unsent_bytes - 1ULL);
	seg = mps_nth_unsent(conn, div64_u64(before, max(conn->segment_bytes, 1U)));
	if (!seg || !mps_fits_window(conn, seg))
		return earliest_wait(conn, pick);
	return mps_pick_new(pick, conn, best, seg);
}

static struct mps_ops earliest_ops = {
	.next_segment	= earliest_next_segment,
	.on_ack		= earliest_measure,
	.on_rto		= earliest_stop_measuring,
	.name		= "earliest",
	.owner		= THIS_MODULE,
	.recovers	= true,
	.conn_size	= sizeof(u64), /* when earliest_wait() is asked again */
	.subflow_size	= sizeof(struct earliest_subflow),
	.params		= earliest_params,
	.num_params	= ARRAY_SIZE(earliest_params),
};

mps_scheduler(earliest_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler: where it arrives first, and due when it arrives");
