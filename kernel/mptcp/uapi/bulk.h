/* SPDX-License-Identifier: GPL-2.0-only */
/* What /proc/mptcplab_bulk is asked. */
#ifndef MPTCPLAB_BULK_H
#define MPTCPLAB_BULK_H

#include <linux/ioctl.h>
#include <linux/time_types.h>
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
	__u64	until_ns;	/* monotonic: nothing is moved shortly before, nor after that */
	/* these change */
	__u64	position;	/* in the stream */
	/* sends: bytes of the message, of which a chunk stays left; else: after so many
	 * bytes there is something to do for the process
	 */
	__u64	left;
	__u32	sent;		/* of the chunk that is being sent */
	__u32	reserved;
};

#define BULK_FLOWS_MAX	256

/* What came at once, and when it was there. */
struct bulk_receipt {
	__u32	flow;		/* of flows */
	__u32	bytes;
	__u64	at_ns;		/* monotonic */
};

#define BULK_RECEIPTS_MAX	1024

struct bulk_wait {
	__u64	fds;		/* as of poll() */
	__u32	count;
	__u32	flow_count;
	__u64	flows;		/* of which one at a time may be ready, or it is for the process */
	/* a byte that is not what it should be: -EBADMSG */
	__u64	wrong;		/* its position */
	__u32	flow;		/* of which */
	__u32	found;
	__u64	receipts;	/* room for as many as there may be */
	__u32	receipt_count;	/* of them, what has come */
	/* of which each wait begins with timerfd_settime(TFD_TIMER_ABSTIME), -1: of none */
	__s32	timer;
	struct __kernel_itimerspec wake;
};

/* Returns what poll() returns; 0: there is no room for more receipts. A connection whose `left`
 * has come counts as one to which can be sent.
 */
#define BULK_WAIT	_IOWR('m', 1, struct bulk_wait)

#endif
