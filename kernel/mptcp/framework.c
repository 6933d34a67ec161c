// SPDX-License-Identifier: GPL-2.0-only
/* The framework between net/mptcp and the schedulers of mpsched.h.
 *
 * A connection with such a scheduler has msk->mps. Its data fragments are segments
 * (struct mps_segment). mps_push() and mps_push_bh() replace upstream's push functions:
 * they update the scheduler's view, report events to it, and carry out its picks.
 * Upstream's cursor, msk->first_pending, is the first segment that is not wholly sent.
 * msk->snd_nxt is the end of the farthest segment sent.
 *
 * Locking: see framework.h. In softirq only the subflow that brought the ACK is locked. A
 * pick for another subflow waits in core->handoff until that subflow's delegated action,
 * or a process, carries it out. A cut of another subflow's congestion window waits in its
 * `cuts`, until the subflow closes at the latest.
 */

#include <kunit/visibility.h>
#include <linux/mm.h>
#include <linux/prefetch.h>
#include <net/proto_memory.h>
#include <net/tcp.h>

#include "../mib.h"
#include "agent.h"
#include "framework.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

/* --- decisions */

/* Why a pick is refused; NULL: it is good, and of *seg. */
const char *mps_check_pick(struct mps_conn *conn, const struct mps_pick *pick,
			   struct mps_segment **seg)
{
	struct mps_conn_core *core = conn_core(conn);
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
	/* Repeated for ever, or sent byte by byte, it would fill the memory. A scheduler that
	 * queues all on one subflow, with what others carried that were away, stays below. A
	 * program that makes its send buffer smaller is not the scheduler's mistake.
	 */
	core->most_sndbuf = max_t(u32, core->most_sndbuf, READ_ONCE(mps_sk(conn)->sk_sndbuf));
	if (subflow->memory_bytes > 16ULL * core->most_sndbuf)
		return "the subflow takes more memory than sixteen send buffers";
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

/* May this be sent now? The receive window must have room for all of the segment (RFC 1122,
 * section 4.2.3.4). A part leaves only if nothing is in flight, as no ACK follows then.
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

/* The pick in place of a refused one. */
static bool mps_default_pick(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *head = mps_head(conn);
	struct mps_subflow *subflow;

	if (mps_reinject(conn, pick))
		return true;
	subflow = head ? mps_lowest_rtt(conn, NULL) : NULL;
	return subflow && mps_pick_new(pick, conn, subflow, head);
}

/* Has a usable subflow unacknowledged data? */
static bool mps_any_outstanding(const struct mps_conn *conn)
{
	const struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		if (subflow->usable && subflow->outstanding_bytes)
			return true;
	return false;
}

/* Will no ACK come? Nothing is in flight; or all data in flight arrived out of order, and
 * `head`, the oldest missing segment, was never sent.
 */
static bool mps_is_idle(const struct mps_conn *conn, const struct mps_segment *head)
{
	return conn->una_seq == conn->nxt_seq ||
	       (mps_seq(conn, head) == conn->una_seq && !mps_any_outstanding(conn));
}

/* The subflow for data that the scheduler does not send: regular, with the lowest RTT. */
static struct mps_subflow *mps_forced_subflow(const struct mps_conn *conn)
{
	struct mps_subflow *subflow, *best = NULL;

	mps_for_each_subflow(conn, subflow)
		if (subflow->usable &&
		    (!best || best->backup > subflow->backup ||
		     (best->backup == subflow->backup && subflow->srtt_us < best->srtt_us)))
			best = subflow;
	return best;
}

/* The retransmission timer fired with nothing in flight, and the scheduler waits too long,
 * perhaps for a timer of its own. A probe of a closed window takes the same way.
 */
bool mps_forced_pick(struct mps_conn *conn, struct mps_pick *pick, struct mps_segment **seg)
{
	struct mps_subflow *best;

	*seg = mps_head(conn);
	if (!*seg || !mps_is_idle(conn, *seg))
		return false;
	conn_core(conn)->alarm = false;
	best = mps_forced_subflow(conn);
	return best && mps_pick_new(pick, conn, best, *seg);
}
EXPORT_SYMBOL_IF_KUNIT(mps_forced_pick);

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

/* Does the send buffer keep the application from writing more? */
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

/* The pick of the scheduler, or of the framework in its place. */
static bool mps_ask(struct mps_conn *conn, struct mps_pick *pick, struct mps_segment **seg)
{
	struct mps_conn_core *core = conn_core(conn);
	const char *why = NULL;
	bool answered;

	mps_assert_locked(mps_sk(conn));
	/* The peer's MP_FAIL asks for a fallback, and the next data in order makes it. From
	 * then on, nothing may leave out of order.
	 */
	if (__mptcp_check_fallback(core->msk) || !READ_ONCE(core->msk->allow_subflows))
		return mps_fallback_pick(conn, pick) && (*seg = mps_first_unsent(conn));

	if (core->has_handoff) {
		core->has_handoff = false;
		*pick = core->handoff;
		/* meanwhile an ACK may have come, or its subflow may have gone */
		if (!mps_check_pick(conn, pick, seg) &&
		    mps_may_leave(conn, *seg, pick->kind))
			return true;
	}

	if (list_empty(&core->msk->rtx_queue) || !core->usable_mask)
		return false;

	*pick = (struct mps_pick) {};
	mps_look_for_writer(conn);
	trace_mps_question_tp(conn);
	answered = core->ops->next_segment(conn, pick);
	trace_mps_answer_tp(conn, answered ? pick : NULL);
	if (answered)
		why = mps_check_pick(conn, pick, seg);
	if (why) {
		core->refused++;
		mps_trace(conn, NULL, DECISION_REFUSED, pick->seq, 0);
		pr_debug("mptcp: %s: pick refused: %s\n", core->ops->name, why);
		answered = mps_default_pick(conn, pick) && !mps_check_pick(conn, pick, seg);
	}
	if (answered && mps_may_leave(conn, *seg, pick->kind))
		return true;
	if (core->alarm && mps_forced_pick(conn, pick, seg)) {
		/* a probe of a closed window is not the scheduler's mistake */
		if (!answered || mps_fits_window(conn, *seg)) {
			core->forced++;
			mps_trace(conn, pick->subflow, DECISION_FORCED, pick->seq, mps_len(*seg));
		}
		return true;
	}
	if (!answered && !why) {
		core->waits++;
		mps_trace(conn, NULL, DECISION_WAIT, 0, 0);
	}
	return false;
}

/* The next pick to carry out, and its segment. False: wait. */
static bool mps_decide(struct mps_conn *conn, struct mps_pick *pick, struct mps_segment **seg)
{
	if (!mps_ask(conn, pick, seg))
		return false;
	/* A peer that has not confirmed MPTCP yet may have fallen back to TCP. It would take
	 * the bytes as they come: they leave in order, and once.
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

/* Is TCP short of memory, and the subflow beyond its send buffer? TCP charges such a socket
 * whatever it asks for (__sk_mem_raise_allocated()), as it expects it to wait. Its next ACK
 * brings room. tcp_mem is 3/32 of memory by default (tcp_init_mem()), so an eighth is reached
 * only where somebody has set it higher.
 */
static bool mps_lacks_memory(const struct sock *ssk)
{
	bool lacks = tcp_under_memory_pressure(ssk) ||
		     sk_memory_allocated(ssk) > totalram_pages() / 8;

	return lacks && !sk_stream_memory_free(ssk);
}

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
	u16 begin;

	mps_assert_locked(sk);
	mps_assert_locked(sub->ssk);
	if (mps_lacks_memory(sub->ssk))
		return -ENOMEM;
	/* likely the next one: written long ago, and no longer in any cache */
	next = list_next_entry(seg, unsent);
	prefetchw(&next->frag);
	prefetchw(&next->carried);

	mps_picked_part(seg, pick, &info->sent, &info->limit);
	begin = info->sent;

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
	if (!READ_ONCE(sub->waits_since_ns))
		WRITE_ONCE(sub->waits_since_ns, mps_clock_ns());
	switch (pick->kind) {
	case MPS_NEW:
		mps_sent_part(seg, subflow, copied);
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
		mps_repeated_part(seg, subflow, pick->kind, begin, copied);
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

	mps_assert_data_locked(mps_sk(conn));
	mps_trace(conn, NULL, MPS_DROP, unit->seq, unit->bytes);
	/* its segment may have another number now */
	if (core->has_handoff && core->handoff.kind == MPS_NEW)
		core->has_handoff = false;
	mps_drop_unit(conn, unit);
}

/* Does TCP_CORK hold all remaining data, with nothing in flight? Then the timer lets it go
 * when TCP would: at the probe of a closed window (tcp_probe0_base()).
 */
static bool mps_time_cork(const struct mps_conn *conn)
{
	const struct mps_segment *seg = mps_first_unsent(conn);
	struct mptcp_sock *msk = conn_core(conn)->msk;
	const struct mps_subflow *subflow;
	u32 limit = U32_MAX;

	if (!msk->cork || !seg || conn->una_seq != conn->nxt_seq || !mps_is_held(conn, seg))
		return false;
	mps_for_each_subflow(conn, subflow) {
		const struct sock *ssk = subflow_core(subflow)->ssk;

		if (subflow->usable)
			limit = min(limit, mps_peek(inet_csk(ssk)->icsk_rto));
	}
	if (limit != U32_MAX)
		msk->timer_ival = max_t(u32, limit, TCP_RTO_MIN);
	return true;
}

/* A scheduler may wait this long with nothing in flight: the timeout of a subflow before it
 * doubles. A timer that has doubled often may have minutes left, for data that other
 * subflows have delivered meanwhile.
 */
static unsigned long mps_idle_timeout(const struct mps_conn *conn)
{
	const struct mps_subflow *subflow;
	unsigned long most = TCP_RTO_MIN;

	mps_for_each_subflow(conn, subflow)
		most = max(most, usecs_to_jiffies(subflow->srtt_us + subflow->rto_margin_us));
	return most;
}

/* The retransmission timer runs while data is unsent or unacknowledged, also while a
 * scheduler waits. Without such data, its interval stays, as upstream's does: it repeats
 * a later DATA_FIN.
 */
static void mps_arm_timer(struct mps_conn *conn)
{
	struct mps_conn_core *core = conn_core(conn);
	struct mptcp_sock *msk = core->msk;
	bool late = false, corked;
	struct sock *sk = mps_sk(conn);
	unsigned long before, most;

	core->alarm = false;
	if (list_empty(&msk->rtx_queue))
		return;
	/* the running timer was set to this at most */
	before = msk->timer_ival;
	mptcp_set_timeout(sk);
	corked = mps_time_cork(conn);
	if (!corked && core->usable_mask &&
	    (conn->una_seq == conn->nxt_seq || !mps_any_outstanding(conn))) {
		most = mps_idle_timeout(conn);
		late = before > most;
		msk->timer_ival = min(msk->timer_ival, most);
	}
	if (late || corked != core->cork_timed || !mptcp_rtx_timer_pending(sk))
		mptcp_reset_rtx_timer(sk);
	core->cork_timed = corked;
}

/* Does a pause follow on the subflow that has just got data? All data has been sent, or
 * the next goes to another subflow, or the scheduler waits despite room. Behind a full
 * congestion window, an ACK comes and more data follows. As in TCP, half a window also
 * counts as a pause (RFC 9293, 3.9.1.2).
 */
static bool mps_pauses(const struct mps_conn *conn, const struct mps_subflow *subflow, bool leaves)
{
	const struct tcp_sock *tp = tcp_sk(subflow_core(subflow)->ssk);

	return leaves || !conn->unsent_bytes || mps_has_room(subflow) ||
	       after(tp->write_seq, tp->pushed_seq + (tp->max_window >> 1));
}

/* Short segments leave at once, since mps_is_held() has let them go. The last one before a
 * pause gets PSH, as its receiver might delay the ACK otherwise.
 */
static void mps_flush(struct mps_conn *conn, struct sock *ssk,
		      const struct mptcp_sendmsg_info *info, bool leaves)
{
	struct mps_subflow *subflow = mptcp_subflow_ctx(ssk)->mps;
	struct tcp_sock *tp = tcp_sk(ssk);
	u32 nxt = tp->snd_nxt;

	mps_assert_locked(ssk);
	if (subflow)
		mps_cut_window(subflow);
	if (!info->mss_now || !tcp_send_head(ssk))
		return;
	if (mptcp_check_fallback(ssk)) {
		tcp_push(ssk, 0, info->mss_now, tp->nonagle, info->size_goal);
	} else {
		if (!subflow || mps_pauses(conn, subflow, leaves))
			tcp_mark_push(tp, tcp_write_queue_tail(ssk));
		/* without room now, TCP_CORK must not hold it later either */
		if (unlikely(tp->nonagle & TCP_NAGLE_CORK))
			tp->nonagle |= TCP_NAGLE_PUSH;
		__tcp_push_pending_frames(ssk, info->mss_now, TCP_NAGLE_PUSH);
	}
	if (subflow && tp->snd_nxt != nxt)
		mps_time_segment(subflow);
}

/* Timers and cuts of windows have the scheduler asked again, perhaps for ever. The framework
 * allows this many such questions in a tick (HZ). Under the data lock.
 */
#define MPS_PROVOKED_MAX	1024

bool mps_may_provoke(struct mps_conn_core *core)
{
	u32 now = tcp_jiffies32;

	mps_assert_data_locked((struct sock *)core->msk);
	if (core->tick != now) {
		core->tick = now;
		core->provoked = 0;
	}
	if (core->provoked == MPS_PROVOKED_MAX) {
		core->deferred++;
		return false;
	}
	core->provoked++;
	return true;
}
EXPORT_SYMBOL_IF_KUNIT(mps_may_provoke);

/* Makes the scheduler's cuts of congestion windows. A process owns the connection; no
 * subflow is locked.
 */
static void mps_cut_windows(struct mps_conn *conn)
{
	struct mps_conn_core *core = conn_core(conn);
	struct mps_subflow *subflow;

	if (!core->has_cuts)
		return;
	core->has_cuts = false;
	mps_for_each_subflow(conn, subflow) {
		struct mps_subflow_core *sub = subflow_core(subflow);

		if (!sub->cuts)
			continue;
		lock_sock(sub->ssk);
		mps_cut_window(subflow);
		release_sock(sub->ssk);
	}
}

/* The same in softirq, for ssk, which is locked. The delegated actions of the others follow,
 * or a process makes their cuts if it owns the connection by then.
 */
static void mps_cut_windows_bh(struct mps_conn *conn, const struct sock *ssk)
{
	struct mps_conn_core *core = conn_core(conn);
	struct mps_subflow *subflow;

	if (!core->has_cuts)
		return;
	core->has_cuts = false;
	mps_for_each_subflow(conn, subflow) {
		if (!subflow_core(subflow)->cuts)
			continue;
		if (subflow_core(subflow)->ssk == ssk) {
			mps_cut_window(subflow);
			continue;
		}
		core->has_cuts = true;
		/* that action asks the scheduler again, which may cut again */
		if (mps_may_provoke(core))
			mptcp_subflow_delegate(mps_ctx(subflow), MPTCP_DELEGATE_SEND);
	}
}

/* Reads the handshakes of new subflows. A process owns the connection; no subflow is
 * locked.
 */
static void mps_read_handshakes(struct mps_conn *conn)
{
	struct mps_conn_core *core = conn_core(conn);
	struct mps_subflow *subflow;

	if (!core->has_handshakes)
		return;
	core->has_handshakes = false;
	mps_for_each_subflow(conn, subflow) {
		struct mps_subflow_core *sub = subflow_core(subflow);

		if (!sub->handshake_unread)
			continue;
		lock_sock(sub->ssk);
		mptcp_data_lock(mps_sk(conn));
		mps_read_handshake(subflow);
		mptcp_data_unlock(mps_sk(conn));
		release_sock(sub->ssk);
	}
}

/* A subflow took no data. Without room, its next ACK brings some. If it has ended, the
 * others may send.
 */
static bool mps_has_ended(struct mps_conn *conn, const struct mps_subflow *subflow)
{
	mps_refresh(conn, NULL);
	return !subflow->usable;
}

/* Sends all data that may leave. A process owns the connection; no subflow is locked. */
void mps_push(struct mptcp_sock *msk, unsigned int flags)
{
	struct mptcp_sendmsg_info info = { .flags = flags };
	struct mps_conn *conn = msk->mps;
	struct sock *sk = mps_sk(conn);
	struct mps_segment *seg;
	struct sock *ssk = NULL;
	struct mps_pick pick;
	bool changed = false;

	msk_owned_by_me(msk);
	/* ACKs that came while the process owned the connection */
	mptcp_data_lock(sk);
	if (test_bit(MPTCP_CLEAN_UNA, &msk->cb_flags))
		__mptcp_clean_una(sk);
	mps_find_late(conn);
	mptcp_data_unlock(sk);

	mps_verify(conn);
	mps_cut_windows(conn);
	mps_refresh(conn, NULL);
	mps_read_handshakes(conn);
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
	mps_cut_windows(conn);
	mps_arm_timer(conn);
	if (changed)
		mptcp_check_send_data_fin(sk);
}

/* The same in softirq, under the connection's spinlock; no process owns the connection. Only
 * ssk is locked; NULL: no subflow is.
 */
void mps_push_bh(struct mptcp_sock *msk, struct sock *ssk)
{
	struct mptcp_sendmsg_info info = { .data_lock_held = true };
	struct mps_conn *conn = msk->mps;
	struct mps_conn_core *core = conn_core(conn);
	struct mps_segment *seg;
	struct mps_pick pick;
	bool copied = false, dropped = false;

	mps_assert_data_locked((struct sock *)msk);
	mps_find_late(conn);
	mps_verify(conn);
	mps_cut_windows_bh(conn, ssk);
	mps_refresh(conn, ssk);
	/* a process reads the others' handshakes */
	if (ssk && core->has_handshakes && mptcp_subflow_ctx(ssk)->mps)
		mps_read_handshake(mptcp_subflow_ctx(ssk)->mps);
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
	mps_cut_windows_bh(conn, ssk);
	if (copied)
		mps_flush(conn, ssk, &info, core->has_handoff);
	mps_arm_timer(conn);
	if ((copied || dropped) && msk->snd_data_fin_enable && msk->snd_nxt + 1 == msk->write_seq)
		mptcp_schedule_work(mps_sk(conn));
}

/* --- events */

/* A packet came in on a subflow. It is locked, and the spinlock is held. */
void mps_packet_received(struct mptcp_subflow_context *ctx)
{
	/* pairs with mps_attach() */
	struct mps_subflow *subflow = smp_load_acquire(&ctx->mps);

	mps_assert_data_locked(ctx->conn);
	if (!subflow)
		return;
	WRITE_ONCE(subflow_core(subflow)->silent, false);
	mps_note_oldest(subflow);
	mps_read_timestamps(subflow);
}

/* A subflow had a retransmission timeout. It is locked, and the spinlock is held. True: the
 * next timeout shall not be twice as long.
 */
bool mps_timeout(struct mptcp_subflow_context *ctx)
{
	/* pairs with mps_attach() */
	struct mps_subflow *subflow = smp_load_acquire(&ctx->mps);

	mps_assert_data_locked(ctx->conn);
	mps_assert_locked(mptcp_subflow_tcp_sock(ctx));
	if (!subflow)
		return false;
	WRITE_ONCE(subflow_core(subflow)->silent, true);
	WRITE_ONCE(subflow_core(subflow)->timed_out, true);
	__mptcp_check_push(ctx->conn, mptcp_subflow_tcp_sock(ctx));
	return READ_ONCE(subflow_core(subflow)->linear);
}

/* net/mptcp asks when the connection's retransmission timer has fired: marks the subflow
 * that sends the oldest segment again.
 */
int mps_get_subflow(struct mptcp_sock *msk, bool reinject)
{
	struct mptcp_subflow_context *ctx;
	struct mps_conn *conn = msk->mps;
	struct mps_conn_core *core = conn_core(conn);
	struct mps_subflow *subflow;
	struct mps_segment *head;
	struct sock *ssk;
	bool lost;

	mps_assert_locked((struct sock *)msk);
	/* before anything can be sent again, too: the first byte must leave */
	core->alarm = true;
	if (!READ_ONCE(msk->fully_established))
		return -EINVAL;

	mptcp_for_each_subflow(msk, ctx) {
		ssk = mptcp_subflow_tcp_sock(ctx);
		if (__mptcp_subflow_active(ctx) && !tcp_rtx_and_write_queues_empty(ssk))
			mps_count_period(msk, ssk);
	}
	mps_refresh(conn, NULL);
	head = mps_first(&msk->rtx_queue, frag.list);
	if (!head || !mps_sent(head))
		return -EINVAL;
	subflow = core->ops->get_subflow ? core->ops->get_subflow(conn, head) :
					   mps_lowest_rtt(conn, head);
	if (subflow && (subflow_core(subflow)->conn != conn || !subflow->usable))
		subflow = NULL;
	/* The scheduler names none, but it cannot wait for an ACK: no usable subflow has
	 * unacknowledged data, or a part of the segment is lost.
	 */
	lost = head->split && (head->carried & ~core->usable_mask);
	if (!subflow && (lost || !mps_any_outstanding(conn))) {
		subflow = mps_forced_subflow(conn);
		core->forced_reinjections += !!subflow;
	}
	if (!subflow)
		return -EINVAL;
	/* TCP repeats it there, unless TCP has only a part, or believes that it has arrived */
	if (mps_carried_by(head, subflow) && subflow->outstanding_bytes &&
	    (!head->split || head->carried == BIT(subflow_core(subflow)->slot)))
		return -EINVAL;
	mptcp_subflow_set_scheduled(mps_ctx(subflow), true);
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(mps_get_subflow);

/* --- time */

void mps_wake_at(struct mps_conn *conn, u64 ns)
{
	struct mps_conn_core *core = conn_core(conn);

	if (core->ended)
		return;
	/* later than the kernel's last time: never, like ~0 */
	if (ns && ns < KTIME_MAX)
		hrtimer_start(&core->timer, ns_to_ktime(ns), HRTIMER_MODE_ABS_SOFT);
	else
		hrtimer_try_to_cancel(&core->timer);
}
EXPORT_SYMBOL_GPL(mps_wake_at);

void mps_ask_at(struct mps_conn *conn, u64 ns)
{
	struct mps_conn_core *core = conn_core(conn);

	if (!core->ended)
		hrtimer_start(&core->ask_timer, ns_to_ktime(ns), HRTIMER_MODE_ABS_SOFT);
}

/* asked: the scheduler set the timer */
static enum hrtimer_restart mps_wake_core(struct mps_conn_core *core, bool asked)
{
	struct mptcp_sock *msk = core->msk;
	struct sock *sk = (struct sock *)msk;

	mptcp_data_lock(sk);
	/* init() has not returned yet, or mps_conn_release() is at work */
	if (msk->mps != &core->pub)
		goto unlock;
	if (asked && !mps_may_provoke(core))
		hrtimer_start(&core->timer, ns_to_ktime(TICK_NSEC), HRTIMER_MODE_REL_SOFT);
	else if (sock_owned_by_user(sk))
		__set_bit(MPTCP_PUSH_PENDING, &msk->cb_flags);
	else
		mps_push_bh(msk, NULL);
unlock:
	mptcp_data_unlock(sk);
	return HRTIMER_NORESTART;
}

static enum hrtimer_restart mps_wake(struct hrtimer *timer)
{
	return mps_wake_core(container_of(timer, struct mps_conn_core, timer), true);
}

static enum hrtimer_restart mps_wake_late(struct hrtimer *timer)
{
	return mps_wake_core(container_of(timer, struct mps_conn_core, late_timer), false);
}

static enum hrtimer_restart mps_wake_ask(struct hrtimer *timer)
{
	return mps_wake_core(container_of(timer, struct mps_conn_core, ask_timer), true);
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
	hrtimer_setup(&core->timer, mps_wake, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	hrtimer_setup(&core->late_timer, mps_wake_late, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	hrtimer_setup(&core->ask_timer, mps_wake_ask, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	core->params = &mps_registration(msk->sched)->params;
	mps_params_get(core->params, sock_net((struct sock *)msk), conn->params);
	msk->recovers = mptcp_recovery_of(sock_net((struct sock *)msk), ops->recovers);
	if (ops->init)
		ops->init(conn);
}

/* The connection has no subflow any more. The data lock is not held: the timer's function
 * takes it.
 */
static void mps_conn_end(struct mps_conn *conn)
{
	struct mps_conn_core *core = conn_core(conn);
	int slot;

	core->ended = true;
	hrtimer_cancel(&core->timer);
	hrtimer_cancel(&core->late_timer);
	hrtimer_cancel(&core->ask_timer);
	if (core->ops->release)
		core->ops->release(conn);
	mps_forget_units(conn);
	for (slot = 0; slot < ARRAY_SIZE(core->slots); slot++)
		kfree(core->slots[slot]);
}

/* Without memory, the connection gets the default scheduler. The socket option, the probe's
 * records and the log say so.
 */
void mps_conn_init(struct mptcp_sock *msk)
{
	const struct mps_ops *ops = mps_registration(msk->sched)->ops;
	struct mps_conn_core *core;

	core = kmalloc(struct_size(core, pub.priv, 0) + ops->conn_size, GFP_ATOMIC | __GFP_NOWARN);
	msk->unscheduled = !core;
	if (!core) {
		net_warn_ratelimited("mptcp: %s: no memory for a connection: it has the default scheduler\n",
				     ops->name);
		mptcp_release_sched(msk);
		mptcp_init_sched(msk, NULL);
		return;
	}
	mps_conn_begin(core, msk, ops);
	msk->mps = &core->pub;
}

/* disconnect(): its subflows are closed and its queue is empty. The next connection begins
 * with new numbers, and without state of this one.
 */
void mps_conn_restart(struct mptcp_sock *msk)
{
	msk_owned_by_me(msk);
	if (msk->mps) {
		mps_conn_end(msk->mps);
		mps_conn_begin(conn_core(msk->mps), msk, conn_core(msk->mps)->ops);
	} else {
		msk->recovers = mptcp_recovery_of(sock_net((struct sock *)msk), false);
	}
}

/* At the end of the socket. net/mptcp frees queued data later, as ordinary data fragments. */
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
	/* the function of one timer may run now, and set the other timer */
	conn_core(conn)->ended = true;
	msk->recovers = mptcp_recovery_of(sock_net((struct sock *)msk), false);
	mptcp_data_unlock((struct sock *)msk);

	mps_conn_end(conn);
	kfree(conn_core(conn));
}
