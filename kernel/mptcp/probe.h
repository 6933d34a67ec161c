/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MPTCP_LAB_PROBE_H
#define _MPTCP_LAB_PROBE_H

#include <net/sock.h>

/* Adds a sample of a connection that ends to those of its namespace, if these are sampled. */
#ifdef CONFIG_MPTCP_LAB_PROBE
void probe_sample_end(struct sock *sk);
#else
static inline void probe_sample_end(struct sock *sk)
{
}
#endif

#endif
