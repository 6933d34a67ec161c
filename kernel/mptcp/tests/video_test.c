// SPDX-License-Identifier: GPL-2.0-only
/* video: what can be there in time is sent, in order; what cannot is dropped,
 * or something less important for it.
 *
 * A subflow with an RTT of 20 ms, of which 20 ms is the least, has what it sends
 * at the receiver after 10 ms. With a window of 10 segments of which all are
 * in flight, and no slow start, it brings 10 in 20 ms, or one in 2 ms: n
 * segments in 10 + 2 x n ms.
 */

#include "vocabulary.h"

/* The clock goes on while a test runs: a deadline is this much later than what
 * the figures say.
 */
#define SLACK_NS	(NSEC_PER_MSEC / 2)

static u64 in_ms(u64 ms)
{
	return mps_clock_ns() + ms * NSEC_PER_MSEC + SLACK_NS;
}

static struct mps_conn *connection(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "video");

	mps_test_param(conn, "margin_percent", 0);
	return conn;
}

static struct mps_conn *one_path(struct kunit *test, struct mps_subflow **subflow)
{
	struct mps_conn *conn = connection(test);

	*subflow = mps_test_subflow(conn, .srtt_us = 20000, .cwnd_pkts = 10, .ssthresh_pkts = 10,
				    .in_flight_pkts = 9);
	/* nothing to judge by otherwise */
	mps_test_in_flight(conn, MSS, *subflow);
	return conn;
}

/* The next answer is to drop this unit, and it is done. */
static void expect_drop(struct kunit *test, struct mps_conn *conn, struct mps_unit *unit)
{
	struct mps_segment *seg;
	struct mps_pick pick = {};

	KUNIT_ASSERT_TRUE(test, conn_core(conn)->ops->next_segment(conn, &pick));
	KUNIT_ASSERT_EQ(test, pick.kind, MPS_DROP);
	KUNIT_ASSERT_PTR_EQ(test, mps_check_pick(conn, &pick, &seg), NULL);
	KUNIT_ASSERT_EQ(test, pick.seq, unit->seq);
	mps_test_drop(conn, unit);
}

static void video_sends_what_is_in_time(struct kunit *test)
{
	struct mps_subflow *subflow;
	struct mps_conn *conn = one_path(test, &subflow);

	/* 10 + 2 x 5 = 20 ms */
	mps_test_unit(conn, 5, .id = 1, .deadline_ns = in_ms(20));
	EXPECT_WAIT(test, conn);
	mps_test_ack(subflow, 1);
	EXPECT_SENT(test, conn, MPS_NEW, subflow, mps_head(conn));
}

static void video_drops_what_is_not(struct kunit *test)
{
	struct mps_subflow *subflow;
	struct mps_conn *conn = one_path(test, &subflow);

	expect_drop(test, conn, mps_test_unit(conn, 5, .id = 1, .deadline_ns = in_ms(18)));
	EXPECT_WAIT(test, conn);
	KUNIT_EXPECT_EQ(test, conn_core(conn)->units_dropped, 1U);
	KUNIT_EXPECT_EQ(test, conn->unsent_bytes, 0U);
}

static void video_keeps_a_margin_of_a_round_trip(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "video");
	struct mps_subflow *subflow;

	subflow = mps_test_subflow(conn, .srtt_us = 20000, .cwnd_pkts = 10, .ssthresh_pkts = 10,
				   .in_flight_pkts = 9);
	mps_test_in_flight(conn, MSS, subflow);
	/* 20 ms, and 20 more, should something be lost */
	mps_test_unit(conn, 5, .id = 1, .deadline_ns = in_ms(40));
	EXPECT_WAIT(test, conn);
	expect_drop(test, conn, mps_test_unit(conn, 1, .id = 2, .deadline_ns = in_ms(40)));
}

static void video_allows_for_slow_start(struct kunit *test)
{
	struct mps_conn *conn = connection(test);
	struct mps_subflow *subflow;

	/* in 20 ms 10, in 20 more 20, and then 30 in 20 */
	subflow = mps_test_subflow(conn, .srtt_us = 20000, .cwnd_pkts = 10, .ssthresh_pkts = 30,
				   .in_flight_pkts = 9);
	mps_test_in_flight(conn, MSS, subflow);
	mps_test_unit(conn, 60, .id = 1, .deadline_ns = in_ms(70));
	EXPECT_WAIT(test, conn);
	expect_drop(test, conn, mps_test_unit(conn, 1, .id = 2, .deadline_ns = in_ms(70)));
}

static void video_tries_what_it_cannot_know(struct kunit *test)
{
	struct mps_conn *conn = connection(test);
	struct mps_subflow *subflow;

	/* Nothing is in flight: whatever is said of the path, the first one goes. */
	subflow = mps_test_subflow(conn, .srtt_us = 200000, .cwnd_pkts = 1, .ssthresh_pkts = 1);
	mps_test_unit(conn, 5, .id = 1, .deadline_ns = in_ms(18));
	expect_drop(test, conn, mps_test_unit(conn, 5, .id = 2, .deadline_ns = in_ms(18)));
	EXPECT_SENT(test, conn, MPS_NEW, subflow, mps_head(conn));
}

static void video_does_not_try_what_is_of_no_use_already(struct kunit *test)
{
	struct mps_conn *conn = connection(test);

	mps_test_subflow(conn, .srtt_us = 20000);
	expect_drop(test, conn, mps_test_unit(conn, 5, .id = 1, .deadline_ns = 1));
}

static void video_counts_what_is_not_yet_written(struct kunit *test)
{
	struct mps_subflow *subflow;
	struct mps_conn *conn = one_path(test, &subflow);

	expect_drop(test, conn, mps_test_unit(conn, 1, .id = 1, .bytes = 5 * MSS,
					      .deadline_ns = in_ms(18)));
}

static void video_counts_what_is_before_it(struct kunit *test)
{
	struct mps_subflow *subflow;
	struct mps_conn *conn = one_path(test, &subflow);
	struct mps_unit *late;

	mps_test_unsent_pkts(conn, 3);		/* of no unit */
	mps_test_unit(conn, 2, .id = 1);	/* without a deadline */
	late = mps_test_unit(conn, 1, .id = 2, .deadline_ns = in_ms(20));
	expect_drop(test, conn, late);
	KUNIT_EXPECT_EQ(test, mps_announce_unit(conn, &(struct mptcp_unit) {
		.id = 3, .bytes = MSS, .deadline_ns = in_ms(22) }), 0);
	EXPECT_WAIT(test, conn);
}

static void video_adds_up_all_paths(struct kunit *test)
{
	struct mps_subflow *near, *far;
	struct mps_conn *conn = one_path(test, &near);

	/* 10 in 40 ms, after 20 ms: until 40 ms it brings 5, and the near one 15 */
	far = mps_test_subflow(conn, .srtt_us = 40000, .cwnd_pkts = 10, .ssthresh_pkts = 10,
			       .in_flight_pkts = 10);
	mps_test_unit(conn, 20, .id = 1, .deadline_ns = in_ms(40));
	EXPECT_WAIT(test, conn);
	expect_drop(test, conn, mps_test_unit(conn, 1, .id = 2, .deadline_ns = in_ms(40)));
	/* a backup, or one that is not usable, counts for nothing */
	mps_test_backup(far, true);
	expect_drop(test, conn, mps_first_unit(conn));
}

static void video_knows_that_queues_are_on_the_way_there(struct kunit *test)
{
	struct mps_subflow *subflow;
	struct mps_conn *conn = one_path(test, &subflow);

	/* 100 ms, of which 20 without queues: 90 ms to the receiver, and 1 in 10 ms */
	subflow->srtt_us = 100000;
	mps_test_unit(conn, 1, .id = 1, .deadline_ns = in_ms(100));
	EXPECT_WAIT(test, conn);
	expect_drop(test, conn, mps_test_unit(conn, 1, .id = 2, .deadline_ns = in_ms(108)));
}

static void video_drops_less_important_units_for_others(struct kunit *test)
{
	struct mps_subflow *subflow;
	struct mps_conn *conn = one_path(test, &subflow);
	struct mps_unit *small, *large;

	/* 7 segments take 24 ms: one has to go for 22 ms, and that is the largest */
	small = mps_test_unit(conn, 1, .id = 1, .importance = 1, .deadline_ns = in_ms(20));
	mps_test_unit(conn, 1, .id = 2, .importance = 2, .deadline_ns = in_ms(20));
	large = mps_test_unit(conn, 2, .id = 3, .importance = 1, .deadline_ns = in_ms(20));
	mps_test_unit(conn, 3, .id = 4, .importance = 3, .deadline_ns = in_ms(22));
	expect_drop(test, conn, large);
	EXPECT_WAIT(test, conn);
	KUNIT_EXPECT_PTR_EQ(test, mps_first_unit(conn), small);
}

static void video_drops_none_in_vain(struct kunit *test)
{
	struct mps_subflow *subflow;
	struct mps_conn *conn = one_path(test, &subflow);
	struct mps_unit *late;

	/* 6 segments take 22 ms; without the one that is less important, 20 */
	mps_test_unit(conn, 1, .id = 1, .importance = 1, .deadline_ns = in_ms(20));
	late = mps_test_unit(conn, 5, .id = 2, .importance = 2, .deadline_ns = in_ms(18));
	expect_drop(test, conn, late);
	EXPECT_WAIT(test, conn);
}

static void video_without_importance_drops_the_late_one(struct kunit *test)
{
	struct mps_conn *conn = connection(test);
	struct mps_unit *late;

	mps_test_param(conn, "importance", 0);
	mps_test_subflow(conn, .srtt_us = 20000, .cwnd_pkts = 10, .ssthresh_pkts = 10,
			 .in_flight_pkts = 10);
	mps_test_unit(conn, 3, .id = 1, .importance = 1, .deadline_ns = in_ms(20));
	late = mps_test_unit(conn, 3, .id = 2, .importance = 2, .deadline_ns = in_ms(20));
	expect_drop(test, conn, late);
}

static void video_keeps_what_is_late_but_needed(struct kunit *test)
{
	struct mps_subflow *subflow;
	struct mps_conn *conn = one_path(test, &subflow);

	mps_test_unit(conn, 5, .id = 1, .deadline_ns = in_ms(18), .expires_ns = in_ms(60));
	EXPECT_WAIT(test, conn);
	KUNIT_EXPECT_EQ(test, conn_core(conn)->units_waiting, 1U);
}

static void video_drops_what_depends_on_a_dropped_one(struct kunit *test)
{
	struct mps_subflow *subflow;
	struct mps_conn *conn = one_path(test, &subflow);
	struct mps_unit *needed, *by_it, *by_that, *other;

	needed = mps_test_unit(conn, 5, .id = 1, .deadline_ns = in_ms(18));
	by_it = mps_test_unit(conn, 1, .id = 2, .depends_on = 1, .deadline_ns = in_ms(100));
	other = mps_test_unit(conn, 1, .id = 3, .deadline_ns = in_ms(100));
	by_that = mps_test_unit(conn, 1, .id = 4, .depends_on = 2, .deadline_ns = in_ms(100));
	expect_drop(test, conn, needed);
	expect_drop(test, conn, by_it);
	expect_drop(test, conn, by_that);
	EXPECT_WAIT(test, conn);
	/* and what comes later */
	expect_drop(test, conn, mps_test_unit(conn, 1, .id = 5, .depends_on = 4));
	EXPECT_WAIT(test, conn);
	KUNIT_EXPECT_PTR_EQ(test, mps_first_unit(conn), other);
}

static void video_sends_the_rest_of_a_unit_that_has_begun(struct kunit *test)
{
	struct mps_subflow *subflow;
	struct mps_conn *conn = one_path(test, &subflow);

	mps_test_unit(conn, 5, .id = 1, .deadline_ns = in_ms(20));
	mps_test_ack(subflow, 1);
	EXPECT_SENT(test, conn, MPS_NEW, subflow, mps_head(conn));
	/* the path has become slower: 40 ms to the receiver alone */
	subflow->srtt_us = 50000;
	mps_test_ack(subflow, 1);
	EXPECT_SENT(test, conn, MPS_NEW, subflow, mps_head(conn));
}

static void video_looks_when_a_unit_is_about_to_begin(struct kunit *test)
{
	struct mps_subflow *subflow;
	struct mps_conn *conn = one_path(test, &subflow);
	struct mps_unit *late;

	mps_test_unit(conn, 2, .id = 1, .deadline_ns = in_ms(20));
	mps_test_ack(subflow, 1);
	EXPECT_SENT(test, conn, MPS_NEW, subflow, mps_head(conn));
	late = mps_test_unit(conn, 5, .id = 2, .deadline_ns = in_ms(15));
	/* the first one is on its way: there is time to decide */
	EXPECT_WAIT(test, conn);
	mps_test_ack(subflow, 1);
	EXPECT_SENT(test, conn, MPS_NEW, subflow, mps_head(conn));
	expect_drop(test, conn, late);
}

/* 20 segments at 10 in 20 ms, from 30 ms on, are there after 70 ms; at 9 after 74.4, at 8
 * after 80.
 */
static void video_notices_that_a_path_brings_less(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "video");
	struct mps_subflow *subflow = mps_test_subflow(conn, .srtt_us = 20000, .ssthresh_pkts = 1,
						       .in_flight_pkts = 9);
	struct mps_unit *unit;

	mps_test_in_flight(conn, MSS, subflow);
	unit = mps_test_unit(conn, 20, .id = 1, .deadline_ns = in_ms(75));
	EXPECT_WAIT(test, conn);
	mps_test_ack(subflow, 0);
	EXPECT_WAIT(test, conn);
	subflow->cwnd_pkts = 9;
	mps_test_ack(subflow, 0);
	EXPECT_WAIT(test, conn);
	subflow->cwnd_pkts = 8;
	mps_test_ack(subflow, 0);
	expect_drop(test, conn, unit);
}

static void video_drops_nothing_if_it_is_told_so(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "video");

	mps_test_param(conn, "drop", 0);
	mps_test_subflow(conn, .srtt_us = 20000, .cwnd_pkts = 10, .in_flight_pkts = 10);
	mps_test_unit(conn, 5, .id = 1, .deadline_ns = 1);
	EXPECT_WAIT(test, conn);
}

static void video_drops_nothing_before_it_knows_a_path(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "video");

	mps_test_subflow(conn, .srtt_us = 0, .cwnd_pkts = 10, .in_flight_pkts = 10);
	mps_test_unit(conn, 5, .id = 1, .deadline_ns = 1);
	EXPECT_WAIT(test, conn);
}

static void video_waits_for_a_faster_path_only_to_be_in_time(struct kunit *test)
{
	struct mps_subflow *fast, *slow;
	struct mps_conn *conn = one_path(test, &fast);

	slow = mps_test_subflow(conn, .srtt_us = 200000, .cwnd_pkts = 10, .ssthresh_pkts = 10);
	/* an ACK of the fast one in 2 ms, and 10 ms from there; the slow one takes 100 ms */
	mps_test_unit(conn, 1, .id = 1, .deadline_ns = in_ms(50));
	EXPECT_WAIT(test, conn);
	mps_test_drop(conn, mps_first_unit(conn));
	mps_test_unit(conn, 1, .id = 2, .deadline_ns = in_ms(101));
	EXPECT_SENT(test, conn, MPS_NEW, slow, mps_head(conn));
}

static void video_survives_the_greatest_numbers(struct kunit *test)
{
	struct mps_conn *conn = connection(test);
	int i;

	for (i = 0; i < 8; i++)
		mps_test_subflow(conn, .srtt_us = 1, .cwnd_pkts = U32_MAX,
				 .ssthresh_pkts = U32_MAX, .in_flight_pkts = i & 1 ? U32_MAX : 0,
				 .mss_bytes = 65535);
	mps_test_unit(conn, 1, .id = 1, .bytes = SZ_1G, .deadline_ns = U64_MAX - 1);
	EXPECT_SENT(test, conn, MPS_NEW, mps_lowest_rtt(conn, NULL), mps_head(conn));
}

static void units_that_make_no_sense_are_refused(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "video");
	static const struct mptcp_unit wrong[] = {
		{ .id = 0, .bytes = 1 },
		{ .id = 1, .bytes = 0 },
		{ .id = 1, .bytes = SZ_1G + 1 },
		{ .id = 1, .bytes = 1, .depends_on = 1 },
		{ .id = 1, .bytes = 1, .deadline_ns = 2, .expires_ns = 1 },
	};
	struct mptcp_unit unit = { .id = 1, .bytes = MSS };
	int i;

	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		KUNIT_EXPECT_EQ(test, mps_announce_unit(conn, &wrong[i]), -EINVAL);
	KUNIT_EXPECT_EQ(test, mps_announce_unit(conn, &unit), 0);
	unit.id = 2;
	KUNIT_EXPECT_EQ(test, mps_announce_unit(conn, &unit), -EBUSY);
	mps_test_unsent(conn, MSS);
	unit.id = 1;
	KUNIT_EXPECT_EQ(test, mps_announce_unit(conn, &unit), -EEXIST);
	for (unit.id = 2; unit.id <= MPS_UNITS_MAX; unit.id++) {
		KUNIT_ASSERT_EQ(test, mps_announce_unit(conn, &unit), 0);
		mps_test_unsent(conn, MSS);
	}
	KUNIT_EXPECT_EQ(test, mps_announce_unit(conn, &unit), -ENOBUFS);
}

static void units_raise_what_they_depend_on(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "video");
	struct mps_unit *first = mps_test_unit(conn, 1, .id = 1, .importance = 1);
	struct mps_unit *second = mps_test_unit(conn, 1, .id = 2, .importance = 9,
						.depends_on = 1);

	mps_test_unit(conn, 1, .id = 3, .importance = 5, .depends_on = 2);
	KUNIT_EXPECT_EQ(test, first->importance, 9U);
	KUNIT_EXPECT_EQ(test, second->importance, 9U);
}

static void units_are_forgotten_in_the_end(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "video");
	struct mps_subflow *subflow = mps_test_subflow(conn, .cwnd_pkts = 1000);
	u32 id;

	for (id = 1; id <= 2 * MPS_UNITS_MAX; id++) {
		mps_test_unit(conn, 1, .id = id);
		mps_test_sent(conn, mps_head(conn), subflow);
	}
	KUNIT_EXPECT_NULL(test, mps_first_unit(conn));
	KUNIT_EXPECT_EQ(test, conn_core(conn)->units_past, (u32)MPS_UNITS_MAX);
}

static struct kunit_case video_cases[] = {
	KUNIT_CASE(video_sends_what_is_in_time),
	KUNIT_CASE(video_drops_what_is_not),
	KUNIT_CASE(video_keeps_a_margin_of_a_round_trip),
	KUNIT_CASE(video_allows_for_slow_start),
	KUNIT_CASE(video_tries_what_it_cannot_know),
	KUNIT_CASE(video_does_not_try_what_is_of_no_use_already),
	KUNIT_CASE(video_counts_what_is_not_yet_written),
	KUNIT_CASE(video_counts_what_is_before_it),
	KUNIT_CASE(video_adds_up_all_paths),
	KUNIT_CASE(video_knows_that_queues_are_on_the_way_there),
	KUNIT_CASE(video_drops_less_important_units_for_others),
	KUNIT_CASE(video_drops_none_in_vain),
	KUNIT_CASE(video_without_importance_drops_the_late_one),
	KUNIT_CASE(video_keeps_what_is_late_but_needed),
	KUNIT_CASE(video_drops_what_depends_on_a_dropped_one),
	KUNIT_CASE(video_sends_the_rest_of_a_unit_that_has_begun),
	KUNIT_CASE(video_looks_when_a_unit_is_about_to_begin),
	KUNIT_CASE(video_notices_that_a_path_brings_less),
	KUNIT_CASE(video_drops_nothing_if_it_is_told_so),
	KUNIT_CASE(video_drops_nothing_before_it_knows_a_path),
	KUNIT_CASE(video_waits_for_a_faster_path_only_to_be_in_time),
	KUNIT_CASE(video_survives_the_greatest_numbers),
	KUNIT_CASE(units_that_make_no_sense_are_refused),
	KUNIT_CASE(units_raise_what_they_depend_on),
	KUNIT_CASE(units_are_forgotten_in_the_end),
	{}
};

static struct kunit_suite video_suite = {
	.name		= "video",
	.test_cases	= video_cases,
};

kunit_test_suite(video_suite);

MODULE_DESCRIPTION("KUnit tests of the MPTCP scheduler video, and of units");
MODULE_LICENSE("GPL");
