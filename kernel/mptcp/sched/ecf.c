// SPDX-License-Identifier: GPL-2.0-only
/* ecf: lowest RTT first, unless all the data would arrive sooner by waiting.
 *
 * The subflow with the lowest RTT that has room gets the next segment. If a
 * faster one has none, ECF compares two times: sending all waiting data on the
 * faster one, in as many rounds as that takes, and one round trip of the slower
 * one. It waits for the faster one if that completes earlier, and if the slower
 * one alone would need more than two round trips of the faster. Having waited
 * once, it needs a reason beta stronger to go back. Reinjected segments are
 * treated like new ones.
 *
 * Source: Lim et al., "ECF: An MPTCP Path Scheduler to Manage Heterogeneous
 * Paths", CoNEXT 2017, as in Cech 2020, algorithm 2; the module in the
 * out-of-tree kernel v0.95, the version that the papers measured.
 *
 * Works well where RTTs differ by much and data comes in pieces: the end of a
 * piece is not left behind on the slow path. Fails where both paths are needed:
 * the spread of an RTT counts as 100 ms at least, so that a path with tens of
 * ms more is hardly used. All the data that is still to come is not yet
 * written: ECF sees the send queue.
 *
 * Differs from the source:
 * - paper_k: the module takes at least a congestion window as the waiting data
 *   (k). On, it is the unsent bytes, few as they may be, as in the paper.
 * - paper_delta: the module's spread of the RTT (delta) is twice that of TCP's
 *   timeout, and so never less than 100 ms. On, it is the mean deviation, as in
 *   the paper, which calls it the variation.
 * - rp_limit: the module halves cwnd and ssthresh of the subflow that is
 *   penalised. On, it gets a limit beside them.
 * - always: the module waits for the subflow of the lowest RTT in whatever
 *   state, and stalls if that never sends again: mps_fastest_but().
 * - always: the module's products of 32 bits overflow, from 50 ms x 86 KB on.
 *   Here they saturate, in 64 bits.
 */

#include <linux/overflow.h>

#include "mpsched.h"

#define ECF_SCALE	1000	/* of beta */

enum { BETA, PAPER_K, PAPER_DELTA, RP, RP_LIMIT };

/* The values are those of v0.95. */
static const struct mps_param ecf_params[] = {
	[BETA]	      = MPS_UINT("beta_permille", 0, 10000, 250, "1/1000",
				 "hysteresis: a path not waited for must be better by this"),
	[PAPER_K]     = MPS_BOOL("paper_k", 0,
				 "k: the unsent bytes, not at least a congestion window"),
	[PAPER_DELTA] = MPS_BOOL("paper_delta", 0,
				 "delta: the mean deviation of the RTT, not 100 ms or more"),
	[RP]	      = MPS_BOOL("rp", 1, "opportunistic retransmission and penalisation"),
	[RP_LIMIT]    = MPS_BOOL("rp_limit", 0,
				 "rp: by a limit beside cwnd, not by halving cwnd"),
};

struct ecf_conn {
	bool	waiting;	/* the last comparison ended so */
};

/* What the module has for the bytes that wait: what the send buffer of the
 * connection holds, less what those of the subflows hold, less what these have
 * delivered and the connection has not. By that, what a subflow has queued and not
 * sent is subtracted twice. The module counts memory, here it is bytes: in its
 * kernel both buffers held the same memory, about 2 % more than the bytes, for the
 * same data, which they do not here.
 */
static u64 ecf_module_k(struct mps_conn *conn)
{
	u64 sent = conn->nxt_seq - conn->una_seq, held = 0, unacked = 0;
	u64 buffered = sent + conn->unsent_bytes;
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow) {
		held += subflow->outstanding_bytes;
		unacked += subflow->outstanding_bytes -
			   min(subflow->unsent_bytes, subflow->outstanding_bytes);
	}
	if (sent > unacked)
		held += sent - unacked;
	return buffered > held ? buffered - held : 0;
}

static u32 ecf_delta_us(const struct mps_conn *conn, const struct mps_subflow *fast,
			const struct mps_subflow *slow)
{
	if (mps_param(conn, PAPER_DELTA))
		return max(fast->rttvar_us, slow->rttvar_us);
	return max(fast->rto_margin_us, slow->rto_margin_us) / 2;
}

/* bytes x us */
static u64 ecf_product(u64 bytes, u64 us)
{
	return size_mul(bytes, us);
}

/* Is all the data there sooner if this segment waits for `fast`? */
static bool ecf_waits(struct mps_conn *conn, const struct mps_subflow *fast,
		      const struct mps_subflow *slow)
{
	u64 fast_window = (u64)mps_cwnd(fast) * slow->mss_bytes;	/* of the same size */
	u64 slow_window = (u64)mps_cwnd(slow) * slow->mss_bytes;
	u64 delta_us = ecf_delta_us(conn, fast, slow);
	struct ecf_conn *state = mps_conn_priv(conn);
	u64 fast_k, slow_k, margin = ECF_SCALE;

	if (mps_param(conn, PAPER_K)) {
		fast_k = conn->unsent_bytes;
		slow_k = fast_k;
	} else {
		fast_k = max(ecf_module_k(conn), fast_window);
		slow_k = max(ecf_module_k(conn), slow_window);
	}
	if (state->waiting)
		margin += mps_param(conn, BETA);

	/* a round trip goes by before there is room on `fast` */
	if (size_mul(ECF_SCALE, ecf_product(fast_k + fast_window, fast->srtt_us)) >=
	    size_mul(margin, ecf_product(fast_window, slow->srtt_us + delta_us))) {
		state->waiting = false;
		return false;
	}
	if (ecf_product(slow_k, slow->srtt_us) <
	    ecf_product(slow_window, 2ULL * fast->srtt_us + delta_us))
		return false;
	state->waiting = true;
	return true;
}

/* The subflow for the segment; NULL stands for new data. NULL: wait. */
static struct mps_subflow *ecf_get_subflow(struct mps_conn *conn, const struct mps_segment *seg)
{
	struct mps_subflow *best = mps_lowest_rtt(conn, seg), *fast;

	if (!best)
		return NULL;
	fast = mps_fastest_but(conn, best);
	return fast && ecf_waits(conn, fast, best) ? NULL : best;
}

static bool ecf_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *again = mps_reinjection(conn), *head = mps_head(conn);
	struct mps_subflow *best;

	if (!again && !head && !conn->writer_waits)
		return false;
	best = ecf_get_subflow(conn, again);
	if (!best)
		return false;
	if (again)
		return mps_pick_reinjection(pick, conn, best, again);
	return mps_new_or_repeat(conn, best, head, mps_rp(conn, RP, RP_LIMIT), pick);
}

static struct mps_ops ecf_ops = {
	.next_segment	= ecf_next_segment,
	.get_subflow	= ecf_get_subflow,
	.name		= "ecf",
	.owner		= THIS_MODULE,
	.conn_size	= sizeof(struct ecf_conn),
	.params		= ecf_params,
	.num_params	= ARRAY_SIZE(ecf_params),
};

mps_scheduler(ecf_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler ECF: earliest completion first");
