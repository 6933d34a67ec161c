// SPDX-License-Identifier: GPL-2.0-only
/* Schedulers of mpsched.h on a kernel without our patches, with its own net/mptcp.
 *
 * This file and missing.c take the place of framework.c, segments.c, subflows.c, delays.c,
 * recovery.c and units.c. net/mptcp asks which subflow sends the next fragment: the data of
 * one or several writes, at most a page fragment of 32 KiB. The fragment is the segment that
 * the scheduler sees, and the scheduler is asked again after each. missing.c lists what a
 * scheduler can ask for in vain.
 *
 * - A retransmission of the connection goes where net/mptcp's own function decides. That
 *   function also counts the periods without a packet, and finds stale subflows. It answers
 *   only with an idle subflow, and schedulers that fill each window leave none idle. So when
 *   it finds none, and a subflow had a timeout or was silent for a whole period, the oldest
 *   fragment leaves again on the subflow with the lowest RTT, once.
 * - A scheduler that waits while no usable subflow has data in flight gets no ACK that would
 *   have it asked again. Unless it has set a timer, the first usable subflow sends; 200 ms
 *   later also with a timer. The parameter `forced` counts it.
 * - A pick of an unusable subflow is replaced by mps_lowest_rtt(), and counted in `refused`.
 *   A pick that is not the first unsent fragment sends that fragment.
 *
 * LOCKS. A question comes with the connection owned: by a process in lock_sock(), or in softirq
 * under the spinlock (mptcp_data_lock()) while no process owns it. Only the owner touches a
 * connection's struct adapter_conn and its subflows, as LOCKING in framework.h says. No
 * subflow but the one that brought an ACK is locked, and the adapter does not know which one
 * that is: it reads TCP's fields with mps_peek(), and writes none. Of net/mptcp, it writes
 * three fields that belong to the owner: snd_burst, timer_ival and `scheduled`.
 *
 * LIFETIME. The first question makes the state of a connection, since most sockets never send
 * with MPTCP. It is found by the socket's address. release(), which net/mptcp calls with the
 * socket locked, ends it; no question follows. A disconnected socket is not released: its next
 * connection has another key, and begins anew, with the same scheduler. The end of a subflow
 * is not announced: the next question finds it missing in the list, before anything looks at
 * its socket. A number that net/mptcp uses once in a connection identifies a subflow, so the
 * reuse of memory does not matter. A timer's work holds references to the state and the
 * socket. Sockets hold the module of their scheduler, which needs this one.
 */

#include <linux/rhashtable.h>
#include <linux/workqueue.h>

#include "adapter.h"

#define WAIT_NS		(200 * NSEC_PER_MSEC)

/* The state of a connection. */
struct adapter_conn {
	struct mptcp_sock	*msk;		/* by which it is found: never written again */
	struct rhash_head	node;
	struct rcu_head		rcu;
	refcount_t		refs;		/* release(), and a timer's work */
	struct work_struct	wake;
	const struct mps_registration *registration;	/* its module is held */
	u64			local_key;	/* of the connection, not only of the socket */
	u64			idle_since_ns;	/* waits with nothing in flight; 0: does not */
	u64			pick_seq;	/* where the latest pick began */
	struct mps_subflow	*picked;	/* its subflow; NULL: none, or it is gone */
	u64			again_seq;	/* what left again on a busy subflow, and its .. */
	u32			again_id;	/* .. number; 0: nothing did */
	struct mps_conn_core	core;		/* and the scheduler's own state */
};

static const struct rhashtable_params adapter_conns_params = {
	.key_len		= sizeof(struct mptcp_sock *),
	.key_offset		= offsetof(struct adapter_conn, msk),
	.head_offset		= offsetof(struct adapter_conn, node),
	.automatic_shrinking	= true,
};

static struct rhashtable adapter_conns;
static struct workqueue_struct *adapter_works;

/* --- counters, of all connections: /sys/module/MODULE/parameters */

static int adapter_get_count(char *text, const struct kernel_param *param)
{
	return sysfs_emit(text, "%ld\n", atomic_long_read(param->arg));
}

static const struct kernel_param_ops adapter_count_ops = { .get = adapter_get_count };

static atomic_long_t forced;
module_param_cb(forced, &adapter_count_ops, &forced, 0444);
MODULE_PARM_DESC(forced, "choices for a scheduler that waited with nothing in flight");

static atomic_long_t refused;
module_param_cb(refused, &adapter_count_ops, &refused, 0444);
MODULE_PARM_DESC(refused, "picks of a subflow that was not usable");

static atomic_long_t lacking;
module_param_cb(lacking, &adapter_count_ops, &lacking, 0444);
MODULE_PARM_DESC(lacking, "choices without the scheduler, for lack of memory");

/* --- the first unsent fragment */

/* Where the next data begins, as a data sequence number. Behind it, all is unsent. */
static u64 adapter_next_seq(const struct mptcp_sock *msk)
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

/* What mptcp_subflow_active() says, without its writes. A subflow that had a timeout is not
 * usable before an ACK has brought something new.
 */
static bool adapter_is_active(struct mptcp_subflow_context *ctx)
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
		if (subflow->id == mps_peek(ctx->subflow_id) &&
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
	subflow_core(subflow)->ssk = NULL;
}

/* Forgets the subflows that net/mptcp has no more. */
static void adapter_detach_gone(struct adapter_conn *own)
{
	struct mps_conn *conn = &own->core.pub;
	struct mptcp_subflow_context *ctx;
	struct mps_subflow *subflow, *next;
	u32 there = 0;

	mptcp_for_each_subflow(own->msk, ctx) {
		subflow = adapter_find(conn, ctx);
		if (subflow)
			there |= BIT(subflow_core(subflow)->slot);
	}
	list_for_each_entry_safe(subflow, next, &conn->subflows, node)
		if (!(there & BIT(subflow_core(subflow)->slot)))
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

static void adapter_refresh_subflows(struct mps_conn *conn)
{
	struct mps_conn_core *core = conn_core(conn);
	u32 mask = 0, usable = 0, mss = 0;
	struct mptcp_subflow_context *ctx;
	struct mps_subflow *subflow;

	mptcp_for_each_subflow(core->msk, ctx) {
		bool active = adapter_is_active(ctx);

		subflow = adapter_find(conn, ctx);
		if (!subflow && active) {
			struct mps_subflow_core *sub = mps_take_slot(conn, ctx);

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

static void adapter_refresh(struct adapter_conn *own)
{
	struct mps_conn_core *core = &own->core;
	struct mptcp_sock *msk = core->msk;
	struct mps_conn *conn = &core->pub;
	struct mps_subflow *subflow;
	u64 una, end;

	mps_assert_locked((struct sock *)msk);
	una = READ_ONCE(msk->snd_una);
	end = READ_ONCE(msk->wnd_end);
	conn->una_seq = una - core->base_seq;
	conn->nxt_seq = READ_ONCE(msk->snd_nxt) - core->base_seq;
	conn->window_end_seq = end - core->base_seq;
	conn->window_bytes = after64(end, una) ? min_t(u64, end - una, U32_MAX) : 0;
	conn->closing = READ_ONCE(msk->snd_data_fin_enable);
	conn->unsent_bytes = min_t(u64, adapter_end_seq(msk) - adapter_next_seq(msk), U32_MAX);
	adapter_detach_gone(own);
	if (core->dss_bytes != mps_dss_bytes(msk)) {
		core->dss_bytes = mps_dss_bytes(msk);
		mps_for_each_subflow(conn, subflow)
			mps_reset_mss(conn, subflow);
	}
	adapter_refresh_subflows(conn);
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
	u64 next = adapter_next_seq(own->msk);

	if (!pick.subflow || !after64(next, own->pick_seq))
		return;
	own->picked = NULL;
	subflow_core(pick.subflow)->new_segments++;
	if (own->core.ops->on_sent)
		own->core.ops->on_sent(conn, &pick, next - own->pick_seq);
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
	/* Earlier questions do no harm. The guard needs one. */
	if (ns && ns != U64_MAX)
		hrtimer_start(&core->timer, ns_to_ktime(min(ns, mps_clock_ns() + WAIT_NS)),
			      HRTIMER_MODE_ABS_SOFT);
	else
		hrtimer_try_to_cancel(&core->timer);
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
	mps_params_get(&registration->params, sock_net((struct sock *)msk), core->pub.params);
	own->local_key = READ_ONCE(msk->local_key);
	own->idle_since_ns = 0;
	own->picked = NULL;
	own->again_id = 0;
	if (ops->init)
		ops->init(&core->pub);
}

static void adapter_end(struct adapter_conn *own)
{
	struct mps_conn *conn = &own->core.pub;
	struct mps_subflow *subflow, *next;
	int slot;

	list_for_each_entry_safe(subflow, next, &conn->subflows, node)
		adapter_detach(own, subflow);
	own->core.ended = true;
	hrtimer_cancel(&own->core.timer);
	if (own->core.ops->release)
		own->core.ops->release(conn);
	for (slot = 0; slot < ARRAY_SIZE(own->core.slots); slot++)
		kfree(own->core.slots[slot]);
}

static struct adapter_conn *adapter_lookup(struct mptcp_sock *msk)
{
	return rhashtable_lookup_fast(&adapter_conns, &msk, adapter_conns_params);
}

const struct mps_conn_core *mps_adapter_core(struct mptcp_sock *msk)
{
	const struct adapter_conn *own = adapter_lookup(msk);

	return own ? &own->core : NULL;
}

/* The state of a connection, made if necessary; NULL: there is no memory. */
static struct adapter_conn *adapter_conn(struct mptcp_sock *msk)
{
	struct adapter_conn *own = adapter_lookup(msk);
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
	struct adapter_conn *own = adapter_lookup(msk);

	if (!own)
		return;
	mps_assert_locked((struct sock *)msk);
	adapter_end(own);
	module_put(own->core.ops->owner);
	rhashtable_remove_fast(&adapter_conns, &own->node, adapter_conns_params);
	adapter_put(own);
}

/* --- questions */

/* The connection's retransmission timer follows TCP's, as with the default scheduler. */
static void adapter_set_timeout(struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *ctx;
	long most = 0;

	mptcp_for_each_subflow(msk, ctx) {
		const struct sock *ssk = mptcp_subflow_tcp_sock(ctx);

		if (mps_peek_bits(__mptcp_subflow_active(ctx)) && !mps_peek(ctx->stale_count) &&
		    mps_peek_bits(inet_csk(ssk)->icsk_pending))
			most = max_t(long, most, mps_peek_bits(mps_timer_expires(ssk)) - jiffies);
	}
	msk->timer_ival = most > 0 ? most : TCP_RTO_MIN;
}

/* The scheduler waits. Is nothing in flight that would bring an ACK? Then the first usable
 * subflow, regular if there is one; else NULL.
 */
static struct mps_subflow *adapter_guard(struct adapter_conn *own)
{
	struct mps_conn *conn = &own->core.pub;
	struct mps_subflow *subflow, *first = NULL;
	u64 now = mps_clock_ns();

	mps_for_each_subflow(conn, subflow) {
		if (!subflow->usable)
			continue;
		if (subflow->outstanding_bytes) {
			own->idle_since_ns = 0;
			return NULL;
		}
		if (!first || first->backup > subflow->backup)
			first = subflow;
	}
	if (!own->idle_since_ns)
		own->idle_since_ns = now;
	if (!first ||
	    (hrtimer_active(&own->core.timer) && now < own->idle_since_ns + WAIT_NS))
		return NULL;
	own->core.forced++;
	atomic_long_inc(&forced);
	return first;
}

/* The subflow for the next fragment; NULL: none for now. */
static struct mps_subflow *adapter_ask(struct adapter_conn *own)
{
	struct mps_conn *conn = &own->core.pub;
	struct mps_pick pick = {};

	/* a pick of a segment that was sent has no effect here, as if it waited */
	if (!own->core.ops->next_segment(conn, &pick) || pick.kind != MPS_NEW) {
		own->core.waits++;
		return adapter_guard(own);
	}
	own->idle_since_ns = 0;
	if (pick.subflow && subflow_core(pick.subflow)->conn == conn && pick.subflow->usable)
		return pick.subflow;
	own->core.refused++;
	atomic_long_inc(&refused);
	return mps_lowest_rtt(conn, NULL);
}

/* Without memory for a scheduler: the first subflow that takes data. */
static struct mptcp_subflow_context *adapter_first(struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *ctx;

	atomic_long_inc(&lacking);
	mptcp_for_each_subflow(msk, ctx)
		if (adapter_is_active(ctx) &&
		    mps_peek_bits(sk_stream_memory_free(mptcp_subflow_tcp_sock(ctx))))
			return ctx;
	return NULL;
}

static struct mptcp_subflow_context *adapter_choose(struct mptcp_sock *msk)
{
	struct adapter_conn *own = adapter_conn(msk);
	struct mps_subflow *subflow;

	/* then the scheduler is asked again after this fragment */
	msk->snd_burst = 1;
	adapter_set_timeout(msk);
	if (!own)
		return adapter_first(msk);
	adapter_report_sent(own);
	adapter_refresh(own);
	if (!own->core.usable_mask)
		return NULL;
	subflow = adapter_ask(own);
	if (!subflow)
		return NULL;
	own->picked = subflow;
	own->pick_seq = adapter_next_seq(msk);
	return mps_ctx(subflow);
}

/* No subflow is idle. The oldest fragment may belong to a silent subflow: it leaves again
 * behind the data of another one. NULL: none is silent, or it did so before.
 */
static struct mptcp_subflow_context *adapter_send_again(struct mptcp_sock *msk)
{
	const struct mptcp_data_frag *frag = mptcp_rtx_head((struct sock *)msk);
	struct mps_subflow *subflow, *best = NULL;
	struct adapter_conn *own = adapter_lookup(msk);
	bool silent = false;

	if (!own || !frag || !frag->already_sent)
		return NULL;
	adapter_report_sent(own);
	adapter_refresh(own);
	mps_for_each_subflow(&own->core.pub, subflow) {
		/* the first period is incomplete */
		silent |= subflow_core(subflow)->silent || mps_ctx(subflow)->stale_count > 1;
		if (!subflow->usable)
			continue;
		if (!best || subflow->backup < best->backup ||
		    (subflow->backup == best->backup && subflow->srtt_us < best->srtt_us))
			best = subflow;
	}
	if (!silent || !best || (own->again_id == best->id && own->again_seq == frag->data_seq))
		return NULL;
	own->again_id = best->id;
	own->again_seq = frag->data_seq;
	return mps_ctx(best);
}

int mps_get_subflow(struct mptcp_sock *msk, bool reinject)
{
	struct mptcp_subflow_context *ctx;
	struct sock *ssk;

	mps_assert_locked((struct sock *)msk);
	if (reinject) {
		ssk = mptcp_subflow_get_retrans(msk);
		ctx = ssk ? mptcp_subflow_ctx(ssk) : adapter_send_again(msk);
	} else {
		ctx = adapter_choose(msk);
	}
	if (!ctx)
		return -EINVAL;
	WRITE_ONCE(ctx->scheduled, true);
	return 0;
}

/* --- the module, or a part of the kernel */

static int __init adapter_init(void)
{
	int err;

#ifdef MPS_LOOKUP
	err = mps_look_up();
	if (err)
		return err;
#endif
	adapter_works = alloc_workqueue("mptcp_schedulers", WQ_UNBOUND, 0);
	if (!adapter_works)
		return -ENOMEM;
	err = rhashtable_init(&adapter_conns, &adapter_conns_params);
	if (err)
		goto err_works;
	err = mps_choice_init();
	if (err)
		goto err_conns;
#ifdef MODULE
	err = mps_params_init();
	if (err)
		goto err_choice;
#endif
	return 0;

#ifdef MODULE
err_choice:
	mps_choice_exit();
#endif
err_conns:
	rhashtable_destroy(&adapter_conns);
err_works:
	destroy_workqueue(adapter_works);
	return err;
}

/* schedulers register later */
subsys_initcall(adapter_init);

#ifdef MODULE
/* Its schedulers have gone, and all their connections. */
static void __exit adapter_exit(void)
{
	mps_params_exit();
	mps_choice_exit();
	destroy_workqueue(adapter_works);
	rhashtable_destroy(&adapter_conns);
}
module_exit(adapter_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP schedulers of mptcplab for a kernel without its patches");
#endif
