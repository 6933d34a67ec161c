// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of the scheduler `roundrobin` on constructed states. */

#include "vocabulary.h"

#define LARGE_CWND_PKTS		100000

/* The next segments, which are written first, go on these subflows in turn. */
#define EXPECT_ORDER(_test, _conn, ...)						\
do {										\
	static const u32 __order[] = { __VA_ARGS__ };				\
	struct mps_conn *__conn = (_conn);					\
										\
	for (int __i = 0; __i < ARRAY_SIZE(__order); __i++) {			\
		mps_test_unsent(__conn, MSS);					\
		KUNIT_EXPECT_EQ_MSG(_test, mps_test_send_on(__conn),		\
				    __order[__i], "segment %d", __i);		\
	}									\
} while (0)

static void roundrobin_gives_each_subflow_one_segment_in_turn(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "roundrobin");

	mps_test_subflow(conn, .srtt_us = 100000);
	mps_test_subflow(conn, .srtt_us = 1000);
	mps_test_subflow(conn, .srtt_us = 50000);
	EXPECT_ORDER(test, conn, 1, 2, 3, 1, 2, 3, 1);
}

static void roundrobin_gives_each_subflow_num_segments_in_turn(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "roundrobin");

	mps_test_param(conn, "num_segments", 3);
	mps_test_subflow(conn);
	mps_test_subflow(conn);
	EXPECT_ORDER(test, conn, 1, 1, 1, 2, 2, 2, 1, 1, 1, 2);
}

static void roundrobin_sends_in_order_and_waits_for_more(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "roundrobin");
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *two = mps_test_subflow(conn);
	struct mps_segment *seg = mps_test_unsent(conn, MSS);
	struct mps_segment *end = mps_test_unsent(conn, 1);

	EXPECT_SENT(test, conn, MPS_NEW, one, seg);
	EXPECT_SENT(test, conn, MPS_NEW, two, end);
	EXPECT_WAIT(test, conn);
}

static void roundrobin_counts_a_turn_that_the_window_does_not_let_through(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "roundrobin");
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *two = mps_test_subflow(conn);
	struct mps_segment *seg = mps_test_unsent_pkts(conn, 2);

	EXPECT_PICK(test, conn, MPS_NEW, one, seg);
	EXPECT_SENT(test, conn, MPS_NEW, two, seg);
	EXPECT_SENT(test, conn, MPS_NEW, one, mps_head(conn));
}

static void roundrobin_passes_over_a_full_subflow(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "roundrobin");
	struct mps_subflow *two;

	mps_test_subflow(conn);
	two = mps_test_subflow(conn, .cwnd_pkts = 1);
	mps_test_subflow(conn);
	EXPECT_ORDER(test, conn, 1, 2, 3, 1, 3, 1, 3);
	/* its turn is over until the others have had theirs, as it was full when that
	 * round ended
	 */
	mps_test_ack(two, 1);
	EXPECT_ORDER(test, conn, 1, 2, 3, 1);
}

static void roundrobin_continues_a_turn_that_was_interrupted(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "roundrobin");
	struct mps_subflow *one;

	mps_test_param(conn, "num_segments", 4);
	one = mps_test_subflow(conn, .cwnd_pkts = 1);
	mps_test_subflow(conn);
	EXPECT_ORDER(test, conn, 1, 2, 2);
	mps_test_ack(one, 1);
	/* the latest one first; then the second of four, and full again */
	EXPECT_ORDER(test, conn, 2, 2, 1);
	EXPECT_ORDER(test, conn, 2, 2, 2, 2);
}

static void roundrobin_counts_queued_segments_against_the_window(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "roundrobin");

	/* room for two, and two are in the queue already; then for one of them */
	mps_test_subflow(conn, .cwnd_pkts = 10, .in_flight_pkts = 8, .unsent_bytes = 2 * MSS);
	mps_test_subflow(conn, .cwnd_pkts = 10, .in_flight_pkts = 8, .unsent_bytes = MSS);
	mps_test_subflow(conn);
	EXPECT_ORDER(test, conn, 2, 3, 3, 3);
}

static void roundrobin_waits_when_all_are_full(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "roundrobin");
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *two = mps_test_subflow(conn);
	struct mps_segment *seg = mps_test_unsent(conn, MSS);

	mps_test_fill(one);
	mps_test_fill(two);
	EXPECT_WAIT(test, conn);
	mps_test_ack(two, 1);
	EXPECT_SENT(test, conn, MPS_NEW, two, seg);
}

static void roundrobin_without_cwnd_limited_waits_for_the_one_whose_turn_it_is(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "roundrobin");
	struct mps_subflow *two;

	mps_test_param(conn, "cwnd_limited", 0);
	mps_test_subflow(conn);
	two = mps_test_subflow(conn, .cwnd_pkts = 1);
	EXPECT_ORDER(test, conn, 1, 2, 1);
	mps_test_unsent(conn, MSS);
	EXPECT_WAIT(test, conn);
	mps_test_ack(two, 1);
	KUNIT_EXPECT_EQ(test, mps_test_send_on(conn), 2U);
	/* but not for one that is no use now */
	mps_test_rto(two);
	KUNIT_EXPECT_EQ(test, (u32)mps_test_send(conn).kind, (u32)MPS_REINJECTION);
	KUNIT_EXPECT_EQ(test, (u32)mps_test_send(conn).kind, (u32)MPS_REINJECTION);
	EXPECT_ORDER(test, conn, 1, 1, 1);
}

/* In v0.9x, a quota that was exceeded was never found used up (its issue 101).
 * 1 + 2 + ... + 255 is more than any quota; no segment may be left.
 */
static void roundrobin_never_hangs_whatever_the_quota_and_the_lengths(struct kunit *test)
{
	u32 num_segments, i;

	for (num_segments = 1; num_segments <= 255; num_segments += 127) {
		struct mps_conn *conn = mps_test_conn(test, "roundrobin");

		mps_test_param(conn, "num_segments", num_segments);
		mps_test_subflow(conn, .cwnd_pkts = LARGE_CWND_PKTS);
		mps_test_subflow(conn, .cwnd_pkts = LARGE_CWND_PKTS, .mss_bytes = 536);
		for (i = 0; i < 3 * 255; i++) {
			mps_test_unsent(conn, 1 + (i * 191) % MSS);
			KUNIT_ASSERT_EQ(test, mps_test_send_on(conn),
					1 + i / num_segments % 2);
		}
	}
}

static void roundrobin_gives_equal_shares_when_windows_do_not_limit(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "roundrobin");
	u32 sent[4] = {};
	u32 i;

	mps_test_param(conn, "num_segments", 7);
	mps_test_subflow(conn, .cwnd_pkts = LARGE_CWND_PKTS);
	mps_test_subflow(conn, .cwnd_pkts = LARGE_CWND_PKTS);
	mps_test_subflow(conn, .cwnd_pkts = LARGE_CWND_PKTS);
	for (i = 0; i < 10 * 7 * 3; i++) {
		mps_test_unsent(conn, MSS);
		sent[mps_test_send_on(conn)]++;
	}
	KUNIT_EXPECT_EQ(test, sent[1], 70U);
	KUNIT_EXPECT_EQ(test, sent[2], 70U);
	KUNIT_EXPECT_EQ(test, sent[3], 70U);
}

static void roundrobin_gives_a_new_subflow_its_turn_at_once(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "roundrobin");

	mps_test_subflow(conn);
	EXPECT_ORDER(test, conn, 1, 1);
	mps_test_subflow(conn);
	EXPECT_ORDER(test, conn, 2, 1, 2);
}

static void roundrobin_goes_on_when_a_subflow_goes_in_its_turn(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "roundrobin");
	struct mps_subflow *two;

	mps_test_param(conn, "num_segments", 2);
	mps_test_subflow(conn);
	two = mps_test_subflow(conn);
	mps_test_subflow(conn);
	EXPECT_ORDER(test, conn, 1, 1, 2);
	mps_test_close(two);
	KUNIT_EXPECT_EQ(test, (u32)mps_test_send(conn).kind, (u32)MPS_REINJECTION);
	EXPECT_ORDER(test, conn, 3, 3, 1, 1, 3, 3);
}

static void roundrobin_sends_reinjections_first_where_they_were_not(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "roundrobin");
	struct mps_subflow *one = mps_test_subflow(conn, .srtt_us = 10000);
	struct mps_subflow *two = mps_test_subflow(conn, .srtt_us = 50000);
	struct mps_segment *a = mps_test_in_flight(conn, MSS, one);
	struct mps_segment *b = mps_test_in_flight(conn, MSS, two);
	struct mps_segment *seg = mps_test_unsent(conn, MSS);

	mps_test_reinject(conn, b);
	mps_test_reinject(conn, a);
	EXPECT_SENT(test, conn, MPS_REINJECTION, two, a);
	EXPECT_SENT(test, conn, MPS_REINJECTION, one, b);
	EXPECT_SENT(test, conn, MPS_NEW, one, seg);
}

static void roundrobin_reinjects_on_any_before_new_data(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "roundrobin");
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *two = mps_test_subflow(conn);
	struct mps_subflow *three = mps_test_subflow(conn);
	struct mps_segment *lost = mps_test_in_flight(conn, MSS, one);

	mps_test_unsent(conn, MSS);
	mps_test_reinject(conn, lost);
	EXPECT_PICK(test, conn, MPS_REINJECTION, two, lost);
	mps_test_fill(two);
	EXPECT_PICK(test, conn, MPS_REINJECTION, three, lost);
	mps_test_fill(three);
	EXPECT_PICK(test, conn, MPS_REINJECTION, one, lost);
	mps_test_fill(one);
	EXPECT_WAIT(test, conn);
}

static void roundrobin_takes_backups_for_what_they_are_if_it_is_to(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "roundrobin");

	mps_test_subflow(conn);
	mps_test_subflow(conn, .backup = true);
	EXPECT_ORDER(test, conn, 1, 2, 1, 2);
	conn = mps_test_conn(test, "roundrobin");
	mps_test_param(conn, "spare_backups", 1);
	mps_test_subflow(conn);
	mps_test_subflow(conn, .backup = true);
	EXPECT_ORDER(test, conn, 1, 1, 1);
}

static struct kunit_case roundrobin_cases[] = {
	KUNIT_CASE(roundrobin_gives_each_subflow_one_segment_in_turn),
	KUNIT_CASE(roundrobin_gives_each_subflow_num_segments_in_turn),
	KUNIT_CASE(roundrobin_sends_in_order_and_waits_for_more),
	KUNIT_CASE(roundrobin_counts_a_turn_that_the_window_does_not_let_through),
	KUNIT_CASE(roundrobin_passes_over_a_full_subflow),
	KUNIT_CASE(roundrobin_continues_a_turn_that_was_interrupted),
	KUNIT_CASE(roundrobin_counts_queued_segments_against_the_window),
	KUNIT_CASE(roundrobin_waits_when_all_are_full),
	KUNIT_CASE(roundrobin_without_cwnd_limited_waits_for_the_one_whose_turn_it_is),
	KUNIT_CASE(roundrobin_never_hangs_whatever_the_quota_and_the_lengths),
	KUNIT_CASE(roundrobin_gives_equal_shares_when_windows_do_not_limit),
	KUNIT_CASE(roundrobin_gives_a_new_subflow_its_turn_at_once),
	KUNIT_CASE(roundrobin_goes_on_when_a_subflow_goes_in_its_turn),
	KUNIT_CASE(roundrobin_sends_reinjections_first_where_they_were_not),
	KUNIT_CASE(roundrobin_reinjects_on_any_before_new_data),
	KUNIT_CASE(roundrobin_takes_backups_for_what_they_are_if_it_is_to),
	{}
};

static struct kunit_suite roundrobin_suite = {
	.name		= "mptcp-roundrobin",
	.test_cases	= roundrobin_cases,
};

kunit_test_suite(roundrobin_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of the MPTCP scheduler roundrobin");
