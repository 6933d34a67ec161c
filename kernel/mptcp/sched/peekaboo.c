// SPDX-License-Identifier: GPL-2.0-only
/* peekaboo: learns whether to wait for the fast path.
 *
 * The subflow with the lowest RTT that has room sends next. If a faster one is
 * full, there are two arms: to wait for it, or to send on the slower one. The
 * context is six rates, in bytes per ns:
 *
 *	x = cwnd / RTT, in flight / RTT, send window / RTT	of either subflow
 *
 * First it learns. LinUCB takes the arm with the higher bound, and sends in a
 * tie:
 *
 *	bound = theta' x + alpha sqrt(x' inverse(A) x)		theta = inverse(A) b
 *
 * When the reward R of a decision is known, A += x x' and b += R x, of its arm. R
 * sums up the ACKs of the chosen subflow from the next packet on, T_e after the
 * decision:
 *
 *	R = sum of g S / T_e	T_e < 3 T_r	T_r = max(2 RTT of fast, RTT of slow)
 *
 * S is bytes. g begins with 1; each ACK multiplies it by 0.9, 0.7 or 0.5, in the
 * first, second or third T_r. After `learn` rewards of each arm, it deploys what
 * it has learnt. It takes the arm with the higher theta' x: the deterministic
 * stage. The stochastic one then changes some of these decisions. It stays with a
 * wait in 70 %, and with a send in 90 %. Having waited, it waits until the faster
 * one has room.
 *
 * Source: Wu, Alay, Brunstrom, Ferlin, Caso, "Peekaboo: Learning-Based Multipath
 * Scheduling for Dynamic Heterogeneous Environments", IEEE JSAC 2020: we had the
 * abstract; the authors' program for Multipath QUIC, in a public copy of it; for
 * the sum of rewards two ports by readers of the paper. The page says which part
 * is whose.
 *
 * Works where one path stays better for thousands of packets. Fails where
 * decisions are rare: it needs 1000 rewards of each arm. A reward is of single
 * packets, so that it likes the path with the lower RTT, whatever the rates of
 * both are. It does not notice that paths change; `relearn` does.
 *
 * LinUCB is in parts/linucb.c, rewards are in parts/peekaboo_reward.c.
 *
 * Differs from the source:
 * - own_packet: the program's reward is the size of a segment over the time until
 *   the ACK of the decision's own packet. On, it is the same here.
 * - relearn: the paper notices that its knowledge is outdated; how, we do not
 *   know. The program never does. On, it learns again after so many decisions.
 * - always: the program learns in earlier connections, and reads A and b from a
 *   file. Here each connection learns for itself.
 * - always: the paper estimates the two percentages from the paths. We do not
 *   know how; they are the constants of the program.
 * - always: at most 256 decisions wait for their reward; others are not learnt
 *   from. The program writes beyond its table with the 6001st decision of a
 *   connection.
 * - always: the program waits for the lowest RTT in any state, and stalls if that
 *   never sends again: mps_fastest_but().
 * - always: it knows no backups. Here they are used if no other subflow is
 *   usable.
 * - always: fixed point instead of doubles; a rate is at most 16 bytes per ns.
 */

#include <linux/random.h>

#include "parts/peekaboo_reward.h"

#define WINDOWS		3
#define BYTES_MAX	BIT_ULL(35)	/* a shift of them fits into 64 bits */

enum { ALPHA, LEARN, STAY_WAIT, STAY_SEND, OWN_PACKET, RELEARN };

static const struct mps_param peekaboo_params[] = {
	[ALPHA]	     = MPS_UINT("alpha_permille", 0, 10000, 750, "1/1000",
				"weight of what is not known yet, while it learns"),
	[LEARN]	     = MPS_UINT("learn", 1, 65536, 1000, "rewards",
				"of each arm; then it deploys what it has learnt"),
	[STAY_WAIT]  = MPS_UINT("stay_wait_percent", 0, 100, 70, "%",
				"deployed: of decisions to wait, keep so many"),
	[STAY_SEND]  = MPS_UINT("stay_send_percent", 0, 100, 90, "%",
				"deployed: of decisions to send, keep so many"),
	[OWN_PACKET] = MPS_BOOL("own_packet", 0,
				"a reward is the rate of the decision's own packet"),
	[RELEARN]    = MPS_UINT("relearn", 0, 1000000000, 0, "decisions",
				"after these, learn again; 0: never"),
};

enum { SEND, WAIT, ARMS };

struct peekaboo_conn {
	bool	waiting;	/* until the faster subflow has room */
	bool	deployed;
	u32	decisions;	/* since it was deployed */
	struct linucb_arm arms[ARMS];
	struct peekaboo_trials trials;
};

static void peekaboo_begin(struct peekaboo_conn *state)
{
	int i;

	for (i = 0; i < ARMS; i++)
		linucb_begin(&state->arms[i]);
	state->trials.num = 0;
	state->deployed = false;
	state->decisions = 0;
}

static void peekaboo_init(struct mps_conn *conn)
{
	peekaboo_begin(mps_conn_priv(conn));
}

/* bytes / RTT, in 2^-28 bytes per ns */
static u32 peekaboo_rate(u64 bytes, u32 rtt_us)
{
	u64 rtt_ns = (u64)rtt_us * NSEC_PER_USEC;

	return min_t(u64, div64_u64(min(bytes, BYTES_MAX) << LINUCB_X_SHIFT, rtt_ns), U32_MAX);
}

/* Without a sample of both RTTs, all rates are 0, as in the program. */
static void peekaboo_context(const struct mps_conn *conn, const struct mps_subflow *fast,
			     const struct mps_subflow *slow, u32 *x)
{
	u64 window = conn->window_end_seq - min(conn->nxt_seq, conn->window_end_seq);
	const struct mps_subflow *subflow = fast;
	int i;

	memset(x, 0, LINUCB_FEATURES * sizeof(*x));
	if (!fast->last_rtt_us || !slow->last_rtt_us)
		return;
	for (i = 0; i < LINUCB_FEATURES; i += 3) {
		u64 mss = subflow->mss_bytes, in_flight = mss * subflow->in_flight_pkts;

		x[i] = peekaboo_rate(mss * mps_cwnd(subflow), subflow->last_rtt_us);
		/* what is queued here has left in the program */
		x[i + 1] = peekaboo_rate(in_flight + subflow->unsent_bytes, subflow->last_rtt_us);
		x[i + 2] = peekaboo_rate(window, subflow->last_rtt_us);
		subflow = slow;
	}
}

/* An arm that hardly gets rewards does not hold up the other one for ever. */
static bool peekaboo_has_learnt(const struct mps_conn *conn, const struct peekaboo_conn *state)
{
	u32 least = min(state->arms[SEND].rewards, state->arms[WAIT].rewards);
	u32 most = max(state->arms[SEND].rewards, state->arms[WAIT].rewards);

	return least >= mps_param(conn, LEARN) || most >= LINUCB_MOST;
}

/* Learns the rewards that are known, in the order of their decisions. */
static void peekaboo_learn(struct mps_conn *conn, const struct mps_subflow *fast,
			   const struct mps_subflow *slow, u64 now_ns)
{
	struct peekaboo_conn *state = mps_conn_priv(conn);
	struct peekaboo_trial *trial;

	while (!state->deployed && (trial = peekaboo_oldest(&state->trials))) {
		bool late = !mps_param(conn, OWN_PACKET) &&
			    now_ns - trial->decided_ns >= WINDOWS * trial->window_ns;

		if (!trial->over && !late)
			return;
		linucb_learn(&state->arms[trial->arm], trial->x, trial->reward);
		mps_event(conn, trial->arm == WAIT ? fast : slow, trial->reward);
		peekaboo_forget_oldest(&state->trials);
		state->deployed = peekaboo_has_learnt(conn, state);
	}
	if (state->deployed)
		state->trials.num = 0;
}

/* While it learns: LinUCB's choice, which gets a reward. */
static bool peekaboo_tries_to_wait(struct mps_conn *conn, const struct mps_subflow *fast,
				   const struct mps_subflow *slow, const u32 *x, u64 now_ns)
{
	struct peekaboo_conn *state = mps_conn_priv(conn);
	u32 alpha = mps_param(conn, ALPHA);
	const struct mps_subflow *chosen;
	struct peekaboo_trial *trial;
	s64 bound[ARMS];
	int i;

	for (i = 0; i < ARMS; i++)
		bound[i] = linucb_expects(&state->arms[i], x) +
			   linucb_bonus(&state->arms[i], x, alpha);
	chosen = bound[WAIT] > bound[SEND] ? fast : slow;
	trial = peekaboo_new_trial(&state->trials);
	if (trial) {
		memcpy(trial->x, x, sizeof(trial->x));
		trial->subflow = chosen->id;
		trial->arm = chosen == fast ? WAIT : SEND;
		trial->decided_ns = now_ns;
		trial->window_ns = NSEC_PER_USEC * max(2ULL * fast->last_rtt_us,
						       slow->last_rtt_us);
		trial->mark_bytes = chosen->acked_bytes + chosen->outstanding_bytes;
	}
	return chosen == fast;
}

/* Deployed: the better arm, which chance may change. */
static bool peekaboo_waits(struct mps_conn *conn, const u32 *x)
{
	struct peekaboo_conn *state = mps_conn_priv(conn);
	bool wait = linucb_expects(&state->arms[WAIT], x) >
		    linucb_expects(&state->arms[SEND], x);
	u32 drawn = get_random_u32_below(100);

	mps_event(conn, NULL, drawn);
	if (mps_param(conn, RELEARN) && ++state->decisions >= mps_param(conn, RELEARN))
		peekaboo_begin(state);
	return wait == (drawn < mps_param(conn, wait ? STAY_WAIT : STAY_SEND));
}

static bool peekaboo_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct peekaboo_conn *state = mps_conn_priv(conn);
	struct mps_segment *head = mps_head(conn);
	struct mps_subflow *best, *fast;
	u32 x[LINUCB_FEATURES];
	u64 now_ns;

	if (mps_reinjection(conn))
		return mps_reinject(conn, pick);
	best = head ? mps_lowest_rtt(conn, NULL) : NULL;
	if (!best)
		return false;
	fast = mps_fastest_but(conn, best);
	/* nothing to decide, or nothing that could leave */
	if (!fast || !mps_fits_window(conn, head)) {
		state->waiting = false;
		return mps_pick_new(pick, conn, best, head);
	}
	if (state->waiting)
		return false;
	now_ns = mps_clock_ns();
	if (!state->deployed)
		peekaboo_learn(conn, fast, best, now_ns);
	peekaboo_context(conn, fast, best, x);
	state->waiting = state->deployed ? peekaboo_waits(conn, x) :
					   peekaboo_tries_to_wait(conn, fast, best, x, now_ns);
	return !state->waiting && mps_pick_new(pick, conn, best, head);
}

static void peekaboo_on_ack(struct mps_conn *conn, struct mps_subflow *subflow, u64 acked_bytes)
{
	struct peekaboo_conn *state = mps_conn_priv(conn);

	if (state->trials.num)
		peekaboo_acked(&state->trials, subflow, acked_bytes,
			       mps_param(conn, OWN_PACKET), mps_clock_ns());
}

static void peekaboo_release_subflow(struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct peekaboo_conn *state = mps_conn_priv(conn);

	peekaboo_gone(&state->trials, subflow);
}

static struct mps_ops peekaboo_ops = {
	.next_segment	 = peekaboo_next_segment,
	.init		 = peekaboo_init,
	.release_subflow = peekaboo_release_subflow,
	.on_ack		 = peekaboo_on_ack,
	.name		 = "peekaboo",
	.owner		 = THIS_MODULE,
	.conn_size	 = sizeof(struct peekaboo_conn),
	.params		 = peekaboo_params,
	.num_params	 = ARRAY_SIZE(peekaboo_params),
};

mps_scheduler(peekaboo_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler Peekaboo: whether to wait for the fast path is learnt");
