// SPDX-License-Identifier: GPL-2.0-only
/* thinstream: new data by one-way delay, probes of idle paths, and what it does
 * when delays cannot be compared.
 */

#include "vocabulary.h"

/* Neither path is to be probed for a while. */
static void probed_just_now(struct mps_subflow *subflow)
{
	u64 *due_ns = mps_subflow_priv(subflow);

	*due_ns = mps_clock_ns() + NSEC_PER_SEC;
}

static void to_be_probed(struct mps_subflow *subflow)
{
	u64 *due_ns = mps_subflow_priv(subflow);

	*due_ns = mps_clock_ns();
}

static void new_data_takes_the_lowest_one_way_delay(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "thinstream");
	/* quick there and slow back, and the other way round */
	struct mps_subflow *there = mps_test_subflow(conn, .srtt_us = 60000, .owd_us = 12000);
	struct mps_subflow *back = mps_test_subflow(conn, .srtt_us = 40000, .owd_us = 32000);
	struct mps_segment *seg = mps_test_unsent(conn, MSS);

	probed_just_now(there);
	probed_just_now(back);
	EXPECT_PICK(test, conn, MPS_NEW, there, seg);
	/* what has no room now is no candidate; what is lost takes room, too */
	there->left_out_pkts = 10;
	EXPECT_PICK(test, conn, MPS_NEW, back, seg);
	there->left_out_pkts = 9;
	EXPECT_PICK(test, conn, MPS_NEW, there, seg);
	/* nor is what waits in this host for the device */
	set_bit(TSQ_THROTTLED, &subflow_core(there)->ssk->sk_tsq_flags);
	EXPECT_PICK(test, conn, MPS_NEW, back, seg);
	clear_bit(TSQ_THROTTLED, &subflow_core(there)->ssk->sk_tsq_flags);
	mps_test_fill(there);
	EXPECT_SENT(test, conn, MPS_NEW, back, seg);
	mps_test_unsent(conn, MSS);
	mps_test_fill(back);
	EXPECT_WAIT(test, conn);
	KUNIT_EXPECT_EQ(test, conn_core(conn)->fallbacks, 0U);
}

static void without_owd_the_smoothed_or_the_latest_round_trip_counts(struct kunit *test)
{
	u32 latest;

	for (latest = 0; latest <= 1; latest++) {
		struct mps_conn *conn = mps_test_conn(test, "thinstream");
		struct mps_subflow *there, *back;

		mps_test_param(conn, "owd", 0);
		mps_test_param(conn, "latest_rtt", latest);
		there = mps_test_subflow(conn, .srtt_us = 30000, .last_rtt_us = 60000,
					 .owd_us = 12000);
		back = mps_test_subflow(conn, .srtt_us = 80000, .last_rtt_us = 40000,
					.owd_us = 32000);
		mps_test_clock(there, 0, 60);
		mps_test_clock(back, 10000, 10040);
		EXPECT_PICK(test, conn, MPS_NEW, latest ? back : there,
			    mps_test_unsent(conn, MSS));
		KUNIT_EXPECT_EQ(test, conn_core(conn)->fallbacks, 0U);
	}
}

static void clocks_that_disagree_are_counted_and_round_trips_compared(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "thinstream");
	struct mps_subflow *there = mps_test_subflow(conn, .srtt_us = 60000, .owd_us = 12000);
	struct mps_subflow *back = mps_test_subflow(conn, .srtt_us = 40000, .owd_us = 32000);
	struct mps_segment *seg = mps_test_unsent(conn, MSS);

	mps_test_clock(there, 0, 60);
	mps_test_clock(back, 10000, 10040);
	EXPECT_PICK(test, conn, MPS_NEW, back, seg);
	KUNIT_EXPECT_EQ(test, conn_core(conn)->fallbacks, 1U);
	/* with one path there is nothing to compare */
	mps_test_fill(there);
	EXPECT_PICK(test, conn, MPS_NEW, back, seg);
	KUNIT_EXPECT_EQ(test, conn_core(conn)->fallbacks, 1U);
}

static void any_clock_will_do_if_it_is_to(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "thinstream");
	struct mps_subflow *there, *back;

	mps_test_param(conn, "any_clock", 1);
	there = mps_test_subflow(conn, .srtt_us = 60000, .owd_us = 12000);
	back = mps_test_subflow(conn, .srtt_us = 40000, .owd_us = 32000);
	mps_test_clock(there, 0, 60);
	mps_test_clock(back, 10000, 10040);
	EXPECT_PICK(test, conn, MPS_NEW, there, mps_test_unsent(conn, MSS));
	KUNIT_EXPECT_EQ(test, conn_core(conn)->fallbacks, 0U);
}

static void a_delay_that_is_not_known_is_the_lowest(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "thinstream");
	struct mps_subflow *near = mps_test_subflow(conn, .srtt_us = 20000, .owd_us = 50000);
	struct mps_subflow *far = mps_test_subflow(conn, .srtt_us = 40000);
	struct mps_segment *seg = mps_test_unsent(conn, MSS);

	EXPECT_PICK(test, conn, MPS_NEW, far, seg);
	far->owd_us = 60000;
	EXPECT_PICK(test, conn, MPS_NEW, near, seg);
	KUNIT_EXPECT_EQ(test, conn_core(conn)->fallbacks, 0U);
}

static void any_lower_delay_is_a_reason_to_move(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "thinstream");
	struct mps_subflow *one = mps_test_subflow(conn, .owd_us = 20000);
	struct mps_subflow *two = mps_test_subflow(conn, .owd_us = 20000);

	probed_just_now(one);
	probed_just_now(two);
	EXPECT_SENT(test, conn, MPS_NEW, one, mps_test_unsent(conn, MSS));
	two->owd_us = 19000;
	EXPECT_SENT(test, conn, MPS_NEW, two, mps_test_unsent(conn, MSS));
	/* and of two that are alike it is the first */
	one->owd_us = 19000;
	EXPECT_SENT(test, conn, MPS_NEW, one, mps_test_unsent(conn, MSS));
}

static void a_millisecond_is_no_reason_to_move_if_it_is_not_to_be(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "thinstream");
	struct mps_subflow *one, *two;

	mps_test_param(conn, "stay_us", 1000);
	one = mps_test_subflow(conn, .owd_us = 20000);
	two = mps_test_subflow(conn, .owd_us = 20000);
	probed_just_now(one);
	probed_just_now(two);
	EXPECT_SENT(test, conn, MPS_NEW, one, mps_test_unsent(conn, MSS));
	two->owd_us = 19000;
	EXPECT_SENT(test, conn, MPS_NEW, one, mps_test_unsent(conn, MSS));
	two->owd_us = 18000;
	EXPECT_SENT(test, conn, MPS_NEW, two, mps_test_unsent(conn, MSS));
	one->owd_us = 17000;
	EXPECT_SENT(test, conn, MPS_NEW, two, mps_test_unsent(conn, MSS));
}

static void any_sample_is_believed_at_once(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "thinstream");
	struct mps_subflow *one = mps_test_subflow(conn, .owd_us = 20000);
	struct mps_subflow *two = mps_test_subflow(conn, .owd_us = 30000);
	struct mps_segment *seg = mps_test_unsent(conn, MSS);

	probed_just_now(one);
	probed_just_now(two);
	EXPECT_PICK(test, conn, MPS_NEW, one, seg);
	/* also of an ACK for a single packet */
	one->owd_us = 40000;
	mps_test_ack(one, 1);
	EXPECT_PICK(test, conn, MPS_NEW, two, seg);
	two->owd_us = 60000;
	mps_test_ack(two, 1);
	EXPECT_PICK(test, conn, MPS_NEW, one, seg);
}

static void the_end_of_a_burst_is_copied_to_what_was_idle(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "thinstream");
	struct mps_subflow *used = mps_test_subflow(conn, .owd_us = 10000);
	struct mps_subflow *idle = mps_test_subflow(conn, .owd_us = 50000, .srtt_us = 100000);
	struct mps_subflow *other = mps_test_subflow(conn, .owd_us = 60000);
	struct mps_segment *first = mps_test_unsent(conn, MSS);
	struct mps_segment *last = mps_test_unsent(conn, 100);
	u64 *due_ns = mps_subflow_priv(idle);

	probed_just_now(other);
	EXPECT_SENT(test, conn, MPS_NEW, used, first);
	EXPECT_SENT(test, conn, MPS_NEW, used, last);
	EXPECT_SENT(test, conn, MPS_DUPLICATE, idle, last);
	EXPECT_WAIT(test, conn);
	/* again after five round trips, with the end of a burst, and not before it */
	KUNIT_EXPECT_EQ(test, *due_ns, mps_clock_ns() + 5 * 100 * NSEC_PER_MSEC);
	to_be_probed(idle);
	EXPECT_WAIT(test, conn);
	last = mps_test_unsent(conn, 100);
	conn->closing = true;
	EXPECT_SENT(test, conn, MPS_NEW, used, last);
	EXPECT_SENT(test, conn, MPS_DUPLICATE, idle, last);
	EXPECT_WAIT(test, conn);
}

static void without_copies_the_end_of_a_burst_is_the_probe(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "thinstream");
	struct mps_subflow *used, *idle, *other;
	struct mps_segment *first, *last;

	mps_test_param(conn, "redundant", 0);
	used = mps_test_subflow(conn, .owd_us = 10000);
	idle = mps_test_subflow(conn, .owd_us = 50000);
	other = mps_test_subflow(conn, .owd_us = 60000);
	first = mps_test_unsent(conn, MSS);
	last = mps_test_unsent(conn, 100);
	EXPECT_SENT(test, conn, MPS_NEW, used, first);
	EXPECT_SENT(test, conn, MPS_NEW, idle, last);
	/* several paths are probed with the same one */
	EXPECT_SENT(test, conn, MPS_DUPLICATE, other, last);
	EXPECT_WAIT(test, conn);
	/* and when none is to be probed, it is data like any other */
	conn->closing = true;
	last = mps_test_unsent(conn, 100);
	EXPECT_SENT(test, conn, MPS_NEW, used, last);
	to_be_probed(idle);
	EXPECT_WAIT(test, conn);
}

static void nothing_is_probed_with_probe_rtts_0(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "thinstream");
	struct mps_subflow *used;

	mps_test_param(conn, "probe_rtts", 0);
	used = mps_test_subflow(conn, .srtt_us = 10000);
	mps_test_subflow(conn, .srtt_us = 20000);
	EXPECT_SENT(test, conn, MPS_NEW, used, mps_test_unsent(conn, MSS));
	EXPECT_WAIT(test, conn);
}

static void backups_are_neither_used_nor_probed_if_spared(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "thinstream");
	struct mps_segment *seg = mps_test_unsent(conn, MSS);
	struct mps_subflow *active, *backup;

	mps_test_param(conn, "spare_backups", 1);
	active = mps_test_subflow(conn, .owd_us = 50000);
	backup = mps_test_subflow(conn, .owd_us = 10000, .backup = true);
	EXPECT_SENT(test, conn, MPS_NEW, active, seg);
	EXPECT_WAIT(test, conn);
	seg = mps_test_unsent(conn, MSS);
	mps_test_fill(active);
	EXPECT_WAIT(test, conn);
	mps_test_close(active);
	mps_test_acked(conn, mps_oldest_unacked(conn));
	EXPECT_PICK(test, conn, MPS_NEW, backup, seg);
}

static void what_a_path_in_trouble_carried_comes_first(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "thinstream");
	struct mps_subflow *near = mps_test_subflow(conn, .srtt_us = 20000, .owd_us = 10000);
	struct mps_subflow *far = mps_test_subflow(conn, .srtt_us = 90000, .owd_us = 50000);
	struct mps_segment *lost = mps_test_in_flight(conn, MSS, near);

	mps_test_unsent(conn, MSS);
	mps_test_rto(near);
	EXPECT_SENT(test, conn, MPS_REINJECTION, far, lost);
	EXPECT_PICK(test, conn, MPS_NEW, far, mps_head(conn));
}

static void what_was_lost_takes_the_lowest_one_way_delay_too(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "thinstream");
	struct mps_subflow *gone = mps_test_subflow(conn);
	struct mps_subflow *there = mps_test_subflow(conn, .srtt_us = 60000, .owd_us = 12000);
	struct mps_subflow *back = mps_test_subflow(conn, .srtt_us = 40000, .owd_us = 32000);
	struct mps_segment *lost = mps_test_in_flight(conn, MSS, gone);

	mps_test_rto(gone);
	EXPECT_PICK(test, conn, MPS_REINJECTION, there, lost);
	mps_test_clock(there, 0, 60);
	mps_test_clock(back, 10000, 10040);
	EXPECT_PICK(test, conn, MPS_REINJECTION, back, lost);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(new_data_takes_the_lowest_one_way_delay),
	KUNIT_CASE(without_owd_the_smoothed_or_the_latest_round_trip_counts),
	KUNIT_CASE(clocks_that_disagree_are_counted_and_round_trips_compared),
	KUNIT_CASE(any_clock_will_do_if_it_is_to),
	KUNIT_CASE(a_delay_that_is_not_known_is_the_lowest),
	KUNIT_CASE(any_lower_delay_is_a_reason_to_move),
	KUNIT_CASE(a_millisecond_is_no_reason_to_move_if_it_is_not_to_be),
	KUNIT_CASE(any_sample_is_believed_at_once),
	KUNIT_CASE(the_end_of_a_burst_is_copied_to_what_was_idle),
	KUNIT_CASE(without_copies_the_end_of_a_burst_is_the_probe),
	KUNIT_CASE(nothing_is_probed_with_probe_rtts_0),
	KUNIT_CASE(backups_are_neither_used_nor_probed_if_spared),
	KUNIT_CASE(what_a_path_in_trouble_carried_comes_first),
	KUNIT_CASE(what_was_lost_takes_the_lowest_one_way_delay_too),
	{}
};

static struct kunit_suite suite = {
	.name		= "mptcp_thinstream",
	.test_cases	= cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tests of the MPTCP scheduler thinstream");
