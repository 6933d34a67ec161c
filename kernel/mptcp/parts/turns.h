/* SPDX-License-Identifier: GPL-2.0-only */
/* Turns of redundant, and of the two schedulers made from it: the subflows in the order of
 * the source's list, where a new one is at the front.
 */
#ifndef _MPTCP_LAB_TURNS_H
#define _MPTCP_LAB_TURNS_H

#include "mpsched.h"

/* first in the scheduler's state of the connection */
struct turns {
	u32	next;		/* the subflow of this number is next; 0: the latest one */
};

/* The subflow at the turn, the latest of those up to that number. NULL: there is none. */
static inline struct mps_subflow *turns_first(struct mps_conn *conn)
{
	const struct turns *turns = mps_conn_priv(conn);
	struct mps_subflow *subflow;

	list_for_each_entry_reverse(subflow, &conn->subflows, node)
		if (!turns->next || subflow->id <= turns->next)
			return subflow;
	return list_empty(&conn->subflows) ? NULL :
	       list_last_entry(&conn->subflows, struct mps_subflow, node);
}

static inline struct mps_subflow *turns_after(const struct mps_conn *conn,
					      struct mps_subflow *subflow)
{
	if (list_is_first(&subflow->node, &conn->subflows))
		return list_last_entry(&conn->subflows, struct mps_subflow, node);
	return list_prev_entry(subflow, node);
}

static inline void turns_end(struct mps_conn *conn, const struct mps_subflow *subflow)
{
	struct turns *turns = mps_conn_priv(conn);

	turns->next = subflow->id - 1;
}

/* The next available subflow, whose turn it was then, whatever it carried. */
static inline struct mps_subflow *turns_get_subflow(struct mps_conn *conn,
						    const struct mps_segment *seg)
{
	struct mps_subflow *first = turns_first(conn), *subflow = first;

	while (subflow && !mps_available(subflow)) {
		subflow = turns_after(conn, subflow);
		if (subflow == first)
			return NULL;
	}
	if (subflow)
		turns_end(conn, subflow);
	return subflow;
}

#endif
