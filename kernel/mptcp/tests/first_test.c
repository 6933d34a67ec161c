// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of the scheduler `first` on constructed states. */

#include "vocabulary.h"

static void first_sends_in_order_on_the_first_subflow(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "first");
	struct mps_subflow *slow = mps_test_subflow(conn, .srtt_us = 100000);
	struct mps_segment *seg = mps_test_unsent_pkts(conn, 20);

	mps_test_subflow(conn, .srtt_us = 1000);
	/* its window is of 10 */
	for (; seg; seg = mps_head(conn))
		EXPECT_SENT(test, conn, MPS_NEW, slow, seg);
	EXPECT_WAIT(test, conn);
}

static void first_waits_while_the_first_subflow_is_full_without_queue(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "first");
	struct mps_segment *seg = mps_test_unsent(conn, MSS);
	struct mps_subflow *first;

	mps_test_param(conn, "queue", 0);
	first = mps_test_subflow(conn);
	mps_test_subflow(conn);
	mps_test_fill(first);
	EXPECT_WAIT(test, conn);
	mps_test_ack(first, 1);
	EXPECT_PICK(test, conn, MPS_NEW, first, seg);
}

static void first_waits_while_the_first_subflow_repairs_its_losses_without_queue(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "first");

	mps_test_param(conn, "queue", 0);
	mps_test_subflow(conn, .ca_state = TCP_CA_Loss);
	mps_test_subflow(conn);
	mps_test_unsent(conn, MSS);
	EXPECT_WAIT(test, conn);
}

static void first_leaves_a_subflow_that_fails_and_comes_back_to_it(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "first");
	struct mps_subflow *first = mps_test_subflow(conn);
	struct mps_subflow *second = mps_test_subflow(conn);
	struct mps_segment *lost = mps_test_in_flight(conn, MSS, first);
	struct mps_segment *lost_too = mps_test_in_flight(conn, MSS, first);
	struct mps_segment *seg = mps_test_unsent_pkts(conn, 2);

	mps_test_rto(first);
	EXPECT_SENT(test, conn, MPS_REINJECTION, second, lost);
	EXPECT_SENT(test, conn, MPS_REINJECTION, second, lost_too);
	EXPECT_SENT(test, conn, MPS_NEW, second, seg);

	first->ca_state = TCP_CA_Open;
	mps_test_usable(first, true);
	EXPECT_SENT(test, conn, MPS_NEW, first, mps_head(conn));
}

static void first_survives_the_end_of_the_first_subflow(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "first");
	struct mps_subflow *first = mps_test_subflow(conn);
	struct mps_subflow *second = mps_test_subflow(conn);
	struct mps_segment *lost = mps_test_in_flight(conn, MSS, first);
	struct mps_segment *seg = mps_test_unsent(conn, MSS);

	mps_test_close(first);
	EXPECT_SENT(test, conn, MPS_REINJECTION, second, lost);
	EXPECT_SENT(test, conn, MPS_NEW, second, seg);
	mps_test_close(second);
	EXPECT_WAIT(test, conn);
}

static void first_retransmits_on_the_first_subflow(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "first");
	struct mps_subflow *first = mps_test_subflow(conn, .srtt_us = 100000);
	struct mps_subflow *second = mps_test_subflow(conn, .srtt_us = 1000);
	struct mps_segment *seg = mps_test_in_flight(conn, MSS, first);

	KUNIT_EXPECT_PTR_EQ(test, conn_core(conn)->ops->get_subflow(conn, seg), first);
	mps_test_usable(first, false);
	KUNIT_EXPECT_PTR_EQ(test, conn_core(conn)->ops->get_subflow(conn, seg), second);
	mps_test_usable(second, false);
	KUNIT_EXPECT_NULL(test, conn_core(conn)->ops->get_subflow(conn, seg));
}

static struct kunit_case first_cases[] = {
	KUNIT_CASE(first_sends_in_order_on_the_first_subflow),
	KUNIT_CASE(first_waits_while_the_first_subflow_is_full_without_queue),
	KUNIT_CASE(first_waits_while_the_first_subflow_repairs_its_losses_without_queue),
	KUNIT_CASE(first_leaves_a_subflow_that_fails_and_comes_back_to_it),
	KUNIT_CASE(first_survives_the_end_of_the_first_subflow),
	KUNIT_CASE(first_retransmits_on_the_first_subflow),
	{}
};

static struct kunit_suite first_suite = {
	.name		= "mptcp-first",
	.test_cases	= first_cases,
};

kunit_test_suite(first_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of the MPTCP scheduler first");
