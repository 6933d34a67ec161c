/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the framework share with each other and with its tests.
 * The functions that net/mptcp calls are declared in its protocol.h.
 *
 * What a scheduler, a parameter or a sysctl leaves behind, whose it is, and where it ends. A
 * socket gets another scheduler by the socket option only, while it has no connection
 * (mptcp_setsockopt_scheduler()); what it inherits from a listener it has from the beginning;
 * disconnect() begins anew with the same one. tests/engine/test_scheduler_changes.py compares
 * the packets.
 *
 * Of the scheduler, in mps_conn_core, with all counters, parameters and its own state: begins in
 * mps_conn_begin(), ends in mps_conn_end(), which mps_conn_release() and mps_conn_restart() call.
 *	both timers		cancelled, as is a push that they have asked for: cb_flags in
 *				mptcp_disconnect()
 *	units, also of the socket option	mps_forget_units()
 *	handoff, has_cuts, has_handshakes, cut, alarm, lists of segments, base_seq	cleared
 * Of a subflow, in mps_subflow_core: begins in mps_attach(), ends in mps_detach() or with the
 * connection.
 *	linear			also at a fallback: mptcp_subflow_timeout()
 *	silent, timed_out, waits_since_ns, distrusted, both limits, penalised, cursor
 *	cuts			also at a fallback: mps_cut_window(). A cut that was made is TCP's.
 * Of a segment, in mps_segment: carried, split, to_repeat and its places in the lists end with
 * it, in mps_segment_gone(); no other scheduler sees it, as a socket with segments keeps its
 * own.
 * In mptcp_sock:
 *	mps			ends in mps_conn_release()
 *	recovers		of the sysctl and the scheduler: set by mps_conn_begin(); by
 *				mps_conn_release() and, without a scheduler of ours,
 *				mps_conn_restart() to what the sysctl alone says. What only the
 *				scheduler asked for also ends at a fallback: mptcp_recovers()
 *	unscheduled		until a scheduler is chosen: mps_conn_init()
 *	first_pending		kept as upstream keeps it; NULL when no segment is left
 *	blocked_us and the like	of the receiving end, of no scheduler; mptcp_disconnect()
 * In mptcp_subflow_context:
 *	mps			mps_detach()
 *	trouble			of `recovers`: a packet ends it, mptcp_trouble_packet(); or
 *				mptcp_subflow_ctx_reset(), with blocking_us
 * Options of the user, such as TCP_NODELAY, are the socket's: no scheduler sets one.
 */
#ifndef _MPTCP_LAB_FRAMEWORK_H
#define _MPTCP_LAB_FRAMEWORK_H

#include "../protocol.h"
#include "compat.h"
#include "params.h"

/* What schedulers see of subflows, connections and units is the end of what the
 * framework keeps of them.
 *
 * LOCKING: who may touch which field. The connection has one owner at a time: the
 * process that holds lock_sock(msk), or the softirq that holds its spinlock
 * (mptcp_data_lock()) while no process owns it. A subflow is locked by lock_sock(ssk),
 * or by the softirq that received its packet or timeout. The order is msk, ssk, then the
 * spinlock of msk; while a process owns msk, softirq may have ssk and the spinlock.
 *
 * The owner's, and nobody else's: all of mps_conn, mps_conn_core and mps_segment, all of
 * mps_subflow, and what is not named here of mps_subflow_core. So hooks of a scheduler,
 * which the owner calls, need no locks; nor have they any of other connections.
 *
 * - core->clock_known, .clock_zero_ms: under the spinlock alone, be it the owner's or not.
 * - core->tick, .provoked, .deferred: the same. core->ended: under the spinlock, too, when
 *   msk->mps is taken back.
 * - core->timer, .late_timer: started by the owner. Their functions take the spinlock,
 *   find a process at work and leave the rest to it, or are the owner; msk->mps, which
 *   is taken back under the spinlock, says that the connection is none any more.
 * - sub->conn, .slot, .has_timestamps: not written after mps_attach(), which publishes
 *   ctx->mps with a release; those that are not the owner acquire it. sub->ssk: the same,
 *   until mps_detach() takes it back under the spinlock, when both locks are held.
 * - sub->silent, .timed_out: under the spinlock, by softirq while a process may own the
 *   connection; written and read once. Who reads the old value sees the new one when it
 *   is asked again, for which the writer has seen to (__mptcp_check_push()).
 * - sub->linear: by the owner, read by a timeout of the subflow; it may come before or
 *   after the change either way.
 * - sub->waits_since_ns: with the subflow locked, read under the spinlock. What is sent
 *   or acknowledged meanwhile makes it too old or too new by a packet: a subflow is found
 *   late a packet too early, which its next ACK mends, or at the next timer.
 * - sub->clock_known, .clock_least_ms, .clock_most_ms, .owd_sample_us, .commd_sample_us,
 *   .newest_acked_us: with the subflow locked and under the spinlock; those that others
 *   read, read once: the latest sample, or the one before.
 * - sub->timing, .timed_end, .timed_us: with the subflow locked.
 *
 * Of TCP's own state, what is read of a subflow that is not locked is read by
 * mps_peek(): each field for itself, so that two of them need not be of one moment. They
 * are either side of an ACK, or of what TCP sends again: a decision that was made with
 * the old values is one that could have been made before, and with the ACK comes
 * another. Where the difference of two could wrap, it is clamped.
 */

/* A field that TCP may write meanwhile, on another CPU: as above. */
#define mps_peek(_field)	data_race(READ_ONCE(_field))
/* The same for bits, and for what a function makes of fields. */
#define mps_peek_bits(_what)	data_race((_what) + 0)

/* The socket is locked, by a process or as softirq does. No code without lockdep. Sockets
 * of KUnit tests, to which nobody holds a reference, have no locks.
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
	bool			timed_out;	/* an RTO that was not dealt with yet */
	bool			silent;		/* nothing came back since the RTO, or it is late */
	bool			distrusted;	/* mps_distrust() */
	bool			linear;		/* mps_set_linear_timeouts() */
	u64			waits_since_ns;	/* its oldest packet in flight; 0: none */
	u8			cuts;		/* mps_halve_cwnd(): not made in TCP's cwnd yet */
	u8			ca_seen;	/* on_loss() was told of */
	u64			acked_seen;
	u32			penalised;	/* tcp_jiffies32: others, because of this one */
	u32			penalty_pkts;	/* ~0: none */
	u32			set_limit_pkts;	/* ~0: none */
	bool			round_empty;	/* nothing was in flight when it began */
	u32			round_end;	/* before this byte, a number of TCP's */
	u32			round_delivered;	/* these three: when it began */
	u32			round_lost;
	u32			round_retransmitted;
	u32			new_segments;
	u32			duplicates;
	u32			reinjections;

	/* as of the latest snapshot, what schedulers do not see, in TCP's own units */
	u32			srtt_8us;
	u32			rttvar_4us;
	u32			packets_out;
	u32			snd_una;
	u32			snd_nxt;

	/* the timestamps of the peer, under the lock of the subflow */
	bool			has_timestamps;	/* of 1 ms, in every packet */
	bool			handshake_unread;	/* no mps_read_handshake() yet */
	bool			clock_known;
	u32			clock_least_ms;	/* the peer's clock minus ours is no less */
	u32			clock_most_ms;	/* and no more, says its latest ACK */
	u64			newest_acked_us;	/* when that packet was sent */
	bool			timing;		/* a segment is timed for commd_us */
	u32			timed_end;	/* of its last byte, a number of TCP's */
	u64			timed_us;	/* when it was sent first */
	u32			owd_sample_us;	/* 0: none yet */
	u32			commd_sample_us;	/* smoothed; 0: none yet */

	struct mps_subflow	pub;		/* and the scheduler's own state */
};

#define conn_core(_conn)	container_of_const(_conn, struct mps_conn_core, pub)

struct mps_conn_core {
	struct mptcp_sock	*msk;
	const struct mps_ops	*ops;
	u16			dss_bytes;	/* that packets with data have room for */
	u16			room_bytes;	/* of the segments that are being written */
	struct list_head	unsent;		/* mps_segment.unsent, in order */
	struct list_head	reinject;	/* mps_segment.reinject, in order */
	struct mps_segment	*nth_unsent;	/* found by mps_nth_unsent(); NULL: nothing */
	u32			nth;		/* so many unsent ones are before it */
	struct list_head	units;		/* mps_unit_core.node: waiting, in order */
	struct list_head	past_units;	/* the same: sent or dropped, the latest */
	u32			units_waiting;
	u32			units_past;
	u32			units_dropped;
	u32			last_dropped;	/* id */
	u64			dropped_bytes;
	struct mps_unit		*writing;	/* the one that is not wholly written yet */
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
	bool			has_cuts;	/* of a subflow that was not locked, perhaps */
	bool			has_handshakes;	/* handshake_unread is true of one, perhaps */
	bool			cut;		/* a unit begins or has ended: in a new segment */
	bool			alarm;		/* the retransmission timer fired */
	bool			cork_timed;	/* it limits how long TCP_CORK holds data */
	bool			clock_known;	/* clock_zero_ms is */
	u32			clock_zero_ms;	/* subtracted from the peer's clock minus ours */
	struct mps_pick		handoff;	/* for a subflow that was not locked */
	struct hrtimer		timer;
	struct hrtimer		late_timer;	/* of mps_find_late() */
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
};

static inline struct mps_registration *mps_registration(struct mptcp_sched_ops *sched)
{
	return container_of(sched, struct mps_registration, sched);
}

/* A data fragment of net/mptcp that never holds more than one segment. It lies
 * in front of its data.
 */
struct mps_segment {
	struct mptcp_data_frag	frag;		/* on mptcp_sock.rtx_queue */
	struct list_head	unsent;		/* on mps_conn_core.unsent, or empty */
	struct list_head	reinject;	/* on mps_conn_core.reinject, or empty */
	u32			carried;	/* by these slots; cleared when one goes */
	u16			to_repeat;	/* bytes at its end, of an unfinished reinjection */
	bool			split;		/* one that carried it may have only a part */
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

/* A scheduler may have kept a subflow that is gone: what it wants of that is refused, and
 * counted. The connection is the caller's.
 */
static inline bool mps_is_there(const struct mps_subflow *subflow)
{
	const struct mps_subflow_core *sub = subflow_core(subflow);

	if (likely(sub->ssk))
		return true;
	conn_core(sub->conn)->refused_calls++;
	return false;
}

/* The registered scheduler of that name, NULL if there is none. */
const struct mps_ops *mps_find(const char *name);
/* The n-th scheduler of ours that is registered, from 0; NULL: there are not so many. For tests. */
const struct mps_ops *mps_nth(u32 n);

/* framework.c, called by what registry.c registers with net/mptcp */
void mps_conn_init(struct mptcp_sock *msk);
void mps_conn_release(struct mptcp_sock *msk);

/* units.c: a waiting one that begins at seq; take it from those that wait
 * (keep_unit), with its data from the queue, too (drop_unit, under the data
 * lock); what was sent; what was written; forget all
 */
struct mps_unit *mps_unit_at(const struct mps_conn *conn, u64 seq);
void mps_keep_unit(struct mps_conn *conn, struct mps_unit *unit, bool dropped);
void mps_drop_unit(struct mps_conn *conn, struct mps_unit *unit);
void mps_units_sent(struct mps_conn *conn);
void mps_unit_written(struct mps_conn *conn, u32 bytes);
void mps_forget_units(struct mps_conn *conn);
/* the same as the socket option, without its checks of the socket */
int mps_announce_unit(struct mps_conn *conn, const struct mptcp_unit *what);

/* segments.c: the first, be it held back or not; is it; it is not unsent any more;
 * upstream's cursor follows; the one of a pick; are all lists as they should be
 */
struct mps_segment *mps_first_unsent(const struct mps_conn *conn);
bool mps_is_held(const struct mps_conn *conn, const struct mps_segment *seg);
void mps_forget_unsent(struct mps_conn *conn, struct mps_segment *seg);
void mps_update_first_pending(struct mps_conn *conn);
struct mps_segment *mps_find_segment(struct mps_conn *conn, const struct mps_pick *pick);
/* segments.c: the bytes that a pick sends; so many of them left on a subflow, for the
 * first time, or once more
 */
void mps_picked_part(const struct mps_segment *seg, const struct mps_pick *pick,
		     u16 *begin, u16 *end);
void mps_sent_part(struct mps_segment *seg, const struct mps_subflow *subflow, u16 bytes);
void mps_repeated_part(struct mps_segment *seg, const struct mps_subflow *subflow,
		       enum mps_kind kind, u16 begin, u16 bytes);
void mps_verify(const struct mps_conn *conn);

/* segments.c: what is to be sent again, when subflows have changed, and when it was
 * sent
 */
void mps_recover(struct mps_conn *conn);
void mps_doubt(struct mps_conn *conn, const struct mps_subflow *subflow,
	       struct mps_segment *seg);

/* subflows.c */
u16 mps_dss_bytes(const struct mptcp_sock *msk);
void mps_detach(struct mps_conn *conn, struct mps_subflow *subflow);
void mps_cut_window(struct mps_subflow *subflow);
void mps_snapshot(struct mps_subflow *subflow);
void mps_snapshot_oldest(struct mps_subflow *subflow);
void mps_count_round(struct mps_subflow *subflow);
void mps_refresh(struct mps_conn *conn, const struct sock *ssk);

/* delays.c: an ACK has come; or it came with the handshake; something was sent */
void mps_read_timestamps(struct mps_subflow *subflow);
void mps_read_handshake(struct mps_subflow *subflow);
void mps_time_segment(struct mps_subflow *subflow);

/* recovery.c: does this value of the sysctl turn it on; a packet came in; whose packets are late;
 * how late that is; how often a path is probed
 */
bool mps_recovery_is_on(u8 value, bool asks);
void mps_note_oldest(struct mps_subflow *subflow);
void mps_find_late(struct mps_conn *conn);
u64 mps_late_us(u32 srtt_us, u32 rttvar_us, u32 pkts);
u32 mptcp_probe_interval_us(u32 srtt_us, u32 min_rtt_us, u64 tried_us);

/* framework.c: a subflow had a timeout; is the next one not to be twice as long? */
bool mps_timeout(struct mptcp_subflow_context *ctx);

/* framework.c: may the scheduler be asked because of what it did itself; the pick in its
 * place when nothing is in flight; why a pick is refused
 */
bool mps_may_provoke(struct mps_conn_core *core);
bool mps_forced_pick(struct mps_conn *conn, struct mps_pick *pick, struct mps_segment **seg);
const char *mps_check_pick(struct mps_conn *conn, const struct mps_pick *pick,
			   struct mps_segment **seg);

#endif
