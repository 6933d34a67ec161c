/* SPDX-License-Identifier: GPL-2.0-only */
/* The gap of stms, and the samples that it follows from. */
#ifndef _MPTCP_LAB_STMS_GAP_H
#define _MPTCP_LAB_STMS_GAP_H

#include "mpsched.h"

/* The parameters */
enum { SHRINK, PROBE_RTTS };

struct stms_subflow {
	u64	gap_bytes;
	u64	idle_ns;	/* if nothing is sent until then, it is probed */
	u8	probe_shift;

	/* the sample */
	bool	sampling;
	bool	probe;
	u32	faster;		/* which subflows, by bits of their ids */
	u64	seq;
	u64	end_seq;
	u64	ahead_bytes;	/* unsent before it when it left */
	u64	left_bytes;	/* acknowledged on the subflow until it is, too */
	s64	missing_bytes;	/* on faster ones until all before it is */
};

/* A sample has left: bytes from seq on, with so much unsent before. */
void stms_begin_sample(struct mps_conn *conn, struct mps_subflow *subflow, u64 seq, u32 bytes,
		       u64 ahead_bytes);

/* Has the connection been acknowledged beyond a sample? Then the gap changes. */
void stms_look(struct mps_conn *conn);

/* The hook on_ack(), and the one for losses, timeouts and changes of a subflow */
void stms_count_acked(struct mps_conn *conn, struct mps_subflow *subflow, u64 acked_bytes);
void stms_forget_samples(struct mps_conn *conn, struct mps_subflow *subflow);

#endif
