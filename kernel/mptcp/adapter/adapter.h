/* SPDX-License-Identifier: GPL-2.0-only */
/* The adapter, for its own files and the probe. */
#ifndef _MPTCP_LAB_ADAPTER_H
#define _MPTCP_LAB_ADAPTER_H

#include "../framework.h"

/* The counters of a connection; NULL: it has no scheduler of ours, or has sent nothing yet.
 * Under RCU, and with the socket's data lock.
 */
const struct mps_conn_core *mps_adapter_core(struct mptcp_sock *msk);

/* choice.c: the scheduler of a connection that begins, by the rules of its namespace or else by
 * its socket. The caller puts the module of its ops.
 */
struct mps_registration *mps_choose(const struct mptcp_sock *msk);
int mps_choice_init(void);
void mps_choice_exit(void);

#endif
