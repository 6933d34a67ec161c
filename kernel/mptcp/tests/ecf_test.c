// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of ecf on constructed states. */

#include "vocabulary.h"

/* RTT 20 and 100 ms, 10 segments each, the fast one full, and `waiting_pkts` to
 * send. Without a spread of the RTT, so that delta is 0, unless said otherwise.
 */
static struct two_paths two_paths(struct kunit *test, bool paper, u32 waiting_pkts)
{
	struct two_paths p = { .conn = mps_test_conn(test, "ecf") };

	mps_test_param(p.conn, "paper_k", paper);
	mps_test_param(p.conn, "paper_delta", paper);
	p.fast = mps_test_subflow(p.conn, .srtt_us = 20 * MSEC_US);
	p.slow = mps_test_subflow(p.conn, .srtt_us = 100 * MSEC_US);
	mps_test_fill(p.fast);
	p.head = mps_test_unsent_pkts(p.conn, waiting_pkts);
	return p;
}

/* The same, and it was waited for the fast path before. */
static struct two_paths waiting(struct kunit *test, bool paper, u32 waiting_pkts)
{
	struct two_paths p = two_paths(test, paper, 10);

	EXPECT_WAIT(test, p.conn);
	mps_test_unsent_pkts(p.conn, waiting_pkts - 10);
	return p;
}

static void expect_slow(struct kunit *test, struct two_paths p)
{
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
}

static void expect_wait(struct kunit *test, struct two_paths p)
{
	EXPECT_WAIT(test, p.conn);
}

static void takes_the_lowest_rtt_that_has_room(struct kunit *test)
{
	struct two_paths p = two_paths(test, false, 10);

	p.fast->in_flight_pkts = 0;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, p.head);
}

static void waits_when_both_are_full(struct kunit *test)
{
	struct two_paths p = two_paths(test, true, 1);

	mps_test_fill(p.slow);
	expect_wait(test, p);
}

/* --- the module */

/* (1 + k / 10) x 20 ms < 100 ms up to k = 39; 10 at least, and 100 >= 2 x 20 */
static void more_than_the_fast_path_carries_meanwhile_goes_to_both(struct kunit *test)
{
	expect_wait(test, two_paths(test, false, 1));
	expect_wait(test, two_paths(test, false, 39));
	expect_slow(test, two_paths(test, false, 40));
}

/* ... and, having waited, < 1.25 x 100 ms up to k = 52 */
static void having_waited_it_waits_for_more(struct kunit *test)
{
	struct two_paths p;

	expect_wait(test, waiting(test, false, 52));
	p = waiting(test, false, 53);
	EXPECT_SENT(test, p.conn, MPS_NEW, p.slow, p.head);
	/* that ends the waiting: 52 go to both now */
	KUNIT_EXPECT_EQ(test, mps_test_send_on(p.conn), p.slow->id);
}

static struct two_paths with_margin(struct kunit *test, u32 waiting_pkts, u32 fast_ms,
				    u32 slow_ms)
{
	struct two_paths p = two_paths(test, false, waiting_pkts);

	p.fast->rto_margin_us = fast_ms * MSEC_US;
	p.slow->rto_margin_us = slow_ms * MSEC_US;
	return p;
}

/* TCP's least one is 200 ms, delta half of it: (1 + k / 10) x 20 < 200 up to k = 89,
 * and k / 10 x 100 >= 2 x 20 + 100 from 14 on; having waited, < 1.25 x 200 up to 114.
 */
static void the_margin_of_the_timeout_is_the_spread(struct kunit *test)
{
	struct two_paths p;

	expect_slow(test, with_margin(test, 13, 200, 200));
	expect_wait(test, with_margin(test, 14, 200, 200));
	expect_wait(test, with_margin(test, 89, 200, 200));
	expect_slow(test, with_margin(test, 90, 200, 200));
	p = with_margin(test, 14, 200, 200);
	expect_wait(test, p);
	mps_test_unsent_pkts(p.conn, 100);
	expect_wait(test, p);
	mps_test_unsent_pkts(p.conn, 1);
	expect_slow(test, p);
}

/* delta 200: (1 + k / 10) x 20 < 300 up to k = 139; k / 10 x 100 >= 240 from 24 on */
static void the_larger_margin_counts_for_both(struct kunit *test)
{
	int side;

	for (side = 0; side <= 1; side++) {
		u32 fast_ms = side ? 400 : 200, slow_ms = side ? 200 : 400;

		expect_slow(test, with_margin(test, 23, fast_ms, slow_ms));
		expect_wait(test, with_margin(test, 24, fast_ms, slow_ms));
		expect_wait(test, with_margin(test, 139, fast_ms, slow_ms));
		expect_slow(test, with_margin(test, 140, fast_ms, slow_ms));
	}
}

/* `sent_pkts` segments are on their way over the slow path, and the fast one is full.
 * Having waited makes no difference.
 */
static struct two_paths with_sent(struct kunit *test, u32 sent_pkts, u32 waiting_pkts)
{
	struct two_paths p = { .conn = mps_test_conn(test, "ecf") };

	mps_test_param(p.conn, "beta_permille", 0);
	p.fast = mps_test_subflow(p.conn, .srtt_us = 20 * MSEC_US);
	p.slow = mps_test_subflow(p.conn, .srtt_us = 100 * MSEC_US);
	while (sent_pkts--)
		mps_test_in_flight(p.conn, MSS, p.slow);
	mps_test_fill(p.fast);
	p.head = mps_test_unsent_pkts(p.conn, waiting_pkts);
	return p;
}

static void what_is_on_its_way_does_not_wait_any_more(struct kunit *test)
{
	struct two_paths p;

	expect_wait(test, with_sent(test, 5, 39));
	expect_slow(test, with_sent(test, 5, 40));
	/* nor what has arrived out of order */
	p = with_sent(test, 5, 39);
	mps_test_ack(p.slow, 5);
	expect_wait(test, p);
	mps_test_unsent(p.conn, MSS);
	expect_slow(test, p);
}

/* What a subflow has queued is in its buffer, and not on its way yet: the module
 * subtracts it twice. What two subflows carry is in two buffers.
 */
static void what_is_queued_or_carried_twice_makes_k_smaller(struct kunit *test)
{
	struct two_paths p = with_sent(test, 2, 41);

	p.slow->in_flight_pkts = 0;
	p.slow->unsent_bytes = 2 * MSS;
	expect_wait(test, p);
	mps_test_unsent(p.conn, MSS);
	expect_slow(test, p);

	p = with_sent(test, 2, 41);
	p.fast->outstanding_bytes = 2 * MSS;
	expect_wait(test, p);
	mps_test_unsent(p.conn, MSS);
	expect_slow(test, p);
}

/* Half the window, twice the rounds: (1 + k / 5) x 20 < 125 up to k = 26. */
static void a_penalty_counts_as_a_smaller_window(struct kunit *test)
{
	struct two_paths p = two_paths(test, false, 27);

	expect_wait(test, p);
	mps_penalise(p.fast);
	expect_slow(test, p);
}

/* --- the paper */

/* k / 10 x 100 ms >= 2 x 20 ms from k = 4 on; as above up to 39, or 52 */
static void in_the_paper_a_few_segments_go_to_the_slow_path(struct kunit *test)
{
	expect_slow(test, two_paths(test, true, 1));
	expect_slow(test, two_paths(test, true, 3));
	expect_wait(test, two_paths(test, true, 4));
	expect_wait(test, two_paths(test, true, 39));
	expect_slow(test, two_paths(test, true, 40));
	expect_wait(test, waiting(test, true, 52));
	expect_slow(test, waiting(test, true, 53));
}

/* (1 + k / 10) x 20 < 120 up to k = 49; k / 10 x 100 >= 60 from 6 on */
static void in_the_paper_the_spread_is_the_larger_mean_deviation(struct kunit *test)
{
	static const u32 sends[] = { 5, 50 }, waits[] = { 6, 49 };
	struct two_paths p;
	int i, side;

	for (side = 0; side <= 1; side++) {
		for (i = 0; i < 2; i++) {
			p = two_paths(test, true, sends[i]);
			p.fast->rto_margin_us = 200 * MSEC_US;
			(side ? p.fast : p.slow)->rttvar_us = 20 * MSEC_US;
			expect_slow(test, p);
			p = two_paths(test, true, waits[i]);
			(side ? p.fast : p.slow)->rttvar_us = 20 * MSEC_US;
			expect_wait(test, p);
		}
	}
}

/* What is queued does not make k of the paper smaller. */
static void in_the_paper_all_unsent_bytes_wait(struct kunit *test)
{
	struct two_paths p = two_paths(test, true, 40);

	p.slow->unsent_bytes = 2 * MSS;
	p.slow->outstanding_bytes = 2 * MSS;
	expect_slow(test, p);
}

/* --- what is waited for */

static void does_not_wait_for_a_path_that_is_gone(struct kunit *test)
{
	struct two_paths p = two_paths(test, false, 10);

	mps_test_usable(p.fast, false);
	expect_slow(test, p);
}

static void waits_for_a_path_after_a_timeout_when_it_is_back(struct kunit *test)
{
	struct two_paths p = two_paths(test, false, 10);

	mps_test_rto(p.fast);
	expect_slow(test, p);
	/* something came back; what was lost comes first there */
	mps_test_usable(p.fast, true);
	p.fast->cwnd_pkts = 10;
	mps_test_fill(p.fast);
	expect_wait(test, p);
}

static void does_not_wait_for_a_backup(struct kunit *test)
{
	struct two_paths p = two_paths(test, false, 10);

	mps_test_backup(p.fast, true);
	expect_slow(test, p);
}

/* What was queued just now is not sent yet. */
static void waits_for_what_is_about_to_be_in_flight(struct kunit *test)
{
	struct two_paths p = two_paths(test, false, 10);

	p.fast->in_flight_pkts = 0;
	p.fast->unsent_bytes = 10 * MSS;
	expect_wait(test, p);
}

static void does_not_wait_when_nothing_is_in_flight(struct kunit *test)
{
	struct two_paths p = two_paths(test, false, 10);

	p.fast->in_flight_pkts = 0;
	p.fast->cwnd_pkts = 0;
	expect_slow(test, p);
}

/* RTT 50 ms both, delta 100, windows of 100 and 10: (k + 100) x 50 < 100 x 150 up to
 * k = 199, and k / 10 x 50 >= 200 from 40 on.
 */
static struct two_paths equal_paths(struct kunit *test, u32 waiting_pkts)
{
	struct two_paths p = with_margin(test, waiting_pkts, 200, 200);

	p.fast->srtt_us = 50 * MSEC_US;
	p.slow->srtt_us = 50 * MSEC_US;
	p.fast->cwnd_pkts = 100;
	mps_test_fill(p.fast);
	return p;
}

static void waits_for_an_equal_path_as_for_any_other(struct kunit *test)
{
	expect_slow(test, equal_paths(test, 39));
	expect_wait(test, equal_paths(test, 40));
	expect_wait(test, equal_paths(test, 199));
	expect_slow(test, equal_paths(test, 200));
}

static void waits_for_a_path_in_fast_recovery(struct kunit *test)
{
	struct two_paths p = two_paths(test, false, 10);

	mps_test_loss(p.fast);
	expect_wait(test, p);
}

static void backups_wait_for_one_another(struct kunit *test)
{
	struct two_paths p = two_paths(test, false, 10);

	mps_test_backup(p.fast, true);
	mps_test_backup(p.slow, true);
	expect_wait(test, p);
}

static void no_figure_makes_it_fail(struct kunit *test)
{
	static const u32 extremes[] = { 0, 1, U32_MAX };
	unsigned int paper, i, j, k;

	for (paper = 0; paper <= 1; paper++) {
		struct two_paths p = two_paths(test, paper, 10);

		p.slow->srtt_us = U32_MAX;
		for (i = 0; i < ARRAY_SIZE(extremes); i++) {
			for (j = 0; j < ARRAY_SIZE(extremes); j++) {
				for (k = 0; k < ARRAY_SIZE(extremes); k++) {
					p.fast->srtt_us = extremes[i];
					p.fast->cwnd_pkts = extremes[j];
					p.fast->in_flight_pkts = extremes[j];
					p.slow->mss_bytes = extremes[k];
					p.fast->rttvar_us = extremes[k];
					p.fast->rto_margin_us = extremes[k];
					mps_test_decide(p.conn);
				}
			}
		}
		/* nothing is sooner than 1 us */
		p.fast->srtt_us = 1;
		p.fast->cwnd_pkts = 10;
		mps_test_fill(p.fast);
		p.slow->mss_bytes = MSS;
		p.fast->rttvar_us = 0;
		p.fast->rto_margin_us = 0;
		expect_wait(test, p);
	}
}

/* The module's 32 bits hold 50 ms x 86 KB: here 50 ms x 290 KB, from 100 on. */
static void large_windows_do_not_overflow(struct kunit *test)
{
	struct two_paths p = two_paths(test, false, 100);

	p.fast->srtt_us = 50 * MSEC_US;
	p.slow->srtt_us = 150 * MSEC_US;
	p.fast->cwnd_pkts = 100;
	mps_test_fill(p.fast);
	/* (100 + 100) x 50 < 100 x 150 */
	expect_wait(test, p);
	/* up to k = 199; having waited, < 1.25 x 150 up to 274 */
	mps_test_unsent_pkts(p.conn, 174);
	expect_wait(test, p);
	mps_test_unsent(p.conn, MSS);
	expect_slow(test, p);
}

/* --- reinjections, and a window smaller than a segment */

static void reinjections_wait_as_new_data_does(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "ecf");
	struct mps_subflow *fast = mps_test_subflow(conn, .srtt_us = 20 * MSEC_US);
	struct mps_subflow *slow = mps_test_subflow(conn, .srtt_us = 100 * MSEC_US);
	struct mps_segment *seg = mps_test_in_flight(conn, MSS, fast);

	mps_test_fill(fast);
	mps_test_unsent_pkts(conn, 39);
	mps_test_reinject(conn, seg);
	EXPECT_WAIT(test, conn);
	KUNIT_EXPECT_NULL(test, conn_core(conn)->ops->get_subflow(conn, seg));
	/* 1.25 x 100 ms, now */
	mps_test_unsent_pkts(conn, 14);
	EXPECT_PICK(test, conn, MPS_REINJECTION, slow, seg);
	KUNIT_EXPECT_PTR_EQ(test, conn_core(conn)->ops->get_subflow(conn, seg), slow);
}

static void reinjections_of_a_path_that_is_gone_do_not_wait(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "ecf");
	struct mps_subflow *fast = mps_test_subflow(conn, .srtt_us = 20 * MSEC_US);
	struct mps_subflow *slow = mps_test_subflow(conn, .srtt_us = 100 * MSEC_US);
	struct mps_segment *seg = mps_test_in_flight(conn, MSS, fast);

	mps_test_unsent_pkts(conn, 10);
	mps_test_rto(fast);
	EXPECT_PICK(test, conn, MPS_REINJECTION, slow, seg);
}

static void sends_what_it_can_into_a_tiny_window(struct kunit *test)
{
	struct two_paths p = two_paths(test, false, 1);

	p.fast->in_flight_pkts = 0;
	p.conn->window_bytes = MSS / 2;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, p.head);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(takes_the_lowest_rtt_that_has_room),
	KUNIT_CASE(waits_when_both_are_full),
	KUNIT_CASE(more_than_the_fast_path_carries_meanwhile_goes_to_both),
	KUNIT_CASE(having_waited_it_waits_for_more),
	KUNIT_CASE(the_margin_of_the_timeout_is_the_spread),
	KUNIT_CASE(the_larger_margin_counts_for_both),
	KUNIT_CASE(what_is_on_its_way_does_not_wait_any_more),
	KUNIT_CASE(what_is_queued_or_carried_twice_makes_k_smaller),
	KUNIT_CASE(a_penalty_counts_as_a_smaller_window),
	KUNIT_CASE(in_the_paper_a_few_segments_go_to_the_slow_path),
	KUNIT_CASE(in_the_paper_the_spread_is_the_larger_mean_deviation),
	KUNIT_CASE(in_the_paper_all_unsent_bytes_wait),
	KUNIT_CASE(does_not_wait_for_a_path_that_is_gone),
	KUNIT_CASE(waits_for_a_path_after_a_timeout_when_it_is_back),
	KUNIT_CASE(does_not_wait_for_a_backup),
	KUNIT_CASE(waits_for_what_is_about_to_be_in_flight),
	KUNIT_CASE(does_not_wait_when_nothing_is_in_flight),
	KUNIT_CASE(waits_for_an_equal_path_as_for_any_other),
	KUNIT_CASE(waits_for_a_path_in_fast_recovery),
	KUNIT_CASE(backups_wait_for_one_another),
	KUNIT_CASE(no_figure_makes_it_fail),
	KUNIT_CASE(large_windows_do_not_overflow),
	KUNIT_CASE(reinjections_wait_as_new_data_does),
	KUNIT_CASE(reinjections_of_a_path_that_is_gone_do_not_wait),
	KUNIT_CASE(sends_what_it_can_into_a_tiny_window),
	{}
};

static struct kunit_suite suite = {
	.name		= "mptcp_ecf",
	.test_cases	= cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tests of the MPTCP scheduler ecf");
