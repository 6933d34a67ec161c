// SPDX-License-Identifier: GPL-2.0-only
/* weighted: shares, costs and caps of paths.
 *
 * Path 1 belongs to the first subflow, path 2 to the second, and so on to 8. The
 * cheapest usable paths carry the data (costN). They divide it by their shares
 * (shareN), counted in bytes: each segment goes to the path with room that is
 * farthest behind its share. With strict, the segment waits for the path that is
 * farthest behind of all: the shares hold, and the slowest path dictates the
 * rate. More expensive paths help when the cheaper ones cannot keep up: after
 * some data has waited without a break for patience_ms, until none waits. A path
 * that has carried its cap (capN_mb) is used only when no other is usable, like a
 * path of share 0 and a backup.
 *
 * With fastest, the lowest smoothed RTT chooses among paths of one cost. With
 * max_rtt_ms and max_loss_permille, a path that is slower, or loses more, counts
 * as expensive: it costs as much as the most expensive other path, or one more if
 * its own cost is the highest. While such a path is unused, a duplicate of a
 * segment measures it ten times a second.
 *
 * Source: none for the whole; asked for by people whose LTE is metered. Shares
 * are kept as in deficit round robin (Shreedhar, Varghese, SIGCOMM 1995), by
 * bytes and not by turns: the bytes of a path, divided by its share. Costs, with
 * fastest and patience_ms=0, are the cheapest pipe first of MP-DCCP (Deutsche
 * Telekom's module; Amend et al., LCN 2019). Limits are the thresholds of the
 * steering modes of ATSSS (3GPP TS 23.501, 5.32.8).
 *
 * Works where a path costs money or is to carry a part, and the data is known to
 * fit. Fails to look at round-trip times, without fastest or max_rtt_ms: among
 * paths of one cost that differ much, data on the slow one holds up the rest, as
 * with roundrobin. Without strict, shares hold only as long as every path has
 * room for its own; with bulk data the ACKs dictate them.
 *
 * A path that had no room, or was not usable, catches up with at most 64 KiB of
 * its share, or with the latest pick of another path if that is more (with strict,
 * a usable one with all of it). Reinjected data counts on its new path; TCP's
 * retransmissions do not count.
 *
 * Costs are in parts/weighted_cost.c, shares in parts/weighted_share.c.
 *
 * Differs from the source:
 * - patience_ms: cheapest pipe first uses a more expensive path as soon as the
 *   cheaper ones have no room, as 0 does. By default data waits, if it fits the
 *   cheap one.
 * - fastest: of paths of one priority, cheapest pipe first takes the lowest RTT,
 *   as on does. By default shares decide.
 * - always: ATSSS measures paths with packets of its own. TCP measures the same
 *   with the packets that it sends.
 */

#include "parts/weighted.h"

/* A path that exceeds a limit is measured again after this time without data. */
#define MEASURE_NS		(100 * NSEC_PER_MSEC)

static const struct mps_param weighted_params[] = {
	MPS_UINT("share1", 0, 1000, 1, "", "part of path 1; 0: only if no other is usable"),
	MPS_UINT("share2", 0, 1000, 1, "", "part of path 2"),
	MPS_UINT("share3", 0, 1000, 1, "", "part of path 3"),
	MPS_UINT("share4", 0, 1000, 1, "", "part of path 4"),
	MPS_UINT("share5", 0, 1000, 1, "", "part of path 5"),
	MPS_UINT("share6", 0, 1000, 1, "", "part of path 6"),
	MPS_UINT("share7", 0, 1000, 1, "", "part of path 7"),
	MPS_UINT("share8", 0, 1000, 1, "", "part of path 8"),
	MPS_UINT("cost1", 0, 1000, 0, "", "of path 1: the cheapest carry what they can"),
	MPS_UINT("cost2", 0, 1000, 0, "", "of path 2"),
	MPS_UINT("cost3", 0, 1000, 0, "", "of path 3"),
	MPS_UINT("cost4", 0, 1000, 0, "", "of path 4"),
	MPS_UINT("cost5", 0, 1000, 0, "", "of path 5"),
	MPS_UINT("cost6", 0, 1000, 0, "", "of path 6"),
	MPS_UINT("cost7", 0, 1000, 0, "", "of path 7"),
	MPS_UINT("cost8", 0, 1000, 0, "", "of path 8"),
	MPS_UINT("cap1_mb", 0, U32_MAX, 0, "MB", "that path 1 carries of a connection; 0: no cap"),
	MPS_UINT("cap2_mb", 0, U32_MAX, 0, "MB", "that path 2 carries"),
	MPS_UINT("cap3_mb", 0, U32_MAX, 0, "MB", "that path 3 carries"),
	MPS_UINT("cap4_mb", 0, U32_MAX, 0, "MB", "that path 4 carries"),
	MPS_UINT("cap5_mb", 0, U32_MAX, 0, "MB", "that path 5 carries"),
	MPS_UINT("cap6_mb", 0, U32_MAX, 0, "MB", "that path 6 carries"),
	MPS_UINT("cap7_mb", 0, U32_MAX, 0, "MB", "that path 7 carries"),
	MPS_UINT("cap8_mb", 0, U32_MAX, 0, "MB", "that path 8 carries"),
	MPS_BOOL("strict", 0, "wait for the path whose turn it is"),
	MPS_UINT("patience_ms", 0, 60000, 100, "ms",
		 "how long data waits for the cheaper paths"),
	MPS_BOOL("fastest", 0, "of paths of one cost the lowest RTT, and not by shares"),
	MPS_UINT("max_rtt_ms", 0, 60000, 0, "ms",
		 "a path whose smoothed RTT exceeds it counts as expensive; 0: none does"),
	MPS_UINT("max_loss_permille", 0, 1000, 0, "of 1000",
		 "a path that loses more packets counts as expensive; 0: none does"),
};

struct weighted_conn {
	u64	waiting_ns;	/* since when data has waited; 0: none waits */
	u64	timer_ns;	/* the timer is set for this time */
};

/* Does the path come before the other one: farther behind its share, or faster? */
static bool is_before(const struct mps_conn *conn, struct mps_subflow *subflow,
		      struct mps_subflow *other)
{
	if (!other)
		return true;
	if (mps_param(conn, FASTEST))
		return subflow->srtt_us < other->srtt_us;
	return weighted_state(subflow)->turn < weighted_state(other)->turn;
}

/* The path for the segment, among the paths of a class and a cost; NULL: wait.
 * *usable: would one of them take the segment, if it had room?
 */
static struct mps_subflow *among(struct mps_conn *conn, const struct mps_segment *seg, u32 class,
				 s64 cost, bool *usable)
{
	struct mps_subflow *subflow, *next = NULL, *with_room = NULL;

	mps_for_each_subflow(conn, subflow) {
		if (!subflow->usable || weighted_class(conn, subflow) != class ||
		    weighted_cost(conn, subflow) != cost ||
		    (seg && mps_carried_by(seg, subflow)))
			continue;
		if (is_before(conn, subflow, next))
			next = subflow;
		if (mps_available(subflow) && is_before(conn, subflow, with_room))
			with_room = subflow;
	}
	*usable = next;
	return mps_param(conn, STRICT) && next != with_room ? NULL : with_room;
}

/* The path for the segment, which it has not carried; `seg` NULL stands for new data.
 * Dearer paths come in with `impatient`, or if no cheaper one would take the segment.
 */
static struct mps_subflow *choose(struct mps_conn *conn, const struct mps_segment *seg,
				  bool impatient)
{
	struct mps_subflow *subflow;
	bool usable;
	u32 class;
	s64 cost;

	for (class = REGULAR; class <= BACKUP; class++) {
		bool any = false;

		for (cost = -1; weighted_next_cost(conn, class, &cost);) {
			subflow = among(conn, seg, class, cost, &usable);
			if (subflow)
				return subflow;
			any |= usable;
			if (any && !impatient)
				return NULL;
		}
		if (any)
			return NULL;
	}
	return NULL;
}

static struct mps_subflow *weighted_get_subflow(struct mps_conn *conn,
						const struct mps_segment *seg)
{
	return choose(conn, seg, false) ?: choose(conn, NULL, false);
}

/* Data waits: until when, before a dearer path is used? */
static u64 patience_ends_ns(struct mps_conn *conn)
{
	struct weighted_conn *state = mps_conn_priv(conn);

	if (!state->waiting_ns)
		state->waiting_ns = mps_clock_ns();
	return state->waiting_ns + (u64)mps_param(conn, PATIENCE_MS) * NSEC_PER_MSEC;
}

/* A duplicate of the oldest segment on a path that exceeds a limit. Such a path carries no
 * data, and nothing else would show that it has become better.
 */
static bool measure(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *seg = mps_oldest_unacked(conn);
	struct mps_subflow *subflow;
	u64 now = mps_clock_ns();

	mps_for_each_subflow(conn, subflow)
		if (seg && weighted_exceeds(conn, subflow) && mps_available(subflow) &&
		    !subflow->in_flight_pkts &&
		    now >= weighted_state(subflow)->sent_ns + MEASURE_NS &&
		    weighted_class(conn, subflow) == REGULAR && !mps_carried_by(seg, subflow))
			return mps_pick_duplicate(pick, conn, subflow, seg);
	return false;
}

/* False: the path that the segment is for cannot send it. */
static bool pick_by_cost(struct mps_conn *conn, struct mps_pick *pick)
{
	struct weighted_conn *state = mps_conn_priv(conn);
	struct mps_segment *seg = mps_reinjection(conn);
	struct mps_segment *head = mps_head(conn);
	struct mps_subflow *subflow;
	u64 ends_ns;

	if (seg) {
		subflow = weighted_get_subflow(conn, seg);
		if (subflow)
			return mps_pick_reinjection(pick, conn, subflow, seg);
	}
	if (!head) {
		state->waiting_ns = 0;
		return false;
	}
	subflow = choose(conn, NULL, false);
	if (subflow)
		return mps_pick_new(pick, conn, subflow, head);
	/* no other path has room in the receive window either */
	if (!mps_fits_window(conn, head)) {
		state->waiting_ns = 0;
		return false;
	}
	ends_ns = patience_ends_ns(conn);
	if (mps_clock_ns() >= ends_ns) {
		subflow = choose(conn, NULL, true);
		return subflow && mps_pick_new(pick, conn, subflow, head);
	}
	if (state->timer_ns != ends_ns) {
		state->timer_ns = ends_ns;
		mps_wake_at(conn, ends_ns);
	}
	return false;
}

static bool weighted_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	return pick_by_cost(conn, pick) || measure(conn, pick);
}

static struct mps_ops weighted_ops = {
	.next_segment	= weighted_next_segment,
	.get_subflow	= weighted_get_subflow,
	.init_subflow	= weighted_begin_turn,
	.on_sent	= weighted_count_sent,
	.on_ack		= weighted_count_losses,
	.name		= "weighted",
	.owner		= THIS_MODULE,
	/* with two turns of 32 KiB, fragments would never leave as one packet */
	.choice_bytes	= SZ_64K,
	.conn_size	= sizeof(struct weighted_conn),
	.subflow_size	= sizeof(struct weighted_subflow),
	.params		= weighted_params,
	.num_params	= ARRAY_SIZE(weighted_params),
};

mps_scheduler(weighted_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler: shares, costs and caps of paths");
