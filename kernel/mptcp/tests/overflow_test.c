// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of the scheduler `overflow` on constructed states. */

#include "vocabulary.h"

static void overflow_uses_the_next_path_only_when_the_first_is_full(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "overflow");
	struct mps_subflow *first = mps_test_subflow(conn, .srtt_us = 100000, .cwnd_pkts = 2);
	struct mps_subflow *second = mps_test_subflow(conn, .srtt_us = 1000, .cwnd_pkts = 1);
	struct mps_subflow *backup = mps_test_subflow(conn, .backup = true, .cwnd_pkts = 1);

	mps_test_unsent_pkts(conn, 9);
	EXPECT_SENT(test, conn, MPS_NEW, first, mps_head(conn));
	EXPECT_SENT(test, conn, MPS_NEW, first, mps_head(conn));
	EXPECT_SENT(test, conn, MPS_NEW, second, mps_head(conn));
	EXPECT_SENT(test, conn, MPS_NEW, backup, mps_head(conn));
	EXPECT_WAIT(test, conn);
	mps_test_ack(second, 1);
	mps_test_ack(first, 1);
	EXPECT_SENT(test, conn, MPS_NEW, first, mps_head(conn));
	EXPECT_SENT(test, conn, MPS_NEW, second, mps_head(conn));
	EXPECT_WAIT(test, conn);
}

static void overflow_takes_places_in_the_order_of_their_numbers(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "overflow");
	struct mps_subflow *last, *first, *backup;

	mps_test_param(conn, "place1", 7);
	mps_test_param(conn, "place2", 3);
	last = mps_test_subflow(conn, .cwnd_pkts = 1);
	first = mps_test_subflow(conn, .cwnd_pkts = 1);
	/* place 0 */
	backup = mps_test_subflow(conn, .backup = true);
	mps_test_unsent_pkts(conn, 9);
	EXPECT_SENT(test, conn, MPS_NEW, first, mps_head(conn));
	EXPECT_SENT(test, conn, MPS_NEW, last, mps_head(conn));
	EXPECT_SENT(test, conn, MPS_NEW, backup, mps_head(conn));
	/* the flag of either end may change */
	mps_test_backup(backup, false);
	mps_test_ack(first, 1);
	EXPECT_SENT(test, conn, MPS_NEW, backup, mps_head(conn));
}

static void overflow_spares_backups_if_it_is_to(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "overflow");
	struct mps_subflow *first, *backup;
	struct mps_segment *seg;

	mps_test_param(conn, "spare_backups", 1);
	first = mps_test_subflow(conn, .cwnd_pkts = 1);
	backup = mps_test_subflow(conn, .backup = true);
	seg = mps_test_unsent_pkts(conn, 9);
	EXPECT_SENT(test, conn, MPS_NEW, first, seg);
	EXPECT_WAIT(test, conn);
	mps_test_usable(first, false);
	EXPECT_SENT(test, conn, MPS_REINJECTION, backup, seg);
	EXPECT_SENT(test, conn, MPS_NEW, backup, mps_head(conn));
}

static void overflow_puts_paths_without_a_place_last(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "overflow");
	struct mps_subflow *eighth = NULL, *ninth;
	int i;

	mps_test_param(conn, "place8", 1000);
	for (i = 1; i <= 8; i++)
		eighth = mps_test_subflow(conn, .usable = i == 8, .cwnd_pkts = 1);
	ninth = mps_test_subflow(conn);
	mps_test_unsent_pkts(conn, 2);
	EXPECT_SENT(test, conn, MPS_NEW, eighth, mps_head(conn));
	EXPECT_SENT(test, conn, MPS_NEW, ninth, mps_head(conn));
}

/* An RTT of 40 ms and a queue of 20 ms more: 60 ms of data may be on the way. */
static void overflow_limits_the_queue_once_in_a_round(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "overflow");
	struct mps_subflow *first = mps_test_subflow(conn, .srtt_us = 120000, .cwnd_pkts = 100,
						     .min_rtt_us = 40000);

	mps_test_ack(first, 1);
	/* no round is complete yet */
	KUNIT_EXPECT_EQ(test, first->limit_pkts, ~0U);
	first->rounds = 1;
	mps_test_ack(first, 1);
	/* 100 x 60 / 120 */
	KUNIT_EXPECT_EQ(test, first->limit_pkts, 50U);
	mps_test_ack(first, 1);
	KUNIT_EXPECT_EQ(test, first->limit_pkts, 50U);
	first->rounds = 2;
	first->srtt_us = 50000;
	mps_test_ack(first, 1);
	/* 50 x 60 / 50 */
	KUNIT_EXPECT_EQ(test, first->limit_pkts, 60U);
	first->rounds = 3;
	first->srtt_us = 30000;
	mps_test_ack(first, 1);
	/* 60 x 60 / 30 is more than the window */
	KUNIT_EXPECT_EQ(test, first->limit_pkts, ~0U);
}

static void overflow_never_limits_below_two_packets(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "overflow");
	struct mps_subflow *first = mps_test_subflow(conn, .srtt_us = 4000000, .cwnd_pkts = 100,
						     .min_rtt_us = 1000);

	first->rounds = 1;
	mps_test_ack(first, 1);
	KUNIT_EXPECT_EQ(test, first->limit_pkts, 2U);
}

/* 54 ms at the least limit, of 70 ms: 2 x 70 / 54 is less than 3, and 3.36 after two rounds. */
static void overflow_raises_a_small_limit_by_fractions(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "overflow");
	struct mps_subflow *first = mps_test_subflow(conn, .srtt_us = 4000000, .cwnd_pkts = 100,
						     .min_rtt_us = 50000);

	first->rounds = 1;
	mps_test_ack(first, 1);
	KUNIT_EXPECT_EQ(test, first->limit_pkts, 2U);
	first->srtt_us = 54000;
	first->rounds = 2;
	mps_test_ack(first, 1);
	KUNIT_EXPECT_EQ(test, first->limit_pkts, 2U);
	first->rounds = 3;
	mps_test_ack(first, 1);
	KUNIT_EXPECT_EQ(test, first->limit_pkts, 3U);
}

static void overflow_limits_nothing_without_queue_ms_or_a_sample(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "overflow");
	struct mps_subflow *first;

	mps_test_param(conn, "queue_ms", 0);
	first = mps_test_subflow(conn, .srtt_us = 120000, .min_rtt_us = 40000);
	first->rounds = 1;
	mps_test_ack(first, 1);
	KUNIT_EXPECT_EQ(test, first->limit_pkts, ~0U);

	conn = mps_test_conn(test, "overflow");
	first = mps_test_subflow(conn, .srtt_us = 0);
	first->rounds = 1;
	mps_test_ack(first, 1);
	KUNIT_EXPECT_EQ(test, first->limit_pkts, ~0U);
}

static void overflow_sends_again_where_it_was_not_sent(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "overflow");
	struct mps_subflow *first = mps_test_subflow(conn);
	struct mps_subflow *second = mps_test_subflow(conn);
	struct mps_segment *lost = mps_test_in_flight(conn, MSS, first);
	struct mps_segment *seg = mps_test_unsent(conn, MSS);

	mps_test_reinject(conn, lost);
	EXPECT_SENT(test, conn, MPS_REINJECTION, second, lost);
	EXPECT_SENT(test, conn, MPS_NEW, first, seg);
	/* at the connection's timer, too, unless only the carrier has room */
	KUNIT_EXPECT_PTR_EQ(test, conn_core(conn)->ops->get_subflow(conn, seg), second);
	mps_test_fill(second);
	KUNIT_EXPECT_PTR_EQ(test, conn_core(conn)->ops->get_subflow(conn, seg), first);
	mps_test_fill(first);
	KUNIT_EXPECT_NULL(test, conn_core(conn)->ops->get_subflow(conn, seg));
}

static struct kunit_case overflow_cases[] = {
	KUNIT_CASE(overflow_uses_the_next_path_only_when_the_first_is_full),
	KUNIT_CASE(overflow_takes_places_in_the_order_of_their_numbers),
	KUNIT_CASE(overflow_spares_backups_if_it_is_to),
	KUNIT_CASE(overflow_puts_paths_without_a_place_last),
	KUNIT_CASE(overflow_limits_the_queue_once_in_a_round),
	KUNIT_CASE(overflow_never_limits_below_two_packets),
	KUNIT_CASE(overflow_raises_a_small_limit_by_fractions),
	KUNIT_CASE(overflow_limits_nothing_without_queue_ms_or_a_sample),
	KUNIT_CASE(overflow_sends_again_where_it_was_not_sent),
	{}
};

static struct kunit_suite overflow_suite = {
	.name		= "mptcp-overflow",
	.test_cases	= overflow_cases,
};

kunit_test_suite(overflow_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of the MPTCP scheduler overflow");
