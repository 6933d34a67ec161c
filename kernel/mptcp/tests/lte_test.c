// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of the scheduler `lte` on constructed states.
 *
 * Unless something else is said, packets come at 600 us each, two with each
 * acknowledgment: late are those that come, with slowdown 3, later than
 * 3 x 2 x 0.6 = 3.6 ms after the last ones, and a subflow is disabled when that
 * makes more than 50 ms.
 */

#include <linux/delay.h>

#include "vocabulary.h"

#define PKT_US		600
#define RTT_US		20000

/* Two packets are acknowledged, so much time after the last ones, that were sent
 * so much time after those. One is left in flight: the silence since does not
 * count.
 */
static void ack_two(struct mps_conn *conn, struct mps_subflow *subflow, u64 inter_ack_us,
		    u64 inter_send_us)
{
	subflow->delivered_pkts += 2;
	subflow->delivered_ns += inter_ack_us * NSEC_PER_USEC;
	subflow->delivered_sent_ns += inter_send_us * NSEC_PER_USEC;
	subflow->in_flight_pkts = 1;
	mps_test_decide(conn);
}

/* Packets have come as fast as they were sent; the last ones so long ago. */
static void in_steady_state(struct mps_conn *conn, struct mps_subflow *subflow, u64 ago_us)
{
	u64 past_us = ago_us + 20 * 2 * PKT_US;
	int i;

	subflow->delivered_ns = mps_clock_ns() - past_us * NSEC_PER_USEC;
	subflow->delivered_sent_ns = subflow->delivered_ns - RTT_US * NSEC_PER_USEC;
	for (i = 0; i < 20; i++)
		ack_two(conn, subflow, 2 * PKT_US, 2 * PKT_US);
}

/* Ten packets are in flight, the oldest of which was sent right after the last
 * one that was acknowledged.
 */
static void in_flight(struct mps_subflow *subflow)
{
	subflow->in_flight_pkts = 10;
	subflow->outstanding_bytes = 10 * MSS;
	subflow->oldest_sent_ns = subflow->delivered_sent_ns + PKT_US * NSEC_PER_USEC;
}

/* A subflow with an RTT of 20 ms, and one of 50 ms that can take over. */
struct pair {
	struct mps_conn		*conn;
	struct mps_subflow	*near;
	struct mps_subflow	*far;
};

static struct pair pair(struct kunit *test)
{
	struct pair pair = { .conn = mps_test_conn(test, "lte") };

	/* the kernel has only just started, and there is to be a past */
	msleep(1000);
	pair.near = mps_test_subflow(pair.conn, .srtt_us = RTT_US, .cwnd_pkts = 100);
	pair.far = mps_test_subflow(pair.conn, .srtt_us = 50000, .cwnd_pkts = 100);
	return pair;
}

/* Is it disabled? Then what it carries is sent on the other one. */
static bool is_disabled(struct kunit *test, const struct pair *pair, struct mps_segment *seg)
{
	struct mps_pick pick = mps_test_decide(pair->conn);

	if (pick.kind != MPS_REINJECTION)
		return false;
	KUNIT_EXPECT_PTR_EQ(test, pick.subflow, pair->far);
	KUNIT_EXPECT_EQ(test, pick.seq, mps_seq(pair->conn, seg));
	return true;
}

static void lte_takes_the_lowest_rtt(struct kunit *test)
{
	struct pair p = pair(test);

	EXPECT_SENT(test, p.conn, MPS_NEW, p.near, mps_test_unsent(p.conn, MSS));
	mps_test_fill(p.near);
	EXPECT_SENT(test, p.conn, MPS_NEW, p.far, mps_test_unsent(p.conn, MSS));
	mps_test_fill(p.far);
	mps_test_unsent(p.conn, MSS);
	EXPECT_WAIT(test, p.conn);
}

static void lte_leaves_a_subflow_that_is_silent(struct kunit *test)
{
	struct pair p = pair(test);
	struct mps_segment *seg = mps_test_in_flight(p.conn, MSS, p.near);

	in_steady_state(p.conn, p.near, 53500);
	in_flight(p.near);
	KUNIT_EXPECT_FALSE(test, is_disabled(test, &p, seg));
	/* 53.6 ms, and it wants to be asked then */
	KUNIT_EXPECT_GE(test, mps_test_wake_time(p.conn), p.near->delivered_ns + 53600000);
	KUNIT_EXPECT_LE(test, mps_test_wake_time(p.conn), p.near->delivered_ns + 53601000);
	msleep(20);
	KUNIT_EXPECT_TRUE(test, is_disabled(test, &p, seg));
	EXPECT_SENT(test, p.conn, MPS_REINJECTION, p.far, seg);
	EXPECT_SENT(test, p.conn, MPS_NEW, p.far, mps_test_unsent(p.conn, MSS));
}

/* At a tenth of the rate: each acknowledgment is 12 - 3.6 = 8.4 ms late, and the
 * sixth makes it 50.4 ms.
 */
static void lte_leaves_a_subflow_whose_acknowledgments_come_slowly(struct kunit *test)
{
	struct pair p = pair(test);
	struct mps_segment *seg = mps_test_in_flight(p.conn, MSS, p.near);
	int i;

	in_steady_state(p.conn, p.near, 0);
	for (i = 0; i < 5; i++)
		ack_two(p.conn, p.near, 10 * 2 * PKT_US, 2 * PKT_US);
	KUNIT_EXPECT_FALSE(test, is_disabled(test, &p, seg));
	ack_two(p.conn, p.near, 10 * 2 * PKT_US, 2 * PKT_US);
	KUNIT_EXPECT_TRUE(test, is_disabled(test, &p, seg));
}

static void lte_does_not_mind_a_queue_that_fills(struct kunit *test)
{
	struct pair p = pair(test);
	struct mps_segment *seg = mps_test_in_flight(p.conn, MSS, p.near);
	int i;

	/* sent at twice the rate of the path: the RTT grows by 300 ms */
	in_steady_state(p.conn, p.near, 0);
	for (i = 0; i < 500; i++)
		ack_two(p.conn, p.near, 2 * PKT_US, PKT_US);
	KUNIT_EXPECT_FALSE(test, is_disabled(test, &p, seg));
}

static void lte_does_not_mind_a_pause_of_the_application(struct kunit *test)
{
	struct pair p = pair(test);
	struct mps_segment *seg = mps_test_in_flight(p.conn, MSS, p.near);

	in_steady_state(p.conn, p.near, 300000);
	in_flight(p.near);
	p.near->oldest_sent_ns += 300000000;
	KUNIT_EXPECT_FALSE(test, is_disabled(test, &p, seg));
	ack_two(p.conn, p.near, 300000, 300000);
	KUNIT_EXPECT_FALSE(test, is_disabled(test, &p, seg));
}

static void lte_does_not_mind_the_acknowledgment_of_a_lone_packet(struct kunit *test)
{
	struct pair p = pair(test);
	struct mps_segment *seg = mps_test_in_flight(p.conn, MSS, p.near);

	in_steady_state(p.conn, p.near, 150000);
	p.near->oldest_sent_ns = p.near->delivered_sent_ns;
	KUNIT_EXPECT_FALSE(test, is_disabled(test, &p, seg));
	p.near->delivered_pkts++;
	p.near->delivered_ns += 150000000;
	p.near->in_flight_pkts = 0;
	KUNIT_EXPECT_FALSE(test, is_disabled(test, &p, seg));
}

static void lte_allows_for_an_rtt_that_varies(struct kunit *test)
{
	struct pair p = pair(test);
	struct mps_segment *seg = mps_test_in_flight(p.conn, MSS, p.near);

	/* 4 x 30 ms instead of 50 ms */
	p.near->rttvar_us = 30000;
	in_steady_state(p.conn, p.near, 120000);
	in_flight(p.near);
	KUNIT_EXPECT_FALSE(test, is_disabled(test, &p, seg));
	KUNIT_EXPECT_GE(test, mps_test_wake_time(p.conn), p.near->delivered_ns + 123600000);
	KUNIT_EXPECT_LE(test, mps_test_wake_time(p.conn), p.near->delivered_ns + 123601000);
}

static void lte_has_nowhere_to_go_from_a_lone_subflow(struct kunit *test)
{
	struct pair p = pair(test);
	struct mps_segment *seg;

	mps_test_usable(p.far, false);
	in_steady_state(p.conn, p.near, 1000000);
	in_flight(p.near);
	seg = mps_test_unsent(p.conn, MSS);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.near, seg);
}

/* Disabled by a timeout, and heard of again. */
static void disable(struct pair *p)
{
	in_steady_state(p->conn, p->near, 0);
	p->near->in_flight_pkts = 0;
	p->near->outstanding_bytes = 0;
	mps_test_rto(p->near);
	p->near->ca_state = TCP_CA_Open;
	p->near->cwnd_pkts = 100;
	mps_test_usable(p->near, true);
}

/* A packet that is sent now comes back with this RTT. */
static void comes_back(struct mps_subflow *subflow, u32 rtt_us)
{
	subflow->delivered_sent_ns = mps_clock_ns() + 1000;
	subflow->delivered_ns = subflow->delivered_sent_ns + rtt_us * NSEC_PER_USEC;
	subflow->last_rtt_us = rtt_us;
	mps_test_ack(subflow, 2);
}

static void lte_tries_a_disabled_subflow_with_two_packets(struct kunit *test)
{
	struct pair p = pair(test);
	struct mps_segment *a, *b, *c;

	disable(&p);
	a = mps_test_unsent(p.conn, MSS);
	b = mps_test_unsent(p.conn, MSS);
	c = mps_test_unsent(p.conn, MSS);
	EXPECT_SENT(test, p.conn, MPS_NEW, p.near, a);
	EXPECT_SENT(test, p.conn, MPS_REINJECTION, p.far, a);
	EXPECT_SENT(test, p.conn, MPS_NEW, p.near, b);
	EXPECT_SENT(test, p.conn, MPS_REINJECTION, p.far, b);
	EXPECT_SENT(test, p.conn, MPS_NEW, p.far, c);
	/* still in its handover: 3/2 of 20 ms are exceeded */
	comes_back(p.near, 30001);
	a = mps_test_unsent(p.conn, MSS);
	EXPECT_SENT(test, p.conn, MPS_NEW, p.near, a);
	EXPECT_SENT(test, p.conn, MPS_REINJECTION, p.far, a);
	/* nothing new: with copies */
	b = mps_test_in_flight(p.conn, MSS, p.far);
	EXPECT_SENT(test, p.conn, MPS_DUPLICATE, p.near, c);
	EXPECT_WAIT(test, p.conn);
	comes_back(p.near, 100000);
	EXPECT_SENT(test, p.conn, MPS_DUPLICATE, p.near, b);
	EXPECT_WAIT(test, p.conn);
}

/* After an outage, some of what TCP repeats was lost, and TCP learns which by
 * what comes later.
 */
static void lte_tries_on_when_something_comes_back(struct kunit *test)
{
	struct pair p = pair(test);
	struct mps_segment *a;

	disable(&p);
	p.near->in_flight_pkts = 10;
	p.near->outstanding_bytes = 10 * MSS;
	msleep(21);
	EXPECT_SENT(test, p.conn, MPS_NEW, p.far, mps_test_unsent(p.conn, MSS));
	/* of before the outage, so its RTT is of no use; once in 20 ms */
	mps_test_ack(p.near, 2);
	a = mps_test_unsent(p.conn, MSS);
	EXPECT_SENT(test, p.conn, MPS_NEW, p.near, a);
	EXPECT_SENT(test, p.conn, MPS_REINJECTION, p.far, a);
	a = mps_test_unsent(p.conn, MSS);
	EXPECT_SENT(test, p.conn, MPS_NEW, p.near, a);
	EXPECT_SENT(test, p.conn, MPS_REINJECTION, p.far, a);
	mps_test_ack(p.near, 2);
	EXPECT_SENT(test, p.conn, MPS_NEW, p.far, mps_test_unsent(p.conn, MSS));
	msleep(21);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.near, mps_test_unsent(p.conn, MSS));
}

static void lte_copies_what_a_stale_subflow_gets(struct kunit *test)
{
	struct pair p = pair(test);
	struct mps_segment *seg;
	int i;

	disable(&p);
	p.near->srtt_us = 100000;
	mps_test_decide(p.conn);
	comes_back(p.near, 30000);
	for (i = 0; i < 10; i++) {
		seg = mps_test_unsent(p.conn, MSS);
		EXPECT_SENT(test, p.conn, MPS_NEW, p.near, seg);
		EXPECT_SENT(test, p.conn, MPS_REINJECTION, p.far, seg);
	}
	/* a few at a time */
	seg = mps_test_unsent(p.conn, MSS);
	EXPECT_SENT(test, p.conn, MPS_NEW, p.far, seg);
	/* 8 packets more, and the smoothed RTT is within a quarter of the latest */
	for (i = 0; i < 4; i++)
		comes_back(p.near, 30000);
	p.near->srtt_us = 40001;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.near, mps_test_unsent(p.conn, MSS));
	p.near->srtt_us = 40000;
	mps_test_decide(p.conn);
	KUNIT_EXPECT_EQ(test, p.near->limit_pkts, ~0U);
	EXPECT_SENT(test, p.conn, MPS_NEW, p.near, mps_head(p.conn));
	EXPECT_WAIT(test, p.conn);
}

static void lte_takes_what_lasts_for_the_path_as_it_is(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "lte");
	struct pair p = { .conn = conn };

	mps_test_param(conn, "longest_ms", 100);
	p.near = mps_test_subflow(conn, .srtt_us = RTT_US, .cwnd_pkts = 100);
	p.far = mps_test_subflow(conn, .srtt_us = 50000, .cwnd_pkts = 100);
	disable(&p);
	comes_back(p.near, 60000);
	mps_test_decide(conn);
	KUNIT_EXPECT_EQ(test, p.near->limit_pkts, ~0U);
	msleep(101);
	comes_back(p.near, 60000);
	mps_test_decide(conn);
	KUNIT_EXPECT_EQ(test, p.near->limit_pkts, 10U);
}

static void lte_comes_back_to_a_disabled_subflow_when_the_other_fails(struct kunit *test)
{
	struct pair p = pair(test);

	disable(&p);
	mps_test_close(p.far);
	mps_test_unsent_pkts(p.conn, 20);
	while (mps_test_send_on(p.conn) == 1)
		;
	KUNIT_EXPECT_NULL(test, mps_head(p.conn));
}

static void lte_asks_for_linear_timeouts_while_disabled(struct kunit *test)
{
	struct pair p = pair(test);

	KUNIT_EXPECT_FALSE(test, subflow_core(p.near)->linear);
	disable(&p);
	KUNIT_EXPECT_TRUE(test, subflow_core(p.near)->linear);
	KUNIT_EXPECT_FALSE(test, subflow_core(p.far)->linear);
	comes_back(p.near, RTT_US);
	mps_test_decide(p.conn);
	KUNIT_EXPECT_FALSE(test, subflow_core(p.near)->linear);
}

static struct kunit_case lte_cases[] = {
	KUNIT_CASE(lte_takes_the_lowest_rtt),
	KUNIT_CASE(lte_leaves_a_subflow_that_is_silent),
	KUNIT_CASE(lte_leaves_a_subflow_whose_acknowledgments_come_slowly),
	KUNIT_CASE(lte_does_not_mind_a_queue_that_fills),
	KUNIT_CASE(lte_does_not_mind_a_pause_of_the_application),
	KUNIT_CASE(lte_does_not_mind_the_acknowledgment_of_a_lone_packet),
	KUNIT_CASE(lte_allows_for_an_rtt_that_varies),
	KUNIT_CASE(lte_has_nowhere_to_go_from_a_lone_subflow),
	KUNIT_CASE(lte_tries_a_disabled_subflow_with_two_packets),
	KUNIT_CASE(lte_tries_on_when_something_comes_back),
	KUNIT_CASE(lte_copies_what_a_stale_subflow_gets),
	KUNIT_CASE(lte_takes_what_lasts_for_the_path_as_it_is),
	KUNIT_CASE(lte_comes_back_to_a_disabled_subflow_when_the_other_fails),
	KUNIT_CASE(lte_asks_for_linear_timeouts_while_disabled),
	{}
};

static struct kunit_suite lte_suite = {
	.name		= "mptcp-lte",
	.test_cases	= lte_cases,
};

kunit_test_suite(lte_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of the MPTCP scheduler lte");
