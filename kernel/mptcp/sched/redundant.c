// SPDX-License-Identifier: GPL-2.0-only
/* redundant: everything on every subflow.
 *
 * The subflows take turns, a segment each. Every one walks through the data that
 * is not acknowledged yet, oldest first, and sends what it has not carried so
 * far. Having come to the end, it takes new data, which the others then have to
 * carry, too. What was acknowledged meanwhile is left out, so that a slow subflow
 * never repeats what has arrived.
 *
 * Two more modes. 1, opportunistic: a segment is sent at once on all subflows
 * that have room for it when it is new, and on no other later. 2, when idle: new
 * data goes to the lowest RTT, and only when there is none, what is on its way
 * is copied, oldest first, to the lowest RTT of those that did not carry it.
 *
 * Source: mptcp_redundant.c of the out-of-tree MPTCP kernels (v0.9x);
 * Froemmgen, Erbshaeusser, Buchmann, Zimmermann, Wehrle, "ReMP TCP: Low Latency
 * Multipath TCP", ICC 2016. The other modes: "opportunistic redundant" and
 * "redundant if Q empty" of ProgMP (Froemmgen et al., "A Programming Model for
 * Application-defined Multipath TCP Scheduling", Middleware 2017).
 *
 * Works for small amounts of data that must come soon, over paths that lose
 * packets or change: each segment arrives by the path that is fastest for it,
 * and a path that fails costs no time. Fails for bulk data: the goodput is that
 * of the best path, at the cost of all of them. Mode 2 does not: it spends only
 * what would be idle. But it protects little more than the end of the data.
 *
 * Differs from the source:
 * - always: a position in the source is a pointer into a queue from which what is
 *   acknowledged is freed, with an age that has to be guessed: it crashed, missed
 *   data, and sent 1.3 GB for 10 MB (its issues 392 and 474). Here it is a number.
 * - copy_held: in the source a position moves on when a segment is chosen: of one
 *   that does not fit into the window, and that another subflow sends then, there
 *   is no copy; if that is lost, all wait for a timeout. On, it is copied.
 * - spare_backups: in modes 1 and 2, ProgMP's programs do not look at the backup
 *   flag. On, a backup gets new data if no other is usable, and no copies.
 */

#include "mpsched.h"

enum { MODE, SPARE_BACKUPS, COPY_HELD };
enum { FULL, OPPORTUNISTIC, WHEN_IDLE };

static const struct mps_param redundant_params[] = {
	[MODE] = MPS_UINT("mode", 0, 2, 0, "",
			  "copies 0: of everything; 1: where there is room at once; 2: when idle"),
	[SPARE_BACKUPS] = MPS_BOOL("spare_backups", 0,
				   "modes 1 and 2: use a backup if no other is usable, no copies"),
	[COPY_HELD] = MPS_BOOL("copy_held", 0,
			       "mode 0: copy also what the window held back when it was chosen"),
};

struct redundant_conn {
	u32	turn;		/* the subflow of this number is next; 0: the latest one */
};

struct redundant_subflow {
	u64	end_seq;	/* mode 0: of the segment that was chosen for it last */
	u64	copy_seq;	/* mode 1: the segment that it is to carry, too */
	bool	copies;
};

static struct redundant_subflow *state_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

/* --- mode 0 */

/* The subflow at the turn: as in the list of the source, where a new one is put at the
 * front, the latest of those up to that number. NULL: there is none.
 */
static struct mps_subflow *whose_turn(struct mps_conn *conn)
{
	struct redundant_conn *state = mps_conn_priv(conn);
	struct mps_subflow *subflow;

	list_for_each_entry_reverse(subflow, &conn->subflows, node)
		if (!state->turn || subflow->id <= state->turn)
			return subflow;
	return list_empty(&conn->subflows) ? NULL :
	       list_last_entry(&conn->subflows, struct mps_subflow, node);
}

static void has_had_its_turn(struct mps_conn *conn, const struct mps_subflow *subflow)
{
	struct redundant_conn *state = mps_conn_priv(conn);

	state->turn = subflow->id - 1;
}

static struct mps_subflow *next_of(const struct mps_conn *conn, struct mps_subflow *subflow)
{
	if (list_is_first(&subflow->node, &conn->subflows))
		return list_last_entry(&conn->subflows, struct mps_subflow, node);
	return list_prev_entry(subflow, node);
}

/* The oldest one that others have sent, behind what was chosen for the subflow last. */
static struct mps_segment *sent_by_others(struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct mps_segment *seg = mps_oldest_missing(conn, subflow);

	if (mps_param(conn, COPY_HELD))
		return seg;
	while (seg && (mps_seq(conn, seg) < state_of(subflow)->end_seq ||
		       mps_carried_by(seg, subflow)))
		seg = mps_next_unacked(conn, seg);
	return seg;
}

static bool takes(struct mps_conn *conn, struct mps_subflow *subflow, struct mps_pick *pick)
{
	struct mps_segment *seg;

	if (!mps_available(subflow))
		return false;
	seg = sent_by_others(conn, subflow);
	if (seg && subflow->backup)
		return false;
	if (seg) {
		state_of(subflow)->end_seq = mps_seq(conn, seg) + mps_len(seg);
		return mps_pick_duplicate(pick, conn, subflow, seg);
	}
	seg = mps_head(conn);
	if (!seg || (subflow->backup && !mps_only_backups(conn)))
		return false;
	state_of(subflow)->end_seq = mps_seq(conn, seg) + mps_len(seg);
	return mps_pick_new(pick, conn, subflow, seg);
}

static bool redundant_everything(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_subflow *first = whose_turn(conn), *subflow = first;

	if (mps_reinjection(conn))
		return mps_reinject(conn, pick);
	while (subflow) {
		if (takes(conn, subflow, pick)) {
			has_had_its_turn(conn, subflow);
			return true;
		}
		subflow = next_of(conn, subflow);
		if (subflow == first)
			break;
	}
	return false;
}

static struct mps_subflow *redundant_get_subflow(struct mps_conn *conn,
						 const struct mps_segment *seg)
{
	struct mps_subflow *first = whose_turn(conn), *subflow = first;

	while (subflow && !mps_available(subflow)) {
		subflow = next_of(conn, subflow);
		if (subflow == first)
			return NULL;
	}
	if (subflow)
		has_had_its_turn(conn, subflow);
	return subflow;
}

/* --- modes 1 and 2 */

static bool may_copy(const struct mps_conn *conn, const struct mps_subflow *subflow)
{
	return mps_available(subflow) && !(subflow->backup && mps_param(conn, SPARE_BACKUPS));
}

static struct mps_subflow *lowest_rtt(struct mps_conn *conn)
{
	struct mps_subflow *subflow, *best = NULL;

	if (mps_param(conn, SPARE_BACKUPS))
		return mps_lowest_rtt(conn, NULL);
	mps_for_each_subflow(conn, subflow)
		if (mps_available(subflow) && (!best || subflow->srtt_us < best->srtt_us))
			best = subflow;
	return best;
}

/* The segment that was sent last, on those that had room for it then. */
static bool redundant_copy_latest(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *seg = mps_latest_sent(conn);
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow) {
		if (!state_of(subflow)->copies)
			continue;
		state_of(subflow)->copies = false;
		if (seg && mps_seq(conn, seg) == state_of(subflow)->copy_seq &&
		    !mps_carried_by(seg, subflow) && may_copy(conn, subflow))
			return mps_pick_duplicate(pick, conn, subflow, seg);
	}
	return false;
}

/* The oldest segment that a subflow with room has not carried, on the lowest
 * RTT of those.
 */
static bool redundant_copy_oldest(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_subflow *subflow, *best = NULL;
	struct mps_segment *seg, *oldest = NULL;

	mps_for_each_subflow(conn, subflow) {
		seg = may_copy(conn, subflow) ? mps_oldest_missing(conn, subflow) : NULL;
		if (!seg)
			continue;
		if (!oldest || mps_seq(conn, seg) < mps_seq(conn, oldest) ||
		    (seg == oldest && subflow->srtt_us < best->srtt_us)) {
			oldest = seg;
			best = subflow;
		}
	}
	return best && mps_pick_duplicate(pick, conn, best, oldest);
}

static bool redundant_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	u32 mode = mps_param(conn, MODE);
	struct mps_subflow *subflow;
	struct mps_segment *seg;

	if (mode == FULL)
		return redundant_everything(conn, pick);
	if (mps_reinject(conn, pick))
		return true;
	if (mode == OPPORTUNISTIC && redundant_copy_latest(conn, pick))
		return true;

	seg = mps_head(conn);
	if (!seg)
		return mode == WHEN_IDLE && redundant_copy_oldest(conn, pick);
	subflow = lowest_rtt(conn);
	return subflow && mps_pick_new(pick, conn, subflow, seg);
}

static void redundant_on_sent(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes)
{
	struct mps_subflow *subflow;

	if (mps_param(conn, MODE) != OPPORTUNISTIC || pick->kind != MPS_NEW)
		return;
	mps_for_each_subflow(conn, subflow) {
		state_of(subflow)->copies = subflow != pick->subflow && may_copy(conn, subflow);
		state_of(subflow)->copy_seq = pick->seq;
	}
}

static struct mps_ops redundant_ops = {
	.next_segment		= redundant_next_segment,
	.get_subflow		= redundant_get_subflow,
	.on_sent		= redundant_on_sent,
	.name			= "redundant",
	.owner			= THIS_MODULE,
	.conn_size		= sizeof(struct redundant_conn),
	.subflow_size		= sizeof(struct redundant_subflow),
	.params			= redundant_params,
	.num_params		= ARRAY_SIZE(redundant_params),
};

mps_scheduler(redundant_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler: everything on every subflow");
