/* SPDX-License-Identifier: GPL-2.0-only */
/* The words that tests of schedulers are written in: connections, subflows and
 * segments in any state, as the framework presents them to next_segment(), but
 * without sockets behind them.
 *
 *	struct mps_conn *conn = mps_test_conn(test, "minrtt");
 *	struct mps_subflow *near = mps_test_subflow(conn, .srtt_us = 20000);
 *	struct mps_subflow *far = mps_test_subflow(conn, .srtt_us = 100000);
 *	struct mps_segment *seg = mps_test_unsent(conn, MSS);
 *
 *	EXPECT_SENT(test, conn, MPS_NEW, near, seg);
 *	mps_test_fill(near);
 *	mps_test_fill(far);
 *	EXPECT_WAIT(test, conn);
 *
 * All fields of mpsched.h may be set at any time, except those that follow from
 * others: una_seq, nxt_seq, window_end_seq (set window_bytes instead),
 * unsent_bytes and subflows_usable. The memory is the test's, and goes with it.
 */
#ifndef _MPTCP_LAB_TESTS_VOCABULARY_H
#define _MPTCP_LAB_TESTS_VOCABULARY_H

#include <kunit/test.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <net/sch_generic.h>
#include "../framework.h"

/* what of the framework is there for its tests alone */
MPS_IMPORT_NS(EXPORTED_FOR_KUNIT_TESTING);

/* bytes of data in a full segment */
#define MSS			1448
/* us in a ms, as RTTs are written */
#define MSEC_US			1000

/* Data sequence numbers start here: they wrap around after 64 KiB. */
#define MPS_TEST_BASE_SEQ	(0ULL - SZ_64K)

/* Goes through all schedulers, one in each file of sched/. */
#define mps_test_for_each_scheduler(_ops, _n) \
	for ((_n) = 0; ((_ops) = mps_nth(_n)); (_n)++)

struct mps_test {
	struct kunit	*test;
	u64		end_seq;	/* of what the application wrote */
	u32		last_id;	/* of a subflow */
	struct mps_conn_core core;
};

static inline struct mps_test *mps_test(struct mps_conn *conn)
{
	return container_of(conn, struct mps_test, core.pub);
}

/* --- connections */

/* mps_wake_at() leads nowhere; mps_test_wake_time() tells whether it was called. */
static inline enum hrtimer_restart mps_test_no_wake(struct hrtimer *timer)
{
	return HRTIMER_NORESTART;
}

KUNIT_DEFINE_ACTION_WRAPPER(mps_test_cancel, hrtimer_cancel, struct hrtimer *);
KUNIT_DEFINE_ACTION_WRAPPER(mps_test_forget_units, mps_forget_units, struct mps_conn *);

/* When the scheduler wants to be asked at the latest (mps_clock_ns()); 0: it
 * has said nothing.
 */
static inline u64 mps_test_wake_time(struct mps_conn *conn)
{
	const struct hrtimer *timer = &conn_core(conn)->timer;

	return hrtimer_active(timer) ? ktime_to_ns(hrtimer_get_expires(timer)) : 0;
}

/* A connection as it is before its first subflow, with the defaults of all
 * parameters and a window of 1 GiB. init() was called.
 */
static inline struct mps_conn *mps_test_conn_of(struct kunit *test, const struct mps_ops *ops)
{
	struct mps_test *t = kunit_kzalloc(test, sizeof(*t) + ops->conn_size, GFP_KERNEL);
	struct mptcp_sock *msk = kunit_kzalloc(test, sizeof(*msk), GFP_KERNEL);
	struct mps_conn_core *core;
	struct mps_conn *conn;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, t);
	KUNIT_ASSERT_NOT_NULL(test, msk);
	t->test = test;
	INIT_LIST_HEAD(&msk->rtx_queue);
	INIT_LIST_HEAD(&msk->conn_list);

	core = &t->core;
	core->msk = msk;
	core->ops = ops;
	((struct sock *)msk)->sk_sndbuf = SZ_1G;
	sock_net_set((struct sock *)msk, &init_net);
	INIT_LIST_HEAD(&core->unsent);
	INIT_LIST_HEAD(&core->reinject);
	INIT_LIST_HEAD(&core->units);
	INIT_LIST_HEAD(&core->past_units);
	core->base_seq = MPS_TEST_BASE_SEQ;
	core->small_end = MPS_TEST_BASE_SEQ;
	core->started = true;
	hrtimer_setup(&core->timer, mps_test_no_wake, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	hrtimer_setup(&core->late_timer, mps_test_no_wake, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
	hrtimer_setup(&core->ask_timer, mps_test_no_wake, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
	conn = &core->pub;
	INIT_LIST_HEAD(&conn->subflows);
	conn->segment_bytes = MSS;
	conn->window_bytes = SZ_1G;
	KUNIT_ASSERT_EQ(test, kunit_add_action(test, mps_test_forget_units, conn), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action(test, mps_test_cancel, &core->timer), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action(test, mps_test_cancel, &core->late_timer), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action(test, mps_test_cancel, &core->ask_timer), 0);
	for (i = 0; i < ops->num_params; i++)
		conn->params[i] = ops->params[i].def;
	if (ops->init)
		ops->init(conn);
	return conn;
}

/* The same for the registered scheduler of that name. */
static inline struct mps_conn *mps_test_conn(struct kunit *test, const char *scheduler)
{
	const struct mps_ops *ops = mps_find(scheduler);

	KUNIT_ASSERT_NOT_NULL_MSG(test, ops, "no scheduler %s", scheduler);
	return mps_test_conn_of(test, ops);
}

/* Which one of the scheduler's parameters has this name; -1: none. */
static inline int mps_test_param_of(const struct mps_ops *ops, const char *name)
{
	int i;

	for (i = 0; i < ops->num_params; i++)
		if (!strcmp(ops->params[i].name, name))
			return i;
	return -1;
}

/* Before the first subflow. init() is called again. */
static inline void mps_test_param(struct mps_conn *conn, const char *name, u32 value)
{
	struct kunit *test = mps_test(conn)->test;
	const struct mps_ops *ops = conn_core(conn)->ops;
	int i = mps_test_param_of(ops, name);

	KUNIT_ASSERT_TRUE(test, list_empty(&conn->subflows));
	KUNIT_ASSERT_GE_MSG(test, i, 0, "no parameter %s", name);
	KUNIT_ASSERT_GE(test, value, ops->params[i].min);
	KUNIT_ASSERT_LE(test, value, ops->params[i].max);

	if (ops->release)
		ops->release(conn);
	memset(conn->priv, 0, ops->conn_size);
	conn->params[i] = value;
	if (ops->init)
		ops->init(conn);
}

/* What follows from the subflows and segments. */
static inline void mps_test_update(struct mps_conn *conn)
{
	struct mps_conn_core *core = conn_core(conn);
	struct mptcp_sock *msk = core->msk;
	struct mptcp_data_frag *frag;
	struct mps_subflow *subflow;

	conn->una_seq = mps_test(conn)->end_seq;
	frag = list_first_entry_or_null(&msk->rtx_queue, struct mptcp_data_frag, list);
	if (frag)
		conn->una_seq = frag->data_seq - core->base_seq;

	conn->nxt_seq = conn->una_seq;
	conn->unsent_bytes = 0;
	msk->first_pending = NULL;
	list_for_each_entry(frag, &msk->rtx_queue, list) {
		if (frag->already_sent)
			conn->nxt_seq = frag->data_seq + frag->already_sent - core->base_seq;
		if (frag->already_sent < frag->data_len && !msk->first_pending)
			msk->first_pending = frag;
		conn->unsent_bytes += frag->data_len - frag->already_sent;
	}
	conn->window_end_seq = conn->una_seq + conn->window_bytes;
	msk->snd_una = core->base_seq + conn->una_seq;
	msk->snd_nxt = core->base_seq + conn->nxt_seq;
	msk->wnd_end = core->base_seq + conn->window_end_seq;
	msk->write_seq = core->base_seq + mps_test(conn)->end_seq;

	conn->subflows_usable = 0;
	core->usable_mask = 0;
	mps_for_each_subflow(conn, subflow) {
		if (!subflow->usable)
			continue;
		conn->subflows_usable++;
		core->usable_mask |= BIT(subflow_core(subflow)->slot);
	}
}

/* --- subflows */

static inline struct mps_subflow *__mps_test_subflow(struct mps_conn *conn,
						     const struct mps_subflow *state)
{
	struct mps_conn_core *core = conn_core(conn);
	const struct mps_ops *ops = core->ops;
	struct mps_test *t = mps_test(conn);
	struct mps_subflow_core *sub;
	struct mps_subflow *subflow;
	struct tcp_sock *tp;

	sub = kunit_kzalloc(t->test, sizeof(*sub) + ops->subflow_size, GFP_KERNEL);
	tp = kunit_kzalloc(t->test, sizeof(*tp), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(t->test, sub);
	KUNIT_ASSERT_NOT_NULL(t->test, tp);
	KUNIT_ASSERT_LT(t->test, t->last_id, ARRAY_SIZE(core->slots));

	subflow = &sub->pub;
	*subflow = *state;
	if (!subflow->min_rtt_us)
		subflow->min_rtt_us = subflow->srtt_us ?: ~0;
	if (!subflow->last_rtt_us)
		subflow->last_rtt_us = subflow->srtt_us;
	sub->conn = conn;
	sub->ssk = (struct sock *)tp;
	sub->ssk->sk_protocol = IPPROTO_TCP;
	sub->slot = t->last_id++;
	subflow->id = t->last_id;
	sub->established = true;
	sub->has_timestamps = true;
	sub->penalised = tcp_jiffies32 - 60 * HZ;
	sub->penalty_pkts = ~0;
	sub->set_limit_pkts = subflow->limit_pkts;
	core->slots[sub->slot] = sub;
	list_add_tail(&subflow->node, &conn->subflows);
	mps_test_update(conn);
	if (ops->init_subflow)
		ops->init_subflow(conn, subflow);
	return subflow;
}

/* A new subflow, usable unless something else is said: RTT 20 ms (and so the
 * least and the latest sample), a congestion window of 10 segments with nothing
 * in flight, no loss yet. init_subflow() was called.
 */
#define mps_test_subflow(_conn, ...)				\
	__mps_test_subflow(_conn, &(const struct mps_subflow) {	\
		.usable		= true,				\
		.mss_bytes	= MSS,				\
		.srtt_us	= 20000,			\
		.cwnd_pkts	= 10,				\
		.ssthresh_pkts	= TCP_INFINITE_SSTHRESH,	\
		.limit_pkts	= ~0,				\
		.window_bytes	= SZ_1G,			\
		.pacing_rate	= ~0ULL,			\
		__VA_ARGS__					\
	})

/* By its latest ACK, the peer's clock minus ours is from `least_ms` to `most_ms`.
 * Without this a subflow has no say in whether delays can be compared.
 */
static inline void mps_test_clock(struct mps_subflow *subflow, u32 least_ms, u32 most_ms)
{
	subflow_core(subflow)->clock_known = true;
	subflow_core(subflow)->clock_least_ms = least_ms;
	subflow_core(subflow)->clock_most_ms = most_ms;
}

/* Its congestion window is full. */
static inline void mps_test_fill(struct mps_subflow *subflow)
{
	subflow->in_flight_pkts = subflow->cwnd_pkts;
}

static const struct net_device_ops mps_test_device_ops __maybe_unused = {};

/* The subflow gets a device of its own, with so many queues, each with a queueing
 * discipline; or, with `shared`, one for all of them.
 */
static inline struct net_device *mps_test_device(struct mps_subflow *subflow, unsigned int queues,
						 bool shared)
{
	struct kunit *test = mps_test(subflow_core(subflow)->conn)->test;
	struct net_device *dev = kunit_kzalloc(test, sizeof(*dev), GFP_KERNEL);
	struct dst_entry *dst = kunit_kzalloc(test, sizeof(*dst), GFP_KERNEL);
	struct Qdisc *qdisc = NULL;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, dev);
	KUNIT_ASSERT_NOT_NULL(test, dst);
	dev->_tx = kunit_kcalloc(test, queues, sizeof(*dev->_tx), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, dev->_tx);
	dev->num_tx_queues = queues;
	for (i = 0; i < queues; i++) {
		if (!qdisc || !shared)
			qdisc = kunit_kzalloc(test, sizeof(*qdisc), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, qdisc);
		RCU_INIT_POINTER(dev->_tx[i].qdisc, qdisc);
	}
	dev->netdev_ops = &mps_test_device_ops;
	dst->dev = dev;
	RCU_INIT_POINTER(subflow_core(subflow)->ssk->sk_dst_cache, dst);
	return dev;
}

/* So much waits in a queue of that device, and so much more has left it. */
static inline void mps_test_device_queue(struct net_device *dev, unsigned int queue,
					 u32 waits_bytes, u64 left_bytes)
{
	struct Qdisc *qdisc = rcu_dereference_protected(dev->_tx[queue].qdisc, true);

	qdisc->qstats.backlog = waits_bytes;
	/* u64_stats_add() does not take constants of more than 32 bits */
	u64_stats_set(&qdisc->bstats.bytes, u64_stats_read(&qdisc->bstats.bytes) + left_bytes);
}

/* What many tests begin with: a faster path and a slower one, and the first
 * segment that is to be sent.
 */
struct two_paths {
	struct mps_conn		*conn;
	struct mps_subflow	*fast;
	struct mps_subflow	*slow;
	struct mps_segment	*head;
};

/* --- segments */

/* The next `bytes` of the stream, written by the application and not sent. */
static inline struct mps_segment *mps_test_unsent(struct mps_conn *conn, u32 bytes)
{
	struct mps_conn_core *core = conn_core(conn);
	struct mps_test *t = mps_test(conn);
	struct mps_segment *seg = kunit_kzalloc(t->test, sizeof(*seg), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(t->test, seg);
	KUNIT_ASSERT_GT(t->test, bytes, 0U);
	KUNIT_ASSERT_LE(t->test, bytes, (u32)MSS);
	seg->frag.data_seq = core->base_seq + t->end_seq;
	seg->frag.data_len = bytes;
	t->end_seq += bytes;
	INIT_LIST_HEAD(&seg->reinject);
	list_add_tail(&seg->frag.list, &core->msk->rtx_queue);
	list_add_tail(&seg->unsent, &core->unsent);
	mps_test_update(conn);
	mps_unit_written(conn, bytes);
	return seg;
}

/* So many full segments of it; the first one. */
static inline struct mps_segment *mps_test_unsent_pkts(struct mps_conn *conn, u32 pkts)
{
	struct mps_segment *first = mps_test_unsent(conn, MSS);

	while (--pkts)
		mps_test_unsent(conn, MSS);
	return first;
}

/* The application announces a unit, and writes `pkts` full segments of it; less
 * than all: it has not come further yet.
 */
static inline struct mps_unit *__mps_test_unit(struct mps_conn *conn, u32 pkts,
					       const struct mptcp_unit *what)
{
	KUNIT_ASSERT_EQ(mps_test(conn)->test, mps_announce_unit(conn, what), 0);
	while (pkts--)
		mps_test_unsent(conn, MSS);
	return &list_last_entry(&conn_core(conn)->units, struct mps_unit_core, node)->pub;
}

#define mps_test_unit(_conn, _pkts, ...)			\
	__mps_test_unit(_conn, _pkts, &(const struct mptcp_unit) {	\
		.bytes	= (_pkts) * MSS,			\
		__VA_ARGS__					\
	})

/* What the framework does when a unit is dropped, but for the memory. */
static inline void mps_test_drop(struct mps_conn *conn, struct mps_unit *unit)
{
	struct mps_conn_core *core = conn_core(conn);
	u64 begin = core->base_seq + unit->seq, end = begin + unit->written_bytes;
	struct mptcp_data_frag *frag, *next;
	struct mps_unit *later = unit;

	KUNIT_ASSERT_TRUE(mps_test(conn)->test, mps_may_drop(conn, unit));
	list_for_each_entry_safe(frag, next, &core->msk->rtx_queue, list) {
		if (before64(frag->data_seq, begin))
			continue;
		if (!before64(frag->data_seq, end)) {
			frag->data_seq -= unit->written_bytes;
			continue;
		}
		mps_forget_unsent(conn, mps_segment(frag));
		list_del(&frag->list);
	}
	while ((later = mps_next_unit(conn, later)))
		later->seq -= unit->written_bytes;
	mps_test(conn)->end_seq -= unit->written_bytes;
	mps_keep_unit(conn, unit, true);
	mps_test_update(conn);
}

/* `bytes` of it were sent on `subflow` (too), and have not arrived. */
static inline void __mps_test_sent(struct mps_conn *conn, struct mps_segment *seg,
				   struct mps_subflow *subflow, u32 bytes)
{
	if (!list_empty(&seg->unsent)) {
		mps_sent_part(seg, subflow, bytes);
		if (seg->frag.already_sent == seg->frag.data_len) {
			mps_forget_unsent(conn, seg);
			mps_units_sent(conn);
		}
	}
	seg->carried |= BIT(subflow_core(subflow)->slot);
	subflow->outstanding_bytes += bytes;
	if (subflow->in_flight_pkts < subflow->cwnd_pkts)
		subflow->in_flight_pkts++;
	else
		subflow->unsent_bytes += bytes;
	mps_test_update(conn);
}

/* It was sent on `subflow` (too), and has not arrived. */
static inline void mps_test_sent(struct mps_conn *conn, struct mps_segment *seg,
				 struct mps_subflow *subflow)
{
	u32 sent = list_empty(&seg->unsent) ? 0 : seg->frag.already_sent;

	__mps_test_sent(conn, seg, subflow, seg->frag.data_len - sent);
}

/* The next `bytes` of the stream were written, and sent on `subflow`. */
static inline struct mps_segment *mps_test_in_flight(struct mps_conn *conn, u32 bytes,
						     struct mps_subflow *subflow)
{
	struct mps_segment *seg = mps_test_unsent(conn, bytes);

	mps_test_sent(conn, seg, subflow);
	return seg;
}

/* It waits in the reinjection queue, in order. */
static inline void mps_test_reinject(struct mps_conn *conn, struct mps_segment *seg)
{
	struct list_head *before = &conn_core(conn)->reinject;
	struct mps_segment *other;

	if (!list_empty(&seg->reinject))
		return;
	list_for_each_entry(other, &conn_core(conn)->reinject, reinject) {
		if (after64(other->frag.data_seq, seg->frag.data_seq)) {
			before = &other->reinject;
			break;
		}
	}
	list_add_tail(&seg->reinject, before);
}

/* The stream is acknowledged up to the end of `seg`. */
static inline void mps_test_acked(struct mps_conn *conn, const struct mps_segment *seg)
{
	u64 una = seg->frag.data_seq + seg->frag.data_len;
	struct mptcp_data_frag *frag, *next;
	struct mps_subflow *subflow;

	list_for_each_entry_safe(frag, next, &conn_core(conn)->msk->rtx_queue, list) {
		struct mps_segment *acked = mps_segment(frag);

		if (!before64(frag->data_seq, una))
			break;
		KUNIT_ASSERT_TRUE(mps_test(conn)->test, list_empty(&acked->unsent));
		list_del_init(&acked->reinject);
		mps_for_each_subflow(conn, subflow)
			if (subflow_core(subflow)->cursor == acked)
				subflow_core(subflow)->cursor = NULL;
		list_del(&frag->list);
	}
	mps_test_update(conn);
}

/* --- what happens to subflows */

/* It became usable, or ceased to be; on_subflow_state() was called. What only
 * others carried waits in the reinjection queue.
 */
static inline void mps_test_usable(struct mps_subflow *subflow, bool usable)
{
	struct mps_conn *conn = subflow_core(subflow)->conn;

	subflow->usable = usable;
	if (conn_core(conn)->ops->on_subflow_state)
		conn_core(conn)->ops->on_subflow_state(conn, subflow);
	mps_test_update(conn);
	mps_recover(conn);
}

/* It became a backup, or a regular one; on_subflow_state() was called. */
static inline void mps_test_backup(struct mps_subflow *subflow, bool backup)
{
	struct mps_conn *conn = subflow_core(subflow)->conn;

	subflow->backup = backup;
	if (conn_core(conn)->ops->on_subflow_state)
		conn_core(conn)->ops->on_subflow_state(conn, subflow);
}

/* So many full segments arrived, and were acknowledged on it (the stream is
 * not: mps_test_acked()). on_ack() was called.
 */
static inline void mps_test_ack(struct mps_subflow *subflow, u32 pkts)
{
	struct mps_conn *conn = subflow_core(subflow)->conn;
	u32 bytes = pkts * MSS;

	subflow->in_flight_pkts -= min(pkts, subflow->in_flight_pkts);
	subflow->outstanding_bytes -= min(bytes, subflow->outstanding_bytes);
	subflow->acked_bytes += bytes;
	subflow->delivered_pkts += pkts;
	if (conn_core(conn)->ops->on_ack)
		conn_core(conn)->ops->on_ack(conn, subflow, bytes);
}

/* It lost a segment, and halves its congestion window. on_loss() was called. */
static inline void mps_test_loss(struct mps_subflow *subflow)
{
	struct mps_conn *conn = subflow_core(subflow)->conn;

	subflow->ca_state = TCP_CA_Recovery;
	subflow->ssthresh_pkts = max(subflow->cwnd_pkts / 2, 2U);
	subflow->cwnd_pkts = subflow->ssthresh_pkts;
	if (conn_core(conn)->ops->on_loss)
		conn_core(conn)->ops->on_loss(conn, subflow);
}

/* It had a retransmission timeout, and is not usable until something comes
 * back. on_subflow_state() and on_rto() were called; what only it carried waits
 * in the reinjection queue.
 */
static inline void mps_test_rto(struct mps_subflow *subflow)
{
	struct mps_conn *conn = subflow_core(subflow)->conn;

	subflow->ca_state = TCP_CA_Loss;
	subflow->ssthresh_pkts = max(subflow->cwnd_pkts / 2, 2U);
	subflow->cwnd_pkts = 1;
	subflow->in_flight_pkts = 0;
	subflow_core(subflow)->silent = true;
	mps_test_usable(subflow, false);
	if (conn_core(conn)->ops->on_rto)
		conn_core(conn)->ops->on_rto(conn, subflow);
}

/* It is gone for good. release_subflow() was called; what only it carried waits
 * in the reinjection queue.
 */
static inline void mps_test_close(struct mps_subflow *subflow)
{
	struct mps_subflow_core *sub = subflow_core(subflow);
	struct mps_conn *conn = sub->conn;
	struct mps_conn_core *core = conn_core(conn);
	struct mptcp_data_frag *frag;

	list_for_each_entry(frag, &core->msk->rtx_queue, list)
		mps_segment(frag)->carried &= ~BIT(sub->slot);
	if (core->ops->release_subflow)
		core->ops->release_subflow(conn, subflow);
	core->slots[sub->slot] = NULL;
	list_del(&subflow->node);
	subflow->usable = false;
	sub->ssk = NULL;
	mps_test_update(conn);
	mps_recover(conn);
}

/* --- decisions */

/* What the scheduler picks now, which must make sense, and the segment of that;
 * .kind is 0 if it waits.
 */
static inline struct mps_pick __mps_test_decide(struct mps_conn *conn, struct mps_segment **seg)
{
	struct kunit *test = mps_test(conn)->test;
	struct mps_pick pick = {};
	const char *why;

	mps_test_update(conn);
	if (!conn_core(conn)->ops->next_segment(conn, &pick))
		return (struct mps_pick) {};
	why = mps_check_pick(conn, &pick, seg);
	KUNIT_ASSERT_NULL_MSG(test, why, "the pick is refused: %s", why);
	return pick;
}

static inline struct mps_pick mps_test_decide(struct mps_conn *conn)
{
	struct mps_segment *seg;

	return __mps_test_decide(conn, &seg);
}

/* The same, and it is sent, or dropped: on_sent() was called. */
static inline struct mps_pick mps_test_send(struct mps_conn *conn)
{
	struct mps_segment *seg;
	struct mps_pick pick = __mps_test_decide(conn, &seg);
	u16 begin, end;
	u32 bytes;

	if (!pick.kind)
		return pick;
	if (pick.kind == MPS_DROP) {
		mps_test_drop(conn, mps_unit_at(conn, pick.seq));
		return pick;
	}
	mps_picked_part(seg, &pick, &begin, &end);
	bytes = end - begin;
	if (pick.kind != MPS_NEW)
		mps_repeated_part(seg, pick.subflow, pick.kind, begin, bytes);
	__mps_test_sent(conn, seg, pick.subflow, bytes);
	mps_doubt(conn, pick.subflow, seg);
	if (conn_core(conn)->ops->on_sent)
		conn_core(conn)->ops->on_sent(conn, &pick, bytes);
	return pick;
}

/* The id, 1, 2, ..., of the subflow that the next segment was sent on; 0: none. */
static inline u32 mps_test_send_on(struct mps_conn *conn)
{
	struct mps_pick pick = mps_test_send(conn);

	return pick.kind ? pick.subflow->id : 0;
}

static inline void mps_test_expect(struct kunit *test, struct mps_conn *conn, bool sends,
				   enum mps_kind kind, const struct mps_subflow *subflow,
				   const struct mps_segment *seg, const char *where)
{
	struct mps_pick pick = sends ? mps_test_send(conn) : mps_test_decide(conn);

	KUNIT_EXPECT_EQ_MSG(test, (u32)pick.kind, (u32)kind, "%s: kind", where);
	if (!pick.kind)
		return;
	KUNIT_EXPECT_EQ_MSG(test, pick.subflow->id, subflow->id, "%s: subflow", where);
	KUNIT_EXPECT_EQ_MSG(test, pick.seq, mps_seq(conn, seg), "%s: segment", where);
}

#define MPS_TEST_HERE	__FILE__ ":" __stringify(__LINE__)

/* The scheduler picks that; picks that and it is sent; waits. */
#define EXPECT_PICK(_test, _conn, _kind, _subflow, _seg) \
	mps_test_expect(_test, _conn, false, _kind, _subflow, _seg, MPS_TEST_HERE)
#define EXPECT_SENT(_test, _conn, _kind, _subflow, _seg) \
	mps_test_expect(_test, _conn, true, _kind, _subflow, _seg, MPS_TEST_HERE)
#define EXPECT_WAIT(_test, _conn) \
	KUNIT_EXPECT_EQ_MSG(_test, (u32)mps_test_decide(_conn).kind, 0U, "it does not wait")

/* Without spare_backups a backup is as good as any: it has the lower RTT. */
static inline void mps_test_spares_backups(struct kunit *test, const char *scheduler)
{
	int spare;

	for (spare = 0; spare <= 1; spare++) {
		struct mps_conn *conn = mps_test_conn(test, scheduler);
		struct mps_subflow *backup, *regular;
		struct mps_segment *seg;

		mps_test_param(conn, "spare_backups", spare);
		backup = mps_test_subflow(conn, .backup = true);
		regular = mps_test_subflow(conn, .srtt_us = 100 * MSEC_US);
		seg = mps_test_unsent(conn, MSS);
		EXPECT_PICK(test, conn, MPS_NEW, spare ? regular : backup, seg);
		mps_test_usable(regular, false);
		EXPECT_PICK(test, conn, MPS_NEW, backup, seg);
	}
}

static inline void mps_test_expect_reinjections(struct kunit *test, const struct mps_conn *conn,
						struct mps_segment * const *expected,
						const char *where)
{
	struct mps_segment *seg;

	list_for_each_entry(seg, &conn_core(conn)->reinject, reinject)
		KUNIT_ASSERT_PTR_EQ_MSG(test, seg, *expected++, "%s", where);
	KUNIT_EXPECT_NULL_MSG(test, *expected, "%s", where);
}

/* These segments wait in the reinjection queue, in this order, and no other. */
#define EXPECT_REINJECTIONS(_test, _conn, ...) \
	mps_test_expect_reinjections(_test, _conn, \
				     (struct mps_segment * const []){ __VA_ARGS__, NULL }, \
				     MPS_TEST_HERE)

#endif
