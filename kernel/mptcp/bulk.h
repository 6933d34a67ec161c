/* SPDX-License-Identifier: GPL-2.0-only */
/* What /proc/mptcplab_bulk is asked; guest/traffic.c has the same. */
#ifndef BULK_H
#define BULK_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* One connection, which is among what is polled. If it waits for POLLOUT, it
 * sends; if for POLLIN alone (and POLLRDHUP), it receives.
 */
struct bulk_wait {
	__u64	fds;		/* as of poll() */
	__u32	count;
	__u32	own;		/* which of fds is the connection */
	__u64	seed;		/* of the stream's words */
	__u64	until_ns;	/* monotonic: nothing is moved after that */
	__u32	clock_reads;	/* after each time that something was moved */
	__u32	chunk_bytes;	/* what is at most moved at once, a multiple of 8 */
	/* these change */
	__u64	position;	/* in the stream */
	__u64	left;		/* bytes of the message; more than a chunk stays left */
	__u32	sent;		/* of the chunk that is being sent */
	__u32	receives;	/* so often at most */
	__u64	wrong;		/* position of a byte that is not what it should be: -EBADMSG */
	__u32	found;
	__u32	reserved;
};

/* Returns what poll() returns. */
#define BULK_WAIT	_IOWR('m', 1, struct bulk_wait)

#endif
