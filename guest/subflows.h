/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kernel tells of the subflows of a connection. */
#ifndef SUBFLOWS_H
#define SUBFLOWS_H

#include <linux/tcp.h>
#include <stdbool.h>
#include <stdint.h>

#include "mptcp.h"

#define SUBFLOWS_MAX	8

/* of TCP; their header does not go with linux/tcp.h */
enum { STATE_ESTABLISHED = 1, STATE_SYN_SENT = 2, STATE_CLOSE = 7, STATE_LISTEN = 10 };

struct subflows {
	struct {
		struct mptcp_subflow_data data;
		struct mptcp_subflow_addrs addrs[SUBFLOWS_MAX];
	} where;
	struct {
		struct mptcp_subflow_data data;
		struct tcp_info info[SUBFLOWS_MAX];
	} state;
	unsigned int count;
};

/* Does this kernel have it? Each socket of TCP is one of MPTCP there, if that is enabled. */
bool v0_kernel(void);

/* in the order of creation; false, with errno: it is no MPTCP connection */
bool subflows_ask(int fd, struct subflows *found);

#endif
