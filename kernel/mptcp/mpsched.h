/* SPDX-License-Identifier: GPL-2.0-only */
/* The interface of MPTCP packet schedulers: the one header that a scheduler
 * includes.
 *
 * What the application writes is cut into segments, each of at most one
 * packet. Whenever something might be sent - after any ACK on any subflow, a
 * window update, a write, a subflow that comes, goes or changes, a timer of
 * the scheduler - the framework asks next_segment(): which segment on which
 * subflow? It sends what was picked and asks again, until the answer is to
 * wait. Any segment may be picked: the first that was never sent or one behind
 * it, one of the reinjection queue, or a copy of one that is on its way.
 *
 * A scheduler decides, it does not act: it reads what is below, returns a pick
 * and writes nothing but its own state. Whatever it picks, the byte stream
 * stays whole, and data leaves:
 *
 * - A pick that makes no sense is refused, and counted; in its place is sent what
 *   mps_lowest_rtt() says.
 * - One that never comes is replaced when nothing has been in flight for as long as
 *   the connection's retransmission timer, 200 ms or a timeout of TCP's: whatever
 *   timer the scheduler has set.
 * - A scheduler that is asked again only because of what it did itself waits after
 *   1024 times in a tick: its timers until the next tick, its cuts of windows until
 *   the connection's next event. That is counted.
 * - A subflow that is gone may be looked at, and picked in vain. Functions that want
 *   something of it do nothing, give nothing (0, false, NULL), and count the call.
 *   Where it was a new one may be, which is then the one that is meant. Its memory,
 *   and that of all subflows, lasts until release() has returned. A segment or unit
 *   is good until the hook that has got it returns.
 *
 * All hooks run in the connection's context, one at a time: it is locked by
 * its owner or, in softirq, by its spinlock. They may not sleep.
 */
#ifndef _MPSCHED_H
#define _MPSCHED_H

#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <net/mptcp.h>
#include <net/tcp.h>

#define MPS_PARAMS_MAX		32
/* of the private state of a connection, or of a subflow, in bytes: it is one piece of memory, which
 * may be wanted when none can be waited for
 */
#define MPS_STATE_MAX		SZ_64K

struct mps_ops;
struct mps_segment;

/* A subflow, as it was when the scheduler was asked. */
struct mps_subflow {
	u32	id;			/* 1, 2, ... in the order of creation */
	bool	usable;			/* may carry data: established, and neither closing
					 * nor silent since its last timeout
					 */
	bool	backup;			/* the one or the other end wants it used last */
	bool	stale;			/* upstream has given it up: no progress for several of
					 * the connection's timers (net.mptcp.stale_loss_cnt)
					 */
	u8	ca_state;		/* TCP_CA_Open ... TCP_CA_Loss */

	u32	mss_bytes;		/* of data in one packet, all options counted */
	u32	srtt_us;		/* smoothed round-trip time; 0: no sample yet */
	u32	rttvar_us;		/* its mean deviation */
	u32	rto_margin_us;		/* what TCP's timeout has beside srtt_us: 4 x a deviation
					 * that sinks slowly, and never less than 200 ms
					 */
	u32	min_rtt_us;		/* least sample of the last minutes; ~0: none yet */
	u32	last_rtt_us;		/* latest sample; 0: none yet */

	u32	cwnd_pkts;		/* and ssthresh: after the cuts of mps_halve_cwnd() */
	u32	ssthresh_pkts;		/* TCP_INFINITE_SSTHRESH before the first loss */
	u32	in_flight_pkts;
	u32	left_out_pkts;		/* sent, and neither in flight nor acknowledged in
					 * order: arrived out of order, or taken for lost
					 */
	u32	limit_pkts;		/* beside cwnd, set by mps_set_limit() and
					 * mps_penalise(); ~0: none
					 */
	u32	unsent_bytes;		/* in its queue, never sent */
	u32	outstanding_bytes;	/* in its queue or sent, and not acknowledged */
	u64	acked_bytes;		/* in order, since its beginning, as of the same time */
	u32	memory_bytes;		/* that these take here, with all overhead */
	bool	memory_full;		/* as upstream's default scheduler asks: no more memory
					 * is meant for it, or it has unsent data enough
					 */
	u32	window_bytes;		/* left of the receive window as this subflow knows it */
	u64	pacing_rate;		/* bytes per second; ~0: not paced */

	/* what its acknowledgments say, selective ones counted; times as of
	 * mps_clock_ns(), 0: there is none
	 */
	u32	delivered_pkts;		/* since its beginning */
	u64	delivered_ns;		/* when the latest acknowledgment came */
	u64	delivered_sent_ns;	/* when what it acknowledged was sent */
	u64	oldest_sent_ns;		/* when the oldest packet in flight was sent */

	/* What TCP took for lost, of whatever was sent, and what it sent again, be it
	 * that some of it had arrived all the same: since its beginning, as of its
	 * latest ACK or timeout. And in its latest whole round, which ends with the
	 * ACK of all that had been sent when it began, or else at its first ACK: about
	 * a round trip, or a window. mps_loss_permille() makes a rate of them.
	 */
	u32	lost_pkts;
	u32	retransmitted_pkts;
	u32	rounds;			/* since its beginning; 0: no whole one yet */
	u32	round_delivered_pkts;
	u32	round_lost_pkts;
	u32	round_retransmitted_pkts;

	/* What the peer has advertised: in its latest ACK, the receive window, which
	 * is that of the connection, counted from what it has of the connection; in
	 * its SYN, how much fits into a packet, with TCP's options (MSS).
	 */
	u32	peer_window_bytes;
	u32	peer_mss_bytes;

	/* One-way, to the peer. What they mean, and whether those of two
	 * subflows can be compared, says mps_delays_comparable(). 0: none yet.
	 */
	u32	owd_us;			/* latest sample, of a packet */
	u32	commd_us;		/* smoothed, of a segment and its repetitions */

	struct list_head node;		/* for mps_for_each_subflow() */
	u64	priv[] __aligned(8);	/* for mps_subflow_priv() */
};

/* A connection. Sequence numbers count bytes since its first one. */
struct mps_conn {
	u64	una_seq;		/* all before it is acknowledged */
	u64	nxt_seq;		/* end of the farthest segment ever sent */
	u64	window_end_seq;		/* the receiver takes data before it */
	u32	window_bytes;		/* of the whole receive window, from una_seq on */
	u32	unsent_bytes;		/* written by the application, never sent */
	u32	subflows_usable;
	u32	segment_bytes;		/* size of a full segment */
	bool	writer_waits;		/* there is nothing to send, since the application
					 * waits until a third of the send buffer is free
					 */
	bool	sndbuf_full;		/* and none of it is free now */
	bool	closing;		/* the application will write no more */
	u32	units_announced;	/* so many, since the beginning */

	struct list_head subflows;	/* for mps_for_each_subflow() */
	u32	params[MPS_PARAMS_MAX];	/* for mps_param() */
	u64	priv[] __aligned(8);	/* for mps_conn_priv() */
};

/* --- the answer of next_segment() */

enum mps_kind {
	MPS_NEW = 1,		/* (the rest of) a segment never sent before */
	MPS_REINJECTION,	/* one of the reinjection queue; leaves it when all was sent */
	MPS_DUPLICATE,		/* one on its way elsewhere, once more */
	MPS_DROP,		/* no segment: a unit that is not to be sent */
};

struct mps_pick {
	struct mps_subflow	*subflow;
	u64			seq;		/* mps_seq() of the segment, or of the unit */
	/* Send no more than this of it; 0: all. As in v0.9x, where a quota or the window
	 * of the subflow ends within a segment, or to try a path with a few bytes. What is
	 * left of a new segment is unsent, and of a reinjection is still to be reinjected:
	 * the next pick of it goes on there. What is left of a duplicate is not sent on
	 * this subflow. A shortage of memory has the same effect.
	 */
	u32			limit_bytes;
	u8			kind;		/* enum mps_kind */
};

/* --- a scheduler */

/* A parameter: the sysctl net.mptcp.SCHEDULER.NAME of each network namespace.
 * A connection has the values of the time of its creation.
 */
struct mps_param {
	const char	*name;
	u32		min;
	u32		max;
	u32		def;
	const char	*unit;
	const char	*meaning;
};

#define MPS_BOOL(_name, _def, _meaning) \
	{ .name = (_name), .max = 1, .def = (_def), .unit = "", .meaning = (_meaning) }
#define MPS_UINT(_name, _min, _max, _def, _unit, _meaning) \
	{ .name = (_name), .min = (_min), .max = (_max), .def = (_def), .unit = (_unit), \
	  .meaning = (_meaning) }

struct mps_ops {
	/* Required. True: send what *pick says; false: wait. */
	bool (*next_segment)(struct mps_conn *conn, struct mps_pick *pick);

	/* All others are optional. */

	/* Where the oldest segment is sent again when the connection's
	 * retransmission timer has expired; NULL: nowhere now, which is heeded as
	 * long as something is on its way on a usable subflow. Default:
	 * mps_lowest_rtt().
	 */
	struct mps_subflow *(*get_subflow)(struct mps_conn *conn, const struct mps_segment *seg);

	/* Private state is zeroed before init. release_subflow() is called for
	 * each subflow before release().
	 */
	void (*init)(struct mps_conn *conn);
	void (*release)(struct mps_conn *conn);
	void (*init_subflow)(struct mps_conn *conn, struct mps_subflow *subflow);
	void (*release_subflow)(struct mps_conn *conn, struct mps_subflow *subflow);

	/* What happened since the scheduler was last asked, before it is asked
	 * again: bytes were acknowledged on a subflow; it entered recovery
	 * because of a loss; it had a retransmission timeout; usable or backup
	 * changed.
	 */
	void (*on_ack)(struct mps_conn *conn, struct mps_subflow *subflow, u64 acked_bytes);
	void (*on_loss)(struct mps_conn *conn, struct mps_subflow *subflow);
	void (*on_rto)(struct mps_conn *conn, struct mps_subflow *subflow);
	void (*on_subflow_state)(struct mps_conn *conn, struct mps_subflow *subflow);

	/* A pick was carried out, with so many bytes. */
	void (*on_sent)(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes);

	/* Applications may announce units; without it they are told that the
	 * connection takes none (-EOPNOTSUPP).
	 */
	bool			takes_units;

	/* net.mptcp.recovery is on for its connections unless the user has set it. */
	bool			recovers;

	char			name[MPTCP_SCHED_NAME_MAX];
	struct module		*owner;
	size_t			conn_size;	/* of the private state per connection */
	size_t			subflow_size;	/* and per subflow */
	const struct mps_param	*params;
	unsigned int		num_params;
};

/* Registration refuses, with a line in the kernel's log that says which field has which
 * value and what is accepted: a scheduler without next_segment(), whose owner is not its
 * module, or with more state than MPS_STATE_MAX; names that are none for a sysctl, and
 * parameters that make no sense (-EINVAL); and a name that is taken (-EEXIST).
 */
int mps_register(const struct mps_ops *ops);
void mps_unregister(const struct mps_ops *ops);

#define mps_scheduler(_ops) \
	static int __init _ops##_register(void) \
	{ \
		return mps_register(&(_ops)); \
	} \
	module_init(_ops##_register); \
	static void __exit _ops##_unregister(void) \
	{ \
		mps_unregister(&(_ops)); \
	} \
	module_exit(_ops##_unregister)

/* --- subflows and private state */

#define mps_for_each_subflow(_conn, _subflow) \
	list_for_each_entry(_subflow, &(_conn)->subflows, node)

static inline void *mps_conn_priv(struct mps_conn *conn)
{
	return conn->priv;
}

static inline void *mps_subflow_priv(struct mps_subflow *subflow)
{
	return subflow->priv;
}

/* Of 1000 packets of its latest whole round, so many were lost. 0: none, or there
 * was no round yet.
 */
static inline u32 mps_loss_permille(const struct mps_subflow *subflow)
{
	u64 pkts = (u64)subflow->round_delivered_pkts + subflow->round_lost_pkts;

	return pkts ? div64_u64(1000ULL * subflow->round_lost_pkts, pkts) : 0;
}

static inline u32 mps_param(const struct mps_conn *conn, unsigned int index)
{
	return conn->params[index];
}

/* The queue of the local device that the subflow leaves by: what waits in it, and
 * how much has left it since it was made; of all traffic, and with the headers of
 * Ethernet. Both are 0 where the device has no queue.
 */
struct mps_device {
	u64	queue_bytes;
	u64	sent_bytes;
};

struct mps_device mps_device(const struct mps_subflow *subflow);

/* Does TCP hold the subflow back, since what it has sent is still in this host (TCP
 * small queues)?
 */
bool mps_throttled(const struct mps_subflow *subflow);

/* What the device itself counts as sent, whether it has a queue or not; 0: there is
 * no device. And do two subflows leave by the same one?
 */
u64 mps_device_sent_bytes(const struct mps_subflow *subflow);
bool mps_same_device(const struct mps_subflow *one, const struct mps_subflow *other);

/* --- one-way delays */

/* The peer puts its time in whole ms into every ACK (RFC 7323). Until then from
 * when what it acknowledges was sent, that is the one-way delay, but for what both
 * clocks differ by: owd_us and commd_us have an unknown constant in them. It is
 * the same for all subflows of a connection if the peer's timestamps have no
 * offset of their own on each subflow, which in Linux they have unless
 * net.ipv4.tcp_timestamps is 2 there. Then the delays of two subflows can be
 * compared, to 1 ms; nothing else can be done with them.
 *
 * owd_us is the delay of the packet that was acknowledged last. commd_us is the
 * one-way communication delay of Yang and Amer: from when a segment was first
 * sent until it has arrived with all before it on its subflow, repetitions
 * included. Both have in them what the peer delays its ACK by, 40 ms at times.
 *
 * True: no two usable subflows disagree about the clocks, which each ACK gives
 * bounds for; and all have timestamps. Some may be without a sample yet.
 */
bool mps_delays_comparable(const struct mps_conn *conn);

/* To be called for each decision that is made without what the scheduler is made
 * to look at, because that cannot be had: the counter `fallbacks` of a run.
 */
void mps_count_fallback(struct mps_conn *conn);

/* --- segments; NULL ends a list */

u64 mps_seq(const struct mps_conn *conn, const struct mps_segment *seg);
u32 mps_len(const struct mps_segment *seg);

/* Was it, or a part of it, sent on this subflow? Of a segment that left in parts, only those
 * of its latest reinjection count.
 */
bool mps_carried_by(const struct mps_segment *seg, const struct mps_subflow *subflow);

/* Never sent (or not all of it), in order; but not a short last one that waits
 * for more data of the application while a short one is on its way.
 */
struct mps_segment *mps_head(const struct mps_conn *conn);
struct mps_segment *mps_next_unsent(const struct mps_conn *conn, const struct mps_segment *seg);

/* The same, so many segments behind the first. It goes on where it stood the last
 * time, and so takes as many steps as n differs from what it was then.
 */
struct mps_segment *mps_nth_unsent(struct mps_conn *conn, u32 n);

/* Of subflows in trouble, to be sent on others, in order. */
struct mps_segment *mps_reinjection(const struct mps_conn *conn);

/* Sent and not acknowledged, in order. The walk is for who looks for copies in
 * another way than mps_oldest_missing(), or for neighbours that belong together.
 */
struct mps_segment *mps_oldest_unacked(const struct mps_conn *conn);
struct mps_segment *mps_next_unacked(const struct mps_conn *conn, const struct mps_segment *seg);

/* The last of these before the first unsent segment. */
struct mps_segment *mps_latest_sent(const struct mps_conn *conn);

/* The oldest of these, up to the first unsent segment, that the subflow did
 * not carry. Cheap: it goes on where it stood the last time.
 */
struct mps_segment *mps_oldest_missing(struct mps_conn *conn, struct mps_subflow *subflow);

/* Does the receive window have room for the segment? */
bool mps_fits_window(const struct mps_conn *conn, const struct mps_segment *seg);

/* --- units: what an application says of its data (docs/units.md) */

/* Bytes of the stream that are of use together, as a frame of a video is. They
 * share no segment with others. All times are as those of mps_clock_ns(); ~0:
 * none.
 */
struct mps_unit {
	u64	seq;		/* of its first byte */
	u32	bytes;		/* of the whole unit */
	u32	written_bytes;	/* of it, by now */
	u32	id;
	u32	depends_on;	/* id of an earlier one, without which it is of no use; 0: none */
	u32	importance;	/* more: dropped later; at least that of what depends on it */
	bool	useless;	/* what it depends on was dropped */
	u64	deadline_ns;	/* all of it is wanted at the receiver by then */
	u64	expires_ns;	/* and is of no use later than that */
};

/* Those that are neither wholly sent nor dropped, in order; the last one may
 * not be wholly written. At most MPS_UNITS_MAX.
 */
#define MPS_UNITS_MAX		256

struct mps_unit *mps_first_unit(const struct mps_conn *conn);
struct mps_unit *mps_next_unit(const struct mps_conn *conn, const struct mps_unit *unit);

/* The one of these that the segment is part of; NULL: none */
struct mps_unit *mps_unit_of(const struct mps_conn *conn, const struct mps_segment *seg);

/* Has neither any of it been sent, nor anything behind it? Then it can be
 * dropped: what follows takes its place in the stream. What depends on it
 * becomes useless, and has to be dropped, too.
 */
bool mps_may_drop(const struct mps_conn *conn, const struct mps_unit *unit);

static inline bool mps_pick_drop(struct mps_pick *pick, const struct mps_unit *unit)
{
	*pick = (struct mps_pick) {
		.seq	= unit->seq,
		.kind	= MPS_DROP,
	};
	return true;
}

/* --- picks; each returns true, so that next_segment() can return it */

static inline bool __mps_pick(struct mps_pick *pick, struct mps_conn *conn,
			      struct mps_subflow *subflow, const struct mps_segment *seg,
			      enum mps_kind kind)
{
	*pick = (struct mps_pick) {
		.subflow = subflow,
		.seq	 = mps_seq(conn, seg),
		.kind	 = kind,
	};
	return true;
}

static inline bool mps_pick_new(struct mps_pick *pick, struct mps_conn *conn,
				struct mps_subflow *subflow, const struct mps_segment *seg)
{
	return __mps_pick(pick, conn, subflow, seg, MPS_NEW);
}

static inline bool mps_pick_reinjection(struct mps_pick *pick, struct mps_conn *conn,
					struct mps_subflow *subflow,
					const struct mps_segment *seg)
{
	return __mps_pick(pick, conn, subflow, seg, MPS_REINJECTION);
}

/* Refused on a subflow that carried the segment: TCP repeats it there. */
static inline bool mps_pick_duplicate(struct mps_pick *pick, struct mps_conn *conn,
				      struct mps_subflow *subflow,
				      const struct mps_segment *seg)
{
	return __mps_pick(pick, conn, subflow, seg, MPS_DUPLICATE);
}

/* --- availability, as in the out-of-tree kernels (v0.9x), and its parts */

/* After a timeout only what was lost may leave. */
static inline bool mps_in_loss(const struct mps_subflow *subflow)
{
	return subflow->ca_state == TCP_CA_Loss;
}

/* cwnd, or the limit beside it */
static inline u32 mps_cwnd(const struct mps_subflow *subflow)
{
	return min(subflow->cwnd_pkts, subflow->limit_pkts);
}

/* Room for one more segment? What waits in the subflow's queue counts against
 * the congestion window. By its letter v0.94 and before, and what is made from it, let
 * one segment more wait. But v0.9x hands each to TCP before it chooses again: in flight
 * is then as much as the window, and none waits.
 */
static inline bool mps_has_room(const struct mps_subflow *subflow)
{
	u32 cwnd = mps_cwnd(subflow);

	if (subflow->in_flight_pkts >= cwnd)
		return false;
	return subflow->unsent_bytes < (u64)(cwnd - subflow->in_flight_pkts) * subflow->mss_bytes;
}

/* Would the subflow put a segment on the wire at once? */
static inline bool mps_available(const struct mps_subflow *subflow)
{
	return subflow->usable && !mps_in_loss(subflow) && mps_has_room(subflow);
}

/* May backup subflows be used: is there no other usable one? */
bool mps_only_backups(const struct mps_conn *conn);

/* The parameter `spare_backups` of schedulers whose source does not look at the flag: off,
 * backup subflows are used like others; on, only if no other one is usable.
 */
static inline bool mps_may_use_backups(const struct mps_conn *conn, unsigned int spare_backups)
{
	return !mps_param(conn, spare_backups) || mps_only_backups(conn);
}

/* Has it room, or will it surely have: is nothing wrong with it but a full
 * window, and what fills that is in flight or about to be, so that an
 * acknowledgment or, at worst, a timeout follows?
 */
bool mps_has_room_soon(const struct mps_subflow *subflow);

/* --- what several schedulers have in common */

/* The choice of the default scheduler of v0.95: the available subflow with the
 * lowest smoothed RTT, the first one in a tie; a distrusted one only if all are.
 * A subflow that did not carry the segment comes before those that did; NULL
 * stands for new data. Backup subflows are for new data when no other is usable,
 * and for a segment that the others carried. NULL: wait, because of a full subflow
 * that did not carry it, unless another one that did has room.
 */
struct mps_subflow *mps_lowest_rtt(struct mps_conn *conn, const struct mps_segment *seg);

/* The subflow to wait for instead of using `slow`: the lowest RTT of those that
 * are faster, of no lower priority, full, and surely there again soon. NULL:
 * none.
 */
struct mps_subflow *mps_faster_but_full(struct mps_conn *conn, const struct mps_subflow *slow);

/* The same as the modules of BLEST and ECF have it: the lowest RTT of all, the
 * first one in a tie, in whatever state; NULL: that is `slow`. Left out is what
 * they wait for until the connection stalls: those that are not usable, of lower
 * priority than `slow`, or without anything in flight or about to be, so that
 * neither an acknowledgment nor a timeout brings the next decision.
 */
struct mps_subflow *mps_fastest_but(struct mps_conn *conn, const struct mps_subflow *slow);

/* The first available subflow that did not carry the segment, or else the first available
 * one; backups count only with `backups`. NULL: none is available.
 */
struct mps_subflow *mps_first_available(struct mps_conn *conn, const struct mps_segment *seg,
					bool backups);

/* Puts the head of the reinjection queue on the subflow that mps_lowest_rtt()
 * chooses. False if the queue is empty, or none is available.
 */
bool mps_reinject(struct mps_conn *conn, struct mps_pick *pick);

/* Reinjections, and then new data, on that subflow: only while it is available, or, with
 * `queue`, whatever room it has. False: it is NULL, or there is nothing to send.
 */
bool mps_all_on(struct mps_conn *conn, struct mps_subflow *subflow, bool queue,
		struct mps_pick *pick);

/* Opportunistic retransmission and penalisation (Raiciu et al., NSDI 2012,
 * section 4.2), for when data that is on its way over a slower subflow keeps
 * the faster one from sending: either new data does not fit the receive window
 * or nothing is left to send while a writer waits for room in the send buffer.
 * The oldest segment is sent on `fast`, too. The slower subflows that carry it
 * and repeat nothing themselves are penalised, at most once in an RTT of `fast`;
 * but not while the receive window and the send buffer have room. False: there
 * is nothing to send.
 */
enum mps_rp {
	MPS_RP_OFF,	/* neither */
	MPS_RP_REPEAT,	/* nobody is penalised */
	MPS_RP_HALVE,	/* by mps_halve_cwnd(), as in v0.95 */
	MPS_RP_HALVE_ONE, /* only one that carries it, the latest, as in v0.94 and before */
	MPS_RP_LIMIT,	/* by mps_penalise() */
};

/* What two parameters of a scheduler say: `rp`, and `rp_limit` beside it. */
static inline enum mps_rp mps_rp(const struct mps_conn *conn, unsigned int rp,
				 unsigned int rp_limit)
{
	if (!mps_param(conn, rp))
		return MPS_RP_OFF;
	return mps_param(conn, rp_limit) ? MPS_RP_LIMIT : MPS_RP_HALVE;
}

bool mps_opportunistic(struct mps_conn *conn, struct mps_subflow *fast, enum mps_rp rp,
		       struct mps_pick *pick);

/* `seg` is sent on `subflow`; but if it does not fit the receive window, or is
 * NULL while a writer waits, the above is tried before. In a window smaller than
 * a segment, what may leave, leaves.
 */
bool mps_new_or_repeat(struct mps_conn *conn, struct mps_subflow *subflow,
		       struct mps_segment *seg, enum mps_rp rp, struct mps_pick *pick);

/* Halves the congestion window of the subflow, to no less than 1; and its slow-start
 * threshold, to no less than 2, unless it is in slow start. The congestion control
 * is not told: Reno goes on from there, CUBIC hurries back to what it had, BBR sets
 * its window itself with the next ACKs. The scheduler sees it at once; TCP has it
 * when the subflow is locked next, unless that repairs a loss by then.
 */
void mps_halve_cwnd(struct mps_subflow *subflow);

/* Halves what the subflow may have in flight: a limit beside its congestion
 * window, of which the congestion control knows nothing. It grows again as in
 * slow start, until it is no less than the window: the window stays the measure
 * of the path, and the penalty lasts as long as its reason recurs.
 */
void mps_penalise(struct mps_subflow *subflow);

/* Sets another such limit, in segments; ~0: none. The smaller one counts. */
void mps_set_limit(struct mps_subflow *subflow, u32 pkts);

/* --- subflows in trouble that TCP knows nothing of yet */

/* What is, or will be, on its way over this subflow alone waits in the
 * reinjection queue, as after a timeout; the subflow may be picked all the same.
 * Undone with false: what is still queued is left to the subflow again. Does
 * nothing while no other subflow can be trusted.
 */
void mps_distrust(struct mps_subflow *subflow, bool distrust);

/* From its next retransmission timeout on, the timer of the subflow does not
 * double: it tries with a packet in each timeout whether its path is there. To
 * be asked for only while others carry the data. Undone with false.
 */
void mps_set_linear_timeouts(struct mps_subflow *subflow, bool linear);

/* --- time */

/* Nanoseconds since boot. Reading it takes no virtual time. */
u64 mps_clock_ns(void);

/* next_segment() will be asked at this time, if not before. One time per
 * connection: a later call replaces an earlier one; 0 or ~0: none. One that is past
 * is now. In release(), nothing is asked any more.
 */
void mps_wake_at(struct mps_conn *conn, u64 ns);

/* --- for those who watch */

/* Puts an event of the scheduler's own into the trace of its decisions. What
 * the number means is the scheduler's.
 */
void mps_event(const struct mps_conn *conn, const struct mps_subflow *subflow, u32 number);

#endif
