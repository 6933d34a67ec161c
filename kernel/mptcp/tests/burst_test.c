// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of the scheduler `burst` on constructed states, by worked numbers. */

#include "vocabulary.h"

/* so many segments of 1448 bytes make 65428: 45.2 */
#define BURST_PKTS	46

static void burst_takes_the_queue_that_is_empty_soonest(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "burst");
	/* 60 ms, 50 ms, and a window that is full says nothing */
	struct mps_subflow *one = mps_test_subflow(conn, .memory_bytes = 60000,
						   .pacing_rate = 1000000, .srtt_us = 1000);
	struct mps_subflow *two = mps_test_subflow(conn, .memory_bytes = 100000,
						   .pacing_rate = 2000000);
	struct mps_segment *seg = mps_test_unsent(conn, MSS);

	mps_test_fill(two);
	EXPECT_PICK(test, conn, MPS_NEW, two, seg);
	/* 40 ms */
	one->memory_bytes = 40000;
	EXPECT_PICK(test, conn, MPS_NEW, one, seg);
}

static void burst_takes_the_first_in_a_tie(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "burst");
	struct mps_subflow *one = mps_test_subflow(conn, .pacing_rate = 1000);

	mps_test_subflow(conn, .pacing_rate = 1000000);
	EXPECT_PICK(test, conn, MPS_NEW, one, mps_test_unsent(conn, MSS));
}

static void burst_stays_for_a_burst(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "burst");
	struct mps_subflow *one = mps_test_subflow(conn, .pacing_rate = 1000000);
	struct mps_subflow *two = mps_test_subflow(conn, .pacing_rate = 1000000);
	int i;

	mps_test_unsent_pkts(conn, 3 * BURST_PKTS);
	for (i = 0; i < BURST_PKTS; i++) {
		EXPECT_SENT(test, conn, MPS_NEW, one, mps_head(conn));
		one->memory_bytes += 2000;
	}
	for (i = 0; i < BURST_PKTS; i++) {
		EXPECT_SENT(test, conn, MPS_NEW, two, mps_head(conn));
		two->memory_bytes += 1000;
	}
	EXPECT_SENT(test, conn, MPS_NEW, two, mps_head(conn));
}

static void burst_ends_with_a_wait(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "burst");
	struct mps_subflow *one = mps_test_subflow(conn, .pacing_rate = 1000000);
	struct mps_subflow *two = mps_test_subflow(conn, .pacing_rate = 1000000);

	EXPECT_SENT(test, conn, MPS_NEW, one, mps_test_unsent(conn, MSS));
	one->memory_bytes = 2000;
	EXPECT_WAIT(test, conn);
	EXPECT_SENT(test, conn, MPS_NEW, two, mps_test_unsent(conn, MSS));
	two->memory_bytes = 2000;
	EXPECT_WAIT(test, conn);
	/* a pick that was not carried out is none */
	EXPECT_PICK(test, conn, MPS_NEW, one, mps_test_unsent_pkts(conn, 2));
	one->memory_bytes = 4000;
	EXPECT_PICK(test, conn, MPS_NEW, two, mps_head(conn));
}

static void burst_waits_for_memory_of_the_best(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "burst");
	struct mps_subflow *one = mps_test_subflow(conn, .memory_full = true,
						   .memory_bytes = 1000, .pacing_rate = 1000000);
	struct mps_segment *seg;

	mps_test_subflow(conn, .memory_bytes = 2000, .pacing_rate = 1000000);
	seg = mps_test_unsent_pkts(conn, 2);
	EXPECT_WAIT(test, conn);
	one->memory_full = false;
	EXPECT_SENT(test, conn, MPS_NEW, one, seg);
	one->memory_full = true;
	EXPECT_WAIT(test, conn);
}

/* The rate is averaged: 65428 bytes of memory at 1 MB/s, and a burst of as many at 3
 * MB/s, are 2 MB/s; so 131072 bytes then take 65.5 ms, and not 43.7 or 131.
 */
static void burst_averages_the_pacing_rate(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "burst");
	struct mps_subflow *one = mps_test_subflow(conn, .memory_bytes = 65428,
						   .pacing_rate = 1000000);
	struct mps_subflow *two = mps_test_subflow(conn, .memory_bytes = 66000,
						   .pacing_rate = 1000000);

	EXPECT_PICK(test, conn, MPS_NEW, one, mps_test_unsent_pkts(conn, 2));
	one->pacing_rate = 3000000;
	EXPECT_PICK(test, conn, MPS_NEW, one, mps_head(conn));
	one->memory_bytes = 131072;
	two->memory_bytes = 65400;
	EXPECT_PICK(test, conn, MPS_NEW, two, mps_head(conn));
	one->memory_bytes = 131072;
	two->memory_bytes = 65700;
	EXPECT_PICK(test, conn, MPS_NEW, one, mps_head(conn));
}

/* As in the source, a backup has a rate from the first look on, be it used or not: 60 and
 * 50 ms, though the first has 10 MB/s by now.
 */
static void burst_averages_the_rate_of_a_backup_that_is_not_used(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "burst");
	struct mps_subflow *one = mps_test_subflow(conn, .pacing_rate = 1000000);
	struct mps_subflow *two = mps_test_subflow(conn, .memory_bytes = 60000, .backup = true,
						   .pacing_rate = 1000000);
	struct mps_subflow *three = mps_test_subflow(conn, .memory_bytes = 100000, .backup = true,
						     .pacing_rate = 2000000);
	struct mps_segment *seg = mps_test_unsent(conn, MSS);

	EXPECT_PICK(test, conn, MPS_NEW, one, seg);
	two->pacing_rate = 10000000;
	mps_test_usable(one, false);
	EXPECT_PICK(test, conn, MPS_NEW, three, seg);
}

static void burst_leaves_a_timeout_to_the_timer_unless_it_is_not_to(struct kunit *test)
{
	u32 reinject;

	for (reinject = 0; reinject <= 1; reinject++) {
		struct mps_conn *conn = mps_test_conn(test, "burst");
		struct mps_subflow *one, *two;
		struct mps_segment *lost, *seg;

		mps_test_param(conn, "reinject", reinject);
		one = mps_test_subflow(conn);
		two = mps_test_subflow(conn);
		lost = mps_test_in_flight(conn, MSS, one);
		seg = mps_test_unsent(conn, MSS);
		mps_test_rto(one);
		if (reinject)
			EXPECT_SENT(test, conn, MPS_REINJECTION, two, lost);
		EXPECT_SENT(test, conn, MPS_NEW, two, seg);
	}
}

static void burst_repeats_all_of_a_stale_or_closed_subflow(struct kunit *test)
{
	u32 closed;

	for (closed = 0; closed <= 1; closed++) {
		struct mps_conn *conn = mps_test_conn(test, "burst");
		struct mps_subflow *one = mps_test_subflow(conn);
		struct mps_subflow *two = mps_test_subflow(conn);
		struct mps_segment *lost = mps_test_in_flight(conn, MSS, one);

		mps_test_rto(one);
		EXPECT_WAIT(test, conn);
		if (closed)
			mps_test_close(one);
		else
			one->stale = true;
		EXPECT_SENT(test, conn, MPS_REINJECTION, two, lost);
	}
}

static void burst_retransmits_where_nothing_is_on_its_way(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "burst");
	struct mps_subflow *one = mps_test_subflow(conn), *two;
	struct mps_segment *seg = mps_test_in_flight(conn, MSS, one);

	KUNIT_EXPECT_NULL(test, conn_core(conn)->ops->get_subflow(conn, seg));
	two = mps_test_subflow(conn, .srtt_us = 500000);
	KUNIT_EXPECT_PTR_EQ(test, conn_core(conn)->ops->get_subflow(conn, seg), two);
	two->backup = true;
	KUNIT_EXPECT_NULL(test, conn_core(conn)->ops->get_subflow(conn, seg));
	mps_test_usable(one, false);
	KUNIT_EXPECT_PTR_EQ(test, conn_core(conn)->ops->get_subflow(conn, seg), two);
}

static struct kunit_case burst_cases[] = {
	KUNIT_CASE(burst_takes_the_queue_that_is_empty_soonest),
	KUNIT_CASE(burst_takes_the_first_in_a_tie),
	KUNIT_CASE(burst_stays_for_a_burst),
	KUNIT_CASE(burst_ends_with_a_wait),
	KUNIT_CASE(burst_waits_for_memory_of_the_best),
	KUNIT_CASE(burst_averages_the_pacing_rate),
	KUNIT_CASE(burst_averages_the_rate_of_a_backup_that_is_not_used),
	KUNIT_CASE(burst_leaves_a_timeout_to_the_timer_unless_it_is_not_to),
	KUNIT_CASE(burst_repeats_all_of_a_stale_or_closed_subflow),
	KUNIT_CASE(burst_retransmits_where_nothing_is_on_its_way),
	{}
};

static struct kunit_suite burst_suite = {
	.name		= "mptcp-burst",
	.test_cases	= burst_cases,
};

kunit_test_suite(burst_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of the MPTCP scheduler burst");
