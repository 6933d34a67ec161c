// SPDX-License-Identifier: GPL-2.0-only
/* ols: how much is sent twice is learnt from what comes of it.
 *
 * The subflow with the lowest RTT that has room sends next; and of each 12
 * segments that a subflow sends, some are such as others have sent already. Which
 * part is one of three arms: all, half, or none. Time is cut into intervals, of
 * two round trips and at least 40 ms. When all that was sent in one has been
 * acknowledged, its reward is the goodput of the connection, over the sum of the
 * highest rates that the subflows have had. The next arm is that of the highest
 * mean reward, with what a seldom tried one may be better (UCB1):
 *
 *	mean reward + sqrt(2 ln(intervals) / intervals with this arm)
 *
 * A monitor forgets all of it when the rewards of an arm have been 4 times in a
 * row farther from their mean than 3 mean deviations, towards where it would
 * matter.
 *
 * With exp3, arms are drawn at random instead, by weights. For the reward r of an
 * arm that was drawn with the probability p, its weight grows:
 *
 *	weight *= exp(0.2 / 3 x a / p)		a = min(r, exp(4 (r - 1)))
 *	p       = (1 - g) weight / sum of weights + g / 3
 *
 * g is 0.2, and 0.5 in the first 75 intervals. The monitor looks at smoothed
 * rewards a. It sets all weights to 1 when the last 75 intervals were without
 * that, and g to 0.5 for another 75.
 *
 * Source: Xing, Xue, Zhang, Han, Li, Wei, "An Online Learning Assisted Packet
 * Scheduler for MPTCP in Mobile Networks", IEEE/ACM ToN 2023; the authors' module
 * for the out-of-tree kernel v0.95 (mptcp_ol.c, version 0.21; its
 * DEBUG_USE_UCB_MON is monitor, and with exp3 so are DEBUG_USE_NEW_EPOCH and
 * DEBUG_USE_GAMMA_TUNING; DEBUG_FIX_ARM is arm). Exp3 is DEBUG_USE_UCB off: by
 * default it is on. Of the paper the abstract was at hand.
 *
 * Works where paths change and lose so much that what is sent twice pays: it finds
 * that out within some intervals, and that it does not, too. Fails in that it has
 * to try: a third of the first intervals, and later a few, send everything twice.
 * It learns nothing where some subflow sends nothing in an interval: with an
 * application that has little to send, a backup, or a subflow that has failed.
 *
 * Here are the intervals, and who sends; what is learnt is in parts/ols_ucb.c and
 * parts/ols_exp3.c.
 *
 * Differs from the source:
 * - always: with nothing but backups the source sends nothing: the connection
 *   stalls. Here they are used then.
 * - always: with one subflow the source reads a flag that it has not set. Here it
 *   is not set: shares go on as they were.
 * - always: of subflows with the same RTT the source sees only one. It counts in
 *   eighths of us, where that hardly ever happens, and we in us: here it sees
 *   both.
 * - always: the square root and the logarithm are the kernel's, which are exact to
 *   the unit, 1/8192, where the source has a library with errors of a few.
 * - always: the source takes the time of the last packet on each socket, and this
 *   the time of now.
 * - always: with exp3 the source reads beyond the arms when the random number is
 *   larger than all probabilities together, which are rounded down: here it is the
 *   last arm. An exponent of more than 10 overflows: here it is 10.
 */

#include "mpsched.h"
#include "parts/ols.h"
#include "parts/ols_interval.h"

#define INTERVAL_US	(40 * USEC_PER_MSEC)
#define INTERVAL_RTTS	2
/* A highest rate that is older is forgotten with all sent twice. */
#define RATE_US		(50ULL * INTERVAL_US)
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
	struct ols_interval interval;
	u64	acked_bytes;	/* of the subflow, ever */
	u64	lasts_us;	/* its interval, at least */
	u64	rate;		/* the highest one, bytes per second */
	u64	rate_us;	/* when it was seen */
	u64	last_seq;	/* of the segment that was chosen for it last */
	bool	has_sent;
	u8	arm;		/* of the interval that it began last */
	u8	twice;		/* left of its quotas */
	u8	once;
};

struct ols_conn {
	struct ols_interval interval;
	struct ols_learner learner;
	bool	sent;		/* all subflows have sent for long enough */
};

static struct ols_subflow *state_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

static u64 now_us(void)
{
	return div_u64(mps_clock_ns(), NSEC_PER_USEC);
}

static bool is_active(const struct mps_subflow *subflow)
{
	return subflow->usable && !subflow->backup;
}

/* --- intervals */

/* Has left the subflow. */
static u64 subflow_nxt(struct mps_subflow *subflow)
{
	u32 outstanding = subflow->outstanding_bytes;

	return state_of(subflow)->acked_bytes +
	       (outstanding - min(subflow->unsent_bytes, outstanding));
}

/* Does every subflow, whatever its state, send for as long as it is to? */
static bool ols_all_sent(struct mps_conn *conn)
{
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow) {
		const struct ols_interval *interval = &state_of(subflow)->interval;

		if (!interval->begin_us ||
		    interval->end_us - interval->begin_us < state_of(subflow)->lasts_us)
			return false;
	}
	return true;
}

/* Is everything acknowledged that was sent in the interval? Of the connection, only an
 * acknowledgment counts that comes after the interval was over.
 */
static bool ols_all_acked(struct mps_conn *conn, u64 now)
{
	struct ols_conn *state = mps_conn_priv(conn);
	struct ols_interval *whole = &state->interval;
	struct mps_subflow *subflow;
	bool all = true;

	mps_for_each_subflow(conn, subflow) {
		struct ols_interval *interval = &state_of(subflow)->interval;

		if (subflow->usable && !interval->acked && state->sent &&
		    state_of(subflow)->acked_bytes >= interval->end_seq)
			interval_acked(interval, now);
		all &= interval->acked;
	}
	if (state->sent && whole->una_seq < whole->end_seq && conn->una_seq >= whole->end_seq)
		interval_acked(whole, now);
	whole->una_seq = conn->una_seq;
	return all && whole->acked;
}

/* The goodput, of what all subflows could carry at best, in SCALE. */
static u64 ols_reward(struct mps_conn *conn, u64 now)
{
	struct ols_conn *state = mps_conn_priv(conn);
	struct mps_subflow *subflow;
	u64 sum = 0;

	mps_for_each_subflow(conn, subflow) {
		struct ols_subflow *sub = state_of(subflow);
		u64 rate = interval_rate(&sub->interval);

		if (!is_active(subflow))
			continue;
		if (rate > sub->rate ||
		    (state->learner.arm == ALL && now > sub->rate_us + RATE_US)) {
			sub->rate = rate;
			sub->rate_us = now;
		}
		sum += sub->rate;
	}
	return sum ? div64_u64(interval_rate(&state->interval) * SCALE, sum) : 0;
}

/* Learns what the arm has brought, and chooses the next one. */
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

/* Looks at the interval; true: the next one begins. */
static bool ols_look(struct mps_conn *conn)
{
	struct ols_conn *state = mps_conn_priv(conn);
	struct mps_subflow *subflow;
	u64 now = now_us();

	if (!state->sent) {
		mps_for_each_subflow(conn, subflow)
			if (subflow->usable)
				interval_sends(&state_of(subflow)->interval,
					       subflow_nxt(subflow), now);
		interval_sends(&state->interval, conn->nxt_seq, now);
		state->sent = ols_all_sent(conn);
	}
	if (!ols_all_acked(conn, now))
		return false;

	ols_learn(conn, ols_reward(conn, now));
	mps_event(conn, NULL, state->learner.arm + 1);
	mps_for_each_subflow(conn, subflow) {
		if (!subflow->usable)
			continue;
		interval_begin(&state_of(subflow)->interval, subflow_nxt(subflow));
		state_of(subflow)->arm = state->learner.arm;
		state_of(subflow)->lasts_us = max_t(u64, INTERVAL_US,
						    (u64)INTERVAL_RTTS * subflow->srtt_us);
	}
	interval_begin(&state->interval, conn->nxt_seq);
	state->sent = false;
	return true;
}

/* --- sending */

static void ols_check_quota(struct mps_conn *conn, struct mps_subflow *subflow, bool anew)
{
	struct ols_subflow *sub = state_of(subflow);
	u32 arm = mps_param(conn, ARM) ? mps_param(conn, ARM) - 1 : sub->arm;

	if (!anew && (sub->twice || sub->once))
		return;
	sub->twice = ols_twice[arm];
	sub->once = QUOTA_PKTS - sub->twice;
}

/* The first unacknowledged segment behind what the subflow has sent last; NULL: the
 * others have not come farther.
 */
static struct mps_segment *ols_sent_by_others(struct mps_conn *conn, struct mps_subflow *subflow)
{
	const struct ols_subflow *sub = state_of(subflow);
	struct mps_segment *seg = mps_oldest_unacked(conn);
	/* as in the source, one that did not leave counts for nothing */
	bool behind = sub->has_sent && sub->last_seq < conn->nxt_seq;

	while (seg && ((behind && mps_seq(conn, seg) <= sub->last_seq) ||
		       mps_carried_by(seg, subflow)))
		seg = mps_next_unacked(conn, seg);
	return seg;
}

/* The next one by RTT, and of those with the same by its number. */
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

/* As in the source, when it is chosen, be the receive window closed or not. */
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
		active += is_active(subflow);
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
	state_of(subflow)->acked_bytes += acked_bytes;
}

/* With each new subflow, as in the source, all is learnt anew; the others keep their arm
 * until the next interval.
 */
static void ols_init_subflow(struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct ols_conn *state = mps_conn_priv(conn);
	struct ols_learner *learner = &state->learner;

	*state = (struct ols_conn) {};
	learner->arm = ALL;
	learner->pulls = 1;
	learner->arms[ALL].pulls = 1;
	learner->epoch = EPOCH;
	ols_exp3_begin(learner);
	interval_begin(&state->interval, conn->nxt_seq);
	interval_begin(&state_of(subflow)->interval, subflow_nxt(subflow));
	state_of(subflow)->lasts_us = INTERVAL_US;
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
