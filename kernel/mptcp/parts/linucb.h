/* SPDX-License-Identifier: GPL-2.0-only */
/* LinUCB with disjoint arms (Li et al., WWW 2010, algorithm 1), in fixed point: what an arm
 * has learnt of contexts and their rewards.
 *
 *	A = I + sum of x x'	b = sum of R x		theta = inverse(A) b
 *	expected reward = theta' x	width = sqrt(x' inverse(A) x)
 *
 * x has 6 features of at most 16, R is below 1, and an arm learns 65536 rewards at most.
 * The arm keeps P = inverse(A), and updates it by the formula of Sherman and Morrison, so
 * that no matrix is ever inverted:
 *
 *	v = P x		s = x' v	P -= v v' / (1 + s)
 *
 * Ranges. A is I plus positive semidefinite matrices: the eigenvalues of P are in (0, 1], and
 * no element of P is beyond 1. So no element of v is beyond |x| <= 16 sqrt(6) < 2^5.3, and s
 * is at most |x|^2 < 2^10.6. Elements of b are at most 2^16 x 1 x 2^4 = 2^20. All fit:
 *
 *	x, u32		2^-28	below 2^32
 *	R, u32		2^-32	below 2^32
 *	P, v, s64	2^-56	below 2^61.3; partial sums of v below 6 x 2^60
 *	s		2^-40	below 2^50.6
 *	b, theta, s64	2^-40	b below 2^60; partial sums of theta below 6 x 2^60
 *
 * Errors. Each product is exact in 128 bits, and a shift loses less than a unit. In an update,
 * the six terms of s lose less than 6 x 2^-40, which is a relative error of 1 + s of less than
 * 2^-37. All other errors are some units of 2^-56. So an update adds less than 2^-37 to the
 * error of an element of P; and it divides the error in the direction of x by (1 + s)^2. For
 * features of |x| <= 1 and n rewards of r, the expected reward is then off by less than
 *
 *	(n 2^-37) (n r |x|) |x| <= r n^2 2^-37
 *
 * and by some units of 2^-40 that theta and the last sum lose (a reward of 1448 bytes in a
 * second is 1.6 million units).
 * With the default of 2000 rewards, the bound is r / 2^15. With 65536 it is r / 2^5, if errors
 * only add up.
 */
#ifndef _MPTCP_LAB_LINUCB_H
#define _MPTCP_LAB_LINUCB_H

#include <linux/types.h>

#define LINUCB_FEATURES		6
#define LINUCB_MOST		65536	/* rewards of an arm */

#define LINUCB_X_SHIFT		28
#define LINUCB_REWARD_SHIFT	32
#define LINUCB_P_SHIFT		56
#define LINUCB_VALUE_SHIFT	40	/* of b, theta, and all values that arms are compared by */

struct linucb_arm {
	u32	rewards;	/* that it has learnt */
	s64	p[LINUCB_FEATURES][LINUCB_FEATURES];
	s64	b[LINUCB_FEATURES];
	s64	theta[LINUCB_FEATURES];
};

/* P = I, b = 0 */
void linucb_begin(struct linucb_arm *arm);

/* The context x has had this reward. */
void linucb_learn(struct linucb_arm *arm, const u32 *x, u32 reward);

/* The expected reward */
s64 linucb_expects(const struct linucb_arm *arm, const u32 *x);

/* alpha x width: what the reward may be above that */
s64 linucb_bonus(const struct linucb_arm *arm, const u32 *x, u32 alpha_permille);

#endif
