// SPDX-License-Identifier: GPL-2.0-only
/* Schedulers of mpsched.h on a kernel without our patches, with its own net/mptcp.
 *
 * The files of adapter/ take the place of framework.c, segments.c, subflows.c, delays.c,
 * recovery.c and units.c. net/mptcp asks which subflow sends the next fragment: the data of
 * one or several writes, at most a page fragment of 32 KiB. The fragment is the segment that
 * the scheduler sees, and the scheduler is asked again after each, unless its pick holds for
 * several (adapter_burst()). missing.c lists the functions without effect here.
 *
 * - net/mptcp's own function chooses the subflow of the connection's retransmissions. That
 *   function also counts the periods without a packet, and finds stale subflows. It answers
 *   only with an idle subflow, and schedulers that fill each window leave none idle. So if it
 *   finds none, and a subflow had a timeout or was silent for a whole period, the adapter
 *   sends the oldest fragment again, once, on the subflow with the lowest RTT.
 * - A scheduler that waits while no usable subflow has data in flight gets no ACK, and is not
 *   asked again. The adapter then sends on the first usable subflow: at once, or after 200 ms
 *   if the scheduler has set a timer. The parameter `forced` counts these choices.
 * - net.mptcp.grain_bytes makes a choice smaller, see conns.c, or larger.
 * - Until the peer has confirmed MPTCP, the first subflow gets all data, as with the default
 *   scheduler, and nobody is asked: see adapter_unconfirmed().
 * - If the scheduler picks an unusable subflow, mps_lowest_rtt() replaces it, and `refused`
 *   counts it. A pick that is not the first unsent fragment sends that fragment.
 *
 * LOCKS. Whoever asks owns the connection: a process in lock_sock(), or softirq under the
 * spinlock (mptcp_data_lock()) while no process owns it. Only the owner touches a connection's
 * struct adapter_conn and its subflows, as LOCKING in framework.h says. Only the subflow that
 * brought an ACK is locked, and the adapter does not know which one did: it reads TCP's fields
 * with mps_peek(), and writes none. Of net/mptcp, it writes three fields that belong to the
 * owner, snd_burst, timer_ival and `scheduled`, and, under the spinlock, wnd_end.
 *
 * LIFETIME. The first question after that creates the state of a connection, since most sockets
 * never send with MPTCP. A hash table finds it by the socket's address. release(), which
 * net/mptcp calls with the socket locked, ends it; no question follows. A disconnected socket is
 * not released: its next connection has another key, and starts again, with the same scheduler.
 * net/mptcp does not announce the end of a subflow: the next question finds it missing in the
 * list, before anything looks at its socket. Subflows are identified by a number that is unique
 * in the connection, so reused memory does no harm. A timer's work holds references to the state
 * and the socket. Sockets hold the module of their scheduler, which needs this one.
 */

#include "adapter.h"

/* --- counters, of all connections: /sys/module/MODULE/parameters */

static int adapter_get_count(char *text, const struct kernel_param *param)
{
	return sysfs_emit(text, "%ld\n", atomic_long_read(param->arg));
}

static const struct kernel_param_ops adapter_count_ops = { .get = adapter_get_count };

static atomic_long_t forced;
module_param_cb(forced, &adapter_count_ops, &forced, 0444);
MODULE_PARM_DESC(forced, "choices made for a scheduler that waited with nothing in flight");

static atomic_long_t refused;
module_param_cb(refused, &adapter_count_ops, &refused, 0444);
MODULE_PARM_DESC(refused, "picks of an unusable subflow");

static atomic_long_t lacking;
module_param_cb(lacking, &adapter_count_ops, &lacking, 0444);
MODULE_PARM_DESC(lacking, "choices without a scheduler, for lack of memory");

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
	    (hrtimer_active(&own->core.timer) && now < own->idle_since_ns + MPS_ADAPTER_WAIT_NS))
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

/* The bytes that a pick holds for, up to the end of a fragment: as many as the subflow has room
 * for, as mps_has_room() says, and at most burst_bytes. A question after each fragment costs more,
 * and fragments that leave apart are smaller packets. 1: for one fragment.
 */
static int adapter_burst(const struct adapter_conn *own, const struct mps_subflow *subflow)
{
	if (mps_adapter_limited(subflow))
		return 1;
	return clamp(mps_adapter_room(subflow), 1U, max(own->burst_bytes, 1U));
}

/* The first subflow that takes data. `no_memory`: the scheduler or its subflows have none, which
 * is counted. Otherwise an ACK on another CPU has just made room.
 */
static struct mptcp_subflow_context *adapter_first(struct mptcp_sock *msk, bool no_memory)
{
	struct mptcp_subflow_context *ctx;

	mptcp_for_each_subflow(msk, ctx)
		if (mps_adapter_is_active(ctx) &&
		    mps_peek_bits(sk_stream_memory_free(mptcp_subflow_tcp_sock(ctx)))) {
			if (no_memory)
				atomic_long_inc(&lacking);
			return ctx;
		}
	return NULL;
}

/* The first subflow, if the connection may still fall back to TCP because the peer has not
 * confirmed MPTCP; else NULL. If the program has ended the stream by then, mptcp_try_fallback()
 * sends the FIN behind the data that this subflow has, and the rest is lost without an error. So
 * nothing may wait for a congestion window. No other subflow can send yet.
 */
static struct mptcp_subflow_context *adapter_unconfirmed(struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *ctx;

	ctx = list_first_entry_or_null(&msk->conn_list, struct mptcp_subflow_context, node);
	if (!ctx || mps_peek_bits(ctx->fully_established) || mps_peek_bits(ctx->request_join))
		return NULL;
	return ctx;
}

static struct mptcp_subflow_context *adapter_choose(struct mptcp_sock *msk)
{
	struct mptcp_subflow_context *ctx = adapter_unconfirmed(msk);
	struct mps_subflow *subflow;
	struct adapter_conn *own;

	/* then the scheduler is asked again after this fragment */
	msk->snd_burst = 1;
	adapter_set_timeout(msk);
	if (ctx && mps_peek_bits(__mptcp_subflow_active(ctx)))
		return mps_peek_bits(sk_stream_memory_free(mptcp_subflow_tcp_sock(ctx))) ?
		       ctx : NULL;
	own = mps_adapter_conn(msk);
	if (!own)
		return adapter_first(msk, true);
	mps_adapter_refresh(own);
	/* No subflow can send; or none that can had memory, and nothing else asks again. */
	if (!own->core.usable_mask) {
		own->picked = NULL;
		return adapter_first(msk, own->lacks_slot);
	}
	subflow = adapter_ask(own);
	if (!subflow)
		return NULL;
	own->picked = subflow;
	own->pick_seq = mps_adapter_next_seq(msk);
	msk->snd_burst = adapter_burst(own, subflow);
	mps_adapter_cut(own);
	return mps_ctx(subflow);
}

/* No subflow is idle. The oldest fragment may belong to a silent subflow: it leaves again
 * behind the data of another one. NULL: none is silent, or it was sent again already.
 */
static struct mptcp_subflow_context *adapter_send_again(struct mptcp_sock *msk)
{
	const struct mptcp_data_frag *frag = mptcp_rtx_head((struct sock *)msk);
	struct mps_subflow *subflow, *best = NULL;
	struct adapter_conn *own = mps_adapter_lookup(msk);
	bool silent = false;

	/* the state may be that of the socket's previous connection */
	if (!own || own->local_key != READ_ONCE(msk->local_key) || !frag || !frag->already_sent)
		return NULL;
	mps_adapter_refresh(own);
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
	err = mps_adapter_conns_init();
	if (err)
		return err;
	err = mps_adapter_sysctls_init();
	if (err)
		goto err_conns;
#ifdef MODULE
	err = mps_params_init();
	if (err)
		goto err_sysctls;
#endif
	return 0;

#ifdef MODULE
err_sysctls:
	mps_adapter_sysctls_exit();
#endif
err_conns:
	mps_adapter_conns_exit();
	return err;
}

/* schedulers register later */
subsys_initcall(adapter_init);

#ifdef MODULE
/* Its schedulers have gone, and all their connections. */
static void __exit adapter_exit(void)
{
	mps_params_exit();
	mps_adapter_sysctls_exit();
	mps_adapter_conns_exit();
}
module_exit(adapter_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP schedulers of mptcplab for a kernel without its patches");
#endif
