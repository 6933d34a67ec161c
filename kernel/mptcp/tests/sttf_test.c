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

/* Where the first samples were `slow_ms` and 100 ms, and now the latest ones are the
 * other way round: the lowest smoothed RTT, or the shortest way?
 */
static void expect_alike(struct kunit *test, u32 alpha_percent, u32 slow_ms, bool alike)
{
	struct two_paths p = { .conn = mps_test_conn(test, "sttf") };

	mps_test_param(p.conn, "alpha_percent", alpha_percent);
	p.slow = mps_test_subflow(p.conn, .srtt_us = slow_ms * MSEC_US,
				  .last_rtt_us = 100 * MSEC_US);
	p.fast = mps_test_subflow(p.conn, .srtt_us = 100 * MSEC_US,
				  .last_rtt_us = 300 * MSEC_US);
	p.head = mps_test_unsent(p.conn, MSS);
	EXPECT_PICK(test, p.conn, MPS_NEW, alike ? p.fast : p.slow, p.head);
	/* whatever they are now */
	p.slow->srtt_us = 600 * MSEC_US;
	EXPECT_PICK(test, p.conn, MPS_NEW, alike ? p.fast : p.slow, p.head);
}

/* Nothing waits in a queue beyond what there is room for. */
static void of_paths_that_are_alike_those_with_room_are_taken(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "sttf");
	struct mps_subflow *one = mps_test_subflow(conn, .srtt_us = 20000, .in_flight_pkts = 8);
	struct mps_subflow *two = mps_test_subflow(conn, .srtt_us = 20000, .in_flight_pkts = 10);
	struct mps_segment *seg = mps_test_unsent(conn, MSS);

	one->unsent_bytes = 2 * MSS - 1;
	EXPECT_PICK(test, conn, MPS_NEW, one, seg);
	one->unsent_bytes = 2 * MSS;
	EXPECT_WAIT(test, conn);
	mps_test_ack(two, 1);
	EXPECT_PICK(test, conn, MPS_NEW, two, seg);
}

/* In jiffies of 4 ms, each begun one counted: 25 and 27, 8 % more; 25 and 28, 12 %;
 * 25 and 26, which differ by one only.
 */
static void of_paths_that_were_alike_at_first_the_lowest_rtt_is_taken(struct kunit *test)
{
	BUILD_BUG_ON(HZ != 250);
	expect_alike(test, 10, 108, true);
	expect_alike(test, 10, 109, false);
	expect_alike(test, 8, 108, false);
	expect_alike(test, 1, 104, true);
	expect_alike(test, 0, 104, false);
	expect_alike(test, 0, 100, false);
}

/* With a third one they are judged anew. */
static void all_paths_must_be_alike(struct kunit *test)
{
	struct two_paths p = { .conn = mps_test_conn(test, "sttf") };

	p.fast = mps_test_subflow(p.conn, .last_rtt_us = 300 * MSEC_US);
	p.slow = mps_test_subflow(p.conn, .srtt_us = 21 * MSEC_US);
	p.head = mps_test_unsent(p.conn, MSS);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, p.head);
	mps_test_subflow(p.conn, .srtt_us = 100 * MSEC_US);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
}

static void a_reinjection_goes_where_it_arrives_first(struct kunit *test)
{
	struct two_paths p = { .conn = mps_test_conn(test, "sttf") };
	struct mps_segment *seg;

	p.fast = mps_test_subflow(p.conn, .srtt_us = 20 * MSEC_US);
	p.slow = mps_test_subflow(p.conn, .srtt_us = 100 * MSEC_US);
	seg = mps_test_in_flight(p.conn, MSS, p.fast);
	mps_test_reinject(p.conn, seg);
	/* also where it was sent before; and in a queue, for 30 ms against 50 */
	EXPECT_PICK(test, p.conn, MPS_REINJECTION, p.fast, seg);
	mps_test_fill(p.fast);
	EXPECT_PICK(test, p.conn, MPS_REINJECTION, p.fast, seg);
	KUNIT_EXPECT_PTR_EQ(test, conn_core(p.conn)->ops->get_subflow(p.conn, seg), p.fast);
	/* behind two windows, of 20 and of 40, it arrives after 70 */
	p.fast->unsent_bytes = 60 * MSS;
	EXPECT_PICK(test, p.conn, MPS_REINJECTION, p.slow, seg);
}

/* Also if it is the other one's turn: the first in the plan could be queued there. */
static void waits_while_tcp_holds_data_back_where_it_arrives_first(struct kunit *test)
{
	struct two_paths p = two_paths(test, 61);

	KUNIT_EXPECT_EQ(test, slow_takes(test, p), 60);
	set_bit(TSQ_THROTTLED, &subflow_core(p.fast)->ssk->sk_tsq_flags);
	EXPECT_WAIT(test, p.conn);
	/* which does not matter where there is no other one */
	mps_test_close(p.slow);
	p.fast->in_flight_pkts = 0;
	p.fast->unsent_bytes = 0;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, mps_head(p.conn));
}

static void a_backup_is_as_good_as_any_unless_it_is_spared(struct kunit *test)
{
	mps_test_spares_backups(test, "sttf");
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
	KUNIT_CASE(of_paths_that_are_alike_those_with_room_are_taken),
	KUNIT_CASE(of_paths_that_were_alike_at_first_the_lowest_rtt_is_taken),
	KUNIT_CASE(all_paths_must_be_alike),
	KUNIT_CASE(a_reinjection_goes_where_it_arrives_first),
	KUNIT_CASE(waits_while_tcp_holds_data_back_where_it_arrives_first),
	KUNIT_CASE(a_backup_is_as_good_as_any_unless_it_is_spared),
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
