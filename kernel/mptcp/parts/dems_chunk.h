/* SPDX-License-Identifier: GPL-2.0-only */
/* The chunk of dems: data that is useful as a whole. */
#ifndef _MPTCP_LAB_DEMS_CHUNK_H
#define _MPTCP_LAB_DEMS_CHUNK_H

#include "mpsched.h"

/* the scheduler's state of the connection */
struct dems_chunk {
	u64	begin_seq;
	u64	end_seq;
	u64	copied_bytes;	/* of the chunk */
	u32	nth;		/* no unsent segment of the chunk is behind this one */
};

/* Begins a chunk at the first unsent segment: the unit that the application announced, or
 * else all that is written and fits into the receive window.
 */
void dems_begin_chunk(struct mps_conn *conn, struct mps_segment *head);

/* The last unsent segment of the chunk; NULL: all of it was sent. */
struct mps_segment *dems_chunk_last(struct mps_conn *conn);

#endif
