// SPDX-License-Identifier: GPL-2.0-only
/* backup: everything on the first subflow that is no backup.
 *
 * Of the usable subflows, in the order of their creation, the first one that
 * neither end has marked as a backup carries everything. Whatever is written is
 * handed to it at once, whether its congestion window has room or not. When no
 * other subflow is usable, the first backup does the same.
 *
 * Source: bkup, one of the example schedulers in BPF of upstream's developers
 * (mptcp_net-next, tools/testing/selftests/bpf/progs/mptcp_bpf_bkup.c).
 *
 * Works as an example: the flag alone decides, which an end can set and clear at
 * any time (MP_PRIO). Here, where first looks at the flag, too, both are the
 * same. Fails to aggregate anything. Data handed to a subflow stays there: when
 * the path fails or becomes a backup, that data has to be sent again or waited
 * for.
 *
 * Differs from the source:
 * - queue: the source looks at no congestion window, so that all unsent data
 *   waits in the subflow's queue. Off, it waits in the connection's queue, and
 *   can still leave on another subflow.
 * - always: of the subflows, those that are usable count. The source stays with
 *   the first even when it has failed, and when all are backups it sends nothing:
 *   the connection stalls.
 * - always: a subflow is a backup also if this end made it one. The source only
 *   looks at the peer's request.
 * - always: segments of a subflow in trouble come first, as with all schedulers
 *   here. Upstream has no queue for them.
 * - always: the source hands over fragments of up to 32 KiB, and this segments;
 *   either way all that is unsent ends up in the queue of the subflow.
 */

#include "mpsched.h"

enum { QUEUE };

static const struct mps_param backup_params[] = {
	[QUEUE] = MPS_BOOL("queue", 1, "hand over all data at once; off: as the window admits"),
};

static struct mps_subflow *backup_subflow(struct mps_conn *conn, const struct mps_segment *seg)
{
	bool backups = mps_only_backups(conn);
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		if (subflow->usable && subflow->backup == backups)
			return subflow;
	return NULL;
}

static bool backup_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	return mps_all_on(conn, backup_subflow(conn, NULL), mps_param(conn, QUEUE), pick);
}

static struct mps_ops backup_ops = {
	.next_segment	= backup_next_segment,
	.get_subflow	= backup_subflow,
	.name		= "backup",
	.owner		= THIS_MODULE,
	.params		= backup_params,
	.num_params	= ARRAY_SIZE(backup_params),
};

mps_scheduler(backup_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler: everything on the first subflow that is no backup");
