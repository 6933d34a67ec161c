// SPDX-License-Identifier: GPL-2.0-only
/* mine: every subflow in turn, in_a_row segments at a time.
 *
 * Say here in some sentences what your scheduler does. This one goes round the
 * subflows in the order of their creation, gives each in_a_row segments, and
 * passes over those whose congestion window is full.
 *
 * Source: where the idea is from.
 *
 * Works where ... Fails where ...
 */

#include "mpsched.h"	/* all that there is to use: read it */

/* Parameters are set by --scheduler ./mine.c:in_a_row=10 */
enum { IN_A_ROW };

static const struct mps_param mine_params[] = {
	[IN_A_ROW] = MPS_UINT("in_a_row", 1, 100, 1, "segments",
			      "segments before it is the turn of the next subflow"),
};

/* What is remembered of a connection; zero at first. */
struct mine_conn {
	u32	turn;		/* id of the subflow whose turn it is */
	u32	sent;		/* segments of its turn that were sent */
};

/* The subflow for new data; NULL: none can send now. */
static struct mps_subflow *mine_choose(struct mps_conn *conn)
{
	struct mine_conn *state = mps_conn_priv(conn);
	struct mps_subflow *subflow, *first = NULL;

	mps_for_each_subflow(conn, subflow) {
		if (!mps_available(subflow))
			continue;
		/* backup subflows are for when there is no other */
		if (subflow->backup && !mps_only_backups(conn))
			continue;
		if (subflow->id >= state->turn)
			return subflow;
		if (!first)
			first = subflow;
	}
	/* after the last one it is the first one's turn */
	return first;
}

/* Asked whenever something might be sent, and again after each segment: true
 * with a pick, or false to wait.
 */
static bool mine_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *head = mps_head(conn);
	struct mps_subflow *subflow;

	/* segments of subflows in trouble come first, on another subflow */
	if (mps_reinject(conn, pick))
		return true;
	if (!head)
		return false;
	subflow = mine_choose(conn);
	return subflow && mps_pick_new(pick, conn, subflow, head);
}

static void mine_on_sent(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes)
{
	struct mine_conn *state = mps_conn_priv(conn);

	if (pick->kind != MPS_NEW)
		return;
	if (state->turn != pick->subflow->id) {
		state->turn = pick->subflow->id;
		state->sent = 0;
	}
	if (++state->sent >= mps_param(conn, IN_A_ROW)) {
		state->turn++;
		state->sent = 0;
	}
}

static struct mps_ops mine_ops = {
	.next_segment	= mine_next_segment,
	.on_sent	= mine_on_sent,
	.name		= "mine",
	.owner		= THIS_MODULE,
	.conn_size	= sizeof(struct mine_conn),
	.params		= mine_params,
	.num_params	= ARRAY_SIZE(mine_params),
};

mps_scheduler(mine_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler: every subflow in turn");
