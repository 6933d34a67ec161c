// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of sttf on constructed states. */

#include "vocabulary.h"

/* RTT 20 and 100 ms, windows of 10 segments in their first slow start, the fast
 * one full. It will deliver 20 segments after 30 ms, 40 after 50 ms, ...; the
 * slow one 10 after 50 ms.
 */
static struct two_paths two_paths(struct kunit *test, u32 unsent_pkts)
{
	struct two_paths p = { .conn = mps_test_conn(test, "sttf") };

	p.fast = mps_test_subflow(p.conn, .srtt_us = 20 * MSEC_US);
	p.slow = mps_test_subflow(p.conn, .srtt_us = 100 * MSEC_US);
	mps_test_fill(p.fast);
	p.head = mps_test_unsent_pkts(p.conn, unsent_pkts);
	return p;
}

/* The number of the segment that the slow subflow takes next, from 0. */
static u64 slow_takes(struct kunit *test, struct two_paths p)
{
	struct mps_pick pick = mps_test_decide(p.conn);

	KUNIT_ASSERT_EQ(test, (u32)pick.kind, (u32)MPS_NEW);
	KUNIT_ASSERT_PTR_EQ(test, pick.subflow, p.slow);
	return div_u64(pick.seq, MSS);
}

static void takes_the_shorter_way_of_two_with_room(struct kunit *test)
{
	struct two_paths p = two_paths(test, 1);

	p.fast->in_flight_pkts = 9;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, p.head);
	p.fast->min_rtt_us = 1 * MSEC_US;
	p.fast->last_rtt_us = 101 * MSEC_US;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
}

/* 20 + 40: what arrives at the same time is the first subflow's. */
static void the_slow_path_takes_what_the_fast_one_could_not_deliver_before(struct kunit *test)
{
	struct two_paths p = two_paths(test, 60);

	EXPECT_WAIT(test, p.conn);
	mps_test_unsent(p.conn, MSS);
	KUNIT_EXPECT_EQ(test, slow_takes(test, p), 60);
	/* 20 only */
	p = two_paths(test, 61);
	p.slow->last_rtt_us = 99 * MSEC_US;
	KUNIT_EXPECT_EQ(test, slow_takes(test, p), 20);
}

static void all_its_window_leaves_at_once(struct kunit *test)
{
	struct two_paths p = two_paths(test, 100);
	int i;

	for (i = 0; i < 10; i++) {
		KUNIT_EXPECT_EQ(test, slow_takes(test, p), 60 + i);
		KUNIT_EXPECT_EQ(test, mps_test_send_on(p.conn), p.slow->id);
	}
	EXPECT_WAIT(test, p.conn);
}

static void windows_grow_by_one_in_congestion_avoidance(struct kunit *test)
{
	struct two_paths p = two_paths(test, 100);

	p.fast->ssthresh_pkts = 10;
	KUNIT_EXPECT_EQ(test, slow_takes(test, p), 11 + 12);
}

static void slow_start_ends_at_ssthresh(struct kunit *test)
{
	struct two_paths p = two_paths(test, 100);

	p.fast->ssthresh_pkts = 15;
	KUNIT_EXPECT_EQ(test, slow_takes(test, p), 15 + 16);
	p.fast->ssthresh_pkts = 20;
	KUNIT_EXPECT_EQ(test, slow_takes(test, p), 20 + 21);
}

static void after_a_loss_there_is_less_of_the_fast_path(struct kunit *test)
{
	struct two_paths p = two_paths(test, 100);

	mps_test_loss(p.fast);
	KUNIT_EXPECT_EQ(test, slow_takes(test, p), 6 + 7);
}

static void what_its_queue_holds_leaves_before(struct kunit *test)
{
	struct two_paths p = two_paths(test, 100);

	p.fast->unsent_bytes = 4 * MSS;
	KUNIT_EXPECT_EQ(test, slow_takes(test, p), 16 + 40);
	/* room for 10, all taken: the next one is in the round after */
	p.fast->in_flight_pkts = 0;
	p.fast->unsent_bytes = 10 * MSS;
	KUNIT_EXPECT_EQ(test, slow_takes(test, p), 20 + 40);
	p.fast->unsent_bytes = 10 * MSS - 1;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, p.head);
}

static void a_penalty_counts_as_a_smaller_window(struct kunit *test)
{
	struct two_paths p = two_paths(test, 100);

	mps_penalise(p.fast);
	KUNIT_EXPECT_EQ(test, slow_takes(test, p), 10 + 20);
}

static void the_latest_sample_of_the_rtt_counts(struct kunit *test)
{
	struct two_paths p = two_paths(test, 100);

	p.fast->last_rtt_us = 40 * MSEC_US;
	KUNIT_EXPECT_EQ(test, slow_takes(test, p), 0);
	p.fast->last_rtt_us = 0;
	KUNIT_EXPECT_EQ(test, slow_takes(test, p), 60);
}

/* 20 and 22 ms at the least: whatever they are now. */
static void of_paths_that_are_alike_the_lowest_rtt_is_taken(struct kunit *test)
{
	struct two_paths p = two_paths(test, 1);

	p.slow->min_rtt_us = 22 * MSEC_US;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
	p.slow->min_rtt_us++;
	EXPECT_WAIT(test, p.conn);
}

/* Nothing that was planned for the fast path stays there. */
static void everything_is_planned_anew(struct kunit *test)
{
	struct two_paths p = two_paths(test, 30);

	EXPECT_WAIT(test, p.conn);
	mps_test_rto(p.fast);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
	/* something came back, but what was lost comes first there */
	mps_test_usable(p.fast, true);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
}

static void three_paths_share_the_plan(struct kunit *test)
{
	struct two_paths p = two_paths(test, 100);
	struct mps_subflow *middle = mps_test_subflow(p.conn, .srtt_us = 40 * MSEC_US);

	mps_test_fill(middle);
	/* 20 of the fast one at 30 ms, then 40 at 50; 20 of the middle one at 60 */
	KUNIT_EXPECT_EQ(test, slow_takes(test, p), 60);
	p.slow->last_rtt_us = 121 * MSEC_US;
	KUNIT_EXPECT_EQ(test, slow_takes(test, p), 60 + 20);
}

static void does_not_look_farther_than_it_may(struct kunit *test)
{
	struct two_paths p = { .conn = mps_test_conn(test, "sttf") };

	mps_test_param(p.conn, "look_ahead_pkts", 30);
	p.fast = mps_test_subflow(p.conn, .srtt_us = 20 * MSEC_US);
	p.slow = mps_test_subflow(p.conn, .srtt_us = 100 * MSEC_US);
	mps_test_fill(p.fast);
	mps_test_unsent_pkts(p.conn, 30);
	EXPECT_WAIT(test, p.conn);
	mps_test_unsent(p.conn, MSS);
	KUNIT_EXPECT_EQ(test, slow_takes(test, p), 30);
}

static void does_not_wait_when_nothing_is_in_flight(struct kunit *test)
{
	struct two_paths p = two_paths(test, 10);

	p.fast->in_flight_pkts = 0;
	p.fast->cwnd_pkts = 0;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(takes_the_shorter_way_of_two_with_room),
	KUNIT_CASE(the_slow_path_takes_what_the_fast_one_could_not_deliver_before),
	KUNIT_CASE(all_its_window_leaves_at_once),
	KUNIT_CASE(windows_grow_by_one_in_congestion_avoidance),
	KUNIT_CASE(slow_start_ends_at_ssthresh),
	KUNIT_CASE(after_a_loss_there_is_less_of_the_fast_path),
	KUNIT_CASE(what_its_queue_holds_leaves_before),
	KUNIT_CASE(a_penalty_counts_as_a_smaller_window),
	KUNIT_CASE(the_latest_sample_of_the_rtt_counts),
	KUNIT_CASE(of_paths_that_are_alike_the_lowest_rtt_is_taken),
	KUNIT_CASE(everything_is_planned_anew),
	KUNIT_CASE(three_paths_share_the_plan),
	KUNIT_CASE(does_not_look_farther_than_it_may),
	KUNIT_CASE(does_not_wait_when_nothing_is_in_flight),
	{}
};

static struct kunit_suite suite = {
	.name		= "mptcp_sttf",
	.test_cases	= cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tests of the MPTCP scheduler sttf");
