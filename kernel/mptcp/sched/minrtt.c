// SPDX-License-Identifier: GPL-2.0-only
/* minrtt: the available subflow with the lowest round-trip time.
 *
 * New data goes to the subflow with the lowest smoothed RTT whose congestion
 * window has room; when none has, it waits. A backup subflow is used only when
 * no other is usable. Segments of a subflow in trouble come first, on one that
 * did not carry them yet.
 *
 * rp: when data on its way over a slower subflow fills the receive window or
 * the send buffer, the oldest segment is sent on the fast subflow, too, and
 * the slower one is penalised: its congestion window is halved, at most once in
 * an RTT of the fast one. bm: a subflow may only have so much in
 * flight that its RTT does not grow far beyond the least one.
 *
 * Source: the default scheduler of the out-of-tree MPTCP kernels (v0.9x);
 * LowRTT, +RP, +BM of Paasch et al., "Experimental Evaluation of Multipath TCP
 * Schedulers", CSWS 2014; RP is of Raiciu et al., NSDI 2012, section 4.2; BM of
 * Ferlin et al., "Tackling the Challenge of Bufferbloat in Multi-Path Transport
 * over Heterogeneous Wireless Networks", IWQoS 2014.
 *
 * Works where a connection has much to send: all subflows are filled, the fast
 * one first. Fails where RTTs differ and the data or the receive window is
 * small: what goes to the slow path arrives late, and everything waits for it.
 *
 * Differs from the source:
 * - rp_limit: the source halves cwnd and ssthresh of the slow subflow. On,
 *   penalisation sets a limit beside them and leaves them to the congestion
 *   control; the limit is gone a few round trips after the last penalty.
 *
 * And: a segment waits for an active subflow that did not carry it rather than
 * being repeated on one that did; the subflow's own receive window is not looked at, since
 * Linux shares that of the connection. The published text of BM could not be
 * opened: its formula, and 3 for lambda, are from memory.
 */

#include "mpsched.h"

/* less would keep a subflow from ever having two segments to acknowledge */
#define BM_LIMIT_MIN_PKTS	2

enum { RP, RP_LIMIT, BM, BM_LAMBDA };

static const struct mps_param minrtt_params[] = {
	[RP] = MPS_BOOL("rp", 1, "opportunistic retransmission and penalisation"),
	[RP_LIMIT] = MPS_BOOL("rp_limit", 0, "rp: by a limit beside cwnd, not by halving cwnd"),
	[BM] = MPS_BOOL("bm", 0, "bufferbloat mitigation"),
	[BM_LAMBDA] = MPS_UINT("bm_lambda", 10, 1000, 30, "tenths",
			       "bm: how far an RTT may exceed the least one, as a factor"),
};

struct minrtt_subflow {
	u32	least_srtt_us;	/* since its beginning; 0: none yet */
};

/* cwnd x lambda x least RTT / RTT; the smoothed one, so that a single lucky
 * sample does not count
 */
static void minrtt_limit_bufferbloat(struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct minrtt_subflow *state = mps_subflow_priv(subflow);
	u64 limit_pkts;

	if (!subflow->srtt_us)
		return;
	if (!state->least_srtt_us || subflow->srtt_us < state->least_srtt_us)
		state->least_srtt_us = subflow->srtt_us;

	limit_pkts = div64_u64((u64)subflow->cwnd_pkts * mps_param(conn, BM_LAMBDA) *
			       state->least_srtt_us, 10ULL * subflow->srtt_us);
	if (limit_pkts >= subflow->cwnd_pkts)
		mps_set_limit(subflow, ~0);
	else
		mps_set_limit(subflow, max_t(u64, limit_pkts, BM_LIMIT_MIN_PKTS));
}

static void minrtt_on_ack(struct mps_conn *conn, struct mps_subflow *subflow, u64 acked_bytes)
{
	if (mps_param(conn, BM))
		minrtt_limit_bufferbloat(conn, subflow);
}

static bool minrtt_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *head = mps_head(conn);
	struct mps_subflow *fast;

	if (mps_reinjection(conn))
		return mps_reinject(conn, pick);

	fast = mps_lowest_rtt(conn, NULL);
	if (!fast)
		return false;
	return mps_new_or_repeat(conn, fast, head, mps_rp(conn, RP, RP_LIMIT), pick);
}

static struct mps_ops minrtt = {
	.next_segment	= minrtt_next_segment,
	.on_ack		= minrtt_on_ack,
	.name		= "minrtt",
	.owner		= THIS_MODULE,
	.subflow_size	= sizeof(struct minrtt_subflow),
	.params		= minrtt_params,
	.num_params	= ARRAY_SIZE(minrtt_params),
};

mps_scheduler(minrtt);

MODULE_DESCRIPTION("MPTCP scheduler: lowest RTT first");
MODULE_LICENSE("GPL");
