// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of the scheduler `peekaboo` on constructed states; its arithmetic against exact
 * rational numbers, computed by hand; and that rewards change its decisions.
 */

#include <linux/delay.h>
#include <linux/prandom.h>

#include "vocabulary.h"
#include "../parts/peekaboo_reward.h"

#define ONE_X		BIT(LINUCB_X_SHIFT)
#define ONE_P		BIT_ULL(LINUCB_P_SHIFT)
#define ONE_VALUE	BIT_ULL(LINUCB_VALUE_SHIFT)
#define QUARTER		BIT(LINUCB_REWARD_SHIFT - 2)	/* as a reward */

/* --- LinUCB */

/* The error of P after n updates, by linucb.h: n x 2^-37, in units of 2^-56 */
static void expect_p(struct kunit *test, s64 p, s64 numerator, s64 denominator, u32 n)
{
	s64 exact = numerator * (s64)ONE_P / denominator;

	KUNIT_EXPECT_LE_MSG(test, abs(p - exact), (s64)n << (LINUCB_P_SHIFT - 37),
			    "%lld/%lld", numerator, denominator);
}

/* Nothing is learnt: theta = 0, and the width of x is its length, 5 of (3, 4). */
static void linucb_begins_with_the_identity(struct kunit *test)
{
	u32 x[LINUCB_FEATURES] = { 3 * ONE_X, 4 * ONE_X };
	struct linucb_arm arm;

	linucb_begin(&arm);
	KUNIT_EXPECT_EQ(test, linucb_expects(&arm, x), 0);
	KUNIT_EXPECT_EQ(test, linucb_bonus(&arm, x, 1000), 5 * (s64)ONE_VALUE);
	KUNIT_EXPECT_EQ(test, linucb_bonus(&arm, x, 750), 15 * (s64)ONE_VALUE / 4);
	KUNIT_EXPECT_EQ(test, linucb_bonus(&arm, x, 0), 0);
}

/* x = (1, 0, ...) with the reward 1/4, n times: P = 1/(1+n), b = n/4, theta = n/4(1+n). */
static void linucb_learns_one_feature(struct kunit *test)
{
	u32 x[LINUCB_FEATURES] = { ONE_X };
	struct linucb_arm arm;
	u32 n;

	linucb_begin(&arm);
	linucb_learn(&arm, x, QUARTER);
	KUNIT_EXPECT_EQ(test, arm.p[0][0], (s64)ONE_P / 2);
	KUNIT_EXPECT_EQ(test, arm.p[1][1], (s64)ONE_P);
	KUNIT_EXPECT_EQ(test, arm.p[0][1], 0);
	KUNIT_EXPECT_EQ(test, arm.b[0], (s64)ONE_VALUE / 4);
	KUNIT_EXPECT_EQ(test, linucb_expects(&arm, x), (s64)ONE_VALUE / 8);
	/* the root of 1/2 is 47453132.8 x 2^-26 */
	KUNIT_EXPECT_EQ(test, linucb_bonus(&arm, x, 1000), 47453132LL << 14);
	for (n = 2; n <= 100; n++) {
		s64 exact = n * (s64)ONE_VALUE / (4 * (1 + n));

		linucb_learn(&arm, x, QUARTER);
		expect_p(test, arm.p[0][0], 1, 1 + n, n);
		KUNIT_EXPECT_EQ(test, arm.b[0], n * (s64)ONE_VALUE / 4);
		/* n 2^-37 of P, times b */
		KUNIT_EXPECT_LE(test, abs(linucb_expects(&arm, x) - exact),
				(s64)n * n << (LINUCB_VALUE_SHIFT - 37 - 2));
	}
}

/* x = (1, 1), R = 1/4, and x = (1, 2), R = 1/2:
 *
 *	A = | 3 3 |	P = |  2/3 -1/3 |	b = | 3/4 |	theta = | 1/12 |
 *	    | 3 6 |	    | -1/3  1/3 |	    | 5/4 |		|  1/6 |
 *
 * So (6, 3) has 1/2 + 1/2 = 1 to expect, and a width of the root of 24 - 12 + 3 = 15.
 */
static void linucb_learns_two_features(struct kunit *test)
{
	u32 one[LINUCB_FEATURES] = { [2] = ONE_X, [5] = ONE_X };
	u32 two[LINUCB_FEATURES] = { [2] = ONE_X, [5] = 2 * ONE_X };
	u32 x[LINUCB_FEATURES] = { [2] = 6 * ONE_X, [5] = 3 * ONE_X };
	struct linucb_arm arm;

	linucb_begin(&arm);
	linucb_learn(&arm, one, QUARTER);
	linucb_learn(&arm, two, 2 * QUARTER);
	expect_p(test, arm.p[2][2], 2, 3, 2);
	expect_p(test, arm.p[2][5], -1, 3, 2);
	expect_p(test, arm.p[5][2], -1, 3, 2);
	expect_p(test, arm.p[5][5], 1, 3, 2);
	expect_p(test, arm.p[0][0], 1, 1, 0);
	KUNIT_EXPECT_EQ(test, arm.b[2], 3 * (s64)ONE_VALUE / 4);
	KUNIT_EXPECT_EQ(test, arm.b[5], 5 * (s64)ONE_VALUE / 4);
	/* 2 2^-37 of P, times 2 of b, times 9 of x */
	KUNIT_EXPECT_LE(test, abs(linucb_expects(&arm, x) - (s64)ONE_VALUE), 36LL << 3);
	/* sqrt(15) 2^26 = 259911512.7, and 81 x 2 2^-37 / 2 sqrt(15) less or more */
	KUNIT_EXPECT_LE(test, abs(linucb_bonus(&arm, x, 1000) - (259911512LL << 14)), 2LL << 14);
}

/* A P = I, for A in exact integers: 50 contexts of six numbers from 0 to 3. */
static void linucb_inverts_without_inverting(struct kunit *test)
{
	s64 a[LINUCB_FEATURES][LINUCB_FEATURES] = {}, sum;
	u32 x[LINUCB_FEATURES], n, i, j, k;
	struct rnd_state rnd;
	struct linucb_arm arm;

	prandom_seed_state(&rnd, 2020);
	linucb_begin(&arm);
	for (i = 0; i < LINUCB_FEATURES; i++)
		a[i][i] = 1;
	for (n = 0; n < 50; n++) {
		for (i = 0; i < LINUCB_FEATURES; i++)
			x[i] = (prandom_u32_state(&rnd) % 4) * ONE_X;
		linucb_learn(&arm, x, QUARTER);
		for (i = 0; i < LINUCB_FEATURES; i++)
			for (j = 0; j < LINUCB_FEATURES; j++)
				a[i][j] += (s64)(x[i] / ONE_X) * (x[j] / ONE_X);
	}
	for (i = 0; i < LINUCB_FEATURES; i++) {
		for (j = 0; j < LINUCB_FEATURES; j++) {
			/* in 2^-40: elements of A are at most 451 */
			for (sum = 0, k = 0; k < LINUCB_FEATURES; k++)
				sum += a[i][k] * (arm.p[k][j] >> 16);
			if (i == j)
				sum -= ONE_VALUE;
			/* six products of 451 and 50 2^-37, or a unit lost by the shift */
			KUNIT_EXPECT_LE_MSG(test, abs(sum), 6 * 451 * (50LL * 8 + 1),
					    "element %u, %u", i, j);
		}
	}
}

/* The largest features and rewards, as often as an arm can learn: n |x|^2 / (1 + n |x|^2) of
 * a reward of 1 is to be expected, 1 - 10^-8. Nothing overflows.
 */
static void linucb_keeps_its_ranges(struct kunit *test)
{
	u32 x[LINUCB_FEATURES], n, i, j;
	struct linucb_arm arm;

	memset(x, 0xff, sizeof(x));
	linucb_begin(&arm);
	for (n = 0; n < LINUCB_MOST; n++)
		linucb_learn(&arm, x, U32_MAX);
	for (i = 0; i < LINUCB_FEATURES; i++) {
		KUNIT_EXPECT_GT(test, arm.b[i], (s64)(BIT_ULL(60) - BIT_ULL(40)));
		for (j = 0; j < LINUCB_FEATURES; j++)
			expect_p(test, arm.p[i][j], i == j ? 5 : -1, 6, n);
	}
	KUNIT_EXPECT_LE(test, abs(linucb_expects(&arm, x) - (s64)ONE_VALUE),
			(s64)ONE_VALUE / 100);
	KUNIT_EXPECT_GE(test, linucb_bonus(&arm, x, 10000), 0);
}

/* --- rewards */

/* T_r is 10 ms. S / T_e and g, in 2^-32 bytes per ns and in 2^-16; products are rounded down:
 *
 *	T_e		S	S / T_e		g		sum
 *	 5 ms		1448	1243822		65536		1243822
 *	10 ms		2896	1243822		58982		2363254
 *	10 ms + 1 ns	1448	 621911		53083		2866990
 *	20 ms		1448	 310955		37158		3043297
 *	30 ms - 1 ns	1448	 207303		26010		3125571
 *	30 ms		too late
 */
static void peekaboo_discounts_later_acks(struct kunit *test)
{
	struct peekaboo_trial trial = { .weight = BIT(16), .window_ns = 10 * NSEC_PER_MSEC };
	static const struct {
		u64 age_ns, bytes;
		u32 reward;
	} acks[] = {
		{ 5000000, 1448, 1243822 }, { 10000000, 2896, 2363254 },
		{ 10000001, 1448, 2866990 }, { 20000000, 1448, 3043297 },
		{ 29999999, 1448, 3125571 }, { 30000000, 1448, 3125571 },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(acks); i++) {
		peekaboo_reward(&trial, acks[i].age_ns, acks[i].bytes);
		KUNIT_EXPECT_EQ(test, trial.reward, acks[i].reward);
	}
	/* a subflow that has gone gives no more */
	trial.over = true;
	peekaboo_reward(&trial, 1, 1448);
	KUNIT_EXPECT_EQ(test, trial.reward, 3125571U);
}

static void peekaboo_rewards_have_a_bound(struct kunit *test)
{
	struct peekaboo_trial trial = { .weight = BIT(16), .window_ns = NSEC_PER_SEC };

	peekaboo_reward(&trial, 0, U64_MAX);
	KUNIT_EXPECT_EQ(test, trial.reward, U32_MAX);
	peekaboo_reward(&trial, 1, 1);
	KUNIT_EXPECT_EQ(test, trial.reward, U32_MAX);
}

/* 1448 << 32 / 20 ms = 310955; the second ACK changes nothing. */
static void peekaboo_rewards_the_own_packet(struct kunit *test)
{
	struct peekaboo_trial trial = { .weight = BIT(16), .window_ns = 1 };

	peekaboo_reward_own(&trial, 20000000, MSS);
	peekaboo_reward_own(&trial, 10000000, MSS);
	KUNIT_EXPECT_EQ(test, trial.reward, 310955U);
	KUNIT_EXPECT_TRUE(test, trial.over);
}

static void peekaboo_remembers_so_many_decisions(struct kunit *test)
{
	struct peekaboo_trials *trials = kunit_kzalloc(test, sizeof(*trials), GFP_KERNEL);
	u32 i, round;

	KUNIT_ASSERT_NOT_NULL(test, trials);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < PEEKABOO_TRIALS; i++)
			peekaboo_new_trial(trials)->reward = i;
		KUNIT_EXPECT_NULL(test, peekaboo_new_trial(trials));
		for (i = 0; i < PEEKABOO_TRIALS - 7; i++) {
			KUNIT_ASSERT_EQ(test, peekaboo_oldest(trials)->reward, i);
			peekaboo_forget_oldest(trials);
		}
		while (peekaboo_oldest(trials))
			peekaboo_forget_oldest(trials);
	}
}

/* --- decisions */

/* A path of 20 ms whose window is full, and one of 100 ms, with the program's reward: it
 * comes with the ACK.
 */
static struct two_paths paths(struct kunit *test, u32 learn, u32 stay_wait, u32 stay_send,
			      u32 relearn)
{
	struct mps_conn *conn = mps_test_conn(test, "peekaboo");
	struct two_paths p = { .conn = conn };

	mps_test_param(conn, "own_packet", 1);
	mps_test_param(conn, "learn", learn);
	mps_test_param(conn, "stay_wait_percent", stay_wait);
	mps_test_param(conn, "stay_send_percent", stay_send);
	mps_test_param(conn, "relearn", relearn);
	conn->window_bytes = SZ_1M;
	p.fast = mps_test_subflow(conn, .cwnd_pkts = 10, .in_flight_pkts = 10,
				  .outstanding_bytes = 10 * MSS);
	p.slow = mps_test_subflow(conn, .srtt_us = 100000, .cwnd_pkts = 100);
	p.head = mps_test_unsent_pkts(conn, 64);
	return p;
}

/* All on the subflow is acknowledged, `ms` from now. */
static void all_acked(struct mps_subflow *subflow, u32 ms)
{
	if (ms)
		msleep(ms);
	mps_test_ack(subflow, subflow->in_flight_pkts);
}

static void peekaboo_takes_the_lowest_rtt_with_room(struct kunit *test)
{
	struct two_paths p = paths(test, 2000, 70, 90, 0);

	p.fast->in_flight_pkts = 9;
	EXPECT_SENT(test, p.conn, MPS_NEW, p.fast, p.head);
	/* nothing is known of either arm: it sends */
	EXPECT_SENT(test, p.conn, MPS_NEW, p.slow, mps_head(p.conn));
}

/* A reward makes the arm better known, and the other one the better choice. Having waited, it
 * waits until the fast subflow has room.
 */
static void peekaboo_tries_the_arm_it_knows_less(struct kunit *test)
{
	struct two_paths p = paths(test, 2000, 70, 90, 0);

	EXPECT_SENT(test, p.conn, MPS_NEW, p.slow, p.head);
	all_acked(p.slow, 100);
	EXPECT_WAIT(test, p.conn);
	EXPECT_WAIT(test, p.conn);
	all_acked(p.fast, 20);
	EXPECT_SENT(test, p.conn, MPS_NEW, p.fast, mps_head(p.conn));
	mps_test_fill(p.fast);
	/* no reward has come for the wait yet, so that it is still known less */
	EXPECT_WAIT(test, p.conn);
	all_acked(p.fast, 20);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, mps_head(p.conn));
	mps_test_fill(p.fast);
	/* two waits were learnt, and one send */
	EXPECT_SENT(test, p.conn, MPS_NEW, p.slow, mps_head(p.conn));
}

static void peekaboo_does_not_wait_for_what_may_never_come(struct kunit *test)
{
	struct two_paths p = paths(test, 2000, 70, 90, 0);

	EXPECT_SENT(test, p.conn, MPS_NEW, p.slow, p.head);
	all_acked(p.slow, 1);
	EXPECT_WAIT(test, p.conn);
	mps_test_rto(p.fast);
	EXPECT_SENT(test, p.conn, MPS_NEW, p.slow, mps_head(p.conn));
}

/* Learns one reward of each arm: of a send, acknowledged after `send_ms`, and of a wait, after
 * `wait_ms`. The fast subflow is full again then.
 */
static struct two_paths deployed(struct kunit *test, u32 send_ms, u32 wait_ms, u32 stay_wait,
				 u32 stay_send, u32 relearn)
{
	struct two_paths p = paths(test, 1, stay_wait, stay_send, relearn);

	EXPECT_SENT(test, p.conn, MPS_NEW, p.slow, p.head);
	all_acked(p.slow, send_ms);
	EXPECT_WAIT(test, p.conn);
	all_acked(p.fast, 0);
	EXPECT_SENT(test, p.conn, MPS_NEW, p.fast, mps_head(p.conn));
	all_acked(p.fast, wait_ms);
	p.fast->in_flight_pkts = 10;
	p.fast->outstanding_bytes = 10 * MSS;
	return p;
}

/* The fast subflow has room for a moment, which ends a wait. */
static void has_room_for_a_moment(struct two_paths *p)
{
	p->fast->in_flight_pkts = 0;
	mps_test_decide(p->conn);
	mps_test_fill(p->fast);
}

/* The same paths in both: only the rewards differ, S / 100 ms of an arm, S / 10 ms of the other. */
static void peekaboo_does_what_was_rewarded(struct kunit *test)
{
	struct two_paths p = deployed(test, 100, 10, 100, 100, 0);
	int i;

	for (i = 0; i < 20; i++) {
		EXPECT_WAIT(test, p.conn);
		has_room_for_a_moment(&p);
	}

	p = deployed(test, 10, 100, 100, 100, 0);
	for (i = 0; i < 20; i++)
		EXPECT_SENT(test, p.conn, MPS_NEW, p.slow, mps_head(p.conn));
}

/* Chance changes all decisions of an arm, or none. */
static void peekaboo_changes_decisions_by_chance(struct kunit *test)
{
	struct two_paths p = deployed(test, 100, 10, 0, 100, 0);
	u32 sent = 0;
	int i;

	for (i = 0; i < 20; i++)
		EXPECT_SENT(test, p.conn, MPS_NEW, p.slow, mps_head(p.conn));

	p = deployed(test, 10, 100, 100, 0, 0);
	EXPECT_WAIT(test, p.conn);

	/* all 20 sends are kept with a chance of 10^-20 */
	p = deployed(test, 10, 100, 100, 10, 0);
	for (i = 0; i < 20; i++) {
		sent += mps_test_send(p.conn).kind == MPS_NEW;
		has_room_for_a_moment(&p);
	}
	KUNIT_EXPECT_LT(test, sent, 20U);
}

/* After two decisions that it has learnt to make, nothing is known again: it sends. */
static void peekaboo_learns_anew(struct kunit *test)
{
	u32 relearn;

	for (relearn = 0; relearn <= 2; relearn += 2) {
		struct two_paths p = deployed(test, 100, 10, 100, 100, relearn);

		EXPECT_WAIT(test, p.conn);
		has_room_for_a_moment(&p);
		EXPECT_WAIT(test, p.conn);
		has_room_for_a_moment(&p);
		if (relearn)
			EXPECT_SENT(test, p.conn, MPS_NEW, p.slow, mps_head(p.conn));
		else
			EXPECT_WAIT(test, p.conn);
	}
}

/* Rewards are learnt in the order of decisions: the second has its ACK first here. */
static void peekaboo_learns_in_order(struct kunit *test)
{
	struct two_paths p = paths(test, 2000, 70, 90, 0);
	struct mps_subflow *third = mps_test_subflow(p.conn, .srtt_us = 50000, .cwnd_pkts = 1);

	EXPECT_SENT(test, p.conn, MPS_NEW, third, p.head);
	EXPECT_SENT(test, p.conn, MPS_NEW, p.slow, mps_head(p.conn));
	all_acked(p.slow, 1);
	/* nothing is learnt, and it sends again */
	EXPECT_SENT(test, p.conn, MPS_NEW, p.slow, mps_head(p.conn));
	/* a subflow that goes gives no reward, and nobody waits for it */
	mps_test_close(third);
	while (mps_reinjection(p.conn))
		EXPECT_SENT(test, p.conn, MPS_REINJECTION, p.slow, mps_reinjection(p.conn));
	EXPECT_WAIT(test, p.conn);
}

/* Without own_packet, a reward is known after three times max(2 x 20, 100) ms. */
static void peekaboo_waits_for_all_of_a_reward(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "peekaboo");
	struct mps_subflow *slow;

	conn->window_bytes = SZ_1M;
	mps_test_subflow(conn, .in_flight_pkts = 10, .outstanding_bytes = 10 * MSS);
	slow = mps_test_subflow(conn, .srtt_us = 100000, .cwnd_pkts = 100);
	mps_test_unsent_pkts(conn, 64);
	EXPECT_SENT(test, conn, MPS_NEW, slow, mps_head(conn));
	all_acked(slow, 100);
	EXPECT_SENT(test, conn, MPS_NEW, slow, mps_head(conn));
	msleep(201);
	EXPECT_WAIT(test, conn);
}

static struct kunit_case peekaboo_cases[] = {
	KUNIT_CASE(linucb_begins_with_the_identity),
	KUNIT_CASE(linucb_learns_one_feature),
	KUNIT_CASE(linucb_learns_two_features),
	KUNIT_CASE(linucb_inverts_without_inverting),
	KUNIT_CASE(linucb_keeps_its_ranges),
	KUNIT_CASE(peekaboo_discounts_later_acks),
	KUNIT_CASE(peekaboo_rewards_have_a_bound),
	KUNIT_CASE(peekaboo_rewards_the_own_packet),
	KUNIT_CASE(peekaboo_remembers_so_many_decisions),
	KUNIT_CASE(peekaboo_takes_the_lowest_rtt_with_room),
	KUNIT_CASE(peekaboo_tries_the_arm_it_knows_less),
	KUNIT_CASE(peekaboo_does_not_wait_for_what_may_never_come),
	KUNIT_CASE(peekaboo_does_what_was_rewarded),
	KUNIT_CASE(peekaboo_changes_decisions_by_chance),
	KUNIT_CASE(peekaboo_learns_anew),
	KUNIT_CASE(peekaboo_learns_in_order),
	KUNIT_CASE(peekaboo_waits_for_all_of_a_reward),
	{}
};

static struct kunit_suite peekaboo_suite = {
	.name		= "peekaboo",
	.test_cases	= peekaboo_cases,
};

kunit_test_suite(peekaboo_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of the MPTCP scheduler peekaboo");
