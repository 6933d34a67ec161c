// SPDX-License-Identifier: GPL-2.0-only
/* ols: learns from the goodput how much to send twice.
 *
 * The subflow with the lowest RTT that has room sends next. Of each 12 segments
 * that a subflow sends, some are duplicates of segments that others have sent.
 * One of three arms says how many: all, half, or none. Time is cut into
 * intervals, of two round trips and at least 40 ms. When all data of an interval
 * has been acknowledged, its reward is the goodput of the connection, over the
 * sum of the highest rates that the subflows have had. The next arm is the one
 * with the highest mean reward plus a bonus for arms that were seldom tried
 * (UCB1):
 *
 *	mean reward + sqrt(2 ln(intervals) / intervals with this arm)
 *
 * A monitor forgets everything when the rewards of an arm have been 4 times in a
 * row farther from their mean than 3 mean deviations, up for an arm that is not
 * the best, or down for one that is not the worst.
 *
 * With exp3, arms are drawn at random instead, by weights. For the reward r of an
 * arm that was drawn with the probability p, its weight grows:
 *
 *	weight *= exp(0.2 / 3 x a / p)		a = min(r, exp(4 (r - 1)))
 *	p       = (1 - g) weight / sum of weights + g / 3
 *
 * g is 0.2, and 0.5 in the first 75 intervals. The monitor looks at smoothed
 * rewards a. When it finds a change, and has found none in the last 75 intervals,
 * it sets all weights to 1, and g to 0.5 for another 75.
 *
 * Source: Xing, Xue, Zhang, Han, Li, Wei, "An Online Learning Assisted Packet
 * Scheduler for MPTCP in Mobile Networks", IEEE/ACM ToN 2023; the authors' module
 * for the out-of-tree kernel v0.95 (mptcp_ol.c, version 0.21; its
 * DEBUG_USE_UCB_MON is monitor, and with exp3 so are DEBUG_USE_NEW_EPOCH and
 * DEBUG_USE_GAMMA_TUNING; DEBUG_FIX_ARM is arm). Exp3 is DEBUG_USE_UCB off: by
 * default it is on. We had the paper's abstract.
 *
 * Works where paths change and lose so much that duplicates pay: it finds out
 * within some intervals whether they do. Fails in that it has to try: a third of
 * the first intervals, and later a few, send everything twice. It learns nothing
 * while some subflow sends nothing: with an application that has little to send,
 * a backup, or a subflow that has failed.
 *
 * Intervals and rewards are in parts/ols_interval.c, learning is in
 * parts/ols_ucb.c and parts/ols_exp3.c.
 *
 * Differs from the source:
 * - always: with nothing but backups the source sends nothing, and the connection
 *   stalls. Here they are used then.
 * - always: with one subflow the source reads a flag that it has not set. Here
 *   shares go on as they were.
 * - always: of subflows with the same RTT the source sees only one. It counts in
 *   eighths of us, where such a tie hardly happens, and we in us: here it sees
 *   both.
 * - always: the square root and the logarithm are the kernel's, exact to the unit,
 *   1/8192. The source has a library with errors of a few units.
 * - always: the source takes the time of the last packet on each socket, and this
 *   the present time.
 * - always: with exp3 the source reads beyond the arms when the random number is
 *   larger than the sum of all (rounded) probabilities: here it is the last arm.
 *   An exponent of more than 10 overflows: here it is 10.
 */

#include "parts/ols.h"
#include "parts/ols_interval.h"

#define QUOTA_PKTS	12

enum { ARM, MONITOR, EXP3 };

static const struct mps_param ols_params[] = {
	[ARM]	  = MPS_UINT("arm", 0, 3, 0, "",
			     "send twice 1: all; 2: half; 3: nothing; 0: what is learnt"),
	[MONITOR] = MPS_BOOL("monitor", 1, "forget what is learnt when rewards change"),
	[EXP3]	  = MPS_BOOL("exp3", 0, "draw arms at random by weights (Exp3), and not by UCB1"),
};

/* of QUOTA_PKTS, the segments that are sent twice */
static const u8 ols_twice[ARMS] = { [ALL] = QUOTA_PKTS, [HALF] = QUOTA_PKTS / 2, [NONE] = 0 };

struct ols_subflow {
	struct ols_rates rates;	/* first, as ols_interval.h asks */
	u64	last_seq;	/* of the segment that was chosen for it last */
	bool	has_sent;
	u8	arm;		/* of the interval that it began last */
	u8	twice;		/* left of its quotas */
	u8	once;
};

struct ols_conn {
	struct ols_intervals intervals;	/* first, too */
	struct ols_learner learner;
};

static struct ols_subflow *state_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

/* Learns the reward of the arm, and chooses the next arm. */
static void ols_learn(struct mps_conn *conn, u64 reward)
{
	struct ols_conn *state = mps_conn_priv(conn);
	struct ols_learner *learner = &state->learner;

	if (mps_param(conn, EXP3)) {
		ols_exp3_learn(learner, reward, mps_param(conn, MONITOR));
		learner->arm = ols_exp3_draw(learner);
	} else {
		ols_ucb_learn(learner, reward, mps_param(conn, MONITOR));
		learner->arm = ols_ucb_pull(learner);
	}
	learner->arms[learner->arm].pulls++;
	learner->pulls++;
}

/* True: the next interval begins. */
static bool ols_look(struct mps_conn *conn)
{
	const struct ols_conn *state = mps_conn_priv(conn);
	struct mps_subflow *subflow;
	u64 reward;

	if (!ols_interval_over(conn, state->learner.arm == ALL, &reward))
		return false;
	ols_learn(conn, reward);
	mps_event(conn, NULL, state->learner.arm + 1);
	mps_for_each_subflow(conn, subflow)
		if (subflow->usable)
			state_of(subflow)->arm = state->learner.arm;
	ols_next_interval(conn);
	return true;
}

static void ols_check_quota(struct mps_conn *conn, struct mps_subflow *subflow, bool anew)
{
	struct ols_subflow *sub = state_of(subflow);
	u32 arm = mps_param(conn, ARM) ? mps_param(conn, ARM) - 1 : sub->arm;

	if (!anew && (sub->twice || sub->once))
		return;
	sub->twice = ols_twice[arm];
	sub->once = QUOTA_PKTS - sub->twice;
}

/* The first unacknowledged segment behind the subflow's last one; NULL: none. */
static struct mps_segment *ols_sent_by_others(struct mps_conn *conn, struct mps_subflow *subflow)
{
	const struct ols_subflow *sub = state_of(subflow);
	struct mps_segment *seg = mps_oldest_unacked(conn);
	/* as in the source, a segment that did not leave counts for nothing */
	bool behind = sub->has_sent && sub->last_seq < conn->nxt_seq;

	while (seg && ((behind && mps_seq(conn, seg) <= sub->last_seq) ||
		       mps_carried_by(seg, subflow)))
		seg = mps_next_unacked(conn, seg);
	return seg;
}

/* The next subflow by RTT, in a tie by number. */
static struct mps_subflow *ols_next_by_rtt(struct mps_conn *conn, const struct mps_subflow *last,
					   bool backups)
{
	struct mps_subflow *subflow, *next = NULL;

	mps_for_each_subflow(conn, subflow) {
		if (!subflow->usable || subflow->backup != backups)
			continue;
		if (last && (subflow->srtt_us < last->srtt_us ||
			     (subflow->srtt_us == last->srtt_us && subflow->id <= last->id)))
			continue;
		if (!next || subflow->srtt_us < next->srtt_us)
			next = subflow;
	}
	return next;
}

/* As in the source, a segment counts when it is chosen, even if the window is closed. */
static void ols_charge(const struct mps_conn *conn, struct mps_subflow *subflow,
		       const struct mps_segment *seg)
{
	struct ols_subflow *sub = state_of(subflow);

	sub->last_seq = mps_seq(conn, seg);
	sub->has_sent = true;
	if (sub->twice)
		sub->twice--;
	else if (sub->once)
		sub->once--;
}

static bool ols_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *head = mps_head(conn), *seg;
	bool backups = mps_only_backups(conn);
	struct mps_subflow *subflow;
	bool anew = false;
	u32 active = 0;

	mps_for_each_subflow(conn, subflow)
		active += ols_is_active(subflow);
	if (active >= 2)
		anew = ols_look(conn);
	if (mps_reinjection(conn))
		return mps_reinject(conn, pick);

	for (subflow = ols_next_by_rtt(conn, NULL, backups); subflow;
	     subflow = ols_next_by_rtt(conn, subflow, backups)) {
		ols_check_quota(conn, subflow, anew);
		if (!mps_available(subflow))
			continue;
		seg = state_of(subflow)->twice ? ols_sent_by_others(conn, subflow) : NULL;
		if (!seg && !head)
			continue;
		ols_charge(conn, subflow, seg ?: head);
		return seg ? mps_pick_duplicate(pick, conn, subflow, seg) :
			     mps_pick_new(pick, conn, subflow, head);
	}
	return false;
}

static void ols_on_ack(struct mps_conn *conn, struct mps_subflow *subflow, u64 acked_bytes)
{
	state_of(subflow)->rates.acked_bytes += acked_bytes;
}

/* As in the source, learning begins anew with each new subflow; the others keep their arm
 * until the next interval.
 */
static void ols_init_subflow(struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct ols_conn *state = mps_conn_priv(conn);

	ols_begin_learning(&state->learner);
	ols_first_interval(conn, subflow);
}

static struct mps_ops ols_ops = {
	.next_segment	= ols_next_segment,
	.init_subflow	= ols_init_subflow,
	.on_ack		= ols_on_ack,
	.name		= "ols",
	.owner		= THIS_MODULE,
	.conn_size	= sizeof(struct ols_conn),
	.subflow_size	= sizeof(struct ols_subflow),
	.params		= ols_params,
	.num_params	= ARRAY_SIZE(ols_params),
};

mps_scheduler(ols_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler OLS: how much is sent twice is learnt");
