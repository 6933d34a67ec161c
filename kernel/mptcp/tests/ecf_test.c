// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of ecf on constructed states. */

#include "vocabulary.h"

/* The vector of the reference: RTT 20 and 100 ms without spread, 10 segments
 * each, the fast one full, and `waiting_pkts` to send.
 */
static struct two_paths two_paths(struct kunit *test, bool v095, u32 waiting_pkts)
{
	struct two_paths p = { .conn = mps_test_conn(test, "ecf") };

	mps_test_param(p.conn, "v095", v095);
	p.fast = mps_test_subflow(p.conn, .srtt_us = 20 * MSEC_US);
	p.slow = mps_test_subflow(p.conn, .srtt_us = 100 * MSEC_US);
	mps_test_fill(p.fast);
	p.head = mps_test_unsent_pkts(p.conn, waiting_pkts);
	return p;
}

/* The same, and it was waited for the fast path before. */
static struct two_paths waiting(struct kunit *test, bool v095, u32 waiting_pkts)
{
	struct two_paths p = two_paths(test, v095, 10);

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
	struct two_paths p = two_paths(test, false, 1);

	mps_test_fill(p.slow);
	expect_wait(test, p);
}

/* k / 10 x 100 ms >= 2 x 20 ms from k = 4 on */
static void a_few_segments_go_to_the_slow_path(struct kunit *test)
{
	expect_slow(test, two_paths(test, false, 1));
	expect_slow(test, two_paths(test, false, 3));
	expect_wait(test, two_paths(test, false, 4));
}

/* (1 + k / 10) x 20 ms < 100 ms up to k = 39 */
static void more_than_the_fast_path_carries_meanwhile_goes_to_both(struct kunit *test)
{
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

/* The module takes at least 10 segments for k: no lower end. */
static void agrees_with_v095(struct kunit *test)
{
	expect_wait(test, two_paths(test, true, 1));
	expect_wait(test, two_paths(test, true, 39));
	expect_slow(test, two_paths(test, true, 40));
	expect_wait(test, waiting(test, true, 52));
	expect_slow(test, waiting(test, true, 53));
}

/* (1 + k / 10) x 20 < 120 up to k = 49; k / 10 x 100 >= 60 from 6 on */
static void the_larger_spread_of_the_rtt_counts_for_both(struct kunit *test)
{
	static const u32 sends[] = { 5, 50 }, waits[] = { 6, 49 };
	struct two_paths p;
	int i, side;

	for (side = 0; side <= 1; side++) {
		for (i = 0; i < 2; i++) {
			p = two_paths(test, false, sends[i]);
			(side ? p.fast : p.slow)->rttvar_us = 20 * MSEC_US;
			expect_slow(test, p);
			p = two_paths(test, false, waits[i]);
			(side ? p.fast : p.slow)->rttvar_us = 20 * MSEC_US;
			expect_wait(test, p);
		}
	}
}

/* ... and 2 x 10 ms are the same to the module */
static void v095_takes_twice_the_mean_deviation(struct kunit *test)
{
	struct two_paths p = two_paths(test, true, 49);

	p.slow->rttvar_us = 10 * MSEC_US;
	expect_wait(test, p);
	p = two_paths(test, true, 50);
	p.slow->rttvar_us = 10 * MSEC_US;
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

/* --- what is not waited for */

static void does_not_wait_for_a_path_that_is_gone(struct kunit *test)
{
	struct two_paths p = two_paths(test, false, 10);

	mps_test_usable(p.fast, false);
	expect_slow(test, p);
}

static void does_not_wait_for_a_path_after_a_timeout(struct kunit *test)
{
	struct two_paths p = two_paths(test, false, 10);

	mps_test_rto(p.fast);
	expect_slow(test, p);
	/* something came back, but what was lost comes first there */
	mps_test_usable(p.fast, true);
	p.fast->cwnd_pkts = 10;
	mps_test_fill(p.fast);
	expect_slow(test, p);
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

static void does_not_wait_for_an_equal_path(struct kunit *test)
{
	struct two_paths p = two_paths(test, false, 10);

	p.fast->srtt_us = p.slow->srtt_us;
	expect_slow(test, p);
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
	unsigned int v095, i, j, k;

	for (v095 = 0; v095 <= 1; v095++) {
		struct two_paths p = two_paths(test, v095, 10);

		p.slow->srtt_us = U32_MAX;
		for (i = 0; i < ARRAY_SIZE(extremes); i++) {
			for (j = 0; j < ARRAY_SIZE(extremes); j++) {
				for (k = 0; k < ARRAY_SIZE(extremes); k++) {
					p.fast->srtt_us = extremes[i];
					p.fast->cwnd_pkts = extremes[j];
					p.fast->in_flight_pkts = extremes[j];
					p.fast->mss_bytes = extremes[k];
					p.fast->rttvar_us = extremes[k];
					mps_test_decide(p.conn);
				}
			}
		}
		/* nothing is sooner than 1 us */
		p.fast->srtt_us = 1;
		p.fast->rttvar_us = 0;
		expect_wait(test, p);
	}
}

/* --- reinjections, and a window smaller than a segment */

static void reinjections_do_not_wait(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "ecf");
	struct mps_subflow *fast = mps_test_subflow(conn, .srtt_us = 20 * MSEC_US);
	struct mps_subflow *slow = mps_test_subflow(conn, .srtt_us = 100 * MSEC_US);
	struct mps_segment *seg = mps_test_in_flight(conn, MSS, fast);

	mps_test_fill(fast);
	mps_test_unsent_pkts(conn, 10);
	mps_test_reinject(conn, seg);
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
	KUNIT_CASE(a_few_segments_go_to_the_slow_path),
	KUNIT_CASE(more_than_the_fast_path_carries_meanwhile_goes_to_both),
	KUNIT_CASE(having_waited_it_waits_for_more),
	KUNIT_CASE(agrees_with_v095),
	KUNIT_CASE(the_larger_spread_of_the_rtt_counts_for_both),
	KUNIT_CASE(v095_takes_twice_the_mean_deviation),
	KUNIT_CASE(a_penalty_counts_as_a_smaller_window),
	KUNIT_CASE(does_not_wait_for_a_path_that_is_gone),
	KUNIT_CASE(does_not_wait_for_a_path_after_a_timeout),
	KUNIT_CASE(does_not_wait_for_a_backup),
	KUNIT_CASE(waits_for_what_is_about_to_be_in_flight),
	KUNIT_CASE(does_not_wait_when_nothing_is_in_flight),
	KUNIT_CASE(does_not_wait_for_an_equal_path),
	KUNIT_CASE(waits_for_a_path_in_fast_recovery),
	KUNIT_CASE(backups_wait_for_one_another),
	KUNIT_CASE(no_figure_makes_it_fail),
	KUNIT_CASE(reinjections_do_not_wait),
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
