// SPDX-License-Identifier: GPL-2.0-only
/* first: everything on the first usable subflow.
 *
 * The subflows are tried in the order of their creation. All data goes on the
 * first one that is usable, at once, whether its congestion window has room or
 * not. When it fails, the next one takes over, with the lost data; when it
 * returns, so does all new data.
 *
 * Source: first, one of the example schedulers in BPF of upstream's developers
 * (mptcp_net-next, tools/testing/selftests/bpf/progs/mptcp_bpf_first.c); and what
 * one path alone achieves. Active/standby operation is section 3.3.8 of RFC 8684.
 *
 * Works where the other paths are for failures only: no reordering, no data spent
 * on an expensive path. Fails to aggregate anything, and stays on the first path
 * however bad that is, until it has had a timeout.
 *
 * Differs from the source:
 * - queue: the source looks at no congestion window, so that all unsent data
 *   waits in the subflow's queue. Off, it waits in the connection's queue, and
 *   can still leave on another subflow.
 * - spare_backups: the source does not look at the flag. On, a backup is used only
 *   if no other subflow is usable.
 * - always: the source stays with the initial subflow whatever becomes of it, and
 *   the connection stalls. Here the first usable one counts.
 * - always: segments of a subflow in trouble come first, as with all schedulers
 *   here. Upstream has no queue for them.
 */

#include "mpsched.h"

enum { QUEUE, SPARE_BACKUPS };

static const struct mps_param first_params[] = {
	[QUEUE] = MPS_BOOL("queue", 1, "hand over all data at once; off: as the window admits"),
	[SPARE_BACKUPS] = MPS_BOOL("spare_backups", 0,
				   "use a backup subflow only if no other is usable"),
};

static struct mps_subflow *first_usable(struct mps_conn *conn, const struct mps_segment *seg)
{
	bool backups = mps_may_use_backups(conn, SPARE_BACKUPS);
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		if (subflow->usable && (backups || !subflow->backup))
			return subflow;
	return NULL;
}

static bool first_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	return mps_all_on(conn, first_usable(conn, NULL), mps_param(conn, QUEUE), pick);
}

static struct mps_ops first_ops = {
	.next_segment	= first_next_segment,
	.get_subflow	= first_usable,
	.name		= "first",
	.owner		= THIS_MODULE,
	.params		= first_params,
	.num_params	= ARRAY_SIZE(first_params),
};

mps_scheduler(first_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler: everything on the first usable subflow");
