// SPDX-License-Identifier: GPL-2.0-only
/* raven: copies, as long as it is not sure which path is the fastest.
 *
 * For each subflow the RTT to come is predicted: a mean of the samples, in which
 * newer ones count more, and an interval around it in which 90 % of the samples
 * of that network were found. The interval is wider the older the latest sample
 * is. Each new segment goes to the subflow whose interval begins the lowest,
 * and, where there is room now, to all others whose interval overlaps with that
 * one.
 *
 * Source: Lee, Flinn, Tonshal, "RAVEN: Improving Interactive Latency for the
 * Connected Car", MobiCom 2018, of which the abstract was at hand; the authors'
 * module mptcp_raven.c of June 2018 for the out-of-tree kernel v0.94, which was
 * not finished: what chooses the constants of a subflow is compiled out, and the
 * code that adds a sample to the mean is not in it, only the table of its
 * weights.
 *
 * Works for small data that is to come soon, over paths whose delays vary by more
 * than they differ, and for paths that were not used for a while. Fails, as the
 * intervals are those of the authors' two cellular networks in a car, and wide:
 * two paths of which one is not twice as fast carry everything twice. Bulk data
 * seldom finds room on both and spreads.
 *
 * Differs from the source:
 * - always: the constants of the second data set, the one compiled in, are used
 *   by the order of subflows: the first one's network, and for all others the
 *   second's. In the source no subflow has any, and the interval is not set.
 * - always: the first copy goes to the lowest RTT of those that get the segment.
 *   In the source a pointer is not set there; with a single one, nothing is
 *   sent.
 * - half_life_ms: the table of weights halves at its 164th entry. What an entry
 *   stands for is not known; here it is 1 ms.
 * - whole_upper: the source rounds down 1 + the upper share, which makes [m,
 *   1.58 m] [m, m]. Off, it does not.
 * - always: age is counted up to 30 s. The source's tables go on to 1000 s, by
 *   no more than -17 and +6 %.
 * - always: a copy that finds no room in the instant of the decision is not
 *   made. The source puts it into a queue, from which it takes it when there is
 *   room.
 * - always: a backup subflow gets data if no other is usable. The source does
 *   not look at the flag.
 * - always: a reinjection goes where the default scheduler of v0.9x would send
 *   it. The source takes the first subflow that can send.
 */

#include "mpsched.h"

/* of weights */
#define RAVEN_ONE		BIT_ULL(20)
/* Above this, weights and their sum are halved: with these RTTs, products fit. */
#define RAVEN_WEIGHTS_MAX	BIT_ULL(36)
#define RAVEN_RTT_MAX_US	(60 * USEC_PER_SEC)
/* in which weights age: 1024 in a half-life */
#define RAVEN_STEPS_SHIFT	10
#define RAVEN_PERMILLE		1000
#define RAVEN_PPM		1000000ULL
#define RAVEN_AGING_MAX_S	30ULL

enum { LOWER1, UPPER1, LOWER, UPPER, HALF_LIFE, AGING, WHOLE_UPPER };

static const struct mps_param raven_params[] = {
	[LOWER1]      = MPS_UINT("lower1_permille", 0, 1000, 347, "1/1000",
				 "of the mean RTT, what the first path's interval has below"),
	[UPPER1]      = MPS_UINT("upper1_permille", 0, 100000, 578, "1/1000",
				 "and above"),
	[LOWER]	      = MPS_UINT("lower_permille", 0, 1000, 578, "1/1000",
				 "of all other paths, below"),
	[UPPER]	      = MPS_UINT("upper_permille", 0, 100000, 1321, "1/1000",
				 "and above"),
	[HALF_LIFE]   = MPS_UINT("half_life_ms", 1, 1000000, 164, "ms",
				 "a sample that is so old counts half as much as a new one"),
	[AGING]	      = MPS_BOOL("aging", 1, "intervals widen with the age of the latest sample"),
	[WHOLE_UPPER] = MPS_BOOL("whole_upper", 1,
				 "the upper bound is a whole multiple of the mean, rounded down"),
};

/* By how much an interval widens in so many seconds, in thousandths. */
static const u16 raven_aging_first[RAVEN_AGING_MAX_S + 1] = {
	1000, 1000, 1370, 1619, 1803, 1944, 2053, 2142, 2206, 2247, 2274, 2273, 2257, 2218, 2159,
	2076, 2168, 2256, 2337, 2412, 2484, 2550, 2611, 2665, 2713, 2750, 2778, 2799, 2815, 2832,
	2838,
};

static const u16 raven_aging_other[RAVEN_AGING_MAX_S + 1] = {
	1000, 1000, 1405, 1712, 1963, 2176, 2360, 2518, 2653, 2769, 2868, 2954, 3029, 3090, 3144,
	3190, 3227, 3255, 3278, 3296, 3311, 3323, 3331, 3336, 3338, 3336, 3333, 3334, 3336, 3336,
	3337,
};

struct raven_subflow {
	u64	rtts_us;	/* sum of the samples, by weight */
	u64	weights;	/* sum of those; 0: no sample yet */
	u64	aged_ns;	/* as of this time */
	u64	sampled_ns;

	u64	low_us;		/* of the interval, 0: there is none */
	u64	high_us;
	u64	expires_ns;	/* until then it is that */
	bool	target;		/* of the segment that is sent now */

	bool	copies;		/* it is to carry this one, too */
	u64	copy_seq;
};

static struct raven_subflow *state_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

/* --- the interval */

/* 2^(-1/1024), 2^(-2/1024), 2^(-4/1024), ... << 32 */
static const u32 raven_left[RAVEN_STEPS_SHIFT] = {
	4292061010U, 4289156690U, 4283353945U, 4271771996U, 4248701965U,
	4202935003U, 4112874773U, 3938502376U, 3611622603U, 3037000500U,
};

/* What is left of a weight: half of it after each half-life. */
static u64 raven_aged(u64 weight, u64 steps)
{
	u64 halvings = steps >> RAVEN_STEPS_SHIFT;
	int i;

	if (halvings > 63)
		return 0;
	weight >>= halvings;
	for (i = 0; i < RAVEN_STEPS_SHIFT; i++)
		if (steps & BIT(i))
			weight = mul_u64_u64_shr(weight, raven_left[i], 32);
	return weight;
}

/* Weights age in whole steps; what is left of the time counts with the next sample. */
static void raven_on_ack(struct mps_conn *conn, struct mps_subflow *subflow, u64 acked_bytes)
{
	u64 half_life_ns = mps_param(conn, HALF_LIFE) * (u64)NSEC_PER_MSEC;
	struct raven_subflow *state = state_of(subflow);
	u64 now_ns = mps_clock_ns(), steps;

	if (!subflow->last_rtt_us)
		return;
	if (!state->weights)
		state->aged_ns = now_ns;
	steps = div64_u64((now_ns - state->aged_ns) << RAVEN_STEPS_SHIFT, half_life_ns);
	state->aged_ns += mul_u64_u64_shr(steps, half_life_ns, RAVEN_STEPS_SHIFT);
	state->rtts_us = raven_aged(state->rtts_us, steps) +
			 min_t(u64, subflow->last_rtt_us, RAVEN_RTT_MAX_US) * RAVEN_ONE;
	state->weights = raven_aged(state->weights, steps) + RAVEN_ONE;
	if (state->weights > RAVEN_WEIGHTS_MAX) {
		state->rtts_us /= 2;
		state->weights /= 2;
	}
	state->sampled_ns = now_ns;
	state->expires_ns = 0;
}

/* How much wider than at first it is after so many seconds, in thousandths. */
static u32 raven_aging(const struct mps_conn *conn, const struct mps_subflow *subflow, u64 age_s)
{
	if (!mps_param(conn, AGING))
		return RAVEN_PERMILLE;
	age_s = min(age_s, RAVEN_AGING_MAX_S);
	return subflow->id == 1 ? raven_aging_first[age_s] : raven_aging_other[age_s];
}

static void raven_predict(const struct mps_conn *conn, struct mps_subflow *subflow, u64 now_ns)
{
	struct raven_subflow *state = state_of(subflow);
	u64 age_s, mean_us, aging, below_ppm, above_ppm;
	bool first = subflow->id == 1;

	if (!state->weights || now_ns < state->expires_ns)
		return;
	age_s = div_u64(now_ns - state->sampled_ns, NSEC_PER_SEC);
	state->expires_ns = state->sampled_ns + (age_s + 1) * NSEC_PER_SEC;
	mean_us = div64_u64(state->rtts_us, state->weights);
	aging = raven_aging(conn, subflow, age_s);
	below_ppm = min(aging * mps_param(conn, first ? LOWER1 : LOWER), RAVEN_PPM);
	above_ppm = aging * mps_param(conn, first ? UPPER1 : UPPER) + RAVEN_PPM;
	if (mps_param(conn, WHOLE_UPPER))
		above_ppm -= above_ppm % RAVEN_PPM;
	state->low_us = max(div_u64(mean_us * (RAVEN_PPM - below_ppm), RAVEN_PPM), 1ULL);
	state->high_us = div_u64(mean_us * above_ppm, RAVEN_PPM);
}

/* --- decisions */

static bool raven_is_candidate(const struct mps_subflow *subflow, bool backups)
{
	return subflow->usable && (backups || !subflow->backup);
}

/* The one whose interval begins the lowest; NULL: none has any. */
static const struct raven_subflow *raven_lowest(struct mps_conn *conn, bool backups)
{
	const struct raven_subflow *best = NULL;
	struct mps_subflow *subflow;
	u64 now_ns = mps_clock_ns();

	mps_for_each_subflow(conn, subflow) {
		struct raven_subflow *state = state_of(subflow);

		if (!raven_is_candidate(subflow, backups))
			continue;
		raven_predict(conn, subflow, now_ns);
		if (state->low_us && (!best || state->low_us < best->low_us))
			best = state;
	}
	return best;
}

/* Sets who gets the next segment, of those with room; returns the one with the lowest
 * RTT. If none of those whose interval overlaps has room, all that have some get it.
 */
static struct mps_subflow *raven_targets(struct mps_conn *conn)
{
	bool backups = mps_only_backups(conn), blind = false;
	const struct raven_subflow *lowest = raven_lowest(conn, backups);
	struct mps_subflow *subflow, *first = NULL;

	do {
		mps_for_each_subflow(conn, subflow) {
			struct raven_subflow *state = state_of(subflow);

			state->target = raven_is_candidate(subflow, backups) &&
					mps_available(subflow) &&
					(blind || !lowest || state->low_us <= lowest->high_us);
			if (state->target && (!first || subflow->srtt_us < first->srtt_us))
				first = subflow;
		}
		blind = !blind;
	} while (!first && blind);
	return first;
}

/* The segment that was sent last, on the others that are to have it. */
static bool raven_copy(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *seg = mps_latest_sent(conn);
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow) {
		struct raven_subflow *state = state_of(subflow);

		if (!state->copies)
			continue;
		state->copies = false;
		if (seg && mps_seq(conn, seg) == state->copy_seq &&
		    !mps_carried_by(seg, subflow) && mps_available(subflow))
			return mps_pick_duplicate(pick, conn, subflow, seg);
	}
	return false;
}

static bool raven_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *seg = mps_head(conn);
	struct mps_subflow *subflow;

	if (mps_reinject(conn, pick) || raven_copy(conn, pick))
		return true;
	subflow = seg ? raven_targets(conn) : NULL;
	return subflow && mps_pick_new(pick, conn, subflow, seg);
}

static void raven_on_sent(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes)
{
	struct mps_subflow *subflow;

	if (pick->kind != MPS_NEW)
		return;
	mps_for_each_subflow(conn, subflow) {
		struct raven_subflow *state = state_of(subflow);

		state->copies = subflow != pick->subflow && state->target;
		state->copy_seq = pick->seq;
	}
}

static struct mps_ops raven_ops = {
	.next_segment	= raven_next_segment,
	.on_ack		= raven_on_ack,
	.on_sent	= raven_on_sent,
	.name		= "raven",
	.owner		= THIS_MODULE,
	.subflow_size	= sizeof(struct raven_subflow),
	.params		= raven_params,
	.num_params	= ARRAY_SIZE(raven_params),
};

mps_scheduler(raven_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler RAVEN: copies while it is not sure which path is fastest");
