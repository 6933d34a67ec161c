// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of the scheduler `musher` on constructed states, and its search on
 * paths that carry so many segments in an interval, and no more: of shares s, the
 * least of capacity / s.
 */

#include <linux/delay.h>
#include "vocabulary.h"

#define PATHS_MAX	3
#define INTERVAL_MS	200
/* as many segments as a whole has permille */
#define PROBE		1000

struct paths {
	struct kunit		*test;
	struct mps_conn		*conn;
	struct mps_subflow	*subflows[PATHS_MAX];
	u32			capacity[PATHS_MAX];	/* segments per interval */
	u32			sent[PATHS_MAX];	/* of PROBE segments */
	u32			count;
	u32			limit;	/* of the application, segments per interval */
};

static struct paths *paths_of(struct kunit *test, struct mps_conn *conn, u32 first, u32 second,
			      u32 third)
{
	struct paths *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, p);
	*p = (struct paths) {
		.test = test,
		.conn = conn,
		.capacity = { first, second, third },
		.count = third ? 3 : 2,
		.limit = ~0,
	};
	for (i = 0; i < p->count; i++)
		p->subflows[i] = mps_test_subflow(conn, .cwnd_pkts = 100000,
						  .outstanding_bytes = 100 * MSS);
	return p;
}

static struct paths *two_paths(struct kunit *test, u32 first, u32 second)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");

	mps_test_param(conn, "period_ms", 0);
	return paths_of(test, conn, first, second, 0);
}

/* How the next PROBE segments are spread. They leave nothing behind. */
static void probe(struct paths *p)
{
	struct mps_segment *seg = mps_test_unsent(p->conn, MSS);
	struct mps_pick pick = {};
	u32 n;

	memset(p->sent, 0, sizeof(p->sent));
	for (n = 0; n < PROBE; n++) {
		KUNIT_ASSERT_TRUE(p->test, conn_core(p->conn)->ops->next_segment(p->conn, &pick));
		conn_core(p->conn)->ops->on_sent(p->conn, &pick, MSS);
		p->sent[pick.subflow->id - 1]++;
	}
	mps_test_sent(p->conn, seg, pick.subflow);
	mps_test_acked(p->conn, seg);
	pick.subflow->in_flight_pkts--;
	pick.subflow->outstanding_bytes -= MSS;
}

/* Intervals go by in which the paths carry what they can. */
static void intervals(struct paths *p, u32 count)
{
	u32 i, n;

	for (n = 0; n < count; n++) {
		u32 carried = p->limit, queued;

		probe(p);
		for (i = 0; i < p->count; i++)
			if (p->sent[i])
				carried = min(carried, p->capacity[i] * PROBE / p->sent[i]);
		usleep_range_state(INTERVAL_MS * 1000, INTERVAL_MS * 1000, TASK_UNINTERRUPTIBLE);
		queued = p->subflows[0]->outstanding_bytes;
		mps_test_ack(p->subflows[0], carried);
		p->subflows[0]->outstanding_bytes = queued;
	}
}

/* The share of a path, in permille. */
#define EXPECT_SHARE(_paths, _path, _permille)				\
do {									\
	struct paths *__p = (_paths);					\
									\
	probe(__p);							\
	KUNIT_EXPECT_EQ(__p->test, __p->sent[_path], (u32)(_permille));	\
} while (0)

/* --- the ratio */

static void musher_begins_with_equal_shares(struct kunit *test)
{
	struct paths *p = two_paths(test, 1000, 500);

	probe(p);
	KUNIT_EXPECT_EQ(test, p->sent[0], PROBE / 2U);
	KUNIT_EXPECT_EQ(test, p->sent[1], PROBE / 2U);
}

static void musher_gives_each_subflow_its_share_and_mixes_them(struct kunit *test)
{
	static const u32 order[] = { 1, 1, 2, 1, 1, 2, 1, 1, 1, 2 };
	struct mps_conn *conn = mps_test_conn(test, "musher");
	u32 sent[3] = {};
	int i;

	mps_test_param(conn, "ratio", 700);
	mps_test_subflow(conn, .cwnd_pkts = 100000);
	mps_test_subflow(conn, .cwnd_pkts = 100000);
	for (i = 0; i < 1000; i++) {
		struct mps_segment *seg = mps_test_unsent(conn, MSS);
		u32 id = mps_test_send_on(conn);

		KUNIT_ASSERT_LT(test, id, 3U);
		if (i < ARRAY_SIZE(order))
			KUNIT_EXPECT_EQ_MSG(test, id, order[i], "segment %d", i);
		sent[id]++;
		mps_test_acked(conn, seg);
	}
	KUNIT_EXPECT_EQ(test, sent[1], 700U);
	KUNIT_EXPECT_EQ(test, sent[2], 300U);
}

static void musher_gives_nothing_to_a_share_of_nothing(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");
	struct paths *p;

	mps_test_param(conn, "ratio", 1000);
	p = paths_of(test, conn, 1000, 1000, 0);
	probe(p);
	KUNIT_EXPECT_EQ(test, p->sent[1], 0U);
	/* unless there is no other */
	mps_test_usable(p->subflows[0], false);
	probe(p);
	KUNIT_EXPECT_EQ(test, p->sent[1], (u32)PROBE);
}

static void musher_gives_all_to_a_single_subflow(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");
	struct mps_subflow *only = mps_test_subflow(conn);
	struct mps_segment *seg = mps_test_unsent(conn, MSS);

	EXPECT_SENT(test, conn, MPS_NEW, only, seg);
	EXPECT_WAIT(test, conn);
}

static void musher_ratios_are_those_of_connections(struct kunit *test)
{
	struct paths *one = two_paths(test, 1000, 500);
	struct paths *other = two_paths(test, 500, 1000);

	intervals(one, 40);
	EXPECT_SHARE(one, 0, 675);
	EXPECT_SHARE(other, 0, 500);
}

/* --- waiting */

static void musher_waits_for_the_one_whose_turn_it_is(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *two = mps_test_subflow(conn, .cwnd_pkts = 1);
	struct mps_segment *seg;

	mps_test_unsent_pkts(conn, 10);
	KUNIT_EXPECT_EQ(test, mps_test_send_on(conn), 1U);
	KUNIT_EXPECT_EQ(test, mps_test_send_on(conn), 2U);
	KUNIT_EXPECT_EQ(test, mps_test_send_on(conn), 1U);
	EXPECT_WAIT(test, conn);
	mps_test_ack(one, 1);
	EXPECT_WAIT(test, conn);
	mps_test_ack(two, 1);
	seg = mps_head(conn);
	EXPECT_SENT(test, conn, MPS_NEW, two, seg);
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
	EXPECT_PICK(test, conn, MPS_NEW, two, seg);
	one->ca_state = TCP_CA_Open;
	one->cwnd_pkts = 0;
	one->in_flight_pkts = 0;
	EXPECT_PICK(test, conn, MPS_NEW, two, seg);
	mps_test_rto(one);
	EXPECT_PICK(test, conn, MPS_NEW, two, seg);
	mps_test_close(one);
	EXPECT_PICK(test, conn, MPS_NEW, two, seg);
}

static void musher_sends_reinjections_first(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *two = mps_test_subflow(conn);
	struct mps_segment *lost = mps_test_in_flight(conn, MSS, one);

	mps_test_unsent(conn, MSS);
	mps_test_reinject(conn, lost);
	EXPECT_PICK(test, conn, MPS_REINJECTION, two, lost);
}

/* --- the search: two intervals for each ratio, the second to see that
 * throughput no longer grows
 */

/* 500: 1000, 550: 1111, 600: 1250, 650: 1428, 700: 1428; then 675: 1481 */
static void musher_finds_the_ratio_of_the_paths(struct kunit *test)
{
	struct paths *p = two_paths(test, 1000, 500);

	intervals(p, 18);
	EXPECT_SHARE(p, 0, 675);
	intervals(p, 30);
	EXPECT_SHARE(p, 0, 675);
}

static void musher_finds_it_on_the_other_side(struct kunit *test)
{
	struct paths *p = two_paths(test, 500, 1000);

	intervals(p, 20);
	EXPECT_SHARE(p, 0, 325);
	intervals(p, 30);
	EXPECT_SHARE(p, 0, 325);
}

/* All that is tried is worse: 550, 450, 525, 475. The module would end at 450. */
static void musher_restores_a_ratio_that_was_right(struct kunit *test)
{
	struct paths *p = two_paths(test, 1000, 1000);

	intervals(p, 5);
	EXPECT_SHARE(p, 0, 550);
	intervals(p, 2);
	EXPECT_SHARE(p, 0, 450);
	intervals(p, 2);
	EXPECT_SHARE(p, 0, 525);
	intervals(p, 2);
	EXPECT_SHARE(p, 0, 475);
	intervals(p, 2);
	EXPECT_SHARE(p, 0, 500);
	intervals(p, 30);
	EXPECT_SHARE(p, 0, 500);
}

/* With 950 it is at most 20 times what the second one carries. */
static void musher_ends_at_a_share_of_nothing(struct kunit *test)
{
	struct paths *p = two_paths(test, 100000, 100);

	intervals(p, 60);
	EXPECT_SHARE(p, 0, 1000);
}

static void musher_stays_where_throughput_does_not_hang_on_it(struct kunit *test)
{
	struct paths *p = two_paths(test, 1000, 1000);

	p->limit = 100;
	intervals(p, 40);
	EXPECT_SHARE(p, 0, 500);
}

static void musher_measures_nothing_while_there_is_nothing_to_send(struct kunit *test)
{
	struct paths *p = two_paths(test, 1000, 500);
	int i;

	for (i = 0; i < 20; i++) {
		EXPECT_WAIT(test, p->conn);
		intervals(p, 1);
	}
	EXPECT_SHARE(p, 0, 500);
	/* but while a writer waits for room in the send buffer */
	p->conn->writer_waits = true;
	for (i = 0; i < 20; i++) {
		EXPECT_WAIT(test, p->conn);
		intervals(p, 1);
	}
	EXPECT_SHARE(p, 0, 675);
}

/* A subflow takes three intervals until it uses its share. */
static void musher_waits_until_throughput_no_longer_grows(struct kunit *test)
{
	struct paths *p = two_paths(test, 1000, 500);

	intervals(p, 2);
	p->limit = 400;
	intervals(p, 1);
	p->limit = 600;
	intervals(p, 1);
	p->limit = 800;
	intervals(p, 1);
	EXPECT_SHARE(p, 0, 500);
	p->limit = ~0;
	intervals(p, 15);
	EXPECT_SHARE(p, 0, 675);
}

/* --- a new search */

/* From 675 down to 325, where it is 740 of 750: 8 tries, and 4 that fail; after 5
 * intervals of another throughput.
 */
static void musher_searches_anew_when_throughput_falls(struct kunit *test)
{
	struct paths *p = two_paths(test, 1000, 500);

	intervals(p, 40);
	EXPECT_SHARE(p, 0, 675);
	p->capacity[0] = 250;
	intervals(p, 5 + 2 + 2 * (8 + 4));
	EXPECT_SHARE(p, 0, 325);
	intervals(p, 30);
	EXPECT_SHARE(p, 0, 325);
}

static void musher_does_not_for_less_than_a_quarter(struct kunit *test)
{
	struct paths *p = two_paths(test, 1000, 500);

	intervals(p, 40);
	p->limit = 1481 * 3 / 4 + 5;
	p->capacity[0] = 100000;
	intervals(p, 40);
	EXPECT_SHARE(p, 0, 675);
}

static void musher_searches_anew_when_less_is_queued(struct kunit *test)
{
	struct paths *p = two_paths(test, 1000, 500);

	intervals(p, 40);
	/* which throughput does not tell: the second one is the bottleneck before */
	p->capacity[0] = 740;
	intervals(p, 20);
	p->subflows[0]->outstanding_bytes = 15 * MSS;
	intervals(p, 40);
	/* 740 / 1240 = 597 */
	EXPECT_SHARE(p, 0, 600);
}

static void musher_keeps_searches_apart(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");
	struct paths *p;

	mps_test_param(conn, "period_ms", 0);
	mps_test_param(conn, "spacing_ms", 20000);
	p = paths_of(test, conn, 1000, 500, 0);
	intervals(p, 18);
	p->capacity[0] = 250;
	intervals(p, 60);
	EXPECT_SHARE(p, 0, 675);
	intervals(p, 80);
	EXPECT_SHARE(p, 0, 325);
}

/* The second path is three times as fast: nothing tells but a search. */
static void musher_searches_anew_after_some_time(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");
	struct paths *p;

	mps_test_param(conn, "period_ms", 6000);
	p = paths_of(test, conn, 1000, 500, 0);
	intervals(p, 20);
	p->capacity[1] = 1500;
	intervals(p, 20);
	EXPECT_SHARE(p, 0, 675);
	intervals(p, 35);
	EXPECT_SHARE(p, 0, 400);
}

static void musher_without_search_keeps_its_ratio(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");
	struct paths *p;

	mps_test_param(conn, "search", 0);
	mps_test_param(conn, "ratio", 300);
	p = paths_of(test, conn, 1000, 500, 0);
	intervals(p, 100);
	EXPECT_SHARE(p, 0, 300);
}

/* --- more than two, and others than before */

/* The first one: 383, 433, 483, and 508; with the others at 245 and 247, no other
 * try is better.
 */
static void musher_finds_the_shares_of_three(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");
	struct paths *p;

	mps_test_param(conn, "period_ms", 0);
	p = paths_of(test, conn, 1000, 500, 500);
	EXPECT_SHARE(p, 0, 333);
	intervals(p, 5 + 2 * (5 + 4 + 4));
	EXPECT_SHARE(p, 0, 508);
	EXPECT_SHARE(p, 1, 245);
	EXPECT_SHARE(p, 2, 247);
}

static void musher_keeps_the_proportion_of_those_that_are_left(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "musher");
	struct paths *p;

	mps_test_param(conn, "period_ms", 0);
	p = paths_of(test, conn, 1000, 500, 500);
	intervals(p, 40);
	mps_test_usable(p->subflows[2], false);
	/* 508 : 245, and then, as permille, 674 : 326 */
	EXPECT_SHARE(p, 0, 675);
	EXPECT_SHARE(p, 2, 0);
	intervals(p, 40);
	EXPECT_SHARE(p, 0, 674);
}

static void musher_survives_states_that_make_no_sense(struct kunit *test)
{
	static const u32 values[] = { 0, 1, 20000, 60000000, U32_MAX };
	struct mps_conn *conn = mps_test_conn(test, "musher");
	struct mps_subflow *one, *two;
	int i, j;

	mps_test_param(conn, "step", 500);
	mps_test_param(conn, "interval_ms", 10);
	mps_test_unsent_pkts(conn, 100);
	one = mps_test_subflow(conn);
	two = mps_test_subflow(conn);
	for (i = 0; i < 200; i++) {
		j = i / ARRAY_SIZE(values);
		one->srtt_us = values[i % 3];
		one->outstanding_bytes = values[j % ARRAY_SIZE(values)];
		one->cwnd_pkts = i % 7 ? 100000 : 1;
		two->outstanding_bytes = values[i % ARRAY_SIZE(values)];
		conn_core(conn)->ops->on_ack(conn, i % 2 ? one : two,
					     i % 11 ? values[j % 5] : U64_MAX);
		usleep_range_state(11000, 11000, TASK_UNINTERRUPTIBLE);
		KUNIT_EXPECT_NE(test, (u32)mps_test_decide(conn).kind, 0U);
		if (i % 50 == 49) {
			mps_test_usable(two, false);
			KUNIT_EXPECT_NE(test, (u32)mps_test_decide(conn).kind, 0U);
			mps_test_usable(two, true);
		}
	}
}

static struct kunit_case musher_cases[] = {
	KUNIT_CASE(musher_begins_with_equal_shares),
	KUNIT_CASE(musher_gives_each_subflow_its_share_and_mixes_them),
	KUNIT_CASE(musher_gives_nothing_to_a_share_of_nothing),
	KUNIT_CASE(musher_gives_all_to_a_single_subflow),
	KUNIT_CASE(musher_ratios_are_those_of_connections),
	KUNIT_CASE(musher_waits_for_the_one_whose_turn_it_is),
	KUNIT_CASE(musher_waits_for_none_that_might_not_come_back),
	KUNIT_CASE(musher_sends_reinjections_first),
	KUNIT_CASE(musher_finds_the_ratio_of_the_paths),
	KUNIT_CASE(musher_finds_it_on_the_other_side),
	KUNIT_CASE(musher_restores_a_ratio_that_was_right),
	KUNIT_CASE(musher_ends_at_a_share_of_nothing),
	KUNIT_CASE(musher_stays_where_throughput_does_not_hang_on_it),
	KUNIT_CASE(musher_measures_nothing_while_there_is_nothing_to_send),
	KUNIT_CASE(musher_waits_until_throughput_no_longer_grows),
	KUNIT_CASE(musher_searches_anew_when_throughput_falls),
	KUNIT_CASE(musher_does_not_for_less_than_a_quarter),
	KUNIT_CASE(musher_searches_anew_when_less_is_queued),
	KUNIT_CASE(musher_keeps_searches_apart),
	KUNIT_CASE(musher_searches_anew_after_some_time),
	KUNIT_CASE(musher_without_search_keeps_its_ratio),
	KUNIT_CASE(musher_finds_the_shares_of_three),
	KUNIT_CASE(musher_keeps_the_proportion_of_those_that_are_left),
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
