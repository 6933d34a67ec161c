/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of the framework share these declarations with each other and with their tests.
 * The protocol.h of net/mptcp declares the functions that net/mptcp calls.
 *
 * LIFETIME: the state that a scheduler, a parameter or a sysctl leaves, and its end. Only the
 * socket option changes a socket's scheduler, and only without a connection
 * (mptcp_setsockopt_scheduler()). An accepted socket has the listener's from its beginning.
 * disconnect() begins anew with the same scheduler. tests/engine/test_scheduler_changes.py
 * compares the packets.
 *
 * mps_conn_core: the scheduler's state, parameters and counters. mps_conn_begin() begins it.
 * mps_conn_end(), called by mps_conn_release() and mps_conn_restart(), ends it:
 *	all timers		cancelled; mptcp_disconnect() clears a push that they
 *				asked for (cb_flags)
 *	units, also of the socket option	mps_forget_units()
 *	handoff, has_cuts, has_handshakes, cut, alarm, lists of segments, base_seq	cleared
 * mps_subflow_core: mps_attach() begins it; mps_detach() or the connection's end ends it.
 *	linear			also ends at a fallback: mptcp_subflow_timeout()
 *	silent, timed_out, waits_since_ns, distrusted, both limits, penalised, cursor
 *	cuts			also end at a fallback: mps_cut_window(). TCP owns a finished cut.
 * mps_segment: carried, split, to_repeat and its places in the lists end in mps_segment_gone().
 * No other scheduler sees a segment, since a socket with segments keeps its scheduler.
 * mptcp_sock:
 *	mps			ends in mps_conn_release()
 *	recovers		mps_conn_begin() sets it from sysctl and scheduler. From the
 *				sysctl alone: mps_conn_release(), and mps_conn_restart()
 *				without a scheduler of ours. A fallback ends the scheduler's
 *				part, too: mptcp_recovers()
 *	unscheduled		ends when the socket gets a scheduler: mps_conn_init()
 *	first_pending		as upstream keeps it; NULL when no segment is left
 *	blocked_us and others	belong to the receiving end, not to a scheduler;
 *				mptcp_disconnect() ends them
 * mptcp_subflow_context:
 *	mps			ends in mps_detach()
 *	trouble			belongs to `recovers`; a packet ends it, in
 *				mptcp_trouble_packet(), or mptcp_subflow_ctx_reset()
 * Options of the user, such as TCP_NODELAY, belong to the socket: no scheduler sets one.
 */
#ifndef _MPTCP_LAB_FRAMEWORK_H
#define _MPTCP_LAB_FRAMEWORK_H

#include "../protocol.h"
#include "compat.h"
#include "params.h"

struct mptcp_unit;	/* of a patch */

/* Each structure of the framework ends with the part that schedulers see.
 *
 * LOCKING: who may touch which field. The connection has one owner at a time: the
 * process that holds lock_sock(msk), or the softirq that holds its spinlock
 * (mptcp_data_lock()) while no process owns it. lock_sock(ssk) locks a subflow, as does
 * the softirq that received its packet or timeout. The order is msk, ssk, then the
 * spinlock of msk. While a process owns msk, softirq may hold ssk and the spinlock.
 *
 * Only the owner touches mps_conn, mps_conn_core, mps_segment, mps_subflow, and all fields
 * of mps_subflow_core that are not named here. The owner calls the hooks of a scheduler,
 * so they need no locks. They hold no locks of other connections.
 *
 * - core->clock_known, .clock_zero_ms: under the spinlock, by anyone.
 * - core->tick, .provoked, .deferred: the same. core->ended: also under the spinlock, when
 *   msk->mps is cleared.
 * - core->timer, .late_timer, .ask_timer: the owner starts them. Their functions take the spinlock.
 *   If a process owns the connection, they leave the rest to it; else they own it. The
 *   end of the connection clears msk->mps under the spinlock.
 * - sub->conn, .slot, .has_timestamps: not written after mps_attach(), which publishes
 *   ctx->mps with a release. Others than the owner acquire it. sub->ssk: the same, until
 *   mps_detach() clears it under the spinlock, with both locks held.
 * - sub->silent, .timed_out: softirq writes them under the spinlock while a process may
 *   own the connection; all access is by READ_ONCE() and WRITE_ONCE(). After a change,
 *   the writer has the scheduler asked again (__mptcp_check_push()).
 * - sub->linear: the owner writes it, a timeout of the subflow reads it. The timeout may
 *   as well have come before the change, or after it.
 * - sub->waits_since_ns: written with the subflow locked, read under the spinlock. A
 *   packet or ACK meanwhile makes it wrong by a packet. Then a subflow counts as late a
 *   packet too early, until its next ACK, or a timer too late.
 * - sub->clock_known, .clock_least_ms, .clock_most_ms, .owd_sample_us, .commd_sample_us,
 *   .newest_acked_us: written with the subflow locked and under the spinlock. Others read
 *   them by READ_ONCE(): the latest sample, or the one before.
 * - sub->timing, .timed_end, .timed_us: with the subflow locked.
 *
 * mps_peek() reads TCP's own state of a subflow that is not locked. It reads each field on
 * its own: an ACK or a retransmission may come between two of them. A decision on the old
 * values could have been made before, and the ACK brings the next one. Differences that
 * could wrap are clamped.
 */

/* A field that TCP may write on another CPU meanwhile. */
#define mps_peek(_field)	data_race(READ_ONCE(_field))
/* The same for bits, and for the result of a function. */
#define mps_peek_bits(_what)	data_race((_what) + 0)

/* A process or softirq has locked the socket. No code without lockdep. Sockets of KUnit
 * tests have no references and no locks.
 */
static inline void mps_assert_locked(const struct sock *sk)
{
	if (IS_ENABLED(CONFIG_LOCKDEP) && refcount_read(&sk->sk_refcnt))
		sock_owned_by_me(sk);
}

static inline void mps_assert_data_locked(const struct sock *sk)
{
	if (IS_ENABLED(CONFIG_LOCKDEP) && refcount_read(&sk->sk_refcnt))
		lockdep_assert_held(&sk->sk_lock.slock);
}

#define subflow_core(_subflow)	container_of_const(_subflow, struct mps_subflow_core, pub)

struct mps_subflow_core {
	struct mps_conn		*conn;
	struct sock		*ssk;		/* NULL: gone, the slot is free */
	struct mps_segment	*cursor;	/* all sent segments up to it were carried */
	u8			slot;		/* bit in mps_segment.carried */
	bool			established;	/* init_subflow() was called */
	bool			timed_out;	/* an RTO that on_rto() has not reported */
	bool			silent;		/* no packet since the RTO, or it is late */
	bool			distrusted;	/* mps_distrust() */
	bool			linear;		/* mps_set_linear_timeouts() */
	u64			waits_since_ns;	/* its oldest packet in flight; 0: none */
	u8			cuts;		/* mps_halve_cwnd(): TCP's cwnd lacks them */
	u8			ca_seen;	/* at the last question */
	u64			acked_seen;
	u32			penalised;	/* tcp_jiffies32: it had others penalised */
	u32			penalty_pkts;	/* ~0: none */
	u32			set_limit_pkts;	/* ~0: none */
	bool			round_empty;	/* nothing was in flight when it began */
	u32			round_end;	/* TCP's sequence number */
	u32			round_delivered;	/* these three: when it began */
	u32			round_lost;
	u32			round_retransmitted;
	u32			new_segments;
	u32			duplicates;
	u32			reinjections;

	/* of the latest snapshot, in TCP's own units; schedulers do not see these */
	u32			srtt_8us;
	u32			rttvar_4us;
	u32			packets_out;
	u32			snd_una;
	u32			snd_nxt;

	/* the peer's timestamps */
	bool			has_timestamps;	/* of 1 ms, in every packet */
	bool			handshake_unread;	/* no mps_read_handshake() yet */
	bool			clock_known;
	u32			clock_least_ms;	/* the peer's clock minus ours is no less */
	u32			clock_most_ms;	/* and no more; bounds of the latest ACK */
	u64			newest_acked_us;	/* when that packet was sent */
	bool			timing;		/* a segment is timed for commd_us */
	u32			timed_end;	/* of this segment: TCP's sequence number */
	u64			timed_us;	/* when it was sent first */
	u32			owd_sample_us;	/* 0: none yet */
	u32			commd_sample_us;	/* smoothed; 0: none yet */

	struct mps_subflow	pub;		/* and the scheduler's own state */
};

#define conn_core(_conn)	container_of_const(_conn, struct mps_conn_core, pub)

struct mps_conn_core {
	struct mptcp_sock	*msk;
	const struct mps_ops	*ops;
	const struct mps_params	*params;	/* whose values pub.params has; NULL: in tests */
	u32			params_seen;	/* for mps_params_changed() */
	u32			params_kept;	/* bits: mps_set_param() has set them */
	u16			dss_bytes;	/* room in packets with data */
	u16			room_bytes;	/* of segments that mptcp_sendmsg() writes */
	struct list_head	unsent;		/* mps_segment.unsent, in order */
	struct list_head	reinject;	/* mps_segment.reinject, in order */
	struct mps_segment	*nth_unsent;	/* last result of mps_nth_unsent(); NULL: none */
	u32			nth;		/* its place among the unsent ones, from 0 */
	struct list_head	units;		/* mps_unit_core.node: waiting, in order */
	struct list_head	past_units;	/* the same: the latest that were sent or dropped */
	u32			units_waiting;
	u32			units_past;
	u32			units_dropped;
	u32			last_dropped;	/* id */
	u64			dropped_bytes;
	struct mps_unit		*writing;	/* the unit that the application writes */
	struct mps_subflow_core	*slots[32];
	u64			base_seq;	/* data sequence number of byte 0 */
	u64			small_end;	/* end of the latest short segment */
	u64			cork_end;	/* TCP_CORK holds no segment that begins before */
	u32			usable_mask;	/* of slots */
	u32			most_sndbuf;	/* largest send buffer so far, in bytes */
	bool			started;	/* base_seq is known */
	bool			crowded;	/* the log has a line: a subflow found no slot */
	bool			has_gaps;	/* something was sent out of order */
	bool			has_cursors;	/* mps_oldest_missing() is used */
	bool			has_handoff;
	bool			has_cuts;	/* perhaps, of a subflow that was not locked */
	bool			has_handshakes;	/* perhaps, one has handshake_unread */
	bool			cut;		/* a unit begins or ended: start a new segment */
	bool			alarm;		/* the retransmission timer fired */
	bool			cork_timed;	/* this timer ends TCP_CORK's hold on data */
	bool			clock_known;	/* clock_zero_ms is */
	u32			clock_zero_ms;	/* subtrahend of the peer's clock minus ours */
	struct mps_pick		handoff;	/* for a subflow that was not locked */
	struct hrtimer		timer;
	struct hrtimer		late_timer;	/* of mps_find_late() */
	struct hrtimer		ask_timer;	/* of mps_ask_at() */
	bool			ended;		/* no timer may be set any more */
	u32			tick;		/* tcp_jiffies32 of .. */
	u32			provoked;	/* .. so many mps_may_provoke() */
	u64			waits;
	u64			refused;
	u64			forced;
	u32			fallbacks;
	u32			forced_reinjections;
	u32			deferred;
	u32			refused_calls;

	struct mps_conn		pub;		/* and the scheduler's own state */
};

#define unit_core(_unit)	container_of_const(_unit, struct mps_unit_core, pub)

struct mps_unit_core {
	struct list_head	node;		/* mps_conn_core.units or .past_units */
	bool			dropped;
	struct mps_unit		pub;
};

/* A scheduler, as net/mptcp knows it. */
struct mps_registration {
	struct mptcp_sched_ops	sched;
	const struct mps_ops	*ops;
	struct mps_params	params;
	struct list_head	list;	/* see registry.c */
};

static inline struct mps_registration *mps_registration(struct mptcp_sched_ops *sched)
{
	return container_of(sched, struct mps_registration, sched);
}

/* A data fragment of net/mptcp with one segment. Its data follows it in memory. */
struct mps_segment {
	struct mptcp_data_frag	frag;		/* on mptcp_sock.rtx_queue */
	struct list_head	unsent;		/* on mps_conn_core.unsent, or empty */
	struct list_head	reinject;	/* on mps_conn_core.reinject, or empty */
	u32			carried;	/* by these slots */
	u16			to_repeat;	/* last bytes, of an unfinished reinjection */
	bool			split;		/* a carrier may have only a part */
};

static inline struct mps_segment *mps_segment(const struct mptcp_data_frag *dfrag)
{
	return container_of(dfrag, struct mps_segment, frag);
}

static inline struct sock *mps_sk(const struct mps_conn *conn)
{
	return (struct sock *)conn_core(conn)->msk;
}

static inline struct mptcp_subflow_context *mps_ctx(const struct mps_subflow *subflow)
{
	return mptcp_subflow_ctx(subflow_core(subflow)->ssk);
}

/* net/mptcp gives the first subflow of a socket's second connection the number 0. The next ones
 * count on from the first connection's.
 */
static inline u32 mps_id_of(const struct mptcp_subflow_context *ctx)
{
	return max(mps_peek(ctx->subflow_id), 1U);
}

#define mps_first(_list, _node) \
	(list_empty(_list) ? NULL : list_entry((_list)->next, struct mps_segment, _node))
#define mps_next(_list, _seg, _node) \
	(list_is_last(&(_seg)->_node, _list) ? NULL : \
	 list_entry((_seg)->_node.next, struct mps_segment, _node))

static inline u32 mps_unsent_part(const struct mps_segment *seg)
{
	return seg->frag.data_len - seg->frag.already_sent;
}

static inline bool mps_sent(const struct mps_segment *seg)
{
	return seg->frag.already_sent;
}

/* Is net.mptcp.recovery on for it? A kernel without our patches has none. */
static inline bool mps_recovers(const struct mptcp_sock *msk)
{
#if IS_ENABLED(CONFIG_MPTCP_LAB_SCHED)
	return msk->recovers;
#else
	return false;
#endif
}

/* A scheduler may have kept a subflow that is gone: refuse its call, and count it. The
 * caller owns the connection.
 */
static inline bool mps_is_there(const struct mps_subflow *subflow)
{
	const struct mps_subflow_core *sub = subflow_core(subflow);

	if (likely(sub->ssk))
		return true;
	conn_core(sub->conn)->refused_calls++;
	return false;
}

/* One of ours of that name; NULL: there is none. Under RCU. */
struct mps_registration *mps_registered(const char *name);
/* The registered scheduler of that name; NULL: none. */
const struct mps_ops *mps_find(const char *name);
/* The n-th registered scheduler of ours, from 0; NULL: fewer are registered. For tests. */
const struct mps_ops *mps_nth(u32 n);

/* framework.c: hooks that registry.c registers with net/mptcp */
void mps_conn_init(struct mptcp_sock *msk);
void mps_conn_release(struct mptcp_sock *msk);

/* units.c: mps_unit_at() finds the waiting unit that begins at seq. mps_keep_unit() ends its
 * wait; mps_drop_unit(), under the data lock, also takes its data from the queue.
 */
struct mps_unit *mps_unit_at(const struct mps_conn *conn, u64 seq);
void mps_keep_unit(struct mps_conn *conn, struct mps_unit *unit, bool dropped);
void mps_drop_unit(struct mps_conn *conn, struct mps_unit *unit);
void mps_units_sent(struct mps_conn *conn);
void mps_unit_written(struct mps_conn *conn, u32 bytes);
void mps_forget_units(struct mps_conn *conn);
/* the socket option without its checks of the socket */
int mps_announce_unit(struct mps_conn *conn, const struct mptcp_unit *what);

/* segments.c: mps_first_unsent() may be held back (mps_is_held()). mps_update_first_pending()
 * sets upstream's cursor. mps_find_segment(): of a pick. mps_verify() checks all lists.
 */
struct mps_segment *mps_first_unsent(const struct mps_conn *conn);
bool mps_is_held(const struct mps_conn *conn, const struct mps_segment *seg);
void mps_forget_unsent(struct mps_conn *conn, struct mps_segment *seg);
void mps_update_first_pending(struct mps_conn *conn);
struct mps_segment *mps_find_segment(struct mps_conn *conn, const struct mps_pick *pick);
/* segments.c: the bytes that a pick sends; some of them left, for the first time or again */
void mps_picked_part(const struct mps_segment *seg, const struct mps_pick *pick,
		     u16 *begin, u16 *end);
void mps_sent_part(struct mps_segment *seg, const struct mps_subflow *subflow, u16 bytes);
void mps_repeated_part(struct mps_segment *seg, const struct mps_subflow *subflow,
		       enum mps_kind kind, u16 begin, u16 bytes);
void mps_verify(const struct mps_conn *conn);

/* segments.c: fill the reinjection queue: subflows have changed; a segment was sent */
void mps_recover(struct mps_conn *conn);
void mps_doubt(struct mps_conn *conn, const struct mps_subflow *subflow,
	       struct mps_segment *seg);

/* subflows.c */
void mps_detach(struct mps_conn *conn, struct mps_subflow *subflow);
void mps_cut_window(struct mps_subflow *subflow);
void mps_refresh(struct mps_conn *conn, const struct sock *ssk);

/* view.c */
u16 mps_dss_bytes(const struct mptcp_sock *msk);
void mps_reset_mss(const struct mps_conn *conn, struct mps_subflow *subflow);
struct mps_subflow_core *mps_take_slot(struct mps_conn *conn,
				       const struct mptcp_subflow_context *ctx);
void mps_update_limit(struct mps_subflow *subflow);
void mps_halve(u32 *cwnd_pkts, u32 *ssthresh_pkts);
void mps_snapshot_window(struct mps_subflow *subflow);
void mps_snapshot(struct mps_subflow *subflow);
void mps_snapshot_oldest(struct mps_subflow *subflow);
void mps_count_round(struct mps_subflow *subflow);
void mps_refresh_params(struct mps_conn *conn);
void mps_refresh_subflow(struct mps_conn *conn, struct mps_subflow *subflow, bool usable,
			 bool heard, bool locked);

/* delays.c: an ACK came; the ACK of the handshake; something was sent */
void mps_read_timestamps(struct mps_subflow *subflow);
void mps_read_handshake(struct mps_subflow *subflow);
void mps_time_segment(struct mps_subflow *subflow);

/* recovery.c: mps_recovery_is_on(): does this value of the sysctl turn it on? mps_note_oldest():
 * a packet came in. mps_find_late() looks for late subflows, mps_late_us() says how late.
 */
bool mps_recovery_is_on(u8 value, bool asks);
void mps_note_oldest(struct mps_subflow *subflow);
void mps_find_late(struct mps_conn *conn);
u64 mps_late_us(u32 srtt_us, u32 rttvar_us, u32 pkts);
u32 mptcp_probe_interval_us(u32 srtt_us, u32 min_rtt_us, u64 tried_us);

/* framework.c: a subflow had a timeout; true: the next one shall not be twice as long */
bool mps_timeout(struct mptcp_subflow_context *ctx);

/* framework.c: may the scheduler cause its own next question; the pick in its place when
 * nothing is in flight; why a pick is refused
 */
bool mps_may_provoke(struct mps_conn_core *core);
bool mps_forced_pick(struct mps_conn *conn, struct mps_pick *pick, struct mps_segment **seg);
const char *mps_check_pick(struct mps_conn *conn, const struct mps_pick *pick,
			   struct mps_segment **seg);

#endif
