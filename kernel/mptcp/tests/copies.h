/* SPDX-License-Identifier: GPL-2.0-only */
/* Decisions that the schedulers of copies share: redundant, opportunistic and whenidle. */
#ifndef _MPTCP_LAB_COPIES_TEST_H
#define _MPTCP_LAB_COPIES_TEST_H

#include "vocabulary.h"

static inline void copies_take_no_notice_of_backups(struct kunit *test, const char *scheduler)
{
	struct mps_conn *conn = mps_test_conn(test, scheduler);
	struct mps_subflow *regular = mps_test_subflow(conn, .srtt_us = 20000);
	struct mps_subflow *backup = mps_test_subflow(conn, .srtt_us = 1000, .backup = true);
	struct mps_segment *a = mps_test_unsent(conn, MSS);

	EXPECT_SENT(test, conn, MPS_NEW, backup, a);
	EXPECT_SENT(test, conn, MPS_DUPLICATE, regular, a);
}

/* The subflows take turns, whatever they carried: here, the first or the second. */
static inline void copies_are_repeated_where_it_is_the_turn(struct kunit *test,
							    const char *scheduler, u32 carrier)
{
	struct mps_conn *conn = mps_test_conn(test, scheduler);
	struct mps_subflow *one = mps_test_subflow(conn), *two = mps_test_subflow(conn);
	struct mps_segment *seg = mps_test_in_flight(conn, MSS, carrier == 1 ? one : two);
	const struct mps_ops *ops = conn_core(conn)->ops;

	KUNIT_EXPECT_PTR_EQ(test, ops->get_subflow(conn, seg), two);
	KUNIT_EXPECT_PTR_EQ(test, ops->get_subflow(conn, seg), one);
	mps_test_fill(two);
	KUNIT_EXPECT_PTR_EQ(test, ops->get_subflow(conn, seg), one);
	mps_test_fill(one);
	KUNIT_EXPECT_NULL(test, ops->get_subflow(conn, seg));
}

#endif
