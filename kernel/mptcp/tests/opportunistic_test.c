// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of the scheduler `opportunistic` on constructed states. */

#include "copies.h"

static void copies_go_where_there_is_room_when_it_is_new(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "opportunistic");
	struct mps_subflow *near, *far, *full;
	struct mps_segment *a, *b;

	mps_test_param(conn, "spare_backups", 1);
	near = mps_test_subflow(conn, .srtt_us = 10000);
	far = mps_test_subflow(conn, .srtt_us = 50000);
	full = mps_test_subflow(conn, .srtt_us = 20000);
	mps_test_subflow(conn, .srtt_us = 1000, .backup = true);
	mps_test_fill(full);
	a = mps_test_unsent(conn, MSS);
	b = mps_test_unsent(conn, MSS);
	EXPECT_SENT(test, conn, MPS_NEW, near, a);
	EXPECT_SENT(test, conn, MPS_DUPLICATE, far, a);
	/* it has room now, but a is no longer new */
	mps_test_ack(full, 1);
	EXPECT_SENT(test, conn, MPS_NEW, near, b);
	EXPECT_SENT(test, conn, MPS_DUPLICATE, far, b);
	EXPECT_SENT(test, conn, MPS_DUPLICATE, full, b);
	EXPECT_WAIT(test, conn);
}

static void copies_wait_for_nobody(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "opportunistic");
	struct mps_subflow *near, *far;
	struct mps_segment *a, *b, *c;

	near = mps_test_subflow(conn, .srtt_us = 10000, .cwnd_pkts = 2);
	far = mps_test_subflow(conn, .srtt_us = 50000, .cwnd_pkts = 2);
	a = mps_test_unsent(conn, MSS);
	b = mps_test_unsent(conn, MSS);
	c = mps_test_unsent(conn, MSS);
	EXPECT_SENT(test, conn, MPS_NEW, near, a);
	/* acknowledged before its copy was sent */
	mps_test_acked(conn, a);
	mps_test_ack(near, 1);
	EXPECT_SENT(test, conn, MPS_NEW, near, b);
	/* no room any more */
	mps_test_fill(far);
	EXPECT_SENT(test, conn, MPS_NEW, near, c);
	EXPECT_WAIT(test, conn);
}

static void takes_no_notice_of_backups(struct kunit *test)
{
	copies_take_no_notice_of_backups(test, "opportunistic");
}

/* As redundant. */
static void repeats_after_a_timeout_where_it_is_the_turn(struct kunit *test)
{
	copies_are_repeated_where_it_is_the_turn(test, "opportunistic", 2);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(copies_go_where_there_is_room_when_it_is_new),
	KUNIT_CASE(copies_wait_for_nobody),
	KUNIT_CASE(takes_no_notice_of_backups),
	KUNIT_CASE(repeats_after_a_timeout_where_it_is_the_turn),
	{}
};

static struct kunit_suite suite = {
	.name		= "mptcp_opportunistic",
	.test_cases	= cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tests of the MPTCP scheduler opportunistic");
