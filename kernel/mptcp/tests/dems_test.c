// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of dems on constructed states. */

#include "vocabulary.h"

/* RTT 20 and 100 ms, windows of 10 segments: the slow one's half is 40 ms longer, in
 * which the fast one sends 20.
 */
static struct two_paths two_paths(struct kunit *test, u32 unsent_pkts)
{
	struct two_paths p = { .conn = mps_test_conn(test, "dems") };

	p.fast = mps_test_subflow(p.conn, .srtt_us = 20 * MSEC_US);
	p.slow = mps_test_subflow(p.conn, .srtt_us = 100 * MSEC_US);
	if (unsent_pkts)
		p.head = mps_test_unsent_pkts(p.conn, unsent_pkts);
	return p;
}

/* The next pick, which must be for that subflow, is sent: its number from 0. */
static u64 takes(struct kunit *test, struct two_paths p, struct mps_subflow *subflow)
{
	struct mps_pick pick = mps_test_send(p.conn);

	KUNIT_ASSERT_EQ(test, (u32)pick.kind, (u32)MPS_NEW);
	KUNIT_ASSERT_PTR_EQ(test, pick.subflow, subflow);
	return div_u64(pick.seq, MSS);
}

static void a_chunk_is_sent_from_both_ends(struct kunit *test)
{
	struct two_paths p = two_paths(test, 100);
	int i;

	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_EQ(test, takes(test, p, p.fast), i);
	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 99 - i);
	EXPECT_WAIT(test, p.conn);
	mps_test_ack(p.fast, 2);
	KUNIT_EXPECT_EQ(test, takes(test, p, p.fast), 10);
	KUNIT_EXPECT_EQ(test, takes(test, p, p.fast), 11);
	mps_test_ack(p.slow, 1);
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 89);
}

static void the_slow_path_stops_where_the_fast_one_completes_before_it(struct kunit *test)
{
	struct two_paths p = two_paths(test, 22);

	mps_test_fill(p.fast);
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 21);
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 20);
	EXPECT_WAIT(test, p.conn);
	mps_test_ack(p.fast, 1);
	KUNIT_EXPECT_EQ(test, takes(test, p, p.fast), 0);
	EXPECT_WAIT(test, p.conn);
}

/* By one-way delays it is the lower RTT that stops: 60 ms, in which the other sends 6. */
static void one_way_delays_say_who_stops(struct kunit *test)
{
	struct two_paths p = two_paths(test, 8);

	p.fast->owd_us = 80 * MSEC_US;
	p.slow->owd_us = 20 * MSEC_US;
	KUNIT_EXPECT_EQ(test, takes(test, p, p.fast), 0);
	KUNIT_EXPECT_EQ(test, takes(test, p, p.fast), 1);
	/* 2 to 7 are 6 */
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 7);
	mps_test_fill(p.slow);
	EXPECT_WAIT(test, p.conn);
}

static void delays_that_cannot_be_compared_are_not(struct kunit *test)
{
	struct two_paths p = two_paths(test, 20);

	p.fast->owd_us = 80 * MSEC_US;
	p.slow->owd_us = 20 * MSEC_US;
	mps_test_clock(p.fast, 0, 10);
	mps_test_clock(p.slow, 1000, 1010);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, p.head);
	KUNIT_EXPECT_GT(test, conn_core(p.conn)->fallbacks, 0U);
	mps_test_fill(p.fast);
	EXPECT_WAIT(test, p.conn);
}

static void what_is_written_later_is_the_next_chunk(struct kunit *test)
{
	struct two_paths p = two_paths(test, 22);

	mps_test_fill(p.fast);
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 21);
	mps_test_unsent_pkts(p.conn, 40);
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 20);
	/* it goes on with that, from its front: the 22nd, and the 23rd */
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 22);
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 23);
	/* 0 to 19, then 24 to 61 from both ends */
	p.fast->cwnd_pkts = 20;
	p.fast->in_flight_pkts = 0;
	while (mps_has_room(p.fast))
		takes(test, p, p.fast);
	p.fast->cwnd_pkts = 10;
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 61);
}

static void a_unit_is_a_chunk(struct kunit *test)
{
	struct two_paths p = two_paths(test, 0);

	mps_test_unit(p.conn, 40, .id = 1);
	mps_test_unit(p.conn, 40, .id = 2);
	mps_test_fill(p.fast);
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 39);
	p.slow->cwnd_pkts = 200;
	while (mps_test_decide(p.conn).seq > 19 * MSS)
		if (takes(test, p, p.slow) == 40)
			return;
	KUNIT_FAIL(test, "the second unit was not begun");
}

static void a_chunk_ends_with_the_receive_window(struct kunit *test)
{
	struct two_paths p = two_paths(test, 100);

	p.conn->window_bytes = 50 * MSS;
	mps_test_fill(p.fast);
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 49);
	p.conn->window_bytes = 100 * MSS;
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 48);
}

static void one_path_alone_sends_in_order(struct kunit *test)
{
	struct two_paths p = two_paths(test, 5);

	mps_test_usable(p.slow, false);
	KUNIT_EXPECT_EQ(test, takes(test, p, p.fast), 0);
	mps_test_rto(p.fast);
	mps_test_usable(p.slow, true);
	KUNIT_EXPECT_EQ(test, (u32)mps_test_send(p.conn).kind, (u32)MPS_REINJECTION);
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 1);
	KUNIT_EXPECT_EQ(test, takes(test, p, p.slow), 2);
}

/* Both send 10 in an RTT, of which 10 + 10 ms are a whole one of the fast path, and a
 * fifth of the slow one: 10 and 2; and a tenth of the chunk is 3.
 */
static struct two_paths all_is_sent(struct kunit *test)
{
	struct two_paths p = two_paths(test, 30);
	int i;

	p.fast->cwnd_pkts = 25;
	for (i = 0; i < 25; i++)
		takes(test, p, p.fast);
	p.fast->cwnd_pkts = 50;
	p.fast->srtt_us = 100 * MSEC_US;
	p.slow->srtt_us = 20 * MSEC_US;
	mps_test_fill(p.fast);
	for (i = 0; i < 5; i++)
		takes(test, p, p.slow);
	p.fast->srtt_us = 20 * MSEC_US;
	p.slow->srtt_us = 100 * MSEC_US;
	p.fast->cwnd_pkts = 10;
	p.slow->cwnd_pkts = 10;
	mps_test_fill(p.fast);
	mps_test_fill(p.slow);
	p.fast->rttvar_us = 10 * MSEC_US;
	p.slow->rttvar_us = 10 * MSEC_US;
	return p;
}

/* 25 to 29 are the slow one's. */
static void the_fast_path_goes_on_forward(struct kunit *test)
{
	struct two_paths p = all_is_sent(test);
	struct mps_pick pick;
	int i;

	mps_test_ack(p.fast, 5);
	for (i = 0; i < 3; i++) {
		pick = mps_test_send(p.conn);
		KUNIT_ASSERT_EQ(test, (u32)pick.kind, (u32)MPS_DUPLICATE);
		KUNIT_EXPECT_PTR_EQ(test, pick.subflow, p.fast);
		KUNIT_EXPECT_EQ(test, pick.seq, (25ULL + i) * MSS);
	}
	EXPECT_WAIT(test, p.conn);
}

static void the_slow_path_goes_on_backward(struct kunit *test)
{
	struct two_paths p = all_is_sent(test);
	struct mps_pick pick;
	int i;

	mps_test_ack(p.slow, 5);
	for (i = 0; i < 2; i++) {
		pick = mps_test_send(p.conn);
		KUNIT_ASSERT_EQ(test, (u32)pick.kind, (u32)MPS_DUPLICATE);
		KUNIT_EXPECT_PTR_EQ(test, pick.subflow, p.slow);
		KUNIT_EXPECT_EQ(test, pick.seq, (24ULL - i) * MSS);
	}
	EXPECT_WAIT(test, p.conn);
}

static void steady_paths_need_no_copies(struct kunit *test)
{
	struct two_paths p = all_is_sent(test);

	p.fast->rttvar_us = 0;
	p.slow->rttvar_us = 0;
	mps_test_ack(p.fast, 5);
	mps_test_ack(p.slow, 5);
	EXPECT_WAIT(test, p.conn);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_chunk_is_sent_from_both_ends),
	KUNIT_CASE(the_slow_path_stops_where_the_fast_one_completes_before_it),
	KUNIT_CASE(one_way_delays_say_who_stops),
	KUNIT_CASE(delays_that_cannot_be_compared_are_not),
	KUNIT_CASE(what_is_written_later_is_the_next_chunk),
	KUNIT_CASE(a_unit_is_a_chunk),
	KUNIT_CASE(a_chunk_ends_with_the_receive_window),
	KUNIT_CASE(one_path_alone_sends_in_order),
	KUNIT_CASE(the_fast_path_goes_on_forward),
	KUNIT_CASE(the_slow_path_goes_on_backward),
	KUNIT_CASE(steady_paths_need_no_copies),
	{}
};

static struct kunit_suite suite = {
	.name		= "mptcp_dems",
	.test_cases	= cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tests of the MPTCP scheduler dems");
