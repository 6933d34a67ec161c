/* SPDX-License-Identifier: GPL-2.0-only */
/* The adapter, for its own files and the probe. */
#ifndef _MPTCP_LAB_ADAPTER_H
#define _MPTCP_LAB_ADAPTER_H

#include "../framework.h"

/* The counters of a connection; NULL: it has no scheduler of ours, or has sent nothing yet.
 * Under RCU, and with the socket's data lock.
 */
const struct mps_conn_core *mps_adapter_core(struct mptcp_sock *msk);

#endif
