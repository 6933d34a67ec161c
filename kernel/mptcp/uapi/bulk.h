/* SPDX-License-Identifier: GPL-2.0-only */
/* What /proc/mptcplab_bulk is asked. */
#ifndef MPTCPLAB_BULK_H
#define MPTCPLAB_BULK_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* One direction of a connection that is among what is polled. One that does both
 * receives first, and sends then, whichever it is ready for: its flows stand in
 * this order, one behind the other.
 */
struct bulk_flow {
	__u32	own;		/* which of fds is the connection */
	__u32	sends;
	__u32	clock_reads;	/* after each time that something was moved */
	__u32	chunk_bytes;	/* what is at most moved at once, a multiple of 8 */
	__u64	seed;		/* of the stream's words */
	__u64	until_ns;	/* monotonic: nothing is moved after that */
	/* these change */
	__u64	position;	/* in the stream */
	__u64	left;		/* bytes of the message; more than a chunk stays left */
	__u32	sent;		/* of the chunk that is being sent */
	__u32	reserved;
};

#define BULK_FLOWS_MAX	256

struct bulk_wait {
	__u64	fds;		/* as of poll() */
	__u32	count;
	__u32	flow_count;
	__u64	flows;		/* of which one at a time may be ready, or it is for the process */
	/* a byte that is not what it should be: -EBADMSG */
	__u64	wrong;		/* its position */
	__u32	flow;		/* of which */
	__u32	found;
};

/* Returns what poll() returns. */
#define BULK_WAIT	_IOWR('m', 1, struct bulk_wait)

#endif
