// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of timetable on constructed states. */

#include "vocabulary.h"

static struct mps_conn *timetable(struct kunit *test, bool ack_clocked)
{
	struct mps_conn *conn = mps_test_conn(test, "timetable");

	mps_test_param(conn, "smooth_cwnd", 0);
	mps_test_param(conn, "ack_clocked", ack_clocked);
	return conn;
}

/* Windows of 10 segments, `unsent_pkts` to send. */
static struct two_paths with_rtts(struct kunit *test, bool ack_clocked, u32 fast_ms, u32 slow_ms,
				  u32 unsent_pkts)
{
	struct two_paths p = { .conn = timetable(test, ack_clocked) };

	p.fast = mps_test_subflow(p.conn, .srtt_us = fast_ms * MSEC_US);
	p.slow = mps_test_subflow(p.conn, .srtt_us = slow_ms * MSEC_US);
	p.head = mps_test_unsent_pkts(p.conn, unsent_pkts);
	return p;
}

/* Delays of 8 and 32 ms */
static struct two_paths two_paths(struct kunit *test, bool ack_clocked, u32 unsent_pkts)
{
	return with_rtts(test, ack_clocked, 16, 64, unsent_pkts);
}

/* The fast subflow sends so many, and each is acknowledged at once. */
static void send_on_fast(struct kunit *test, struct two_paths p, u32 pkts)
{
	u32 slow_pkts = p.slow->in_flight_pkts;

	mps_test_fill(p.slow);
	while (pkts--) {
		KUNIT_ASSERT_EQ(test, mps_test_send_on(p.conn), p.fast->id);
		mps_test_ack(p.fast, 1);
	}
	p.slow->in_flight_pkts = slow_pkts;
}

/* The number of the segment that the slow subflow takes next, from 0. */
static u64 slow_takes(struct kunit *test, struct two_paths p)
{
	u32 fast_pkts = p.fast->in_flight_pkts;
	struct mps_pick pick;

	mps_test_fill(p.fast);
	pick = mps_test_decide(p.conn);
	p.fast->in_flight_pkts = fast_pkts;
	KUNIT_ASSERT_EQ(test, (u32)pick.kind, (u32)MPS_NEW);
	KUNIT_ASSERT_PTR_EQ(test, pick.subflow, p.slow);
	return div_u64(pick.seq, MSS);
}

/* How many unsent segments it leaves to others before that. */
static u32 slow_leaves(struct kunit *test, struct two_paths p)
{
	u64 seq = slow_takes(test, p) * MSS;
	struct mps_segment *seg = mps_head(p.conn);
	u32 pkts = 0;

	for (; seg && mps_seq(p.conn, seg) != seq; seg = mps_next_unsent(p.conn, seg))
		pkts++;
	return pkts;
}

static void the_first_segment_is_of_the_shortest_delay(struct kunit *test)
{
	struct two_paths p = two_paths(test, true, 100);

	EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, p.head);
	p = with_rtts(test, true, 64, 16, 100);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
}

/* A window every 8 ms, at 8, 16, 24 and 32 ms: before the slow one's first. */
static void the_source_sends_a_window_in_each_delay(struct kunit *test)
{
	struct two_paths p = two_paths(test, false, 100);

	KUNIT_EXPECT_EQ(test, slow_takes(test, p), 40);
	/* what the fast one has sent counts no longer, and so the number is the same */
	send_on_fast(test, p, 15);
	KUNIT_EXPECT_EQ(test, slow_takes(test, p), 40);
	/* a whole window of it arrives at once */
	KUNIT_EXPECT_EQ(test, mps_test_send_on(p.conn), p.fast->id);
	mps_test_fill(p.fast);
	KUNIT_EXPECT_EQ(test, mps_test_send_on(p.conn), p.slow->id);
	KUNIT_EXPECT_EQ(test, slow_takes(test, p), 41);
}

/* One every 1.6 ms, at 8, 9.6, ..., 32 ms: 16. One of the slow one every 6.4. */
static void ack_clocked_windows_are_spread_over_a_round_trip(struct kunit *test)
{
	struct two_paths p = two_paths(test, true, 100);

	KUNIT_EXPECT_EQ(test, slow_takes(test, p), 16);
	send_on_fast(test, p, 15);
	KUNIT_EXPECT_EQ(test, slow_takes(test, p), 16);
	mps_test_fill(p.fast);
	KUNIT_EXPECT_EQ(test, mps_test_send_on(p.conn), p.slow->id);
	/* at 38.4 ms: of the fast one 33.6, 35.2, 36.8 and 38.4 */
	KUNIT_EXPECT_EQ(test, slow_takes(test, p), 21);
}

static void what_others_will_deliver_before_is_left_to_them(struct kunit *test)
{
	struct two_paths p = two_paths(test, true, 16);

	mps_test_fill(p.fast);
	EXPECT_WAIT(test, p.conn);
	mps_test_unsent(p.conn, MSS);
	KUNIT_EXPECT_EQ(test, slow_takes(test, p), 16);
}

/* RTTs of 20, 18 and 48 ms: delays of 12, 8 and 24. */
static void delays_are_rounded(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, slow_takes(test, with_rtts(test, false, 20, 48, 100)), 20);
	KUNIT_EXPECT_EQ(test, slow_takes(test, with_rtts(test, false, 18, 48, 100)), 30);
	/* none is 1 ms: at 1, 2, 3 and 4 ms */
	KUNIT_EXPECT_EQ(test, slow_takes(test, with_rtts(test, false, 1, 8, 100)), 40);
}

/* 32 ms: 4 windows of the fast path. */
static void windows_are_those_of_the_schedule_until_it_ends(struct kunit *test)
{
	struct two_paths p = two_paths(test, false, 200);

	send_on_fast(test, p, 5);
	p.fast->cwnd_pkts = 20;
	send_on_fast(test, p, 35);
	KUNIT_EXPECT_EQ(test, slow_takes(test, p), 40);
	/* the next one begins a new schedule, with 80 */
	send_on_fast(test, p, 1);
	KUNIT_EXPECT_EQ(test, slow_takes(test, p), 40 + 80);
}

/* Delays of 28 and 36 ms: 252 at the least, 9 windows of the fast path. Less is
 * a multiple of 36: 216, 72 and 36 ms, 7, 2 and 1 of its windows.
 */
static void the_period_is_bounded(struct kunit *test)
{
	static const struct {
		u32 period_ms, pkts;
	} cases[] = { { 252, 90 }, { 251, 70 }, { 100, 20 }, { 20, 10 } };
	int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct two_paths p = { .conn = timetable(test, true) };

		mps_test_param(p.conn, "period_ms", cases[i].period_ms);
		p.fast = mps_test_subflow(p.conn, .srtt_us = 56 * MSEC_US);
		p.slow = mps_test_subflow(p.conn, .srtt_us = 72 * MSEC_US);
		p.head = mps_test_unsent_pkts(p.conn, 200);
		send_on_fast(test, p, cases[i].pkts - 1);
		p.fast->cwnd_pkts = 100;
		send_on_fast(test, p, 1);
		KUNIT_EXPECT_EQ(test, slow_leaves(test, p), 0);
		/* by 36 ms, with the new window, at 28.56, ..., 35.84 ms: 14 more */
		send_on_fast(test, p, 1);
		KUNIT_EXPECT_EQ(test, slow_leaves(test, p), 14);
	}
}

static void does_not_look_farther_than_it_may(struct kunit *test)
{
	struct two_paths p = { .conn = timetable(test, true) };

	mps_test_param(p.conn, "look_ahead_pkts", 5);
	p.fast = mps_test_subflow(p.conn, .srtt_us = 16 * MSEC_US);
	p.slow = mps_test_subflow(p.conn, .srtt_us = 64 * MSEC_US);
	p.head = mps_test_unsent_pkts(p.conn, 100);
	KUNIT_EXPECT_EQ(test, slow_takes(test, p), 5);
}

static void a_path_that_is_gone_is_not_left_anything(struct kunit *test)
{
	struct two_paths p = two_paths(test, true, 100);

	EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, p.head);
	mps_test_usable(p.fast, false);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
}

static void neither_is_one_after_a_timeout(struct kunit *test)
{
	struct two_paths p = two_paths(test, true, 100);

	EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, p.head);
	p.fast->ca_state = TCP_CA_Loss;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
}

static void neither_is_one_that_no_ack_will_come_on(struct kunit *test)
{
	struct two_paths p = two_paths(test, true, 100);

	p.fast->cwnd_pkts = 0;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
}

static void a_new_path_is_in_the_schedule_at_once(struct kunit *test)
{
	struct two_paths p = two_paths(test, true, 100);
	struct mps_subflow *faster;

	EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, p.head);
	faster = mps_test_subflow(p.conn, .srtt_us = 8 * MSEC_US);
	EXPECT_PICK(test, p.conn, MPS_NEW, faster, p.head);
}

/* The slow path sends 42 segments every 4 ms, as the schedule says; the fast one's
 * first is the 252nd. When the slow path's RTT has grown, it is the first.
 */
static void a_schedule_of_the_past_starves_nobody(struct kunit *test)
{
	struct two_paths p = { .conn = timetable(test, false) };

	p.fast = mps_test_subflow(p.conn, .srtt_us = 50 * MSEC_US, .cwnd_pkts = 20);
	p.slow = mps_test_subflow(p.conn, .srtt_us = 8 * MSEC_US, .cwnd_pkts = 42);
	p.head = mps_test_unsent_pkts(p.conn, 45);
	mps_test_fill(p.slow);
	EXPECT_WAIT(test, p.conn);
	p.slow->srtt_us = 100 * MSEC_US;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, p.head);
}

/* As the default scheduler of v0.9x, and of no turn */
static void a_reinjection_goes_to_the_lowest_rtt(struct kunit *test)
{
	struct two_paths p = two_paths(test, true, 100);

	EXPECT_SENT(test, p.conn, MPS_NEW, p.fast, p.head);
	mps_test_reinject(p.conn, p.head);
	EXPECT_SENT(test, p.conn, MPS_REINJECTION, p.slow, p.head);
	mps_test_fill(p.fast);
	KUNIT_EXPECT_EQ(test, slow_leaves(test, p), 15);
}

static void copies_are_sent_when_the_window_is_closed(struct kunit *test)
{
	struct mps_conn *conn = timetable(test, true);
	struct mps_subflow *fast = mps_test_subflow(conn, .srtt_us = 16 * MSEC_US);
	struct mps_subflow *slow = mps_test_subflow(conn, .srtt_us = 64 * MSEC_US);
	struct mps_segment *oldest = mps_test_in_flight(conn, MSS, fast);

	mps_test_unsent(conn, MSS);
	conn->window_bytes = MSS;
	mps_test_update(conn);
	EXPECT_PICK(test, conn, MPS_DUPLICATE, slow, oldest);
}

static void backups_are_last_if_that_is_wanted(struct kunit *test)
{
	int last;

	for (last = 0; last <= 1; last++) {
		struct mps_conn *conn = timetable(test, true);
		struct mps_subflow *backup, *regular;
		struct mps_segment *head;

		mps_test_param(conn, "spare_backups", last);
		backup = mps_test_subflow(conn, .srtt_us = 16 * MSEC_US, .backup = true);
		regular = mps_test_subflow(conn, .srtt_us = 24 * MSEC_US);
		head = mps_test_unsent_pkts(conn, 10);
		EXPECT_PICK(test, conn, MPS_NEW, last ? regular : backup, head);
	}
}

static struct kunit_case cases[] = {
	KUNIT_CASE(the_first_segment_is_of_the_shortest_delay),
	KUNIT_CASE(the_source_sends_a_window_in_each_delay),
	KUNIT_CASE(ack_clocked_windows_are_spread_over_a_round_trip),
	KUNIT_CASE(what_others_will_deliver_before_is_left_to_them),
	KUNIT_CASE(delays_are_rounded),
	KUNIT_CASE(windows_are_those_of_the_schedule_until_it_ends),
	KUNIT_CASE(the_period_is_bounded),
	KUNIT_CASE(does_not_look_farther_than_it_may),
	KUNIT_CASE(a_path_that_is_gone_is_not_left_anything),
	KUNIT_CASE(neither_is_one_after_a_timeout),
	KUNIT_CASE(neither_is_one_that_no_ack_will_come_on),
	KUNIT_CASE(a_new_path_is_in_the_schedule_at_once),
	KUNIT_CASE(a_schedule_of_the_past_starves_nobody),
	KUNIT_CASE(a_reinjection_goes_to_the_lowest_rtt),
	KUNIT_CASE(copies_are_sent_when_the_window_is_closed),
	KUNIT_CASE(backups_are_last_if_that_is_wanted),
	{}
};

static struct kunit_suite suite = {
	.name		= "mptcp_timetable",
	.test_cases	= cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tests of the MPTCP scheduler timetable");
