// SPDX-License-Identifier: GPL-2.0-only
/* limited: the lowest RTT, and of each segment no more than a limit
 *
 * For tests of the framework: what is left of a segment must leave, too.
 */

#include "mpsched.h"

enum { NEW_BYTES, REST_BYTES, REINJECTION_BYTES };

static const struct mps_param limited_params[] = {
	[NEW_BYTES] = MPS_UINT("new_bytes", 0, U32_MAX, 0, "bytes", "of new data; 0: all"),
	[REST_BYTES] = MPS_UINT("rest_bytes", 0, U32_MAX, 0, "bytes",
				"of what is left of a segment; 0: all"),
	[REINJECTION_BYTES] = MPS_UINT("reinjection_bytes", 0, U32_MAX, 0, "bytes",
				       "of reinjections; 0: all"),
};

static bool limited_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *head = mps_head(conn);
	struct mps_subflow *subflow;

	if (mps_reinject(conn, pick)) {
		pick->limit_bytes = mps_param(conn, REINJECTION_BYTES);
		return true;
	}
	subflow = head ? mps_lowest_rtt(conn, NULL) : NULL;
	if (!subflow)
		return false;
	mps_pick_new(pick, conn, subflow, head);
	/* segments leave in order: a part of this one has */
	if (conn->nxt_seq > mps_seq(conn, head))
		pick->limit_bytes = mps_param(conn, REST_BYTES);
	else
		pick->limit_bytes = mps_param(conn, NEW_BYTES);
	return true;
}

static struct mps_ops limited_ops = {
	.next_segment	= limited_next_segment,
	.name		= "limited",
	.owner		= THIS_MODULE,
	.params		= limited_params,
	.num_params	= ARRAY_SIZE(limited_params),
};
mps_scheduler(limited_ops);

MODULE_LICENSE("GPL");
