/* SPDX-License-Identifier: GPL-2.0-only */
/* The interface of MPTCP packet schedulers: a scheduler includes this header alone.
 *
 * The framework cuts the application's data into segments; a segment fits into one
 * packet. It asks next_segment() whenever something might be sent: after an ACK on
 * any subflow, a window update, a write, a timer of the scheduler, and when a subflow
 * comes, goes or changes. The question: which segment on which subflow? The framework
 * sends the picked segment and asks again, until the scheduler decides to wait. The
 * scheduler may pick any segment: the first unsent one, one behind it, one of the
 * reinjection queue, or a copy of a segment in flight.
 *
 * A scheduler decides and does not act. It reads the state below, returns a pick, and
 * writes its own state only. The byte stream stays whole and data keeps leaving,
 * whatever it picks:
 *
 * - The framework refuses and counts a pick that makes no sense. It sends the choice of
 *   mps_lowest_rtt() instead.
 * - If a scheduler does not pick, the framework picks for it once nothing has been in
 *   flight for as long as the connection's retransmission timer: 200 ms, or a timeout of
 *   TCP. A timer of the scheduler does not delay this.
 * - A scheduler may cause its next question itself, with mps_wake_at() or
 *   mps_halve_cwnd(). After 1024 such questions in a tick, its timers wait for the next
 *   tick, and its cuts of windows wait for the connection's next event. Both are counted.
 * - A scheduler may look at a subflow that is gone, and may pick it in vain. Functions
 *   that act on such a subflow do nothing, return 0, false or NULL, and count the call.
 *   If a new subflow has taken its place, they act on the new one. The memory of all
 *   subflows lasts until release() returns. A segment or unit stays valid until the
 *   hook that received it returns.
 *
 * All hooks run in the connection's context, one at a time: its owner holds the lock
 * or, in softirq, its spinlock. Hooks may not sleep.
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
/* Most bytes of private state, of a connection or a subflow. It is one piece of memory, and the
 * framework may allocate it where it cannot wait.
 */
#define MPS_STATE_MAX		SZ_64K

struct mps_ops;
struct mps_segment;

/* A subflow, as it was at the question. If that follows from an ACK on another subflow: as it was
 * at its own last ACK or timeout, the last timer of the scheduler, or the last write.
 */
struct mps_subflow {
	u32	id;			/* 1, 2, ... in the order of creation */
	bool	usable;			/* may carry data: established, not closing, and heard
					 * of since its last timeout
					 */
	bool	backup;			/* one of the two ends wants it used last */
	bool	stale;			/* upstream has given it up, without progress for several
					 * timers of the connection (net.mptcp.stale_loss_cnt)
					 */
	u8	ca_state;		/* TCP_CA_Open ... TCP_CA_Loss */

	u32	mss_bytes;		/* data in one packet, beside all options */
	u32	srtt_us;		/* smoothed round-trip time; 0: no sample yet */
	u32	rttvar_us;		/* its mean deviation */
	u32	rto_margin_us;		/* TCP's timeout less srtt_us: 4 x a deviation that sinks
					 * slowly, at least 200 ms
					 */
	u32	min_rtt_us;		/* least sample of the last minutes; ~0: none yet */
	u32	last_rtt_us;		/* latest sample; 0: none yet */

	u32	cwnd_pkts;		/* both after the cuts of mps_halve_cwnd() */
	u32	ssthresh_pkts;		/* TCP_INFINITE_SSTHRESH before the first loss */
	u32	in_flight_pkts;
	u32	left_out_pkts;		/* sent, but neither in flight nor acknowledged in order:
					 * they arrived out of order or count as lost
					 */
	u32	limit_pkts;		/* a limit beside cwnd, from mps_set_limit() and
					 * mps_penalise(); ~0: none
					 */
	u32	unsent_bytes;		/* in its queue, never sent */
	u32	outstanding_bytes;	/* in its queue or sent, and not acknowledged */
	u64	acked_bytes;		/* in order, since its beginning, at the same time */
	u32	memory_bytes;		/* memory of the outstanding data, with all overhead */
	bool	memory_full;		/* the test of upstream's default scheduler: the subflow
					 * may take no more memory, or has enough unsent data
					 */
	u32	window_bytes;		/* rest of the receive window, as this subflow knows it */
	u64	pacing_rate;		/* bytes per second; ~0: not paced */

	/* From its ACKs, selective ones included. Times are those of mps_clock_ns();
	 * 0: none yet.
	 */
	u32	delivered_pkts;		/* since its beginning */
	u64	delivered_ns;		/* when the latest ACK came */
	u64	delivered_sent_ns;	/* when TCP sent the data that it acknowledged */
	u64	oldest_sent_ns;		/* when TCP sent the oldest packet in flight */

	/* Packets that TCP took for lost, and retransmissions; TCP may err, and the first
	 * copy may have arrived. The first two count since the subflow's beginning, until
	 * its latest ACK or timeout. The others are those of its latest complete round. A
	 * round lasts about a round trip, or a window: until TCP has the ACK of all data
	 * that it had sent when the round began, or until the first ACK if it had sent
	 * none. mps_loss_permille() makes a rate of them.
	 */
	u32	lost_pkts;
	u32	retransmitted_pkts;
	u32	rounds;			/* complete ones, since its beginning */
	u32	round_delivered_pkts;
	u32	round_lost_pkts;
	u32	round_retransmitted_pkts;

	/* The peer advertised both: in its latest ACK, the receive window of the
	 * connection, counted from the connection's data that it has; in its SYN, the
	 * size of a packet with TCP's options (MSS).
	 */
	u32	peer_window_bytes;
	u32	peer_mss_bytes;

	/* One-way delays to the peer; 0: none yet. mps_delays_comparable() says what they
	 * contain, and whether two subflows can be compared.
	 */
	u32	owd_us;			/* latest sample, of a packet */
	u32	commd_us;		/* smoothed, of a segment with its retransmissions */

	struct list_head node;		/* for mps_for_each_subflow() */
	u64	priv[] __aligned(8);	/* for mps_subflow_priv() */
};

/* A connection. Sequence numbers count bytes since its first one. */
struct mps_conn {
	u64	una_seq;		/* all data before it is acknowledged */
	u64	nxt_seq;		/* end of the farthest segment ever sent */
	u64	window_end_seq;		/* the receiver takes data before it */
	u32	window_bytes;		/* the whole receive window, from una_seq on */
	u32	unsent_bytes;		/* written by the application, never sent */
	u32	subflows_usable;
	u32	segment_bytes;		/* size of a full segment */
	bool	writer_waits;		/* nothing is unsent, and the application waits until a
					 * third of the send buffer is free
					 */
	bool	sndbuf_full;		/* and none of the send buffer is free now */
	bool	closing;		/* the application will write no more */
	u32	units_announced;	/* since the connection's beginning */

	struct list_head subflows;	/* for mps_for_each_subflow() */
	u32	params[MPS_PARAMS_MAX];	/* for mps_param() */
	u64	priv[] __aligned(8);	/* for mps_conn_priv() */
};

/* --- the answer of next_segment() */

enum mps_kind {
	MPS_NEW = 1,		/* an unsent segment, or its rest */
	MPS_REINJECTION,	/* one of the reinjection queue; it leaves when all is sent */
	MPS_DUPLICATE,		/* a copy of one in flight on another subflow */
	MPS_DROP,		/* no segment: a unit to be dropped */
};

struct mps_pick {
	struct mps_subflow	*subflow;
	u64			seq;		/* mps_seq() of the segment, or of the unit */
	/* Send at most these bytes of the segment; 0: all. v0.9x does so where a quota or
	 * the subflow's window ends within a segment; others try a path with a few bytes.
	 * The next pick goes on with the rest of a new segment, which stays unsent, or of
	 * a reinjection, which stays in its queue. This subflow does not send the rest of
	 * a duplicate. A shortage of memory has the same effects.
	 */
	u32			limit_bytes;
	u8			kind;		/* enum mps_kind */
};

/* --- a scheduler */

/* A parameter: the sysctl net.mptcp.SCHEDULER.NAME of each network namespace. A
 * connection sees a new value at its next question. A value that only init() reads holds for
 * connections that begin later.
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
	/* Required. True: send *pick; false: wait. */
	bool (*next_segment)(struct mps_conn *conn, struct mps_pick *pick);

	/* All others are optional. */

	/* The connection's retransmission timer has expired: which subflow sends its oldest
	 * segment again? NULL: none for now; the framework obeys while anything is in
	 * flight on a usable subflow. Default: mps_lowest_rtt().
	 */
	struct mps_subflow *(*get_subflow)(struct mps_conn *conn, const struct mps_segment *seg);

	/* The framework zeroes private state before init. It calls release_subflow() for
	 * each subflow before release().
	 */
	void (*init)(struct mps_conn *conn);
	void (*release)(struct mps_conn *conn);
	void (*init_subflow)(struct mps_conn *conn, struct mps_subflow *subflow);
	void (*release_subflow)(struct mps_conn *conn, struct mps_subflow *subflow);

	/* The framework reports events before its next question: an ACK of data on a
	 * subflow; its entry into recovery after a loss; its retransmission timeout; a
	 * change of `usable` or `backup`.
	 */
	void (*on_ack)(struct mps_conn *conn, struct mps_subflow *subflow, u64 acked_bytes);
	void (*on_loss)(struct mps_conn *conn, struct mps_subflow *subflow);
	void (*on_rto)(struct mps_conn *conn, struct mps_subflow *subflow);
	void (*on_subflow_state)(struct mps_conn *conn, struct mps_subflow *subflow);

	/* The framework has sent `bytes` of this pick. */
	void (*on_sent)(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes);

	/* Applications may announce units. Without it, they get -EOPNOTSUPP. */
	bool			takes_units;

	/* The default of net.mptcp.recovery for its connections, where the user has set none. */
	bool			recovers;

	/* On a kernel without our patches, a pick holds for this much data while the subflow has
	 * room. 0: for a fragment, as net/mptcp has them.
	 */
	u32			choice_bytes;

	char			name[MPTCP_SCHED_NAME_MAX];
	struct module		*owner;
	size_t			conn_size;	/* private state of a connection */
	size_t			subflow_size;	/* private state of a subflow */
	const struct mps_param	*params;
	unsigned int		num_params;
};

/* Registration refuses (-EINVAL): a scheduler without next_segment(), or whose owner is
 * not its module; more state than MPS_STATE_MAX; a name that cannot be a sysctl's;
 * parameters that make no sense. It refuses a name in use (-EEXIST). A line in the
 * kernel's log names the field, its value, and the accepted ones.
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

/* Lost packets of 1000 in its latest complete round. 0: none, or no round yet. */
static inline u32 mps_loss_permille(const struct mps_subflow *subflow)
{
	u64 pkts = (u64)subflow->round_delivered_pkts + subflow->round_lost_pkts;

	return pkts ? div64_u64(1000ULL * subflow->round_lost_pkts, pkts) : 0;
}

static inline u32 mps_param(const struct mps_conn *conn, unsigned int index)
{
	return conn->params[index];
}

/* The queue of the local device that the subflow leaves by: bytes that wait in it, and
 * bytes that have left it since its beginning. Both count all traffic, with Ethernet's
 * headers. Both are 0 for a device without a queue.
 */
struct mps_device {
	u64	queue_bytes;
	u64	sent_bytes;
};

struct mps_device mps_device(const struct mps_subflow *subflow);

/* Does TCP hold the subflow back because its packets are still in this host (TCP small
 * queues)?
 */
bool mps_throttled(const struct mps_subflow *subflow);

/* Bytes that the device itself counts as sent, with or without a queue; 0: no device.
 * And do two subflows leave by the same device?
 */
u64 mps_device_sent_bytes(const struct mps_subflow *subflow);
bool mps_same_device(const struct mps_subflow *one, const struct mps_subflow *other);

/* --- one-way delays */

/* A peer puts its time, in whole ms, into every ACK (RFC 7323). That time less the time
 * when the acknowledged data was sent is the one-way delay, plus an unknown constant:
 * the difference of the two clocks. owd_us and commd_us contain this constant. It is
 * the same on all subflows if the peer's timestamps have the same offset on each. Linux
 * gives each its own offset, unless net.ipv4.tcp_timestamps is 2 at the peer. With one
 * offset, the delays of two subflows can be compared, to 1 ms. They are good for
 * nothing else.
 *
 * owd_us is the delay of the packet that was acknowledged last. commd_us is the one-way
 * communication delay of Yang and Amer: from the first transmission of a segment until
 * it has arrived with all data before it on its subflow, retransmissions included. Both
 * include the peer's delay of its ACK, up to 40 ms.
 *
 * True: all usable subflows have timestamps, and no two of them disagree about the
 * clocks, for which each ACK gives bounds. A subflow may have no sample yet.
 */
bool mps_delays_comparable(const struct mps_conn *conn);

/* Counts a decision that the scheduler makes without its own input, which is missing:
 * the counter `fallbacks` of a run.
 */
void mps_count_fallback(struct mps_conn *conn);

/* --- segments; NULL ends a list */

u64 mps_seq(const struct mps_conn *conn, const struct mps_segment *seg);
u32 mps_len(const struct mps_segment *seg);

/* Did this subflow carry the segment, or a part of it? If it left in parts, only the parts
 * of its latest reinjection count.
 */
bool mps_carried_by(const struct mps_segment *seg, const struct mps_subflow *subflow);

/* Unsent segments, also those with an unsent rest, in order. A short last one does not
 * count while another short one is in flight: it waits for more data (Nagle).
 */
struct mps_segment *mps_head(const struct mps_conn *conn);
struct mps_segment *mps_next_unsent(const struct mps_conn *conn, const struct mps_segment *seg);

/* The unsent segment n places behind the first. The search goes on from the place of the
 * last call, and takes a step for each place between the two.
 */
struct mps_segment *mps_nth_unsent(struct mps_conn *conn, u32 n);

/* Segments of subflows in trouble, to be sent on others, in order. */
struct mps_segment *mps_reinjection(const struct mps_conn *conn);

/* Segments that were sent and are not acknowledged, in order. A scheduler walks them to
 * look for copies in another way than mps_oldest_missing() does.
 */
struct mps_segment *mps_oldest_unacked(const struct mps_conn *conn);
struct mps_segment *mps_next_unacked(const struct mps_conn *conn, const struct mps_segment *seg);

/* The last sent segment before the first unsent one. */
struct mps_segment *mps_latest_sent(const struct mps_conn *conn);

/* The oldest unacknowledged segment before the first unsent one that the subflow did not
 * carry. It is cheap: the search goes on from its last place.
 */
struct mps_segment *mps_oldest_missing(struct mps_conn *conn, struct mps_subflow *subflow);

/* Does the receive window have room for the segment? */
bool mps_fits_window(const struct mps_conn *conn, const struct mps_segment *seg);

/* --- units: an application describes its data (docs/units.md) */

/* Bytes of the stream that are useful only together, such as a frame of a video. A
 * segment never has bytes of two units. Times are those of mps_clock_ns(); ~0: none.
 */
struct mps_unit {
	u64	seq;		/* of its first byte */
	u32	bytes;		/* of the whole unit */
	u32	written_bytes;	/* so far */
	u32	id;
	u32	depends_on;	/* id of an earlier unit that it needs; 0: none */
	u32	importance;	/* higher: dropped later; at least that of its dependents */
	bool	useless;	/* the unit that it needs was dropped */
	u64	deadline_ns;	/* the receiver wants all of it by then */
	u64	expires_ns;	/* and has no use for it afterwards */
};

/* Units that are neither wholly sent nor dropped, in order, at most MPS_UNITS_MAX. The
 * application may still be writing the last one.
 */
#define MPS_UNITS_MAX		256

struct mps_unit *mps_first_unit(const struct mps_conn *conn);
struct mps_unit *mps_next_unit(const struct mps_conn *conn, const struct mps_unit *unit);

/* The unit of a segment; NULL: none */
struct mps_unit *mps_unit_of(const struct mps_conn *conn, const struct mps_segment *seg);

/* Is all of the unit unsent, and all data behind it? Then it can be dropped: later data
 * takes its place in the stream. Its dependents become useless and have to be dropped.
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

/* Refused on a subflow that carried the segment: there TCP retransmits it. */
static inline bool mps_pick_duplicate(struct mps_pick *pick, struct mps_conn *conn,
				      struct mps_subflow *subflow,
				      const struct mps_segment *seg)
{
	return __mps_pick(pick, conn, subflow, seg, MPS_DUPLICATE);
}

/* --- availability, as in the out-of-tree kernels (v0.9x), and its parts */

/* After a timeout, only retransmissions may leave. */
static inline bool mps_in_loss(const struct mps_subflow *subflow)
{
	return subflow->ca_state == TCP_CA_Loss;
}

/* cwnd, or the limit beside it */
static inline u32 mps_cwnd(const struct mps_subflow *subflow)
{
	return min(subflow->cwnd_pkts, subflow->limit_pkts);
}

/* Is there room for one more segment? Data in the subflow's queue counts against the
 * congestion window. The code of v0.94 and before, and of its descendants, would let one
 * more segment wait. But v0.9x hands each segment to TCP before it chooses again, so that
 * the window is full by then and none waits.
 */
static inline bool mps_has_room(const struct mps_subflow *subflow)
{
	u32 cwnd = mps_cwnd(subflow);

	if (subflow->in_flight_pkts >= cwnd)
		return false;
	return subflow->unsent_bytes < (u64)(cwnd - subflow->in_flight_pkts) * subflow->mss_bytes;
}

/* Would the subflow send a segment at once? */
static inline bool mps_available(const struct mps_subflow *subflow)
{
	return subflow->usable && !mps_in_loss(subflow) && mps_has_room(subflow);
}

/* May backup subflows be used, since no other subflow is usable? */
bool mps_only_backups(const struct mps_conn *conn);

/* The parameter `spare_backups` of schedulers whose source does not look at the flag: off,
 * backup subflows are used like others; on, only if no other one is usable.
 */
static inline bool mps_may_use_backups(const struct mps_conn *conn, unsigned int spare_backups)
{
	return !mps_param(conn, spare_backups) || mps_only_backups(conn);
}

/* Does the subflow have room, or will it surely have some? True also if a full window is
 * all that is wrong with it, and its data is in flight or about to leave: then an ACK
 * follows, or at worst a timeout.
 */
bool mps_has_room_soon(const struct mps_subflow *subflow);

/* --- functions that several schedulers share */

/* The choice of v0.95's default scheduler: the available subflow with the lowest
 * smoothed RTT; in a tie, the first one; a distrusted one only if all are distrusted.
 * `seg` NULL stands for new data. For a segment, subflows that did not carry it come
 * before those that did. Backup subflows come in if no other is usable or, for a
 * segment, if all others carried it. NULL: wait, since none of these has room.
 */
struct mps_subflow *mps_lowest_rtt(struct mps_conn *conn, const struct mps_segment *seg);

/* The subflow to wait for instead of using `slow`: a faster one, of no lower priority,
 * that is full and will surely have room soon. Of several, the one with the lowest RTT.
 * NULL: none.
 */
struct mps_subflow *mps_faster_but_full(struct mps_conn *conn, const struct mps_subflow *slow);

/* The same by the rule of BLEST's and ECF's modules: the lowest RTT of all subflows,
 * whatever their state; in a tie, the first one. NULL: it is `slow`. The modules could
 * wait for some subflows until the connection stalls. Those are left out here: ones that
 * are not usable, of lower priority than `slow`, or with no data in flight or about to
 * leave, so that neither an ACK nor a timeout would bring the next decision.
 */
struct mps_subflow *mps_fastest_but(struct mps_conn *conn, const struct mps_subflow *slow);

/* The first available subflow that did not carry the segment, or else the first available
 * one; backups count only with `backups`. NULL: none is available.
 */
struct mps_subflow *mps_first_available(struct mps_conn *conn, const struct mps_segment *seg,
					bool backups);

/* Picks the head of the reinjection queue for the subflow that mps_lowest_rtt() chooses.
 * False: the queue is empty, or no subflow is available.
 */
bool mps_reinject(struct mps_conn *conn, struct mps_pick *pick);

/* Picks a reinjection, or else new data, for this subflow. Without `queue`, only while the
 * subflow is available. False: it is NULL or not available, or there is nothing to send.
 */
bool mps_all_on(struct mps_conn *conn, struct mps_subflow *subflow, bool queue,
		struct mps_pick *pick);

/* Opportunistic retransmission and penalisation (Raiciu et al., NSDI 2012, section 4.2).
 * Data in flight on a slower subflow may keep the faster one from sending: new data does
 * not fit into the receive window, or nothing is unsent while a writer waits for room in
 * the send buffer. Then `fast` sends the oldest segment, too. Slower subflows that carry
 * it and do not repair a loss are penalised, at most once in an RTT of `fast`, and never
 * while the receive window and the send buffer have room. False: nothing to send.
 */
enum mps_rp {
	MPS_RP_OFF,	/* neither */
	MPS_RP_REPEAT,	/* no subflow is penalised */
	MPS_RP_HALVE,	/* by mps_halve_cwnd(), as in v0.95 */
	MPS_RP_HALVE_ONE, /* the latest one that carries it, as in v0.94 and before */
	MPS_RP_LIMIT,	/* by mps_penalise() */
};

/* The choice of two parameters of a scheduler, `rp` and `rp_limit`. */
static inline enum mps_rp mps_rp(const struct mps_conn *conn, unsigned int rp,
				 unsigned int rp_limit)
{
	if (!mps_param(conn, rp))
		return MPS_RP_OFF;
	return mps_param(conn, rp_limit) ? MPS_RP_LIMIT : MPS_RP_HALVE;
}

bool mps_opportunistic(struct mps_conn *conn, struct mps_subflow *fast, enum mps_rp rp,
		       struct mps_pick *pick);

/* Picks `seg` for `subflow`. If it does not fit into the receive window, or is NULL while
 * a writer waits, mps_opportunistic() comes first. If the window is smaller than a
 * segment, the part that fits leaves.
 */
bool mps_new_or_repeat(struct mps_conn *conn, struct mps_subflow *subflow,
		       struct mps_segment *seg, enum mps_rp rp, struct mps_pick *pick);

/* Halves the subflow's congestion window, to 1 at least, and its slow-start threshold, to 2
 * at least, unless it is in slow start. The congestion control does not learn of it: Reno
 * goes on from there, CUBIC hurries back to its former window, BBR sets its window with
 * the next ACKs. The scheduler sees the new window at once. TCP gets it when the subflow
 * is locked next, unless TCP repairs a loss by then.
 */
void mps_halve_cwnd(struct mps_subflow *subflow);

/* Halves the subflow's limit of packets in flight, which stands beside the congestion
 * window; the congestion control knows nothing of it. The limit grows as in slow start,
 * until it reaches the window. So the window still measures the path, and the penalty
 * lasts as long as its reason recurs.
 */
void mps_penalise(struct mps_subflow *subflow);

/* Sets a second limit, in segments; ~0: none. The smaller of the two counts. */
void mps_set_limit(struct mps_subflow *subflow, u32 pkts);

/* --- subflows in trouble, before TCP knows */

/* With true, data in flight on this subflow alone, now or later, also waits in the
 * reinjection queue, as after a timeout. The subflow may still be picked. With false,
 * the subflow alone carries the queued rest again. The call does nothing while no other
 * subflow can be trusted. Each change walks all segments that are not acknowledged, sent or
 * not: with a send buffer of megabytes, a change in each question is slow.
 */
void mps_distrust(struct mps_subflow *subflow, bool distrust);

/* With true, the subflow's timer stops doubling, from its next retransmission timeout on:
 * a packet in each timeout tries whether the path is back. Schedulers ask for it only
 * while other subflows carry the data. False ends it.
 */
void mps_set_linear_timeouts(struct mps_subflow *subflow, bool linear);

/* --- time */

/* Nanoseconds since boot. Reading it takes no virtual time. */
u64 mps_clock_ns(void);

/* The framework asks next_segment() at this time, or earlier. A connection has one such
 * time: a later call replaces an earlier one; 0 or ~0: none. A time in the past means
 * now. In release(), a call has no effect.
 */
void mps_wake_at(struct mps_conn *conn, u64 ns);

/* --- for observers */

/* Adds an event of the scheduler's own to the log of its decisions. The scheduler defines
 * the meaning of the number.
 */
void mps_event(const struct mps_conn *conn, const struct mps_subflow *subflow, u32 number);

#endif
