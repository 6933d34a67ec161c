/* SPDX-License-Identifier: GPL-2.0-only */
/* Parameters that are sysctls of each network namespace, net.mptcp.NAME.PARAMETER. Schedulers
 * and congestion controls share this code. struct mps_param has their form and bounds.
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

/* The kernel's log says why registration refuses a scheduler or congestion control: the field,
 * its value, and the accepted ones.
 */
#define mps_refuse(_name, _fmt, ...) \
	pr_err("mptcp: %*pE: " _fmt "\n", \
	       (int)strnlen(_name, MPTCP_SCHED_NAME_MAX), _name, ##__VA_ARGS__)

/* Can it be a part of a sysctl's name? */
bool mps_name_valid(const char *name, size_t size);

/* In a module (adapter/), these two are its parts. Else the kernel calls the first. */
int mps_params_init(void);
void mps_params_exit(void);

/* -EINVAL, and a reason in the log, if they make no sense */
int mps_params_register(struct mps_params *params);
void mps_params_unregister(struct mps_params *params);

/* The values of a network namespace. */
void mps_params_get(const struct mps_params *params, struct net *net, u32 *values);

/* Was any parameter written since the last call with this counter, 0 at first? */
bool mps_params_changed(u32 *seen);

#endif
