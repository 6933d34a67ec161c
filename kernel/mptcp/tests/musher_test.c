// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of the scheduler `musher` on constructed states, and its search. */

#include "shares.h"

static struct paths *two_paths(struct kunit *test, u32 ratio, u64 first, u64 second)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");

	mps_test_param(conn, "ratio", ratio);
	return paths_of(test, conn, first, second, 0);
}

/* --- the ratio */

/* The newer of two has the ratio, the older one begins. */
static void musher_sends_each_part_of_a_round_in_a_row(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");
	int round;

	mps_test_param(conn, "ratio", 70);
	mps_test_subflow(conn, .cwnd_pkts = 100000);
	mps_test_subflow(conn, .cwnd_pkts = 100000);
	for (round = 0; round < 2; round++) {
		expect_sent_on(test, conn, 30, 1);
		expect_sent_on(test, conn, 70, 2);
	}
}

/* The ratio for every other one, from the newest on; what is left of 100 for each of
 * the others.
 */
static void musher_has_one_ratio_for_three(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");
	int i;

	mps_test_param(conn, "ratio", 70);
	for (i = 0; i < 3; i++)
		mps_test_subflow(conn, .cwnd_pkts = 100000);
	expect_sent_on(test, conn, 70, 1);
	expect_sent_on(test, conn, 30, 2);
	expect_sent_on(test, conn, 70, 3);
	expect_sent_on(test, conn, 70, 1);
}

/* Where the source would spin, and send nothing any more. */
static void musher_sends_on_a_share_of_nothing_if_there_is_no_other(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");
	struct mps_subflow *older;

	mps_test_param(conn, "ratio", 0);
	older = mps_test_subflow(conn, .cwnd_pkts = 100000);
	mps_test_subflow(conn, .cwnd_pkts = 100000);
	expect_sent_on(test, conn, 200, 1);
	mps_test_usable(older, false);
	expect_sent_on(test, conn, 200, 2);
}

static void musher_gives_all_to_a_single_subflow(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");

	mps_test_subflow(conn, .cwnd_pkts = 100000);
	expect_sent_on(test, conn, 300, 1);
	EXPECT_WAIT(test, conn);
}

static void musher_waits_for_the_one_whose_turn_it_is(struct kunit *test)
{
	int limited;

	for (limited = 0; limited <= 1; limited++) {
		struct mps_conn *conn = mps_test_conn(test, "musher");
		struct mps_subflow *one;

		mps_test_param(conn, "cwnd_limited", limited);
		one = mps_test_subflow(conn);
		mps_test_subflow(conn);
		expect_sent_on(test, conn, 10, 1);
		if (!limited) {
			mps_test_unsent(conn, MSS);
			EXPECT_WAIT(test, conn);
			mps_test_ack(one, 1);
			KUNIT_EXPECT_EQ(test, mps_test_send_on(conn), 1U);
		} else {
			expect_sent_on(test, conn, 10, 2);
		}
	}
}

static void musher_waits_for_none_that_might_not_come_back(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *two = mps_test_subflow(conn);
	struct mps_segment *seg = mps_test_unsent(conn, MSS);

	mps_test_fill(one);
	EXPECT_WAIT(test, conn);
	one->ca_state = TCP_CA_Loss;
	EXPECT_SENT(test, conn, MPS_NEW, two, seg);
	one->ca_state = TCP_CA_Open;
	mps_test_rto(one);
	seg = mps_test_unsent(conn, MSS);
	EXPECT_SENT(test, conn, MPS_NEW, two, seg);
	mps_test_close(one);
	seg = mps_test_unsent(conn, MSS);
	EXPECT_SENT(test, conn, MPS_NEW, two, seg);
}

/* What waits to be handed to TCP takes its place in the window. */
static void musher_lets_nothing_wait_beyond_the_room(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");
	struct mps_subflow *only = mps_test_subflow(conn, .in_flight_pkts = 9);
	struct mps_segment *seg = mps_test_unsent(conn, MSS);

	only->unsent_bytes = MSS - 1;
	EXPECT_SENT(test, conn, MPS_NEW, only, seg);
	mps_test_unsent(conn, MSS);
	only->in_flight_pkts = 9;
	only->unsent_bytes = MSS;
	EXPECT_WAIT(test, conn);
}

/* --- bursts */

static struct mps_subflow *full_subflow(struct mps_conn *conn)
{
	return mps_test_subflow(conn, .in_flight_pkts = 10);
}

/* Where the others are full, and it has room for one segment, so many go there. */
static void expect_burst(struct kunit *test, struct mps_conn *conn, struct mps_subflow *subflow,
			 u32 pkts)
{
	u32 n = 0;

	subflow->in_flight_pkts = subflow->cwnd_pkts - 1;
	subflow->unsent_bytes = 0;
	while (mps_test_send_on(conn) == subflow->id)
		n++;
	KUNIT_EXPECT_EQ(test, n, pkts);
	mps_test_fill(subflow);
}

/* The source's buffers have 45 segments of 1448 bytes; what a share leaves of one is a
 * buffer of its own.
 */
static void musher_sends_a_burst_where_there_is_room_for_a_segment(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");
	struct mps_subflow *one = full_subflow(conn), *two = full_subflow(conn);

	mps_test_unsent_pkts(conn, 200);
	expect_burst(test, conn, two, 0);
	expect_burst(test, conn, one, 45);
	expect_burst(test, conn, one, 5);
	expect_burst(test, conn, two, 40);
	expect_burst(test, conn, one, 0);
	expect_burst(test, conn, two, 10);
	expect_burst(test, conn, one, 35);
	expect_burst(test, conn, one, 15);
}

/* The second burst has 2 of a buffer of 45, all of which are counted. */
static void musher_counts_what_the_window_cuts_off(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");
	struct mps_subflow *one = full_subflow(conn), *two = full_subflow(conn);

	mps_test_unsent_pkts(conn, 200);
	expect_burst(test, conn, one, 45);
	conn->window_bytes = 47 * MSS;
	expect_burst(test, conn, one, 2);
	conn->window_bytes = SZ_1G;
	expect_burst(test, conn, one, 0);
	expect_burst(test, conn, two, 43);
	expect_burst(test, conn, two, 7);
}

/* A segment that does not fit is no burst: each time it is counted anew. */
static void musher_counts_a_segment_that_does_not_fit_each_time(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");
	struct mps_subflow *one = mps_test_subflow(conn), *two = mps_test_subflow(conn);
	struct mps_segment *seg = mps_test_unsent(conn, MSS);
	int i;

	conn->window_bytes = MSS - 1;
	for (i = 0; i < 50; i++)
		EXPECT_PICK(test, conn, MPS_NEW, one, seg);
	EXPECT_PICK(test, conn, MPS_NEW, two, seg);
}

static void musher_fills_no_buffer_with_more_than_half_a_window(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");
	struct mps_subflow *one = full_subflow(conn);

	mps_test_unsent_pkts(conn, 200);
	conn->window_bytes = 21 * MSS;
	expect_burst(test, conn, one, 10);
	conn->window_bytes = SZ_1G;
	expect_burst(test, conn, one, 40);
	/* that of now may be smaller */
	conn->window_bytes = 100 * MSS;
	expect_burst(test, conn, one, 5);
	expect_burst(test, conn, one, 45);
}

/* What is left of the last buffer is filled up; what was sent is not. */
static void musher_bursts_are_of_what_is_written(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");
	struct mps_subflow *one = full_subflow(conn), *two = full_subflow(conn);

	mps_test_unsent_pkts(conn, 3);
	expect_burst(test, conn, one, 3);
	mps_test_unsent_pkts(conn, 57);
	expect_burst(test, conn, one, 45);
	expect_burst(test, conn, one, 2);
	mps_test_unsent_pkts(conn, 100);
	expect_burst(test, conn, two, 45);
}

/* A part of a burst that was not handed over is left to the other one. */
static void musher_ends_the_burst_of_a_subflow_that_fails(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");
	struct mps_subflow *one = mps_test_subflow(conn), *two = full_subflow(conn);

	mps_test_unsent_pkts(conn, 200);
	KUNIT_EXPECT_EQ(test, mps_test_send_on(conn), 1U);
	one->ca_state = TCP_CA_Loss;
	expect_burst(test, conn, two, 44);
}

static void musher_counts_what_the_receive_window_holds_back(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");
	struct mps_segment *seg;
	struct mps_subflow *one = mps_test_subflow(conn), *two = mps_test_subflow(conn);
	int i;

	seg = mps_test_unsent(conn, MSS);
	conn->window_bytes = 0;
	for (i = 0; i < 50; i++)
		EXPECT_PICK(test, conn, MPS_NEW, one, seg);
	EXPECT_PICK(test, conn, MPS_NEW, two, seg);
}

/* On the oldest that has not carried it; until there is one, nothing else is sent. */
static void musher_sends_reinjections_first(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");
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

static void musher_uses_backups_last_if_that_is_wanted(struct kunit *test)
{
	int last;

	for (last = 0; last <= 1; last++) {
		struct mps_conn *conn = mps_test_conn(test, "musher");

		mps_test_param(conn, "spare_backups", last);
		mps_test_subflow(conn, .backup = true);
		mps_test_subflow(conn, .cwnd_pkts = 1000);
		expect_sent_on(test, conn, 1, last ? 2 : 1);
	}
}

/* --- the search of the source */

/* A mean of 5 looks is the reference, 5 looks differ from it, and each step takes one.
 * 100 Mbit/s with 50, 111 with 55, ..., 333 with 85, 311 with 90.
 */
static void musher_searches_to_the_right(struct kunit *test)
{
	struct paths *p = two_paths(test, 50, 300000, 300000);

	looks(p, 20);
	EXPECT_SHARE(p, 1, 50);
	p->kbps[0] = 50000;
	p->kbps[1] = 280000;
	looks(p, 5 + 1 + 8 + 2);
	EXPECT_SHARE(p, 1, 85);
	looks(p, 30);
	EXPECT_SHARE(p, 1, 85);
}

static void musher_searches_to_the_left(struct kunit *test)
{
	struct paths *p = two_paths(test, 50, 300000, 300000);

	looks(p, 20);
	p->kbps[0] = 280000;
	p->kbps[1] = 50000;
	looks(p, 30);
	EXPECT_SHARE(p, 1, 15);
}

/* Neither 55 nor 45 brings 5 Mbit/s more: it ends a step beyond 45. And not again:
 * what queued in the search counts for ever.
 */
static void musher_ends_where_the_source_does_when_nothing_helps(struct kunit *test)
{
	struct paths *p = two_paths(test, 50, 10000, 3000);

	looks(p, 10);
	EXPECT_SHARE(p, 1, 50);
	p->subflows[0]->outstanding_bytes -= 76000;
	looks(p, 20);
	EXPECT_SHARE(p, 1, 40);
	p->subflows[0]->outstanding_bytes -= 76000;
	looks(p, 40);
	EXPECT_SHARE(p, 1, 40);
}

/* It cannot go left: the step to the right that failed stays. */
static void musher_cannot_go_below_a_step(struct kunit *test)
{
	struct paths *p = two_paths(test, 5, 10000, 3000);

	looks(p, 10);
	p->subflows[0]->outstanding_bytes -= 76000;
	looks(p, 20);
	EXPECT_SHARE(p, 1, 10);
}

/* With 90, the one path stops all at 10 Mbit/s, with 95 at 20; with 100 it is not used.
 * The source goes on, to 105.
 */
static void musher_ends_its_search_at_the_whole(struct kunit *test)
{
	struct paths *p = two_paths(test, 90, 300000, 300000);

	looks(p, 20);
	p->kbps[0] = 1000;
	looks(p, 40);
	EXPECT_SHARE(p, 1, 100);
}

static void musher_does_not_search_for_less_than_its_thresholds(struct kunit *test)
{
	struct paths *p = two_paths(test, 50, 300000, 300000);

	looks(p, 20);
	p->kbps[0] = 201000;
	p->subflows[0]->outstanding_bytes -= 75000;
	looks(p, 40);
	EXPECT_SHARE(p, 1, 50);
}

static void musher_keeps_searches_apart(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");
	struct paths *p;

	mps_test_param(conn, "spacing_ms", 20000);
	p = paths_of(test, conn, 300000, 300000, 0);
	looks(p, 20);
	p->kbps[0] = 50000;
	looks(p, 20);
	KUNIT_EXPECT_GT(test, p->sent[1], 80U);
	p->kbps[0] = 300000;
	p->kbps[1] = 50000;
	/* too soon, and then it has become the reference */
	looks(p, 60);
	KUNIT_EXPECT_GT(test, p->sent[1], 80U);
}

static void musher_without_search_keeps_its_ratio(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");
	struct paths *p;

	mps_test_param(conn, "search", 0);
	mps_test_param(conn, "ratio", 30);
	p = paths_of(test, conn, 300000, 300000, 0);
	looks(p, 20);
	p->kbps[0] = 10000;
	looks(p, 40);
	EXPECT_SHARE(p, 1, 30);
}

static void musher_counts_a_device_once(struct kunit *test)
{
	struct paths *p = two_paths(test, 50, 150000, 150000);

	/* 300 of 600 Mbit/s that the two would count: a fall by 150 is no trigger */
	p->devices[1] = p->devices[0];
	subflow_core(p->subflows[1])->ssk->sk_dst_cache =
		subflow_core(p->subflows[0])->ssk->sk_dst_cache;
	looks(p, 20);
	p->kbps[0] = 75000;
	looks(p, 30);
	EXPECT_SHARE(p, 1, 50);
}

static void musher_survives_states_that_make_no_sense(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");

	mps_test_param(conn, "step", 50);
	mps_test_param(conn, "better_kbps", 0);
	mps_test_param(conn, "rate_change_kbps", 1);
	mps_test_param(conn, "spacing_ms", 0);
	survives_states_that_make_no_sense(test, conn);
}

static struct kunit_case musher_cases[] = {
	KUNIT_CASE(musher_sends_each_part_of_a_round_in_a_row),
	KUNIT_CASE(musher_has_one_ratio_for_three),
	KUNIT_CASE(musher_sends_on_a_share_of_nothing_if_there_is_no_other),
	KUNIT_CASE(musher_gives_all_to_a_single_subflow),
	KUNIT_CASE(musher_waits_for_the_one_whose_turn_it_is),
	KUNIT_CASE(musher_waits_for_none_that_might_not_come_back),
	KUNIT_CASE(musher_lets_nothing_wait_beyond_the_room),
	KUNIT_CASE(musher_sends_a_burst_where_there_is_room_for_a_segment),
	KUNIT_CASE(musher_counts_what_the_window_cuts_off),
	KUNIT_CASE(musher_counts_a_segment_that_does_not_fit_each_time),
	KUNIT_CASE(musher_fills_no_buffer_with_more_than_half_a_window),
	KUNIT_CASE(musher_bursts_are_of_what_is_written),
	KUNIT_CASE(musher_ends_the_burst_of_a_subflow_that_fails),
	KUNIT_CASE(musher_counts_what_the_receive_window_holds_back),
	KUNIT_CASE(musher_sends_reinjections_first),
	KUNIT_CASE(musher_uses_backups_last_if_that_is_wanted),
	KUNIT_CASE(musher_searches_to_the_right),
	KUNIT_CASE(musher_searches_to_the_left),
	KUNIT_CASE(musher_ends_where_the_source_does_when_nothing_helps),
	KUNIT_CASE(musher_cannot_go_below_a_step),
	KUNIT_CASE(musher_ends_its_search_at_the_whole),
	KUNIT_CASE(musher_does_not_search_for_less_than_its_thresholds),
	KUNIT_CASE(musher_keeps_searches_apart),
	KUNIT_CASE(musher_without_search_keeps_its_ratio),
	KUNIT_CASE(musher_counts_a_device_once),
	KUNIT_CASE(musher_survives_states_that_make_no_sense),
	{}
};

static struct kunit_suite musher_suite = {
	.name		= "mptcp-musher",
	.test_cases	= musher_cases,
};

kunit_test_suite(musher_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of the MPTCP scheduler musher");
