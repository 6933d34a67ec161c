/* SPDX-License-Identifier: GPL-2.0-only */
/* What ols learns: the arms, and the two ways to learn which one is the best. */
#ifndef _MPTCP_LAB_OLS_H
#define _MPTCP_LAB_OLS_H

#include <linux/bits.h>
#include <linux/types.h>

/* of rewards, shares and probabilities */
#define SCALE_SHIFT	13
#define SCALE		BIT(SCALE_SHIFT)

/* A reward so many times in a row, farther from the mean than so many deviations, changes
 * what is learnt.
 */
#define MON_DEVIATIONS	3
#define MON_TIMES	4
/* So many intervals an epoch lasts: until its end all rewards make the deviation. */
#define EPOCH		(ARMS * 25)

enum { ALL, HALF, NONE, ARMS };	/* of what others have sent, sent twice */

struct ols_arm {
	u64	reward;		/* the mean, in SCALE; of Exp3 smoothed */
	u64	deviation;	/* of rewards, smoothed */
	u32	pulls;
	s8	changes;	/* in a row, up or down */
	u64	weight;		/* of Exp3, in SCALE, like the probability */
	u32	probability;
};

struct ols_learner {
	struct ols_arm	arms[ARMS];
	u32	pulls;		/* of all arms */
	u32	arm;		/* this interval's */
	u32	epoch;		/* intervals that are left of it, */
	u32	high;		/* and of the high g of Exp3 */
};

/* Learns the reward of the present arm; `monitor`: forgets all if rewards change. */
void ols_ucb_learn(struct ols_learner *learner, u64 reward, bool monitor);
void ols_exp3_learn(struct ols_learner *learner, u64 reward, bool monitor);

/* The next arm */
u32 ols_ucb_pull(const struct ols_learner *learner);
u32 ols_exp3_draw(const struct ols_learner *learner);

/* Nothing is learnt, all is sent twice, and all probabilities are equal. */
void ols_begin_learning(struct ols_learner *learner);

#endif
