// SPDX-License-Identifier: GPL-2.0-only
/* Recovery: how often a path is probed, and when data is late. */

#include <linux/delay.h>

#include "vocabulary.h"

#define MS		USEC_PER_MSEC
#define SECOND		USEC_PER_SEC

static void a_path_is_tried_at_most_each_200_ms(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, mptcp_probe_interval_us(0, U32_MAX, 0), 200 * MS);
	KUNIT_EXPECT_EQ(test, mptcp_probe_interval_us(16 * MS, 16 * MS, 0), 200 * MS);
	KUNIT_EXPECT_EQ(test, mptcp_probe_interval_us(100 * MS, 100 * MS, 0), 200 * MS);
}

static void a_path_is_tried_each_two_rtts(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, mptcp_probe_interval_us(150 * MS, 150 * MS, 0), 300 * MS);
	KUNIT_EXPECT_EQ(test, mptcp_probe_interval_us(600 * MS, 600 * MS, 0), 1200 * MS);
}

static void a_queue_that_was_there_before_does_not_count(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, mptcp_probe_interval_us(2000 * MS, 20 * MS, 0), 500 * MS);
	KUNIT_EXPECT_EQ(test, mptcp_probe_interval_us(2000 * MS, 300 * MS, 0), 600 * MS);
	KUNIT_EXPECT_EQ(test, mptcp_probe_interval_us(2000 * MS, U32_MAX, 0), 500 * MS);
}

/* a twenty-fifth of the outage so far, between 200 and 500 ms */
static void a_path_that_was_away_for_long_is_tried_less_often(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, mptcp_probe_interval_us(16 * MS, 16 * MS, 5 * SECOND), 200 * MS);
	KUNIT_EXPECT_EQ(test, mptcp_probe_interval_us(16 * MS, 16 * MS, 10 * SECOND), 400 * MS);
	KUNIT_EXPECT_EQ(test, mptcp_probe_interval_us(16 * MS, 16 * MS, 1000 * SECOND), 500 * MS);
	/* of a long RTT, it makes no difference */
	KUNIT_EXPECT_EQ(test, mptcp_probe_interval_us(600 * MS, 600 * MS, 1000 * SECOND),
			1200 * MS);
}

/* the promise: used again within 1 s, or 5 RTTs if that is more, of which the probe and
 * its answer are a part; whatever the queue has made of SRTT, however long the outage was
 */
static void an_interval_and_an_rtt_are_less_than_a_second_or_five_rtts(struct kunit *test)
{
	u64 rtt, srtt, spent;

	for (rtt = 1 * MS; rtt <= 10 * SECOND; rtt += rtt / 16 + 1)
		for (srtt = rtt; srtt <= 100 * SECOND; srtt += srtt / 8 + 1) {
			spent = mptcp_probe_interval_us(srtt, rtt, U64_MAX) + rtt;
			KUNIT_ASSERT_LT(test, spent, max_t(u64, SECOND, 5 * rtt));
		}
}

static void the_greatest_numbers_do_not_overflow(struct kunit *test)
{
	/* of TCP: SRTT has 29 bits, min RTT 32 */
	KUNIT_EXPECT_EQ(test, mptcp_probe_interval_us(U32_MAX >> 3, U32_MAX - 1, 0),
			2 * (U32_MAX >> 3));
	KUNIT_EXPECT_EQ(test, mps_late_us(U32_MAX, U32_MAX, 2), 5ULL * U32_MAX);
}

static void data_is_late_after_its_rtt_and_a_margin(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, mps_late_us(16 * MS, 1 * MS, 2), 116 * MS);
	KUNIT_EXPECT_EQ(test, mps_late_us(100 * MS, 50 * MS, 2), 300 * MS);
	/* its ACK may be delayed */
	KUNIT_EXPECT_EQ(test, mps_late_us(16 * MS, 1 * MS, 1), 216 * MS);
}

/* One subflow that waits since then, of an RTT of 16 ms, and another one. */
static struct mps_subflow *waiting(struct kunit *test, struct mps_conn **conn, u64 since_ms)
{
	struct mps_subflow *subflow;

	/* the clock may have begun less long ago; in virtual time, it takes none */
	msleep(since_ms + 1);
	*conn = mps_test_conn(test, "minrtt");
	conn_core(*conn)->msk->recovers = true;
	subflow = mps_test_subflow(*conn, .srtt_us = 16 * MS);
	subflow_core(subflow)->packets_out = 2;
	subflow_core(subflow)->waits_since_ns = mps_clock_ns() - since_ms * NSEC_PER_MSEC;
	return subflow;
}

static void what_is_late_is_silent(struct kunit *test)
{
	struct mps_conn *conn;
	struct mps_subflow *late = waiting(test, &conn, 117);

	mps_test_subflow(conn, .srtt_us = 50 * MS);
	mps_find_late(conn);
	KUNIT_EXPECT_TRUE(test, subflow_core(late)->silent);
}

static void what_is_not_late_yet_is_looked_at_when_it_is(struct kunit *test)
{
	struct mps_conn *conn;
	struct mps_subflow *good = waiting(test, &conn, 50);
	const struct hrtimer *timer = &conn_core(conn)->late_timer;

	mps_test_subflow(conn, .srtt_us = 50 * MS);
	mps_find_late(conn);
	KUNIT_EXPECT_FALSE(test, subflow_core(good)->silent);
	KUNIT_EXPECT_TRUE(test, hrtimer_active(timer));
	KUNIT_EXPECT_EQ(test, ktime_to_ns(hrtimer_get_expires(timer)),
			subflow_core(good)->waits_since_ns + 116 * NSEC_PER_MSEC);
}

static void nothing_is_late_if_there_is_nowhere_to_go(struct kunit *test)
{
	struct mps_conn *conn;
	struct mps_subflow *alone = waiting(test, &conn, 1000);

	mps_find_late(conn);
	KUNIT_EXPECT_FALSE(test, subflow_core(alone)->silent);
	/* a backup is for when TCP has had a timeout */
	mps_test_subflow(conn, .srtt_us = 50 * MS, .backup = true);
	mps_find_late(conn);
	KUNIT_EXPECT_FALSE(test, subflow_core(alone)->silent);
}

static void nothing_is_late_where_nobody_asked_for_recovery(struct kunit *test)
{
	struct mps_conn *conn;
	struct mps_subflow *late = waiting(test, &conn, 1000);

	conn_core(conn)->msk->recovers = false;
	mps_test_subflow(conn, .srtt_us = 50 * MS);
	mps_find_late(conn);
	KUNIT_EXPECT_FALSE(test, subflow_core(late)->silent);
}

/* net.mptcp.recovery: 0 off, 1 on, 2 as the scheduler asks */
static void the_user_has_the_last_word(struct kunit *test)
{
	static const bool on[][2] = { { false, false }, { true, true }, { false, true } };
	int value, asks;

	for (value = 0; value <= 2; value++)
		for (asks = 0; asks <= 1; asks++)
			KUNIT_EXPECT_EQ_MSG(test, mps_recovery_is_on(value, asks), on[value][asks],
					    "value %d, asks %d", value, asks);
}

static void earliest_alone_asks_for_recovery(struct kunit *test)
{
	const struct mps_ops *ops;
	u32 n;

	mps_test_for_each_scheduler(ops, n)
		KUNIT_EXPECT_EQ_MSG(test, ops->recovers, !strcmp(ops->name, "earliest"), "%s",
				    ops->name);
	KUNIT_EXPECT_GT(test, n, 0U);
}

static struct kunit_case recovery_cases[] = {
	KUNIT_CASE(a_path_is_tried_at_most_each_200_ms),
	KUNIT_CASE(a_path_is_tried_each_two_rtts),
	KUNIT_CASE(a_queue_that_was_there_before_does_not_count),
	KUNIT_CASE(a_path_that_was_away_for_long_is_tried_less_often),
	KUNIT_CASE(an_interval_and_an_rtt_are_less_than_a_second_or_five_rtts),
	KUNIT_CASE(the_greatest_numbers_do_not_overflow),
	KUNIT_CASE(data_is_late_after_its_rtt_and_a_margin),
	KUNIT_CASE(what_is_late_is_silent),
	KUNIT_CASE(what_is_not_late_yet_is_looked_at_when_it_is),
	KUNIT_CASE(nothing_is_late_if_there_is_nowhere_to_go),
	KUNIT_CASE(nothing_is_late_where_nobody_asked_for_recovery),
	KUNIT_CASE(the_user_has_the_last_word),
	KUNIT_CASE(earliest_alone_asks_for_recovery),
	{}
};

static struct kunit_suite recovery_suite = {
	.name		= "mptcp-recovery",
	.test_cases	= recovery_cases,
};

kunit_test_suite(recovery_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of the recovery of MPTCP subflows");
