// SPDX-License-Identifier: GPL-2.0-only
/* The subflows of a connection: their begin and end, and their events. Locking: see framework.h.
 */

#include <kunit/visibility.h>
#include <net/tcp.h>

#include "framework.h"

void mps_penalise(struct mps_subflow *subflow)
{
	if (!mps_is_there(subflow))
		return;
	subflow_core(subflow)->penalty_pkts = max(mps_cwnd(subflow) / 2, 1U);
	mps_update_limit(subflow);
}
EXPORT_SYMBOL_GPL(mps_penalise);

/* Only the holder of the subflow's lock changes TCP's window. */
void mps_halve_cwnd(struct mps_subflow *subflow)
{
	struct mps_subflow_core *sub = subflow_core(subflow);

	if (!mps_is_there(subflow) || sub->cuts == U8_MAX)
		return;
	mps_halve(&subflow->cwnd_pkts, &subflow->ssthresh_pkts);
	sub->cuts++;
	conn_core(sub->conn)->has_cuts = true;
}
EXPORT_SYMBOL_GPL(mps_halve_cwnd);

/* The subflow is locked; the caller owns the connection. */
void mps_cut_window(struct mps_subflow *subflow)
{
	struct mps_subflow_core *sub = subflow_core(subflow);
	struct tcp_sock *tp = tcp_sk(sub->ssk);

	mps_assert_locked(mps_sk(sub->conn));
	mps_assert_locked(sub->ssk);
	if (!sub->cuts)
		return;
	mps_snapshot_window(subflow);
	/* after a fallback, the window is TCP's alone */
	if (!__mptcp_check_fallback(conn_core(sub->conn)->msk)) {
		tcp_snd_cwnd_set(tp, subflow->cwnd_pkts);
		WRITE_ONCE(tp->snd_ssthresh, subflow->ssthresh_pkts);
	}
	sub->cuts = 0;
}
EXPORT_SYMBOL_IF_KUNIT(mps_cut_window);

/* --- subflows come and go */

static void mps_attach(struct mps_conn *conn, struct mptcp_subflow_context *ctx)
{
	struct mps_subflow_core *sub = mps_take_slot(conn, ctx);

	if (!sub)
		return;
	sub->newest_acked_us = mps_peek(tcp_sk(sub->ssk)->rack.mstamp);
	sub->handshake_unread = sub->has_timestamps;
	conn_core(conn)->has_handshakes |= sub->has_timestamps;
	list_add_tail(&sub->pub.node, &conn->subflows);
	/* for mps_packet_received() and mptcp_subflow_timeout() */
	smp_store_release(&ctx->mps, &sub->pub);
}

void mps_detach(struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct mps_conn_core *core = conn_core(conn);

	mps_assert_data_locked(mps_sk(conn));
	if (core->ops->release_subflow && subflow_core(subflow)->established)
		core->ops->release_subflow(conn, subflow);
	if (core->has_handoff && core->handoff.subflow == subflow)
		core->has_handoff = false;
	core->usable_mask &= ~BIT(subflow_core(subflow)->slot);
	list_del(&subflow->node);
	mps_ctx(subflow)->mps = NULL;
	subflow->usable = false;
	subflow_core(subflow)->ssk = NULL;
	/* mps_segment_gone() looks only at subflows in the list */
	subflow_core(subflow)->cursor = NULL;
}

/* A subflow is being closed. A process owns the connection. */
void mps_subflow_gone(struct mptcp_sock *msk, struct mptcp_subflow_context *ctx)
{
	struct sock *sk = (struct sock *)msk;
	struct mps_subflow *subflow;
	struct mps_segment *seg;

	mps_assert_locked(sk);
	mptcp_data_lock(sk);
	subflow = ctx->mps;
	if (subflow)
		mps_detach(msk->mps, subflow);
	mptcp_data_unlock(sk);
	if (!subflow)
		return;
	/* Another subflow may get the slot later. Of a segment that left in parts, the others
	 * may lack the part that this subflow carried.
	 */
	list_for_each_entry(seg, &msk->rtx_queue, frag.list) {
		if (seg->split && (seg->carried & BIT(subflow_core(subflow)->slot))) {
			seg->carried = 0;
			seg->to_repeat = 0;
		}
		seg->carried &= ~BIT(subflow_core(subflow)->slot);
	}
}

void mps_set_linear_timeouts(struct mps_subflow *subflow, bool linear)
{
	if (mps_is_there(subflow))
		WRITE_ONCE(subflow_core(subflow)->linear, linear);
}
EXPORT_SYMBOL_GPL(mps_set_linear_timeouts);

/* The holder of the subflow's lock writes these flags. Each change has the scheduler asked
 * afterwards, by the packet, the timeout or the path manager that made it.
 */
static bool mps_is_active(struct mptcp_subflow_context *ctx)
{
	return !(ctx->mps && READ_ONCE(subflow_core(ctx->mps)->silent)) &&
	       mps_peek_bits(!ctx->closing && mptcp_subflow_active(ctx));
}

/* ssk: only this subflow, which is locked, had an ACK or a timeout since the last call;
 * NULL: any may have had one.
 */
void mps_refresh(struct mps_conn *conn, const struct sock *ssk)
{
	struct mps_conn_core *core = conn_core(conn);
	struct mptcp_sock *msk = core->msk;
	struct mptcp_subflow_context *ctx;
	u32 mask = 0, usable = 0, mss = 0;
	struct mps_subflow *subflow;
	u64 una, end;

	mps_assert_locked((struct sock *)msk);
	mps_refresh_params(conn);
	/* before the first write: the place of the first byte */
	if (!core->started)
		core->base_seq = msk->write_seq;
	/* ACKs may change both while a process owns the connection */
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
		bool active = mps_is_active(ctx);

		if (!ctx->mps && active)
			mps_attach(conn, ctx);
		subflow = ctx->mps;
		if (!subflow)
			continue;
		mps_refresh_subflow(conn, subflow, active,
				    !ssk || subflow_core(subflow)->ssk == ssk,
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
EXPORT_SYMBOL_IF_KUNIT(mps_refresh);

/* A subflow has been closed or found stale: do the others have anything to send? */
bool mps_subflow_lost(struct mptcp_sock *msk)
{
	mps_refresh(msk->mps, NULL);
	mps_recover(msk->mps);
	return !list_empty(&msk->rtx_queue);
}
