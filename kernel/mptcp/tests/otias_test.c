// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of otias on constructed states. */

#include "vocabulary.h"

/* RTT 20 and 100 ms, windows of 10 segments, that of the fast one full: what is
 * queued behind it arrives after 30 ms (up to 10 segments), 50 ms (20), ...; a
 * segment on the slow one after 50 ms.
 */
static struct two_paths two_paths(struct kunit *test)
{
	struct two_paths p = { .conn = mps_test_conn(test, "otias") };

	p.fast = mps_test_subflow(p.conn, .srtt_us = 20 * MSEC_US);
	p.slow = mps_test_subflow(p.conn, .srtt_us = 100 * MSEC_US);
	mps_test_fill(p.fast);
	p.head = mps_test_unsent_pkts(p.conn, 50);
	return p;
}

static void takes_the_shorter_way_of_two_with_room(struct kunit *test)
{
	struct two_paths p = two_paths(test);

	p.fast->in_flight_pkts = 0;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, p.head);
	p.fast->srtt_us = 101 * MSEC_US;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
}

static void queues_on_a_full_subflow_while_that_is_sooner(struct kunit *test)
{
	struct two_paths p = two_paths(test);
	int i;

	/* 10 for 30 ms, and 10 more for 50 ms, which is no later */
	for (i = 0; i < 20; i++)
		KUNIT_EXPECT_EQ_MSG(test, mps_test_send_on(p.conn), p.fast->id, "segment %d", i);
	/* 70 ms against 50, for all that fits into the slow one's window */
	for (i = 0; i < 10; i++)
		KUNIT_EXPECT_EQ_MSG(test, mps_test_send_on(p.conn), p.slow->id, "segment %d", i);
	/* ... where the next one takes 150: 70, 90, 110, 130, 150 */
	for (i = 0; i < 20; i++)
		KUNIT_EXPECT_EQ_MSG(test, mps_test_send_on(p.conn), p.fast->id, "segment %d", i);
	EXPECT_WAIT(test, p.conn);
}

static void in_a_tie_the_first_subflow_has_it(struct kunit *test)
{
	struct two_paths p = { .conn = mps_test_conn(test, "otias") };

	p.slow = mps_test_subflow(p.conn, .srtt_us = 100 * MSEC_US);
	p.fast = mps_test_subflow(p.conn, .srtt_us = 20 * MSEC_US);
	mps_test_fill(p.fast);
	p.fast->unsent_bytes = 10 * MSS;
	p.head = mps_test_unsent(p.conn, MSS);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
	p.fast->unsent_bytes = 9 * MSS;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, p.head);
}

/* Room for 4: of the 5th on, each one waits for a round trip. */
static void what_is_queued_takes_the_room_that_is_left(struct kunit *test)
{
	struct two_paths p = two_paths(test);

	p.slow->srtt_us = 50 * MSEC_US;
	p.fast->in_flight_pkts = 6;
	p.fast->unsent_bytes = 3 * MSS;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, p.head);
	/* 30 ms against 25; a part of a segment in the queue is one */
	p.fast->unsent_bytes = 3 * MSS + 1;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
}

/* After a loss there is more in flight than the window holds: that is no room,
 * not an immense one.
 */
static void more_in_flight_than_the_window_is_no_room(struct kunit *test)
{
	struct two_paths p = two_paths(test);

	p.slow->srtt_us = 50 * MSEC_US;
	mps_test_loss(p.fast);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
}

static void queues_nothing_on_a_path_after_a_timeout(struct kunit *test)
{
	struct two_paths p = two_paths(test);

	mps_test_rto(p.fast);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
	mps_test_usable(p.fast, true);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
}

static void queues_nothing_where_no_ack_will_come(struct kunit *test)
{
	struct two_paths p = two_paths(test);

	p.fast->cwnd_pkts = 0;
	p.fast->in_flight_pkts = 0;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
}

static void a_reinjection_is_not_queued(struct kunit *test)
{
	struct two_paths p = two_paths(test);
	struct mps_segment *seg = p.head;

	mps_test_sent(p.conn, seg, p.slow);
	mps_test_usable(p.slow, false);
	EXPECT_WAIT(test, p.conn);
	mps_test_ack(p.fast, 1);
	EXPECT_PICK(test, p.conn, MPS_REINJECTION, p.fast, seg);
}

/* ... and not held back for a path that it was not sent on, but that is full. */
static void a_reinjection_goes_where_there_is_room(struct kunit *test)
{
	struct two_paths p = { .conn = mps_test_conn(test, "otias") };
	struct mps_segment *seg;

	p.fast = mps_test_subflow(p.conn, .srtt_us = 20 * MSEC_US);
	p.slow = mps_test_subflow(p.conn, .srtt_us = 100 * MSEC_US);
	seg = mps_test_in_flight(p.conn, MSS, p.fast);
	mps_test_reinject(p.conn, seg);
	EXPECT_PICK(test, p.conn, MPS_REINJECTION, p.slow, seg);
	/* what is queued takes the room */
	p.slow->unsent_bytes = 10 * MSS - 1;
	EXPECT_PICK(test, p.conn, MPS_REINJECTION, p.slow, seg);
	p.slow->unsent_bytes++;
	EXPECT_PICK(test, p.conn, MPS_REINJECTION, p.fast, seg);
	mps_test_fill(p.slow);
	EXPECT_PICK(test, p.conn, MPS_REINJECTION, p.fast, seg);
	KUNIT_EXPECT_PTR_EQ(test, conn_core(p.conn)->ops->get_subflow(p.conn, seg), p.fast);
	mps_test_fill(p.fast);
	EXPECT_WAIT(test, p.conn);
}

/* The module's short cut. */
static void one_subflow_alone_has_no_queue(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "otias");
	struct mps_subflow *only = mps_test_subflow(conn);
	struct mps_segment *seg = mps_test_unsent(conn, MSS);

	EXPECT_PICK(test, conn, MPS_NEW, only, seg);
	mps_test_fill(only);
	EXPECT_WAIT(test, conn);
}

static void a_backup_is_as_good_as_any_unless_it_is_spared(struct kunit *test)
{
	mps_test_spares_backups(test, "otias");
}

static void queues_nothing_where_tcp_holds_data_back(struct kunit *test)
{
	struct two_paths p = two_paths(test);

	set_bit(TSQ_THROTTLED, &subflow_core(p.fast)->ssk->sk_tsq_flags);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
}

static void no_figure_makes_it_fail(struct kunit *test)
{
	static const u32 extremes[] = { 0, 1, U32_MAX };
	struct two_paths p = two_paths(test);
	int i, j, k;

	for (i = 0; i < ARRAY_SIZE(extremes); i++) {
		for (j = 0; j < ARRAY_SIZE(extremes); j++) {
			for (k = 0; k < ARRAY_SIZE(extremes); k++) {
				p.fast->srtt_us = extremes[i];
				p.fast->cwnd_pkts = extremes[j];
				p.fast->in_flight_pkts = extremes[k];
				p.fast->unsent_bytes = extremes[k];
				p.fast->mss_bytes = extremes[j];
				KUNIT_EXPECT_NE(test, mps_test_decide(p.conn).kind, 0);
			}
		}
	}
	/* the longest wait of all, not one that wrapped around */
	p.fast->srtt_us = U32_MAX;
	p.fast->cwnd_pkts = 1;
	p.fast->unsent_bytes = U32_MAX;
	p.fast->mss_bytes = 1;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(takes_the_shorter_way_of_two_with_room),
	KUNIT_CASE(queues_on_a_full_subflow_while_that_is_sooner),
	KUNIT_CASE(in_a_tie_the_first_subflow_has_it),
	KUNIT_CASE(what_is_queued_takes_the_room_that_is_left),
	KUNIT_CASE(more_in_flight_than_the_window_is_no_room),
	KUNIT_CASE(queues_nothing_on_a_path_after_a_timeout),
	KUNIT_CASE(queues_nothing_where_no_ack_will_come),
	KUNIT_CASE(a_reinjection_is_not_queued),
	KUNIT_CASE(a_reinjection_goes_where_there_is_room),
	KUNIT_CASE(one_subflow_alone_has_no_queue),
	KUNIT_CASE(a_backup_is_as_good_as_any_unless_it_is_spared),
	KUNIT_CASE(queues_nothing_where_tcp_holds_data_back),
	KUNIT_CASE(no_figure_makes_it_fail),
	{}
};

static struct kunit_suite suite = {
	.name		= "mptcp_otias",
	.test_cases	= cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tests of the MPTCP scheduler otias");
