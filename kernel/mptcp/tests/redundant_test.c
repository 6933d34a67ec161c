// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of the scheduler `redundant` on constructed states. */

#include "copies.h"

static void redundant_sends_everything_on_every_subflow(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "redundant");
	struct mps_subflow *near = mps_test_subflow(conn, .srtt_us = 10000);
	struct mps_subflow *far = mps_test_subflow(conn, .srtt_us = 50000);
	struct mps_segment *a = mps_test_unsent(conn, MSS);
	struct mps_segment *b = mps_test_unsent(conn, 1);

	/* in turn, the latest one first */
	EXPECT_SENT(test, conn, MPS_NEW, far, a);
	EXPECT_SENT(test, conn, MPS_DUPLICATE, near, a);
	EXPECT_SENT(test, conn, MPS_NEW, far, b);
	EXPECT_SENT(test, conn, MPS_DUPLICATE, near, b);
	EXPECT_WAIT(test, conn);
}

static void redundant_takes_turns_also_when_a_subflow_goes(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "redundant");
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *two = mps_test_subflow(conn);
	struct mps_subflow *three = mps_test_subflow(conn);
	struct mps_segment *a = mps_test_unsent(conn, MSS);
	struct mps_segment *b = mps_test_unsent(conn, MSS);

	EXPECT_SENT(test, conn, MPS_NEW, three, a);
	/* it was to be next */
	mps_test_close(two);
	EXPECT_SENT(test, conn, MPS_DUPLICATE, one, a);
	EXPECT_SENT(test, conn, MPS_NEW, three, b);
	mps_test_close(one);
	EXPECT_WAIT(test, conn);
}

static void redundant_goes_on_after_a_turn_that_the_window_does_not_let_through(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "redundant");
	struct mps_subflow *near = mps_test_subflow(conn, .srtt_us = 10000);
	struct mps_subflow *far = mps_test_subflow(conn, .srtt_us = 50000);
	struct mps_segment *a = mps_test_in_flight(conn, MSS, far);
	struct mps_segment *b = mps_test_unsent(conn, MSS);

	/* new data does not fit into the receive window: nothing is sent */
	EXPECT_PICK(test, conn, MPS_NEW, far, b);
	EXPECT_SENT(test, conn, MPS_DUPLICATE, near, a);
	EXPECT_PICK(test, conn, MPS_NEW, far, b);
}

/* As in the source: it was the subflow's, and did not leave before the other one sent it. */
static void redundant_makes_no_copy_of_what_it_has_chosen_once(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "redundant");
	struct mps_subflow *near = mps_test_subflow(conn, .srtt_us = 10000);
	struct mps_subflow *far = mps_test_subflow(conn, .srtt_us = 50000);
	struct mps_segment *a = mps_test_unsent(conn, MSS);
	struct mps_segment *b = mps_test_unsent(conn, MSS);

	conn->window_bytes = 0;
	mps_test_update(conn);
	EXPECT_PICK(test, conn, MPS_NEW, far, a);
	conn->window_bytes = SZ_1G;
	mps_test_update(conn);
	EXPECT_SENT(test, conn, MPS_NEW, near, a);
	EXPECT_SENT(test, conn, MPS_NEW, far, b);
	EXPECT_SENT(test, conn, MPS_DUPLICATE, near, b);
	EXPECT_WAIT(test, conn);
}

static void redundant_copies_what_the_window_held_back_if_told_to(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "redundant");
	struct mps_subflow *near, *far;
	struct mps_segment *a;

	mps_test_param(conn, "copy_held", 1);
	near = mps_test_subflow(conn, .srtt_us = 10000);
	far = mps_test_subflow(conn, .srtt_us = 50000);
	a = mps_test_unsent(conn, MSS);
	conn->window_bytes = 0;
	mps_test_update(conn);
	EXPECT_PICK(test, conn, MPS_NEW, far, a);
	conn->window_bytes = SZ_1G;
	mps_test_update(conn);
	EXPECT_SENT(test, conn, MPS_NEW, near, a);
	EXPECT_SENT(test, conn, MPS_DUPLICATE, far, a);
	EXPECT_WAIT(test, conn);
}

static void redundant_lets_the_subflow_that_has_room_go_ahead(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "redundant");
	struct mps_subflow *near = mps_test_subflow(conn, .srtt_us = 10000);
	struct mps_subflow *far = mps_test_subflow(conn, .srtt_us = 50000);
	struct mps_segment *a = mps_test_unsent(conn, MSS);
	struct mps_segment *b = mps_test_unsent(conn, MSS);

	mps_test_fill(near);
	EXPECT_SENT(test, conn, MPS_NEW, far, a);
	EXPECT_SENT(test, conn, MPS_NEW, far, b);
	mps_test_ack(near, 1);
	EXPECT_SENT(test, conn, MPS_DUPLICATE, near, a);
	EXPECT_WAIT(test, conn);
}

static void redundant_walks_through_what_is_not_acknowledged_in_order(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "redundant");
	struct mps_subflow *near = mps_test_subflow(conn, .srtt_us = 10000);
	struct mps_segment *a = mps_test_in_flight(conn, MSS, near);
	struct mps_segment *b = mps_test_in_flight(conn, 100, near);
	struct mps_segment *c = mps_test_in_flight(conn, MSS, near);
	struct mps_segment *d = mps_test_unsent(conn, MSS);
	struct mps_subflow *late;

	mps_test_fill(near);
	late = mps_test_subflow(conn, .srtt_us = 50000);
	EXPECT_SENT(test, conn, MPS_DUPLICATE, late, a);
	EXPECT_SENT(test, conn, MPS_DUPLICATE, late, b);
	EXPECT_SENT(test, conn, MPS_DUPLICATE, late, c);
	EXPECT_SENT(test, conn, MPS_NEW, late, d);
	EXPECT_WAIT(test, conn);
}

static void redundant_does_not_repeat_what_was_acknowledged(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "redundant");
	struct mps_subflow *near = mps_test_subflow(conn, .srtt_us = 10000);
	struct mps_subflow *far = mps_test_subflow(conn, .srtt_us = 50000);
	struct mps_segment *a = mps_test_in_flight(conn, MSS, near);
	struct mps_segment *b = mps_test_in_flight(conn, MSS, near);
	struct mps_segment *c = mps_test_in_flight(conn, MSS, near);

	EXPECT_SENT(test, conn, MPS_DUPLICATE, far, a);
	/* near and far stand on a and b when these are acknowledged */
	mps_test_acked(conn, b);
	EXPECT_SENT(test, conn, MPS_DUPLICATE, far, c);
	mps_test_acked(conn, c);
	EXPECT_WAIT(test, conn);
}

static void redundant_goes_on_with_copies_when_new_data_would_not_fit(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "redundant");
	struct mps_subflow *near = mps_test_subflow(conn, .srtt_us = 10000);
	struct mps_subflow *far = mps_test_subflow(conn, .srtt_us = 50000);
	struct mps_segment *a = mps_test_in_flight(conn, MSS, near);

	mps_test_unsent(conn, MSS);
	conn->window_bytes = MSS;
	EXPECT_PICK(test, conn, MPS_DUPLICATE, far, a);
}

/* In v0.9x a download of 10 MB cost 1.3 GB once (its issue 474). Here it is 691
 * windows of ten segments, each acknowledged by way of the near subflow before
 * the next one is sent. The far one is so slow that it has room only in every
 * third, and then repeats what is current.
 */
static void redundant_costs_at_most_one_copy_per_subflow(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "redundant");
	struct mps_subflow *near = mps_test_subflow(conn, .srtt_us = 10000, .cwnd_pkts = 10);
	struct mps_subflow *far = mps_test_subflow(conn, .srtt_us = 50000, .cwnd_pkts = 10);
	u32 window, id, sent[3] = {};

	for (window = 0; window < 691; window++) {
		struct mps_segment *last;

		mps_test_unsent_pkts(conn, 10);
		while ((id = mps_test_send_on(conn)))
			sent[id]++;
		KUNIT_ASSERT_EQ(test, sent[1], 10 * (window + 1));
		KUNIT_ASSERT_EQ(test, sent[2], 10 * (window / 3 + 1));

		last = list_last_entry(&conn_core(conn)->msk->rtx_queue, struct mps_segment,
				       frag.list);
		mps_test_acked(conn, last);
		mps_test_ack(near, 10);
		if (window % 3 == 2)
			mps_test_ack(far, 10);
	}
}

static void redundant_waits_when_all_are_full_or_in_loss(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "redundant");
	struct mps_subflow *one = mps_test_subflow(conn);

	mps_test_subflow(conn, .ca_state = TCP_CA_Loss);
	mps_test_in_flight(conn, MSS, one);
	mps_test_unsent(conn, MSS);
	mps_test_fill(one);
	EXPECT_WAIT(test, conn);
}

static void redundant_sends_no_copies_on_a_backup(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "redundant");
	struct mps_subflow *regular = mps_test_subflow(conn);
	struct mps_subflow *backup = mps_test_subflow(conn, .backup = true);
	struct mps_segment *a = mps_test_unsent(conn, MSS);
	struct mps_segment *b = mps_test_unsent(conn, MSS);

	EXPECT_SENT(test, conn, MPS_NEW, regular, a);
	mps_test_fill(regular);
	EXPECT_WAIT(test, conn);
	mps_test_usable(regular, false);
	EXPECT_SENT(test, conn, MPS_REINJECTION, backup, a);
	EXPECT_SENT(test, conn, MPS_NEW, backup, b);
	EXPECT_WAIT(test, conn);
}

static void redundant_sends_on_one_of_several_backups(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "redundant");
	struct mps_subflow *one = mps_test_subflow(conn, .backup = true);
	struct mps_subflow *two = mps_test_subflow(conn, .backup = true);
	struct mps_segment *a = mps_test_unsent(conn, MSS);
	struct mps_segment *b = mps_test_unsent(conn, MSS);

	/* the other one lacks what it may not copy */
	EXPECT_SENT(test, conn, MPS_NEW, two, a);
	EXPECT_SENT(test, conn, MPS_NEW, two, b);
	mps_test_acked(conn, b);
	a = mps_test_unsent(conn, MSS);
	EXPECT_SENT(test, conn, MPS_NEW, one, a);
}

static void redundant_repeats_after_a_timeout_where_it_is_the_turn(struct kunit *test)
{
	copies_are_repeated_where_it_is_the_turn(test, "redundant", 1);
}

static void redundant_loses_no_time_when_a_subflow_fails(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "redundant");
	struct mps_subflow *near = mps_test_subflow(conn, .srtt_us = 10000);
	struct mps_subflow *far = mps_test_subflow(conn, .srtt_us = 50000);
	struct mps_segment *both = mps_test_in_flight(conn, MSS, near);
	struct mps_segment *lost = mps_test_in_flight(conn, MSS, near);
	struct mps_segment *seg = mps_test_unsent(conn, MSS);

	mps_test_sent(conn, both, far);
	mps_test_close(near);
	EXPECT_SENT(test, conn, MPS_REINJECTION, far, lost);
	EXPECT_SENT(test, conn, MPS_NEW, far, seg);
	EXPECT_WAIT(test, conn);
}

static struct kunit_case redundant_cases[] = {
	KUNIT_CASE(redundant_sends_everything_on_every_subflow),
	KUNIT_CASE(redundant_takes_turns_also_when_a_subflow_goes),
	KUNIT_CASE(redundant_goes_on_after_a_turn_that_the_window_does_not_let_through),
	KUNIT_CASE(redundant_makes_no_copy_of_what_it_has_chosen_once),
	KUNIT_CASE(redundant_copies_what_the_window_held_back_if_told_to),
	KUNIT_CASE(redundant_lets_the_subflow_that_has_room_go_ahead),
	KUNIT_CASE(redundant_walks_through_what_is_not_acknowledged_in_order),
	KUNIT_CASE(redundant_does_not_repeat_what_was_acknowledged),
	KUNIT_CASE(redundant_goes_on_with_copies_when_new_data_would_not_fit),
	KUNIT_CASE(redundant_costs_at_most_one_copy_per_subflow),
	KUNIT_CASE(redundant_waits_when_all_are_full_or_in_loss),
	KUNIT_CASE(redundant_sends_no_copies_on_a_backup),
	KUNIT_CASE(redundant_sends_on_one_of_several_backups),
	KUNIT_CASE(redundant_repeats_after_a_timeout_where_it_is_the_turn),
	KUNIT_CASE(redundant_loses_no_time_when_a_subflow_fails),
	{}
};

static struct kunit_suite redundant_suite = {
	.name		= "mptcp-redundant",
	.test_cases	= redundant_cases,
};

kunit_test_suite(redundant_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of the MPTCP scheduler redundant");
