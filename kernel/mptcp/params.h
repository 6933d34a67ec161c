/* SPDX-License-Identifier: GPL-2.0-only */
/* Parameters that are sysctls of each network namespace, net.mptcp.NAME.PARAMETER:
 * what schedulers and congestion controls have in common. How they are written,
 * and what they may be, says struct mps_param.
 */
#ifndef _MPTCP_LAB_PARAMS_H
#define _MPTCP_LAB_PARAMS_H

#include "mpsched.h"

/* The parameters of one scheduler or congestion control. */
struct mps_params {
	const char		*name;
	const struct mps_param	*table;
	unsigned int		num;

	struct list_head	list;	/* of all, see params.c */
};

/* Says in the kernel's log why a scheduler or congestion control is not registered: which field
 * has which value, and what it may be.
 */
#define mps_refuse(_name, _fmt, ...) \
	pr_err("mptcp: %*pE: " _fmt "\n", \
	       (int)strnlen(_name, MPTCP_SCHED_NAME_MAX), _name, ##__VA_ARGS__)

/* Is it one that the names of sysctls can have in them? */
bool mps_name_valid(const char *name, size_t size);

/* -EINVAL, and a reason in the log, if they make no sense */
int mps_params_register(struct mps_params *params);
void mps_params_unregister(struct mps_params *params);

/* The values that new connections of a network namespace have. */
void mps_params_get(const struct mps_params *params, struct net *net, u32 *values);

#endif
