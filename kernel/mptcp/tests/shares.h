/* SPDX-License-Identifier: GPL-2.0-only */
/* Paths for tests of schedulers that find shares, musher and proportional: they carry so
 * many kbit/s, and no more: of shares s, the least of capacity / s.
 */
#ifndef _MPTCP_LAB_SHARES_H
#define _MPTCP_LAB_SHARES_H

#include <linux/delay.h>
#include "vocabulary.h"

#define PATHS_MAX	3
/* beyond all of its intervals */
#define LOOK_MS		208
#define ROUND		100

struct paths {
	struct kunit		*test;
	struct mps_conn		*conn;
	struct mps_subflow	*subflows[PATHS_MAX];
	struct net_device	*devices[PATHS_MAX];
	u64			kbps[PATHS_MAX];	/* that it carries */
	u32			sent[PATHS_MAX];	/* of the last segments */
	u32			count;
	u32			probe;			/* so many segments make a round */
};

static struct paths *paths_of(struct kunit *test, struct mps_conn *conn, u64 first, u64 second,
			      u64 third)
{
	struct paths *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, p);
	*p = (struct paths) {
		.test = test,
		.conn = conn,
		.kbps = { first, second, third },
		.count = third ? 3 : 2,
		.probe = third ? ROUND * 3 / 2 : ROUND,
	};
	for (i = 0; i < p->count; i++) {
		p->subflows[i] = mps_test_subflow(conn, .cwnd_pkts = 100000,
						  .outstanding_bytes = 1000000);
		p->devices[i] = mps_test_device(p->subflows[i], 1, false);
		p->devices[i]->stats.tx_bytes = 1;
	}
	return p;
}

/* How the segments of a round are spread. They leave nothing behind. */
static void probe(struct paths *p)
{
	u32 n;

	memset(p->sent, 0, sizeof(p->sent));
	for (n = 0; n < p->probe; n++) {
		struct mps_segment *seg = mps_test_unsent(p->conn, MSS);
		struct mps_pick pick = mps_test_send(p->conn);

		KUNIT_ASSERT_EQ(p->test, pick.kind, MPS_NEW);
		p->sent[pick.subflow->id - 1]++;
		mps_test_acked(p->conn, seg);
		pick.subflow->in_flight_pkts--;
		pick.subflow->outstanding_bytes -= MSS;
	}
}

/* It looks so often, and in between the paths carry what they can. */
static void looks(struct paths *p, u32 count)
{
	u64 carried, bytes;
	unsigned long begin;
	u32 i, n, ms;

	for (n = 0; n < count; n++) {
		carried = ~0U;
		probe(p);
		for (i = 0; i < p->count; i++)
			if (p->sent[i])
				carried = min(carried, div_u64(p->kbps[i] * p->probe, p->sent[i]));
		begin = jiffies;
		usleep_range_state(LOOK_MS * 1000, LOOK_MS * 1000, TASK_UNINTERRUPTIBLE);
		ms = jiffies_to_msecs(jiffies - begin);
		for (i = 0; i < p->count; i++) {
			bytes = div_u64(carried * p->sent[i] * ms, p->probe * 8);
			p->devices[i]->stats.tx_bytes += bytes;
		}
	}
	probe(p);
}

/* The segments of a path in a round, the last time. */
#define EXPECT_SHARE(_paths, _path, _segments) \
	KUNIT_EXPECT_EQ((_paths)->test, (_paths)->sent[_path], (u32)(_segments))

/* The next `pkts` segments are sent on the subflow of this id. */
static void expect_sent_on(struct kunit *test, struct mps_conn *conn, u32 pkts, u32 id)
{
	u32 n;

	for (n = 0; n < pkts; n++) {
		struct mps_segment *seg = mps_test_unsent(conn, MSS);

		KUNIT_ASSERT_EQ_MSG(test, mps_test_send_on(conn), id, "segment %u", n);
		mps_test_acked(conn, seg);
	}
}

/* Whatever the devices, queues and acknowledgments say. */
static void survives_states_that_make_no_sense(struct kunit *test, struct mps_conn *conn)
{
	static const u32 values[] = { 0, 1, 20000, 60000000, U32_MAX };
	struct paths *p = paths_of(test, conn, 1, 1, 0);
	int i;

	mps_test_unsent_pkts(conn, 100);
	for (i = 0; i < 200; i++) {
		p->subflows[0]->srtt_us = values[i % 3];
		p->subflows[0]->outstanding_bytes = values[i / 5 % 5];
		p->subflows[1]->outstanding_bytes = values[i % 5];
		p->devices[0]->stats.tx_bytes = i % 11 ? values[i / 5 % 5] : ~0UL;
		p->devices[1]->stats.tx_bytes += values[i % 5];
		if (conn_core(conn)->ops->on_ack)
			conn_core(conn)->ops->on_ack(conn, p->subflows[i % 2], values[i / 5 % 5]);
		usleep_range_state(LOOK_MS * 1000, LOOK_MS * 1000, TASK_UNINTERRUPTIBLE);
		KUNIT_EXPECT_NE(test, (u32)mps_test_decide(conn).kind, 0U);
		if (i % 50 == 49) {
			mps_test_usable(p->subflows[1], false);
			KUNIT_EXPECT_NE(test, (u32)mps_test_decide(conn).kind, 0U);
			mps_test_usable(p->subflows[1], true);
		}
	}
}

#endif
