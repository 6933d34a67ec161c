// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of blest on constructed states. */

#include <linux/delay.h>

#include "vocabulary.h"

/* RTT 20 and 100 ms, 10 segments each, the fast one full and past slow start;
 * lambda is 1.2.
 */
static struct two_paths two_paths(struct kunit *test, bool paper)
{
	struct two_paths p = { .conn = mps_test_conn(test, "blest") };

	mps_test_param(p.conn, "paper", paper);
	p.fast = mps_test_subflow(p.conn, .srtt_us = 20 * MSEC_US, .ssthresh_pkts = 10);
	p.slow = mps_test_subflow(p.conn, .srtt_us = 100 * MSEC_US, .ssthresh_pkts = 10);
	mps_test_in_flight(p.conn, MSS, p.fast);
	mps_test_fill(p.fast);
	p.head = mps_test_unsent(p.conn, MSS);
	return p;
}

static void takes_the_lowest_rtt_that_has_room(struct kunit *test)
{
	struct two_paths p = two_paths(test, false);

	p.fast->in_flight_pkts = 0;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, p.head);
}

static void waits_when_both_are_full(struct kunit *test)
{
	struct two_paths p = two_paths(test, false);

	mps_test_fill(p.slow);
	EXPECT_WAIT(test, p.conn);
}

/* r = 5: (10 + 4 / 2) x 5 = 60 segments, x 1448 x 1.2 = 104256 bytes, and 1448
 * for the segment itself on the slow path: 105704.
 */
static void the_paper_keeps_the_window_free_for_the_fast_path(struct kunit *test)
{
	struct two_paths p = two_paths(test, true);

	p.conn->window_bytes = 105703;
	EXPECT_WAIT(test, p.conn);
	p.conn->window_bytes = 105704;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
}

/* Seven more segments on the slow path are seven more in the window. */
static void the_paper_counts_what_is_in_flight_on_the_slow_path(struct kunit *test)
{
	struct two_paths p = two_paths(test, true);

	p.slow->in_flight_pkts = 7;
	p.conn->window_bytes = 105704 + 7 * MSS - 1;
	EXPECT_WAIT(test, p.conn);
	p.conn->window_bytes++;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
}

/* RTT 30 and 100 ms, r = 3.333: (10 + 1.1665) x 3.333 = 37 segments. */
static void the_paper_counts_parts_of_a_round(struct kunit *test)
{
	struct two_paths p = two_paths(test, true);
	u32 needed = 37 * MSS * 12 / 10 + MSS;

	p.fast->srtt_us = 30 * MSEC_US;
	p.conn->window_bytes = needed - 1;
	EXPECT_WAIT(test, p.conn);
	p.conn->window_bytes = needed;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
}

/* The first vector: 6 rounds, (10 + 1 + 5 / 2) x 6 = 78 segments, x 1448 x 1.2
 * = 135532 bytes; 131072 - 1448 are too few, 262144 - 1448 enough.
 */
static void keeps_the_window_free_for_the_fast_path(struct kunit *test)
{
	struct two_paths p = two_paths(test, false);

	p.conn->window_bytes = 131072;
	EXPECT_WAIT(test, p.conn);
	p.conn->window_bytes = 262144;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
	p.conn->window_bytes = 135532 + 1448;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
	p.conn->window_bytes--;
	EXPECT_WAIT(test, p.conn);
}

/* The second: 10 x (2^6 - 1) = 630 segments, 1094688 bytes. */
static void keeps_more_of_it_free_in_slow_start(struct kunit *test)
{
	struct two_paths p = two_paths(test, false);

	p.fast->ssthresh_pkts = TCP_INFINITE_SSTHRESH;
	p.conn->window_bytes = 131072;
	EXPECT_WAIT(test, p.conn);
	p.conn->window_bytes = 262144;
	EXPECT_WAIT(test, p.conn);
	p.conn->window_bytes = 1094688 + 1448 - 1;
	EXPECT_WAIT(test, p.conn);
	p.conn->window_bytes++;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
}

/* The slow path has been between 100 and 200 ms, the fast one at 20 and 30: with
 * 4 + 1 of 10 in flight 150 ms, 150 / 25 + 1 = 7 rounds, (11 + 3) x 7 = 98
 * segments; of the slow path 4 x 1448 are outstanding.
 */
static void expects_the_rtt_to_grow_with_the_window(struct kunit *test)
{
	struct two_paths p = two_paths(test, false);
	u32 needed = 98 * MSS * 12 / 10 + 5 * MSS;

	mps_test_decide(p.conn);
	p.fast->srtt_us = 30 * MSEC_US;
	p.slow->srtt_us = 200 * MSEC_US;
	mps_test_decide(p.conn);
	p.fast->srtt_us = 20 * MSEC_US;
	p.slow->srtt_us = 100 * MSEC_US;
	p.slow->in_flight_pkts = 4;
	p.slow->outstanding_bytes = 4 * MSS;

	p.conn->window_bytes = needed - 1;
	EXPECT_WAIT(test, p.conn);
	p.conn->window_bytes = needed;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
}

/* What 60 segments need with lambda / 1000, and one more. */
static void expect_lambda(struct kunit *test, struct two_paths *p, u32 lambda_1000)
{
	u32 needed = 60ULL * MSS * lambda_1000 / 1000 + MSS;

	p->conn->window_bytes = needed - 1;
	EXPECT_WAIT(test, p->conn);
	p->conn->window_bytes = needed;
	EXPECT_PICK(test, p->conn, MPS_NEW, p->slow, p->head);
}

/* The window is closed, and the fast path has room. */
static void block(struct kunit *test, struct two_paths *p)
{
	p->conn->window_bytes = 0;
	p->fast->in_flight_pkts = 0;
	mps_test_decide(p->conn);
	mps_test_fill(p->fast);
}

static void lambda_grows_when_the_window_was_blocked(struct kunit *test)
{
	struct two_paths p = two_paths(test, true);

	expect_lambda(test, &p, 1200);
	block(test, &p);
	/* not within a round trip of the slow path */
	expect_lambda(test, &p, 1200);
	msleep(100);
	expect_lambda(test, &p, 1240);
}

static void lambda_shrinks_when_it_was_not(struct kunit *test)
{
	struct two_paths p = two_paths(test, true);

	msleep(100);
	expect_lambda(test, &p, 1190);
	msleep(100);
	expect_lambda(test, &p, 1180);
}

/* With nothing to send, a writer waits until a third of the send buffer is free: the
 * window was blocked if none of it was.
 */
static void lambda_grows_when_the_send_buffer_was_full(struct kunit *test)
{
	int full;

	for (full = 0; full <= 1; full++) {
		struct two_paths p = two_paths(test, true);

		p.fast->in_flight_pkts--;
		EXPECT_SENT(test, p.conn, MPS_NEW, p.fast, p.head);
		p.fast->in_flight_pkts--;
		p.conn->writer_waits = true;
		p.conn->sndbuf_full = full;
		mps_test_decide(p.conn);
		mps_test_fill(p.fast);
		p.conn->writer_waits = false;
		p.conn->sndbuf_full = false;
		p.head = mps_test_unsent(p.conn, MSS);
		msleep(100);
		expect_lambda(test, &p, full ? 1240 : 1190);
	}
}

static void lambda_stays_within_its_bounds(struct kunit *test)
{
	struct two_paths p = two_paths(test, true);
	int i;

	for (i = 0; i < 4; i++) {
		block(test, &p);
		msleep(100);
		p.conn->window_bytes = SZ_1G;
		mps_test_decide(p.conn);
	}
	expect_lambda(test, &p, 1300);
	for (i = 0; i < 40; i++) {
		msleep(100);
		mps_test_decide(p.conn);
	}
	expect_lambda(test, &p, 1000);
}

/* --- what is waited for */

/* The window is too small for both. */
static void expect_slow(struct kunit *test, struct two_paths p)
{
	p.conn->window_bytes = 2 * MSS;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
}

static void expect_wait(struct kunit *test, struct two_paths p)
{
	p.conn->window_bytes = 2 * MSS;
	EXPECT_WAIT(test, p.conn);
}

static void does_not_wait_for_a_path_that_is_gone(struct kunit *test)
{
	struct two_paths p = two_paths(test, false);

	mps_test_usable(p.fast, false);
	KUNIT_EXPECT_EQ(test, mps_test_send_on(p.conn), p.slow->id);
	expect_slow(test, p);
}

static void waits_for_a_path_after_a_timeout_when_it_is_back(struct kunit *test)
{
	struct two_paths p = two_paths(test, false);

	mps_test_rto(p.fast);
	/* what it carried comes first */
	KUNIT_EXPECT_EQ(test, mps_test_send_on(p.conn), p.slow->id);
	expect_slow(test, p);
	mps_test_usable(p.fast, true);
	mps_test_fill(p.fast);
	expect_wait(test, p);
}

static void does_not_wait_for_a_backup(struct kunit *test)
{
	struct two_paths p = two_paths(test, false);

	mps_test_backup(p.fast, true);
	expect_slow(test, p);
}

/* What was queued just now is not sent yet. */
static void waits_for_what_is_about_to_be_in_flight(struct kunit *test)
{
	struct two_paths p = two_paths(test, false);

	p.fast->in_flight_pkts = 0;
	p.fast->unsent_bytes = 10 * MSS;
	expect_wait(test, p);
}

static void does_not_wait_when_nothing_is_in_flight(struct kunit *test)
{
	struct two_paths p = two_paths(test, false);

	p.fast->in_flight_pkts = 0;
	p.fast->cwnd_pkts = 0;
	expect_slow(test, p);
}

/* 100 / 100 + 1 = 2 rounds: (11 + 1 / 2) x 2 = 22 segments, x 1448 x 1.2 = 38227 */
static void waits_for_an_equal_path_as_for_any_other(struct kunit *test)
{
	struct two_paths p = two_paths(test, false);

	/* no decision yet: it has been so from the beginning */
	p.fast->srtt_us = p.slow->srtt_us;
	p.conn->window_bytes = 38227 + MSS - 1;
	EXPECT_WAIT(test, p.conn);
	p.conn->window_bytes++;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
}

static void waits_for_a_path_in_fast_recovery(struct kunit *test)
{
	struct two_paths p = two_paths(test, false);

	mps_test_loss(p.fast);
	expect_wait(test, p);
}

static void backups_wait_for_one_another(struct kunit *test)
{
	struct two_paths p = two_paths(test, false);

	mps_test_backup(p.fast, true);
	mps_test_backup(p.slow, true);
	expect_wait(test, p);
}

static void no_figure_makes_it_fail(struct kunit *test)
{
	static const u32 extremes[] = { 0, 1, U32_MAX };
	unsigned int paper, i, j, k;

	for (paper = 0; paper <= 1; paper++) {
		struct two_paths p = two_paths(test, paper);

		for (i = 0; i < ARRAY_SIZE(extremes); i++) {
			for (j = 0; j < ARRAY_SIZE(extremes); j++) {
				for (k = 0; k < ARRAY_SIZE(extremes); k++) {
					p.fast->srtt_us = extremes[i];
					p.fast->cwnd_pkts = extremes[j];
					p.fast->in_flight_pkts = extremes[j];
					p.fast->ssthresh_pkts = extremes[k];
					p.fast->mss_bytes = extremes[k] ? U16_MAX : 0;
					p.slow->srtt_us = U32_MAX;
					p.conn->window_bytes = MSS;
					mps_test_decide(p.conn);
				}
			}
		}
		/* the most that it may be is more than any window */
		p.fast->srtt_us = 1;
		p.conn->window_bytes = U32_MAX;
		EXPECT_WAIT(test, p.conn);
	}
}

/* --- reinjections, and a window smaller than a segment */

static void reinjections_wait_as_new_data_does(struct kunit *test)
{
	struct two_paths p = two_paths(test, false);
	struct mps_segment *seg = mps_oldest_unacked(p.conn);

	mps_test_reinject(p.conn, seg);
	p.conn->window_bytes = 2 * MSS;
	EXPECT_WAIT(test, p.conn);
	KUNIT_EXPECT_NULL(test, conn_core(p.conn)->ops->get_subflow(p.conn, seg));
	p.conn->window_bytes = SZ_1G;
	EXPECT_PICK(test, p.conn, MPS_REINJECTION, p.slow, seg);
	KUNIT_EXPECT_PTR_EQ(test, conn_core(p.conn)->ops->get_subflow(p.conn, seg), p.slow);
}

static void sends_what_it_can_into_a_tiny_window(struct kunit *test)
{
	struct two_paths p = two_paths(test, false);

	p.fast->in_flight_pkts = 0;
	p.conn->window_bytes = MSS / 2;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, p.head);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(takes_the_lowest_rtt_that_has_room),
	KUNIT_CASE(waits_when_both_are_full),
	KUNIT_CASE(the_paper_keeps_the_window_free_for_the_fast_path),
	KUNIT_CASE(the_paper_counts_what_is_in_flight_on_the_slow_path),
	KUNIT_CASE(the_paper_counts_parts_of_a_round),
	KUNIT_CASE(keeps_the_window_free_for_the_fast_path),
	KUNIT_CASE(keeps_more_of_it_free_in_slow_start),
	KUNIT_CASE(expects_the_rtt_to_grow_with_the_window),
	KUNIT_CASE(lambda_grows_when_the_window_was_blocked),
	KUNIT_CASE(lambda_shrinks_when_it_was_not),
	KUNIT_CASE(lambda_grows_when_the_send_buffer_was_full),
	KUNIT_CASE(lambda_stays_within_its_bounds),
	KUNIT_CASE(does_not_wait_for_a_path_that_is_gone),
	KUNIT_CASE(waits_for_a_path_after_a_timeout_when_it_is_back),
	KUNIT_CASE(does_not_wait_for_a_backup),
	KUNIT_CASE(waits_for_what_is_about_to_be_in_flight),
	KUNIT_CASE(does_not_wait_when_nothing_is_in_flight),
	KUNIT_CASE(waits_for_an_equal_path_as_for_any_other),
	KUNIT_CASE(waits_for_a_path_in_fast_recovery),
	KUNIT_CASE(backups_wait_for_one_another),
	KUNIT_CASE(no_figure_makes_it_fail),
	KUNIT_CASE(reinjections_wait_as_new_data_does),
	KUNIT_CASE(sends_what_it_can_into_a_tiny_window),
	{}
};

static struct kunit_suite suite = {
	.name		= "mptcp_blest",
	.test_cases	= cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tests of the MPTCP scheduler blest");
