// SPDX-License-Identifier: GPL-2.0-only
/* The rewards of peekaboo: see peekaboo_reward.h.
 *
 * An ACK at T_e after the decision, of S bytes from the decision's packet on, adds g S / T_e.
 * g is 1 for the first such ACK. Each ACK multiplies it by 0.9, 0.7 or 0.5, in the first,
 * second or third T_r. Later ones do not count.
 */

#include "parts/peekaboo_reward.h"

#define WEIGHT_ONE	BIT(16)
#define WINDOWS		3
/* S << 32 fits into 64 bits */
#define BYTES_MAX	(SZ_2G - 1ULL)

static const u8 discount_tenths[WINDOWS] = { 9, 7, 5 };

/* bytes per ns, in 2^-32 */
static u32 rate(u64 bytes, u64 age_ns)
{
	u64 quotient = div64_u64(min(bytes, BYTES_MAX) << LINUCB_REWARD_SHIFT, max(age_ns, 1ULL));

	return min_t(u64, quotient, U32_MAX);
}

void peekaboo_reward(struct peekaboo_trial *trial, u64 age_ns, u64 bytes)
{
	u64 reward = trial->reward;
	u32 window = 0;

	if (trial->over || age_ns >= WINDOWS * trial->window_ns)
		return;
	while (age_ns > (window + 1) * trial->window_ns)
		window++;
	reward += ((u64)rate(bytes, age_ns) * trial->weight) / WEIGHT_ONE;
	trial->reward = min_t(u64, reward, U32_MAX);
	trial->weight = trial->weight * discount_tenths[window] / 10;
}
EXPORT_SYMBOL_GPL(peekaboo_reward);

void peekaboo_reward_own(struct peekaboo_trial *trial, u64 age_ns, u32 mss_bytes)
{
	if (trial->over)
		return;
	trial->reward = rate(mss_bytes, age_ns);
	trial->over = true;
}
EXPORT_SYMBOL_GPL(peekaboo_reward_own);

static struct peekaboo_trial *trial_at(struct peekaboo_trials *trials, u32 n)
{
	return &trials->ring[(trials->first + n) % PEEKABOO_TRIALS];
}

void peekaboo_forget_oldest(struct peekaboo_trials *trials)
{
	trials->first = (trials->first + 1) % PEEKABOO_TRIALS;
	trials->num--;
}
EXPORT_SYMBOL_GPL(peekaboo_forget_oldest);

struct peekaboo_trial *peekaboo_new_trial(struct peekaboo_trials *trials)
{
	struct peekaboo_trial *trial;

	if (trials->num == PEEKABOO_TRIALS)
		return NULL;
	trial = trial_at(trials, trials->num++);
	*trial = (struct peekaboo_trial) { .weight = WEIGHT_ONE };
	return trial;
}
EXPORT_SYMBOL_GPL(peekaboo_new_trial);

void peekaboo_acked(struct peekaboo_trials *trials, const struct mps_subflow *subflow,
		    u64 acked_bytes, bool own_packet, u64 now_ns)
{
	u32 i;

	for (i = 0; i < trials->num; i++) {
		struct peekaboo_trial *trial = trial_at(trials, i);
		u64 age_ns = now_ns - trial->decided_ns, beyond;

		if (trial->subflow != subflow->id || subflow->acked_bytes <= trial->mark_bytes)
			continue;
		beyond = subflow->acked_bytes - trial->mark_bytes;
		if (own_packet)
			peekaboo_reward_own(trial, age_ns, subflow->mss_bytes);
		else
			peekaboo_reward(trial, age_ns, min(acked_bytes, beyond));
	}
}
EXPORT_SYMBOL_GPL(peekaboo_acked);

void peekaboo_gone(struct peekaboo_trials *trials, const struct mps_subflow *subflow)
{
	u32 i;

	for (i = 0; i < trials->num; i++)
		if (trial_at(trials, i)->subflow == subflow->id)
			trial_at(trials, i)->over = true;
}
EXPORT_SYMBOL_GPL(peekaboo_gone);
