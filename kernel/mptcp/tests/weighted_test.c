// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of the scheduler `weighted` on constructed states. */

#include <linux/delay.h>

#include "vocabulary.h"

/* So many segments leave; how many of them on each subflow, by its id. */
static void send(struct kunit *test, struct mps_conn *conn, u32 pkts, u32 *sent)
{
	mps_test_unsent_pkts(conn, pkts);
	memset(sent, 0, 9 * sizeof(*sent));
	while (pkts--) {
		u32 id = mps_test_send_on(conn);

		KUNIT_ASSERT_NE(test, id, 0U);
		sent[id]++;
	}
}

static void weighted_divides_by_shares(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "weighted");
	u32 sent[9];

	mps_test_param(conn, "share1", 3);
	mps_test_param(conn, "share2", 1);
	mps_test_param(conn, "share3", 6);
	mps_test_subflow(conn, .cwnd_pkts = 1000);
	mps_test_subflow(conn, .cwnd_pkts = 1000);
	mps_test_subflow(conn, .cwnd_pkts = 1000);
	send(test, conn, 100, sent);
	KUNIT_EXPECT_EQ(test, sent[1], 30U);
	KUNIT_EXPECT_EQ(test, sent[2], 10U);
	KUNIT_EXPECT_EQ(test, sent[3], 60U);
}

/* A segment of the path with the smaller share is more than the 64 KiB of the other's share that
 * paths may catch up with.
 */
static void weighted_divides_by_shares_that_differ_much(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "weighted");
	u32 sent[9];

	mps_test_param(conn, "share1", 1);
	mps_test_param(conn, "share2", 999);
	mps_test_subflow(conn, .cwnd_pkts = 5000);
	mps_test_subflow(conn, .cwnd_pkts = 5000);
	send(test, conn, 3000, sent);
	KUNIT_EXPECT_EQ(test, sent[1], 3U);
	KUNIT_EXPECT_EQ(test, sent[2], 2997U);
}

/* 1448 bytes are no whole number of sevenths or thirds: after 7 and 3 segments both
 * paths are where their shares want them, and the first one is next, each time.
 */
static void weighted_loses_nothing_by_rounding(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "weighted");
	u32 sent[9], times;

	mps_test_param(conn, "share1", 7);
	mps_test_param(conn, "share2", 3);
	mps_test_subflow(conn, .cwnd_pkts = 1000);
	mps_test_subflow(conn, .cwnd_pkts = 1000);
	for (times = 0; times < 10; times++) {
		send(test, conn, 1, sent);
		KUNIT_EXPECT_EQ(test, sent[1], 1U);
		send(test, conn, 9, sent);
		KUNIT_EXPECT_EQ(test, sent[1], 6U);
		KUNIT_EXPECT_EQ(test, sent[2], 3U);
	}
}

static void weighted_counts_bytes_and_not_segments(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "weighted");
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *two = mps_test_subflow(conn);

	EXPECT_SENT(test, conn, MPS_NEW, one, mps_test_unsent(conn, 1000));
	EXPECT_SENT(test, conn, MPS_NEW, two, mps_test_unsent(conn, 300));
	EXPECT_SENT(test, conn, MPS_NEW, two, mps_test_unsent(conn, 300));
	EXPECT_SENT(test, conn, MPS_NEW, two, mps_test_unsent(conn, 500));
	EXPECT_SENT(test, conn, MPS_NEW, one, mps_test_unsent(conn, 300));
}

static void weighted_passes_over_a_full_path_unless_strict(struct kunit *test)
{
	u32 strict;

	for (strict = 0; strict <= 1; strict++) {
		struct mps_conn *conn = mps_test_conn(test, "weighted");
		struct mps_subflow *one, *two;
		struct mps_segment *seg;

		mps_test_param(conn, "strict", strict);
		one = mps_test_subflow(conn);
		two = mps_test_subflow(conn);
		EXPECT_SENT(test, conn, MPS_NEW, one, mps_test_unsent(conn, MSS));
		mps_test_fill(two);
		seg = mps_test_unsent(conn, MSS);
		if (strict)
			EXPECT_WAIT(test, conn);
		else
			EXPECT_PICK(test, conn, MPS_NEW, one, seg);
		mps_test_usable(two, false);
		EXPECT_SENT(test, conn, MPS_NEW, one, seg);
	}
}

/* 64 KiB are 45.3 segments: after 100 that went elsewhere, the path gets 46 in a
 * row, and one that was forgone with it.
 */
static void weighted_lets_a_path_catch_up_with_a_window_at_most(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "weighted");
	struct mps_subflow *two;
	u32 sent[9], row = 0;

	mps_test_subflow(conn, .cwnd_pkts = 1000);
	two = mps_test_subflow(conn, .cwnd_pkts = 1000, .in_flight_pkts = 1000);
	send(test, conn, 100, sent);
	KUNIT_EXPECT_EQ(test, sent[1], 100U);
	two->in_flight_pkts = 0;
	mps_test_unsent_pkts(conn, 100);
	while (mps_test_send_on(conn) == 2)
		row++;
	KUNIT_EXPECT_EQ(test, row, 46U);
}

static void weighted_uses_the_dear_path_when_patience_ends(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "weighted");
	struct mps_subflow *cheap, *dear;
	struct mps_segment *a, *b;
	u64 now = mps_clock_ns();

	mps_test_param(conn, "cost1", 5);
	mps_test_param(conn, "patience_ms", 30);
	dear = mps_test_subflow(conn, .srtt_us = 1000);
	cheap = mps_test_subflow(conn, .srtt_us = 50000);
	a = mps_test_unsent(conn, MSS);
	EXPECT_SENT(test, conn, MPS_NEW, cheap, a);
	mps_test_fill(cheap);
	b = mps_test_unsent(conn, MSS);
	EXPECT_WAIT(test, conn);
	KUNIT_EXPECT_GE(test, mps_test_wake_time(conn), now + 30 * NSEC_PER_MSEC);
	KUNIT_EXPECT_LE(test, mps_test_wake_time(conn), now + 31 * NSEC_PER_MSEC);
	msleep(31);
	EXPECT_SENT(test, conn, MPS_NEW, dear, b);
	/* nothing waits: patience begins anew */
	EXPECT_WAIT(test, conn);
	b = mps_test_unsent(conn, MSS);
	EXPECT_WAIT(test, conn);
	mps_test_ack(cheap, 1);
	EXPECT_SENT(test, conn, MPS_NEW, cheap, b);
}

static void weighted_has_no_patience_with_a_path_that_is_not_usable(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "weighted");
	struct mps_subflow *cheap, *dear;
	struct mps_segment *a, *b;

	mps_test_param(conn, "cost2", 5);
	cheap = mps_test_subflow(conn);
	dear = mps_test_subflow(conn);
	a = mps_test_in_flight(conn, MSS, cheap);
	b = mps_test_unsent(conn, MSS);
	mps_test_rto(cheap);
	EXPECT_SENT(test, conn, MPS_REINJECTION, dear, a);
	EXPECT_SENT(test, conn, MPS_NEW, dear, b);
}

static void weighted_keeps_a_full_window_from_the_dear_path(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "weighted");
	struct mps_subflow *cheap;

	mps_test_param(conn, "cost2", 5);
	mps_test_param(conn, "patience_ms", 0);
	cheap = mps_test_subflow(conn);
	mps_test_subflow(conn);
	mps_test_in_flight(conn, MSS, cheap);
	mps_test_unsent(conn, MSS);
	mps_test_fill(cheap);
	conn->window_bytes = MSS;
	EXPECT_WAIT(test, conn);
	conn->window_bytes = 2 * MSS;
	KUNIT_EXPECT_EQ(test, mps_test_send_on(conn), 2U);
}

/* 1 MB is 690.6 segments of 1448 bytes. */
static void weighted_keeps_a_cap(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "weighted");
	struct mps_subflow *one, *two;
	u32 sent[9];

	mps_test_param(conn, "cap1_mb", 1);
	one = mps_test_subflow(conn, .cwnd_pkts = 10000);
	two = mps_test_subflow(conn, .cwnd_pkts = 10000);
	send(test, conn, 2000, sent);
	KUNIT_EXPECT_EQ(test, sent[1], 691U);
	KUNIT_EXPECT_EQ(test, sent[2], 1309U);
	mps_test_fill(two);
	mps_test_unsent(conn, MSS);
	EXPECT_WAIT(test, conn);
	mps_test_usable(two, false);
	KUNIT_EXPECT_EQ(test, mps_test_decide(conn).subflow->id, one->id);
}

static void weighted_keeps_shares_of_0_and_backups_for_the_worst(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "weighted");
	struct mps_subflow *regular, *none, *backup;
	struct mps_segment *seg;

	mps_test_param(conn, "share2", 0);
	mps_test_param(conn, "patience_ms", 0);
	backup = mps_test_subflow(conn, .backup = true);
	none = mps_test_subflow(conn);
	regular = mps_test_subflow(conn);
	seg = mps_test_unsent(conn, MSS);
	EXPECT_PICK(test, conn, MPS_NEW, regular, seg);
	mps_test_fill(regular);
	EXPECT_WAIT(test, conn);
	mps_test_usable(regular, false);
	EXPECT_PICK(test, conn, MPS_NEW, none, seg);
	mps_test_usable(none, false);
	EXPECT_PICK(test, conn, MPS_NEW, backup, seg);
}

static void weighted_takes_the_lowest_rtt_if_it_is_to(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "weighted");
	struct mps_subflow *near, *far, *dear;
	struct mps_segment *seg;

	mps_test_param(conn, "fastest", 1);
	mps_test_param(conn, "cost3", 1);
	mps_test_param(conn, "patience_ms", 0);
	far = mps_test_subflow(conn, .srtt_us = 80000);
	near = mps_test_subflow(conn, .srtt_us = 40000);
	dear = mps_test_subflow(conn, .srtt_us = 10000);
	seg = mps_test_unsent_pkts(conn, 4);
	EXPECT_SENT(test, conn, MPS_NEW, near, seg);
	EXPECT_SENT(test, conn, MPS_NEW, near, mps_head(conn));
	/* cheapest pipe first: the dear one only when no other has room */
	mps_test_fill(near);
	EXPECT_SENT(test, conn, MPS_NEW, far, mps_head(conn));
	mps_test_fill(far);
	EXPECT_SENT(test, conn, MPS_NEW, dear, mps_head(conn));
}

/* The cheap path is beyond the limit: it costs what the dear one costs, and both
 * divide the data by their shares. Back within it, it carries all.
 */
static void weighted_shares_with_a_dear_path_what_is_too_slow(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "weighted");
	struct mps_subflow *cheap;
	u32 sent[9];

	mps_test_param(conn, "cost2", 5);
	mps_test_param(conn, "max_rtt_ms", 50);
	cheap = mps_test_subflow(conn, .cwnd_pkts = 1000, .srtt_us = 50000);
	mps_test_subflow(conn, .cwnd_pkts = 1000);
	send(test, conn, 20, sent);
	KUNIT_EXPECT_EQ(test, sent[1], 20U);
	cheap->srtt_us = 50001;
	/* the other one is behind by what the cheap one has carried */
	send(test, conn, 40, sent);
	KUNIT_EXPECT_EQ(test, sent[1], 10U);
	KUNIT_EXPECT_EQ(test, sent[2], 30U);
	cheap->srtt_us = 50000;
	send(test, conn, 20, sent);
	KUNIT_EXPECT_EQ(test, sent[1], 20U);
}

/* Of paths of one cost, the one beyond the limit carries nothing, but is measured. */
static void weighted_leaves_what_is_too_slow_and_measures_it(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "weighted");
	struct mps_subflow *slow, *fast;
	struct mps_segment *seg;

	mps_test_param(conn, "max_rtt_ms", 50);
	slow = mps_test_subflow(conn, .srtt_us = 60000);
	fast = mps_test_subflow(conn);
	seg = mps_test_unsent_pkts(conn, 2);
	EXPECT_SENT(test, conn, MPS_NEW, fast, seg);
	EXPECT_SENT(test, conn, MPS_NEW, fast, mps_head(conn));
	msleep(100);
	EXPECT_SENT(test, conn, MPS_DUPLICATE, slow, seg);
	/* neither while it is on its way, nor for 100 ms, nor without anything to copy */
	EXPECT_WAIT(test, conn);
	mps_test_ack(slow, 1);
	EXPECT_WAIT(test, conn);
	msleep(100);
	EXPECT_WAIT(test, conn);
	mps_test_acked(conn, seg);
	EXPECT_PICK(test, conn, MPS_DUPLICATE, slow, mps_oldest_unacked(conn));
	/* and it is there when the other cannot be used */
	mps_test_usable(fast, false);
	mps_test_acked(conn, mps_oldest_unacked(conn));
	EXPECT_SENT(test, conn, MPS_NEW, slow, mps_test_unsent(conn, MSS));
}

/* Rounds of 100 packets, each of which takes an eighth off what was before: 2 of 100
 * lost, 9.75 of 187.5, 8.53 of 264, 7.46 of 331, 6.53 of 390, which is less than 2 %.
 */
static void weighted_smooths_losses_over_rounds(struct kunit *test)
{
	static const u32 lost[] = { 2, 8, 0, 0, 0 };
	static const bool leaves[] = { false, true, true, true, false };
	struct mps_conn *conn = mps_test_conn(test, "weighted");
	struct mps_subflow *lossy, *dear;
	int i;

	mps_test_param(conn, "cost2", 5);
	/* where costs are the same, the other one is behind its share all the time */
	mps_test_param(conn, "share2", 1000);
	mps_test_param(conn, "max_loss_permille", 20);
	lossy = mps_test_subflow(conn, .cwnd_pkts = 1000);
	dear = mps_test_subflow(conn, .cwnd_pkts = 1000);
	for (i = 0; i < ARRAY_SIZE(lost); i++) {
		lossy->rounds++;
		lossy->round_lost_pkts = lost[i];
		lossy->round_delivered_pkts = 100 - lost[i];
		mps_test_ack(lossy, 0);
		EXPECT_SENT(test, conn, MPS_NEW, leaves[i] ? dear : lossy,
			    mps_test_unsent(conn, MSS));
	}
}

static struct kunit_case weighted_cases[] = {
	KUNIT_CASE(weighted_divides_by_shares),
	KUNIT_CASE(weighted_divides_by_shares_that_differ_much),
	KUNIT_CASE(weighted_loses_nothing_by_rounding),
	KUNIT_CASE(weighted_counts_bytes_and_not_segments),
	KUNIT_CASE(weighted_passes_over_a_full_path_unless_strict),
	KUNIT_CASE(weighted_lets_a_path_catch_up_with_a_window_at_most),
	KUNIT_CASE(weighted_uses_the_dear_path_when_patience_ends),
	KUNIT_CASE(weighted_has_no_patience_with_a_path_that_is_not_usable),
	KUNIT_CASE(weighted_keeps_a_full_window_from_the_dear_path),
	KUNIT_CASE(weighted_keeps_a_cap),
	KUNIT_CASE(weighted_keeps_shares_of_0_and_backups_for_the_worst),
	KUNIT_CASE(weighted_takes_the_lowest_rtt_if_it_is_to),
	KUNIT_CASE(weighted_shares_with_a_dear_path_what_is_too_slow),
	KUNIT_CASE(weighted_leaves_what_is_too_slow_and_measures_it),
	KUNIT_CASE(weighted_smooths_losses_over_rounds),
	{}
};

static struct kunit_suite weighted_suite = {
	.name		= "mptcp-weighted",
	.test_cases	= weighted_cases,
};

kunit_test_suite(weighted_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of the MPTCP scheduler weighted");
