// SPDX-License-Identifier: GPL-2.0-only
/* Learning by UCB1, with the monitor of the module mptcp_ol.c (DEBUG_USE_UCB_MON). */

#include <linux/export.h>
#include <linux/int_log.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "parts/ols.h"

/* ln(2) << 24 */
#define LN2_24		11629080ULL

static void ols_forget(struct ols_learner *learner)
{
	int i;

	for (i = 0; i < ARMS; i++) {
		learner->arms[i].pulls = 0;
		learner->arms[i].reward = 0;
	}
	learner->arms[learner->arm].pulls = 1;
	learner->arms[learner->arm].changes = 0;
	learner->pulls = 1;
	learner->epoch = EPOCH;
}

/* Does the reward of the arm change, for the better if it is not the best, or for the
 * worse if it is not the worst?
 */
static void ols_monitor(struct ols_learner *learner, u64 reward, bool monitor)
{
	struct ols_arm *arm = &learner->arms[learner->arm];
	u64 differs = abs_diff(reward, arm->reward);
	u64 most = MON_DEVIATIONS * arm->deviation;
	bool best = true, worst = true, outside = true;
	int i;

	if (learner->epoch)
		learner->epoch--;
	for (i = 0; i < ARMS; i++) {
		best &= arm->reward >= learner->arms[i].reward;
		worst &= arm->reward <= learner->arms[i].reward;
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
	if (abs(arm->changes) >= MON_TIMES && monitor)
		ols_forget(learner);
	arm->changes = clamp(arm->changes, -MON_TIMES, MON_TIMES);
	if (outside && !learner->epoch)
		return;
	arm->deviation = arm->deviation - (arm->deviation >> 3) + (differs >> 3);
}

void ols_ucb_learn(struct ols_learner *learner, u64 reward, bool monitor)
{
	struct ols_arm *arm = &learner->arms[learner->arm];

	ols_monitor(learner, reward, monitor);
	arm->reward = div_u64(arm->reward * (arm->pulls - 1) + reward, arm->pulls);
}
EXPORT_SYMBOL_GPL(ols_ucb_learn);

/* What the reward of the arm may be at best. */
static u64 ols_bound(const struct ols_learner *learner, const struct ols_arm *arm)
{
	u64 ln = (intlog2(learner->pulls) * LN2_24) >> 24;	/* << 24, too */

	return arm->reward + int_sqrt64(div_u64((2 * ln) << 2, arm->pulls));
}

u32 ols_ucb_pull(const struct ols_learner *learner)
{
	u64 bound, best = 0;
	u32 i, arm = 0;

	for (i = 0; i < ARMS; i++) {
		if (!learner->arms[i].pulls)
			return i;
		bound = ols_bound(learner, &learner->arms[i]);
		if (bound > best) {
			best = bound;
			arm = i;
		}
	}
	return arm;
}
EXPORT_SYMBOL_GPL(ols_ucb_pull);
