/* SPDX-License-Identifier: GPL-2.0-only */
/* How lte tries a path after a handover, and when it takes the path for restored. */
#ifndef _MPTCP_LAB_LTE_TRIAL_H
#define _MPTCP_LAB_LTE_TRIAL_H

#include "parts/lte_late.h"

struct lte_trial {
	u64	since_ns;	/* begin of the state */
	u32	mark_pkts;	/* acked_pkts at the begin of the state, or of the last try */
	u64	probe_ns;	/* begin of the last try */
	u32	probe_pkts;	/* that it has so far */
};

/* A state begins. */
void lte_begin_trial(struct lte_trial *trial, const struct lte_late *late);

/* May a disabled subflow carry one more packet, to try its path? */
bool lte_may_probe(struct lte_trial *trial, const struct lte_late *late,
		   const struct mps_subflow *subflow);

/* Did a packet that was sent in this state arrive in good time? */
bool lte_is_back(const struct lte_trial *trial, const struct lte_late *late,
		 const struct mps_subflow *subflow, u32 longest_ms);

/* Can the smoothed RTT of a stale subflow be trusted? */
bool lte_is_trusted(const struct lte_trial *trial, const struct mps_subflow *subflow,
		    u32 longest_ms);

#endif
