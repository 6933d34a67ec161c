/* SPDX-License-Identifier: GPL-2.0-only */
/* Socket options of this kernel at the level SOL_MPTCP, beside those of
 * <linux/mptcp.h>; docs/units.md.
 */
#ifndef MPTCPLAB_SOCKOPT_H
#define MPTCPLAB_SOCKOPT_H

#include <linux/types.h>

/* name of the scheduler; to be set before the connection is made */
#define MPTCP_SCHEDULER		100
/* set: the next bytes that are written are a unit; get: what became of units.
 * Times are of CLOCK_MONOTONIC, 0: none.
 */
#define MPTCP_UNIT		101

struct mptcp_unit {
	__u32	id;		/* not 0, and of no other unit of late */
	__u32	bytes;		/* not 0, at most 1 GiB */
	__u32	depends_on;	/* id of an earlier one that it is useless without; 0: none */
	__u32	importance;	/* higher: dropped later */
	__u64	deadline_ns;	/* when all of it is wanted at the receiver */
	__u64	expires_ns;	/* from when on it is of no use; 0: as its deadline */
};

struct mptcp_units {
	__u32	announced;
	__u32	waiting;	/* not wholly sent */
	__u32	dropped;
	__u32	last_dropped;	/* id; 0: none */
	__u64	dropped_bytes;
};

#endif
