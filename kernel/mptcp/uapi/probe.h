/* SPDX-License-Identifier: GPL-2.0-only */
/* What the probe writes: 192-byte little-endian records of three kinds, mixed,
 * in the order of time. Counters start with the connection, the subflow or the
 * queueing discipline.
 * The trace of decisions has records of its own, of 48 bytes; the one of what the
 * schedulers saw has four kinds of 192 bytes.
 * The reader of these records is src/mptcplab/metrics/records.py.
 */
#ifndef MPTCPLAB_PROBE_H
#define MPTCPLAB_PROBE_H

#include <linux/types.h>

enum probe_kind {
	PROBE_CONNECTION = 1,
	PROBE_SUBFLOW = 2,
	PROBE_LINK = 3,
};

/* of a connection: the application waits for room in the send buffer */
#define PROBE_NO_SPACE	1
/* there was no memory for its scheduler, and it has the default one */
#define PROBE_UNSCHEDULED	2

struct probe_head {
	__le64	time_ns;	/* simulated time since boot */
	__le32	connection;	/* 1, 2, ... in the order of first sight; 0: a link */
	__u8	kind;
	__u8	n;		/* subflows of the connection; or which one, from 0 */
	__le16	flags;		/* PROBE_... of a connection */
};

struct probe_connection {
	struct probe_head head;
	__le64	delivered_bytes;	/* received in order */
	__le64	read_bytes;		/* of these, taken by the application */
	__le64	ofo_bytes;		/* held in the out-of-order queue */
	__le64	written_bytes;		/* by the application */
	__le64	sent_bytes;		/* for the first time */
	__le64	acked_bytes;		/* by the peer, at the connection level */
	__le32	sndbuf_used;		/* memory, overhead counted */
	__le32	sndbuf;
	__le32	rcvbuf_used;		/* memory, overhead counted */
	__le32	rcvbuf;
	__le64	window_bytes;		/* left of the send window */
	__le32	ofo_packets;
	__le32	reserved;
	__le64	reinjected_bytes;	/* sent again at the connection level */
	__le64	waits;			/* the scheduler was asked, and waited */
	__le64	refused;		/* it picked what makes no sense */
	__le64	forced;			/* it waited with nothing in flight */
	__le64	blocked_us;		/* the out-of-order queue was not empty */
	__le32	blocks;			/* how often that began */
	__le32	fallbacks;		/* decisions without what the scheduler looks at */
	__le32	forced_reinjections;	/* for which it named no subflow */
	__le32	deferred;		/* questions that it provoked, and that had to wait */
	__le32	refused_calls;		/* its calls with a subflow that is gone */
	__le32	reinjection_packets;	/* v0: in the reinjection queue */
	__u8	padding[32];
};

struct probe_subflow {
	struct probe_head head;
	__be32	local_addr;		/* of IPv6, the last four bytes */
	__be32	remote_addr;
	__le32	cwnd;			/* segments */
	__le32	ssthresh;		/* segments */
	__le32	srtt_us;
	__le32	rttvar_us;
	__le32	min_rtt_us;
	__le32	in_flight;		/* segments */
	__le32	mss;			/* bytes */
	__le32	unsent_bytes;		/* in the subflow's queue */
	__le64	sent_bytes;		/* retransmissions counted */
	__le64	acked_bytes;
	__le64	received_bytes;		/* in order at the subflow */
	__le64	retransmitted_bytes;
	__le32	retransmitted_packets;
	__le32	data_packets_out;	/* retransmissions counted */
	__le32	data_packets_in;
	__le32	window_bytes;		/* that the peer granted */
	__le32	ofo_bytes;		/* out-of-order queue of the subflow */
	__u8	ca_state;
	__u8	tcp_state;
	__u8	backup;
	__u8	reserved;
	__le32	new_segments;		/* picked by the scheduler, as new data */
	__le32	duplicates;		/* as copies of segments on their way elsewhere */
	__le32	reinjections;		/* of segments of subflows in trouble */
	__le16	local_port;
	__le16	remote_port;
	__le64	blocking_us;		/* others' data waited for what it brought */
	__le64	pacing_rate;		/* bytes/s; all ones: not paced */
	__le32	rto_us;
	__le32	timeouts;		/* how often it expired */
	__le32	penalties;		/* v0: a scheduler halved cwnd */
	__u8	padding[36];
};

/* The root queueing discipline of a device that has one. */
struct probe_link {
	struct probe_head head;
	__u8	device[16];
	__u8	qdisc[16];		/* its kind */
	__le64	sent_bytes;		/* link headers counted */
	__le64	sent_packets;
	__le64	dropped_packets;	/* for whatever reason */
	__le64	lost_packets;		/* of these, by the loss model of a netem */
	__le32	queue_packets;		/* waiting, or being sent */
	__le32	queue_bytes;
	__le32	delayed_packets;	/* by a netem: on their way */
	__le32	delayed_bytes;
	__u8	padding[96];
};

/* One decision of a scheduler. */
struct probe_decision {
	__le64	time_ns;
	__le64	seq;			/* bytes since the first one of the connection */
	__le32	connection;		/* 1, 2, ... in the order of first sight */
	__le32	length;
	__le32	subflow;		/* 1, 2, ... in the order of creation; 0: none */
	__u8	kind;			/* 0 wait, 1 new, 2 reinjection, 3 duplicate,
					 * 4 dropped (a unit), 5 refused, 6 forced,
					 * 7 event of the scheduler, whose number is
					 * in length
					 */
	__u8	reserved[3];
	__le32	unsent_bytes;		/* of the connection */
	__le32	in_flight;		/* segments of the subflow */
	__le32	cwnd;			/* of the subflow, or the limit beside it */
	__le32	reserved2;
};

/* What a scheduler saw each time it was asked: a question, a record of each subflow of
 * the connection in the scheduler's order, and an answer, with nothing of the same
 * connection between them. What is then carried out follows, at once or later.
 */
enum state_kind {
	STATE_QUESTION = 1,
	STATE_SUBFLOW = 2,
	STATE_ANSWER = 3,
	STATE_DONE = 4,
};

/* changes with each change of these records */
#define STATE_VERSION		2

/* of a question: as in struct mps_conn; there is such a segment */
#define STATE_WRITER_WAITS	1
#define STATE_SNDBUF_FULL	2
#define STATE_CLOSING		4
#define STATE_HEAD		8
#define STATE_OLDEST		16
#define STATE_REINJECTION	32

/* of a subflow: as in struct mps_subflow; it could send, if it were not silent since its
 * last timeout; which segments of the question it has carried
 */
#define STATE_USABLE		1
#define STATE_BACKUP		2
#define STATE_CAN_SEND		4
#define STATE_CARRIED_HEAD	8
#define STATE_CARRIED_OLDEST	16
#define STATE_CARRIED_REINJECTION 32
/* what it has sent is still in this host (TCP small queues) */
#define STATE_THROTTLED		64
#define STATE_MEMORY_FULL	128
#define STATE_STALE		256

struct state_head {
	__le64	time_ns;
	__le32	connection;	/* as in struct probe_decision */
	__u8	kind;		/* enum state_kind */
	__u8	n;		/* question: subflows; subflow: which one, from 0 */
	__le16	version;
};

struct state_question {
	struct state_head head;
	__u8	scheduler[16];
	__le64	una_seq;
	__le64	nxt_seq;
	__le64	window_end_seq;
	__le64	head_seq;		/* first unsent segment that may leave */
	__le64	oldest_seq;		/* oldest sent and not acknowledged */
	__le64	reinjection_seq;	/* first of the reinjection queue */
	__le32	head_bytes;
	__le32	head_sent;		/* of these */
	__le32	oldest_bytes;
	__le32	reinjection_bytes;
	__le32	window_bytes;
	__le32	unsent_bytes;
	__le32	segment_bytes;
	__le32	wmem_queued;		/* memory that the connection's data takes */
	__le32	sndbuf;
	__le32	jiffies;
	__le32	flags;
	__u8	padding[68];
};

struct state_subflow {
	struct state_head head;
	__le64	pacing_rate;
	__le64	delivered_ns;
	__le64	delivered_sent_ns;
	__le64	oldest_sent_ns;
	__le64	device_queue_bytes;
	__le64	device_sent_bytes;
	__le32	id;
	__le32	flags;
	__le32	ca_state;
	__le32	mss;
	__le32	srtt_us;
	__le32	srtt_8us;		/* eighths, as TCP keeps it */
	__le32	rttvar_us;
	__le32	rttvar_4us;		/* quarters, as TCP keeps it, no less than 50 ms */
	__le32	min_rtt_us;
	__le32	last_rtt_us;
	__le32	cwnd;
	__le32	ssthresh;
	__le32	limit;
	__le32	in_flight;
	__le32	packets_out;
	__le32	unsent_bytes;
	__le32	outstanding_bytes;
	__le32	window_bytes;
	__le32	wmem_queued;
	__le32	snd_una;
	__le32	snd_nxt;
	__le32	delivered;
	__le32	owd_us;
	__le32	commd_us;
	__u8	padding[32];
};

/* an answer, or what was done */
struct state_answer {
	struct state_head head;
	__le64	seq;
	__le32	subflow;		/* id; 0: none */
	__le32	bytes;			/* answer: limit, 0: none; done: how many */
	__u8	what;			/* as kind of struct probe_decision */
	__u8	padding[159];
};

_Static_assert(sizeof(struct state_question) == 192, "records of another size");
_Static_assert(sizeof(struct state_subflow) == 192, "records of another size");
_Static_assert(sizeof(struct state_answer) == 192, "records of another size");
_Static_assert(sizeof(struct probe_connection) == 192, "records of another size");
_Static_assert(sizeof(struct probe_subflow) == 192, "records of another size");
_Static_assert(sizeof(struct probe_link) == 192, "records of another size");
_Static_assert(sizeof(struct probe_decision) == 48, "records of another size");

#endif
