/* SPDX-License-Identifier: GPL-2.0-only */
/* What opportunistic and whenidle have in common: who carries new data, who duplicates. */
#ifndef _MPTCP_LAB_COPIES_H
#define _MPTCP_LAB_COPIES_H

#include "mpsched.h"

/* Has the subflow room for a duplicate? With `spare_backups` backups carry none. */
static inline bool copies_available(const struct mps_subflow *subflow, bool spare_backups)
{
	return mps_available(subflow) && !(subflow->backup && spare_backups);
}

/* The subflow for new data: of those with room, the lowest RTT. */
static inline struct mps_subflow *copies_lowest_rtt(struct mps_conn *conn, bool spare_backups)
{
	struct mps_subflow *subflow, *best = NULL;

	if (spare_backups)
		return mps_lowest_rtt(conn, NULL);
	mps_for_each_subflow(conn, subflow)
		if (mps_available(subflow) && (!best || subflow->srtt_us < best->srtt_us))
			best = subflow;
	return best;
}

#endif
