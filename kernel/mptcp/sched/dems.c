// SPDX-License-Identifier: GPL-2.0-only
/* dems: a chunk from both ends at once, until the paths meet.
 *
 * A chunk is data that is useful as a whole: a unit that the application
 * announced (docs/units.md), else the unsent data when the previous chunk has
 * been sent, as far as the receive window admits. The lowest RTT sends it from
 * the front, the other paths from the back, so that no path waits for the data of
 * another. Near the end, the path with the longer one-way delay stops when the
 * other one alone would bring all the rest before a segment of its own arrives:
 * thus both complete at the same time. When everything is sent, each path that
 * has room goes on a little into the data of the other one, since the expected
 * delays may be wrong.
 *
 * Source: after the idea of Guo, Nikravesh, Mao, Qian, Sen, "Accelerating
 * Multipath Transport Through Balanced Subflow Completion", MobiCom 2017. We had
 * the abstract and the first page: chunks whose ends are known, paths decoupled,
 * subflows that complete at the same time at the receiver, a small amount of
 * redundant data. Others report that it uses both ends and one-way delays. Every
 * formula and constant here is ours.
 *
 * Works for files and pages that are useful when they are whole, over two paths
 * of any delays. Fails for a stream that is read as it comes: half of a chunk
 * waits at the receiver for the other half, in a receive buffer that must hold
 * it.
 *
 * Look-ahead: the chunk. Its ends are in parts/dems_chunk.c.
 *
 * Differs from the source:
 * - always: the source has two paths. With more, all but the fastest one send
 *   from the back.
 * - always: the source, as far as it is known, ends with the chunk. Here a path
 *   that stops for the other one goes on with the next chunk, if that is written.
 * - redundancy_percent: the source sends duplicates; we do not know how many. On,
 *   when nothing is left to send, a path duplicates as much as it sends within
 *   the sum of both RTTs' mean deviations.
 * - owd: the source compares one-way delays. On, so does this, where they can be
 *   compared (mps_delays_comparable()); else half the round-trip time stands for
 *   them, and `fallbacks` counts. Until each path has had its first sample, the
 *   same holds, uncounted.
 */

#include "parts/dems_chunk.h"
#include "parts/fastest.h"

enum { OWD, REDUNDANCY };

static const struct mps_param dems_params[] = {
	[OWD]	     = MPS_BOOL("owd", 1, "compare one-way delays; off: half the round-trip times"),
	[REDUNDANCY] = MPS_UINT("redundancy_percent", 0, 100, 10, "%",
				"of a chunk, sent on another path, too, at the most"),
};

/* Can all subflows be compared by their one-way delays? */
static bool dems_by_owd(struct mps_conn *conn)
{
	const struct mps_subflow *subflow;
	bool sampled = true;

	if (!mps_param(conn, OWD))
		return false;
	if (!mps_delays_comparable(conn)) {
		mps_count_fallback(conn);
		return false;
	}
	mps_for_each_subflow(conn, subflow)
		sampled &= !subflow->usable || subflow->owd_us;
	return sampled;
}

static u64 dems_window_bytes(const struct mps_subflow *subflow)
{
	return max((u64)mps_cwnd(subflow) * subflow->mss_bytes, 1ULL);
}

/* Does the subflow stop, since `other` alone brings the rest before a segment on this one
 * arrives?
 */
static bool dems_leaves(struct mps_conn *conn, const struct mps_subflow *subflow,
			const struct mps_subflow *other, u64 rest_bytes)
{
	bool by_owd = dems_by_owd(conn);
	u64 delay_us = by_owd ? subflow->owd_us : subflow->srtt_us / 2;
	u64 other_us = by_owd ? other->owd_us : other->srtt_us / 2;

	if (delay_us <= other_us)
		return false;
	rest_bytes = min(rest_bytes, U32_MAX);
	/* 2^32 x 2^32; the window in us x bytes is clipped to the same */
	return div64_u64(rest_bytes * other->srtt_us, dems_window_bytes(other)) <=
	       delay_us - other_us;
}

/* The subflow's next segment, from its end of the chunk or behind the chunk. NULL: it leaves
 * the rest to another one.
 */
static struct mps_segment *dems_segment(struct mps_conn *conn, const struct mps_subflow *subflow,
					const struct mps_subflow *front, struct mps_segment *head)
{
	struct mps_segment *last = dems_chunk_last(conn) ?: head, *seg;
	const struct dems_chunk *chunk = mps_conn_priv(conn);
	const struct mps_subflow *other = front;
	u64 rest_bytes;

	if (subflow == front)
		other = fastest_but(conn, front, false);
	rest_bytes = mps_seq(conn, last) + mps_len(last) - mps_seq(conn, head);
	if (!other || !dems_leaves(conn, subflow, other, rest_bytes))
		return subflow == front ? head : last;
	seg = mps_nth_unsent(conn, chunk->nth + 1);
	return seg && mps_fits_window(conn, seg) ? seg : NULL;
}

/* The last segment on its way that the subflow does not carry. At the end of a chunk, no more
 * than a window of the others is on its way.
 */
static struct mps_segment *dems_latest_missing(struct mps_conn *conn,
					       const struct mps_subflow *subflow)
{
	struct mps_segment *seg, *latest = NULL;

	for (seg = mps_oldest_unacked(conn); seg; seg = mps_next_unacked(conn, seg))
		if (!mps_carried_by(seg, subflow))
			latest = seg;
	return latest;
}

/* The bytes that the subflow sends in the time by which the RTTs of both deviate. */
static u64 dems_uncertain_bytes(const struct mps_subflow *subflow, const struct mps_subflow *other)
{
	u64 window_bytes = min(dems_window_bytes(subflow), U32_MAX);
	u64 deviation_us = min((u64)subflow->rttvar_us + other->rttvar_us, U32_MAX);

	return div_u64(window_bytes * deviation_us, max(subflow->srtt_us, 1U));
}

/* Everything was sent: each path goes on into the data of the others. */
static bool dems_copy(struct mps_conn *conn, struct mps_subflow *front, struct mps_pick *pick)
{
	const struct dems_chunk *chunk = mps_conn_priv(conn);
	u64 most_bytes = div_u64((chunk->end_seq - chunk->begin_seq) *
				 mps_param(conn, REDUNDANCY), 100);
	struct mps_subflow *second = fastest_but(conn, front, false);
	bool backups = mps_only_backups(conn);
	struct mps_subflow *subflow;
	struct mps_segment *seg;
	u64 bytes;

	mps_for_each_subflow(conn, subflow) {
		if (!second || !mps_available(subflow) || (subflow->backup && !backups))
			continue;
		bytes = dems_uncertain_bytes(subflow, subflow == front ? second : front);
		bytes = min(bytes, most_bytes);
		if (chunk->copied_bytes + conn->segment_bytes > bytes)
			continue;
		seg = subflow == front ? mps_oldest_missing(conn, subflow) :
					 dems_latest_missing(conn, subflow);
		if (seg)
			return mps_pick_duplicate(pick, conn, subflow, seg);
	}
	return false;
}

static bool dems_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *head = mps_head(conn), *seg;
	const struct dems_chunk *chunk = mps_conn_priv(conn);
	struct mps_subflow *front, *back;

	if (mps_reinjection(conn))
		return mps_reinject(conn, pick);
	front = fastest_but(conn, NULL, false);
	if (!front)
		return false;
	if (!head)
		return dems_copy(conn, front, pick);
	if (mps_seq(conn, head) >= chunk->end_seq)
		dems_begin_chunk(conn, head);

	if (mps_has_room(front)) {
		seg = dems_segment(conn, front, front, head);
		if (seg)
			return mps_pick_new(pick, conn, front, seg);
	}
	back = fastest_but(conn, front, true);
	seg = back ? dems_segment(conn, back, front, head) : NULL;
	return seg && mps_pick_new(pick, conn, back, seg);
}

static void dems_on_sent(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes)
{
	struct dems_chunk *chunk = mps_conn_priv(conn);

	if (pick->kind == MPS_DUPLICATE)
		chunk->copied_bytes += bytes;
}

static struct mps_ops dems_ops = {
	.next_segment	= dems_next_segment,
	.on_sent	= dems_on_sent,
	.takes_units	= true,
	.name		= "dems",
	.owner		= THIS_MODULE,
	.conn_size	= sizeof(struct dems_chunk),
	.params		= dems_params,
	.num_params	= ARRAY_SIZE(dems_params),
};

mps_scheduler(dems_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler: a chunk from both ends, so that all paths complete at once");
