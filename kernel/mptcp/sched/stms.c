// SPDX-License-Identifier: GPL-2.0-only
/* stms: the slow path sends what is due when it arrives.
 *
 * The lowest RTT takes the unsent segments in order. A slower subflow leaves a
 * gap: so many bytes before the segment it takes are kept for the faster ones,
 * which send them while it is on its way. The gap is not computed from
 * round-trip times and rates, it follows from what is acknowledged. One segment
 * of each slower subflow at a time is a sample: how much of the faster ones is
 * to arrive before it is known when it leaves. Had more arrived when the
 * connection is acknowledged beyond it, it came late, and the gap grows by that.
 * Had less arrived when it is acknowledged itself, it came early, and the gap
 * shrinks by what was missing.
 *
 * Source: after the idea of Shi, Cui, Wang, Hu, Dai, Wang, Zheng, "STMS:
 * Improving MPTCP Throughput Under Heterogeneous Networks", USENIX ATC 2018, of
 * which the abstract alone was at hand: packets are kept for the fast path so
 * that all arrive in order, and how many adapts to the packets acknowledged, not
 * to an estimate of the paths. Every rule and constant here is ours.
 *
 * Works where delays differ and buffers are small, at the receiver, which holds
 * little, and in the network: the fast path is not stopped by the slow one, and
 * so does not send in bursts. Fails where the gap does not fit into what is
 * written and not sent, or into the receive window: the slow path idles. It
 * takes some round trips of the slow path until the gap is right, and again when
 * a delay or rate changes.
 *
 * Look-ahead: the gap, whatever it is.
 *
 * Differs from the source:
 * - always: the source, as far as it is known, adapts "the MPTCP-level send
 *   window". Here the window is the receiver's, and the gap is counted in what
 *   is unsent.
 * - always: the source has two paths. With more, each slower one has its own gap.
 * - probe_rtts: the source may say how a path is used again that idles since its
 *   gap is too large; we do not know. On, it takes the last unsent segment now
 *   and then.
 */

#include "mpsched.h"

/* Bounds, so that nothing overflows: no window is larger. */
#define STMS_GAP_MAX_BYTES	((u64)SZ_1G)
/* probes that come late become rarer, 64 times at most */
#define STMS_PROBE_SHIFT_MAX	6

enum { SHRINK, PROBE_RTTS };

static const struct mps_param stms_params[] = {
	[SHRINK]     = MPS_UINT("shrink_pkts", 0, 1000, 1, "segments",
				"what the gap shrinks by after a sample that was early"),
	[PROBE_RTTS] = MPS_UINT("probe_rtts", 0, 1000, 4, "round trips",
				"a path idle for so long takes the last segment; 0: never"),
};

struct stms_conn {
	u64	pick_seq;	/* of the latest pick for a slower subflow */
	u64	ahead_bytes;	/* unsent before that */
};

struct stms_subflow {
	u64	gap_bytes;
	u64	idle_ns;	/* if nothing is sent until then, it is probed */
	u8	probe_shift;

	/* the sample */
	bool	sampling;
	bool	probe;
	u32	faster;		/* which subflows, by bits of their ids */
	u64	seq;
	u64	end_seq;
	u64	ahead_bytes;	/* unsent before it when it left */
	u64	left_bytes;	/* acknowledged on the subflow until it is, too */
	s64	missing_bytes;	/* on faster ones until all before it is */
};

static struct stms_subflow *state_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

/* --- the gap */

/* After a loss data is late for another reason than the order. */
static bool stms_is_calm(struct mps_conn *conn)
{
	const struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		if (subflow->usable && subflow->ca_state != TCP_CA_Open)
			return false;
	return true;
}

static void stms_late(struct stms_subflow *state, u64 bytes)
{
	state->gap_bytes = min(state->ahead_bytes + bytes, STMS_GAP_MAX_BYTES);
	if (state->probe && state->probe_shift < STMS_PROBE_SHIFT_MAX)
		state->probe_shift++;
}

static void stms_early(struct stms_subflow *state, u64 bytes)
{
	state->gap_bytes = state->ahead_bytes - min(bytes, state->ahead_bytes);
	state->probe_shift = 0;
}

/* Has the connection been acknowledged beyond a sample? */
static void stms_look(struct mps_conn *conn)
{
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow) {
		struct stms_subflow *state = state_of(subflow);

		if (!state->sampling || conn->una_seq < state->end_seq)
			continue;
		state->sampling = false;
		if (!stms_is_calm(conn))
			continue;
		if (state->missing_bytes < 0)
			stms_late(state, -state->missing_bytes);
		else
			stms_early(state, (u64)mps_param(conn, SHRINK) * conn->segment_bytes);
	}
}

/* --- decisions */

/* The lowest RTT, the first one in a tie: with room, or with `soon` surely having
 * it again.
 */
static struct mps_subflow *stms_fastest(struct mps_conn *conn)
{
	bool backups = mps_only_backups(conn);
	struct mps_subflow *subflow, *best = NULL;

	mps_for_each_subflow(conn, subflow)
		if (mps_has_room_soon(subflow) && (backups || !subflow->backup) &&
		    (!best || subflow->srtt_us < best->srtt_us))
			best = subflow;
	return best;
}

/* Is it long since it sent anything? */
static bool stms_is_idle(const struct mps_conn *conn, struct mps_subflow *subflow)
{
	return mps_param(conn, PROBE_RTTS) && !subflow->in_flight_pkts &&
	       mps_clock_ns() >= state_of(subflow)->idle_ns;
}

/* How much the subflow leaves for faster ones before what it takes now; ~0: all. */
static u64 stms_ahead_bytes(const struct mps_conn *conn, struct mps_subflow *subflow)
{
	u64 gap_bytes = state_of(subflow)->gap_bytes;

	if (conn->unsent_bytes > gap_bytes)
		return gap_bytes;
	return stms_is_idle(conn, subflow) ? conn->unsent_bytes - 1 : U64_MAX;
}

/* The lowest RTT with room of those that are slower than `fast`, and with something
 * to send.
 */
static struct mps_subflow *stms_slower(struct mps_conn *conn, const struct mps_subflow *fast)
{
	struct mps_subflow *subflow, *best = NULL;

	mps_for_each_subflow(conn, subflow)
		if (subflow != fast && mps_available(subflow) && subflow->backup <= fast->backup &&
		    (!best || subflow->srtt_us < best->srtt_us) &&
		    stms_ahead_bytes(conn, subflow) != U64_MAX)
			best = subflow;
	return best;
}

static bool stms_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct stms_conn *state = mps_conn_priv(conn);
	struct mps_segment *seg = mps_head(conn);
	struct mps_subflow *fast, *slow;

	stms_look(conn);
	if (mps_reinjection(conn))
		return mps_reinject(conn, pick);
	fast = seg ? stms_fastest(conn) : NULL;
	if (!fast)
		return false;
	if (mps_has_room(fast))
		return mps_pick_new(pick, conn, fast, seg);

	slow = stms_slower(conn, fast);
	if (!slow)
		return false;
	state->ahead_bytes = stms_ahead_bytes(conn, slow);
	seg = mps_nth_unsent(conn, div_u64(state->ahead_bytes, max(conn->segment_bytes, 1U)));
	if (!seg || !mps_fits_window(conn, seg))
		return false;
	state->pick_seq = mps_seq(conn, seg);
	return mps_pick_new(pick, conn, slow, seg);
}

/* --- what happens */

static u32 stms_bit(const struct mps_subflow *subflow)
{
	return BIT(subflow->id % 32);
}

/* A sample has left: what is still to be acknowledged on faster ones before it is
 * what they have on their way, and what was left to them.
 */
static void stms_begin_sample(struct mps_conn *conn, struct mps_subflow *subflow, u32 bytes)
{
	const struct stms_conn *latest = mps_conn_priv(conn);
	struct stms_subflow *state = state_of(subflow);
	struct mps_subflow *other;

	state->sampling = true;
	state->probe = latest->ahead_bytes < state->gap_bytes;
	state->seq = latest->pick_seq;
	state->end_seq = state->seq + bytes;
	state->ahead_bytes = latest->ahead_bytes;
	state->left_bytes = subflow->outstanding_bytes;
	state->missing_bytes = state->ahead_bytes;
	state->faster = 0;
	mps_for_each_subflow(conn, other) {
		if (other == subflow || !other->usable || other->srtt_us > subflow->srtt_us)
			continue;
		state->faster |= stms_bit(other);
		state->missing_bytes += other->outstanding_bytes;
	}
}

static void stms_on_sent(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes)
{
	struct stms_subflow *state = state_of(pick->subflow);
	const struct stms_conn *latest = mps_conn_priv(conn);
	u64 idle_us = (u64)mps_param(conn, PROBE_RTTS) * pick->subflow->srtt_us;

	state->idle_ns = mps_clock_ns() + ((idle_us * NSEC_PER_USEC) << state->probe_shift);
	if (pick->kind != MPS_NEW)
		return;
	/* it has become the fastest one meanwhile, and sends itself what it left */
	if (state->sampling && pick->seq < state->seq)
		state->missing_bytes -= bytes;
	if (!state->sampling && pick->seq == latest->pick_seq)
		stms_begin_sample(conn, pick->subflow, bytes);
}

static void stms_on_ack(struct mps_conn *conn, struct mps_subflow *subflow, u64 acked_bytes)
{
	struct stms_subflow *state;
	struct mps_subflow *other;

	mps_for_each_subflow(conn, other) {
		state = state_of(other);
		if (state->sampling && (state->faster & stms_bit(subflow)))
			state->missing_bytes -= acked_bytes;
	}
	stms_look(conn);

	state = state_of(subflow);
	if (!state->sampling)
		return;
	state->left_bytes -= min(acked_bytes, state->left_bytes);
	if (state->left_bytes)
		return;
	/* it has arrived, and something before it has not */
	state->sampling = false;
	if (state->missing_bytes > 0 && stms_is_calm(conn))
		stms_early(state, state->missing_bytes);
}

/* What is on its way says nothing of the order any more. */
static void stms_forget_samples(struct mps_conn *conn, struct mps_subflow *subflow)
{
	mps_for_each_subflow(conn, subflow)
		state_of(subflow)->sampling = false;
}

static struct mps_ops stms_ops = {
	.next_segment	  = stms_next_segment,
	.on_ack		  = stms_on_ack,
	.on_loss	  = stms_forget_samples,
	.on_rto		  = stms_forget_samples,
	.on_subflow_state = stms_forget_samples,
	.on_sent	  = stms_on_sent,
	.name		  = "stms",
	.owner		  = THIS_MODULE,
	.conn_size	  = sizeof(struct stms_conn),
	.subflow_size	  = sizeof(struct stms_subflow),
	.params		  = stms_params,
	.num_params	  = ARRAY_SIZE(stms_params),
};

mps_scheduler(stms_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler: a gap for the faster path, learnt from acknowledgments");
