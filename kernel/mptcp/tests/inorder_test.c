// SPDX-License-Identifier: GPL-2.0-only
/* inorder: which segment leaves on which subflow, by worked numbers. */

#include "vocabulary.h"

/* Two subflows of 10 segments; the near one, of 40 ms and 20 ms one way, is full. */
static struct mps_conn *near_is_full_with(struct kunit *test, const char *param,
					  struct mps_subflow **near, struct mps_subflow **far,
					  u32 far_commd_us)
{
	struct mps_conn *conn = mps_test_conn(test, "inorder");

	if (param)
		mps_test_param(conn, param, 1);
	*near = mps_test_subflow(conn, .srtt_us = 40000, .commd_us = 20000);
	*far = mps_test_subflow(conn, .srtt_us = 200000, .commd_us = far_commd_us);
	mps_test_fill(*near);
	return conn;
}

static struct mps_conn *near_is_full(struct kunit *test, struct mps_subflow **near,
				     struct mps_subflow **far, u32 far_commd_us)
{
	return near_is_full_with(test, NULL, near, far, far_commd_us);
}

/* The segment `pkts` behind the first unsent one. */
static struct mps_segment *behind(const struct mps_conn *conn, u32 pkts)
{
	struct mps_segment *seg = mps_head(conn);

	while (pkts--)
		seg = mps_next_unsent(conn, seg);
	return seg;
}

static void the_first_segment_takes_the_lowest_communication_delay_with_room(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "inorder");
	/* the shorter round trip has the longer way there */
	struct mps_subflow *back = mps_test_subflow(conn, .srtt_us = 30000, .commd_us = 25000);
	struct mps_subflow *there = mps_test_subflow(conn, .srtt_us = 60000, .commd_us = 10000);
	struct mps_segment *seg = mps_test_unsent_pkts(conn, 20);

	EXPECT_PICK(test, conn, MPS_NEW, there, seg);
	/* waiting for it takes 60 ms more */
	mps_test_fill(there);
	EXPECT_PICK(test, conn, MPS_NEW, back, seg);
	KUNIT_EXPECT_EQ(test, conn_core(conn)->fallbacks, 0U);
}

static void the_slow_path_gets_what_is_due_when_it_has_delivered(struct kunit *test)
{
	struct mps_subflow *near, *far;
	/* the near one delivers after 20 + 40 n ms: 60, 100, 140. Before 130 ms these
	 * are two rounds of 10 segments.
	 */
	struct mps_conn *conn = near_is_full(test, &near, &far, 130000);

	mps_test_unsent_pkts(conn, 64);
	EXPECT_SENT(test, conn, MPS_NEW, far, behind(conn, 20));
	/* that one is gone: the next is behind it */
	EXPECT_SENT(test, conn, MPS_NEW, far, behind(conn, 20));
	/* the near one goes on with the first */
	near->in_flight_pkts--;
	EXPECT_SENT(test, conn, MPS_NEW, near, behind(conn, 0));
}

static void equal_delivery_goes_to_what_has_room(struct kunit *test)
{
	struct mps_subflow *near, *far;
	struct mps_conn *conn = near_is_full(test, &near, &far, 60000);

	mps_test_unsent_pkts(conn, 64);
	EXPECT_PICK(test, conn, MPS_NEW, far, behind(conn, 0));
	far->commd_us = 60001;
	EXPECT_PICK(test, conn, MPS_NEW, far, behind(conn, 10));
}

static void what_is_queued_on_the_full_path_counts(struct kunit *test)
{
	struct mps_subflow *near, *far;
	struct mps_conn *conn = near_is_full(test, &near, &far, 130000);

	near->unsent_bytes = 3 * MSS;
	mps_test_unsent_pkts(conn, 64);
	EXPECT_PICK(test, conn, MPS_NEW, far, behind(conn, 17));
	/* two of them, and one a byte long, when the window of now has room for two */
	near->in_flight_pkts = 8;
	near->unsent_bytes = 2 * MSS + 1;
	EXPECT_PICK(test, conn, MPS_NEW, far, behind(conn, 19));
	near->unsent_bytes = 2 * MSS;
	EXPECT_PICK(test, conn, MPS_NEW, far, behind(conn, 20));
	/* the window has shrunk: nothing is owed for what is in flight beyond it */
	near->in_flight_pkts = 14;
	EXPECT_PICK(test, conn, MPS_NEW, far, behind(conn, 18));
}

/* Two rounds: of a window of (7 x 10 + 18) / 8 = 11 if it is smoothed, or of 18. */
static void a_window_that_has_just_changed_counts_little_if_smoothed(struct kunit *test)
{
	static const char * const params[] = { NULL, "smooth_cwnd" };
	int i;

	for (i = 0; i < ARRAY_SIZE(params); i++) {
		struct mps_subflow *near, *far;
		struct mps_conn *conn = near_is_full_with(test, params[i], &near, &far, 130000);

		mps_test_unsent_pkts(conn, 64);
		mps_test_ack(near, 1);
		near->cwnd_pkts = 18;
		mps_test_ack(near, 1);
		mps_test_fill(near);
		EXPECT_PICK(test, conn, MPS_NEW, far, behind(conn, params[i] ? 22 : 36));
	}
}

static void parts_of_rounds_count_if_they_are_to(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "inorder");
	struct mps_subflow *near, *far;

	mps_test_param(conn, "part_rounds", 1);
	near = mps_test_subflow(conn, .srtt_us = 40000, .commd_us = 20000);
	far = mps_test_subflow(conn, .srtt_us = 200000, .commd_us = 130000);
	mps_test_fill(near);
	mps_test_unsent_pkts(conn, 64);
	/* 110 ms are 2.75 windows of 10 */
	EXPECT_PICK(test, conn, MPS_NEW, far, behind(conn, 27));
	far->commd_us = 24000;
	EXPECT_PICK(test, conn, MPS_NEW, far, behind(conn, 1));
}

static void too_little_data_waits_for_the_fast_path(struct kunit *test)
{
	struct mps_subflow *near, *far;
	struct mps_conn *conn = near_is_full(test, &near, &far, 130000);

	mps_test_in_flight(conn, MSS, far);
	mps_test_unsent_pkts(conn, 20);
	EXPECT_WAIT(test, conn);
	mps_test_unsent(conn, MSS);
	EXPECT_PICK(test, conn, MPS_NEW, far, behind(conn, 20));
}

static void it_looks_ahead_so_far(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "inorder");
	struct mps_subflow *near, *far;

	mps_test_param(conn, "look_ahead", 20);
	near = mps_test_subflow(conn, .srtt_us = 40000, .commd_us = 20000);
	far = mps_test_subflow(conn, .srtt_us = 200000, .commd_us = 130000);
	mps_test_fill(near);
	mps_test_unsent_pkts(conn, 64);
	EXPECT_WAIT(test, conn);
	near->unsent_bytes = MSS;
	EXPECT_PICK(test, conn, MPS_NEW, far, behind(conn, 19));
}

static void a_segment_outside_the_receive_window_waits(struct kunit *test)
{
	struct mps_subflow *near, *far;
	struct mps_conn *conn = near_is_full(test, &near, &far, 130000);

	conn->window_bytes = 20 * MSS;
	mps_test_unsent_pkts(conn, 64);
	EXPECT_WAIT(test, conn);
	conn->window_bytes = 21 * MSS;
	EXPECT_PICK(test, conn, MPS_NEW, far, behind(conn, 20));
	/* of a window smaller than a segment the framework sends what it can */
	conn->window_bytes = MSS - 1;
	EXPECT_PICK(test, conn, MPS_NEW, far, behind(conn, 0));
}

static void an_idle_path_is_measured_with_a_copy_if_it_is_to(struct kunit *test)
{
	struct mps_subflow *near, *far;
	struct mps_conn *conn = near_is_full(test, &near, &far, 130000);
	struct mps_segment *oldest;
	u64 *idle_ns;

	near->in_flight_pkts--;
	mps_test_in_flight(conn, MSS, near);
	mps_test_unsent_pkts(conn, 20);
	EXPECT_WAIT(test, conn);

	conn = near_is_full_with(test, "measure_idle", &near, &far, 130000);
	near->in_flight_pkts--;
	oldest = mps_test_in_flight(conn, MSS, near);
	mps_test_unsent_pkts(conn, 20);
	EXPECT_SENT(test, conn, MPS_DUPLICATE, far, oldest);
	/* not while anything is on its way there, and not within 4 x 200 ms */
	EXPECT_WAIT(test, conn);
	mps_test_ack(far, 1);
	idle_ns = mps_subflow_priv(far);
	KUNIT_EXPECT_EQ(test, *idle_ns, mps_clock_ns() + 800 * NSEC_PER_MSEC);
	oldest->carried = BIT(subflow_core(near)->slot);
	EXPECT_WAIT(test, conn);
	*idle_ns = mps_clock_ns();
	EXPECT_PICK(test, conn, MPS_DUPLICATE, far, oldest);
}

static void a_path_that_cannot_come_back_is_not_waited_for(struct kunit *test)
{
	struct mps_subflow *near, *far;
	struct mps_conn *conn = near_is_full(test, &near, &far, 130000);

	mps_test_unsent_pkts(conn, 64);
	near->ca_state = TCP_CA_Loss;
	EXPECT_PICK(test, conn, MPS_NEW, far, behind(conn, 0));
	near->ca_state = TCP_CA_Recovery;
	EXPECT_PICK(test, conn, MPS_NEW, far, behind(conn, 20));
	/* a limit of one segment, and nothing in flight */
	near->cwnd_pkts = 0;
	near->in_flight_pkts = 0;
	EXPECT_PICK(test, conn, MPS_NEW, far, behind(conn, 0));
}

static void half_the_round_trip_stands_for_delays_that_cannot_be_compared(struct kunit *test)
{
	struct mps_subflow *near, *far;
	/* by its delay the far path would be the better one */
	struct mps_conn *conn = near_is_full(test, &near, &far, 10000);

	mps_test_unsent_pkts(conn, 64);
	mps_test_clock(near, 0, 40);
	mps_test_clock(far, 100000, 100200);
	/* 20 + 40 n against 100 ms: 60 is before it, and 100 is not */
	EXPECT_PICK(test, conn, MPS_NEW, far, behind(conn, 10));
	KUNIT_EXPECT_EQ(test, conn_core(conn)->fallbacks, 1U);
}

static void any_clock_will_do_if_it_is_to(struct kunit *test)
{
	struct mps_subflow *near, *far;
	struct mps_conn *conn = near_is_full_with(test, "any_clock", &near, &far, 10000);

	mps_test_unsent_pkts(conn, 64);
	mps_test_clock(near, 0, 40);
	mps_test_clock(far, 100000, 100200);
	EXPECT_PICK(test, conn, MPS_NEW, far, behind(conn, 0));
	KUNIT_EXPECT_EQ(test, conn_core(conn)->fallbacks, 0U);
}

static void so_it_does_until_each_path_has_a_sample(struct kunit *test)
{
	struct mps_subflow *near, *far;
	struct mps_conn *conn = near_is_full(test, &near, &far, 0);

	mps_test_unsent_pkts(conn, 64);
	EXPECT_PICK(test, conn, MPS_NEW, far, behind(conn, 10));
	far->commd_us = 130000;
	EXPECT_PICK(test, conn, MPS_NEW, far, behind(conn, 20));
	KUNIT_EXPECT_EQ(test, conn_core(conn)->fallbacks, 0U);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(the_first_segment_takes_the_lowest_communication_delay_with_room),
	KUNIT_CASE(the_slow_path_gets_what_is_due_when_it_has_delivered),
	KUNIT_CASE(equal_delivery_goes_to_what_has_room),
	KUNIT_CASE(what_is_queued_on_the_full_path_counts),
	KUNIT_CASE(a_window_that_has_just_changed_counts_little_if_smoothed),
	KUNIT_CASE(parts_of_rounds_count_if_they_are_to),
	KUNIT_CASE(too_little_data_waits_for_the_fast_path),
	KUNIT_CASE(it_looks_ahead_so_far),
	KUNIT_CASE(a_segment_outside_the_receive_window_waits),
	KUNIT_CASE(an_idle_path_is_measured_with_a_copy_if_it_is_to),
	KUNIT_CASE(a_path_that_cannot_come_back_is_not_waited_for),
	KUNIT_CASE(half_the_round_trip_stands_for_delays_that_cannot_be_compared),
	KUNIT_CASE(any_clock_will_do_if_it_is_to),
	KUNIT_CASE(so_it_does_until_each_path_has_a_sample),
	{}
};

static struct kunit_suite suite = {
	.name		= "mptcp_inorder",
	.test_cases	= cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tests of the MPTCP scheduler inorder");
