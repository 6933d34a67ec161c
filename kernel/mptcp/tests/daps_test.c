// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of daps on constructed states. */

#include "vocabulary.h"

static struct two_paths published(struct kunit *test, u32 fast_ms, u32 slow_ms)
{
	struct two_paths p = { .conn = mps_test_conn(test, "daps") };

	p.fast = mps_test_subflow(p.conn, .srtt_us = fast_ms * MSEC_US);
	p.slow = mps_test_subflow(p.conn, .srtt_us = slow_ms * MSEC_US);
	p.head = mps_test_unsent_pkts(p.conn, 200);
	return p;
}

/* The next `pkts` segments are sent on this subflow. */
static void expect_sent_on(struct kunit *test, struct mps_conn *conn, u32 pkts,
			   struct mps_subflow *subflow)
{
	while (pkts--) {
		struct mps_segment *seg = mps_head(conn);

		EXPECT_SENT(test, conn, MPS_NEW, subflow, seg);
	}
}

/* A window every 8 ms, and one every 32: both at 32 ms, where the schedule ends. */
static void a_window_arrives_in_each_delay(struct kunit *test)
{
	struct two_paths p = published(test, 16, 64);

	expect_sent_on(test, p.conn, 40, p.fast);
	expect_sent_on(test, p.conn, 10, p.slow);
	expect_sent_on(test, p.conn, 40, p.fast);
	expect_sent_on(test, p.conn, 10, p.slow);
}

/* 8, 12, 16, 24 and 24 ms */
static void windows_take_turns_as_they_arrive(struct kunit *test)
{
	struct two_paths p = published(test, 16, 24);

	expect_sent_on(test, p.conn, 10, p.fast);
	expect_sent_on(test, p.conn, 10, p.slow);
	expect_sent_on(test, p.conn, 20, p.fast);
	expect_sent_on(test, p.conn, 10, p.slow);
}

/* Its window at 8 ms is lost, the one at 16 ms is not. */
static void what_a_subflow_misses_is_skipped(struct kunit *test)
{
	struct two_paths p = published(test, 16, 24);

	EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, p.head);
	p.fast->ca_state = TCP_CA_Loss;
	expect_sent_on(test, p.conn, 1, p.slow);
	p.fast->ca_state = TCP_CA_Open;
	expect_sent_on(test, p.conn, 9, p.slow);
	expect_sent_on(test, p.conn, 20, p.fast);
	expect_sent_on(test, p.conn, 10, p.slow);
}

/* Also if nothing was sent meanwhile, since the receive window was closed. */
static void what_a_subflow_misses_while_the_window_is_closed_is_skipped(struct kunit *test)
{
	struct two_paths p = published(test, 16, 24);
	u32 window_bytes = p.conn->window_bytes;

	EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, p.head);
	p.conn->window_bytes = 0;
	mps_test_update(p.conn);
	p.fast->ca_state = TCP_CA_Loss;
	/* which the framework holds back */
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
	p.fast->ca_state = TCP_CA_Open;
	p.conn->window_bytes = window_bytes;
	mps_test_update(p.conn);
	expect_sent_on(test, p.conn, 10, p.slow);
	expect_sent_on(test, p.conn, 20, p.fast);
}

/* As in the source, what waits in this host for the device has no turn. */
static void a_throttled_subflow_misses_its_turn(struct kunit *test)
{
	struct two_paths p = published(test, 16, 24);
	struct sock *ssk = subflow_core(p.fast)->ssk;

	EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, p.head);
	set_bit(TSQ_THROTTLED, &ssk->sk_tsq_flags);
	expect_sent_on(test, p.conn, 1, p.slow);
	clear_bit(TSQ_THROTTLED, &ssk->sk_tsq_flags);
	expect_sent_on(test, p.conn, 9, p.slow);
	expect_sent_on(test, p.conn, 20, p.fast);
}

/* It has sent 4 of 10, and begins anew with its next window. */
static void the_rest_of_a_window_is_skipped_too(struct kunit *test)
{
	struct two_paths p = published(test, 16, 24);

	expect_sent_on(test, p.conn, 4, p.fast);
	p.fast->ca_state = TCP_CA_Loss;
	expect_sent_on(test, p.conn, 1, p.slow);
	p.fast->ca_state = TCP_CA_Open;
	expect_sent_on(test, p.conn, 9, p.slow);
	expect_sent_on(test, p.conn, 20, p.fast);
}

static void a_new_subflow_waits_for_the_next_schedule(struct kunit *test)
{
	struct two_paths p = published(test, 16, 24);
	struct mps_subflow *faster;

	expect_sent_on(test, p.conn, 1, p.fast);
	faster = mps_test_subflow(p.conn, .srtt_us = 8 * MSEC_US);
	expect_sent_on(test, p.conn, 9, p.fast);
	expect_sent_on(test, p.conn, 10, p.slow);
	expect_sent_on(test, p.conn, 20, p.fast);
	expect_sent_on(test, p.conn, 10, p.slow);
	expect_sent_on(test, p.conn, 10, faster);
}

static void planned_windows_are_those_of_the_schedule(struct kunit *test)
{
	int planned;

	for (planned = 0; planned <= 1; planned++) {
		struct two_paths p = { .conn = mps_test_conn(test, "daps") };

		mps_test_param(p.conn, "use_planned_cwnd", planned);
		mps_test_param(p.conn, "smooth_cwnd", 0);
		p.fast = mps_test_subflow(p.conn, .srtt_us = 16 * MSEC_US);
		p.slow = mps_test_subflow(p.conn, .srtt_us = 24 * MSEC_US);
		mps_test_unsent_pkts(p.conn, 100);
		expect_sent_on(test, p.conn, 5, p.fast);
		p.fast->cwnd_pkts = 20;
		/* the window that it has begun has 10 */
		expect_sent_on(test, p.conn, 5, p.fast);
		expect_sent_on(test, p.conn, 10, p.slow);
		expect_sent_on(test, p.conn, planned ? 20 : 40, p.fast);
		expect_sent_on(test, p.conn, 10, p.slow);
	}
}

/* 7/8 x 10 + 1/8 x 26 = 12, once all that was on its way has arrived */
static void windows_are_smoothed(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "daps");
	struct mps_subflow *only = mps_test_subflow(conn, .srtt_us = 16 * MSEC_US);
	struct mps_subflow *other;

	mps_test_unsent_pkts(conn, 100);
	/* the second decision finds one on its way */
	expect_sent_on(test, conn, 10, only);
	only->cwnd_pkts = 26;
	mps_test_ack(only, 1);
	other = mps_test_subflow(conn, .srtt_us = 24 * MSEC_US);
	expect_sent_on(test, conn, 12, only);
	expect_sent_on(test, conn, 10, other);
}

static void a_subflow_in_slow_start_after_a_loss_may_be_left_out(struct kunit *test)
{
	struct two_paths p = { .conn = mps_test_conn(test, "daps") };
	struct mps_segment *head;

	mps_test_param(p.conn, "daps_in_ss", 0);
	p.fast = mps_test_subflow(p.conn, .srtt_us = 16 * MSEC_US, .ssthresh_pkts = 10);
	p.slow = mps_test_subflow(p.conn, .srtt_us = 24 * MSEC_US);
	mps_test_unsent_pkts(p.conn, 100);
	expect_sent_on(test, p.conn, 20, p.slow);
	/* both: the lowest RTT with room */
	p.slow->ssthresh_pkts = 10;
	expect_sent_on(test, p.conn, 10, p.fast);
	EXPECT_WAIT(test, p.conn);
	p.fast->ssthresh_pkts = 9;
	head = mps_head(p.conn);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, head);
}

static void a_reinjection_is_scheduled_like_any_segment(struct kunit *test)
{
	struct two_paths p = published(test, 16, 24);
	struct mps_segment *lost = p.head;

	expect_sent_on(test, p.conn, 9, p.fast);
	mps_test_reinject(p.conn, lost);
	EXPECT_SENT(test, p.conn, MPS_REINJECTION, p.fast, lost);
	expect_sent_on(test, p.conn, 10, p.slow);
}

static void backup_subflows_are_last_if_that_is_wanted(struct kunit *test)
{
	int last;

	for (last = 0; last <= 1; last++) {
		struct two_paths p = { .conn = mps_test_conn(test, "daps") };

		mps_test_param(p.conn, "spare_backups", last);
		p.fast = mps_test_subflow(p.conn, .srtt_us = 16 * MSEC_US, .backup = true);
		p.slow = mps_test_subflow(p.conn, .srtt_us = 24 * MSEC_US);
		mps_test_unsent_pkts(p.conn, 10);
		expect_sent_on(test, p.conn, 1, last ? p.slow : p.fast);
	}
}

/* Delays of 8000 and 12004: one window of the second in the 12004th of that. */
static void microseconds_make_a_long_schedule(struct kunit *test)
{
	struct two_paths p = { .conn = mps_test_conn(test, "daps") };
	int i;

	mps_test_param(p.conn, "delays_in_us", 1);
	p.fast = mps_test_subflow(p.conn, .srtt_us = 16000);
	p.slow = mps_test_subflow(p.conn, .srtt_us = 24007);
	mps_test_unsent_pkts(p.conn, 190);
	/* at 8000, 12004, 16000, 24000, 24008, ... */
	expect_sent_on(test, p.conn, 10, p.fast);
	expect_sent_on(test, p.conn, 10, p.slow);
	/* which new windows do not change */
	p.fast->cwnd_pkts = 50;
	for (i = 0; i < 3; i++) {
		expect_sent_on(test, p.conn, 20, p.fast);
		expect_sent_on(test, p.conn, 10, p.slow);
		expect_sent_on(test, p.conn, 10, p.fast);
		expect_sent_on(test, p.conn, 10, p.slow);
	}
}

/* Not the oldest only: the first that this subflow has not carried. */
static void repeats_what_others_carry_when_the_window_is_closed(struct kunit *test)
{
	int repeat;

	for (repeat = 0; repeat <= 1; repeat++) {
		struct two_paths p = { .conn = mps_test_conn(test, "daps") };
		struct mps_segment *first, *second, *third;

		mps_test_param(p.conn, "repeat", repeat);
		p.fast = mps_test_subflow(p.conn, .srtt_us = 16 * MSEC_US);
		p.slow = mps_test_subflow(p.conn, .srtt_us = 64 * MSEC_US);
		first = mps_test_in_flight(p.conn, MSS, p.fast);
		second = mps_test_in_flight(p.conn, MSS, p.slow);
		third = mps_test_unsent(p.conn, MSS);
		p.conn->window_bytes = 2 * MSS;
		if (!repeat) {
			/* which the framework holds back */
			EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, third);
			continue;
		}
		/* the oldest that one with room has not carried, then the next one */
		EXPECT_SENT(test, p.conn, MPS_DUPLICATE, p.slow, first);
		EXPECT_SENT(test, p.conn, MPS_DUPLICATE, p.fast, second);
		EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, third);
	}
}

/* As in the source: of the subflow, too. */
static void repeats_nothing_beyond_the_windows_of_the_subflow(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "daps");
	struct mps_subflow *fast = mps_test_subflow(conn, .srtt_us = 16 * MSEC_US);
	struct mps_subflow *slow = mps_test_subflow(conn, .srtt_us = 64 * MSEC_US);
	struct mps_segment *oldest = mps_test_in_flight(conn, MSS, fast);

	mps_test_unsent(conn, MSS);
	conn->window_bytes = MSS;
	mps_test_update(conn);
	slow->window_bytes = MSS - 1;
	EXPECT_PICK(test, conn, MPS_NEW, fast, mps_head(conn));
	slow->window_bytes = MSS;
	EXPECT_PICK(test, conn, MPS_DUPLICATE, slow, oldest);
	/* nor beyond its congestion window, in which what is queued takes its place */
	slow->unsent_bytes = 10 * MSS;
	EXPECT_PICK(test, conn, MPS_NEW, fast, mps_head(conn));
}

static struct kunit_case cases[] = {
	KUNIT_CASE(a_window_arrives_in_each_delay),
	KUNIT_CASE(windows_take_turns_as_they_arrive),
	KUNIT_CASE(what_a_subflow_misses_is_skipped),
	KUNIT_CASE(what_a_subflow_misses_while_the_window_is_closed_is_skipped),
	KUNIT_CASE(a_throttled_subflow_misses_its_turn),
	KUNIT_CASE(the_rest_of_a_window_is_skipped_too),
	KUNIT_CASE(a_new_subflow_waits_for_the_next_schedule),
	KUNIT_CASE(planned_windows_are_those_of_the_schedule),
	KUNIT_CASE(windows_are_smoothed),
	KUNIT_CASE(a_subflow_in_slow_start_after_a_loss_may_be_left_out),
	KUNIT_CASE(a_reinjection_is_scheduled_like_any_segment),
	KUNIT_CASE(backup_subflows_are_last_if_that_is_wanted),
	KUNIT_CASE(microseconds_make_a_long_schedule),
	KUNIT_CASE(repeats_what_others_carry_when_the_window_is_closed),
	KUNIT_CASE(repeats_nothing_beyond_the_windows_of_the_subflow),
	{}
};

static struct kunit_suite suite = {
	.name		= "mptcp_daps",
	.test_cases	= cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tests of the MPTCP scheduler daps");
