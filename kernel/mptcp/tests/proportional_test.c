// SPDX-License-Identifier: GPL-2.0-only
/* Shares that the scheduler `proportional` measures, and decisions by them. */

#include "shares.h"

static struct paths *measured_of(struct kunit *test, struct mps_conn *conn, u64 first, u64 second,
				 u64 third)
{
	struct paths *p = paths_of(test, conn, first, second, third);

	p->probe = 1000;
	return p;
}

static struct paths *measured(struct kunit *test, u32 period_ms, u64 first, u64 second, u64 third)
{
	struct mps_conn *conn = mps_test_conn(test, "proportional");

	mps_test_param(conn, "period_ms", period_ms);
	return measured_of(test, conn, first, second, third);
}

/* So many intervals in which each path carries what it can by itself. */
static void measure(struct paths *p, u32 count)
{
	u32 i, n;

	for (n = 0; n < count; n++) {
		probe(p);
		usleep_range_state(LOOK_MS * 1000, LOOK_MS * 1000, TASK_UNINTERRUPTIBLE);
		for (i = 0; i < p->count; i++)
			conn_core(p->conn)->ops->on_ack(p->conn, p->subflows[i], p->kbps[i]);
	}
	probe(p);
}

/* The first interval has more than none, and five no more than that. */
static void measures_the_shares_of_three(struct kunit *test)
{
	struct paths *p = measured(test, 0, 17200, 2000, 23100);

	measure(p, 5);
	EXPECT_SHARE(p, 0, 333);
	measure(p, 2);
	/* of 42300 */
	EXPECT_SHARE(p, 0, 407);
	EXPECT_SHARE(p, 1, 47);
	EXPECT_SHARE(p, 2, 546);
	measure(p, 20);
	EXPECT_SHARE(p, 1, 47);
}

static void measures_until_throughput_no_longer_grows(struct kunit *test)
{
	struct paths *p = measured(test, 0, 1000, 1000, 0);
	int i;

	for (i = 0; i < 8; i++) {
		measure(p, 2);
		EXPECT_SHARE(p, 0, 500);
		p->kbps[0] += 400;
	}
	measure(p, 7);
	/* 4200 of 5200, the 1000 of the other one */
	EXPECT_SHARE(p, 0, 808);
}

static void measures_again_when_a_subflow_goes(struct kunit *test)
{
	struct paths *p = measured(test, 0, 20000, 10000, 10000);

	measure(p, 7);
	EXPECT_SHARE(p, 0, 500);
	mps_test_usable(p->subflows[2], false);
	p->kbps[2] = 0;
	measure(p, 7);
	EXPECT_SHARE(p, 0, 667);
	EXPECT_SHARE(p, 2, 0);
}

static void measures_again_after_some_time(struct kunit *test)
{
	struct paths *p = measured(test, 6000, 10000, 10000, 0);

	measure(p, 7);
	p->kbps[1] = 30000;
	measure(p, 15);
	EXPECT_SHARE(p, 0, 500);
	measure(p, 15);
	EXPECT_SHARE(p, 0, 250);
}

static void measures_nothing_while_there_is_nothing_to_send(struct kunit *test)
{
	struct paths *p = measured(test, 0, 10000, 30000, 0);
	int i;

	for (i = 0; i < 10; i++) {
		EXPECT_WAIT(test, p->conn);
		measure(p, 1);
		EXPECT_SHARE(p, 0, 500);
	}
	/* but while a writer waits for room in the send buffer */
	p->conn->writer_waits = true;
	for (i = 0; i < 10; i++) {
		EXPECT_WAIT(test, p->conn);
		measure(p, 1);
	}
	EXPECT_SHARE(p, 0, 250);
}

static void waits_for_no_one_while_it_measures(struct kunit *test)
{
	struct paths *p = measured(test, 0, 10000, 10000, 0);
	struct mps_segment *seg;

	mps_test_fill(p->subflows[0]);
	expect_sent_on(test, p->conn, 20, 2);
	p->subflows[0]->in_flight_pkts = 0;
	measure(p, 7);
	mps_test_fill(p->subflows[0]);
	expect_sent_on(test, p->conn, 1, 2);
	seg = mps_test_unsent(p->conn, MSS);
	EXPECT_WAIT(test, p->conn);
	p->subflows[0]->in_flight_pkts = 0;
	EXPECT_PICK(test, p->conn, MPS_NEW, p->subflows[0], seg);
}

/* Of 1000, which a probe of as many begins anew. */
static void mixes_segments_by_their_shares(struct kunit *test)
{
	static const u32 order[] = { 2, 2, 1, 2, 2, 1, 2, 2, 2, 1 };
	struct paths *p = measured(test, 0, 3000, 7000, 0);
	int i;

	measure(p, 7);
	for (i = 0; i < 100; i++)
		expect_sent_on(test, p->conn, 1, order[i % ARRAY_SIZE(order)]);
}

/* A share of nothing, and no other subflow */
static void sends_where_there_is_no_other(struct kunit *test)
{
	struct paths *p = measured(test, 0, 10000, 0, 0);

	measure(p, 7);
	EXPECT_SHARE(p, 1, 0);
	p->subflows[0]->ca_state = TCP_CA_Loss;
	expect_sent_on(test, p->conn, 200, 2);
}

static void each_segment_needs_room(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "proportional");
	struct mps_subflow *only = mps_test_subflow(conn);
	int n;

	mps_test_unsent_pkts(conn, 200);
	for (n = 0; n < 120; n++) {
		only->in_flight_pkts = only->cwnd_pkts - 1;
		only->unsent_bytes = 0;
		KUNIT_EXPECT_EQ(test, mps_test_send_on(conn), only->id);
		mps_test_fill(only);
		EXPECT_WAIT(test, conn);
	}
}

static void full_subflows_may_be_passed_over(struct kunit *test)
{
	int pass_over;

	for (pass_over = 0; pass_over <= 1; pass_over++) {
		struct mps_conn *conn = mps_test_conn(test, "proportional");
		struct paths *p;

		mps_test_param(conn, "cwnd_limited", pass_over);
		p = measured_of(test, conn, 10000, 10000, 0);
		measure(p, 7);
		mps_test_fill(p->subflows[1]);
		mps_test_unsent(p->conn, MSS);
		KUNIT_EXPECT_EQ(test, mps_test_send_on(p->conn), pass_over ? 1U : 0U);
	}
}

static void a_segment_that_the_window_holds_back_counts(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "proportional");
	struct mps_subflow *one = mps_test_subflow(conn), *two = mps_test_subflow(conn);
	struct mps_segment *seg = mps_test_unsent(conn, MSS);

	conn->window_bytes = MSS - 1;
	EXPECT_PICK(test, conn, MPS_NEW, two, seg);
	EXPECT_PICK(test, conn, MPS_NEW, one, seg);
	EXPECT_PICK(test, conn, MPS_NEW, two, seg);
}

static void reinjections_go_to_the_oldest_that_did_not_carry_them(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "proportional");
	struct mps_subflow *one = mps_test_subflow(conn), *two = mps_test_subflow(conn);
	struct mps_segment *lost = mps_test_in_flight(conn, MSS, one);

	mps_test_reinject(conn, lost);
	EXPECT_PICK(test, conn, MPS_REINJECTION, two, lost);
	mps_test_fill(two);
	EXPECT_PICK(test, conn, MPS_REINJECTION, one, lost);
	mps_test_fill(one);
	EXPECT_WAIT(test, conn);
}

static void backups_are_last_if_that_is_wanted(struct kunit *test)
{
	int last;

	for (last = 0; last <= 1; last++) {
		struct mps_conn *conn = mps_test_conn(test, "proportional");

		mps_test_param(conn, "spare_backups", last);
		mps_test_subflow(conn, .cwnd_pkts = 1000);
		mps_test_subflow(conn, .backup = true);
		expect_sent_on(test, conn, 1, last ? 1 : 2);
	}
}

/* Until now the rate was 10000 and 30000, and then it is a quarter less. */
static void measures_again_when_throughput_changes(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "proportional");
	struct paths *p;

	mps_test_param(conn, "period_ms", 0);
	mps_test_param(conn, "spacing_ms", 0);
	p = measured_of(test, conn, 10000, 30000, 0);
	measure(p, 7);
	EXPECT_SHARE(p, 0, 250);
	looks(p, 8);
	EXPECT_SHARE(p, 0, 250);
	/* as slow as the other one: of 20000, the sum is a half */
	p->kbps[1] = 10000;
	looks(p, 5);
	measure(p, 8);
	EXPECT_SHARE(p, 0, 500);
}

static void survives_what_makes_no_sense(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "proportional");

	mps_test_param(conn, "spacing_ms", 0);
	survives_states_that_make_no_sense(test, conn);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(measures_the_shares_of_three),
	KUNIT_CASE(measures_until_throughput_no_longer_grows),
	KUNIT_CASE(measures_again_when_a_subflow_goes),
	KUNIT_CASE(measures_again_after_some_time),
	KUNIT_CASE(measures_nothing_while_there_is_nothing_to_send),
	KUNIT_CASE(waits_for_no_one_while_it_measures),
	KUNIT_CASE(mixes_segments_by_their_shares),
	KUNIT_CASE(sends_where_there_is_no_other),
	KUNIT_CASE(each_segment_needs_room),
	KUNIT_CASE(full_subflows_may_be_passed_over),
	KUNIT_CASE(a_segment_that_the_window_holds_back_counts),
	KUNIT_CASE(reinjections_go_to_the_oldest_that_did_not_carry_them),
	KUNIT_CASE(backups_are_last_if_that_is_wanted),
	KUNIT_CASE(measures_again_when_throughput_changes),
	KUNIT_CASE(survives_what_makes_no_sense),
	{}
};

static struct kunit_suite suite = {
	.name		= "mptcp_proportional",
	.test_cases	= cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tests of the MPTCP scheduler proportional");
