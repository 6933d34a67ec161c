/* SPDX-License-Identifier: GPL-2.0-only */
/* The round of a subflow in the plan of sttf: a window of segments, and when they arrive. */
#ifndef _MPTCP_LAB_STTF_ROUND_H
#define _MPTCP_LAB_STTF_ROUND_H

#include "mpsched.h"

struct sttf_round {
	bool	now;		/* it is the present one */
	u64	arrival_us;	/* of its segments, from now */
	u32	cwnd_pkts;
	u32	room_pkts;	/* of it, not yet assigned */
};

/* The first round with room behind the subflow's queue. */
void sttf_first_round(struct sttf_round *round, const struct mps_subflow *subflow);

/* The next round, with the growth of the window. */
void sttf_next_round(struct sttf_round *round, const struct mps_subflow *subflow);

#endif
