// SPDX-License-Identifier: GPL-2.0-only
/* ecf: lowest RTT first, unless all the data would arrive sooner by waiting.
 *
 * The subflow with the lowest RTT that has room gets the next segment. If a
 * faster one is only full, ECF compares: all that waits to be sent, sent on
 * the faster one in as many rounds as it takes, against one round trip of the
 * slower one. It waits for the faster one if that completes earlier, and if
 * the slower one alone would need more than two round trips of the faster.
 * Having waited once, it needs a reason beta stronger to go back.
 *
 * Source: Lim et al., "ECF: An MPTCP Path Scheduler to Manage Heterogeneous
 * Paths", CoNEXT 2017, as in Cech 2020, algorithm 2; the module in the
 * out-of-tree kernel v0.95.
 *
 * Works well where RTTs differ and data comes in pieces: the end of a piece is
 * not left behind on the slow path. Fails where the congestion window says
 * little about the rate (shallow queues, a rate that changes), and where all
 * the data that is still to come is not yet written: ECF sees the send queue.
 *
 * Differs from the source:
 * - What waits (k) is the unsent bytes. v0.95 derived it from buffer memory, and
 *   took at least a congestion window for it: it waits for the fast path also
 *   with the last few segments, which the paper sends on the slow one. The
 *   paper decides; v095 = 1 is the module's. Its products overflow, ours do not.
 * - Both wait for the path of the lowest RTT in whatever state. It must be one
 *   that can come back here, or the connection stalls: see
 *   mps_faster_but_full(). Equal RTTs are no reason to wait.
 * - Reinjections do not wait: they are what blocks the receiver.
 * - The spread of an RTT is its mean deviation, which RFC 6298 calls variation,
 *   as the paper does; with v095 twice that, as in the module, where it was
 *   never less than 100 ms, however.
 */

#include "mpsched.h"

/* of beta and of counts of rounds */
#define ECF_SCALE	1000ULL

enum { BETA, V095, RP, RP_LIMIT };

/* The values are those of v0.95. */
static const struct mps_param ecf_params[] = {
	[BETA] = MPS_UINT("beta_permille", 0, 10000, 250, "1/1000",
			  "hysteresis: a path not waited for must be better by this"),
	[V095] = MPS_BOOL("v095", 0,
			  "take k and the spread of the RTT as the kernel module of v0.95 does"),
	[RP]   = MPS_BOOL("rp", 1, "opportunistic retransmission and penalisation"),
	[RP_LIMIT] = MPS_BOOL("rp_limit", 0, "rp: by a limit beside cwnd, not by halving cwnd"),
};

struct ecf_conn {
	bool	waiting;	/* the last comparison ended so */
};

/* How many windows of the subflow the data fills; at most U32_MAX - 1000, which
 * leaves room in 64 bits for what follows.
 */
static u64 ecf_rounds_1000(const struct mps_conn *conn, const struct mps_subflow *subflow)
{
	u64 window_bytes = max((u64)mps_cwnd(subflow) * subflow->mss_bytes, 1ULL);
	u64 rounds_1000 = (u64)conn->unsent_bytes * ECF_SCALE / window_bytes;

	if (mps_param(conn, V095))
		rounds_1000 = max(rounds_1000, ECF_SCALE);
	return min(rounds_1000, U32_MAX - ECF_SCALE);
}

/* Is all the data there sooner if this segment waits for `fast`? */
static bool ecf_waits(struct mps_conn *conn, const struct mps_subflow *fast,
		      const struct mps_subflow *slow)
{
	u64 spread_us = max(fast->rttvar_us, slow->rttvar_us);
	struct ecf_conn *state = mps_conn_priv(conn);
	u64 margin_1000 = ECF_SCALE;

	if (mps_param(conn, V095))
		spread_us *= 2;
	if (state->waiting)
		margin_1000 += mps_param(conn, BETA);

	/* a round trip goes by before there is room on `fast` */
	if ((ECF_SCALE + ecf_rounds_1000(conn, fast)) * fast->srtt_us >=
	    margin_1000 * (slow->srtt_us + spread_us)) {
		state->waiting = false;
		return false;
	}
	if (ecf_rounds_1000(conn, slow) * slow->srtt_us <
	    ECF_SCALE * (2ULL * fast->srtt_us + spread_us))
		return false;
	state->waiting = true;
	return true;
}

static bool ecf_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *head = mps_head(conn);
	struct mps_subflow *best, *fast;

	if (mps_reinjection(conn))
		return mps_reinject(conn, pick);
	if (!head && !conn->writer_waits)
		return false;

	best = mps_lowest_rtt(conn, NULL);
	if (!best)
		return false;
	fast = mps_faster_but_full(conn, best);
	if (fast && ecf_waits(conn, fast, best))
		return false;
	return mps_new_or_repeat(conn, best, head, mps_rp(conn, RP, RP_LIMIT), pick);
}

static struct mps_ops ecf_ops = {
	.next_segment	= ecf_next_segment,
	.name		= "ecf",
	.owner		= THIS_MODULE,
	.conn_size	= sizeof(struct ecf_conn),
	.params		= ecf_params,
	.num_params	= ARRAY_SIZE(ecf_params),
};

mps_scheduler(ecf_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler ECF: earliest completion first");
