// SPDX-License-Identifier: GPL-2.0-only
/* nonsense: what cannot be, one after the other.
 *
 * For tests that every such pick is refused and counted, and that the
 * connection goes on.
 */

#include "mpsched.h"

struct nonsense {
	struct mps_subflow	*gone;		/* a subflow of the past */
	u32			turn;
};

static void nonsense_release_subflow(struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct nonsense *state = mps_conn_priv(conn);

	state->gone = subflow;
}

static bool nonsense_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_subflow *subflow = list_first_entry(&conn->subflows, struct mps_subflow, node);
	struct nonsense *state = mps_conn_priv(conn);

	/* no segment begins here; nor does one in all that was acknowledged */
	*pick = (struct mps_pick) { .subflow = subflow, .seq = conn->nxt_seq + 1 };
	switch (state->turn++ % 8) {
	case 0:
		pick->kind = MPS_NEW;
		break;
	case 1:
		pick->kind = MPS_REINJECTION;
		break;
	case 2:
		pick->kind = MPS_DUPLICATE;
		break;
	case 3:
		pick->kind = MPS_DUPLICATE;
		pick->seq = 0;
		break;
	case 4:
		pick->kind = 77;
		break;
	case 5:
		pick->subflow = NULL;
		pick->kind = MPS_NEW;
		break;
	case 6:
		pick->subflow = state->gone;
		pick->kind = MPS_NEW;
		break;
	case 7:
		/* what this subflow carried already */
		pick->kind = MPS_DUPLICATE;
		pick->seq = conn->una_seq;
		break;
	}
	return true;
}

static struct mps_ops nonsense = {
	.next_segment		= nonsense_next_segment,
	.release_subflow	= nonsense_release_subflow,
	.name			= "nonsense",
	.owner			= THIS_MODULE,
	.conn_size		= sizeof(struct nonsense),
};

mps_scheduler(nonsense);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler for tests: picks that make no sense");
