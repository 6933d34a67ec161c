// SPDX-License-Identifier: GPL-2.0-only
/* What holds for every scheduler, also in absurd states: round-trip times of 0
 * and of a minute, windows of 1 and of 100,000 segments, 1 to 8 subflows, nothing
 * to send and very much, and everything that happens to subflows in between. Each
 * pick must make sense, and each decision must end: a division by zero, or a
 * loop without an end, ends the run of the test.
 *
 * What is random comes from a seed, so that a failure comes again.
 */

#include <linux/delay.h>
#include <linux/prandom.h>
#include "vocabulary.h"

#define CONNECTIONS		300
#define STEPS			30
#define SUBFLOWS_MAX		8
/* A connection is asked so often in a row at most; decisions add up. */
#define PICKS_MAX		400

static const void *next_scheduler(MPS_GENERATOR_ARGS(prev, name))
{
	const struct mps_ops *ops;
	bool next = !prev;
	u32 n;

	mps_test_for_each_scheduler(ops, n) {
		if (next) {
			strscpy(name, ops->name, KUNIT_PARAM_DESC_SIZE);
			return ops;
		}
		next = ops == prev;
	}
	return NULL;
}

static struct mps_conn *conn_of_param(struct kunit *test)
{
	const struct mps_ops *ops = test->param_value;

	return mps_test_conn(test, ops->name);
}

static bool has_param(struct kunit *test, const char *name)
{
	return mps_test_param_of(test->param_value, name) >= 0;
}

/* --- what they have in common */

static void waits_when_there_is_nothing_to_send(struct kunit *test)
{
	struct mps_conn *conn = conn_of_param(test);

	EXPECT_WAIT(test, conn);
	mps_test_subflow(conn, .srtt_us = 0);
	conn->writer_waits = true;
	EXPECT_WAIT(test, conn);
}

static void a_backup_waits_until_there_is_no_other(struct kunit *test)
{
	struct mps_conn *conn = conn_of_param(test);
	struct mps_subflow *backup, *regular;
	struct mps_segment *seg;

	/* of those whose source does not know what a backup is */
	if (has_param(test, "spare_backups"))
		mps_test_param(conn, "spare_backups", 1);
	backup = mps_test_subflow(conn, .backup = true);
	regular = mps_test_subflow(conn, .srtt_us = 200000);
	seg = mps_test_unsent_pkts(conn, 5);
	EXPECT_PICK(test, conn, MPS_NEW, regular, seg);
	mps_test_fill(regular);
	KUNIT_EXPECT_PTR_NE(test, mps_test_decide(conn).subflow, backup);
	mps_test_usable(regular, false);
	EXPECT_PICK(test, conn, MPS_NEW, backup, seg);
}

static void reinjections_come_first(struct kunit *test)
{
	struct mps_conn *conn = conn_of_param(test);
	struct mps_segment *lost, *head;
	struct mps_subflow *near, *far;

	/* as published, it leaves them to the connection's timer */
	if (!strcmp(conn_core(conn)->ops->name, "burst"))
		mps_test_param(conn, "reinject", 1);
	near = mps_test_subflow(conn, .srtt_us = 40000, .commd_us = 20000);
	far = mps_test_subflow(conn, .srtt_us = 200000, .commd_us = 130000);
	lost = mps_test_in_flight(conn, MSS, near);
	head = mps_test_unsent_pkts(conn, 64);
	mps_test_rto(near);
	EXPECT_SENT(test, conn, MPS_REINJECTION, far, lost);
	EXPECT_PICK(test, conn, MPS_NEW, far, head);
}

/* Of those that have opportunistic retransmission. */
static void repeats_what_blocks_the_window_if_it_is_to(struct kunit *test)
{
	u32 rp;

	if (!has_param(test, "rp"))
		return;
	for (rp = 0; rp <= 1; rp++) {
		struct mps_conn *conn = conn_of_param(test);
		struct mps_subflow *fast, *slow;
		struct mps_segment *oldest;

		mps_test_param(conn, "rp", rp);
		if (has_param(test, "penalise"))
			mps_test_param(conn, "penalise", 1);
		fast = mps_test_subflow(conn, .srtt_us = 20000);
		slow = mps_test_subflow(conn, .srtt_us = 100000);
		oldest = mps_test_in_flight(conn, MSS, slow);
		conn->window_bytes = MSS;
		/* penalised at most once in an RTT, and the first time not before one */
		msleep(20);
		EXPECT_WAIT(test, conn);
		conn->writer_waits = true;
		if (rp)
			EXPECT_PICK(test, conn, MPS_DUPLICATE, fast, oldest);
		else
			EXPECT_WAIT(test, conn);
		KUNIT_EXPECT_EQ(test, mps_cwnd(slow), 10U);
		/* now it is the window, and not only a writer, that waits */
		conn->writer_waits = false;
		mps_test_unsent_pkts(conn, 64);
		if (rp)
			EXPECT_SENT(test, conn, MPS_DUPLICATE, fast, oldest);
		else
			mps_test_decide(conn);
		KUNIT_EXPECT_EQ(test, mps_cwnd(slow), rp ? 5U : 10U);
	}
}

static void no_figure_makes_it_fail(struct kunit *test)
{
	static const u32 figures[] = { 0, 1, 1000, 60000000, U32_MAX };
	struct mps_conn *conn = conn_of_param(test);
	struct mps_subflow *near = mps_test_subflow(conn), *far = mps_test_subflow(conn);
	int i, j, k;

	mps_test_unsent_pkts(conn, 64);
	for (i = 0; i < ARRAY_SIZE(figures); i++) {
		for (j = 0; j < ARRAY_SIZE(figures); j++) {
			for (k = 0; k < ARRAY_SIZE(figures); k++) {
				near->srtt_us = figures[i];
				near->last_rtt_us = figures[i];
				near->commd_us = figures[j];
				near->cwnd_pkts = figures[j];
				near->ssthresh_pkts = figures[k];
				near->in_flight_pkts = figures[k];
				near->unsent_bytes = figures[k];
				near->mss_bytes = figures[j];
				far->srtt_us = U32_MAX;
				far->last_rtt_us = U32_MAX;
				far->commd_us = figures[k];
				mps_test_decide(conn);
				swap(near, far);
			}
		}
	}
}

/* --- random states */

struct fuzz {
	struct rnd_state	rnd;
	struct mps_conn		*conn;
	struct mps_subflow	*subflows[32];
	u32			num_subflows;	/* closed ones, too */
	u32			last_unit;	/* its id */
};

static u32 below(struct fuzz *f, u32 end)
{
	return prandom_u32_state(&f->rnd) % end;
}

static bool once_in(struct fuzz *f, u32 times)
{
	return !below(f, times);
}

/* As likely of any magnitude, up to `bits` bits.
 *
 * The compiler chooses the order of operands, arguments and initializers: here as everywhere, two
 * numbers are drawn one after the other, into variables.
 */
static u32 any(struct fuzz *f, u32 bits)
{
	u32 magnitude = below(f, bits);

	return prandom_u32_state(&f->rnd) >> (32 - 1 - magnitude);
}

static u32 any_rtt_us(struct fuzz *f)
{
	static const u32 values[] = { 0, 1, 50, 1000, 20000, 100000, 3000000, 60000000 };

	return once_in(f, 3) ? min(any(f, 26), 60000000U) : values[below(f, ARRAY_SIZE(values))];
}

static u32 any_cwnd_pkts(struct fuzz *f)
{
	static const u32 values[] = { 1, 2, 10, 1000, 100000 };

	return once_in(f, 3) ? clamp(any(f, 17), 1U, 100000U) :
			       values[below(f, ARRAY_SIZE(values))];
}

static u64 any_time_ns(struct fuzz *f)
{
	return once_in(f, 4) ? 0 : mps_clock_ns() - min_t(u64, mps_clock_ns(), any(f, 31));
}

/* What a snapshot of TCP may say of it. */
static void any_state(struct fuzz *f, struct mps_subflow *subflow)
{
	static const u8 states[] = { TCP_CA_Open, TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR,
				     TCP_CA_Recovery, TCP_CA_Loss };
	u32 one = any(f, 32), other = any(f, 32), shift = below(f, 8);

	subflow->ca_state = states[below(f, ARRAY_SIZE(states))];
	subflow->mss_bytes = once_in(f, 4) ? 1 + any(f, 16) : MSS;
	subflow->srtt_us = any_rtt_us(f);
	subflow->rttvar_us = any_rtt_us(f);
	subflow->min_rtt_us = once_in(f, 4) ? ~0 : any_rtt_us(f);
	subflow->last_rtt_us = any_rtt_us(f);
	subflow->cwnd_pkts = any_cwnd_pkts(f);
	subflow->ssthresh_pkts = once_in(f, 2) ? TCP_INFINITE_SSTHRESH : 1 + any_cwnd_pkts(f);
	/* all of it, none, anything; more than the window after that was cut */
	subflow->in_flight_pkts = once_in(f, 3) ? subflow->cwnd_pkts :
				  once_in(f, 3) ? 0 : any_cwnd_pkts(f);
	subflow_core(subflow)->set_limit_pkts = once_in(f, 4) ? 1 + any(f, 17) : ~0;
	subflow->limit_pkts = subflow_core(subflow)->set_limit_pkts;
	subflow->unsent_bytes = once_in(f, 3) ? any(f, 30) : 0;
	subflow->outstanding_bytes = once_in(f, 4) ? any(f, 31) :
				     subflow->in_flight_pkts * MSS + subflow->unsent_bytes;
	subflow->window_bytes = once_in(f, 3) ? any(f, 30) : SZ_1G;
	subflow->pacing_rate = once_in(f, 3) ? ~0ULL : (u64)any(f, 32) << shift;
	subflow->delivered_pkts = any(f, 32);
	subflow->delivered_ns = any_time_ns(f);
	subflow->delivered_sent_ns = any_time_ns(f);
	subflow->oldest_sent_ns = any_time_ns(f);
	subflow->owd_us = any(f, 31);
	subflow->commd_us = any(f, 31);
	if (once_in(f, 2))
		mps_test_clock(subflow, one, other);
}

static struct mps_subflow *any_subflow(struct fuzz *f)
{
	struct mps_subflow *subflow = f->subflows[below(f, f->num_subflows)];

	return subflow_core(subflow)->ssk ? subflow : NULL;
}

static void any_connection(struct fuzz *f, struct kunit *test, const char *scheduler)
{
	const struct mps_ops *ops = mps_find(scheduler);
	u32 i, n;

	KUNIT_ASSERT_NOT_NULL_MSG(test, ops, "no scheduler %s", scheduler);
	f->conn = mps_test_conn(test, scheduler);
	for (i = 0; i < ops->num_params; i++) {
		const struct mps_param *param = &ops->params[i];
		u32 span = param->max - param->min;

		/* the least, the most, and what is between */
		if (once_in(f, 3))
			mps_test_param(f->conn, param->name,
				       param->min + (once_in(f, 2) ? below(f, max(span, 1U)) :
						     once_in(f, 2) ? span : 0));
	}
	f->num_subflows = 1 + below(f, SUBFLOWS_MAX);
	for (i = 0; i < f->num_subflows; i++) {
		struct mps_subflow *subflow = mps_test_subflow(f->conn, .backup = once_in(f, 5));
		u32 packets = any(f, 30), bytes = any(f, 31);

		f->subflows[i] = subflow;
		if (once_in(f, 2))
			mps_test_device_queue(mps_test_device(subflow, 1, true), 0, packets, bytes);
		any_state(f, subflow);
	}
	/* some on its way, some of that for reinjection, and some unsent */
	n = any(f, 8);
	while (n--) {
		struct mps_subflow *subflow = any_subflow(f);
		struct mps_segment *seg;

		seg = mps_test_in_flight(f->conn, 1 + below(f, MSS), subflow);
		if (once_in(f, 5))
			mps_test_reinject(f->conn, seg);
	}
	n = any(f, 10);
	while (n--)
		mps_test_unsent(f->conn, once_in(f, 5) ? 1 + below(f, MSS) : MSS);
}

/* Nothing is in flight any more, and nothing is wrong with any subflow. */
static void all_is_calm(struct fuzz *f)
{
	struct mps_subflow *subflow;

	f->conn->window_bytes = SZ_1G;
	mps_for_each_subflow(f->conn, subflow) {
		subflow->ca_state = TCP_CA_Open;
		subflow->window_bytes = SZ_1G;
		subflow->unsent_bytes = 0;
		subflow->outstanding_bytes = 0;
		mps_test_ack(subflow, subflow->in_flight_pkts);
	}
}

/* A unit, which may be without a deadline, too late, or useless without another. */
static void any_unit(struct fuzz *f)
{
	u64 now_ns = mps_clock_ns();
	u32 before = f->last_unit++, pkts = 1 + below(f, 20);
	u64 deadline_ns = once_in(f, 3) ? 0 : now_ns + any(f, 32);

	mps_test_unit(f->conn, pkts, .id = f->last_unit, .importance = 1,
		      .depends_on = once_in(f, 2) ? 0 : before, .deadline_ns = deadline_ns);
}

static void anything_happens(struct fuzz *f)
{
	struct mps_subflow *subflow = any_subflow(f);
	struct mps_conn *conn = f->conn;
	struct mptcp_data_frag *frag;

	conn->window_bytes = once_in(f, 3) ? any(f, 31) : SZ_1G;
	conn->writer_waits = once_in(f, 2);
	conn->sndbuf_full = once_in(f, 2);
	conn->closing = once_in(f, 8);
	if (!subflow)
		return;

	switch (below(f, 12)) {
	case 0:
		mps_test_ack(subflow, any(f, 20));
		break;
	case 1:
		mps_test_ack(subflow, 1 + any(f, 4));
		any_state(f, subflow);
		break;
	case 2:
		mps_test_loss(subflow);
		break;
	case 3:
		mps_test_rto(subflow);
		break;
	case 4:
		mps_test_usable(subflow, once_in(f, 2));
		break;
	case 5:
		mps_test_usable(subflow, true);
		break;
	case 6:
		mps_test_backup(subflow, once_in(f, 2));
		break;
	case 7:
		if (once_in(f, 4))
			mps_test_close(subflow);
		break;
	case 8:
		if (conn_core(conn)->ops->takes_units &&
		    conn_core(conn)->units_waiting < MPS_UNITS_MAX)
			any_unit(f);
		else
			mps_test_unsent(conn, 1 + below(f, MSS));
		break;
	case 9:
		all_is_calm(f);
		break;
	default:
		frag = list_first_entry_or_null(&conn_core(conn)->msk->rtx_queue,
						struct mptcp_data_frag, list);
		if (frag && list_empty(&mps_segment(frag)->unsent))
			mps_test_acked(conn, mps_segment(frag));
		break;
	}
	if (once_in(f, 4))
		fsleep(1 + any(f, 14));
}

/* Nothing is on its way that would bring another occasion, and something could
 * leave: who waits now must say until when.
 */
static bool is_idle(struct fuzz *f)
{
	int v089 = mps_test_param_of(conn_core(f->conn)->ops, "v089");
	/* it does not use backups while there is a regular subflow, usable or not */
	bool waits_for_silent = v089 >= 0 && mps_param(f->conn, v089);
	struct mps_subflow *subflow;
	struct mps_segment *head;

	mps_test_update(f->conn);
	head = mps_head(f->conn);
	if (!f->conn->subflows_usable || !head || !mps_fits_window(f->conn, head))
		return false;
	/* As in the source, a backup does not pass what others carry. Their ACKs end that; here
	 * they may carry it with nothing in flight, and no ACK comes.
	 */
	if (!strcmp(conn_core(f->conn)->ops->name, "redundant") && mps_only_backups(f->conn) &&
	    f->conn->una_seq != f->conn->nxt_seq)
		return false;
	mps_for_each_subflow(f->conn, subflow) {
		if (subflow->usable && (subflow->in_flight_pkts || subflow->unsent_bytes ||
					subflow->ca_state != TCP_CA_Open ||
					subflow->window_bytes < SZ_1G))
			return false;
		if (!subflow->usable && !subflow->backup && waits_for_silent)
			return false;
	}
	return true;
}

static void every_pick_makes_sense(struct kunit *test)
{
	const struct mps_ops *ops = test->param_value;
	const char *scheduler = ops->name;
	struct fuzz *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	u64 picks = 0, idle = 0;
	u32 i, step, n;
	bool must;

	KUNIT_ASSERT_NOT_NULL(test, f);
	prandom_seed_state(&f->rnd, 1);
	for (i = 0; i < CONNECTIONS; i++) {
		any_connection(f, test, scheduler);
		for (step = 0; step < STEPS; step++) {
			anything_happens(f);
			must = is_idle(f);
			for (n = 0; n < PICKS_MAX && mps_test_send(f->conn).kind; n++)
				;
			picks += n;
			idle += must;
			if (must && !n)
				KUNIT_ASSERT_NE_MSG(test, mps_test_wake_time(f->conn), 0ULL,
						    "connection %u, step %u: it waits for nothing",
						    i, step);
		}
	}
	/* there was something to decide */
	KUNIT_EXPECT_GT(test, picks, 10ULL * CONNECTIONS);
	KUNIT_EXPECT_GT(test, idle, CONNECTIONS / 3ULL);
	kunit_info(test, "%s: %llu picks, idle %llu times\n", scheduler, picks, idle);
}

static struct kunit_case every_scheduler_cases[] = {
	KUNIT_CASE_PARAM(waits_when_there_is_nothing_to_send, next_scheduler),
	KUNIT_CASE_PARAM(a_backup_waits_until_there_is_no_other, next_scheduler),
	KUNIT_CASE_PARAM(reinjections_come_first, next_scheduler),
	KUNIT_CASE_PARAM(repeats_what_blocks_the_window_if_it_is_to, next_scheduler),
	KUNIT_CASE_PARAM(no_figure_makes_it_fail, next_scheduler),
	KUNIT_CASE_PARAM(every_pick_makes_sense, next_scheduler),
	{}
};

static struct kunit_suite every_scheduler_suite = {
	.name		= "every_scheduler",
	.test_cases	= every_scheduler_cases,
};

kunit_test_suite(every_scheduler_suite);

MODULE_DESCRIPTION("KUnit: what holds for every scheduler");
MODULE_LICENSE("GPL");
