// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of stms on constructed states. */

#include <linux/delay.h>
#include "vocabulary.h"

/* RTT 20 and 100 ms, windows of 10 segments, that of the fast one full. */
static struct two_paths two_paths(struct kunit *test, u32 unsent_pkts)
{
	struct two_paths p = { .conn = mps_test_conn(test, "stms") };

	p.fast = mps_test_subflow(p.conn, .srtt_us = 20 * MSEC_US);
	p.slow = mps_test_subflow(p.conn, .srtt_us = 100 * MSEC_US);
	mps_test_fill(p.fast);
	p.head = mps_test_unsent_pkts(p.conn, unsent_pkts);
	return p;
}

/* The next pick, which must be for that subflow, is sent: its number from 0. */
static u64 takes(struct kunit *test, struct two_paths p, struct mps_subflow *subflow)
{
	struct mps_pick pick = mps_test_send(p.conn);

	KUNIT_ASSERT_EQ(test, (u32)pick.kind, (u32)MPS_NEW);
	KUNIT_ASSERT_PTR_EQ(test, pick.subflow, subflow);
	return div_u64(pick.seq, MSS);
}

static struct mps_segment *nth(struct mps_conn *conn, u64 number)
{
	struct mptcp_data_frag *frag;

	list_for_each_entry(frag, &conn_core(conn)->msk->rtx_queue, list)
		if (mps_seq(conn, mps_segment(frag)) == number * MSS)
			return mps_segment(frag);
	return NULL;
}

/* So many more segments leave on the fast one, which is full again then. */
static void fast_sends(struct two_paths p, u32 pkts)
{
	p.fast->in_flight_pkts -= pkts;
	while (pkts--)
		mps_test_send(p.conn);
}

/* So many arrive on the fast one; the connection is acknowledged up to this segment. */
static void fast_arrive(struct two_paths p, u32 pkts, u64 number)
{
	mps_test_acked(p.conn, nth(p.conn, number));
	mps_test_ack(p.fast, pkts);
	mps_test_fill(p.fast);
	mps_test_decide(p.conn);
}

static void the_lowest_rtt_takes_what_comes_next(struct kunit *test)
{
	struct two_paths p = two_paths(test, 5);

	p.fast->in_flight_pkts = 9;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, p.head);
	p.fast->srtt_us = 101 * MSEC_US;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
}

/* 0 on the slow path; 1 to 5 on the fast one, which arrive and wait. */
static struct two_paths late_by_five(struct kunit *test)
{
	struct two_paths p = two_paths(test, 100);

	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 0);
	fast_sends(p, 5);
	fast_arrive(p, 5, 5);
	return p;
}

static void a_late_sample_widens_the_gap_by_what_waited_behind_it(struct kunit *test)
{
	struct two_paths p = late_by_five(test);

	/* 6 to 10 are for the fast one */
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 11);
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 12);
	/* of those, 7 to 10 are left, and 13 is the fifth */
	fast_sends(p, 1);
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 14);
}

/* 11 leaves with 5 before it; those arrive, and 4 behind it, before it does. */
static void what_is_late_is_added_to_what_was_left_before_it(struct kunit *test)
{
	struct two_paths p = late_by_five(test);

	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 11);
	fast_sends(p, 9);
	fast_arrive(p, 9, 15);
	/* 16 to 24 are 9 */
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 25);
}

/* 11 is there when 10 comes, and nothing behind it. */
static void an_early_sample_narrows_the_gap_by_a_segment(struct kunit *test)
{
	struct two_paths p = late_by_five(test);

	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 11);
	fast_sends(p, 5);
	fast_arrive(p, 5, 11);
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 16);
}

/* Of 3 that are on their way when 11 leaves, and the 5 before it, 8 come first. */
static void what_is_on_its_way_on_the_fast_path_comes_before_a_sample(struct kunit *test)
{
	struct two_paths p = late_by_five(test);

	fast_sends(p, 3);
	/* 9 to 13 are kept */
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 14);
	fast_sends(p, 5);
	fast_sends(p, 2);
	fast_arrive(p, 10, 16);
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 17 + 7);
}

/* 11 is acknowledged on the slow path while the connection waits for 8. */
static void what_is_missing_when_a_sample_arrives_is_taken_off_the_gap(struct kunit *test)
{
	struct two_paths p = late_by_five(test);

	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 11);
	fast_sends(p, 5);
	fast_arrive(p, 2, 7);
	/* the first one of the slow path, and this */
	mps_test_ack(p.slow, 2);
	/* 5 - 3 */
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 14);
}

static void one_segment_at_a_time_is_a_sample(struct kunit *test)
{
	struct two_paths p = two_paths(test, 100);

	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 0);
	fast_sends(p, 1);
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 2);
	fast_sends(p, 5);
	/* 0 is late by 1; that 2 is by 5 comes from the same gap */
	fast_arrive(p, 1, 1);
	fast_arrive(p, 5, 7);
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 9);
}

static void losses_say_nothing_of_the_order(struct kunit *test)
{
	struct two_paths p = two_paths(test, 100);

	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 0);
	fast_sends(p, 5);
	mps_test_loss(p.slow);
	fast_arrive(p, 5, 5);
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 6);
}

static void it_waits_where_less_is_unsent_than_the_gap(struct kunit *test)
{
	struct two_paths p = late_by_five(test);

	/* 94 are left */
	mps_test_fill(p.slow);
	p.fast->cwnd_pkts = 98;
	p.fast->in_flight_pkts = 98;
	fast_sends(p, 88);
	mps_test_ack(p.slow, 5);
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 99);
	EXPECT_WAIT(test, p.conn);
	/* unless the fast one cannot come back */
	mps_test_usable(p.fast, false);
	KUNIT_EXPECT_EQ(test, (u32)mps_test_decide(p.conn).kind, (u32)MPS_REINJECTION);
}

static void a_path_that_idles_is_tried_with_the_last_segment(struct kunit *test)
{
	struct two_paths p = late_by_five(test);

	p.fast->cwnd_pkts = 100;
	p.fast->in_flight_pkts = 100;
	fast_sends(p, 90);
	/* 96 to 99 are left, 4 of 5 */
	mps_test_ack(p.slow, 1);
	EXPECT_WAIT(test, p.conn);
	msleep(401);
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 99);
	EXPECT_WAIT(test, p.conn);
}

static void what_the_window_does_not_admit_waits(struct kunit *test)
{
	struct two_paths p = late_by_five(test);

	p.conn->window_bytes = 5 * MSS;
	EXPECT_WAIT(test, p.conn);
	p.conn->window_bytes = 6 * MSS;
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 11);
}

static void each_slower_path_has_a_gap_of_its_own(struct kunit *test)
{
	struct two_paths p = late_by_five(test);
	struct mps_subflow *third = mps_test_subflow(p.conn, .srtt_us = 60 * MSEC_US);

	/* it knows nothing yet */
	KUNIT_EXPECT_EQ(test, takes(test, p, third), 6);
	mps_test_fill(third);
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 12);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(the_lowest_rtt_takes_what_comes_next),
	KUNIT_CASE(a_late_sample_widens_the_gap_by_what_waited_behind_it),
	KUNIT_CASE(what_is_late_is_added_to_what_was_left_before_it),
	KUNIT_CASE(an_early_sample_narrows_the_gap_by_a_segment),
	KUNIT_CASE(what_is_on_its_way_on_the_fast_path_comes_before_a_sample),
	KUNIT_CASE(what_is_missing_when_a_sample_arrives_is_taken_off_the_gap),
	KUNIT_CASE(one_segment_at_a_time_is_a_sample),
	KUNIT_CASE(losses_say_nothing_of_the_order),
	KUNIT_CASE(it_waits_where_less_is_unsent_than_the_gap),
	KUNIT_CASE(a_path_that_idles_is_tried_with_the_last_segment),
	KUNIT_CASE(what_the_window_does_not_admit_waits),
	KUNIT_CASE(each_slower_path_has_a_gap_of_its_own),
	{}
};

static struct kunit_suite suite = {
	.name		= "mptcp_stms",
	.test_cases	= cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tests of the MPTCP scheduler stms");
