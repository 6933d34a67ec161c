// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of the scheduler `backup` on constructed states. */

#include "vocabulary.h"

static void backup_takes_the_first_that_is_none(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "backup");
	struct mps_subflow *first = mps_test_subflow(conn, .backup = true, .srtt_us = 1000);
	struct mps_subflow *second = mps_test_subflow(conn, .srtt_us = 100000);
	struct mps_subflow *third = mps_test_subflow(conn);
	struct mps_segment *seg = mps_test_unsent_pkts(conn, 4);

	EXPECT_SENT(test, conn, MPS_NEW, second, seg);
	mps_test_backup(second, true);
	EXPECT_SENT(test, conn, MPS_NEW, third, mps_head(conn));
	mps_test_backup(first, false);
	EXPECT_SENT(test, conn, MPS_NEW, first, mps_head(conn));
}

static void backup_takes_the_first_backup_when_all_are(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "backup");
	struct mps_subflow *first = mps_test_subflow(conn, .backup = true);
	struct mps_subflow *second = mps_test_subflow(conn, .backup = true);
	struct mps_segment *seg = mps_test_unsent(conn, MSS);

	EXPECT_PICK(test, conn, MPS_NEW, first, seg);
	mps_test_usable(first, false);
	EXPECT_PICK(test, conn, MPS_NEW, second, seg);
	mps_test_usable(second, false);
	EXPECT_WAIT(test, conn);
}

static void backup_looks_at_the_window_only_without_queue(struct kunit *test)
{
	u32 queue;

	for (queue = 0; queue <= 1; queue++) {
		struct mps_conn *conn = mps_test_conn(test, "backup");
		struct mps_subflow *first, *second;
		struct mps_segment *seg;

		mps_test_param(conn, "queue", queue);
		first = mps_test_subflow(conn);
		second = mps_test_subflow(conn);
		mps_test_fill(first);
		seg = mps_test_unsent_pkts(conn, 2);
		if (queue) {
			EXPECT_SENT(test, conn, MPS_NEW, first, seg);
			EXPECT_SENT(test, conn, MPS_NEW, first, mps_head(conn));
		} else {
			EXPECT_WAIT(test, conn);
		}
		mps_test_usable(first, false);
		EXPECT_PICK(test, conn, queue ? MPS_REINJECTION : MPS_NEW, second, seg);
	}
}

static void backup_retransmits_where_it_sends(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "backup");
	struct mps_subflow *first = mps_test_subflow(conn, .backup = true);
	struct mps_subflow *second = mps_test_subflow(conn);
	struct mps_segment *seg = mps_test_in_flight(conn, MSS, second);

	KUNIT_EXPECT_PTR_EQ(test, conn_core(conn)->ops->get_subflow(conn, seg), second);
	mps_test_usable(second, false);
	KUNIT_EXPECT_PTR_EQ(test, conn_core(conn)->ops->get_subflow(conn, seg), first);
	mps_test_usable(first, false);
	KUNIT_EXPECT_NULL(test, conn_core(conn)->ops->get_subflow(conn, seg));
}

static struct kunit_case backup_cases[] = {
	KUNIT_CASE(backup_takes_the_first_that_is_none),
	KUNIT_CASE(backup_takes_the_first_backup_when_all_are),
	KUNIT_CASE(backup_looks_at_the_window_only_without_queue),
	KUNIT_CASE(backup_retransmits_where_it_sends),
	{}
};

static struct kunit_suite backup_suite = {
	.name		= "mptcp-backup",
	.test_cases	= backup_cases,
};

kunit_test_suite(backup_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of the MPTCP scheduler backup");
