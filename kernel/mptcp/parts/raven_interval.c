// SPDX-License-Identifier: GPL-2.0-only
/* The mean RTT of a subflow in raven, and the interval around it: see raven_interval.h. */

#include "parts/raven_interval.h"

/* the weight of a new sample */
#define RAVEN_ONE		BIT_ULL(20)
/* Above this, weights and their sum are halved: with these RTTs, products fit. */
#define RAVEN_WEIGHTS_MAX	BIT_ULL(36)
#define RAVEN_RTT_MAX_US	(60 * USEC_PER_SEC)
/* weights age in steps: 1024 in a half-life */
#define RAVEN_STEPS_SHIFT	10
#define RAVEN_PERMILLE		1000
#define RAVEN_PPM		1000000ULL
#define RAVEN_AGING_MAX_S	30ULL

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

/* 2^(-1/1024), 2^(-2/1024), 2^(-4/1024), ... << 32 */
static const u32 raven_left[RAVEN_STEPS_SHIFT] = {
	4292061010U, 4289156690U, 4283353945U, 4271771996U, 4248701965U,
	4202935003U, 4112874773U, 3938502376U, 3611622603U, 3037000500U,
};

/* An aged weight: half of it is left after each half-life. */
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

/* Weights age in whole steps; the rest of the time counts with the next sample. */
void raven_sample(struct mps_conn *conn, struct mps_subflow *subflow, u64 acked_bytes)
{
	u64 half_life_ns = mps_param(conn, HALF_LIFE) * (u64)NSEC_PER_MSEC;
	struct raven_interval *state = mps_subflow_priv(subflow);
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
EXPORT_SYMBOL_GPL(raven_sample);

/* How much wider than at first the interval is after so many seconds, in thousandths. */
static u32 raven_aging(const struct mps_conn *conn, const struct mps_subflow *subflow, u64 age_s)
{
	if (!mps_param(conn, AGING))
		return RAVEN_PERMILLE;
	age_s = min(age_s, RAVEN_AGING_MAX_S);
	return subflow->id == 1 ? raven_aging_first[age_s] : raven_aging_other[age_s];
}

void raven_predict(const struct mps_conn *conn, struct mps_subflow *subflow, u64 now_ns)
{
	struct raven_interval *state = mps_subflow_priv(subflow);
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
		above_ppm = div_u64(above_ppm, RAVEN_PPM) * RAVEN_PPM;
	state->low_us = max(div_u64(mean_us * (RAVEN_PPM - below_ppm), RAVEN_PPM), 1ULL);
	state->high_us = div_u64(mean_us * above_ppm, RAVEN_PPM);
}
EXPORT_SYMBOL_GPL(raven_predict);
