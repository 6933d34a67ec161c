// SPDX-License-Identifier: GPL-2.0-only
/* Learning by Exp3, as the module mptcp_ol.c with DEBUG_USE_UCB off: arms are drawn at
 * random by weights.
 */

#include <linux/export.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/random.h>

#include "parts/ols.h"

/* In percent: g, for how many intervals it is high, the growth of weights;
 * and how steep rewards are made
 */
#define GAMMA		20
#define GAMMA_HIGH	50
#define GROWTH		20
#define STEEPNESS	4
#define EXPONENT_MAX	(10 * SCALE)
#define WEIGHT_MAX	0xfffffffffULL

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

static void ols_set_probabilities(struct ols_learner *learner, u32 gamma)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < ARMS; i++)
		sum += learner->arms[i].weight;
	for (i = 0; i < ARMS; i++) {
		struct ols_arm *arm = &learner->arms[i];

		arm->probability = div_u64(div64_u64(arm->weight * SCALE, sum) * (100 - gamma),
					   100) + SCALE * gamma / (ARMS * 100);
	}
}

static void ols_smooth(struct ols_arm *arm, u64 reward)
{
	arm->reward = arm->reward - (arm->reward >> 3) + (reward >> 3);
}

/* As with UCB1, but of smoothed rewards, and the best arm has the largest weight. */
static void ols_exp3_monitor(struct ols_learner *learner, u64 reward, bool monitor)
{
	struct ols_arm *arm = &learner->arms[learner->arm];
	bool best = true, worst = true, outside = true;
	u64 differs, most = MON_DEVIATIONS * arm->deviation;
	int i;

	for (i = 0; i < ARMS; i++) {
		best &= arm->weight >= learner->arms[i].weight;
		worst &= arm->weight <= learner->arms[i].weight;
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
		if (monitor && !learner->epoch) {
			for (i = 0; i < ARMS; i++) {
				learner->arms[i].weight = SCALE;
				learner->arms[i].reward = 0;
			}
			learner->epoch = EPOCH;
		}
		if (monitor && !learner->high)
			learner->high = EPOCH;
	}
	if (outside && !learner->epoch)
		return;
	differs = abs_diff(reward, arm->reward);
	arm->deviation = arm->deviation - (arm->deviation >> 3) + (differs >> 3);
	ols_smooth(arm, reward);
}

void ols_exp3_learn(struct ols_learner *learner, u64 reward, bool monitor)
{
	struct ols_arm *arm = &learner->arms[learner->arm];
	u32 gamma = GAMMA;
	u64 weight, growth;
	int i;

	reward = ols_steep(reward);
	ols_exp3_monitor(learner, reward, monitor);
	growth = div_u64(div64_u64(reward * SCALE, max(arm->probability, 1U)) * GROWTH,
			 ARMS * 100);
	growth = ols_exp(min_t(u64, growth, EXPONENT_MAX));
	for (;;) {
		weight = (arm->weight * growth) >> SCALE_SHIFT;
		if (weight <= WEIGHT_MAX)
			break;
		for (i = 0; i < ARMS; i++)
			learner->arms[i].weight = max_t(u64, SCALE, learner->arms[i].weight >> 8);
	}
	arm->weight = weight;
	if (monitor) {
		if (learner->high) {
			gamma = GAMMA_HIGH;
			learner->high--;
		}
		if (learner->epoch)
			learner->epoch--;
	}
	ols_set_probabilities(learner, gamma);
}
EXPORT_SYMBOL_GPL(ols_exp3_learn);

u32 ols_exp3_draw(const struct ols_learner *learner)
{
	u32 drawn = get_random_u16() & (SCALE - 1), sum = 0, i;

	for (i = 0; i < ARMS - 1; i++) {
		sum += learner->arms[i].probability;
		if (drawn <= sum)
			break;
	}
	return i;
}
EXPORT_SYMBOL_GPL(ols_exp3_draw);

void ols_begin_learning(struct ols_learner *learner)
{
	int i;

	*learner = (struct ols_learner) {
		.arms[ALL].pulls = 1,
		.pulls		 = 1,
		.arm		 = ALL,
		.epoch		 = EPOCH,
		.high		 = EPOCH,
	};
	for (i = 0; i < ARMS; i++)
		learner->arms[i].weight = SCALE;
	ols_set_probabilities(learner, GAMMA);
}
EXPORT_SYMBOL_GPL(ols_begin_learning);
