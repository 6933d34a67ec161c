// SPDX-License-Identifier: GPL-2.0-only
/* Decisions of earliest on constructed states.
 *
 * A window of 10 segments in 20 ms is 724000 bytes per second, or a segment in 2 ms. With
 * RTT 20 and 100 ms, the delays are 10 and 50 ms: in between, such a window sends 20 segments.
 */

#include <linux/hrtimer.h>

#include "vocabulary.h"

#define RATE		724000

static struct mps_segment *behind(struct mps_conn *conn, u32 pkts)
{
	return mps_nth_unsent(conn, pkts);
}

/* Neither in slow start nor, unless said otherwise, with any queue or variation. */
#define subflow_of(_conn, _rtt_ms, ...) \
	mps_test_subflow(_conn, .srtt_us = (_rtt_ms) * MSEC_US, .ssthresh_pkts = 2, __VA_ARGS__)

/* RTT 20 ms, and full, and 100 ms; so many segments to send. */
static struct two_paths two_paths(struct kunit *test, u32 unsent_pkts)
{
	struct two_paths p = { .conn = mps_test_conn(test, "earliest") };

	p.fast = subflow_of(p.conn, 20);
	p.slow = subflow_of(p.conn, 100);
	mps_test_fill(p.fast);
	p.head = mps_test_unsent_pkts(p.conn, unsent_pkts);
	return p;
}

/* So much virtual time passes, exactly. */
static void pass_ms(u32 ms)
{
	ktime_t time = ms_to_ktime(ms);

	set_current_state(TASK_UNINTERRUPTIBLE);
	schedule_hrtimeout(&time, HRTIMER_MODE_REL);
}

/* --- where a segment arrives first */

static void takes_the_path_on_which_it_arrives_first(struct kunit *test)
{
	struct two_paths p = two_paths(test, 64);

	p.fast->in_flight_pkts = 9;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, p.head);
	p.fast->srtt_us = 100 * MSEC_US;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, p.head);
	p.fast->srtt_us = 100 * MSEC_US + 2;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
}

/* 10 + 7 x 2 = 24 ms, and 26 ms with one more, beside 25 ms */
static void what_waits_here_delays_it(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "earliest");
	struct mps_subflow *near = subflow_of(conn, 20), *far = subflow_of(conn, 50);
	struct mps_segment *head = mps_test_unsent_pkts(conn, 64);

	near->unsent_bytes = 7 * MSS;
	EXPECT_PICK(test, conn, MPS_NEW, near, head);
	near->unsent_bytes = 8 * MSS;
	EXPECT_PICK(test, conn, MPS_NEW, far, head);
}

static void waits_when_all_are_full(struct kunit *test)
{
	struct two_paths p = two_paths(test, 64);

	mps_test_fill(p.slow);
	EXPECT_WAIT(test, p.conn);
	KUNIT_EXPECT_EQ(test, mps_test_wake_time(p.conn), 0ULL);
}

static void a_path_without_a_sample_is_as_near_as_can_be(struct kunit *test)
{
	struct two_paths p = two_paths(test, 64);
	struct mps_subflow *new = subflow_of(p.conn, 0);

	EXPECT_PICK(test, p.conn, MPS_NEW, new, p.head);
	/* and can send anything, until it has one */
	mps_test_fill(new);
	EXPECT_WAIT(test, p.conn);
}

static void backups_are_for_when_no_other_is_usable(struct kunit *test)
{
	struct two_paths p = two_paths(test, 64);

	/* nor is a full one waited for */
	mps_test_backup(p.fast, true);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
	p.fast->in_flight_pkts = 0;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
	mps_test_usable(p.slow, false);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.fast, p.head);
}

static void reinjections_come_first(struct kunit *test)
{
	struct two_paths p = two_paths(test, 10);
	struct mps_segment *lost = p.head;

	mps_test_sent(p.conn, lost, p.fast);
	EXPECT_WAIT(test, p.conn);
	mps_test_rto(p.fast);
	EXPECT_SENT(test, p.conn, MPS_REINJECTION, p.slow, lost);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, behind(p.conn, 0));
}

/* --- the queue on the way */

/* RTT 40 ms, of which 20 are a queue, 31 segments in flight, and another path. */
struct queued {
	struct mps_conn		*conn;
	struct mps_subflow	*path;
	struct mps_subflow	*other;
};

static struct queued queued(struct kunit *test)
{
	struct queued q = { .conn = mps_test_conn(test, "earliest") };

	q.path = subflow_of(q.conn, 40, .min_rtt_us = 20 * MSEC_US, .cwnd_pkts = 50);
	q.other = subflow_of(q.conn, 40);
	q.path->in_flight_pkts = 31;
	mps_test_unsent_pkts(q.conn, 64);
	return q;
}

/* With so many in flight, a segment arrives in so many ms: another path is faster by 1 us, or
 * slower.
 */
static void expect_delay(struct kunit *test, struct queued q, u32 in_flight_pkts, u32 ms)
{
	q.path->in_flight_pkts = in_flight_pkts;
	q.other->srtt_us = 2 * ms * MSEC_US - 2;
	q.other->min_rtt_us = q.other->srtt_us;
	EXPECT_PICK(test, q.conn, MPS_NEW, q.other, behind(q.conn, 0));
	q.other->srtt_us += 4;
	EXPECT_PICK(test, q.conn, MPS_NEW, q.path, behind(q.conn, 0));
}

/* The first ACK begins a measurement, and the one after the least RTT or more ends it: 20
 * segments in 40 ms.
 */
static struct queued measured(struct kunit *test)
{
	struct queued q = queued(test);

	mps_test_ack(q.path, 1);
	pass_ms(40);
	mps_test_ack(q.path, 20);
	return q;
}

static void an_unknown_queue_is_half_of_the_rtt(struct kunit *test)
{
	struct queued q = queued(test);

	expect_delay(test, q, 31, 20);
	mps_test_ack(q.path, 1);
	pass_ms(19);
	mps_test_ack(q.path, 20);
	expect_delay(test, q, 29, 20);
}

/* 30 segments at one in 2 ms, without the way back: 60 - 10 ms; 20: 40 - 10; 1: no less than
 * half of the RTT
 */
static void a_queue_that_grows_or_drains_is_followed(struct kunit *test)
{
	struct queued q = measured(test);

	expect_delay(test, q, 29, 50);
	expect_delay(test, q, 19, 30);
	expect_delay(test, q, 0, 20);
}

/* A throttle leaves one segment in 20 ms, and RTTs of 400 ms. 18 of the least RTTs later, which
 * are less than one RTT, nothing is left of the rate of before: (7/8)^18 < 1/10. 30 segments
 * take 600 ms, without the way back 590, to 2 %.
 */
static void a_rate_fades_by_the_least_rtt(struct kunit *test)
{
	struct queued q = measured(test);
	int i;

	q.path->srtt_us = 400 * MSEC_US;
	for (i = 0; i < 18; i++) {
		pass_ms(20);
		q.path->in_flight_pkts = 31;
		mps_test_ack(q.path, 1);
	}
	q.path->in_flight_pkts = 29;
	q.other->srtt_us = 2 * 578 * MSEC_US;
	EXPECT_PICK(test, q.conn, MPS_NEW, q.other, behind(q.conn, 0));
	q.other->srtt_us = 2 * 602 * MSEC_US;
	EXPECT_PICK(test, q.conn, MPS_NEW, q.path, behind(q.conn, 0));
}

/* The margin is an eighth of the least RTT, 6 ms of 48, and 4 ms at the least. 30 segments take
 * 60 ms, without the way back 36 or 50; that is no less than half of the RTT.
 */
static void without_a_queue_what_is_in_flight_says_nothing(struct kunit *test)
{
	struct queued q = measured(test);

	q.path->srtt_us = 54 * MSEC_US;
	q.path->min_rtt_us = 48 * MSEC_US;
	expect_delay(test, q, 29, 36);
	q.path->min_rtt_us++;
	expect_delay(test, q, 29, 27);
	q.path->srtt_us = 24 * MSEC_US;
	q.path->min_rtt_us = 20 * MSEC_US;
	expect_delay(test, q, 29, 50);
	q.path->min_rtt_us++;
	expect_delay(test, q, 29, 12);
	q.path->srtt_us = 316 * MSEC_US;
	q.path->min_rtt_us = 300 * MSEC_US;
	expect_delay(test, q, 29, 158);
}

/* 4 segments in 40 ms are less than 7/8 of 724000: 633500; 35 segments take 80 - 10 ms then.
 * 40 segments are more, 1448000: 40 take 40 - 10 ms.
 */
static void the_most_of_late_counts(struct kunit *test)
{
	struct queued q = measured(test);

	pass_ms(40);
	mps_test_ack(q.path, 4);
	expect_delay(test, q, 34, 70);
	q.path->in_flight_pkts = 50;
	pass_ms(40);
	mps_test_ack(q.path, 40);
	expect_delay(test, q, 39, 30);
}

/* With nothing in flight, or nothing more to send, the path carries less than it could. */
static void an_idle_path_is_not_measured(struct kunit *test)
{
	struct queued q = queued(test);

	mps_test_ack(q.path, 1);
	pass_ms(20);
	mps_test_ack(q.path, 30);
	q.path->in_flight_pkts = 31;
	pass_ms(40);
	mps_test_ack(q.path, 1);
	expect_delay(test, q, 29, 20);

	q.conn->unsent_bytes = 0;
	pass_ms(40);
	mps_test_ack(q.path, 20);
	expect_delay(test, q, 29, 20);
}

/* One segment in 5 s would be 289 bytes per second, and 30 of them would take 150 s. */
static void an_outage_is_not_measured(struct kunit *test)
{
	struct queued q = queued(test);

	mps_test_ack(q.path, 1);
	mps_test_rto(q.path);
	pass_ms(5000);
	q.path->ca_state = TCP_CA_Open;
	q.path->cwnd_pkts = 50;
	q.path->in_flight_pkts = 2;
	mps_test_usable(q.path, true);
	mps_test_ack(q.path, 1);
	expect_delay(test, q, 29, 20);
}

/* --- what faster paths deliver until then */

static void the_slow_path_gets_what_is_due_when_it_has_delivered(struct kunit *test)
{
	struct two_paths p = two_paths(test, 64);

	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, behind(p.conn, 20));
	/* 12 ms of queue before it: 40 - 12 ms, 14 segments */
	p.fast->unsent_bytes = 6 * MSS;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, behind(p.conn, 14));
}

static void what_the_fast_path_delivers_sooner_waits_for_it(struct kunit *test)
{
	struct two_paths p = two_paths(test, 20);

	EXPECT_WAIT(test, p.conn);
	mps_test_unsent(p.conn, 1);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, behind(p.conn, 20));
}

/* 48 ms, 24 segments, whichever varies; but the last one if there are no more, and 20 are
 * still what it waits with
 */
static void early_data_waits_and_late_data_is_waited_for(struct kunit *test)
{
	int side;

	for (side = 0; side <= 1; side++) {
		struct two_paths p = two_paths(test, 20);

		(side ? p.fast : p.slow)->rttvar_us = 8 * MSEC_US;
		EXPECT_WAIT(test, p.conn);
		mps_test_unsent(p.conn, MSS);
		EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, behind(p.conn, 20));
		mps_test_unsent_pkts(p.conn, 43);
		EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, behind(p.conn, 24));
	}
}

static void a_segment_beyond_the_receive_window_waits(struct kunit *test)
{
	struct two_paths p = two_paths(test, 64);

	p.conn->window_bytes = 21 * MSS;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, behind(p.conn, 20));
	p.conn->window_bytes--;
	EXPECT_WAIT(test, p.conn);
}

/* Of two that are full, each delivers for itself: 20 segments, and in 50 - 20 ms at 10 in
 * 40 ms, 7.5
 */
static void all_faster_paths_count(struct kunit *test)
{
	struct two_paths p = two_paths(test, 64);

	mps_test_fill(subflow_of(p.conn, 40));
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, behind(p.conn, 27));
}

/* Nobody knows when, or whether, it sends again. */
static void a_path_in_trouble_is_not_waited_for(struct kunit *test)
{
	struct two_paths p = two_paths(test, 20);

	p.fast->ca_state = TCP_CA_Loss;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
	p.fast->ca_state = TCP_CA_Open;
	mps_test_usable(p.fast, false);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, p.head);
}

/* 10 segments in the first 20 ms, and then 20; up to ssthresh, 15 */
static void in_slow_start_the_next_window_is_twice_as_large(struct kunit *test)
{
	struct two_paths p = two_paths(test, 64);

	p.fast->ssthresh_pkts = TCP_INFINITE_SSTHRESH;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, behind(p.conn, 30));
	p.fast->ssthresh_pkts = 15;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, behind(p.conn, 25));
	p.fast->ssthresh_pkts = 10;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, behind(p.conn, 20));
}

/* By HyStart++, at 4 ms of queue; by the pacing, that of congestion avoidance is 6/5 windows,
 * and that of slow start twice as much as the window.
 */
static void slow_start_is_over_when_there_is_a_queue_or_the_pacing_says_so(struct kunit *test)
{
	struct two_paths p = two_paths(test, 64);

	p.fast->ssthresh_pkts = TCP_INFINITE_SSTHRESH;
	p.fast->min_rtt_us = 16 * MSEC_US + 1;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, behind(p.conn, 30));
	p.fast->min_rtt_us = 16 * MSEC_US;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, behind(p.conn, 20));
	p.fast->min_rtt_us = 20 * MSEC_US;
	p.fast->pacing_rate = RATE / 5 * 6;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, behind(p.conn, 20));
	p.fast->pacing_rate = 2 * RATE;
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, behind(p.conn, 30));
}

/* --- pacing */

/* RTT 20 ms and a window of 200 segments, paced at a twentieth of that and at a half */
static void a_paced_path_gets_no_more_than_tcp_has_below_it(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "earliest");
	struct mps_subflow *paced = subflow_of(conn, 20, .cwnd_pkts = 200, .pacing_rate = RATE);
	struct mps_segment *head = mps_test_unsent_pkts(conn, 64);

	/* two packets: a ms is 707 bytes */
	paced->unsent_bytes = 2 * MSS;
	EXPECT_PICK(test, conn, MPS_NEW, paced, head);
	paced->unsent_bytes++;
	EXPECT_WAIT(test, conn);
	/* 1/1024 s is 7070 bytes */
	paced->pacing_rate = 10 * RATE;
	paced->unsent_bytes = 7070;
	EXPECT_PICK(test, conn, MPS_NEW, paced, head);
	paced->unsent_bytes++;
	EXPECT_WAIT(test, conn);
	/* the window's rate is no pacing */
	paced->pacing_rate = 20 * RATE;
	paced->unsent_bytes = 100 * MSS;
	EXPECT_PICK(test, conn, MPS_NEW, paced, head);
}

/* 3 segments leave in 6 ms, and 5 at five times the rate in 2 ms */
static void it_is_asked_again_when_a_paced_path_has_sent_what_it_has(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn(test, "earliest");
	struct mps_subflow *one = subflow_of(conn, 20, .cwnd_pkts = 200, .pacing_rate = RATE);
	struct mps_subflow *two = subflow_of(conn, 20, .cwnd_pkts = 200, .pacing_rate = 5 * RATE);
	u64 now = mps_clock_ns();

	mps_test_unsent_pkts(conn, 64);
	one->unsent_bytes = 3 * MSS;
	mps_test_fill(two);
	EXPECT_WAIT(test, conn);
	KUNIT_EXPECT_EQ(test, mps_test_wake_time(conn), now + 6 * NSEC_PER_MSEC);
	two->in_flight_pkts = 0;
	two->unsent_bytes = 5 * MSS;
	EXPECT_WAIT(test, conn);
	KUNIT_EXPECT_EQ(test, mps_test_wake_time(conn), now + 2 * NSEC_PER_MSEC);
	/* found later, but not there yet: the first time stays */
	two->unsent_bytes = 10 * MSS;
	EXPECT_WAIT(test, conn);
	KUNIT_EXPECT_EQ(test, mps_test_wake_time(conn), now + 2 * NSEC_PER_MSEC);
}

/* Its delay is 10 + 6 ms, and in 50 - 16 ms it sends 17 segments. */
static void a_paced_path_that_is_busy_is_a_full_one(struct kunit *test)
{
	struct two_paths p = two_paths(test, 17);
	u64 now = mps_clock_ns();

	p.fast->cwnd_pkts = 200;
	p.fast->pacing_rate = RATE;
	p.fast->unsent_bytes = 3 * MSS;
	EXPECT_WAIT(test, p.conn);
	KUNIT_EXPECT_EQ(test, mps_test_wake_time(p.conn), now + 6 * NSEC_PER_MSEC);
	mps_test_unsent(p.conn, MSS);
	EXPECT_PICK(test, p.conn, MPS_NEW, p.slow, behind(p.conn, 17));
}

/* --- repeat */

/* All is sent, on the slow path, and the fast one has room. */
static struct two_paths all_sent(struct kunit *test, bool repeat)
{
	struct two_paths p = { .conn = mps_test_conn(test, "earliest") };

	mps_test_param(p.conn, "repeat", repeat);
	p.fast = subflow_of(p.conn, 20);
	p.slow = subflow_of(p.conn, 100);
	p.head = mps_test_in_flight(p.conn, MSS, p.slow);
	return p;
}

static void an_idle_path_repeats_what_is_being_repaired_if_it_is_to(struct kunit *test)
{
	struct two_paths p = all_sent(test, true);

	EXPECT_WAIT(test, p.conn);
	p.slow->ca_state = TCP_CA_Recovery;
	EXPECT_PICK(test, p.conn, MPS_DUPLICATE, p.fast, p.head);
	p = all_sent(test, false);
	p.slow->ca_state = TCP_CA_Recovery;
	EXPECT_WAIT(test, p.conn);
}

/* RTT 100 ms is 5 times 20, but no more than 4 times 25. */
static void a_writer_that_waits_gets_the_oldest_repeated_if_it_is_to(struct kunit *test)
{
	struct two_paths p = all_sent(test, true);

	p.conn->writer_waits = true;
	EXPECT_PICK(test, p.conn, MPS_DUPLICATE, p.fast, p.head);
	p.fast->srtt_us = 25 * MSEC_US;
	EXPECT_WAIT(test, p.conn);
	p = all_sent(test, false);
	p.conn->writer_waits = true;
	EXPECT_WAIT(test, p.conn);
}

/* --- warm_kbps */

/* 4634 kbit/s are 57925 bytes in 100 ms, 40 segments: 20 in flight are warm. All is sent on the
 * regular path, which is full, and the backup has a window of 30.
 */
static struct two_paths warm(struct kunit *test, u32 kbps)
{
	struct two_paths p = { .conn = mps_test_conn(test, "earliest") };
	int i;

	mps_test_param(p.conn, "warm_kbps", kbps);
	p.fast = subflow_of(p.conn, 20, .cwnd_pkts = 40);
	p.slow = subflow_of(p.conn, 100, .cwnd_pkts = 30, .backup = true);
	p.head = mps_test_in_flight(p.conn, MSS, p.fast);
	for (i = 1; i < 40; i++)
		mps_test_in_flight(p.conn, MSS, p.fast);
	return p;
}

/* How many copies leave until the scheduler waits; each is the next one. */
static u32 copies(struct kunit *test, struct two_paths p)
{
	struct mps_segment *seg = p.head;
	u32 pkts = 0;

	while (mps_test_decide(p.conn).kind) {
		EXPECT_SENT(test, p.conn, MPS_DUPLICATE, p.slow, seg);
		seg = mps_next_unacked(p.conn, seg);
		pkts++;
	}
	return pkts;
}

static void a_backup_has_half_of_its_window_in_flight_if_it_is_to_be_warm(struct kunit *test)
{
	struct two_paths p = warm(test, 4634);

	KUNIT_EXPECT_EQ(test, copies(test, p), 20U);
	/* as many as arrive */
	p.slow->in_flight_pkts -= 3;
	EXPECT_PICK(test, p.conn, MPS_DUPLICATE, p.slow, mps_oldest_missing(p.conn, p.slow));
	p.slow->unsent_bytes = 2 * MSS;
	EXPECT_PICK(test, p.conn, MPS_DUPLICATE, p.slow, mps_oldest_missing(p.conn, p.slow));
	p.slow->unsent_bytes = 3 * MSS;
	EXPECT_WAIT(test, p.conn);
	KUNIT_EXPECT_EQ(test, copies(test, warm(test, 4633)), 19U);
	KUNIT_EXPECT_EQ(test, copies(test, warm(test, 0)), 0U);
	/* no more than there is, once each */
	p = warm(test, 100000000);
	p.slow->cwnd_pkts = 1000;
	KUNIT_EXPECT_EQ(test, copies(test, p), 40U);
}

/* 57925 bytes in 50 ms instead of 100; without a sample, no time passes */
static void a_queue_makes_no_copies(struct kunit *test)
{
	struct two_paths p = warm(test, 2 * 4634);

	p.slow->min_rtt_us = 50 * MSEC_US;
	KUNIT_EXPECT_EQ(test, copies(test, p), 20U);
	p = warm(test, 4634);
	p.slow->min_rtt_us = ~0;
	KUNIT_EXPECT_EQ(test, copies(test, p), 20U);
	p = warm(test, 4634);
	p.slow->min_rtt_us = ~0;
	p.slow->srtt_us = 0;
	KUNIT_EXPECT_EQ(test, copies(test, p), 0U);
}

/* 10 segments are 14480 bytes in 100 ms, 1158.4 kbit/s. */
static void the_first_window_needs_no_copies(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, copies(test, warm(test, 1158)), 0U);
	KUNIT_EXPECT_EQ(test, copies(test, warm(test, 1159)), 5U);
}

static void new_data_and_reinjections_come_before_copies(struct kunit *test)
{
	struct two_paths p = warm(test, 4634);
	struct mps_segment *seg = mps_test_unsent_pkts(p.conn, 2);

	p.fast->in_flight_pkts--;
	EXPECT_SENT(test, p.conn, MPS_NEW, p.fast, seg);
	EXPECT_PICK(test, p.conn, MPS_DUPLICATE, p.slow, p.head);
	mps_test_rto(p.fast);
	EXPECT_PICK(test, p.conn, MPS_REINJECTION, p.slow, p.head);
}

/* A regular path is none, nor is one of several backups if no other path is usable. Only the room
 * of a window counts.
 */
static void only_a_backup_is_kept_warm(struct kunit *test)
{
	struct two_paths p = warm(test, 4634);

	mps_test_fill(p.slow);
	EXPECT_WAIT(test, p.conn);
	p.slow->in_flight_pkts = 0;
	mps_test_usable(p.slow, false);
	EXPECT_WAIT(test, p.conn);
	mps_test_usable(p.slow, true);
	mps_test_backup(p.fast, true);
	EXPECT_WAIT(test, p.conn);
	mps_test_backup(p.fast, false);
	EXPECT_PICK(test, p.conn, MPS_DUPLICATE, p.slow, p.head);
	mps_test_backup(p.slow, false);
	EXPECT_WAIT(test, p.conn);
}

static struct kunit_case cases[] = {
	KUNIT_CASE(takes_the_path_on_which_it_arrives_first),
	KUNIT_CASE(what_waits_here_delays_it),
	KUNIT_CASE(waits_when_all_are_full),
	KUNIT_CASE(a_path_without_a_sample_is_as_near_as_can_be),
	KUNIT_CASE(backups_are_for_when_no_other_is_usable),
	KUNIT_CASE(reinjections_come_first),
	KUNIT_CASE(an_unknown_queue_is_half_of_the_rtt),
	KUNIT_CASE(a_queue_that_grows_or_drains_is_followed),
	KUNIT_CASE(a_rate_fades_by_the_least_rtt),
	KUNIT_CASE(without_a_queue_what_is_in_flight_says_nothing),
	KUNIT_CASE(the_most_of_late_counts),
	KUNIT_CASE(an_idle_path_is_not_measured),
	KUNIT_CASE(an_outage_is_not_measured),
	KUNIT_CASE(the_slow_path_gets_what_is_due_when_it_has_delivered),
	KUNIT_CASE(what_the_fast_path_delivers_sooner_waits_for_it),
	KUNIT_CASE(early_data_waits_and_late_data_is_waited_for),
	KUNIT_CASE(a_segment_beyond_the_receive_window_waits),
	KUNIT_CASE(all_faster_paths_count),
	KUNIT_CASE(a_path_in_trouble_is_not_waited_for),
	KUNIT_CASE(in_slow_start_the_next_window_is_twice_as_large),
	KUNIT_CASE(slow_start_is_over_when_there_is_a_queue_or_the_pacing_says_so),
	KUNIT_CASE(a_paced_path_gets_no_more_than_tcp_has_below_it),
	KUNIT_CASE(it_is_asked_again_when_a_paced_path_has_sent_what_it_has),
	KUNIT_CASE(a_paced_path_that_is_busy_is_a_full_one),
	KUNIT_CASE(an_idle_path_repeats_what_is_being_repaired_if_it_is_to),
	KUNIT_CASE(a_writer_that_waits_gets_the_oldest_repeated_if_it_is_to),
	KUNIT_CASE(a_backup_has_half_of_its_window_in_flight_if_it_is_to_be_warm),
	KUNIT_CASE(a_queue_makes_no_copies),
	KUNIT_CASE(the_first_window_needs_no_copies),
	KUNIT_CASE(new_data_and_reinjections_come_before_copies),
	KUNIT_CASE(only_a_backup_is_kept_warm),
	{}
};

static struct kunit_suite suite = {
	.name		= "mptcp_earliest",
	.test_cases	= cases,
};

kunit_test_suite(suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Tests of the MPTCP scheduler earliest");
