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

#include <linux/int_log.h>
#include <linux/random.h>
#include "mpsched.h"

/* of rewards and shares */
#define SCALE_SHIFT	13
#define SCALE		BIT(SCALE_SHIFT)
/* ln(2) << 24 */
#define LN2_24		11629080ULL

#define INTERVAL_US	(40 * USEC_PER_MSEC)
#define INTERVAL_RTTS	2
/* A highest rate that is older is forgotten with all sent twice. */
#define RATE_US		(50ULL * INTERVAL_US)
#define QUOTA_PKTS	12

#define MON_DEVIATIONS	3
#define MON_TIMES	4
/* So many intervals an epoch lasts: until its end all rewards make the deviation. */
#define EPOCH		(ARMS * 25)

/* of Exp3, in percent: g, for how many intervals it is high, the growth of weights;
 * and how steep rewards are made
 */
#define GAMMA		20
#define GAMMA_HIGH	50
#define GROWTH		20
#define STEEPNESS	4
#define EXPONENT_MAX	(10 * SCALE)
#define WEIGHT_MAX	0xfffffffffULL

enum { ARM, MONITOR, EXP3 };
enum { ALL, HALF, NONE, ARMS };

static const struct mps_param ols_params[] = {
	[ARM]	  = MPS_UINT("arm", 0, 3, 0, "",
			     "send twice 1: all; 2: half; 3: nothing; 0: what is learnt"),
	[MONITOR] = MPS_BOOL("monitor", 1, "forget what is learnt when rewards change"),
	[EXP3]	  = MPS_BOOL("exp3", 0, "draw arms at random by weights (Exp3), and not by UCB1"),
};

/* of QUOTA_PKTS, the segments that are sent twice */
static const u8 ols_twice[ARMS] = { [ALL] = QUOTA_PKTS, [HALF] = QUOTA_PKTS / 2, [NONE] = 0 };

/* What was sent in an interval, on a subflow or at all, and when. */
struct ols_interval {
	u64	begin_seq;
	u64	end_seq;
	u64	una_seq;	/* all before it was acknowledged at the last look */
	u64	begin_us;	/* when the first byte left; 0: none has */
	u64	end_us;		/* the last look, while it lasts */
	u64	acked_us;	/* when all of it was acknowledged */
	bool	acked;
};

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

struct ols_arm {
	u64	reward;		/* the mean, in SCALE; with exp3 smoothed */
	u64	deviation;	/* of rewards, smoothed */
	u32	pulls;
	s8	changes;	/* in a row, up or down */
	u64	weight;		/* with exp3, in SCALE, like the probability */
	u32	probability;
};

struct ols_conn {
	struct ols_interval interval;
	struct ols_arm	arms[ARMS];
	u32	pulls;		/* of all arms */
	u32	arm;		/* this interval's */
	u32	epoch;		/* intervals that are left of it, */
	u32	high;		/* and with exp3 of GAMMA_HIGH */
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

static void interval_begin(struct ols_interval *interval, u64 nxt_seq)
{
	*interval = (struct ols_interval) {
		.begin_seq = nxt_seq,
		.end_seq   = nxt_seq,
		.una_seq   = nxt_seq,
	};
}

static void interval_sends(struct ols_interval *interval, u64 nxt_seq, u64 now)
{
	if (!interval->begin_us && nxt_seq > interval->begin_seq)
		interval->begin_us = now;
	interval->end_seq = nxt_seq;
	interval->end_us = now;
}

static void interval_acked(struct ols_interval *interval, u64 now)
{
	interval->acked = true;
	interval->acked_us = now;
}

/* Of the interval, bytes per second. */
static u64 interval_rate(const struct ols_interval *interval)
{
	u64 us = interval->acked_us - interval->begin_us;

	if (interval->acked_us <= interval->begin_us)
		return 0;
	return div64_u64((interval->end_seq - interval->begin_seq) * USEC_PER_SEC, us);
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

/* --- learning */

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
		if (rate > sub->rate || (state->arm == ALL && now > sub->rate_us + RATE_US)) {
			sub->rate = rate;
			sub->rate_us = now;
		}
		sum += sub->rate;
	}
	return sum ? div64_u64(interval_rate(&state->interval) * SCALE, sum) : 0;
}

static void ols_forget(struct ols_conn *state)
{
	int i;

	for (i = 0; i < ARMS; i++) {
		state->arms[i].pulls = 0;
		state->arms[i].reward = 0;
	}
	state->arms[state->arm].pulls = 1;
	state->arms[state->arm].changes = 0;
	state->pulls = 1;
	state->epoch = EPOCH;
}

/* Does the reward of the arm change, for the better if it is not the best, or for the
 * worse if it is not the worst?
 */
static void ols_monitor(const struct mps_conn *conn, struct ols_conn *state, u64 reward)
{
	struct ols_arm *arm = &state->arms[state->arm];
	u64 differs = abs_diff(reward, arm->reward);
	u64 most = MON_DEVIATIONS * arm->deviation;
	bool best = true, worst = true, outside = true;
	int i;

	if (state->epoch)
		state->epoch--;
	for (i = 0; i < ARMS; i++) {
		best &= arm->reward >= state->arms[i].reward;
		worst &= arm->reward <= state->arms[i].reward;
	}
	if (!arm->deviation) {
		arm->deviation = differs;
		return;
	}
	if (reward > arm->reward && differs > most && !best) {
		arm->changes = max(arm->changes, 0) + 1;
	} else if (reward < arm->reward && differs > most && !worst) {
		arm->changes = min(arm->changes, 0) - 1;
	} else {
		arm->changes = 0;
		outside = false;
	}
	if (abs(arm->changes) >= MON_TIMES && mps_param(conn, MONITOR))
		ols_forget(state);
	arm->changes = clamp(arm->changes, -MON_TIMES, MON_TIMES);
	if (outside && !state->epoch)
		return;
	arm->deviation = arm->deviation - (arm->deviation >> 3) + (differs >> 3);
}

/* --- learning by Exp3 */

/* e to the x, both in SCALE */
static u64 ols_exp(u32 x)
{
	u64 term = SCALE, sum = SCALE;
	u32 i;

	for (i = 1; term; i++) {
		term = div_u64(div_u64(term * x, i), SCALE);
		sum += term;
	}
	return sum;
}

/* Low rewards are made lower still. */
static u64 ols_steep(u64 reward)
{
	if (reward >= SCALE)
		return reward;
	return min(div64_u64(ols_exp(STEEPNESS * reward) * SCALE, ols_exp(STEEPNESS * SCALE)),
		   reward);
}

static void ols_set_probabilities(struct ols_conn *state, u32 gamma)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < ARMS; i++)
		sum += state->arms[i].weight;
	for (i = 0; i < ARMS; i++) {
		struct ols_arm *arm = &state->arms[i];

		arm->probability = div_u64(div64_u64(arm->weight * SCALE, sum) * (100 - gamma),
					   100) + SCALE * gamma / (ARMS * 100);
	}
}

static void ols_smooth(struct ols_arm *arm, u64 reward)
{
	arm->reward = arm->reward - (arm->reward >> 3) + (reward >> 3);
}

/* As above, but of smoothed rewards, and the best arm has the largest weight. */
static void ols_monitor_exp3(const struct mps_conn *conn, struct ols_conn *state, u64 reward)
{
	struct ols_arm *arm = &state->arms[state->arm];
	bool best = true, worst = true, outside = true;
	u64 differs, most = MON_DEVIATIONS * arm->deviation;
	int i;

	for (i = 0; i < ARMS; i++) {
		best &= arm->weight >= state->arms[i].weight;
		worst &= arm->weight <= state->arms[i].weight;
	}
	reward = min_t(u64, reward, SCALE);
	if (!arm->reward) {
		arm->reward = reward;
		arm->deviation = 0;
		return;
	}
	if (!arm->deviation) {
		arm->deviation = abs_diff(reward, arm->reward);
		ols_smooth(arm, reward);
		return;
	}
	if (reward > arm->reward + most && !best) {
		arm->changes = max(arm->changes, 0) + 1;
	} else if (reward + most < arm->reward && !worst) {
		arm->changes = min(arm->changes, 0) - 1;
	} else {
		arm->changes = 0;
		outside = false;
	}
	if (abs(arm->changes) >= MON_TIMES) {
		arm->changes = 0;
		if (mps_param(conn, MONITOR) && !state->epoch) {
			for (i = 0; i < ARMS; i++) {
				state->arms[i].weight = SCALE;
				state->arms[i].reward = 0;
			}
			state->epoch = EPOCH;
		}
		if (mps_param(conn, MONITOR) && !state->high)
			state->high = EPOCH;
	}
	if (outside && !state->epoch)
		return;
	differs = abs_diff(reward, arm->reward);
	arm->deviation = arm->deviation - (arm->deviation >> 3) + (differs >> 3);
	ols_smooth(arm, reward);
}

static void ols_learn_exp3(struct mps_conn *conn, u64 reward)
{
	struct ols_conn *state = mps_conn_priv(conn);
	struct ols_arm *arm = &state->arms[state->arm];
	u32 gamma = GAMMA;
	u64 weight, growth;
	int i;

	reward = ols_steep(reward);
	ols_monitor_exp3(conn, state, reward);
	growth = div_u64(div64_u64(reward * SCALE, max(arm->probability, 1U)) * GROWTH,
			 ARMS * 100);
	growth = ols_exp(min_t(u64, growth, EXPONENT_MAX));
	for (;;) {
		weight = (arm->weight * growth) >> SCALE_SHIFT;
		if (weight <= WEIGHT_MAX)
			break;
		for (i = 0; i < ARMS; i++)
			state->arms[i].weight = max_t(u64, SCALE, state->arms[i].weight >> 8);
	}
	arm->weight = weight;
	if (mps_param(conn, MONITOR)) {
		if (state->high) {
			gamma = GAMMA_HIGH;
			state->high--;
		}
		if (state->epoch)
			state->epoch--;
	}
	ols_set_probabilities(state, gamma);
}

static u32 ols_draw(const struct ols_conn *state)
{
	u32 drawn = get_random_u16() & (SCALE - 1), sum = 0, i;

	for (i = 0; i < ARMS - 1; i++) {
		sum += state->arms[i].probability;
		if (drawn <= sum)
			break;
	}
	return i;
}

static void ols_learn(struct mps_conn *conn, u64 now)
{
	struct ols_conn *state = mps_conn_priv(conn);
	struct ols_arm *arm = &state->arms[state->arm];
	u64 reward = ols_reward(conn, now);

	if (mps_param(conn, EXP3)) {
		ols_learn_exp3(conn, reward);
		return;
	}
	ols_monitor(conn, state, reward);
	arm->reward = div_u64(arm->reward * (arm->pulls - 1) + reward, arm->pulls);
}

/* What the reward of the arm may be at best. */
static u64 ols_bound(const struct ols_conn *state, const struct ols_arm *arm)
{
	u64 ln = (intlog2(state->pulls) * LN2_24) >> 24;	/* << 24, too */

	return arm->reward + int_sqrt64(div_u64((2 * ln) << 2, arm->pulls));
}

static u32 ols_pull(const struct ols_conn *state)
{
	u64 bound, best = 0;
	u32 i, arm = 0;

	for (i = 0; i < ARMS; i++) {
		if (!state->arms[i].pulls)
			return i;
		bound = ols_bound(state, &state->arms[i]);
		if (bound > best) {
			best = bound;
			arm = i;
		}
	}
	return arm;
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

	ols_learn(conn, now);
	state->arm = mps_param(conn, EXP3) ? ols_draw(state) : ols_pull(state);
	state->arms[state->arm].pulls++;
	state->pulls++;
	mps_event(conn, NULL, state->arm + 1);
	mps_for_each_subflow(conn, subflow) {
		if (!subflow->usable)
			continue;
		interval_begin(&state_of(subflow)->interval, subflow_nxt(subflow));
		state_of(subflow)->arm = state->arm;
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
	int i;

	*state = (struct ols_conn) {
		.arm	= ALL,
		.pulls	= 1,
		.epoch	= EPOCH,
		.high	= EPOCH,
	};
	state->arms[ALL].pulls = 1;
	for (i = 0; i < ARMS; i++)
		state->arms[i].weight = SCALE;
	ols_set_probabilities(state, GAMMA);
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
