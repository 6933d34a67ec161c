// SPDX-License-Identifier: GPL-2.0-only
/* blest: lowest RTT first, unless a slow path would block the send window.
 *
 * The subflow with the lowest RTT that has room gets the next segment. If a
 * faster one has none, BLEST estimates how much that one could send until a
 * segment on the slower one is acknowledged. If the send window has no room for
 * both, the segment waits for the faster one. The estimate is scaled by lambda,
 * which grows when the window was blocked all the same, and else shrinks.
 * Reinjected segments are treated like new ones.
 *
 * Source: Ferlin et al., "BLEST: Blocking Estimation-based MPTCP Scheduler for
 * Heterogeneous Networks", IFIP Networking 2016, as in Cech 2020, algorithm 1
 * (which prints the last condition the wrong way round); the authors' module in
 * the out-of-tree kernel v0.95, the version that the papers measured.
 *
 * Works well where RTTs differ and the receive buffer is small: the fast path
 * is never held up for long. Fails where the window is small and both paths
 * are needed: the slow one idles. Knows nothing of losses on the slow path,
 * and the fast path's congestion window stands for its rate.
 *
 * Differs from the source:
 * - paper: the module estimates with the RTTs that the subflows have had, and
 *   with slow start. On, with the present RTTs and cwnd, as in the paper.
 * - rp_limit: the module halves cwnd and ssthresh of the subflow that is
 *   penalised. On, it gets a limit beside them.
 * - always: the module waits for the subflow of the lowest RTT in whatever
 *   state, and stalls if that never sends again: mps_fastest_but().
 * - always: the module's products of 32 bits overflow, and it crashes with
 *   nothing to send. Here they are of 64 bits, and a segment without bytes is
 *   sent.
 */

#include "mpsched.h"

/* of lambda, and of a ratio of RTTs */
#define BLEST_SCALE		1000ULL
/* bounds that no path reaches: all products below fit into 64 bits */
#define BLEST_MAX_ROUNDS	BIT_ULL(16)
#define BLEST_MAX_PKTS		BIT_ULL(24)
/* of slow start to look ahead, as in v0.95 */
#define BLEST_MAX_DOUBLINGS	16

enum { LAMBDA, MIN_LAMBDA, MAX_LAMBDA, STEP_UP, STEP_DOWN, PAPER, RP, RP_LIMIT };

/* The values are those of v0.95. */
static const struct mps_param blest_params[] = {
	[LAMBDA]     = MPS_UINT("lambda_permille", 0, 10000, 1200, "1/1000",
				"lambda at first: scales what the faster path could send"),
	[MIN_LAMBDA] = MPS_UINT("min_lambda_permille", 0, 10000, 1000, "1/1000",
				"lambda is never less"),
	[MAX_LAMBDA] = MPS_UINT("max_lambda_permille", 0, 10000, 1300, "1/1000",
				"lambda is never more, unless that is below the least"),
	[STEP_UP]    = MPS_UINT("step_up_permille", 0, 1000, 40, "1/1000",
				"lambda grows by this when the window was blocked"),
	[STEP_DOWN]  = MPS_UINT("step_down_permille", 0, 1000, 10, "1/1000",
				"lambda shrinks by this when it was not"),
	[PAPER]      = MPS_BOOL("paper", 0,
				"estimate as the paper, not as the kernel module of v0.95"),
	[RP]         = MPS_BOOL("rp", 1, "opportunistic retransmission and penalisation"),
	[RP_LIMIT]   = MPS_BOOL("rp_limit", 0, "rp: by a limit beside cwnd, not by halving cwnd"),
};

struct blest_conn {
	s64	lambda_1000;
	u32	updated;	/* tcp_jiffies32, as in the module */
	bool	blocked;	/* the window, since then */
};

struct blest_subflow {
	u32	min_srtt_us;	/* of its lifetime; 0: no sample yet */
	u32	max_srtt_us;
};

static void blest_init(struct mps_conn *conn)
{
	struct blest_conn *state = mps_conn_priv(conn);

	state->lambda_1000 = mps_param(conn, LAMBDA);
	state->updated = tcp_jiffies32;
}

static void blest_note_rtts(struct mps_conn *conn)
{
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow) {
		struct blest_subflow *rtt = mps_subflow_priv(subflow);

		if (!subflow->srtt_us)
			continue;
		if (!rtt->min_srtt_us || subflow->srtt_us < rtt->min_srtt_us)
			rtt->min_srtt_us = subflow->srtt_us;
		rtt->max_srtt_us = max(rtt->max_srtt_us, subflow->srtt_us);
	}
}

/* Once in a round trip of the slower path. */
static void blest_update_lambda(struct mps_conn *conn, struct mps_subflow *slow)
{
	struct blest_subflow *rtt = mps_subflow_priv(slow);
	struct blest_conn *state = mps_conn_priv(conn);
	u32 now = tcp_jiffies32;

	if (now - state->updated < usecs_to_jiffies(rtt->min_srtt_us))
		return;
	if (state->blocked)
		state->lambda_1000 += mps_param(conn, STEP_UP);
	else
		state->lambda_1000 -= mps_param(conn, STEP_DOWN);
	state->lambda_1000 = min_t(s64, state->lambda_1000, mps_param(conn, MAX_LAMBDA));
	state->lambda_1000 = max_t(s64, state->lambda_1000, mps_param(conn, MIN_LAMBDA));
	state->blocked = false;
	state->updated = now;
}

/* What `fast` can send until a segment sent now on `slow` is acknowledged: the RTT
 * of `slow` lies between its extremes as its window is filled; `fast` is at the
 * middle of its own, and doubles its window in slow start.
 */
static u64 blest_module_pkts(struct mps_subflow *fast, struct mps_subflow *slow)
{
	struct blest_subflow *fast_rtt = mps_subflow_priv(fast);
	struct blest_subflow *slow_rtt = mps_subflow_priv(slow);
	u64 cwnd_pkts = min_t(u64, mps_cwnd(fast), BLEST_MAX_PKTS);
	u64 slow_pkts = (u64)slow->in_flight_pkts + 1;
	u64 fast_us, slow_us, rounds;

	slow_us = slow_rtt->max_srtt_us;
	if (slow_pkts < mps_cwnd(slow))
		slow_us = slow_rtt->min_srtt_us +
			  div_u64(slow_pkts * (slow_rtt->max_srtt_us - slow_rtt->min_srtt_us),
				  mps_cwnd(slow));
	slow_us = max_t(u64, slow_us, slow->srtt_us);

	fast_us = ((u64)fast_rtt->min_srtt_us + fast_rtt->max_srtt_us) / 2;
	rounds = fast_us ? min(div64_u64(slow_us, fast_us) + 1, BLEST_MAX_ROUNDS) : 1;

	if (fast->ssthresh_pkts == TCP_INFINITE_SSTHRESH)
		return cwnd_pkts * (BIT_ULL(min(rounds, BLEST_MAX_DOUBLINGS)) - 1);
	cwnd_pkts = max(cwnd_pkts, min(fast->ssthresh_pkts + 1ULL, BLEST_MAX_PKTS));
	return (cwnd_pkts + (rounds - 1) / 2) * rounds;
}

/* The same in the paper: r = RTT_slow / RTT_fast rounds, each with a segment more,
 * in all (CWND + (r - 1) / 2) * r.
 */
static u64 blest_paper_pkts(const struct mps_subflow *fast, const struct mps_subflow *slow)
{
	u64 cwnd_1000 = min_t(u64, mps_cwnd(fast), BLEST_MAX_PKTS) * BLEST_SCALE;
	u64 r_1000 = div_u64((u64)slow->srtt_us * BLEST_SCALE, max(fast->srtt_us, 1U));

	/* r >= 1: mps_fastest_but() */
	r_1000 = clamp(r_1000, BLEST_SCALE, BLEST_MAX_ROUNDS * BLEST_SCALE);
	return div_u64((cwnd_1000 + (r_1000 - BLEST_SCALE) / 2) * r_1000,
		       BLEST_SCALE * BLEST_SCALE);
}

/* Would a segment on `slow` take away window that `fast` will need? */
static bool blest_blocks(struct mps_conn *conn, struct mps_subflow *fast,
			 struct mps_subflow *slow, u32 segment_bytes)
{
	struct blest_conn *state = mps_conn_priv(conn);
	u64 fast_pkts, fast_bytes, slow_bytes;

	if (mps_param(conn, PAPER)) {
		fast_pkts = blest_paper_pkts(fast, slow);
		slow_bytes = (slow->in_flight_pkts + 1ULL) * slow->mss_bytes;
	} else {
		fast_pkts = blest_module_pkts(fast, slow);
		slow_bytes = (u64)slow->outstanding_bytes + segment_bytes;
	}
	fast_bytes = div_u64(min(fast_pkts, BLEST_MAX_PKTS) * fast->mss_bytes *
			     (u64)state->lambda_1000, BLEST_SCALE);
	return fast_bytes > conn->window_bytes - min_t(u64, slow_bytes, conn->window_bytes);
}

/* The subflow for the segment; NULL stands for none. NULL: wait. */
static struct mps_subflow *blest_choose(struct mps_conn *conn, const struct mps_segment *again,
					const struct mps_segment *head)
{
	const struct mps_segment *seg = again ?: head;
	struct mps_subflow *best, *fast;

	blest_note_rtts(conn);
	best = mps_lowest_rtt(conn, again);
	if (!best)
		return NULL;
	fast = mps_fastest_but(conn, best);
	if (!fast)
		return best;
	blest_update_lambda(conn, best);
	return blest_blocks(conn, fast, best, seg ? mps_len(seg) : 0) ? NULL : best;
}

static struct mps_subflow *blest_get_subflow(struct mps_conn *conn, const struct mps_segment *seg)
{
	return blest_choose(conn, seg, NULL);
}

/* Does the window keep new data from leaving, or the send buffer the application
 * from writing any?
 */
static bool blest_is_blocked(const struct mps_conn *conn, const struct mps_segment *head)
{
	return mps_oldest_unacked(conn) &&
	       (head ? !mps_fits_window(conn, head) : conn->sndbuf_full);
}

static bool blest_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *again = mps_reinjection(conn), *head = mps_head(conn);
	struct blest_conn *state = mps_conn_priv(conn);
	struct mps_subflow *best;

	if (!again && !head && !conn->writer_waits)
		return false;
	best = blest_choose(conn, again, head);
	if (!best)
		return false;
	if (again)
		return mps_pick_reinjection(pick, conn, best, again);
	state->blocked |= blest_is_blocked(conn, head);
	return mps_new_or_repeat(conn, best, head, mps_rp(conn, RP, RP_LIMIT), pick);
}

static struct mps_ops blest_ops = {
	.next_segment	= blest_next_segment,
	.get_subflow	= blest_get_subflow,
	.init		= blest_init,
	.name		= "blest",
	.owner		= THIS_MODULE,
	.conn_size	= sizeof(struct blest_conn),
	.subflow_size	= sizeof(struct blest_subflow),
	.params		= blest_params,
	.num_params	= ARRAY_SIZE(blest_params),
};

mps_scheduler(blest_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler BLEST: blocking estimation");
