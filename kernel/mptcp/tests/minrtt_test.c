// SPDX-License-Identifier: GPL-2.0-only
/* minrtt: new data on the fastest subflow with room, opportunistic
 * retransmission and penalisation, bufferbloat mitigation.
 */

#include "vocabulary.h"

static void minrtt_gives_new_data_to_the_lowest_rtt(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "minrtt");
	struct mps_subflow *far = mps_test_subflow(conn, .srtt_us = 100000);
	struct mps_subflow *near = mps_test_subflow(conn, .srtt_us = 20000);
	struct mps_segment *seg = mps_test_unsent(conn, MSS);

	EXPECT_SENT(test, conn, MPS_NEW, near, seg);
	mps_test_fill(near);
	seg = mps_test_unsent(conn, MSS);
	EXPECT_SENT(test, conn, MPS_NEW, far, seg);
	mps_test_fill(far);
	mps_test_unsent(conn, MSS);
	EXPECT_WAIT(test, conn);
}

static void minrtt_keeps_to_the_first_of_equals(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "minrtt");
	struct mps_subflow *first = mps_test_subflow(conn, .srtt_us = 20000);
	struct mps_segment *seg;

	mps_test_subflow(conn, .srtt_us = 20000);
	seg = mps_test_unsent(conn, MSS);
	EXPECT_PICK(test, conn, MPS_NEW, first, seg);
}

static void minrtt_waits_for_an_active_subflow_rather_than_using_a_backup(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "minrtt");
	struct mps_subflow *active = mps_test_subflow(conn, .srtt_us = 100000);
	struct mps_subflow *backup = mps_test_subflow(conn, .srtt_us = 20000, .backup = true);
	struct mps_segment *seg = mps_test_unsent(conn, MSS);

	EXPECT_PICK(test, conn, MPS_NEW, active, seg);
	mps_test_fill(active);
	EXPECT_WAIT(test, conn);
	mps_test_usable(active, false);
	EXPECT_PICK(test, conn, MPS_NEW, backup, seg);
}

static void minrtt_serves_the_reinjection_queue_first(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "minrtt");
	struct mps_subflow *near = mps_test_subflow(conn, .srtt_us = 20000);
	struct mps_subflow *far = mps_test_subflow(conn, .srtt_us = 100000);
	struct mps_segment *lost = mps_test_in_flight(conn, MSS, near);

	mps_test_unsent(conn, MSS);
	mps_test_rto(near);
	EXPECT_PICK(test, conn, MPS_REINJECTION, far, lost);
	/* while it has no place, new data has none either */
	mps_test_fill(far);
	EXPECT_WAIT(test, conn);
}

/* A full window: two segments of it are on their way, the first over the slow
 * subflow, and the third does not fit.
 */
static struct mps_conn *window_limited(struct kunit *test, enum mps_rp rp,
				       struct mps_subflow **fast, struct mps_subflow **slow,
				       u32 slow_srtt_us)
{
	struct mps_conn *conn = mps_test_conn(test, "minrtt");

	mps_test_param(conn, "rp", rp != MPS_RP_OFF);
	mps_test_param(conn, "rp_limit", rp == MPS_RP_LIMIT);
	conn->window_bytes = 2 * MSS;
	*fast = mps_test_subflow(conn, .srtt_us = 20000);
	*slow = mps_test_subflow(conn, .srtt_us = slow_srtt_us);
	mps_test_in_flight(conn, MSS, *slow);
	mps_test_in_flight(conn, MSS, *fast);
	mps_test_unsent(conn, MSS);
	return conn;
}

static void minrtt_repeats_what_blocks_the_window_on_the_fast_subflow(struct kunit *test)
{
	struct mps_subflow *fast, *slow;
	struct mps_conn *conn = window_limited(test, MPS_RP_HALVE, &fast, &slow, 100000);

	slow->ssthresh_pkts = 10;
	EXPECT_SENT(test, conn, MPS_DUPLICATE, fast, mps_oldest_unacked(conn));
	KUNIT_EXPECT_EQ(test, slow->cwnd_pkts, 5U);
	KUNIT_EXPECT_EQ(test, slow->ssthresh_pkts, 5U);
	KUNIT_EXPECT_EQ(test, slow->limit_pkts, (u32)~0);
}

static void minrtt_may_penalise_by_a_limit(struct kunit *test)
{
	struct mps_subflow *fast, *slow;
	struct mps_conn *conn = window_limited(test, MPS_RP_LIMIT, &fast, &slow, 100000);

	slow->ssthresh_pkts = 10;
	EXPECT_SENT(test, conn, MPS_DUPLICATE, fast, mps_oldest_unacked(conn));
	/* of 10 segments 5 are left to it; the window of its own is not touched */
	KUNIT_EXPECT_EQ(test, slow->limit_pkts, 5U);
	KUNIT_EXPECT_EQ(test, slow->cwnd_pkts, 10U);
	KUNIT_EXPECT_EQ(test, slow->ssthresh_pkts, 10U);
}

static void minrtt_penalises_once_in_an_rtt_of_the_fast_subflow(struct kunit *test)
{
	struct mps_subflow *fast, *slow;
	struct mps_conn *conn = window_limited(test, MPS_RP_HALVE, &fast, &slow, 100000);
	struct mps_pick pick = {};

	conn_core(conn)->ops->next_segment(conn, &pick);
	conn_core(conn)->ops->next_segment(conn, &pick);
	KUNIT_EXPECT_EQ(test, slow->cwnd_pkts, 5U);
	subflow_core(fast)->penalised -= usecs_to_jiffies(20000);
	conn_core(conn)->ops->next_segment(conn, &pick);
	KUNIT_EXPECT_EQ(test, slow->cwnd_pkts, 2U);
}

static void minrtt_does_not_repeat_what_will_soon_be_there(struct kunit *test)
{
	struct mps_subflow *fast, *slow;
	/* 4 x 20 ms is no less than 80 ms */
	struct mps_conn *conn = window_limited(test, MPS_RP_HALVE, &fast, &slow, 80000);
	struct mps_pick pick = {};

	KUNIT_EXPECT_TRUE(test, conn_core(conn)->ops->next_segment(conn, &pick));
	KUNIT_EXPECT_EQ(test, pick.kind, MPS_NEW);	/* which the window holds back */
	/* but it does if the slow one can hardly send */
	slow->cwnd_pkts = 4;
	slow->in_flight_pkts = 1;
	KUNIT_EXPECT_TRUE(test, conn_core(conn)->ops->next_segment(conn, &pick));
	KUNIT_EXPECT_EQ(test, pick.kind, MPS_DUPLICATE);
}

static void minrtt_without_rp_leaves_a_full_window_alone(struct kunit *test)
{
	struct mps_subflow *fast, *slow;
	struct mps_conn *conn = window_limited(test, MPS_RP_OFF, &fast, &slow, 100000);
	struct mps_pick pick = {};

	KUNIT_EXPECT_TRUE(test, conn_core(conn)->ops->next_segment(conn, &pick));
	KUNIT_EXPECT_EQ(test, pick.kind, MPS_NEW);
	KUNIT_EXPECT_EQ(test, slow->limit_pkts, (u32)~0);
	KUNIT_EXPECT_EQ(test, slow->cwnd_pkts, 10U);
}

static void minrtt_repeats_when_the_send_buffer_is_exhausted(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "minrtt");
	struct mps_subflow *fast = mps_test_subflow(conn, .srtt_us = 20000);
	struct mps_subflow *slow = mps_test_subflow(conn, .srtt_us = 100000);
	struct mps_segment *seg = mps_test_in_flight(conn, MSS, slow);

	EXPECT_WAIT(test, conn);
	conn->writer_waits = true;
	EXPECT_PICK(test, conn, MPS_DUPLICATE, fast, seg);
}

static void minrtt_limits_what_a_bloated_path_has_in_flight(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "minrtt");
	struct mps_subflow *subflow;

	mps_test_param(conn, "bm", 1);
	subflow = mps_test_subflow(conn, .srtt_us = 50000, .cwnd_pkts = 100);
	mps_test_ack(subflow, 1);
	KUNIT_EXPECT_EQ(test, subflow->limit_pkts, (u32)~0);
	/* lambda 3: up to 150 ms there is no limit, at 300 ms it is 100 x 3 x 50 / 300 */
	subflow->srtt_us = 150000;
	mps_test_ack(subflow, 1);
	KUNIT_EXPECT_EQ(test, subflow->limit_pkts, (u32)~0);
	subflow->srtt_us = 300000;
	mps_test_ack(subflow, 1);
	KUNIT_EXPECT_EQ(test, subflow->limit_pkts, 50U);
	/* never less than two */
	subflow->cwnd_pkts = 3;
	mps_test_ack(subflow, 1);
	KUNIT_EXPECT_EQ(test, subflow->limit_pkts, 2U);
}

static void minrtt_may_choose_as_older_kernels_did(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "minrtt");
	struct mps_subflow *near, *far, *backup;
	struct mps_segment *seg;
	struct sock *ssk;

	mps_test_param(conn, "v089", 1);
	near = mps_test_subflow(conn, .srtt_us = 20000, .cwnd_pkts = 10, .in_flight_pkts = 9);
	far = mps_test_subflow(conn, .srtt_us = 100000);
	backup = mps_test_subflow(conn, .srtt_us = 1000, .backup = true);
	ssk = subflow_core(near)->ssk;
	seg = mps_test_unsent(conn, MSS);

	/* what waits to be handed to TCP takes its place in the window: in the source it
	 * is in flight by then
	 */
	near->unsent_bytes = MSS;
	EXPECT_PICK(test, conn, MPS_NEW, far, seg);
	near->unsent_bytes = 0;
	/* the window of the subflow, and small queues */
	near->window_bytes = MSS;
	EXPECT_PICK(test, conn, MPS_NEW, near, seg);
	near->window_bytes = MSS - 1;
	EXPECT_PICK(test, conn, MPS_NEW, far, seg);
	near->window_bytes = SZ_1G;
	set_bit(TSQ_THROTTLED, &ssk->sk_tsq_flags);
	EXPECT_PICK(test, conn, MPS_NEW, far, seg);
	clear_bit(TSQ_THROTTLED, &ssk->sk_tsq_flags);
	EXPECT_PICK(test, conn, MPS_NEW, near, seg);
	/* a backup waits for those that are not usable, too */
	mps_test_usable(near, false);
	mps_test_usable(far, false);
	EXPECT_WAIT(test, conn);
	mps_test_close(near);
	mps_test_close(far);
	EXPECT_PICK(test, conn, MPS_NEW, backup, seg);
}

static void minrtt_of_older_kernels_reinjects_on_any(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "minrtt");
	struct mps_subflow *near, *far;
	struct mps_segment *seg;

	mps_test_param(conn, "v089", 1);
	near = mps_test_subflow(conn, .srtt_us = 20000);
	far = mps_test_subflow(conn, .srtt_us = 100000);
	seg = mps_test_in_flight(conn, MSS, near);
	mps_test_reinject(conn, seg);
	EXPECT_PICK(test, conn, MPS_REINJECTION, far, seg);
	mps_test_fill(far);
	EXPECT_PICK(test, conn, MPS_REINJECTION, near, seg);
	mps_test_fill(near);
	EXPECT_WAIT(test, conn);
}

static struct kunit_case minrtt_cases[] = {
	KUNIT_CASE(minrtt_gives_new_data_to_the_lowest_rtt),
	KUNIT_CASE(minrtt_keeps_to_the_first_of_equals),
	KUNIT_CASE(minrtt_waits_for_an_active_subflow_rather_than_using_a_backup),
	KUNIT_CASE(minrtt_serves_the_reinjection_queue_first),
	KUNIT_CASE(minrtt_repeats_what_blocks_the_window_on_the_fast_subflow),
	KUNIT_CASE(minrtt_may_penalise_by_a_limit),
	KUNIT_CASE(minrtt_penalises_once_in_an_rtt_of_the_fast_subflow),
	KUNIT_CASE(minrtt_does_not_repeat_what_will_soon_be_there),
	KUNIT_CASE(minrtt_without_rp_leaves_a_full_window_alone),
	KUNIT_CASE(minrtt_repeats_when_the_send_buffer_is_exhausted),
	KUNIT_CASE(minrtt_limits_what_a_bloated_path_has_in_flight),
	KUNIT_CASE(minrtt_may_choose_as_older_kernels_did),
	KUNIT_CASE(minrtt_of_older_kernels_reinjects_on_any),
	{}
};

static struct kunit_suite minrtt_suite = {
	.name		= "minrtt",
	.test_cases	= minrtt_cases,
};

kunit_test_suite(minrtt_suite);

MODULE_DESCRIPTION("KUnit tests of the MPTCP scheduler minrtt");
MODULE_LICENSE("GPL");
