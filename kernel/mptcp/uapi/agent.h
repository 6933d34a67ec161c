/* SPDX-License-Identifier: GPL-2.0-only */
/* What the scheduler `agent` and an agent outside say to each other (docs/agent.md). A question is
 * one message: struct agent_question, and a struct agent_subflow for each subflow. The answer is
 * one, too: struct agent_answer, and the settings that it announces. All is little-endian.
 * Fields have the names and units of mpsched.h. The other end is src/mptcplab/agent.py.
 */
#ifndef MPTCPLAB_AGENT_H
#define MPTCPLAB_AGENT_H

#include <linux/types.h>

/* changes with each change of this file */
#define AGENT_VERSION		1

#define AGENT_SUBFLOWS_MAX	32
#define AGENT_SETTINGS_MAX	8

/* why it asks */
enum agent_why {
	AGENT_DECISION = 1,
	AGENT_TIME = 2,
	AGENT_EVENT = 3,
};

/* events since the latest question */
#define AGENT_BEGIN		1	/* it is the connection's first question */
#define AGENT_LOSS		2
#define AGENT_RTO		4
#define AGENT_SUBFLOWS		8	/* one came, went or changed */

/* flags of a question */
#define AGENT_WRITER_WAITS	1
#define AGENT_SNDBUF_FULL	2
#define AGENT_CLOSING		4
#define AGENT_REINJECTION	8	/* the next segment is one; else it is new data */
#define AGENT_SERVER		16	/* this end accepted the connection */

/* flags of a subflow */
#define AGENT_USABLE		1
#define AGENT_BACKUP		2
#define AGENT_STALE		4
#define AGENT_MEMORY_FULL	8
#define AGENT_AVAILABLE		16	/* mps_available(): it would send a segment at once */
#define AGENT_THROTTLED		32	/* mps_throttled() */
#define AGENT_CARRIED		64	/* it carried the next segment before */

struct agent_question {
	__le32	version;
	__le32	connection;		/* 1, 2, ... in the order of first questions */
	__le64	time_ns;		/* virtual time since boot */
	__le64	una_seq;
	__le64	nxt_seq;
	__le64	window_end_seq;
	__le64	segment_seq;		/* the next segment: of the reinjection queue, or new */
	__le32	segment_len;		/* 0: there is none */
	__le32	why;			/* enum agent_why */
	__le32	events;
	__le32	flags;
	__le32	window_bytes;
	__le32	unsent_bytes;
	__le32	segment_bytes;
	__le32	units_announced;
	__le32	refused;		/* answers so far that made no sense */
	__le32	subflows;		/* that follow */
};

struct agent_subflow {
	__le64	acked_bytes;
	__le64	pacing_rate;
	__le64	delivered_ns;
	__le64	delivered_sent_ns;
	__le64	oldest_sent_ns;
	__le64	device_queue_bytes;
	__le64	device_sent_bytes;
	__le32	id;
	__le32	flags;
	__le32	ca_state;
	__le32	mss_bytes;
	__le32	srtt_us;
	__le32	rttvar_us;
	__le32	rto_margin_us;
	__le32	min_rtt_us;
	__le32	last_rtt_us;
	__le32	cwnd_pkts;
	__le32	ssthresh_pkts;
	__le32	in_flight_pkts;
	__le32	left_out_pkts;
	__le32	limit_pkts;
	__le32	unsent_bytes;
	__le32	outstanding_bytes;
	__le32	memory_bytes;
	__le32	window_bytes;
	__le32	delivered_pkts;
	__le32	lost_pkts;
	__le32	retransmitted_pkts;
	__le32	rounds;
	__le32	round_delivered_pkts;
	__le32	round_lost_pkts;
	__le32	round_retransmitted_pkts;
	__le32	peer_window_bytes;
	__le32	peer_mss_bytes;
	__le32	owd_us;
	__le32	commd_us;
	__le32	reserved;
};

/* what it answers; all but LEAVE hold until the next question */
enum agent_what {
	AGENT_WAIT = 1,
	AGENT_SEND = 2,			/* on one subflow, while that is available */
	AGENT_DELEGATE = 3,		/* another scheduler decides */
	AGENT_KEEP = 4,			/* as after the latest answer; at first as LEAVE */
	AGENT_LEAVE = 5,		/* as minrtt; it asks for this connection no more */
};

struct agent_answer {
	__le32	what;			/* enum agent_what */
	__le32	subflow;		/* of SEND: its id */
	__le32	wake_us;		/* ask after this time at the latest; 0: none */
	__le32	settings;		/* that follow */
	char	scheduler[16];		/* of DELEGATE */
};

/* A parameter of the scheduler that is delegated to, for this connection. */
struct agent_setting {
	char	name[28];
	__le32	value;
};

#endif
