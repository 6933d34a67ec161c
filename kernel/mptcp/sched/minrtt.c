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
 * one first. Fails where RTTs differ and the data or the receive window is small:
 * data on the slow path arrives late, and the rest waits for it.
 *
 * Differs from the source:
 * - rp_limit: the source halves cwnd and ssthresh of the slow subflow. On,
 *   penalisation sets a limit beside them and leaves them to the congestion
 *   control; the limit is gone a few round trips after the last penalty.
 * - v089: the source is v0.95. On, the behaviour of v0.88 to v0.91, which Paasch
 *   et al. measured: a subflow is also full when its own receive window is, or
 *   TCP holds it back because of data already sent (TSQ); a backup is used only
 *   when there is no other, usable or not; and rp penalises only one of the
 *   subflows that carry the oldest segment.
 *
 * We could not open the published text of BM: its formula, and 3 for lambda, are
 * from memory.
 */

#include "mpsched.h"

/* less would keep a subflow from ever having two segments to acknowledge */
#define BM_LIMIT_MIN_PKTS	2

enum { RP, RP_LIMIT, BM, BM_LAMBDA, V089 };

static const struct mps_param minrtt_params[] = {
	[RP] = MPS_BOOL("rp", 1, "opportunistic retransmission and penalisation"),
	[RP_LIMIT] = MPS_BOOL("rp_limit", 0, "rp: by a limit beside cwnd, not by halving cwnd"),
	[BM] = MPS_BOOL("bm", 0, "bufferbloat mitigation"),
	[BM_LAMBDA] = MPS_UINT("bm_lambda", 10, 1000, 30, "tenths",
			       "bm: how far an RTT may exceed the least one, as a factor"),
	[V089] = MPS_BOOL("v089", 0, "choose and penalise as v0.88 to v0.91 did"),
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

static bool minrtt_v089_available(const struct mps_subflow *subflow, u32 bytes)
{
	return mps_available(subflow) && !mps_throttled(subflow) &&
	       subflow->window_bytes >= bytes;
}

/* As mps_lowest_rtt(); bytes: of the segment, which a new one has, too. */
static struct mps_subflow *minrtt_v089(struct mps_conn *conn, const struct mps_segment *seg,
				       u32 bytes)
{
	struct mps_subflow *subflow, *lowest = NULL, *lowest_backup = NULL, *again = NULL;
	bool only_backups = true;

	mps_for_each_subflow(conn, subflow) {
		struct mps_subflow **best = subflow->backup ? &lowest_backup : &lowest;

		only_backups &= subflow->backup;
		if ((*best && subflow->srtt_us >= (*best)->srtt_us) ||
		    !minrtt_v089_available(subflow, bytes))
			continue;
		if (!seg || !mps_carried_by(seg, subflow))
			*best = subflow;
		else if (!again)
			again = subflow;
	}
	if (only_backups && lowest_backup)
		return lowest_backup;
	return lowest ?: again;
}

static struct mps_subflow *minrtt_get_subflow(struct mps_conn *conn, const struct mps_segment *seg)
{
	if (mps_param(conn, V089))
		return minrtt_v089(conn, seg, mps_len(seg));
	return mps_lowest_rtt(conn, seg);
}

static bool minrtt_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *seg = mps_reinjection(conn), *head = mps_head(conn);
	enum mps_rp rp = mps_rp(conn, RP, RP_LIMIT);
	struct mps_subflow *fast;

	if (seg) {
		fast = minrtt_get_subflow(conn, seg);
		return fast && mps_pick_reinjection(pick, conn, fast, seg);
	}
	if (mps_param(conn, V089)) {
		fast = minrtt_v089(conn, NULL, head ? mps_len(head) : 0);
		rp = rp == MPS_RP_HALVE ? MPS_RP_HALVE_ONE : rp;
	} else {
		fast = mps_lowest_rtt(conn, NULL);
	}
	return fast && mps_new_or_repeat(conn, fast, head, rp, pick);
}

static struct mps_ops minrtt = {
	.next_segment	= minrtt_next_segment,
	.get_subflow	= minrtt_get_subflow,
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
