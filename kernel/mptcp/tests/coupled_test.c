// SPDX-License-Identifier: GPL-2.0-only
/* What coupled congestion control computes, on constructed connections. */

#include <kunit/test.h>
#include <linux/prandom.h>
#include "../compat.h"
#include "../coupled.h"

#define MAX_SUBFLOWS	8

/* as tests/coupled_model.py has them */
struct coupled_vector {
	u32 subflows;
	u64 alpha;	/* expected of lia, as measured */
	struct {
		u32 cwnd, srtt, mss;
		u64 since, between;
		/* expected: exact, */
		s64 lia, olia, balia;
		u32 kept;
		/* as measured */
		s64 step;
		u64 acks;
		u32 lost;
	} of[MAX_SUBFLOWS];
};

struct wvegas_vector {
	u32 cwnd, base_us, rtt_us, alpha, queue_us;
	u64 share;
	/* expected: as measured, and with alpha_drain */
	struct {
		u32 cwnd, alpha, queue_us;
	} after[2];
};

#include "coupled_vectors.h"

/* Every subflow is one of olia, which has most to tell. */
struct connection {
	struct coupled_group group;
	struct olia of[MAX_SUBFLOWS];
};

static struct connection *connection(struct kunit *test)
{
	struct connection *conn = kunit_kzalloc(test, sizeof(*conn), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, conn);
	INIT_LIST_HEAD(&conn->group.subflows);
	return conn;
}

static struct coupled_subflow *join(struct connection *conn, int index, u32 cwnd, u32 srtt,
				    u32 mss)
{
	struct coupled_subflow *subflow = &conn->of[index].coupled;

	subflow->cwnd = cwnd;
	subflow->snd_cwnd = cwnd;
	subflow->srtt = srtt;
	subflow->mss = mss;
	list_add_tail(&subflow->node, &conn->group.subflows);
	return subflow;
}

static struct connection *connection_of(struct kunit *test, const struct coupled_vector *vector,
					u32 on)
{
	struct connection *conn = connection(test);
	u32 i;

	for (i = 0; i < vector->subflows; i++) {
		join(conn, i, vector->of[i].cwnd, vector->of[i].srtt, vector->of[i].mss);
		conn->of[i].coupled.on = on;
		conn->of[i].since = vector->of[i].since;
		conn->of[i].between = vector->of[i].between;
	}
	return conn;
}

/* A ten-thousandth, and what is rounded: 32 of 2^32 */
static bool about(s64 value, s64 expected)
{
	return abs(value - expected) <= div_s64(abs(expected), 10000) + 32;
}

#define EXPECT_ABOUT(test, value, expected, n, i)					\
	KUNIT_EXPECT_TRUE_MSG(test, about(value, expected),				\
			      "connection %d, subflow %d: %lld, not %lld", n, i,	\
			      (s64)(value), (s64)(expected))

static void agrees_with_exact_numbers(struct kunit *test)
{
	int n, i;

	for (n = 0; n < ARRAY_SIZE(vectors); n++) {
		const struct coupled_vector *vector = &vectors[n];
		struct connection *conn = connection_of(test, vector, BIT(COUPLED_EXACT));
		const struct coupled_group *group = &conn->group;

		for (i = 0; i < vector->subflows; i++) {
			struct coupled_subflow *subflow = &conn->of[i].coupled;
			s64 kept = balia_kept(group, subflow, subflow->cwnd);

			EXPECT_ABOUT(test, lia_factor(group, subflow), vector->of[i].lia, n, i);
			EXPECT_ABOUT(test, olia_factor(group, subflow), vector->of[i].olia, n, i);
			EXPECT_ABOUT(test, balia_factor(group, subflow), vector->of[i].balia, n, i);
			/* near a whole number it may be the next one */
			KUNIT_EXPECT_LE_MSG(test, abs(kept - vector->of[i].kept),
					    1 + subflow->cwnd / 10000,
					    "connection %d, subflow %d", n, i);
		}
	}
}

static void as_measured_it_agrees_to_the_last_bit(struct kunit *test)
{
	int n, i;

	for (n = 0; n < ARRAY_SIZE(vectors); n++) {
		const struct coupled_vector *vector = &vectors[n];
		struct connection *conn = connection_of(test, vector, 0);
		const struct coupled_group *group = &conn->group;

		KUNIT_EXPECT_EQ_MSG(test, lia_alpha(group), vector->alpha, "connection %d", n);
		for (i = 0; i < vector->subflows; i++) {
			struct coupled_subflow *subflow = &conn->of[i].coupled;

			KUNIT_EXPECT_EQ_MSG(test, olia_step(group, subflow), vector->of[i].step,
					    "connection %d, subflow %d", n, i);
			KUNIT_EXPECT_EQ_MSG(test, balia_acks(group, subflow), vector->of[i].acks,
					    "connection %d, subflow %d", n, i);
			KUNIT_EXPECT_EQ_MSG(test, balia_lost(group, subflow), vector->of[i].lost,
					    "connection %d, subflow %d", n, i);
		}
	}
}

static void a_round_of_wvegas_agrees_with_exact_numbers(struct kunit *test)
{
	int n, drain;

	for (n = 0; n < 2 * ARRAY_SIZE(rounds); n++) {
		const struct wvegas_vector *round = &rounds[n / 2];
		struct wvegas wvegas = {
			.coupled.on = drain = n % 2,
			.base_us = round->base_us,
			.alpha = round->alpha,
			.queue_us = round->queue_us,
		};
		u32 ssthresh = 2;
		u32 cwnd = wvegas_window(&wvegas, round->cwnd, round->rtt_us, round->share,
					 &ssthresh);

		KUNIT_EXPECT_EQ_MSG(test, cwnd, round->after[drain].cwnd, "round %d", n);
		KUNIT_EXPECT_EQ_MSG(test, wvegas.alpha, round->after[drain].alpha, "round %d", n);
		KUNIT_EXPECT_EQ_MSG(test, wvegas.queue_us, round->after[drain].queue_us,
				    "round %d", n);
	}
}

static void alone_all_are_reno(struct kunit *test)
{
	static const u32 cwnds[] = { 1, 2, 3, 10, 101, 99999, 262143, U32_MAX };
	static const u32 srtts[] = { 1, 400, 160000, 480000000, U32_MAX };
	int i, j;

	for (i = 0; i < ARRAY_SIZE(cwnds); i++) {
		for (j = 0; j < ARRAY_SIZE(srtts); j++) {
			struct connection *conn = connection(test);
			struct coupled_subflow *subflow = join(conn, 0, cwnds[i], srtts[j], 1448);

			KUNIT_EXPECT_EQ(test, coupled_share(&conn->group, subflow), COUPLED_ONE);
			KUNIT_EXPECT_EQ(test, lia_factor(&conn->group, subflow), COUPLED_ONE);
			KUNIT_EXPECT_EQ(test, olia_factor(&conn->group, subflow), COUPLED_ONE);
			KUNIT_EXPECT_EQ(test, balia_factor(&conn->group, subflow), COUPLED_ONE);
			KUNIT_EXPECT_EQ(test, balia_kept(&conn->group, subflow, cwnds[i]),
					cwnds[i] / 2);
		}
	}
}

/* 1 / 4 of what Reno adds to each of two alike: once in 40 segments, with 10 */
static void two_alike_grow_as_one(struct kunit *test)
{
	struct connection *conn = connection(test);
	struct coupled_subflow *subflow = join(conn, 0, 10, 160000, 1448);

	join(conn, 1, 10, 160000, 1448);
	KUNIT_EXPECT_EQ(test, lia_factor(&conn->group, subflow), COUPLED_ONE / 4);
	KUNIT_EXPECT_EQ(test, olia_factor(&conn->group, subflow), COUPLED_ONE / 4);
	KUNIT_EXPECT_EQ(test, balia_factor(&conn->group, subflow), COUPLED_ONE / 4);
}

/* (40 / 100^2) / (40 / 100 + 10 / 300)^2 in 1 / segments: once in 47 */
static void the_best_path_of_lia_is_found_wherever_it_is(struct kunit *test)
{
	int first;

	for (first = 0; first <= 1; first++) {
		struct connection *conn = connection(test);
		struct coupled_subflow *subflow;

		if (first)
			subflow = join(conn, 0, 40, 800000, 1448);
		join(conn, 1, 10, 2400000, 1448);
		if (!first)
			subflow = join(conn, 0, 40, 800000, 1448);
		KUNIT_EXPECT_EQ(test, div64_u64(40 * COUPLED_ONE,
						lia_factor(&conn->group, subflow)), 46);
	}
}

/* The same: 40 / 800,000^2 and 10 / 2,400,000^2 are both 0 in units of 2^-32, and so the
 * last one is the best: (10 / 300^2) / (40 / 100 + 10 / 300)^2 in 1 / segments, or 1690, is
 * 2 in 4096, and 2048 acknowledgments. If the first is the last, it is 47.
 */
static void as_measured_lia_takes_the_last_one_for_the_best(struct kunit *test)
{
	struct connection *conn = connection(test);

	join(conn, 0, 40, 800000, 1448);
	join(conn, 1, 10, 2400000, 1448);
	KUNIT_EXPECT_EQ(test, 4096 / lia_alpha(&conn->group), 2048);

	list_rotate_left(&conn->group.subflows);
	KUNIT_EXPECT_EQ(test, 4096 / lia_alpha(&conn->group), 47);
}

/* The windows by the RTT of the best, which is the last one, are 2^28 x 67 s / 4.2 s:
 * more than 32 bits, of which the square is taken.
 */
static void as_measured_lia_does_not_overflow(struct kunit *test)
{
	struct connection *conn = connection(test);

	join(conn, 0, U32_MAX, BIT(25), 1448);
	join(conn, 1, 1, U32_MAX, 1448);
	KUNIT_EXPECT_EQ(test, lia_alpha(&conn->group), 1);
}

/* 15 and 10: 3/2 is 1 in whole numbers, and half of 10 goes; 20 and 10: 3/2 of 5 */
static void as_measured_balia_knows_whole_numbers_only(struct kunit *test)
{
	struct connection *conn = connection(test);
	struct coupled_subflow *subflow = join(conn, 0, 10, 160000, 1448);
	struct coupled_subflow *other = join(conn, 1, 15, 160000, 1448);

	KUNIT_EXPECT_EQ(test, balia_lost(&conn->group, subflow), 5);
	other->snd_cwnd = 20;
	KUNIT_EXPECT_EQ(test, balia_lost(&conn->group, subflow), 7);
	/* nothing, and not Reno's half, until something is computed with two of them */
	list_del(&other->node);
	KUNIT_EXPECT_EQ(test, balia_lost(&conn->group, subflow), 0);
}

/* 3/2 of the rate of the other, and more: three quarters go; 5/4: five eighths */
static void balia_takes_a_slow_path_s_own_factor(struct kunit *test)
{
	static const u32 others[] = { 100, 125, 150, 200 }, kept[] = { 50, 37, 25, 25 };
	int i;

	for (i = 0; i < ARRAY_SIZE(others); i++) {
		struct connection *conn = connection(test);
		struct coupled_subflow *subflow = join(conn, 0, 100, 160000, 1448);

		join(conn, 1, others[i], 160000, 1448);
		KUNIT_EXPECT_EQ(test, balia_kept(&conn->group, subflow, 100), kept[i]);
	}
}

static void wvegas_leaves_slow_start_with_the_window_that_needs_no_queue(struct kunit *test)
{
	struct wvegas wvegas = { .base_us = 50000 };

	/* 20 x 10 / 60 = 3 are in the queue, and 16 would have done */
	KUNIT_EXPECT_EQ(test, wvegas_queued(&wvegas, 20, 60000), 3);
	KUNIT_EXPECT_EQ(test, wvegas_out_of_slow_start(&wvegas, 20, 60000), 17);
	KUNIT_EXPECT_EQ(test, wvegas_out_of_slow_start(&wvegas, 20, 50000), 0);
	/* 20 x 5 / 55 = 1 */
	KUNIT_EXPECT_EQ(test, wvegas_out_of_slow_start(&wvegas, 20, 55000), 0);
}

/* Whatever was seen before. */
static void wvegas_halves_its_window_on_an_empty_queue(struct kunit *test)
{
	struct wvegas wvegas = { .base_us = 50000, .alpha = 2 };
	u32 ssthresh = 15;

	/* 20, one more, and half of that */
	KUNIT_EXPECT_EQ(test, wvegas_window(&wvegas, 20, 50000, COUPLED_ONE / 2, &ssthresh), 10);
	KUNIT_EXPECT_EQ(test, ssthresh, 15);
	wvegas.queue_us = 1000;
	KUNIT_EXPECT_EQ(test, wvegas_window(&wvegas, 20, 50000, COUPLED_ONE / 2, &ssthresh), 10);
	KUNIT_EXPECT_EQ(test, wvegas.queue_us, 0);
}

/* A queue of 1 ms, then of two: of 22 segments, 50 / 52 / 2 are 10. */
static void wvegas_halves_its_window_when_a_queue_begins(struct kunit *test)
{
	struct wvegas wvegas = { .base_us = 50000, .alpha = 2 };
	u32 ssthresh = 15;

	KUNIT_EXPECT_EQ(test, wvegas_window(&wvegas, 20, 51000, COUPLED_ONE / 2, &ssthresh), 21);
	KUNIT_EXPECT_EQ(test, wvegas.queue_us, 1000);
	KUNIT_EXPECT_EQ(test, wvegas_window(&wvegas, 21, 52000, COUPLED_ONE / 2, &ssthresh), 10);
}

static void with_alpha_drain_wvegas_grows_on_an_empty_queue(struct kunit *test)
{
	struct wvegas wvegas = {
		.coupled.on = BIT(WVEGAS_ALPHA_DRAIN), .base_us = 50000, .alpha = 2,
	};
	u32 cwnd = 20, ssthresh = 20;
	int i;

	for (i = 0; i < 10; i++)
		cwnd = wvegas_window(&wvegas, cwnd, 50000, COUPLED_ONE / 2, &ssthresh);
	KUNIT_EXPECT_EQ(test, cwnd, 30);
}

/* 10 Mbit/s, 1.2 ms a segment, 50 ms: 41 without a queue. Alpha is 5. */
static void with_alpha_drain_wvegas_comes_to_rest_with_alpha_in_the_queue(struct kunit *test)
{
	struct wvegas wvegas = {
		.coupled.on = BIT(WVEGAS_ALPHA_DRAIN), .base_us = 50000, .alpha = 2,
	};
	u32 cwnd = 20, low = U32_MAX, high = 0, ssthresh = 20;
	int i;

	for (i = 0; i < 200; i++) {
		cwnd = wvegas_window(&wvegas, cwnd, max(50000U, cwnd * 1200), COUPLED_ONE / 2,
				     &ssthresh);
		if (i >= 100) {
			low = min(low, cwnd);
			high = max(high, cwnd);
		}
	}
	KUNIT_EXPECT_GE(test, low, 41 + 4);
	KUNIT_EXPECT_LE(test, high, 41 + 7);
	/* somebody else's queue: 40 ms, where 6 segments made 7 */
	cwnd = wvegas_window(&wvegas, cwnd, 90000, COUPLED_ONE / 2, &ssthresh);
	KUNIT_EXPECT_LE(test, cwnd, high * 50 / 90 / 2 + 1);
	KUNIT_EXPECT_LE(test, ssthresh, cwnd);
	KUNIT_EXPECT_EQ(test, wvegas.queue_us, 0);
}

/* The compiler chooses the order of operands and arguments: variables keep what is drawn. */
static u32 any(struct rnd_state *rnd)
{
	static const u32 extremes[] = { 0, 1, 2, 400, BIT(18), BIT(29), U32_MAX };
	u32 choice = prandom_u32_state(rnd) % 16, drawn;

	if (choice < ARRAY_SIZE(extremes))
		return extremes[choice];
	/* as many small as large ones */
	drawn = prandom_u32_state(rnd);
	return drawn >> prandom_u32_state(rnd) % 32;
}

/* On whatever there may be in a socket: no division by zero, no overflow. */
static void on_random_states_all_stay_in_their_bounds(struct kunit *test)
{
	struct rnd_state rnd;
	int n, i;

	prandom_seed_state(&rnd, 6356);
	for (n = 0; n < 3000; n++) {
		u32 subflows = 1 + prandom_u32_state(&rnd) % MAX_SUBFLOWS;
		struct connection *conn = connection(test);
		const struct coupled_group *group = &conn->group;
		u64 shares = 0;

		for (i = 0; i < subflows; i++) {
			u32 cwnd = any(&rnd), srtt = any(&rnd), mss = any(&rnd);

			join(conn, i, cwnd, srtt, mss)->on = n % 2;
			conn->of[i].since = (u64)any(&rnd) << 32;
			conn->of[i].since |= any(&rnd);
			conn->of[i].between = any(&rnd);
		}
		for (i = 0; i < subflows; i++) {
			struct coupled_subflow *subflow = &conn->of[i].coupled;
			s64 half = COUPLED_ONE / 2, factor = olia_factor(group, subflow);
			u32 cwnd = any(&rnd), kept = balia_kept(group, subflow, cwnd);
			u64 share = coupled_share(group, subflow);

			/* never more than Reno; olia by 1 / n at the most, of n >= 2 */
			KUNIT_ASSERT_LE(test, share, COUPLED_ONE);
			KUNIT_ASSERT_GE(test, lia_factor(group, subflow), 0);
			KUNIT_ASSERT_LE(test, lia_factor(group, subflow), COUPLED_ONE);
			KUNIT_ASSERT_GE(test, balia_factor(group, subflow), 0);
			KUNIT_ASSERT_LE(test, balia_factor(group, subflow), COUPLED_ONE);
			KUNIT_ASSERT_GE(test, factor, -half);
			KUNIT_ASSERT_LE(test, factor, (s64)COUPLED_ONE + half);
			/* at least a quarter is kept, at most half */
			KUNIT_ASSERT_GE(test, kept, cwnd / 4);
			KUNIT_ASSERT_LE(test, kept, cwnd / 2);
			/* as measured: the count grows as Reno's alone, and by 1 / n */
			KUNIT_ASSERT_LE(test, abs(olia_step(group, subflow)), 1024 + 512);
			KUNIT_ASSERT_LE(test, balia_lost(group, subflow),
					coupled_snd_cwnd(subflow) * 3 / 4);
			balia_acks(group, subflow);
			shares += share;
		}
		KUNIT_ASSERT_GE(test, lia_alpha(group), 1);
		KUNIT_ASSERT_GE(test, lia_alpha(group), 1);
		KUNIT_ASSERT_LE(test, shares, COUPLED_ONE);
		KUNIT_ASSERT_GE(test, shares, COUPLED_ONE - 2 * MAX_SUBFLOWS);
		kunit_kfree(test, conn);
	}
}

static void on_random_rounds_wvegas_stays_in_its_bounds(struct kunit *test)
{
	struct rnd_state rnd;
	int n;

	prandom_seed_state(&rnd, 2017);
	for (n = 0; n < 20000; n++) {
		u32 rtt_us = max(any(&rnd), 1U), cwnd = clamp(any(&rnd), 2U, U32_MAX - 1);
		u32 base_us = clamp(any(&rnd), 1U, rtt_us), alpha = 2 + any(&rnd) % 9;
		struct wvegas wvegas = {
			.coupled.on = n % 2, .base_us = base_us, .alpha = alpha,
			.queue_us = any(&rnd),
		};
		u32 left = wvegas_out_of_slow_start(&wvegas, cwnd, rtt_us), ssthresh = any(&rnd);
		u32 after = wvegas_window(&wvegas, cwnd, rtt_us, any(&rnd), &ssthresh);

		KUNIT_ASSERT_LE(test, left, cwnd);
		KUNIT_ASSERT_NE(test, left, 1);
		KUNIT_ASSERT_GE(test, after, 2);
		KUNIT_ASSERT_LE(test, after, cwnd + 1);
		KUNIT_ASSERT_GE(test, wvegas.alpha, 2);
		KUNIT_ASSERT_LE(test, wvegas.alpha, 10);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(agrees_with_exact_numbers),
	KUNIT_CASE(as_measured_it_agrees_to_the_last_bit),
	KUNIT_CASE(a_round_of_wvegas_agrees_with_exact_numbers),
	KUNIT_CASE(alone_all_are_reno),
	KUNIT_CASE(two_alike_grow_as_one),
	KUNIT_CASE(the_best_path_of_lia_is_found_wherever_it_is),
	KUNIT_CASE(as_measured_lia_takes_the_last_one_for_the_best),
	KUNIT_CASE(as_measured_lia_does_not_overflow),
	KUNIT_CASE(as_measured_balia_knows_whole_numbers_only),
	KUNIT_CASE(balia_takes_a_slow_path_s_own_factor),
	KUNIT_CASE(wvegas_leaves_slow_start_with_the_window_that_needs_no_queue),
	KUNIT_CASE(wvegas_halves_its_window_on_an_empty_queue),
	KUNIT_CASE(wvegas_halves_its_window_when_a_queue_begins),
	KUNIT_CASE(with_alpha_drain_wvegas_grows_on_an_empty_queue),
	KUNIT_CASE(with_alpha_drain_wvegas_comes_to_rest_with_alpha_in_the_queue),
	KUNIT_CASE(on_random_states_all_stay_in_their_bounds),
	KUNIT_CASE(on_random_rounds_wvegas_stays_in_its_bounds),
	{}
};

static struct kunit_suite suite = {
	.name		= "mptcp_coupled",
	.test_cases	= cases,
};

kunit_test_suite(suite);

MPS_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tests of coupled congestion control");
