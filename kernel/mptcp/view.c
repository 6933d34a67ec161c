// SPDX-License-Identifier: GPL-2.0-only
/* The scheduler's view of a subflow: TCP's state, the local device, and our own limits
 * besides the congestion window. Locking: see framework.h.
 */

#include <kunit/visibility.h>
#include <net/pkt_sched.h>
#include <net/tcp.h>

#include "framework.h"

/* Size of the DSS option of a packet with data, padding included: a 64-bit mapping, and an
 * acknowledgment as long as the peer's mappings, which are unknown before the first one.
 * Applications fill segments before these are sent. A segment that is too large by then
 * becomes a packet and a few bytes in another.
 */
u16 mps_dss_bytes(const struct mptcp_sock *msk)
{
	u16 bytes = TCPOLEN_MPTCP_DSS_BASE + TCPOLEN_MPTCP_DSS_MAP64;

	/* written once, with the first mapping of the peer */
	bytes += READ_ONCE(msk->use_64bit_ack) ? TCPOLEN_MPTCP_DSS_ACK64 : TCPOLEN_MPTCP_DSS_ACK32;
	if (READ_ONCE(msk->csum_enabled))
		bytes += TCPOLEN_MPTCP_DSS_CHECKSUM;
	return ALIGN(bytes, 4);
}

void mps_reset_mss(const struct mps_conn *conn, struct mps_subflow *subflow)
{
	const struct tcp_sock *tp = tcp_sk(subflow_core(subflow)->ssk);

	subflow->mss_bytes = mps_peek(tp->mss_cache) - conn_core(conn)->dss_bytes;
}

static void mps_add_qdisc(struct mps_device *device, struct Qdisc *qdisc)
{
	u32 packets, bytes = READ_ONCE(qdisc->qstats.backlog);
	struct gnet_stats_basic_sync sent;

	if (qdisc_is_percpu_stats(qdisc))
		qdisc_qstats_qlen_backlog(qdisc, &packets, &bytes);
	device->queue_bytes += bytes;
	gnet_stats_basic_sync_init(&sent);
	/* on 32 bits lockdep takes this copy for a discipline's counters, which softirqs write */
	local_bh_disable();
	gnet_stats_add_basic(&sent, qdisc->cpu_bstats, &qdisc->bstats, true);
	local_bh_enable();
	device->sent_bytes += u64_stats_read(&sent.bytes);
}

/* The device through which the subflow sends; NULL: none yet. Under RCU. */
static struct net_device *mps_dev_rcu(const struct mps_subflow *subflow)
{
	const struct dst_entry *dst = __sk_dst_get(subflow_core(subflow)->ssk);

	return dst ? dst->dev : NULL;
}

/* A device has one queueing discipline for all of its queues or, with mq, one for each. A
 * discipline counts packets of the disciplines inside it as its own.
 */
struct mps_device mps_device(const struct mps_subflow *subflow)
{
	struct Qdisc *qdisc, *before = NULL;
	struct mps_device device = {};
	const struct net_device *dev;
	unsigned int i;

	if (!mps_is_there(subflow))
		return device;
	rcu_read_lock();
	dev = mps_dev_rcu(subflow);
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

/* The flag alone is not enough. It stays set if the last packet leaves the host while TCP's
 * tasklet is queued, and only the next transmission clears it.
 */
bool mps_throttled(const struct mps_subflow *subflow)
{
	const struct sock *ssk = subflow_core(subflow)->ssk;

	return mps_is_there(subflow) && test_bit(TSQ_THROTTLED, &ssk->sk_tsq_flags) &&
	       sk_wmem_alloc_get(ssk);
}
EXPORT_SYMBOL_GPL(mps_throttled);

u64 mps_device_sent_bytes(const struct mps_subflow *subflow)
{
	struct rtnl_link_stats64 stats = {};
	struct net_device *dev;

	if (!mps_is_there(subflow))
		return 0;
	rcu_read_lock();
	dev = mps_dev_rcu(subflow);
	if (dev)
		dev_get_stats(dev, &stats);
	rcu_read_unlock();
	return stats.tx_bytes;
}
EXPORT_SYMBOL_GPL(mps_device_sent_bytes);

bool mps_same_device(const struct mps_subflow *one, const struct mps_subflow *other)
{
	const struct net_device *dev;
	bool same;

	if (!mps_is_there(one) || !mps_is_there(other))
		return false;
	rcu_read_lock();
	dev = mps_dev_rcu(one);
	same = dev && dev == mps_dev_rcu(other);
	rcu_read_unlock();
	return same;
}
EXPORT_SYMBOL_GPL(mps_same_device);

void mps_update_limit(struct mps_subflow *subflow)
{
	const struct mps_subflow_core *sub = subflow_core(subflow);

	subflow->limit_pkts = min(sub->penalty_pkts, sub->set_limit_pkts);
}

void mps_set_limit(struct mps_subflow *subflow, u32 pkts)
{
	if (!mps_is_there(subflow))
		return;
	subflow_core(subflow)->set_limit_pkts = max(pkts, 1U);
	mps_update_limit(subflow);
}
EXPORT_SYMBOL_GPL(mps_set_limit);

/* In slow start, the threshold stays. */
void mps_halve(u32 *cwnd_pkts, u32 *ssthresh_pkts)
{
	if (*cwnd_pkts >= *ssthresh_pkts)
		*ssthresh_pkts = max(*ssthresh_pkts / 2, 2U);
	*cwnd_pkts = max(*cwnd_pkts / 2, 1U);
}

/* The window after all cuts. TCP gets none while it repairs a loss. */
void mps_snapshot_window(struct mps_subflow *subflow)
{
	const struct mps_subflow_core *sub = subflow_core(subflow);
	const struct tcp_sock *tp = tcp_sk(sub->ssk);
	int cuts = 0;

	if (mps_peek_bits(inet_csk(sub->ssk)->icsk_ca_state) == TCP_CA_Open)
		cuts = sub->cuts;
	subflow->cwnd_pkts = mps_peek(tp->snd_cwnd);
	subflow->ssthresh_pkts = mps_peek(tp->snd_ssthresh);
	while (cuts--)
		mps_halve(&subflow->cwnd_pkts, &subflow->ssthresh_pkts);
}

/* A place for a new subflow, with its memory; NULL: there is none. */
struct mps_subflow_core *mps_take_slot(struct mps_conn *conn,
				       const struct mptcp_subflow_context *ctx)
{
	struct mps_conn_core *core = conn_core(conn);
	struct mps_subflow_core *sub;
	const struct tcp_sock *tp;
	int slot;

	for (slot = 0; slot < ARRAY_SIZE(core->slots); slot++)
		if (!core->slots[slot] || !core->slots[slot]->ssk)
			break;
	if (slot == ARRAY_SIZE(core->slots)) {
		if (!core->crowded)
			net_warn_ratelimited("mptcp: %s: a connection has more than %zu subflows: its scheduler does not see the others\n",
					     core->ops->name, ARRAY_SIZE(core->slots));
		core->crowded = true;
		return NULL;
	}

	/* A slot lives as long as the connection: a scheduler may have kept a pointer to
	 * its subflow.
	 */
	sub = core->slots[slot];
	if (!sub) {
		sub = kmalloc(struct_size(sub, pub.priv, 0) + core->ops->subflow_size,
			      GFP_ATOMIC);
		if (!sub)
			return NULL;
		core->slots[slot] = sub;
	}
	memset(sub, 0, struct_size(sub, pub.priv, 0) + core->ops->subflow_size);
	sub->pub.id = mps_id_of(ctx);
	sub->slot = slot;
	sub->conn = conn;
	sub->ssk = mptcp_subflow_tcp_sock(ctx);
	sub->penalised = tcp_jiffies32;
	sub->penalty_pkts = U32_MAX;
	sub->set_limit_pkts = U32_MAX;
	sub->pub.limit_pkts = U32_MAX;
	mps_reset_mss(conn, &sub->pub);
	tp = tcp_sk(sub->ssk);
	/* the handshake has agreed on them */
	sub->has_timestamps = mps_peek_bits(tp->rx_opt.tstamp_ok && !mps_usec_ts(tp));
	sub->round_empty = true;
	sub->round_end = mps_peek(tp->snd_nxt);
	sub->round_delivered = mps_peek(tp->delivered);
	sub->round_retransmitted = mps_peek(tp->total_retrans);
	return sub;
}

/* The limit grows as in slow start: a segment for each acknowledged one. */
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

/* tcp_packets_in_flight() for a subflow that is not locked: an ACK between two of these
 * counters must not make the result negative.
 */
static u32 mps_in_flight(const struct tcp_sock *tp, u32 packets_out)
{
	u32 left_out = mps_peek(tp->sacked_out) + mps_peek(tp->lost_out);
	u32 retrans_out = mps_peek(tp->retrans_out);

	return packets_out - min(left_out, packets_out) + min(retrans_out, packets_out);
}

void mps_snapshot(struct mps_subflow *subflow)
{
	struct mps_subflow_core *sub = subflow_core(subflow);
	const struct sock *ssk = sub->ssk;
	const struct tcp_sock *tp = tcp_sk(ssk);
	u32 packets_out = mps_peek(tp->packets_out);
	u32 snd_una = mps_peek(tp->snd_una);
	u32 write_seq = mps_peek(tp->write_seq);
	unsigned long pacing = mps_peek(ssk->sk_pacing_rate);
	u32 snd_nxt = mps_peek(tp->snd_nxt);
	u32 snd_wnd = mps_peek(tp->snd_wnd);

	mps_assert_locked(mps_sk(sub->conn));
	subflow->ca_state = mps_peek_bits(inet_csk(ssk)->icsk_ca_state);
	/* Without SACK, TCP keeps this state after it has repaired the loss, until an ACK of
	 * later data (tcp_try_undo_recovery()). No such ACK comes while schedulers wait for
	 * the state to end.
	 */
	if (subflow->ca_state == TCP_CA_Loss && !packets_out)
		subflow->ca_state = TCP_CA_Open;
	if (subflow->ca_state == TCP_CA_Loss && mps_recovers(conn_core(sub->conn)->msk))
		subflow->ca_state = TCP_CA_Recovery;
	sub->srtt_8us = mps_peek(tp->srtt_us);
	subflow->srtt_us = sub->srtt_8us >> 3;
	/* 4 x the mean deviation; rttvar_us has a minimum */
	subflow->rttvar_us = mps_peek(tp->mdev_us) >> 2;
	sub->rttvar_4us = mps_peek(tp->rttvar_us);
	subflow->rto_margin_us = sub->rttvar_4us;
	subflow->min_rtt_us = mps_peek(tp->rtt_min.s[0].v);
	subflow->last_rtt_us = mps_peek(tp->rack.rtt_us);
	mps_snapshot_window(subflow);
	subflow->in_flight_pkts = mps_in_flight(tp, packets_out);
	sub->packets_out = packets_out;
	subflow->left_out_pkts = packets_out - min(subflow->in_flight_pkts, packets_out);
	subflow->unsent_bytes = write_seq - snd_nxt;
	sub->snd_una = snd_una;
	sub->snd_nxt = snd_nxt;
	subflow->outstanding_bytes = write_seq - snd_una;
	/* a 32-bit machine may read between the writes of its halves: the low one is right */
	subflow->acked_bytes += (u32)(mps_peek(tp->bytes_acked) - subflow->acked_bytes);
	subflow->memory_bytes = mps_peek(ssk->sk_wmem_queued);
	subflow->memory_full = mps_peek_bits(!sk_stream_memory_free(ssk));
	subflow->window_bytes = max_t(s32, snd_una + snd_wnd - write_seq, 0);
	subflow->pacing_rate = pacing == ~0UL ? U64_MAX : pacing;
	subflow->delivered_pkts = mps_peek(tp->delivered);
	subflow->delivered_ns = mps_peek(tp->delivered_mstamp) * NSEC_PER_USEC;
	subflow->delivered_sent_ns = mps_peek(tp->rack.mstamp) * NSEC_PER_USEC;
	subflow->lost_pkts = mps_peek(tp->lost);
	subflow->retransmitted_pkts = mps_peek(tp->total_retrans);
	subflow->peer_window_bytes = snd_wnd;
	subflow->peer_mss_bytes = mps_peek(tp->rx_opt.mss_clamp);
	subflow->owd_us = READ_ONCE(sub->owd_sample_us);
	subflow->commd_us = READ_ONCE(sub->commd_sample_us);
}
EXPORT_SYMBOL_IF_KUNIT(mps_snapshot);

/* The oldest packet in flight. The caller holds the subflow's lock: otherwise an ACK might free
 * the packet. TCP's list has packets in order of transmission, except those that arrived or
 * count as lost. After a timeout, all count as lost.
 */
void mps_snapshot_oldest(struct mps_subflow *subflow)
{
	struct tcp_sock *tp = tcp_sk(subflow_core(subflow)->ssk);
	const struct sk_buff *skb;

	mps_assert_locked(subflow_core(subflow)->ssk);
	skb = list_first_entry_or_null(&tp->tsorted_sent_queue, struct sk_buff,
				       tcp_tsorted_anchor);
	subflow->oldest_sent_ns = skb ? skb->skb_mstamp_ns : 0;
}

/* The next round begins once the peer has all data that was sent before this one. If
 * nothing was in flight then, the data sent before its first ACK counts instead.
 *
 * The caller owns the connection. If the subflow is not locked, an ACK may come meanwhile.
 * Its packets count in the next round.
 */
void mps_count_round(struct mps_subflow *subflow)
{
	struct mps_subflow_core *sub = subflow_core(subflow);
	const struct tcp_sock *tp = tcp_sk(sub->ssk);

	bool delivered = subflow->delivered_pkts != sub->round_delivered;
	u32 nxt = mps_peek(tp->snd_nxt), una = mps_peek(tp->snd_una);

	if (sub->round_empty && delivered) {
		sub->round_empty = false;
		sub->round_end = nxt;
	}
	if (before(una, sub->round_end))
		return;
	if (delivered) {
		subflow->rounds++;
		subflow->round_delivered_pkts = subflow->delivered_pkts - sub->round_delivered;
		subflow->round_lost_pkts = subflow->lost_pkts - sub->round_lost;
		subflow->round_retransmitted_pkts = subflow->retransmitted_pkts -
						    sub->round_retransmitted;
	}
	sub->round_delivered = subflow->delivered_pkts;
	sub->round_lost = subflow->lost_pkts;
	sub->round_retransmitted = subflow->retransmitted_pkts;
	sub->round_empty = una == nxt;
	sub->round_end = nxt;
}
EXPORT_SYMBOL_IF_KUNIT(mps_count_round);

/* Sysctls may have been written meanwhile. Of those, the connection keeps its own values. */
void mps_refresh_params(struct mps_conn *conn)
{
	struct mps_conn_core *core = conn_core(conn);
	u32 values[MPS_PARAMS_MAX];
	unsigned int i;

	if (!core->params || !mps_params_changed(&core->params_seen))
		return;
	mps_params_get(core->params, sock_net(mps_sk(conn)), values);
	for (i = 0; i < core->params->num; i++)
		if (!(core->params_kept & BIT(i)))
			conn->params[i] = values[i];
}

/* Updates the view of one subflow, and reports its events to the scheduler. `heard`: an ACK or a
 * timeout may have come; otherwise only its priority and usability may have changed. `locked`: the
 * subflow is locked.
 */
void mps_refresh_subflow(struct mps_conn *conn, struct mps_subflow *subflow, bool usable,
			 bool heard, bool locked)
{
	const struct mptcp_subflow_context *ctx = mps_ctx(subflow);
	struct mps_subflow_core *sub = subflow_core(subflow);
	const struct mps_ops *ops = conn_core(conn)->ops;
	bool backup, changed;
	u8 ca_seen;
	u64 acked;

	if (heard)
		mps_snapshot(subflow);
	if (locked)
		mps_snapshot_oldest(subflow);
	backup = mps_peek_bits(ctx->backup || ctx->request_bkup);
	changed = usable != subflow->usable || backup != subflow->backup;
	subflow->usable = usable;
	subflow->backup = backup;
	subflow->stale = mps_peek_bits(ctx->stale);

	if (!sub->established) {
		if (!usable)
			return;
		mps_snapshot(subflow);
		sub->established = true;
		sub->acked_seen = subflow->acked_bytes;
		if (ops->init_subflow)
			ops->init_subflow(conn, subflow);
	}
	if (changed && ops->on_subflow_state)
		ops->on_subflow_state(conn, subflow);
	if (!heard)
		return;
	mps_count_round(subflow);
	acked = subflow->acked_bytes;
	if (acked != sub->acked_seen) {
		u64 bytes = acked - sub->acked_seen;

		sub->acked_seen = acked;
		mps_shrink_penalty(subflow, bytes);
		if (ops->on_ack)
			ops->on_ack(conn, subflow, bytes);
	}
	ca_seen = sub->ca_seen;
	sub->ca_seen = subflow->ca_state;
	if (ca_seen < TCP_CA_Recovery && subflow->ca_state == TCP_CA_Recovery && ops->on_loss)
		ops->on_loss(conn, subflow);
	if (READ_ONCE(sub->timed_out)) {
		WRITE_ONCE(sub->timed_out, false);
		if (ops->on_rto)
			ops->on_rto(conn, subflow);
	}
}
