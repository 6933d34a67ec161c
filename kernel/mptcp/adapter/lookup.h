/* SPDX-License-Identifier: GPL-2.0-only */
/* Three functions of net/mptcp that are not exported to modules.
 *
 * lookup.c finds them when the adapter is loaded. They become static calls, thus direct ones:
 * a kernel with IBT seals functions whose address it does not take, and an indirect call of
 * one faults. A kernel without static calls has no IBT.
 *
 * With openwrt/exports.patch they are exported, MPS_EXPORTED: then lookup.c is left out.
 */
#ifndef _MPTCP_LAB_LOOKUP_H
#define _MPTCP_LAB_LOOKUP_H

#include <linux/static_call.h>

#include "../../protocol.h"

#ifdef MPS_EXPORTED

/* not every protocol.h declares them */
int mptcp_register_scheduler(struct mptcp_sched_ops *sched);
void mptcp_unregister_scheduler(struct mptcp_sched_ops *sched);
struct sock *mptcp_subflow_get_retrans(struct mptcp_sock *msk);

static inline int mps_look_up(void)
{
	return 0;
}

#else

/* Placeholders until mps_look_up() has found them; never called. */
int mps_no_register(struct mptcp_sched_ops *sched);
void mps_no_unregister(struct mptcp_sched_ops *sched);
struct sock *mps_no_get_retrans(struct mptcp_sock *msk);

DECLARE_STATIC_CALL(mps_call_register, mps_no_register);
DECLARE_STATIC_CALL(mps_call_unregister, mps_no_unregister);
DECLARE_STATIC_CALL(mps_call_get_retrans, mps_no_get_retrans);

#define mptcp_register_scheduler(_sched)	static_call(mps_call_register)(_sched)
#define mptcp_unregister_scheduler(_sched)	static_call(mps_call_unregister)(_sched)
#define mptcp_subflow_get_retrans(_msk)		static_call(mps_call_get_retrans)(_msk)

/* An error, and a line in the log that names the function, if one is missing. */
int mps_look_up(void);

#endif

#endif
