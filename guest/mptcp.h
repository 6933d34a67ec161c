/* SPDX-License-Identifier: GPL-2.0-only */
/* MPTCP as programs see it, also where the C library is older than it. */
#ifndef MPTCP_H
#define MPTCP_H

#include <linux/mptcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "uapi/sockopt.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP	262
#endif
#ifndef SOL_MPTCP
#define SOL_MPTCP	284
#endif

#endif
