// SPDX-License-Identifier: GPL-2.0-only
/* LinUCB in fixed point: see linucb.h. */

#include <linux/export.h>
#include <linux/math.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "parts/linucb.h"

#define S_SHIFT		LINUCB_VALUE_SHIFT
/* 2^-52 of s has a root of 2^-26 */
#define ROOT_SHIFT	12

/* a x b >> shift, towards 0 */
static s64 scaled(s64 a, s64 b, u32 shift)
{
	u64 product = mul_u64_u64_shr(abs(a), abs(b), shift);

	return (a < 0) == (b < 0) ? product : -product;
}

/* v = P x; returns s = x' v */
static u64 linucb_spread(const struct linucb_arm *arm, const u32 *x, s64 *v)
{
	s64 s = 0;
	int i, j;

	for (i = 0; i < LINUCB_FEATURES; i++) {
		v[i] = 0;
		for (j = 0; j < LINUCB_FEATURES; j++)
			v[i] += scaled(arm->p[i][j], x[j], LINUCB_X_SHIFT);
		s += scaled(v[i], x[i], LINUCB_P_SHIFT + LINUCB_X_SHIFT - S_SHIFT);
	}
	/* rounding alone can make it negative */
	return max(s, 0);
}

void linucb_begin(struct linucb_arm *arm)
{
	int i;

	*arm = (struct linucb_arm) {};
	for (i = 0; i < LINUCB_FEATURES; i++)
		arm->p[i][i] = 1LL << LINUCB_P_SHIFT;
}
EXPORT_SYMBOL_GPL(linucb_begin);

void linucb_learn(struct linucb_arm *arm, const u32 *x, u32 reward)
{
	const u64 one = 1ULL << S_SHIFT;
	s64 v[LINUCB_FEATURES], gain;
	int i, j;
	u64 s;

	arm->rewards++;
	s = linucb_spread(arm, x, v);
	for (i = 0; i < LINUCB_FEATURES; i++) {
		gain = mul_u64_u64_div_u64(abs(v[i]), one, one + s);
		if (v[i] < 0)
			gain = -gain;
		for (j = i; j < LINUCB_FEATURES; j++) {
			arm->p[i][j] -= scaled(gain, v[j], LINUCB_P_SHIFT);
			arm->p[j][i] = arm->p[i][j];
		}
		arm->b[i] += ((u64)reward * x[i]) >>
			     (LINUCB_REWARD_SHIFT + LINUCB_X_SHIFT - LINUCB_VALUE_SHIFT);
	}
	for (i = 0; i < LINUCB_FEATURES; i++) {
		arm->theta[i] = 0;
		for (j = 0; j < LINUCB_FEATURES; j++)
			arm->theta[i] += scaled(arm->p[i][j], arm->b[j], LINUCB_P_SHIFT);
	}
}
EXPORT_SYMBOL_GPL(linucb_learn);

s64 linucb_expects(const struct linucb_arm *arm, const u32 *x)
{
	s64 sum = 0;
	int i;

	for (i = 0; i < LINUCB_FEATURES; i++)
		sum += scaled(arm->theta[i], x[i], LINUCB_X_SHIFT);
	return sum;
}
EXPORT_SYMBOL_GPL(linucb_expects);

s64 linucb_bonus(const struct linucb_arm *arm, const u32 *x, u32 alpha_permille)
{
	s64 v[LINUCB_FEATURES];
	u64 root = int_sqrt64(linucb_spread(arm, x, v) << ROOT_SHIFT);

	return div_u64((root * alpha_permille) << (S_SHIFT - (S_SHIFT + ROOT_SHIFT) / 2), 1000);
}
EXPORT_SYMBOL_GPL(linucb_bonus);
