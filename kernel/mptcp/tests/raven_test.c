// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of raven on constructed states. */

#include <linux/delay.h>
#include "vocabulary.h"

/* Each had a sample just now. With constants of 347 and 578 thousandths the first one's
 * interval is 0.653 to 1.578 of its RTT, or to 1; the other one's begins at 0.422.
 */
static struct two_paths two_paths(struct kunit *test, u32 slow_us, const char *off)
{
	struct two_paths p = { .conn = mps_test_conn(test, "raven") };

	if (off)
		mps_test_param(p.conn, off, 0);
	p.fast = mps_test_subflow(p.conn, .srtt_us = 20 * MSEC_US);
	p.slow = mps_test_subflow(p.conn, .srtt_us = slow_us);
	mps_test_ack(p.fast, 0);
	mps_test_ack(p.slow, 0);
	p.head = mps_test_unsent_pkts(p.conn, 50);
	return p;
}

/* Does the next segment go to both, the fast one first? If not, one more is sent. */
static bool sends_both(struct kunit *test, struct two_paths p)
{
	struct mps_pick pick = mps_test_send(p.conn), second;

	KUNIT_EXPECT_EQ(test, (u32)pick.kind, (u32)MPS_NEW);
	KUNIT_EXPECT_EQ(test, pick.subflow->id, p.fast->id);
	second = mps_test_send(p.conn);
	if (second.kind != MPS_DUPLICATE)
		return false;
	KUNIT_EXPECT_EQ(test, second.subflow->id, p.slow->id);
	KUNIT_EXPECT_EQ(test, second.seq, pick.seq);
	return true;
}

/* 20 ms; 0.422 x 47.3 ms = 19.96, 0.422 x 47.4 ms = 20.003 */
static void copies_go_where_intervals_overlap(struct kunit *test)
{
	struct two_paths p = two_paths(test, 47300, NULL);

	KUNIT_EXPECT_TRUE(test, sends_both(test, p));
	KUNIT_EXPECT_TRUE(test, sends_both(test, p));
	p = two_paths(test, 47400, NULL);
	KUNIT_EXPECT_FALSE(test, sends_both(test, p));
	KUNIT_EXPECT_FALSE(test, sends_both(test, p));
}

/* 31.56 ms; 0.422 x 74.7 ms = 31.52, 0.422 x 74.8 ms = 31.57 */
static void without_rounding_the_upper_bound_is_higher(struct kunit *test)
{
	KUNIT_EXPECT_TRUE(test, sends_both(test, two_paths(test, 74700, "whole_upper")));
	KUNIT_EXPECT_FALSE(test, sends_both(test, two_paths(test, 74800, "whole_upper")));
}

/* After 2 s the other one's begins at 1 - 0.578 x 1.405 = 0.188: 18.8 ms of 100 */
static void old_samples_are_trusted_less(struct kunit *test)
{
	struct two_paths p = two_paths(test, 100 * MSEC_US, NULL);

	KUNIT_EXPECT_FALSE(test, sends_both(test, p));
	msleep(2001);
	KUNIT_EXPECT_TRUE(test, sends_both(test, p));
	mps_test_ack(p.slow, 0);
	KUNIT_EXPECT_FALSE(test, sends_both(test, p));

	p = two_paths(test, 100 * MSEC_US, "aging");
	msleep(2001);
	KUNIT_EXPECT_FALSE(test, sends_both(test, p));
}

/* In no more than 30 s: 1 - 0.578 x 3.337 is less than nothing, and counts as that. */
static void no_age_is_too_old(struct kunit *test)
{
	struct two_paths p = two_paths(test, 60000 * MSEC_US, NULL);

	msleep(60000);
	KUNIT_EXPECT_TRUE(test, sends_both(test, p));
}

/* 10 ms counts half: (10 / 2 + 40) / 1.5 = 30. 0.422 x 71 ms = 29.96, x 71.2 = 30.05. */
static void newer_samples_count_more(struct kunit *test)
{
	static const u32 slow_us[] = { 71000, 71200 };
	int i;

	for (i = 0; i < ARRAY_SIZE(slow_us); i++) {
		struct mps_conn *conn = mps_test_conn(test, "raven");
		struct two_paths p = { .conn = conn };

		p.fast = mps_test_subflow(conn, .srtt_us = 10 * MSEC_US);
		p.slow = mps_test_subflow(conn, .srtt_us = slow_us[i]);
		mps_test_unsent_pkts(conn, 50);
		mps_test_ack(p.fast, 0);
		usleep_range(164000, 164001);
		p.fast->last_rtt_us = 40 * MSEC_US;
		mps_test_ack(p.fast, 0);
		mps_test_ack(p.slow, 0);
		KUNIT_EXPECT_EQ(test, sends_both(test, p), slow_us[i] == 71000);
	}
}

/* A sample of 10 ms in each ms, and then of 40 ms for a half-life of 10 ms: 25. However
 * many samples there are, 0.422 x 58 ms = 24.5, x 60.5 = 25.5.
 */
static void a_weight_halves_however_many_samples_there_are(struct kunit *test)
{
	static const u32 slow_us[] = { 58000, 60500 };
	int i, n;

	for (i = 0; i < ARRAY_SIZE(slow_us); i++) {
		struct mps_conn *conn = mps_test_conn(test, "raven");
		struct two_paths p = { .conn = conn };

		mps_test_param(conn, "half_life_ms", 10);
		p.fast = mps_test_subflow(conn, .srtt_us = 10 * MSEC_US);
		p.slow = mps_test_subflow(conn, .srtt_us = slow_us[i]);
		mps_test_unsent_pkts(conn, 50);
		for (n = 0; n < 210; n++) {
			if (n == 200)
				p.fast->last_rtt_us = 40 * MSEC_US;
			mps_test_ack(p.fast, 0);
			usleep_range(1000, 1001);
		}
		mps_test_ack(p.slow, 0);
		KUNIT_EXPECT_EQ(test, sends_both(test, p), slow_us[i] == 58000);
	}
}

static void a_path_without_a_sample_gets_everything(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "raven");
	struct mps_subflow *near = mps_test_subflow(conn, .srtt_us = 20 * MSEC_US);
	struct mps_subflow *far = mps_test_subflow(conn, .srtt_us = 200 * MSEC_US);
	struct mps_segment *a = mps_test_unsent(conn, MSS), *b = mps_test_unsent(conn, MSS);

	/* neither has one */
	EXPECT_SENT(test, conn, MPS_NEW, near, a);
	EXPECT_SENT(test, conn, MPS_DUPLICATE, far, a);
	mps_test_ack(near, 1);
	EXPECT_SENT(test, conn, MPS_NEW, near, b);
	EXPECT_SENT(test, conn, MPS_DUPLICATE, far, b);
	EXPECT_WAIT(test, conn);
}

static void where_the_best_path_is_full_another_one_sends(struct kunit *test)
{
	struct two_paths p = two_paths(test, 100 * MSEC_US, NULL);

	mps_test_fill(p.fast);
	EXPECT_SENT(test, p.conn, MPS_NEW, p.slow, p.head);
	/* no copy later */
	mps_test_ack(p.fast, 1);
	KUNIT_EXPECT_EQ(test, (u32)mps_test_decide(p.conn).kind, (u32)MPS_NEW);
}

static void a_full_path_gets_no_copy_later(struct kunit *test)
{
	struct two_paths p = two_paths(test, 30 * MSEC_US, NULL);

	mps_test_fill(p.slow);
	KUNIT_EXPECT_FALSE(test, sends_both(test, p));
	mps_test_ack(p.slow, 1);
	KUNIT_EXPECT_TRUE(test, sends_both(test, p));
}

static void three_paths_share_a_segment(struct kunit *test)
{
	struct two_paths p = two_paths(test, 47 * MSEC_US, NULL);
	struct mps_subflow *third = mps_test_subflow(p.conn, .srtt_us = 30 * MSEC_US);

	mps_test_ack(third, 0);
	EXPECT_SENT(test, p.conn, MPS_NEW, p.fast, p.head);
	EXPECT_SENT(test, p.conn, MPS_DUPLICATE, p.slow, p.head);
	EXPECT_SENT(test, p.conn, MPS_DUPLICATE, third, p.head);
}

static void what_is_acknowledged_is_not_copied(struct kunit *test)
{
	struct two_paths p = two_paths(test, 30 * MSEC_US, NULL);
	struct mps_pick pick;

	EXPECT_SENT(test, p.conn, MPS_NEW, p.fast, p.head);
	mps_test_acked(p.conn, p.head);
	pick = mps_test_decide(p.conn);
	KUNIT_EXPECT_EQ(test, (u32)pick.kind, (u32)MPS_NEW);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(copies_go_where_intervals_overlap),
	KUNIT_CASE(without_rounding_the_upper_bound_is_higher),
	KUNIT_CASE(old_samples_are_trusted_less),
	KUNIT_CASE(no_age_is_too_old),
	KUNIT_CASE(newer_samples_count_more),
	KUNIT_CASE(a_weight_halves_however_many_samples_there_are),
	KUNIT_CASE(a_path_without_a_sample_gets_everything),
	KUNIT_CASE(where_the_best_path_is_full_another_one_sends),
	KUNIT_CASE(a_full_path_gets_no_copy_later),
	KUNIT_CASE(three_paths_share_a_segment),
	KUNIT_CASE(what_is_acknowledged_is_not_copied),
	{}
};

static struct kunit_suite suite = {
	.name		= "mptcp_raven",
	.test_cases	= cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tests of the MPTCP scheduler raven");
