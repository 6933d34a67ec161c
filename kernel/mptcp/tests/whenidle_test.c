// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of the scheduler `whenidle` on constructed states. */

#include "copies.h"

static void copies_wait_until_nothing_new_is_to_be_sent(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "whenidle");
	struct mps_subflow *near, *far, *mid;
	struct mps_segment *a, *b, *c;

	mps_test_param(conn, "spare_backups", 1);
	near = mps_test_subflow(conn, .srtt_us = 10000, .cwnd_pkts = 3);
	far = mps_test_subflow(conn, .srtt_us = 50000);
	mid = mps_test_subflow(conn, .srtt_us = 20000, .cwnd_pkts = 2);
	mps_test_subflow(conn, .srtt_us = 1000, .backup = true);
	a = mps_test_unsent(conn, MSS);
	b = mps_test_unsent(conn, MSS);
	c = mps_test_unsent(conn, MSS);
	EXPECT_SENT(test, conn, MPS_NEW, near, a);
	EXPECT_SENT(test, conn, MPS_NEW, near, b);
	EXPECT_SENT(test, conn, MPS_NEW, near, c);
	/* the oldest that one of them lacks, on the lowest RTT of those */
	EXPECT_SENT(test, conn, MPS_DUPLICATE, mid, a);
	EXPECT_SENT(test, conn, MPS_DUPLICATE, far, a);
	EXPECT_SENT(test, conn, MPS_DUPLICATE, mid, b);
	EXPECT_SENT(test, conn, MPS_DUPLICATE, far, b);
	EXPECT_SENT(test, conn, MPS_DUPLICATE, far, c);
	EXPECT_WAIT(test, conn);
	/* new data comes first */
	EXPECT_PICK(test, conn, MPS_NEW, far, mps_test_unsent(conn, MSS));
}

static void takes_no_notice_of_backups(struct kunit *test)
{
	copies_take_no_notice_of_backups(test, "whenidle");
}

/* As redundant. */
static void repeats_after_a_timeout_where_it_is_the_turn(struct kunit *test)
{
	copies_are_repeated_where_it_is_the_turn(test, "whenidle", 2);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(copies_wait_until_nothing_new_is_to_be_sent),
	KUNIT_CASE(takes_no_notice_of_backups),
	KUNIT_CASE(repeats_after_a_timeout_where_it_is_the_turn),
	{}
};

static struct kunit_suite suite = {
	.name		= "mptcp_whenidle",
	.test_cases	= cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tests of the MPTCP scheduler whenidle");
