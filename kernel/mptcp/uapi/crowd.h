/* SPDX-License-Identifier: GPL-2.0-only */
/* What /proc/mptcplab_crowd is told, and what it tells. */
#ifndef MPTCPLAB_CROWD_H
#define MPTCPLAB_CROWD_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Each connection begins with this, before the bytes of its stream. */
struct crowd_greeting {
	char	magic[4];
	__u32	connection;	/* from 1 */
};

#define CROWD_MAGIC	"lab:"

#define CROWD_OPEN_ENDED	(~0ULL)

/* One end of all connections. Bytes of a direction: 0 are none, CROWD_OPEN_ENDED as many as
 * the connection takes until stop_ns.
 */
struct crowd_settings {
	__u64	seed;		/* of the streams, see pattern.h */
	__u64	up_bytes;
	__u64	down_bytes;
	__u64	stop_ns;	/* monotonic, 0: never; an attempt to connect ends then */
	__u32	connections;
	__u32	is_server;
};

/* A TCP or MPTCP socket that connects, or is connected. */
struct crowd_socket {
	__s32	fd;
	__u32	connection;	/* from 1; 0 at the server: its greeting says it */
};

/* read() gives a record for each connection that has ended. Times are monotonic, and 0 for
 * what has not happened.
 */
struct crowd_record {
	__u32	connection;	/* 0: it failed before the greeting */
	__s32	error;		/* 0, or as errno */
	__u64	sent_bytes;
	__u64	received_bytes;
	__u64	begin_ns;	/* first byte given to the socket */
	__u64	written_ns;	/* last byte */
	__u64	first_ns;	/* first bytes received */
	__u64	complete_ns;	/* last bytes, or the end of an open-ended stream */
};

#define CROWD_START	_IOW('m', 2, struct crowd_settings)
#define CROWD_ADD	_IOW('m', 3, struct crowd_socket)

#endif
