// SPDX-License-Identifier: GPL-2.0-only
/* stms: the slow path sends what is due when it arrives.
 *
 * The lowest RTT takes the unsent segments in order. A slower subflow leaves a
 * gap: it keeps some bytes before its segment for the faster ones, which send
 * them while the segment is on its way. The gap does not come from round-trip
 * times and rates, but from acknowledgments. One segment of each slower subflow
 * at a time is a sample: when it leaves, the amount that the faster ones have to
 * bring before it is known. If they had brought more when the connection was
 * acknowledged beyond the sample, it came late, and the gap grows by the excess.
 * If they had brought less when the sample itself was acknowledged, it came
 * early, and the gap shrinks by the missing amount.
 *
 * Source: after the idea of Shi, Cui, Wang, Hu, Dai, Wang, Zheng, "STMS:
 * Improving MPTCP Throughput Under Heterogeneous Networks", USENIX ATC 2018. We
 * had only the abstract: packets are kept for the fast path so that all arrive in
 * order, and how many adapts to the packets acknowledged, not to an estimate of
 * the paths. Every rule and constant here is ours.
 *
 * Works where delays differ and buffers are small, at the receiver, which holds
 * little, and in the network: the slow path does not stop the fast one, which
 * thus sends no bursts. Fails where the gap does not fit into the unsent data or
 * the receive window: the slow path idles. The gap needs some round trips of the
 * slow path to be right, and again when a delay or rate changes.
 *
 * Look-ahead: the gap, whatever it is.
 *
 * Samples and the gap are in parts/stms_gap.c.
 *
 * Differs from the source:
 * - always: the source, as far as it is known, adapts "the MPTCP-level send
 *   window". Here the window is the receiver's, and the gap counts unsent bytes.
 * - always: the source has two paths. With more, each slower one has its own gap.
 * - probe_rtts: the source may say how a path that idles, since its gap is too
 *   large, comes back; we do not know. On, it takes the last unsent segment now
 *   and then.
 */

#include "parts/fastest.h"
#include "parts/stms_gap.h"

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

static struct stms_subflow *state_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

/* Has the subflow sent nothing for long? */
static bool stms_is_idle(const struct mps_conn *conn, struct mps_subflow *subflow)
{
	return mps_param(conn, PROBE_RTTS) && !subflow->in_flight_pkts &&
	       mps_clock_ns() >= state_of(subflow)->idle_ns;
}

/* How much the subflow leaves for faster ones before its next segment; ~0: all. */
static u64 stms_ahead_bytes(const struct mps_conn *conn, struct mps_subflow *subflow)
{
	u64 gap_bytes = state_of(subflow)->gap_bytes;

	if (conn->unsent_bytes > gap_bytes)
		return gap_bytes;
	return stms_is_idle(conn, subflow) ? conn->unsent_bytes - 1 : U64_MAX;
}

/* The lowest RTT with room, of subflows that are slower than `fast` and have a segment. */
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
	fast = seg ? fastest_but(conn, NULL, false) : NULL;
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

static void stms_on_sent(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes)
{
	struct stms_subflow *state = state_of(pick->subflow);
	const struct stms_conn *latest = mps_conn_priv(conn);
	u64 idle_us = (u64)mps_param(conn, PROBE_RTTS) * pick->subflow->srtt_us;

	state->idle_ns = mps_clock_ns() + ((idle_us * NSEC_PER_USEC) << state->probe_shift);
	if (pick->kind != MPS_NEW)
		return;
	/* it is the fastest one by now, and sends the data that it left to others */
	if (state->sampling && pick->seq < state->seq)
		state->missing_bytes -= bytes;
	if (!state->sampling && pick->seq == latest->pick_seq)
		stms_begin_sample(conn, pick->subflow, pick->seq, bytes, latest->ahead_bytes);
}

static struct mps_ops stms_ops = {
	.next_segment	  = stms_next_segment,
	.on_ack		  = stms_count_acked,
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
