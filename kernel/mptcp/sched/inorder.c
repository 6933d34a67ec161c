// SPDX-License-Identifier: GPL-2.0-only
/* inorder: segments leave out of order, and arrive in order.
 *
 * Each segment, in order, is assigned to the subflow that delivers it first. If
 * that subflow has no room now, the assignment is on paper only: the segment
 * stays, and the next one is looked at, until the best subflow of one has room.
 * That one is sent. Thus a slow path gets the segments that will be due when it
 * has delivered them, and the receiver holds little out of order.
 *
 * A subflow delivers after its one-way communication delay: from the first
 * transmission of a segment until it has arrived in order there, repetitions
 * included. Without room, a round trip for each congestion window to be sent
 * first comes before that.
 *
 * Source: F. Yang, P. Amer, "Using One-way Communication Delay for In-order
 * Arrival MPTCP Scheduling", ChinaCom 2014, sections II and III. Section IV, the
 * implementation, refers to a thesis; "n" is the n of OTIAS, as the paper says.
 *
 * Works where paths differ and the receive buffer is small. Fails where delays
 * change faster than they are measured; where paths differ by less than a round
 * trip of the faster one (but see part_rounds); where less is written than the
 * fast path sends until the slow one has delivered: the slow one idles. The
 * receive window has to span the data that the fast path sends in that time.
 *
 * Differs from the source:
 * - smooth_cwnd: the source counts rounds by the present congestion window. On,
 *   the window is smoothed as the RTT is: their ratio stands for the rate of a
 *   path, and with a short queue the present window is off by half.
 * - part_rounds: the source waits for whole round trips. On, a full window has
 *   room again bit by bit.
 * - measure_idle: the source does not mention a path that idles since it is slow,
 *   and nothing would ever show that it has become fast. On, it gets a duplicate
 *   of the oldest segment now and then.
 * - look_ahead: the source walks through all unsent segments. So does this, by
 *   default: no send buffer holds as many. It needs no walk: how many segments go
 *   to each full subflow first is computed.
 * - any_clock: the source compares delays whatever the clocks are; on kernels of
 *   its time that was right. Off, half the round-trip time stands for delays that
 *   cannot be compared (mps_delays_comparable()), and `fallbacks` counts. Until
 *   each path has its first sample, the same holds, uncounted.
 * - spare_backups: the source does not speak of backups. On, one is used only if
 *   no other subflow is usable.
 * - always: the source's receiver says when the latest segment came in order.
 *   Linux says when the ACK left, which may be delayed.
 * - always: it waits for a full subflow only while an acknowledgment is sure to
 *   come. Otherwise the connection could stall.
 */

#include "mpsched.h"

/* an idle path is measured again after so long */
#define INORDER_IDLE_RTTS	4

/* of counts of rounds */
#define INORDER_SCALE		1000ULL

enum { LOOK_AHEAD, COMMD, PART_ROUNDS, SMOOTH_CWND, MEASURE_IDLE, ANY_CLOCK, SPARE_BACKUPS };

static const struct mps_param inorder_params[] = {
	[LOOK_AHEAD]   = MPS_UINT("look_ahead", 1, 65536, 65536, "segments",
				  "no segment farther behind the first unsent one is sent"),
	[COMMD]	       = MPS_BOOL("commd", 1,
				  "one-way communication delay; off: half the round-trip time"),
	[PART_ROUNDS]  = MPS_BOOL("part_rounds", 0,
				  "a full window has room again bit by bit, not after an RTT"),
	[SMOOTH_CWND]  = MPS_BOOL("smooth_cwnd", 0,
				  "count rounds by the smoothed congestion window"),
	[MEASURE_IDLE] = MPS_BOOL("measure_idle", 0,
				  "a duplicate of the oldest segment measures a path that idles"),
	[ANY_CLOCK]    = MPS_BOOL("any_clock", 0,
				  "compare delays also if the clocks are not the same"),
	[SPARE_BACKUPS] = MPS_BOOL("spare_backups", 0,
				   "use a backup subflow only if no other is usable"),
};

struct inorder_subflow {
	u64	idle_ns;	/* if nothing is sent until then, it is measured anew */
	u64	cwnd_8;		/* 8 x the smoothed congestion window; 0: none yet */
};

static u64 inorder_delay_us(const struct mps_subflow *subflow, bool by_commd)
{
	return by_commd ? subflow->commd_us : subflow->srtt_us / 2;
}

/* Can the subflows be compared by their one-way communication delays? */
static bool inorder_by_commd(struct mps_conn *conn)
{
	const struct mps_subflow *subflow;
	bool sampled = true;

	if (!mps_param(conn, COMMD) || conn->subflows_usable < 2)
		return false;
	if (!mps_param(conn, ANY_CLOCK) && !mps_delays_comparable(conn)) {
		mps_count_fallback(conn);
		return false;
	}
	mps_for_each_subflow(conn, subflow)
		sampled &= !subflow->usable || subflow->commd_us;
	return sampled;
}

/* How many windows of a full subflow arrive within `us` after its next segment. */
static u64 inorder_rounds_1000(const struct mps_conn *conn, u64 us, u32 rtt_us)
{
	if (mps_param(conn, PART_ROUNDS))
		return div_u64(us * INORDER_SCALE, max(rtt_us, 1U));
	return div_u64(us - 1, max(rtt_us, 1U)) * INORDER_SCALE;
}

/* 8 x the congestion window of each round. */
static u64 inorder_cwnd_8(const struct mps_conn *conn, struct mps_subflow *subflow)
{
	const struct inorder_subflow *state = mps_subflow_priv(subflow);

	if (mps_param(conn, SMOOTH_CWND) && state->cwnd_8)
		return state->cwnd_8;
	return 8ULL * mps_cwnd(subflow);
}

/* How many packets of the subflow's queue have no room in its present window: as in OTIAS,
 * only these take from the windows to come.
 */
static u64 inorder_late_pkts(const struct mps_subflow *full)
{
	u64 queued = DIV_ROUND_UP_ULL(full->unsent_bytes, max(full->mss_bytes, 1U));
	u64 carried = queued + full->in_flight_pkts;
	u64 cwnd = max(mps_cwnd(full), full->in_flight_pkts);

	return carried > cwnd ? carried - cwnd : 0;
}

/* How many segments are for full subflows before one is for `best`, which has room: each
 * takes a congestion window in each round trip, until `best` would deliver a segment.
 */
static u64 inorder_segments_before(const struct mps_conn *conn, const struct mps_subflow *best,
				   bool by_commd)
{
	u64 best_us = inorder_delay_us(best, by_commd), before = 0;
	struct mps_subflow *full;

	mps_for_each_subflow(conn, full) {
		u64 late_pkts = inorder_late_pkts(full);
		u64 full_us = inorder_delay_us(full, by_commd);
		u64 rounds_1000, pkts;

		if (mps_has_room(full) || !mps_has_room_soon(full) ||
		    (mps_param(conn, SPARE_BACKUPS) && full->backup > best->backup) ||
		    full_us >= best_us)
			continue;
		rounds_1000 = inorder_rounds_1000(conn, best_us - full_us, full->srtt_us);
		pkts = min(rounds_1000, INORDER_SCALE * mps_param(conn, LOOK_AHEAD)) *
		       inorder_cwnd_8(conn, full) / (8 * INORDER_SCALE);
		before += pkts > late_pkts ? pkts - late_pkts : 0;
	}
	return before;
}

static struct mps_subflow *inorder_best(const struct mps_conn *conn, bool backups, bool by_commd)
{
	struct mps_subflow *subflow, *best = NULL;

	mps_for_each_subflow(conn, subflow)
		if (mps_available(subflow) && (backups || !subflow->backup) &&
		    (!best || inorder_delay_us(subflow, by_commd) <
			      inorder_delay_us(best, by_commd)))
			best = subflow;
	return best;
}

/* A duplicate of the oldest segment on a path that has been idle for long. */
static bool inorder_measure(struct mps_conn *conn, bool backups, struct mps_pick *pick)
{
	struct mps_segment *seg = mps_oldest_unacked(conn);
	struct mps_subflow *subflow;
	u64 now = mps_clock_ns();

	if (!seg || !mps_param(conn, MEASURE_IDLE))
		return false;
	mps_for_each_subflow(conn, subflow) {
		const struct inorder_subflow *state = mps_subflow_priv(subflow);

		if (mps_available(subflow) && (backups || !subflow->backup) &&
		    !subflow->in_flight_pkts && now >= state->idle_ns &&
		    !mps_carried_by(seg, subflow))
			return mps_pick_duplicate(pick, conn, subflow, seg);
	}
	return false;
}

static bool inorder_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *seg = mps_head(conn);
	bool backups = mps_may_use_backups(conn, SPARE_BACKUPS);
	struct mps_subflow *best;
	bool by_commd;
	u64 before;

	if (mps_reinjection(conn))
		return mps_reinject(conn, pick);
	if (!seg)
		return false;
	by_commd = inorder_by_commd(conn);
	best = inorder_best(conn, backups, by_commd);
	if (!best)
		return false;
	/* a window smaller than a segment: the part that fits leaves */
	if (!mps_fits_window(conn, seg))
		return mps_pick_new(pick, conn, best, seg);

	before = inorder_segments_before(conn, best, by_commd);
	seg = before < mps_param(conn, LOOK_AHEAD) ? mps_nth_unsent(conn, before) : NULL;
	if (seg && mps_fits_window(conn, seg))
		return mps_pick_new(pick, conn, best, seg);
	return inorder_measure(conn, backups, pick);
}

/* Smooths as TCP smooths the RTT, so that both are of the same time. */
static void inorder_on_ack(struct mps_conn *conn, struct mps_subflow *subflow, u64 acked_bytes)
{
	struct inorder_subflow *state = mps_subflow_priv(subflow);
	u64 cwnd = mps_cwnd(subflow);

	state->cwnd_8 = state->cwnd_8 ? state->cwnd_8 - state->cwnd_8 / 8 + cwnd : 8 * cwnd;
}

static void inorder_on_sent(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes)
{
	struct inorder_subflow *state = mps_subflow_priv(pick->subflow);

	/* the latest RTT: the smoothed one lags by many of these measurements */
	state->idle_ns = mps_clock_ns() +
			 (u64)INORDER_IDLE_RTTS * pick->subflow->last_rtt_us * NSEC_PER_USEC;
}

static struct mps_ops inorder_ops = {
	.next_segment	= inorder_next_segment,
	.on_ack		= inorder_on_ack,
	.on_sent	= inorder_on_sent,
	.name		= "inorder",
	.owner		= THIS_MODULE,
	.subflow_size	= sizeof(struct inorder_subflow),
	.params		= inorder_params,
	.num_params	= ARRAY_SIZE(inorder_params),
};

mps_scheduler(inorder_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler: segments leave out of order to arrive in order");
