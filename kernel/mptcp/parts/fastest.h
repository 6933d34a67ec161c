/* SPDX-License-Identifier: GPL-2.0-only */
/* The choice of dems and stms: the fastest path, be it full or not. */
#ifndef _MPTCP_LAB_FASTEST_H
#define _MPTCP_LAB_FASTEST_H

#include "mpsched.h"

/* The subflow with the lowest RTT, the first one in a tie, other than `not_this`: of the
 * subflows with room, or else also of full ones that will surely have room. Backups count
 * if no other subflow is usable. NULL: none.
 */
static inline struct mps_subflow *fastest_but(struct mps_conn *conn,
					      const struct mps_subflow *not_this, bool room)
{
	bool backups = mps_only_backups(conn);
	struct mps_subflow *subflow, *best = NULL;

	mps_for_each_subflow(conn, subflow)
		if (subflow != not_this && (backups || !subflow->backup) &&
		    (room ? mps_available(subflow) : mps_has_room_soon(subflow)) &&
		    (!best || subflow->srtt_us < best->srtt_us))
			best = subflow;
	return best;
}

#endif
