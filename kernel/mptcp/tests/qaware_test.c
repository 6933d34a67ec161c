// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of the scheduler `qaware` on constructed states.
 *
 * Unless something else is said, RTTs of 20 and 40 ms, so 10 and 20 ms one way,
 * and a device of 20 Mbit/s, 2500 bytes per ms, for the first subflow.
 */

#include <linux/delay.h>
#include "vocabulary.h"

#define BYTES_PER_MS	2500

struct queued_paths {
	struct mps_conn		*conn;
	struct mps_subflow	*near;
	struct mps_subflow	*far;
	struct mps_segment	*seg;
	struct net_device	*device;	/* of the near one */
};

static struct queued_paths two_paths(struct kunit *test)
{
	struct queued_paths p = { .conn = mps_test_conn(test, "qaware") };

	p.near = mps_test_subflow(p.conn, .srtt_us = 20000);
	p.far = mps_test_subflow(p.conn, .srtt_us = 40000);
	p.seg = mps_test_unsent(p.conn, MSS);
	p.device = mps_test_device(p.near, 1, true);
	return p;
}

/* Sleeps exactly so long, in virtual time: msleep() would go by jiffies. */
static void pass_ms(unsigned int ms)
{
	usleep_range_state(ms * 1000, ms * 1000, TASK_UNINTERRUPTIBLE);
}

/* The device sends for some ms at its rate, and is busy all the time. */
static void drain(struct queued_paths *p, unsigned int ms)
{
	mps_test_device_queue(p->device, 0, 100 * BYTES_PER_MS, 0);
	mps_test_decide(p->conn);
	pass_ms(ms);
	mps_test_device_queue(p->device, 0, 100 * BYTES_PER_MS, ms * BYTES_PER_MS);
	mps_test_decide(p->conn);
}

static void qaware_takes_the_lowest_rtt_where_nothing_is_queued(struct kunit *test)
{
	struct queued_paths p = two_paths(test);

	EXPECT_PICK(test, p.conn, MPS_NEW, p.near, p.seg);
	drain(&p, 10);
	mps_test_device_queue(p.device, 0, 0, 0);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.near, p.seg);
}

static void qaware_takes_the_next_one_where_the_first_is_full(struct kunit *test)
{
	struct queued_paths p = two_paths(test);

	mps_test_fill(p.near);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.far, p.seg);
	mps_test_fill(p.far);
	EXPECT_WAIT(test, p.conn);
}

/* 10 ms + (queue + 1448) / 2500 against 20 ms: equal with 23,552 bytes. */
static void qaware_leaves_a_device_whose_queue_is_longer_than_the_detour(struct kunit *test)
{
	struct queued_paths p = two_paths(test);

	drain(&p, 10);
	mps_test_device_queue(p.device, 0, 23300, 0);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.near, p.seg);
	mps_test_device_queue(p.device, 0, 23800, 0);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.far, p.seg);
}

static void qaware_comes_back_when_the_queue_is_gone(struct kunit *test)
{
	struct queued_paths p = two_paths(test);

	drain(&p, 10);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.far, p.seg);
	mps_test_device_queue(p.device, 0, 0, 100 * BYTES_PER_MS);
	/* and not when an ACK has told of it */
	EXPECT_PICK(test, p.conn, MPS_NEW, p.near, p.seg);
}

static void qaware_does_not_know_a_rate_before_eight_packets(struct kunit *test)
{
	struct queued_paths p = two_paths(test);

	mps_test_device_queue(p.device, 0, 100 * BYTES_PER_MS, 0);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.near, p.seg);
	pass_ms(4);
	mps_test_device_queue(p.device, 0, 100 * BYTES_PER_MS, 8 * 1514 - 1);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.near, p.seg);
	mps_test_device_queue(p.device, 0, 100 * BYTES_PER_MS, 1);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.far, p.seg);
}

static void qaware_does_not_take_an_idle_device_for_a_slow_one(struct kunit *test)
{
	struct queued_paths p = two_paths(test);
	int i;

	drain(&p, 10);
	/* two packets come and go in 100 ms: 30 bytes per ms */
	for (i = 0; i < 8; i++) {
		mps_test_device_queue(p.device, 0, 2 * 1514, 2 * 1514);
		mps_test_decide(p.conn);
		pass_ms(100);
	}
	mps_test_device_queue(p.device, 0, 23300, 2 * 1514);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.near, p.seg);
}

/* After a change to 5000 bytes per ms, n samples leave 2500 x (7/8)^n of the
 * error. With 4, the rate is 5000 - 1465 = 3535: equal at 33,900 bytes.
 */
static void qaware_follows_the_rate_of_the_device(struct kunit *test)
{
	struct queued_paths p = two_paths(test);
	int i;

	drain(&p, 10);
	for (i = 0; i < 4; i++) {
		pass_ms(10);
		mps_test_device_queue(p.device, 0, 100 * BYTES_PER_MS, 20 * BYTES_PER_MS);
		mps_test_decide(p.conn);
	}
	mps_test_device_queue(p.device, 0, 33500, 0);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.near, p.seg);
	mps_test_device_queue(p.device, 0, 34300, 0);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.far, p.seg);
}

/* Two packets of its own are all that is in the device: 3028 + 1.0456 x unsent
 * bytes are to be 23,552.
 */
static void qaware_counts_what_waits_in_the_subflow(struct kunit *test)
{
	struct queued_paths p = two_paths(test);

	p.near->cwnd_pkts = 100;
	p.near->pacing_rate = 0;
	drain(&p, 10);
	mps_test_device_queue(p.device, 0, 2 * 1514, 0);
	p.near->unsent_bytes = 19400;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.near, p.seg);
	p.near->unsent_bytes = 19900;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.far, p.seg);
	/* less than a 1024th of a second of it: all goes at once */
	p.near->pacing_rate = 19900 << 10;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.near, p.seg);
}

/* Two at a time: 5 ms for them, once more for each two that wait. */
static void qaware_counts_each_time_that_the_subflow_waits_for_the_device(struct kunit *test)
{
	struct queued_paths p = two_paths(test);

	p.near->pacing_rate = 0;
	drain(&p, 10);
	mps_test_device_queue(p.device, 0, 5 * BYTES_PER_MS, 0);
	p.near->unsent_bytes = 1 * MSS;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.near, p.seg);
	p.near->unsent_bytes = 2 * MSS;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.far, p.seg);
}

/* The far one has room again after 40 ms, and the way takes 20: a queue of less
 * than 60 ms, 150,000 bytes, is better.
 */
static void qaware_waits_for_a_full_subflow_rather_than_in_a_long_queue(struct kunit *test)
{
	struct queued_paths p = two_paths(test);

	drain(&p, 10);
	mps_test_fill(p.far);
	mps_test_device_queue(p.device, 0, 149000, 0);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.near, p.seg);
	mps_test_device_queue(p.device, 0, 151000, 0);
	EXPECT_WAIT(test, p.conn);
	/* but not for one that may not come back */
	p.far->ca_state = TCP_CA_Loss;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.near, p.seg);
	p.far->ca_state = TCP_CA_Open;
	p.far->cwnd_pkts = 0;
	p.far->in_flight_pkts = 0;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.near, p.seg);
}

static void qaware_does_not_wait_if_that_is_off(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "qaware");
	struct queued_paths p = { .conn = conn };

	mps_test_param(conn, "wait", 0);
	p.near = mps_test_subflow(conn, .srtt_us = 20000);
	p.far = mps_test_subflow(conn, .srtt_us = 40000);
	p.seg = mps_test_unsent(conn, MSS);
	p.device = mps_test_device(p.near, 1, true);
	drain(&p, 10);
	mps_test_fill(p.far);
	EXPECT_PICK(test, conn, MPS_NEW, p.near, p.seg);
}

/* A queue of 40 ms makes an RTT of 60, which is no reason to add 40 once more:
 * 10 + 40 + 0.6 ms, not 30 + 40.
 */
static void qaware_does_not_count_a_local_queue_twice(struct kunit *test)
{
	struct queued_paths p = two_paths(test);
	int i;

	drain(&p, 10);
	mps_test_device_queue(p.device, 0, 40 * BYTES_PER_MS, 0);
	p.near->srtt_us = 60000;
	for (i = 0; i < 40; i++)
		mps_test_ack(p.near, 1);
	p.far->srtt_us = 100000;
	p.far->min_rtt_us = 100000;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.far, p.seg);
	p.far->srtt_us = 103000;
	p.far->min_rtt_us = 103000;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.near, p.seg);
}

static void qaware_sees_a_queue_in_the_network_by_the_rtt(struct kunit *test)
{
	struct queued_paths p = two_paths(test);

	mps_test_ack(p.near, 1);
	p.near->srtt_us = 39000;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.near, p.seg);
	p.near->srtt_us = 41000;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.far, p.seg);
}

/* 60 ms, so 40 more than the least; 20 more after an RTT without news, 10 after
 * two: 20 + 20 and 20 + 10, against 39.
 */
static void qaware_forgets_a_queue_in_the_network_of_which_nothing_is_heard(struct kunit *test)
{
	struct queued_paths p = two_paths(test);

	p.near->srtt_us = 60000;
	p.far->srtt_us = 39000;
	mps_test_ack(p.near, 1);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.far, p.seg);
	pass_ms(61);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.far, p.seg);
	pass_ms(58);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.far, p.seg);
	pass_ms(2);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.near, p.seg);
}

static void qaware_sends_reinjections_first(struct kunit *test)
{
	struct queued_paths p = two_paths(test);

	mps_test_sent(p.conn, p.seg, p.near);
	mps_test_unsent(p.conn, MSS);
	mps_test_reinject(p.conn, p.seg);
	EXPECT_PICK(test, p.conn, MPS_REINJECTION, p.far, p.seg);
}

static void qaware_sends_the_oldest_segment_again_where_the_window_is_closed(struct kunit *test)
{
	struct queued_paths p = two_paths(test);

	p.far->srtt_us = 200000;
	mps_test_sent(p.conn, p.seg, p.far);
	mps_test_unsent(p.conn, MSS);
	p.conn->window_bytes = MSS;
	EXPECT_PICK(test, p.conn, MPS_DUPLICATE, p.near, p.seg);
}

/* Nothing overflows or is divided by nothing, and there is an answer. */
static void qaware_survives_states_that_make_no_sense(struct kunit *test)
{
	static const u32 values[] = { 0, 1, 20000, 60000000, U32_MAX };
	struct queued_paths p = two_paths(test);
	int i, j;

	p.near->cwnd_pkts = 100000;
	p.far->cwnd_pkts = 100000;
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		for (j = 0; j < ARRAY_SIZE(values); j++) {
			p.near->srtt_us = values[i];
			p.near->min_rtt_us = values[j];
			p.near->unsent_bytes = min(values[j], 100000U * MSS / 2);
			mps_test_device_queue(p.device, 0, values[j], values[i]);
			mps_test_ack(p.near, 1);
			KUNIT_EXPECT_NE(test, (u32)mps_test_decide(p.conn).kind, 0U);
			pass_ms(1);
		}
	}
	/* a device that counts anew */
	mps_test_device(p.near, 1, true);
	KUNIT_EXPECT_NE(test, (u32)mps_test_decide(p.conn).kind, 0U);
}

static struct kunit_case qaware_cases[] = {
	KUNIT_CASE(qaware_takes_the_lowest_rtt_where_nothing_is_queued),
	KUNIT_CASE(qaware_takes_the_next_one_where_the_first_is_full),
	KUNIT_CASE(qaware_leaves_a_device_whose_queue_is_longer_than_the_detour),
	KUNIT_CASE(qaware_comes_back_when_the_queue_is_gone),
	KUNIT_CASE(qaware_does_not_know_a_rate_before_eight_packets),
	KUNIT_CASE(qaware_does_not_take_an_idle_device_for_a_slow_one),
	KUNIT_CASE(qaware_follows_the_rate_of_the_device),
	KUNIT_CASE(qaware_counts_what_waits_in_the_subflow),
	KUNIT_CASE(qaware_counts_each_time_that_the_subflow_waits_for_the_device),
	KUNIT_CASE(qaware_waits_for_a_full_subflow_rather_than_in_a_long_queue),
	KUNIT_CASE(qaware_does_not_wait_if_that_is_off),
	KUNIT_CASE(qaware_does_not_count_a_local_queue_twice),
	KUNIT_CASE(qaware_sees_a_queue_in_the_network_by_the_rtt),
	KUNIT_CASE(qaware_forgets_a_queue_in_the_network_of_which_nothing_is_heard),
	KUNIT_CASE(qaware_sends_reinjections_first),
	KUNIT_CASE(qaware_sends_the_oldest_segment_again_where_the_window_is_closed),
	KUNIT_CASE(qaware_survives_states_that_make_no_sense),
	{}
};

static struct kunit_suite qaware_suite = {
	.name		= "mptcp-qaware",
	.test_cases	= qaware_cases,
};

kunit_test_suite(qaware_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of the MPTCP scheduler qaware");
