// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of the scheduler `ols` on constructed states, and what it learns of
 * intervals. Times are real ones here, so rewards are compared, not computed.
 */

#include <linux/delay.h>

#include "vocabulary.h"

/* the `arm` of a pick: one more than that of the code */
enum { LEARN, ALL, HALF, NONE };

static struct two_paths with_param(struct kunit *test, const char *name, u32 value)
{
	struct mps_conn *conn = mps_test_conn(test, "ols");

	mps_test_param(conn, name, value);
	return (struct two_paths) {
		.conn = conn,
		.fast = mps_test_subflow(conn, .cwnd_pkts = 100),
		.slow = mps_test_subflow(conn, .srtt_us = 100000, .cwnd_pkts = 100),
	};
}

static struct two_paths with_arm(struct kunit *test, u32 arm)
{
	return with_param(test, "arm", arm);
}

static void ols_takes_the_lowest_rtt_with_room(struct kunit *test)
{
	struct two_paths p = with_arm(test, NONE);
	struct mps_segment *seg = mps_test_unsent_pkts(p.conn, 3);

	EXPECT_SENT(test, p.conn, MPS_NEW, p.fast, seg);
	mps_test_fill(p.fast);
	EXPECT_SENT(test, p.conn, MPS_NEW, p.slow, mps_head(p.conn));
	mps_test_fill(p.slow);
	EXPECT_WAIT(test, p.conn);
}

static void ols_sees_both_of_two_that_are_alike(struct kunit *test)
{
	struct two_paths p = with_arm(test, NONE);
	struct mps_segment *seg = mps_test_unsent(p.conn, MSS);

	p.slow->srtt_us = p.fast->srtt_us;
	mps_test_fill(p.fast);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, seg);
}

static void ols_sends_everything_twice(struct kunit *test)
{
	struct two_paths p = with_arm(test, ALL);
	struct mps_segment *first = mps_test_unsent(p.conn, MSS);
	struct mps_segment *second = mps_test_unsent(p.conn, MSS);

	EXPECT_SENT(test, p.conn, MPS_NEW, p.fast, first);
	EXPECT_SENT(test, p.conn, MPS_NEW, p.fast, second);
	EXPECT_SENT(test, p.conn, MPS_DUPLICATE, p.slow, first);
	EXPECT_SENT(test, p.conn, MPS_DUPLICATE, p.slow, second);
	EXPECT_WAIT(test, p.conn);
	/* what comes first of the slow one is new, and the fast one has it twice */
	mps_test_fill(p.fast);
	first = mps_test_unsent(p.conn, MSS);
	EXPECT_SENT(test, p.conn, MPS_NEW, p.slow, first);
	p.fast->in_flight_pkts = 0;
	EXPECT_SENT(test, p.conn, MPS_DUPLICATE, p.fast, first);
}

/* Of 12 the slow one sends 6 that the other has sent, and then 6 new ones; what the
 * other has sent until then, it does not go back to.
 */
static void ols_sends_half_twice(struct kunit *test)
{
	struct two_paths p = with_arm(test, HALF);
	struct mps_segment *seg = mps_test_unsent_pkts(p.conn, 40);
	int i;

	for (i = 0; i < 10; i++)
		EXPECT_SENT(test, p.conn, MPS_NEW, p.fast, mps_head(p.conn));
	mps_test_fill(p.fast);
	for (i = 0; i < 6; i++) {
		EXPECT_SENT(test, p.conn, MPS_DUPLICATE, p.slow, seg);
		seg = mps_next_unacked(p.conn, seg);
	}
	for (i = 0; i < 6; i++)
		EXPECT_SENT(test, p.conn, MPS_NEW, p.slow, mps_head(p.conn));
	/* the next 12 begin with copies, but there are none behind the last one */
	EXPECT_SENT(test, p.conn, MPS_NEW, p.slow, mps_head(p.conn));
}

static void ols_sends_nothing_twice(struct kunit *test)
{
	struct two_paths p = with_arm(test, NONE);
	int i;

	mps_test_unsent_pkts(p.conn, 40);
	for (i = 0; i < 20; i++)
		EXPECT_SENT(test, p.conn, MPS_NEW, p.fast, mps_head(p.conn));
	mps_test_fill(p.fast);
	for (i = 0; i < 20; i++)
		EXPECT_SENT(test, p.conn, MPS_NEW, p.slow, mps_head(p.conn));
	EXPECT_WAIT(test, p.conn);
}

static void ols_uses_backups_when_there_is_nothing_else(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "ols");
	struct mps_subflow *backup = mps_test_subflow(conn, .backup = true);

	EXPECT_PICK(test, conn, MPS_NEW, backup, mps_test_unsent(conn, MSS));
}

/* An interval: 12 segments leave on each subflow, of which the slow one copies so many,
 * and are acknowledged 201 ms later, which is more than two round trips of 100 ms.
 */
static void interval(struct kunit *test, const struct two_paths *p, u32 copies)
{
	struct mps_segment *last;
	u32 i, copied = 0;

	mps_test_unsent_pkts(p->conn, 23 - copies);
	last = mps_test_unsent(p->conn, MSS);
	for (i = 0; i < 12; i++)
		KUNIT_EXPECT_EQ(test, mps_test_send_on(p->conn), p->fast->id);
	mps_test_fill(p->fast);
	for (i = 0; i < 12; i++)
		copied += mps_test_send(p->conn).kind == MPS_DUPLICATE;
	KUNIT_EXPECT_EQ(test, copied, copies);
	/* looks when the first byte has left, when the interval ends, and at the end */
	EXPECT_WAIT(test, p->conn);
	msleep(201);
	EXPECT_WAIT(test, p->conn);
	mps_test_acked(p->conn, last);
	mps_test_ack(p->fast, 12);
	mps_test_ack(p->slow, 12);
	p->fast->in_flight_pkts = 0;
	EXPECT_WAIT(test, p->conn);
}

/* Each arm once, with rewards of 1/2, 3/4 and 1; then the best one, 1. After that
 *
 *	half:	3/4 + sqrt(2 ln 4)     = 2.42
 *	none:	1   + sqrt(2 ln 4 / 2) = 2.18
 */
static void ols_learns_what_pays(struct kunit *test)
{
	struct two_paths p = with_arm(test, LEARN);

	interval(test, &p, 12);
	interval(test, &p, 6);
	interval(test, &p, 0);
	interval(test, &p, 0);
	interval(test, &p, 6);
}

/* What is learnt is forgotten, but the others go on to send half of it twice. */
static void ols_keeps_the_shares_of_the_others_when_a_subflow_comes(struct kunit *test)
{
	struct two_paths p = with_arm(test, LEARN);

	interval(test, &p, 12);
	mps_test_fill(mps_test_subflow(p.conn, .srtt_us = 200000));
	interval(test, &p, 6);
	interval(test, &p, 6);
}

/* An interval as above, whatever its arm is; how many segments were copied. */
static u32 any_interval(struct kunit *test, const struct two_paths *p)
{
	struct mps_segment *last = NULL;
	u32 i, copied = 0;

	for (i = 0; i < 12; i++) {
		last = mps_test_unsent(p->conn, MSS);
		KUNIT_EXPECT_EQ(test, mps_test_send_on(p->conn), p->fast->id);
	}
	mps_test_fill(p->fast);
	for (i = 0; i < 12; i++) {
		if (mps_test_send(p->conn).kind == MPS_DUPLICATE) {
			copied++;
			continue;
		}
		last = mps_test_unsent(p->conn, MSS);
		KUNIT_EXPECT_EQ(test, mps_test_send_on(p->conn), p->slow->id);
	}
	EXPECT_WAIT(test, p->conn);
	msleep(201);
	EXPECT_WAIT(test, p->conn);
	mps_test_acked(p->conn, last);
	mps_test_ack(p->fast, 12);
	mps_test_ack(p->slow, 12);
	p->fast->in_flight_pkts = 0;
	EXPECT_WAIT(test, p->conn);
	return copied;
}

/* Rewards of 1/2, 3/4 and 1, made 1/7, 3/8 and 1. After 75 intervals g is 0.2, and what
 * pays is drawn with up to 0.87: 65 times in 75. All are drawn now and then.
 */
static void ols_draws_what_pays_with_exp3(struct kunit *test)
{
	struct two_paths p = with_param(test, "exp3", 1);
	u32 intervals[3] = {}, late = 0, i;

	KUNIT_EXPECT_EQ(test, any_interval(test, &p), 12U);
	for (i = 0; i < 150; i++) {
		u32 copied = any_interval(test, &p);

		KUNIT_ASSERT_EQ(test, copied % 6, 0U);
		intervals[copied / 6]++;
		late += i >= 75 && !copied;
	}
	KUNIT_EXPECT_GT(test, intervals[1], 0U);
	KUNIT_EXPECT_GT(test, intervals[2], 0U);
	KUNIT_EXPECT_GE(test, late, 50U);
}

static struct kunit_case ols_cases[] = {
	KUNIT_CASE(ols_takes_the_lowest_rtt_with_room),
	KUNIT_CASE(ols_sees_both_of_two_that_are_alike),
	KUNIT_CASE(ols_sends_everything_twice),
	KUNIT_CASE(ols_sends_half_twice),
	KUNIT_CASE(ols_sends_nothing_twice),
	KUNIT_CASE(ols_uses_backups_when_there_is_nothing_else),
	KUNIT_CASE(ols_learns_what_pays),
	KUNIT_CASE(ols_keeps_the_shares_of_the_others_when_a_subflow_comes),
	KUNIT_CASE(ols_draws_what_pays_with_exp3),
	{}
};

static struct kunit_suite ols_suite = {
	.name		= "mptcp-ols",
	.test_cases	= ols_cases,
};

kunit_test_suite(ols_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of the MPTCP scheduler ols");
