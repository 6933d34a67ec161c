// SPDX-License-Identifier: GPL-2.0-only
/* The state of connections and subflows, and how it follows net/mptcp's. Locking and lifetime:
 * see adapter.c.
 */

#include "adapter.h"

static const struct rhashtable_params adapter_conns_params = {
	.key_len		= sizeof(struct mptcp_sock *),
	.key_offset		= offsetof(struct adapter_conn, msk),
	.head_offset		= offsetof(struct adapter_conn, node),
	.automatic_shrinking	= true,
};

/* of a page fragment of net/mptcp, at most */
#define FRAGMENT_BYTES	SZ_32K

static struct rhashtable adapter_conns;
static struct workqueue_struct *adapter_works;

/* --- the first unsent fragment */

u64 mps_adapter_next_seq(const struct mptcp_sock *msk)
{
	const struct mptcp_data_frag *frag = msk->first_pending;

	return frag ? frag->data_seq + frag->already_sent : READ_ONCE(msk->snd_nxt);
}

struct mps_segment *mps_head(const struct mps_conn *conn)
{
	struct mptcp_data_frag *frag = conn_core(conn)->msk->first_pending;

	return frag ? mps_segment(frag) : NULL;
}
EXPORT_SYMBOL_GPL(mps_head);

/* --- subflows */

bool mps_adapter_is_active(struct mptcp_subflow_context *ctx)
{
	const struct sock *ssk = mptcp_subflow_tcp_sock(ctx);

	if (mps_peek_bits(ctx->closing) || !mps_peek_bits(__mptcp_subflow_active(ctx)) ||
	    mps_peek_bits(inet_csk(ssk)->icsk_retransmits))
		return false;
	return !mps_peek_bits(ctx->stale) ||
	       mps_peek(ctx->stale_rcv_tstamp) != mps_peek(tcp_sk(ssk)->rcv_tstamp);
}

static struct mps_subflow *adapter_find(const struct mps_conn *conn,
					const struct mptcp_subflow_context *ctx)
{
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		if (subflow->id == mps_id_of(ctx) &&
		    subflow_core(subflow)->ssk == mptcp_subflow_tcp_sock(ctx))
			return subflow;
	return NULL;
}

static void adapter_detach(struct adapter_conn *own, struct mps_subflow *subflow)
{
	struct mps_conn_core *core = &own->core;

	if (core->ops->release_subflow && subflow_core(subflow)->established)
		core->ops->release_subflow(&core->pub, subflow);
	if (own->picked == subflow)
		own->picked = NULL;
	list_del(&subflow->node);
	subflow->usable = false;
}

/* The subflows that net/mptcp has no more lose their sockets before a hook is called: a
 * scheduler may look at any subflow in each hook.
 */
static void adapter_mark_gone(struct adapter_conn *own)
{
	struct mps_conn *conn = &own->core.pub;
	struct mptcp_subflow_context *ctx;
	struct mps_subflow *subflow;
	u32 there = 0;

	mptcp_for_each_subflow(own->msk, ctx) {
		subflow = adapter_find(conn, ctx);
		if (subflow)
			there |= BIT(subflow_core(subflow)->slot);
	}
	mps_for_each_subflow(conn, subflow)
		if (!(there & BIT(subflow_core(subflow)->slot)))
			subflow_core(subflow)->ssk = NULL;
}

static void adapter_detach_gone(struct adapter_conn *own)
{
	struct mps_subflow *subflow, *next;

	list_for_each_entry_safe(subflow, next, &own->core.pub.subflows, node)
		if (!subflow_core(subflow)->ssk)
			adapter_detach(own, subflow);
}

/* A retransmission timeout shows in a counter of TCP's, until an ACK ends it. */
static void adapter_look_for_rto(struct mps_subflow *subflow)
{
	struct mps_subflow_core *sub = subflow_core(subflow);
	bool silent = mps_peek_bits(inet_csk(sub->ssk)->icsk_retransmits);

	if (silent && !sub->silent)
		sub->timed_out = true;
	sub->silent = silent;
}

static void adapter_refresh_subflows(struct adapter_conn *own)
{
	struct mps_conn_core *core = &own->core;
	struct mps_conn *conn = &core->pub;
	u32 mask = 0, usable = 0, mss = 0;
	struct mptcp_subflow_context *ctx;
	struct mps_subflow *subflow;

	own->lacks_slot = false;
	mptcp_for_each_subflow(core->msk, ctx) {
		bool active = mps_adapter_is_active(ctx);

		subflow = adapter_find(conn, ctx);
		if (!subflow && active) {
			struct mps_subflow_core *sub = mps_take_slot(conn, ctx);

			own->lacks_slot |= !sub;
			if (!sub)
				continue;
			subflow = &sub->pub;
			list_add_tail(&subflow->node, &conn->subflows);
		}
		if (!subflow)
			continue;
		adapter_look_for_rto(subflow);
		mps_refresh_subflow(conn, subflow, active, true, false);
		if (!subflow->usable)
			continue;
		usable++;
		mask |= BIT(subflow_core(subflow)->slot);
		mss = mss ? min(mss, subflow->mss_bytes) : subflow->mss_bytes;
	}
	conn->subflows_usable = usable;
	core->usable_mask = mask;
	if (mss)
		conn->segment_bytes = mss;
}

/* --- the connection */

/* The end of written data. The end of the stream, DATA_FIN, has a number, too. */
static u64 adapter_end_seq(const struct mptcp_sock *msk)
{
	return READ_ONCE(msk->write_seq) - !!READ_ONCE(msk->snd_data_fin_enable);
}

/* The kernel does not report how much of a pick it has sent: the next question finds it. A
 * connection that sends old data again sent nothing new.
 */
static void adapter_report_sent(struct adapter_conn *own)
{
	struct mps_conn *conn = &own->core.pub;
	struct mps_pick pick = {
		.subflow = own->picked,
		.seq	 = own->pick_seq - own->core.base_seq,
		.kind	 = MPS_NEW,
	};
	u64 next = mps_adapter_next_seq(own->msk);

	if (!pick.subflow || !after64(next, own->pick_seq))
		return;
	own->picked = NULL;
	subflow_core(pick.subflow)->new_segments++;
	if (own->core.ops->on_sent)
		own->core.ops->on_sent(conn, &pick, next - own->pick_seq);
}

/* --- the grain of a choice
 *
 * net/mptcp sends a fragment as far as the receive window admits, without another question. So
 * a window that ends with the choice ends the choice. The next question restores it, and ACKs
 * move it as ever. Both happen under the spinlock, which a question in softirq holds already.
 *
 * A scheduler's limit bounds a queue. So a choice for a limited subflow ends at the limit: the rest
 * of a fragment would be a longer queue, its RTT a lower limit, and so on.
 */

static void adapter_lock(struct sock *sk)
{
	if (sock_owned_by_user_nocheck(sk))
		mptcp_data_lock(sk);
}

static void adapter_unlock(struct sock *sk)
{
	if (sock_owned_by_user_nocheck(sk))
		mptcp_data_unlock(sk);
}

u32 mps_adapter_choice_bytes(const struct adapter_conn *own, const struct mptcp_data_frag *frag)
{
	u32 bytes = frag->data_len - frag->already_sent;

	/* less than a segment makes small packets */
	if (own->grain_bytes)
		bytes = min(bytes, max(own->grain_bytes, own->core.pub.segment_bytes));
	return bytes;
}

/* A grain of more than a fragment only spares questions: see adapter_burst(). */
static void adapter_begin_grain(struct adapter_conn *own, u32 bytes)
{
	own->grain_bytes = bytes > FRAGMENT_BYTES ? 0 : bytes;
	own->burst_bytes = bytes > FRAGMENT_BYTES ? bytes : 0;
	if (!bytes)
		own->burst_bytes = own->core.ops->choice_bytes;
}

u32 mps_adapter_room(const struct mps_subflow *subflow)
{
	s64 room = (s64)mps_cwnd(subflow) - subflow->in_flight_pkts;

	room = room * subflow->mss_bytes - subflow->unsent_bytes;
	return clamp_t(s64, room, 0, U32_MAX);
}

void mps_adapter_cut(struct adapter_conn *own)
{
	const struct mps_subflow *subflow = own->picked;
	struct mptcp_sock *msk = own->msk;
	u32 bytes, mss = max(subflow->mss_bytes, 1U);
	u64 end;

	if (!own->grain_bytes && !mps_adapter_limited(subflow))
		return;
	bytes = mps_adapter_choice_bytes(own, msk->first_pending);
	if (mps_adapter_limited(subflow))
		bytes = min(bytes, max(rounddown(mps_adapter_room(subflow), mss), mss));
	end = own->pick_seq + bytes;
	adapter_lock((struct sock *)msk);
	own->wnd_end = READ_ONCE(msk->wnd_end);
	own->cut = after64(own->wnd_end, end);
	if (own->cut)
		WRITE_ONCE(msk->wnd_end, end);
	adapter_unlock((struct sock *)msk);
}

static void adapter_uncut(struct adapter_conn *own)
{
	struct mptcp_sock *msk = own->msk;

	if (!own->cut)
		return;
	adapter_lock((struct sock *)msk);
	if (after64(own->wnd_end, READ_ONCE(msk->wnd_end)))
		WRITE_ONCE(msk->wnd_end, own->wnd_end);
	adapter_unlock((struct sock *)msk);
	own->cut = false;
}

void mps_adapter_refresh(struct adapter_conn *own)
{
	struct mps_conn_core *core = &own->core;
	struct mptcp_sock *msk = core->msk;
	struct mps_conn *conn = &core->pub;
	struct mps_subflow *subflow;
	u64 una, end;

	mps_assert_locked((struct sock *)msk);
	mps_refresh_params(conn);
	adapter_mark_gone(own);
	adapter_report_sent(own);
	adapter_uncut(own);
	una = READ_ONCE(msk->snd_una);
	end = READ_ONCE(msk->wnd_end);
	conn->una_seq = una - core->base_seq;
	conn->nxt_seq = READ_ONCE(msk->snd_nxt) - core->base_seq;
	conn->window_end_seq = end - core->base_seq;
	conn->window_bytes = after64(end, una) ? min_t(u64, end - una, U32_MAX) : 0;
	conn->closing = READ_ONCE(msk->snd_data_fin_enable);
	conn->unsent_bytes = min_t(u64, adapter_end_seq(msk) - mps_adapter_next_seq(msk), U32_MAX);
	adapter_detach_gone(own);
	if (core->dss_bytes != mps_dss_bytes(msk)) {
		core->dss_bytes = mps_dss_bytes(msk);
		mps_for_each_subflow(conn, subflow)
			mps_reset_mss(conn, subflow);
	}
	adapter_refresh_subflows(own);
}

static enum hrtimer_restart adapter_timer(struct hrtimer *timer)
{
	struct adapter_conn *own = container_of(timer, struct adapter_conn, core.timer);
	struct sock *sk = (struct sock *)own->msk;

	/* release() waits for this function: neither can be the last reference */
	refcount_inc(&own->refs);
	sock_hold(sk);
	if (!queue_work(adapter_works, &own->wake)) {
		refcount_dec(&own->refs);
		__sock_put(sk);
	}
	return HRTIMER_NORESTART;
}

static void adapter_put(struct adapter_conn *own)
{
	if (refcount_dec_and_test(&own->refs))
		kfree_rcu(own, rcu);
}

/* The scheduler's timer has fired. net/mptcp sends when the socket is released. */
static void adapter_wake(struct work_struct *work)
{
	struct adapter_conn *own = container_of(work, struct adapter_conn, wake);
	struct mptcp_sock *msk = own->msk;
	struct sock *sk = (struct sock *)msk;

	lock_sock(sk);
	if (!own->core.ended) {
		mptcp_data_lock(sk);
		__set_bit(MPTCP_PUSH_PENDING, &msk->cb_flags);
		mptcp_data_unlock(sk);
	}
	release_sock(sk);
	sock_put(sk);
	adapter_put(own);
}

void mps_wake_at(struct mps_conn *conn, u64 ns)
{
	struct mps_conn_core *core = conn_core(conn);

	if (core->ended)
		return;
	if (!ns || ns == U64_MAX) {
		hrtimer_try_to_cancel(&core->timer);
		return;
	}
	/* Earlier questions do no harm. The guard needs one. */
	ns = min(ns, mps_clock_ns() + MPS_ADAPTER_WAIT_NS);
	hrtimer_start(&core->timer, ns_to_ktime(ns), HRTIMER_MODE_ABS_SOFT);
}
EXPORT_SYMBOL_GPL(mps_wake_at);

/* The first connection of a socket, or the next one. */
static void adapter_begin(struct adapter_conn *own, struct mptcp_sock *msk)
{
	const struct mps_registration *registration = own->registration;
	const struct mps_ops *ops = registration->ops;
	struct mps_conn_core *core = &own->core;

	memset(core, 0, struct_size(core, pub.priv, 0) + ops->conn_size);
	core->msk = msk;
	core->ops = ops;
	core->base_seq = READ_ONCE(msk->snd_una);
	core->started = true;
	core->pub.segment_bytes = TCP_MSS_DEFAULT;
	INIT_LIST_HEAD(&core->pub.subflows);
	hrtimer_setup(&core->timer, adapter_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	core->params = &registration->params;
	mps_params_get(core->params, sock_net((struct sock *)msk), core->pub.params);
	own->local_key = READ_ONCE(msk->local_key);
	own->idle_since_ns = 0;
	own->picked = NULL;
	own->again_id = 0;
	adapter_begin_grain(own, mps_grain_bytes(sock_net((struct sock *)msk)));
	own->cut = false;
	if (ops->init)
		ops->init(&core->pub);
}

static void adapter_end(struct adapter_conn *own)
{
	struct mps_conn *conn = &own->core.pub;
	struct mps_subflow *subflow;
	int slot;

	mps_for_each_subflow(conn, subflow)
		subflow_core(subflow)->ssk = NULL;
	adapter_detach_gone(own);
	own->core.ended = true;
	hrtimer_cancel(&own->core.timer);
	if (own->core.ops->release)
		own->core.ops->release(conn);
	for (slot = 0; slot < ARRAY_SIZE(own->core.slots); slot++)
		kfree(own->core.slots[slot]);
}

struct adapter_conn *mps_adapter_lookup(struct mptcp_sock *msk)
{
	return rhashtable_lookup_fast(&adapter_conns, &msk, adapter_conns_params);
}

const struct mps_conn_core *mps_adapter_core(struct mptcp_sock *msk)
{
	const struct adapter_conn *own = mps_adapter_lookup(msk);

	return own ? &own->core : NULL;
}

struct adapter_conn *mps_adapter_conn(struct mptcp_sock *msk)
{
	struct adapter_conn *own = mps_adapter_lookup(msk);
	const struct mps_registration *registration;
	const struct mps_ops *ops;

	if (own) {
		if (own->local_key != READ_ONCE(msk->local_key)) {
			adapter_end(own);
			adapter_begin(own, msk);
		}
		return own;
	}
	registration = mps_choose(msk);
	ops = registration->ops;
	own = kmalloc(struct_size(own, core.pub.priv, 0) + ops->conn_size,
		      GFP_ATOMIC | __GFP_NOWARN);
	if (!own)
		goto err;
	own->registration = registration;
	refcount_set(&own->refs, 1);
	INIT_WORK(&own->wake, adapter_wake);
	own->msk = msk;
	if (rhashtable_insert_fast(&adapter_conns, &own->node, adapter_conns_params)) {
		kfree(own);
		goto err;
	}
	adapter_begin(own, msk);
	return own;
err:
	module_put(ops->owner);
	return NULL;
}

/* net/mptcp calls both, with the socket locked or not yet visible. */
void mps_conn_init(struct mptcp_sock *msk)
{
}

void mps_conn_release(struct mptcp_sock *msk)
{
	struct adapter_conn *own = mps_adapter_lookup(msk);

	if (!own)
		return;
	mps_assert_locked((struct sock *)msk);
	adapter_end(own);
	module_put(own->core.ops->owner);
	rhashtable_remove_fast(&adapter_conns, &own->node, adapter_conns_params);
	adapter_put(own);
}

int __init mps_adapter_conns_init(void)
{
	int err;

	adapter_works = alloc_workqueue("mptcp_schedulers", WQ_UNBOUND, 0);
	if (!adapter_works)
		return -ENOMEM;
	err = rhashtable_init(&adapter_conns, &adapter_conns_params);
	if (err)
		destroy_workqueue(adapter_works);
	return err;
}

/* A work holds its socket, so none is left; but one may still be about to end. */
void mps_adapter_conns_exit(void)
{
	destroy_workqueue(adapter_works);
	rhashtable_destroy(&adapter_conns);
}
