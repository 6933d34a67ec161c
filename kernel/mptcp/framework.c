// SPDX-License-Identifier: GPL-2.0-only
/* The framework between net/mptcp and the schedulers of mpsched.h.
 *
 * A connection whose scheduler is one of these has msk->mps. Its data
 * fragments are segments (struct mps_segment), and mps_push() and
 * mps_push_bh() take the place of upstream's push functions: they bring what
 * the scheduler sees up to date, tell it what happened, and carry out what it
 * picks. Upstream's cursor, msk->first_pending, is kept as the first segment
 * that is not wholly sent; msk->snd_nxt is the end of the farthest one sent.
 *
 * Locking. Everything here belongs to the owner of the connection: a process
 * that holds lock_sock(msk), or softirq that holds the spinlock
 * (mptcp_data_lock) while no process owns it. In softirq only the subflow that
 * brought the ACK is locked, too. A pick for another one is handed over: it
 * waits in core->handoff until that subflow's delegated action, or a process,
 * carries it out. Three things are written without owning the connection,
 * under the spinlock alone: silent and timed_out of a subflow, and msk->mps;
 * linear is read so. What a subflow's timestamps say is written with the
 * spinlock held and the subflow locked.
 */

#include <kunit/visibility.h>
#include <linux/prefetch.h>
#include <net/pkt_sched.h>
#include <net/tcp.h>

#include "../mib.h"
#include "framework.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/* What the DSS option of a packet with data takes, padding included: a 64-bit
 * mapping, and an acknowledgment as long as the peer's mappings are, which is not
 * known before the first one. The application writes into segments before they are
 * sent: one that is too large becomes a packet and a few bytes in another one.
 */
static u16 mps_dss_bytes(const struct mptcp_sock *msk)
{
	u16 bytes = TCPOLEN_MPTCP_DSS_BASE + TCPOLEN_MPTCP_DSS_MAP64;

	bytes += READ_ONCE(msk->use_64bit_ack) ? TCPOLEN_MPTCP_DSS_ACK64 : TCPOLEN_MPTCP_DSS_ACK32;
	if (READ_ONCE(msk->csum_enabled))
		bytes += TCPOLEN_MPTCP_DSS_CHECKSUM;
	return ALIGN(bytes, 4);
}

static void mps_reset_mss(const struct mps_conn *conn, struct mps_subflow *subflow)
{
	const struct tcp_sock *tp = tcp_sk(subflow_core(subflow)->ssk);

	subflow->mss_bytes = tp->mss_cache - conn_core(conn)->dss_bytes;
}

static struct sock *mps_sk(const struct mps_conn *conn)
{
	return (struct sock *)conn_core(conn)->msk;
}

/* --- segments */

static void mps_refresh(struct mps_conn *conn, const struct sock *ssk);

#define mps_first(_list, _node) \
	(list_empty(_list) ? NULL : list_entry((_list)->next, struct mps_segment, _node))
#define mps_next(_list, _seg, _node) \
	(list_is_last(&(_seg)->_node, _list) ? NULL : \
	 list_entry((_seg)->_node.next, struct mps_segment, _node))

static u32 mps_unsent_part(const struct mps_segment *seg)
{
	return seg->frag.data_len - seg->frag.already_sent;
}

static bool mps_sent(const struct mps_segment *seg)
{
	return seg->frag.already_sent;
}

u64 mps_seq(const struct mps_conn *conn, const struct mps_segment *seg)
{
	return seg->frag.data_seq - conn_core(conn)->base_seq;
}
EXPORT_SYMBOL_GPL(mps_seq);

u32 mps_len(const struct mps_segment *seg)
{
	return seg->frag.data_len;
}
EXPORT_SYMBOL_GPL(mps_len);

bool mps_carried_by(const struct mps_segment *seg, const struct mps_subflow *subflow)
{
	return seg->carried & BIT(subflow_core(subflow)->slot);
}
EXPORT_SYMBOL_GPL(mps_carried_by);

static struct mps_segment *mps_first_unsent(const struct mps_conn *conn)
{
	return mps_first(&conn_core(conn)->unsent, unsent);
}

/* A short last segment waits for more data while a short one is on its way
 * (Minshall's form of Nagle's rule, as in TCP).
 */
static bool mps_is_held(const struct mps_conn *conn, const struct mps_segment *seg)
{
	const struct mps_conn_core *core = conn_core(conn);

	return seg->frag.data_len < conn->segment_bytes && !core->msk->nodelay && !conn->closing &&
	       list_is_last(&seg->unsent, &core->unsent) &&
	       after64(core->small_end, core->base_seq + conn->una_seq);
}

struct mps_segment *mps_head(const struct mps_conn *conn)
{
	struct mps_segment *seg = mps_first_unsent(conn);

	return seg && !mps_is_held(conn, seg) ? seg : NULL;
}
EXPORT_SYMBOL_GPL(mps_head);

struct mps_segment *mps_next_unsent(const struct mps_conn *conn, const struct mps_segment *seg)
{
	struct mps_segment *next = mps_next(&conn_core(conn)->unsent, seg, unsent);

	return next && !mps_is_held(conn, next) ? next : NULL;
}
EXPORT_SYMBOL_GPL(mps_next_unsent);

struct mps_segment *mps_nth_unsent(struct mps_conn *conn, u32 n)
{
	struct mps_conn_core *core = conn_core(conn);
	struct mps_segment *seg = core->nth_unsent;
	u32 nth = core->nth;

	/* from the first one, if that is nearer */
	if (!seg || n < nth / 2) {
		seg = mps_first_unsent(conn);
		nth = 0;
	}
	for (; seg && nth < n; nth++)
		seg = mps_next(&core->unsent, seg, unsent);
	for (; nth > n; nth--)
		seg = list_prev_entry(seg, unsent);
	if (!seg)
		return NULL;
	core->nth_unsent = seg;
	core->nth = nth;
	return mps_is_held(conn, seg) ? NULL : seg;
}
EXPORT_SYMBOL_GPL(mps_nth_unsent);

void mps_forget_unsent(struct mps_conn *conn, struct mps_segment *seg)
{
	struct mps_conn_core *core = conn_core(conn);
	struct mps_segment *nth = core->nth_unsent;

	if (seg == nth)
		core->nth_unsent = mps_next(&core->unsent, seg, unsent);
	else if (nth && before64(seg->frag.data_seq, nth->frag.data_seq))
		core->nth--;
	list_del_init(&seg->unsent);
}
EXPORT_SYMBOL_IF_KUNIT(mps_forget_unsent);

struct mps_segment *mps_reinjection(const struct mps_conn *conn)
{
	return mps_first(&conn_core(conn)->reinject, reinject);
}
EXPORT_SYMBOL_GPL(mps_reinjection);

/* from seg on, itself included, the first that was sent */
static struct mps_segment *mps_skip_unsent(const struct mps_conn *conn, struct mps_segment *seg)
{
	while (seg && !mps_sent(seg))
		seg = mps_next(&conn_core(conn)->msk->rtx_queue, seg, frag.list);
	return seg;
}

struct mps_segment *mps_oldest_unacked(const struct mps_conn *conn)
{
	if (conn->una_seq == conn->nxt_seq)
		return NULL;
	return mps_skip_unsent(conn, mps_first(&conn_core(conn)->msk->rtx_queue, frag.list));
}
EXPORT_SYMBOL_GPL(mps_oldest_unacked);

struct mps_segment *mps_next_unacked(const struct mps_conn *conn, const struct mps_segment *seg)
{
	return mps_skip_unsent(conn, mps_next(&conn_core(conn)->msk->rtx_queue, seg, frag.list));
}
EXPORT_SYMBOL_GPL(mps_next_unacked);

struct mps_segment *mps_latest_sent(const struct mps_conn *conn)
{
	struct list_head *queue = &conn_core(conn)->msk->rtx_queue, *last = queue->prev;
	struct mps_segment *unsent = mps_first_unsent(conn);

	/* of the first unsent one, a part may have left */
	if (unsent)
		last = mps_sent(unsent) ? &unsent->frag.list : unsent->frag.list.prev;
	return last == queue ? NULL : list_entry(last, struct mps_segment, frag.list);
}
EXPORT_SYMBOL_GPL(mps_latest_sent);

struct mps_segment *mps_oldest_missing(struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct mps_conn_core *core = conn_core(conn);
	struct mps_subflow_core *sub = subflow_core(subflow);
	struct list_head *queue = &core->msk->rtx_queue;
	struct mps_segment *seg;

	seg = sub->cursor ? mps_next(queue, sub->cursor, frag.list) : mps_first(queue, frag.list);
	for (; seg && mps_sent(seg); seg = mps_next(queue, seg, frag.list)) {
		if (!mps_carried_by(seg, subflow))
			return seg;
		sub->cursor = seg;
		core->has_cursors = true;
	}
	return NULL;
}
EXPORT_SYMBOL_GPL(mps_oldest_missing);

bool mps_fits_window(const struct mps_conn *conn, const struct mps_segment *seg)
{
	return mps_seq(conn, seg) + seg->frag.data_len <= conn->window_end_seq;
}
EXPORT_SYMBOL_GPL(mps_fits_window);

static void mps_update_first_pending(struct mps_conn *conn)
{
	struct mps_segment *seg = mps_first_unsent(conn);

	conn_core(conn)->msk->first_pending = seg ? &seg->frag : NULL;
}

size_t mps_segment_overhead(void)
{
	return sizeof(struct mps_segment);
}

/* What fits into a segment. The connection is owned by a process. */
u16 mps_segment_room(const struct mptcp_sock *msk)
{
	struct mps_conn *conn = msk->mps;

	if (list_empty(&conn->subflows) || conn_core(conn)->dss_bytes != mps_dss_bytes(msk))
		mps_refresh(conn, NULL);
	return conn->segment_bytes;
}

/* How much of a page must be left for a new segment: as much as a full one takes,
 * so that the end of the page does not cut it short. But at least half of each page
 * is used, also where a segment is larger than that, as on loopback: what the send
 * buffer counts is then at least half of the memory that is taken.
 */
unsigned int mps_refill_bytes(const struct mptcp_sock *msk, const struct page_frag *pfrag)
{
	/* a segment begins where a long may */
	return min_t(unsigned int, pfrag->size / 2,
		     mps_segment_overhead() + mps_segment_room(msk) + sizeof(long));
}

/* The last segment, if more data can be written into it. */
struct mptcp_data_frag *mps_segment_tail(const struct mptcp_sock *msk)
{
	struct mptcp_data_frag *tail;

	if (list_empty(&conn_core(msk->mps)->unsent) || conn_core(msk->mps)->cut)
		return NULL;
	tail = list_last_entry(&msk->rtx_queue, struct mptcp_data_frag, list);
	/* the room that is asked for next, which may be less than it was */
	if (tail->already_sent || tail->data_len >= mps_segment_room(msk))
		return NULL;
	return tail;
}

/* The application has written into a segment, which may be a new one. */
void mps_segment_written(struct mptcp_sock *msk, struct mptcp_data_frag *dfrag, u32 bytes,
			 bool is_new)
{
	struct mps_segment *seg = mps_segment(dfrag);
	struct mps_conn *conn = msk->mps;
	struct mps_conn_core *core = conn_core(conn);

	if (!core->started) {
		core->started = true;
		core->base_seq = dfrag->data_seq;
		core->small_end = dfrag->data_seq;
	}
	if (is_new) {
		seg->carried = 0;
		seg->split = false;
		INIT_LIST_HEAD(&seg->reinject);
		list_add_tail(&seg->unsent, &core->unsent);
		core->cut = false;
	}
	conn->unsent_bytes += bytes;
	mps_unit_written(conn, bytes);
}

/* The segment is about to be freed: acknowledged, or dropped at the end. */
void mps_segment_gone(struct mptcp_sock *msk, struct mptcp_data_frag *dfrag)
{
	struct mps_segment *seg = mps_segment(dfrag);
	struct mps_conn *conn = msk->mps;
	struct mps_subflow *subflow;

	if (!list_empty(&seg->unsent)) {
		conn->unsent_bytes -= mps_unsent_part(seg);
		mps_forget_unsent(conn, seg);
		mps_update_first_pending(conn);
	}
	list_del(&seg->reinject);
	if (!conn_core(conn)->has_cursors)
		return;
	mps_for_each_subflow(conn, subflow)
		if (subflow_core(subflow)->cursor == seg)
			subflow_core(subflow)->cursor = NULL;
}

/* How far an acknowledgment can be believed: a peer may claim more than the
 * segments that were sent without a gap.
 */
u64 mps_acked_limit(const struct mptcp_sock *msk, u64 snd_una)
{
	const struct mptcp_data_frag *head = msk->first_pending;
	u64 limit;

	if (!conn_core(msk->mps)->has_gaps)
		return snd_una;
	limit = head ? head->data_seq + head->already_sent : msk->snd_nxt;
	return after64(snd_una, limit) ? limit : snd_una;
}

/* --- subflows */

static struct mptcp_subflow_context *mps_ctx(const struct mps_subflow *subflow)
{
	return mptcp_subflow_ctx(subflow_core(subflow)->ssk);
}

static void mps_add_qdisc(struct mps_device *device, struct Qdisc *qdisc)
{
	struct gnet_stats_basic_sync sent;
	u32 packets, bytes;

	if (!qdisc_is_percpu_stats(qdisc)) {
		device->queue_bytes += READ_ONCE(qdisc->qstats.backlog);
		device->sent_bytes += u64_stats_read(&qdisc->bstats.bytes);
		return;
	}
	qdisc_qstats_qlen_backlog(qdisc, &packets, &bytes);
	device->queue_bytes += bytes;
	gnet_stats_basic_sync_init(&sent);
	gnet_stats_add_basic(&sent, qdisc->cpu_bstats, &qdisc->bstats, true);
	device->sent_bytes += u64_stats_read(&sent.bytes);
}

/* Packets to a device enter one queueing discipline for all of its queues, or, as
 * mq has it, one for each. A discipline that has others inside counts what is in
 * them as its own.
 */
struct mps_device mps_device(const struct mps_subflow *subflow)
{
	struct Qdisc *qdisc, *before = NULL;
	struct mps_device device = {};
	const struct net_device *dev;
	const struct dst_entry *dst;
	unsigned int i;

	rcu_read_lock();
	dst = __sk_dst_get(subflow_core(subflow)->ssk);
	dev = dst ? dst->dev : NULL;
	for (i = 0; dev && i < dev->num_tx_queues; i++) {
		qdisc = rcu_dereference(netdev_get_tx_queue(dev, i)->qdisc);
		if (qdisc && qdisc != before)
			mps_add_qdisc(&device, qdisc);
		before = qdisc;
	}
	rcu_read_unlock();
	return device;
}
EXPORT_SYMBOL_GPL(mps_device);

static void mps_update_limit(struct mps_subflow *subflow)
{
	const struct mps_subflow_core *sub = subflow_core(subflow);

	subflow->limit_pkts = min(sub->penalty_pkts, sub->set_limit_pkts);
}

void mps_penalise(struct mps_subflow *subflow)
{
	subflow_core(subflow)->penalty_pkts = max(mps_cwnd(subflow) / 2, 1U);
	mps_update_limit(subflow);
}
EXPORT_SYMBOL_GPL(mps_penalise);

void mps_set_limit(struct mps_subflow *subflow, u32 pkts)
{
	subflow_core(subflow)->set_limit_pkts = max(pkts, 1U);
	mps_update_limit(subflow);
}
EXPORT_SYMBOL_GPL(mps_set_limit);

/* As slow start does: a segment more for each one acknowledged. */
static void mps_shrink_penalty(struct mps_subflow *subflow, u64 acked_bytes)
{
	u64 pkts = div_u64(acked_bytes, max(subflow->mss_bytes, 1U)) + 1;
	struct mps_subflow_core *sub = subflow_core(subflow);

	if (sub->penalty_pkts == U32_MAX)
		return;
	if (sub->penalty_pkts + pkts >= subflow->cwnd_pkts)
		sub->penalty_pkts = U32_MAX;
	else
		sub->penalty_pkts += pkts;
	mps_update_limit(subflow);
}

/* --- one-way delays */

/* Clocks are read in whole ms: two readings differ by less than 1 ms more, and by
 * less than 1 ms less, than the times they stand for; so with two of them there
 * is no delay of less than 0, and 0 can say that there is none.
 */
#define MPS_CLOCK_MARGIN_MS	2
/* 35 minutes, so that it fits into 31 bits */
#define MPS_OWD_MAX_MS		(S32_MAX / USEC_PER_MSEC)

/* From the peer's clock minus ours, with a delay in it. */
static u32 mps_owd_us(const struct mps_conn *conn, u32 clock_ms)
{
	s32 ms = clock_ms - conn_core(conn)->clock_zero_ms;

	ms = clamp_t(s32, ms, -MPS_CLOCK_MARGIN_MS, MPS_OWD_MAX_MS - MPS_CLOCK_MARGIN_MS);
	return max((ms + MPS_CLOCK_MARGIN_MS) * USEC_PER_MSEC, 1L);
}

/* A packet has come that may acknowledge something. The subflow is locked, and
 * so is the spinlock.
 */
void mps_read_timestamps(struct mps_subflow *subflow)
{
	struct mps_subflow_core *sub = subflow_core(subflow);
	const struct tcp_sock *tp = tcp_sk(sub->ssk);
	u32 theirs_ms = tp->rx_opt.rcv_tsval;
	struct mps_conn *conn = sub->conn;
	struct mps_conn_core *core = conn_core(conn);
	u32 sent_ms;

	if (!sub->has_timestamps || !tp->rx_opt.saw_tstamp)
		return;
	/* Not by the time that it echoes, which is that of the first packet it
	 * acknowledges, but by that of the last one: that is the one which did
	 * not wait for another before it was acknowledged.
	 */
	if (tp->rack.mstamp != sub->newest_acked_us) {
		sub->newest_acked_us = tp->rack.mstamp;
		sent_ms = div_u64(tp->rack.mstamp, USEC_PER_MSEC);
		/* The ACK left the peer before it came here, and the packet left
		 * us before it came there.
		 */
		WRITE_ONCE(sub->clock_least_ms, theirs_ms - tcp_time_stamp_ms(tp));
		WRITE_ONCE(sub->clock_most_ms, theirs_ms - sent_ms);
		if (!core->clock_known) {
			core->clock_zero_ms = sub->clock_least_ms;
			core->clock_known = true;
		}
		WRITE_ONCE(sub->clock_known, true);
		WRITE_ONCE(sub->owd_sample_us, mps_owd_us(conn, sub->clock_most_ms));
	}
	if (sub->timing && core->clock_known && !before(tp->snd_una, sub->timed_end)) {
		s32 old_us = sub->commd_sample_us, sample_us;

		sent_ms = div_u64(sub->timed_us, USEC_PER_MSEC);
		sample_us = mps_owd_us(conn, theirs_ms - sent_ms);
		/* smoothed as the RTT is */
		WRITE_ONCE(sub->commd_sample_us,
			   old_us ? old_us + (sample_us - old_us) / 8 : sample_us);
		sub->timing = false;
	}
}
EXPORT_SYMBOL_IF_KUNIT(mps_read_timestamps);

/* The subflow, which is locked, has just sent up to snd_nxt for the first time:
 * one segment at a time is timed until it arrives.
 */
static void mps_time_segment(struct mps_subflow *subflow)
{
	struct mps_subflow_core *sub = subflow_core(subflow);
	const struct tcp_sock *tp = tcp_sk(sub->ssk);

	if (sub->timing || !sub->has_timestamps)
		return;
	sub->timing = true;
	sub->timed_end = tp->snd_nxt;
	sub->timed_us = tp->tcp_mstamp;
}

bool mps_delays_comparable(const struct mps_conn *conn)
{
	const struct mps_subflow *subflow;
	u32 least = 0, most = 0;
	bool known = false;

	mps_for_each_subflow(conn, subflow) {
		u32 its_least = READ_ONCE(subflow_core(subflow)->clock_least_ms);
		u32 its_most = READ_ONCE(subflow_core(subflow)->clock_most_ms);

		if (!subflow->usable)
			continue;
		if (!subflow_core(subflow)->has_timestamps)
			return false;
		if (!READ_ONCE(subflow_core(subflow)->clock_known))
			continue;
		if (!known) {
			least = its_least;
			most = its_most;
			known = true;
			continue;
		}
		if ((s32)(its_least - most) > MPS_CLOCK_MARGIN_MS ||
		    (s32)(least - its_most) > MPS_CLOCK_MARGIN_MS)
			return false;
		if ((s32)(its_least - least) > 0)
			least = its_least;
		if ((s32)(its_most - most) < 0)
			most = its_most;
	}
	return true;
}
EXPORT_SYMBOL_GPL(mps_delays_comparable);

/* --- subflows come and go */

static void mps_attach(struct mps_conn *conn, struct mptcp_subflow_context *ctx)
{
	struct mps_conn_core *core = conn_core(conn);
	struct mps_subflow_core *sub;
	const struct tcp_sock *tp;
	int slot;

	for (slot = 0; slot < ARRAY_SIZE(core->slots); slot++)
		if (!core->slots[slot] || !core->slots[slot]->ssk)
			break;
	if (slot == ARRAY_SIZE(core->slots))
		return;

	/* a slot is never freed before the connection: a scheduler that kept a
	 * pointer to a subflow that is gone must do no harm
	 */
	sub = core->slots[slot];
	if (!sub) {
		sub = kmalloc(struct_size(sub, pub.priv, 0) + core->ops->subflow_size,
			      GFP_ATOMIC);
		if (!sub)
			return;
		core->slots[slot] = sub;
	}
	memset(sub, 0, struct_size(sub, pub.priv, 0) + core->ops->subflow_size);
	sub->pub.id = ctx->subflow_id;
	sub->slot = slot;
	sub->conn = conn;
	sub->ssk = mptcp_subflow_tcp_sock(ctx);
	sub->penalty_pkts = U32_MAX;
	sub->set_limit_pkts = U32_MAX;
	sub->pub.limit_pkts = U32_MAX;
	mps_reset_mss(conn, &sub->pub);
	tp = tcp_sk(sub->ssk);
	sub->has_timestamps = tp->rx_opt.tstamp_ok && !tp->tcp_usec_ts;
	sub->newest_acked_us = tp->rack.mstamp;
	list_add_tail(&sub->pub.node, &conn->subflows);
	/* for mps_packet_received() and mptcp_subflow_timeout() */
	smp_store_release(&ctx->mps, &sub->pub);
}

static void mps_detach(struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct mps_conn_core *core = conn_core(conn);

	if (core->ops->release_subflow && subflow_core(subflow)->established)
		core->ops->release_subflow(conn, subflow);
	if (core->has_handoff && core->handoff.subflow == subflow)
		core->has_handoff = false;
	core->usable_mask &= ~BIT(subflow_core(subflow)->slot);
	list_del(&subflow->node);
	mps_ctx(subflow)->mps = NULL;
	subflow->usable = false;
	subflow_core(subflow)->ssk = NULL;
}

/* A subflow is being closed. Called with the connection owned by a process. */
void mps_subflow_gone(struct mptcp_sock *msk, struct mptcp_subflow_context *ctx)
{
	struct sock *sk = (struct sock *)msk;
	struct mps_subflow *subflow;
	struct mps_segment *seg;

	mptcp_data_lock(sk);
	subflow = ctx->mps;
	if (subflow)
		mps_detach(msk->mps, subflow);
	mptcp_data_unlock(sk);
	if (!subflow)
		return;
	/* another subflow may have the slot later; and of what was sent in
	 * pieces, the others may not have the one that it carried
	 */
	list_for_each_entry(seg, &msk->rtx_queue, frag.list) {
		if (seg->split && (seg->carried & BIT(subflow_core(subflow)->slot)))
			seg->carried = 0;
		seg->carried &= ~BIT(subflow_core(subflow)->slot);
	}
}

static void mps_snapshot(struct mps_subflow *subflow)
{
	const struct sock *ssk = subflow_core(subflow)->ssk;
	const struct tcp_sock *tp = tcp_sk(ssk);
	u32 snd_una = READ_ONCE(tp->snd_una);
	u32 write_seq = READ_ONCE(tp->write_seq);
	unsigned long pacing = READ_ONCE(ssk->sk_pacing_rate);

	subflow->ca_state = inet_csk(ssk)->icsk_ca_state;
	/* without SACK, TCP keeps the state of a loss that it has mended until
	 * something later is acknowledged (tcp_try_undo_recovery()), which will
	 * not be as long as everybody waits for the state to end
	 */
	if (subflow->ca_state == TCP_CA_Loss && !tp->packets_out)
		subflow->ca_state = TCP_CA_Open;
	subflow->srtt_us = tp->srtt_us >> 3;
	/* not tp->rttvar_us, which is never less than 50 ms */
	subflow->rttvar_us = tp->mdev_us >> 2;
	subflow->min_rtt_us = tcp_min_rtt(tp);
	subflow->last_rtt_us = tp->rack.rtt_us;
	subflow->cwnd_pkts = tcp_snd_cwnd(tp);
	subflow->ssthresh_pkts = tp->snd_ssthresh;
	subflow->in_flight_pkts = tcp_packets_in_flight(tp);
	subflow->unsent_bytes = write_seq - READ_ONCE(tp->snd_nxt);
	subflow->outstanding_bytes = write_seq - snd_una;
	subflow->window_bytes = max_t(s32, snd_una + READ_ONCE(tp->snd_wnd) - write_seq, 0);
	subflow->pacing_rate = pacing == ~0UL ? U64_MAX : pacing;
	subflow->delivered_pkts = tp->delivered;
	subflow->delivered_ns = tp->delivered_mstamp * NSEC_PER_USEC;
	subflow->delivered_sent_ns = tp->rack.mstamp * NSEC_PER_USEC;
	subflow->owd_us = READ_ONCE(subflow_core(subflow)->owd_sample_us);
	subflow->commd_us = READ_ONCE(subflow_core(subflow)->commd_sample_us);
}

/* The oldest packet in flight. The subflow is locked: otherwise an ACK may free
 * it. TCP keeps its packets in the order in which they were sent, without those
 * that arrived or were found lost; after a timeout, all are.
 */
static void mps_snapshot_oldest(struct mps_subflow *subflow)
{
	const struct tcp_sock *tp = tcp_sk(subflow_core(subflow)->ssk);
	const struct sk_buff *skb;

	skb = list_first_entry_or_null(&tp->tsorted_sent_queue, struct sk_buff,
				       tcp_tsorted_anchor);
	subflow->oldest_sent_ns = skb ? skb->skb_mstamp_ns : 0;
}

/* Brings one subflow up to date and tells the scheduler what happened to it.
 * `heard`: it may have had an ACK or a timeout; all but its priority and its
 * usability is as it was, if not. `locked`: it is.
 */
static void mps_refresh_subflow(struct mps_conn *conn, struct mptcp_subflow_context *ctx,
				bool heard, bool locked)
{
	struct mps_subflow *subflow = ctx->mps;
	struct mps_subflow_core *sub = subflow_core(subflow);
	const struct mps_ops *ops = conn_core(conn)->ops;
	u8 ca_state = subflow->ca_state;
	bool usable, backup, changed;
	u64 acked;

	if (heard)
		mps_snapshot(subflow);
	if (locked)
		mps_snapshot_oldest(subflow);
	backup = ctx->backup || ctx->request_bkup;
	usable = !READ_ONCE(sub->silent) && !ctx->closing && mptcp_subflow_active(ctx);
	changed = usable != subflow->usable || backup != subflow->backup;
	subflow->usable = usable;
	subflow->backup = backup;

	if (!sub->established) {
		if (!usable)
			return;
		mps_snapshot(subflow);
		sub->established = true;
		sub->acked_seen = tcp_sk(sub->ssk)->bytes_acked;
		if (ops->init_subflow)
			ops->init_subflow(conn, subflow);
	}
	if (changed && ops->on_subflow_state)
		ops->on_subflow_state(conn, subflow);
	if (!heard)
		return;
	acked = tcp_sk(sub->ssk)->bytes_acked;
	if (acked != sub->acked_seen) {
		u64 bytes = acked - sub->acked_seen;

		sub->acked_seen = acked;
		mps_shrink_penalty(subflow, bytes);
		if (ops->on_ack)
			ops->on_ack(conn, subflow, bytes);
	}
	if (ca_state < TCP_CA_Recovery && subflow->ca_state == TCP_CA_Recovery && ops->on_loss)
		ops->on_loss(conn, subflow);
	if (READ_ONCE(sub->timed_out)) {
		WRITE_ONCE(sub->timed_out, false);
		if (ops->on_rto)
			ops->on_rto(conn, subflow);
	}
}

/* The usable subflows that are not distrusted; all of them, if there is none. */
static u32 mps_trusted_mask(const struct mps_conn *conn)
{
	const struct mps_subflow *subflow;
	u32 mask = conn_core(conn)->usable_mask;

	mps_for_each_subflow(conn, subflow)
		if (subflow_core(subflow)->distrusted)
			mask &= ~BIT(subflow_core(subflow)->slot);
	return mask ?: conn_core(conn)->usable_mask;
}

/* Segments that were sent, but on no subflow that is usable now and trusted, are
 * to be sent on another one. If there is none, TCP's own repetition is all there
 * is; and it is enough where a subflow has come back.
 */
void mps_recover(struct mps_conn *conn)
{
	u32 trusted = mps_trusted_mask(conn);
	struct list_head *after = &conn_core(conn)->reinject;
	struct mps_segment *seg;

	if (!trusted)
		return;
	list_for_each_entry(seg, &conn_core(conn)->msk->rtx_queue, frag.list) {
		u32 alive = seg->carried & trusted;
		/* one that was sent in pieces needs all of them */
		bool orphan = mps_sent(seg) && (seg->split ? alive != seg->carried || !alive :
							      !alive);

		if (!orphan)
			list_del_init(&seg->reinject);
		else if (list_empty(&seg->reinject))
			list_add(&seg->reinject, after);
		if (orphan)
			after = &seg->reinject;
	}
}
EXPORT_SYMBOL_IF_KUNIT(mps_recover);

void mps_distrust(struct mps_subflow *subflow, bool distrust)
{
	if (subflow_core(subflow)->distrusted == distrust)
		return;
	subflow_core(subflow)->distrusted = distrust;
	mps_recover(subflow_core(subflow)->conn);
}
EXPORT_SYMBOL_GPL(mps_distrust);

/* A segment was sent on a subflow that is perhaps distrusted: then it is to be
 * sent on another one, too.
 */
void mps_doubt(struct mps_conn *conn, const struct mps_subflow *subflow,
	       struct mps_segment *seg)
{
	struct mps_segment *before;

	if (!subflow_core(subflow)->distrusted || !list_empty(&seg->reinject) ||
	    (seg->carried & mps_trusted_mask(conn)))
		return;
	/* mostly it is the last one */
	list_for_each_entry_reverse(before, &conn_core(conn)->reinject, reinject)
		if (before64(before->frag.data_seq, seg->frag.data_seq))
			break;
	list_add(&seg->reinject, &before->reinject);
}
EXPORT_SYMBOL_IF_KUNIT(mps_doubt);

void mps_set_linear_timeouts(struct mps_subflow *subflow, bool linear)
{
	WRITE_ONCE(subflow_core(subflow)->linear, linear);
}
EXPORT_SYMBOL_GPL(mps_set_linear_timeouts);

/* ssk: the only subflow that had an ACK or a timeout since the last time, locked;
 * NULL: any may have had.
 */
static void mps_refresh(struct mps_conn *conn, const struct sock *ssk)
{
	struct mps_conn_core *core = conn_core(conn);
	struct mptcp_sock *msk = core->msk;
	struct mptcp_subflow_context *ctx;
	u32 mask = 0, usable = 0, mss = 0;
	struct mps_subflow *subflow;
	u64 una, end;

	/* the peer's view may move on while a process owns the connection */
	una = READ_ONCE(msk->snd_una);
	end = READ_ONCE(msk->wnd_end);
	conn->una_seq = una - core->base_seq;
	conn->nxt_seq = msk->snd_nxt - core->base_seq;
	conn->window_end_seq = end - core->base_seq;
	conn->window_bytes = after64(end, una) ? min_t(u64, end - una, U32_MAX) : 0;
	conn->closing = READ_ONCE(msk->snd_data_fin_enable);
	if (core->dss_bytes != mps_dss_bytes(msk)) {
		core->dss_bytes = mps_dss_bytes(msk);
		mps_for_each_subflow(conn, subflow)
			mps_reset_mss(conn, subflow);
	}

	mptcp_for_each_subflow(msk, ctx) {
		if (!ctx->mps && !ctx->closing && mptcp_subflow_active(ctx))
			mps_attach(conn, ctx);
		subflow = ctx->mps;
		if (!subflow)
			continue;
		mps_refresh_subflow(conn, ctx, !ssk || subflow_core(subflow)->ssk == ssk,
				    subflow_core(subflow)->ssk == ssk);
		if (!subflow->usable)
			continue;
		usable++;
		mask |= BIT(subflow_core(subflow)->slot);
		mss = mss ? min(mss, subflow->mss_bytes) : subflow->mss_bytes;
	}
	conn->subflows_usable = usable;
	if (mss)
		conn->segment_bytes = mss;
	if (mask != core->usable_mask) {
		core->usable_mask = mask;
		mps_recover(conn);
	}
}

/* A subflow has been closed or found stale: is there anything to be sent on
 * the others?
 */
bool mps_subflow_lost(struct mptcp_sock *msk)
{
	mps_refresh(msk->mps, NULL);
	mps_recover(msk->mps);
	return !list_empty(&msk->rtx_queue);
}

/* In a kernel that looks after itself: is what the framework keeps of the segments
 * still true of the queue?
 */
static void mps_verify(const struct mps_conn *conn)
{
	const struct mps_conn_core *core = conn_core(conn);
	const struct mptcp_sock *msk = core->msk;
	const struct mps_segment *seg, *unsent = mps_first_unsent(conn), *before = NULL;
	u64 end = msk->write_seq;
	u32 unsent_bytes = 0;

	if (!IS_ENABLED(CONFIG_DEBUG_NET))
		return;
	WARN_ON_ONCE(msk->first_pending != (unsent ? &unsent->frag : NULL));
	list_for_each_entry(seg, &msk->rtx_queue, frag.list) {
		/* one follows the other, and what is unsent of them is in the same order */
		WARN_ON_ONCE(before &&
			     before->frag.data_seq + before->frag.data_len != seg->frag.data_seq);
		WARN_ON_ONCE(seg->frag.already_sent > seg->frag.data_len);
		if (WARN_ON_ONCE(!mps_unsent_part(seg) != list_empty(&seg->unsent)))
			return;
		if (mps_unsent_part(seg)) {
			if (WARN_ON_ONCE(seg != unsent))
				return;
			unsent = mps_next(&core->unsent, unsent, unsent);
		}
		unsent_bytes += mps_unsent_part(seg);
		before = seg;
	}
	WARN_ON_ONCE(unsent || unsent_bytes != conn->unsent_bytes);
	if (before)
		end = before->frag.data_seq + before->frag.data_len;
	/* a DATA_FIN has a number, too */
	WARN_ON_ONCE(end != msk->write_seq && end + 1 != msk->write_seq);
	before = NULL;
	list_for_each_entry(seg, &core->reinject, reinject) {
		WARN_ON_ONCE(!mps_sent(seg));
		WARN_ON_ONCE(before && !before64(before->frag.data_seq, seg->frag.data_seq));
		before = seg;
	}
}

/* --- decisions */

static struct mps_segment *mps_find_segment(struct mps_conn *conn, const struct mps_pick *pick)
{
	struct mps_conn_core *core = conn_core(conn);
	struct mps_segment *seg;

	switch (pick->kind) {
	case MPS_NEW:
		/* one that is picked out of order may be far from the first */
		seg = core->nth_unsent;
		if (seg && mps_seq(conn, seg) == pick->seq)
			return seg;
		list_for_each_entry(seg, &core->unsent, unsent)
			if (mps_seq(conn, seg) == pick->seq)
				return seg;
		break;
	case MPS_REINJECTION:
		list_for_each_entry(seg, &core->reinject, reinject)
			if (mps_seq(conn, seg) == pick->seq)
				return seg;
		break;
	case MPS_DUPLICATE:
		/* the one that redundant schedulers pick may be far from the first */
		seg = mps_oldest_missing(conn, pick->subflow);
		if (seg && mps_seq(conn, seg) == pick->seq)
			return seg;
		seg = mps_latest_sent(conn);
		if (seg && mps_seq(conn, seg) == pick->seq)
			return seg;
		list_for_each_entry(seg, &core->msk->rtx_queue, frag.list)
			if (mps_seq(conn, seg) == pick->seq)
				return seg;
		break;
	}
	return NULL;
}

/* Why a pick is refused; NULL: it is good, and of *seg. */
const char *mps_check_pick(struct mps_conn *conn, const struct mps_pick *pick,
			   struct mps_segment **seg)
{
	struct mps_subflow *subflow = pick->subflow;
	struct mps_unit *unit;

	if (pick->kind == MPS_DROP) {
		*seg = NULL;
		unit = mps_unit_at(conn, pick->seq);
		return unit && mps_may_drop(conn, unit) ? NULL : "no unit that can be dropped";
	}
	if (!subflow || subflow_core(subflow)->conn != conn)
		return "no subflow of this connection";
	if (!subflow_core(subflow)->ssk || !subflow->usable)
		return "the subflow is not usable";
	*seg = mps_find_segment(conn, pick);
	if (!*seg)
		return "no such segment";
	if (pick->kind == MPS_DUPLICATE &&
	    (!mps_sent(*seg) || mps_carried_by(*seg, subflow)))
		return "never sent, or sent on this subflow";
	return NULL;
}
EXPORT_SYMBOL_IF_KUNIT(mps_check_pick);

static void mps_trace(const struct mps_conn *conn, const struct mps_subflow *subflow, u8 kind,
		      u64 seq, u32 length)
{
	if (trace_mps_decision_enabled()) {
		struct mps_decision decision = {
			.time_ns = mps_clock_ns(),
			.seq	 = seq,
			.length	 = length,
			.kind	 = kind,
		};

		trace_mps_decision(conn, subflow, &decision);
	}
}

/* May this be sent now? Not outside the receive window; not a small part that
 * happens to fit into it (RFC 1122, section 4.2.3.4), unless nothing is in
 * flight that would bring another occasion.
 */
static bool mps_may_leave(const struct mps_conn *conn, const struct mps_segment *seg, u8 kind)
{
	if (kind != MPS_NEW)
		return true;
	if (mps_seq(conn, seg) + seg->frag.already_sent >= conn->window_end_seq)
		return false;
	if (!mps_fits_window(conn, seg))
		return conn->una_seq == conn->nxt_seq;
	return !mps_is_held(conn, seg);
}

/* What is done when the scheduler's answer is no help. */
static bool mps_default_pick(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *head = mps_head(conn);
	struct mps_subflow *subflow;

	if (mps_reinject(conn, pick))
		return true;
	subflow = head ? mps_lowest_rtt(conn, NULL) : NULL;
	return subflow && mps_pick_new(pick, conn, subflow, head);
}

/* The retransmission timer fired, nothing is in flight, and the scheduler
 * waits: for what? Also the way of a probe of a closed window.
 */
static bool mps_forced_pick(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_subflow *subflow, *best = NULL;
	struct mps_conn_core *core = conn_core(conn);

	if (conn->una_seq != conn->nxt_seq || !mps_head(conn) || hrtimer_active(&core->timer))
		return false;
	core->alarm = false;
	mps_for_each_subflow(conn, subflow)
		if (subflow->usable &&
		    (!best || best->backup > subflow->backup ||
		     (best->backup == subflow->backup && subflow->srtt_us < best->srtt_us)))
			best = subflow;
	return best && mps_pick_new(pick, conn, best, mps_head(conn));
}

/* After a fallback to TCP there is one subflow and one order. */
static bool mps_fallback_pick(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *head = mps_first_unsent(conn);
	struct sock *first = conn_core(conn)->msk->first;
	struct mps_subflow *subflow;

	if (!head || !first || !__tcp_can_send(first) || !sk_stream_memory_free(first))
		return false;
	subflow = mptcp_subflow_ctx(first)->mps;
	return subflow && mps_pick_new(pick, conn, subflow, head);
}

/* Is it the send buffer that keeps the application from writing more? */
static void mps_look_for_writer(struct mps_conn *conn)
{
	const struct sock *sk = mps_sk(conn);
	const struct socket *socket = sk->sk_socket;

	conn->writer_waits = !mps_head(conn) && socket &&
			     test_bit(SOCK_NOSPACE, &socket->flags) &&
			     sk_stream_wspace(sk) < sk_stream_min_wspace(sk);
	conn->sndbuf_full = conn->writer_waits && !sk_stream_memory_free(sk);
}

/* Does the pick send the very next byte, which was never sent? */
static bool mps_in_order(const struct mps_conn *conn, const struct mps_pick *pick,
			 const struct mps_segment *seg)
{
	return pick->kind == MPS_NEW &&
	       seg->frag.data_seq + seg->frag.already_sent == conn_core(conn)->msk->snd_nxt;
}

/* What the scheduler, or the framework in its place, wants to be carried out. */
static bool mps_ask(struct mps_conn *conn, struct mps_pick *pick, struct mps_segment **seg)
{
	struct mps_conn_core *core = conn_core(conn);
	bool forced = false;
	const char *why;

	/* Nor is there any other from the MP_FAIL on that asks for it: what is sent
	 * next, in order, makes the fallback.
	 */
	if (__mptcp_check_fallback(core->msk) || !READ_ONCE(core->msk->allow_subflows))
		return mps_fallback_pick(conn, pick) && (*seg = mps_first_unsent(conn));

	if (core->has_handoff) {
		core->has_handoff = false;
		*pick = core->handoff;
		/* acknowledged, or its subflow lost, in the meantime */
		if (!mps_check_pick(conn, pick, seg) &&
		    mps_may_leave(conn, *seg, pick->kind))
			return true;
	}

	if (list_empty(&core->msk->rtx_queue) || !core->usable_mask)
		return false;

	*pick = (struct mps_pick) {};
	mps_look_for_writer(conn);
	if (!core->ops->next_segment(conn, pick)) {
		if (!core->alarm || !mps_forced_pick(conn, pick)) {
			core->waits++;
			mps_trace(conn, NULL, DECISION_WAIT, 0, 0);
			return false;
		}
		forced = true;
	}
	why = mps_check_pick(conn, pick, seg);
	if (why) {
		core->refused++;
		mps_trace(conn, NULL, DECISION_REFUSED, pick->seq, 0);
		pr_debug("mptcp: %s: pick refused: %s\n", core->ops->name, why);
		if (!mps_default_pick(conn, pick) || mps_check_pick(conn, pick, seg))
			return false;
	}
	if (forced) {
		core->forced++;
		mps_trace(conn, pick->subflow, DECISION_FORCED, pick->seq, mps_len(*seg));
		return true;
	}
	if (!mps_may_leave(conn, *seg, pick->kind)) {
		if (!core->alarm || !mps_forced_pick(conn, pick))
			return false;
		*seg = mps_head(conn);
	}
	return true;
}

/* The next pick to carry out, and its segment. False: wait. */
static bool mps_decide(struct mps_conn *conn, struct mps_pick *pick, struct mps_segment **seg)
{
	if (!mps_ask(conn, pick, seg))
		return false;
	/* A peer that has not confirmed MPTCP yet may have fallen back to TCP, and
	 * takes the bytes as they come: they leave in order, and once.
	 */
	if (READ_ONCE(conn_core(conn)->msk->fully_established) || pick->kind == MPS_DROP ||
	    mps_in_order(conn, pick, *seg))
		return true;
	*seg = mps_head(conn);
	return *seg && mps_may_leave(conn, *seg, MPS_NEW) &&
	       mps_pick_new(pick, conn, pick->subflow, *seg);
}

void mps_event(const struct mps_conn *conn, const struct mps_subflow *subflow, u32 number)
{
	mps_trace(conn, subflow, DECISION_EVENT, 0, number);
}
EXPORT_SYMBOL_GPL(mps_event);

/* --- carrying out */

/* Queues the pick on its subflow, which is locked. Returns the bytes queued, 0
 * or an error when there was no room.
 */
static int mps_transmit(struct mps_conn *conn, const struct mps_pick *pick,
			struct mps_segment *seg, struct mptcp_sendmsg_info *info)
{
	struct mps_conn_core *core = conn_core(conn);
	struct mps_subflow *subflow = pick->subflow;
	struct mps_subflow_core *sub = subflow_core(subflow);
	struct mptcp_data_frag *dfrag = &seg->frag;
	struct mptcp_sock *msk = core->msk;
	struct sock *sk = mps_sk(conn);
	int copied = 0, ret = 0;
	struct mps_segment *next;
	bool in_order;

	/* likely the next one: written long ago, and no longer in any cache */
	next = list_next_entry(seg, unsent);
	prefetchw(&next->frag);
	prefetchw(&next->carried);

	info->sent = pick->kind == MPS_NEW ? dfrag->already_sent : 0;
	info->limit = pick->kind == MPS_NEW ? dfrag->data_len : dfrag->already_sent;
	if (pick->limit_bytes)
		info->limit = min_t(u32, info->limit, info->sent + pick->limit_bytes);

	/* what is not in order rules out a later fallback to TCP, and the other
	 * way round
	 */
	in_order = mps_in_order(conn, pick, seg);
	if (!in_order) {
		spin_lock_bh(&msk->fallback_lock);
		if (!msk->allow_subflows) {
			spin_unlock_bh(&msk->fallback_lock);
			return -EAGAIN;
		}
		info->data_lock_held = true;
	}
	while (info->sent < info->limit) {
		ret = mptcp_sendmsg_frag(sk, sub->ssk, dfrag, info);
		if (ret <= 0)
			break;
		info->sent += ret;
		copied += ret;
	}
	if (!in_order) {
		if (copied)
			msk->allow_infinite_fallback = false;
		spin_unlock_bh(&msk->fallback_lock);
	}
	if (info->mss_now)
		subflow->mss_bytes = info->mss_now;
	if (!copied)
		return ret;

	/* A segment is a packet. Nothing is added to it: queues on the way would
	 * hold more than they say, and TCP would hold back what fits into its
	 * window until the packet is large, and take the subflow for one that
	 * the application limits, whose congestion window does not grow.
	 */
	if (!__mptcp_check_fallback(msk))
		TCP_SKB_CB(tcp_write_queue_tail(sub->ssk))->eor = 1;
	mps_trace(conn, subflow, pick->kind, pick->seq, copied);
	seg->carried |= BIT(sub->slot);
	switch (pick->kind) {
	case MPS_NEW:
		seg->split |= dfrag->already_sent || copied < dfrag->data_len;
		dfrag->already_sent += copied;
		conn->unsent_bytes -= copied;
		msk->bytes_sent += copied;
		if (!in_order)
			core->has_gaps = true;
		if (after64(dfrag->data_seq + dfrag->already_sent, msk->snd_nxt))
			WRITE_ONCE(msk->snd_nxt, dfrag->data_seq + dfrag->already_sent);
		if (dfrag->data_len < conn->segment_bytes)
			core->small_end = dfrag->data_seq + dfrag->data_len;
		if (!mps_unsent_part(seg)) {
			mps_forget_unsent(conn, seg);
			mps_update_first_pending(conn);
			mps_units_sent(conn);
		}
		sub->new_segments++;
		break;
	case MPS_REINJECTION:
		sub->reinjections++;
		break;
	case MPS_DUPLICATE:
		sub->duplicates++;
		break;
	}
	if (pick->kind != MPS_NEW) {
		if (info->sent == info->limit)
			list_del_init(&seg->reinject);
		msk->bytes_retrans += copied;
		MPTCP_INC_STATS(sock_net(sk), MPTCP_MIB_RETRANSSEGS);
	}
	conn->nxt_seq = msk->snd_nxt - core->base_seq;
	msk->last_data_sent = tcp_jiffies32;
	mps_doubt(conn, subflow, seg);
	/* after a pause, TCP has made the congestion window smaller by now */
	mps_snapshot(subflow);
	mps_snapshot_oldest(subflow);
	if (core->ops->on_sent)
		core->ops->on_sent(conn, pick, copied);
	return copied;
}

/* Drops the unit of a pick. */
static void mps_drop(struct mps_conn *conn, const struct mps_pick *pick)
{
	struct mps_unit *unit = mps_unit_at(conn, pick->seq);
	struct mps_conn_core *core = conn_core(conn);

	mps_trace(conn, NULL, MPS_DROP, unit->seq, unit->bytes);
	/* its segment may have another number now */
	if (core->has_handoff && core->handoff.kind == MPS_NEW)
		core->has_handoff = false;
	mps_drop_unit(conn, unit);
}

/* The retransmission timer looks after whatever is neither acknowledged nor
 * sent, also while a scheduler waits. When there is nothing, its interval is left
 * alone, as upstream leaves it: a DATA_FIN that follows is repeated by it.
 */
static void mps_arm_timer(struct mps_conn *conn)
{
	struct sock *sk = mps_sk(conn);

	conn_core(conn)->alarm = false;
	if (list_empty(&conn_core(conn)->msk->rtx_queue))
		return;
	mptcp_set_timeout(sk);
	if (!mptcp_rtx_timer_pending(sk))
		mptcp_reset_rtx_timer(sk);
}

/* Is nothing to follow soon on the subflow that has just got data? All has been
 * sent, or what follows goes to another one, or the scheduler waits though there is
 * room. Not if the congestion window is full: then an ACK is coming, and more data
 * follows. As TCP does, half a window is also enough (RFC 9293, 3.9.1.2).
 */
static bool mps_pauses(const struct mps_conn *conn, const struct mps_subflow *subflow, bool leaves)
{
	const struct tcp_sock *tp = tcp_sk(subflow_core(subflow)->ssk);

	return leaves || !conn->unsent_bytes || mps_has_room(subflow) ||
	       after(tp->write_seq, tp->pushed_seq + (tp->max_window >> 1));
}

/* Short segments leave at once: whether they may was decided above. The last one
 * before a pause is marked (PSH), or its receiver may delay the ACK.
 */
static void mps_flush(struct mps_conn *conn, struct sock *ssk,
		      const struct mptcp_sendmsg_info *info, bool leaves)
{
	struct mps_subflow *subflow = mptcp_subflow_ctx(ssk)->mps;
	struct tcp_sock *tp = tcp_sk(ssk);
	u32 nxt = tp->snd_nxt;

	if (!info->mss_now || !tcp_send_head(ssk))
		return;
	if (mptcp_check_fallback(ssk)) {
		tcp_push(ssk, 0, info->mss_now, tp->nonagle, info->size_goal);
	} else {
		if (!subflow || mps_pauses(conn, subflow, leaves))
			tcp_mark_push(tp, tcp_write_queue_tail(ssk));
		__tcp_push_pending_frames(ssk, info->mss_now, TCP_NAGLE_PUSH);
	}
	if (subflow && tp->snd_nxt != nxt)
		mps_time_segment(subflow);
}

/* A subflow took nothing: no room, which its next ACK will mend, or it can send
 * no more. Then the others may.
 */
static bool mps_has_ended(struct mps_conn *conn, const struct mps_subflow *subflow)
{
	mps_refresh(conn, NULL);
	return !subflow->usable;
}

/* Sends whatever may be sent. A process owns the connection; no subflow is
 * locked.
 */
void mps_push(struct mptcp_sock *msk, unsigned int flags)
{
	struct mptcp_sendmsg_info info = { .flags = flags };
	struct mps_conn *conn = msk->mps;
	struct sock *sk = mps_sk(conn);
	struct mps_segment *seg;
	struct sock *ssk = NULL;
	struct mps_pick pick;
	bool changed = false;

	/* what was acknowledged while the process owned the connection */
	mptcp_data_lock(sk);
	if (test_bit(MPTCP_CLEAN_UNA, &msk->cb_flags))
		__mptcp_clean_una(sk);
	mptcp_data_unlock(sk);

	mps_verify(conn);
	mps_refresh(conn, NULL);
	while (mps_decide(conn, &pick, &seg)) {
		if (pick.kind == MPS_DROP) {
			mptcp_data_lock(sk);
			mps_drop(conn, &pick);
			mptcp_data_unlock(sk);
			changed = true;
			continue;
		}
		if (subflow_core(pick.subflow)->ssk != ssk) {
			if (ssk) {
				mps_flush(conn, ssk, &info, true);
				release_sock(ssk);
			}
			ssk = subflow_core(pick.subflow)->ssk;
			info.mss_now = 0;
			lock_sock(ssk);
		}
		info.data_lock_held = false;
		if (mps_transmit(conn, &pick, seg, &info) > 0)
			changed = true;
		else if (!mps_has_ended(conn, pick.subflow))
			break;
	}
	if (ssk) {
		mps_flush(conn, ssk, &info, false);
		release_sock(ssk);
	}
	mps_arm_timer(conn);
	if (changed)
		mptcp_check_send_data_fin(sk);
}

/* The same in softirq: the connection's spinlock is held and no process owns
 * it; ssk is locked, the others are not. NULL: none is.
 */
void mps_push_bh(struct mptcp_sock *msk, struct sock *ssk)
{
	struct mptcp_sendmsg_info info = { .data_lock_held = true };
	struct mps_conn *conn = msk->mps;
	struct mps_conn_core *core = conn_core(conn);
	struct mps_segment *seg;
	struct mps_pick pick;
	bool copied = false, dropped = false;

	mps_verify(conn);
	mps_refresh(conn, ssk);
	while (mps_decide(conn, &pick, &seg)) {
		if (pick.kind == MPS_DROP) {
			mps_drop(conn, &pick);
			dropped = true;
			continue;
		}
		if (subflow_core(pick.subflow)->ssk != ssk) {
			core->handoff = pick;
			core->has_handoff = true;
			mptcp_subflow_delegate(mps_ctx(pick.subflow), MPTCP_DELEGATE_SEND);
			break;
		}
		if (mps_transmit(conn, &pick, seg, &info) > 0)
			copied = true;
		else if (!mps_has_ended(conn, pick.subflow))
			break;
	}
	if (copied)
		mps_flush(conn, ssk, &info, core->has_handoff);
	mps_arm_timer(conn);
	if ((copied || dropped) && msk->snd_data_fin_enable && msk->snd_nxt + 1 == msk->write_seq)
		mptcp_schedule_work(mps_sk(conn));
}

/* --- events */

/* A packet came in on a subflow, which is locked. The spinlock is held. */
void mps_packet_received(struct mptcp_subflow_context *ctx)
{
	/* pairs with mps_attach() */
	struct mps_subflow *subflow = smp_load_acquire(&ctx->mps);

	if (!subflow)
		return;
	WRITE_ONCE(subflow_core(subflow)->silent, false);
	mps_read_timestamps(subflow);
}

/* A subflow had a retransmission timeout; it is locked. Is the next one not to
 * be twice as long?
 */
bool mptcp_subflow_timeout(struct sock *ssk)
{
	struct mptcp_subflow_context *ctx = mptcp_subflow_ctx(ssk);
	struct mps_subflow *subflow;
	struct sock *sk = ctx->conn;
	bool linear = false;

	if (!sk)
		return false;
	mptcp_data_lock(sk);
	/* pairs with mps_attach() */
	subflow = smp_load_acquire(&ctx->mps);
	if (subflow) {
		WRITE_ONCE(subflow_core(subflow)->silent, true);
		WRITE_ONCE(subflow_core(subflow)->timed_out, true);
		__mptcp_check_push(sk, ssk);
		linear = READ_ONCE(subflow_core(subflow)->linear);
	}
	mptcp_data_unlock(sk);
	return linear;
}

/* Asked by net/mptcp when the connection's retransmission timer has fired:
 * marks the subflow that the oldest segment is to be sent on again.
 */
int mps_get_subflow(struct mptcp_sock *msk, struct mptcp_sched_data *data)
{
	struct mptcp_subflow_context *ctx;
	struct mps_conn *conn = msk->mps;
	struct mps_conn_core *core = conn_core(conn);
	struct mps_subflow *subflow;
	struct mps_segment *head;
	struct sock *ssk;

	if (conn && !READ_ONCE(msk->fully_established))
		return -EINVAL;
	if (!conn) {
		/* no memory when the connection was made */
		ssk = data->reinject ? mptcp_subflow_get_retrans(msk) :
				       mptcp_subflow_get_send(msk);
		if (!ssk)
			return -EINVAL;
		mptcp_subflow_set_scheduled(mptcp_subflow_ctx(ssk), true);
		return 0;
	}

	mptcp_for_each_subflow(msk, ctx) {
		ssk = mptcp_subflow_tcp_sock(ctx);
		if (__mptcp_subflow_active(ctx) && !tcp_rtx_and_write_queues_empty(ssk))
			mptcp_pm_subflow_chk_stale(msk, ssk);
	}
	core->alarm = true;
	mps_refresh(conn, NULL);
	head = mps_first(&msk->rtx_queue, frag.list);
	if (!head || !mps_sent(head))
		return -EINVAL;
	subflow = core->ops->get_subflow ? core->ops->get_subflow(conn, head) :
					   mps_lowest_rtt(conn, head);
	if (!subflow || subflow_core(subflow)->conn != conn || !subflow->usable)
		return -EINVAL;
	/* there TCP repeats it, unless it believes that it has arrived */
	if (mps_carried_by(head, subflow) && subflow->outstanding_bytes)
		return -EINVAL;
	head->carried |= BIT(subflow_core(subflow)->slot);
	list_del_init(&head->reinject);
	subflow_core(subflow)->reinjections++;
	mptcp_subflow_set_scheduled(mps_ctx(subflow), true);
	return 0;
}

/* --- time */

u64 mps_clock_ns(void)
{
	unsigned long flags;
	u64 now;

	/* in virtual time, reading the clock moves it while interrupts are on */
	local_irq_save(flags);
	now = ktime_get_ns();
	local_irq_restore(flags);
	return now;
}
EXPORT_SYMBOL_GPL(mps_clock_ns);

void mps_wake_at(struct mps_conn *conn, u64 ns)
{
	if (ns)
		hrtimer_start(&conn_core(conn)->timer, ns_to_ktime(ns), HRTIMER_MODE_ABS_SOFT);
	else
		hrtimer_try_to_cancel(&conn_core(conn)->timer);
}
EXPORT_SYMBOL_GPL(mps_wake_at);

static enum hrtimer_restart mps_wake(struct hrtimer *timer)
{
	struct mps_conn_core *core = container_of(timer, struct mps_conn_core, timer);
	struct sock *sk = (struct sock *)core->msk;

	mptcp_data_lock(sk);
	if (!sock_owned_by_user(sk))
		mps_push_bh(core->msk, NULL);
	else
		__set_bit(MPTCP_PUSH_PENDING, &core->msk->cb_flags);
	mptcp_data_unlock(sk);
	return HRTIMER_NORESTART;
}

/* --- connections */

/* The first connection of a socket, or the next one after disconnect(). */
static void mps_conn_begin(struct mps_conn_core *core, struct mptcp_sock *msk,
			   const struct mps_ops *ops)
{
	struct mps_conn *conn = &core->pub;

	memset(core, 0, struct_size(core, pub.priv, 0) + ops->conn_size);
	core->msk = msk;
	core->ops = ops;
	conn->segment_bytes = TCP_MSS_DEFAULT;
	INIT_LIST_HEAD(&conn->subflows);
	INIT_LIST_HEAD(&core->unsent);
	INIT_LIST_HEAD(&core->reinject);
	INIT_LIST_HEAD(&core->units);
	INIT_LIST_HEAD(&core->past_units);
	hrtimer_init(&core->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	core->timer.function = mps_wake;
	mps_params_get(ops, sock_net((struct sock *)msk), conn->params);
	if (ops->init)
		ops->init(conn);
}

/* No subflow belongs to it any more, and the data lock is not held: the timer's
 * function takes it.
 */
static void mps_conn_end(struct mps_conn *conn)
{
	struct mps_conn_core *core = conn_core(conn);
	int slot;

	hrtimer_cancel(&core->timer);
	if (core->ops->release)
		core->ops->release(conn);
	mps_forget_units(conn);
	for (slot = 0; slot < ARRAY_SIZE(core->slots); slot++)
		kfree(core->slots[slot]);
}

void mps_conn_init(struct mptcp_sock *msk)
{
	const struct mps_ops *ops = mps_registration(msk->sched)->ops;
	struct mps_conn_core *core;

	core = kmalloc(struct_size(core, pub.priv, 0) + ops->conn_size, GFP_ATOMIC);
	if (!core)
		return;
	mps_conn_begin(core, msk, ops);
	msk->mps = &core->pub;
}

/* disconnect(): its subflows are closed and its queue is empty. Nothing of the
 * connection may be left for the next one, whose numbers begin anew.
 */
void mps_conn_restart(struct mps_conn *conn)
{
	struct mps_conn_core *core = conn_core(conn);

	mps_conn_end(conn);
	mps_conn_begin(core, core->msk, core->ops);
}

/* At the end of the socket; what is still queued is freed later, as ordinary data
 * fragments.
 */
void mps_conn_release(struct mptcp_sock *msk)
{
	struct mps_subflow *subflow, *next;
	struct mps_conn *conn = msk->mps;

	if (!conn)
		return;
	mptcp_data_lock((struct sock *)msk);
	list_for_each_entry_safe(subflow, next, &conn->subflows, node)
		mps_detach(conn, subflow);
	msk->mps = NULL;
	mptcp_data_unlock((struct sock *)msk);

	mps_conn_end(conn);
	kfree(conn_core(conn));
}
