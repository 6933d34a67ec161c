// SPDX-License-Identifier: GPL-2.0-only
/* weighted: shares, costs and caps of paths.
 *
 * Path 1 is that of the first subflow, path 2 that of the second, and so on to 8.
 * Of the paths that are usable, the cheapest carry the data (costN). They divide
 * it by their shares (shareN), counted in bytes: each segment goes to the path
 * that is farthest behind its share, of those that have room. With strict, it
 * waits for that path: the shares hold, and the slowest path dictates the rate.
 * Dearer paths are used when the cheaper ones cannot keep up: after some data has
 * waited without a break for patience_ms, until none waits. A path that has
 * carried its cap (capN_mb) is used only when no other is usable, like a path of
 * share 0 and a backup.
 *
 * With fastest, paths of one cost are chosen by the lowest smoothed RTT instead.
 * With max_rtt_ms and max_loss_permille, a path that is slower, or loses more, is
 * dear: as dear as the dearest other one, or dearer, if none of them is. While it
 * is not used, a copy of a segment measures it ten times in a second.
 *
 * Source: none for the whole; asked for by people whose LTE is metered. Shares are
 * kept as in deficit round robin (Shreedhar, Varghese, SIGCOMM 1995), by bytes and
 * not by turns: what a path has carried, divided by its share. Costs, with fastest
 * and patience_ms=0, are the cheapest pipe first of MP-DCCP (Deutsche Telekom's
 * module; Amend et al., LCN 2019). Limits are the thresholds of the steering modes
 * of ATSSS (3GPP TS 23.501, 5.32.8).
 *
 * Works where a path costs money or is to carry a part, and the data is known to
 * fit. Fails to look at round-trip times, unless fastest or max_rtt_ms says so:
 * among paths of one cost that differ much, what was sent on the slow one holds up
 * the rest, as with roundrobin. Without strict, shares hold only as long as every
 * path has room for its own; with bulk data the ACKs dictate them.
 *
 * A path that had no room, or was not usable, does not make up for more than 64
 * KiB of its share (and with strict for all, while it is usable). What is sent
 * again on another path counts there; what TCP repeats is not counted.
 *
 * Differs from the source:
 * - patience_ms: cheapest pipe first uses a dearer path as soon as the cheaper
 *   ones have no room, as 0 does. By default it waits, for data that fits the
 *   cheap one.
 * - fastest: of paths of one priority, cheapest pipe first takes the lowest RTT,
 *   as on does. By default it is shares.
 * - always: ATSSS measures paths with packets of its own. TCP sees the same of
 *   those that it sends.
 */

#include "mpsched.h"

#define PATHS			8
/* of its share that a path can catch up with: a window of TCP without scaling */
#define CATCH_UP_BYTES		SZ_64K
/* for so long nothing was sent on a path that exceeds: it is measured again */
#define MEASURE_NS		(100 * NSEC_PER_MSEC)
/* of counts of packets, of which each round brings an eighth */
#define LOSS_SCALE		1024ULL
#define LOSS_PART		8
/* Of bytes per share. Shares are no more than 1000: what two of them make of bytes
 * differs by a millionth at least, or not at all. 2^44 bytes fit.
 */
#define SCALE			((u64)SZ_1M)

/* where each group of parameters begins */
enum {
	SHARE = 0, COST = 8, CAP_MB = 16, STRICT = 24, PATIENCE_MS, FASTEST, MAX_RTT_MS, MAX_LOSS
};

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
		 "that data waits for the cheaper paths before a dearer one is used"),
	MPS_BOOL("fastest", 0, "of paths of one cost the lowest RTT, and not by shares"),
	MPS_UINT("max_rtt_ms", 0, 60000, 0, "ms",
		 "a path whose smoothed RTT exceeds it is a dear one; 0: none does"),
	MPS_UINT("max_loss_permille", 0, 1000, 0, "of 1000",
		 "a path that loses more packets is a dear one; 0: none does"),
};

/* What the paths are to each other, from the best to the last. */
enum { REGULAR, RESERVED, BACKUP };

struct weighted_conn {
	u64	waiting_ns;	/* since when data has waited; 0: none waits */
	u64	timer_ns;	/* the waiting_ns that the timer is set for */
};

struct weighted_subflow {
	u64	bytes;		/* carried */
	u64	turn;		/* carried per share, with what was forgone, */
	u32	rest;		/* and what that leaves of the division */
	u64	sent_ns;	/* when the latest was sent */
	/* its losses, smoothed over rounds as the RTT is over samples */
	u64	round_pkts;	/* in a round, times LOSS_SCALE */
	u64	round_lost;	/* the same of those that were lost */
	u32	rounds;		/* that are counted in these */
};

static struct weighted_subflow *state_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

/* More than 8 paths are as the 8th. */
static u32 path_param(const struct mps_conn *conn, const struct mps_subflow *subflow, u32 group)
{
	return mps_param(conn, group + clamp(subflow->id, 1U, (u32)PATHS) - 1);
}

static u32 class_of(const struct mps_conn *conn, struct mps_subflow *subflow)
{
	u64 cap_bytes = path_param(conn, subflow, CAP_MB) * 1000000ULL;

	if (subflow->backup)
		return BACKUP;
	if (!path_param(conn, subflow, SHARE) ||
	    (cap_bytes && state_of(subflow)->bytes >= cap_bytes))
		return RESERVED;
	return REGULAR;
}

/* Is it slower than it may be, or does it lose more? */
static bool exceeds(const struct mps_conn *conn, struct mps_subflow *subflow)
{
	u32 max_loss = mps_param(conn, MAX_LOSS), max_rtt_ms = mps_param(conn, MAX_RTT_MS);
	const struct weighted_subflow *state = state_of(subflow);

	if (max_rtt_ms && subflow->srtt_us > max_rtt_ms * (u64)USEC_PER_MSEC)
		return true;
	return max_loss && 1000 * state->round_lost > max_loss * state->round_pkts;
}

/* A path that exceeds costs as much as the dearest other one; or more, if none of
 * them is dearer anyway.
 */
static s64 cost_of(const struct mps_conn *conn, struct mps_subflow *subflow)
{
	s64 cost = path_param(conn, subflow, COST), dearest = 0;
	struct mps_subflow *other;

	if (!exceeds(conn, subflow))
		return cost;
	mps_for_each_subflow(conn, other)
		if (other->usable && class_of(conn, other) == class_of(conn, subflow))
			dearest = max_t(s64, dearest, path_param(conn, other, COST));
	return dearest > cost ? dearest : cost + 1;
}

static u32 share_of(const struct mps_conn *conn, const struct mps_subflow *subflow)
{
	return max(path_param(conn, subflow, SHARE), 1U);
}

/* One path comes before another: it is behind its share, or faster, or is the first. */
static bool is_before(const struct mps_conn *conn, struct mps_subflow *subflow,
		      struct mps_subflow *other)
{
	if (!other)
		return true;
	if (mps_param(conn, FASTEST))
		return subflow->srtt_us < other->srtt_us;
	return state_of(subflow)->turn < state_of(other)->turn;
}

/* The path for the segment, among those of a class and a cost; NULL: wait.
 * *usable: is there one that would take it, if it had room?
 */
static struct mps_subflow *among(struct mps_conn *conn, const struct mps_segment *seg, u32 class,
				 s64 cost, bool *usable)
{
	struct mps_subflow *subflow, *next = NULL, *with_room = NULL;

	mps_for_each_subflow(conn, subflow) {
		if (!subflow->usable || class_of(conn, subflow) != class ||
		    cost_of(conn, subflow) != cost ||
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

/* The least cost, beyond that of *cost, of a usable path of the class. */
static bool next_cost(struct mps_conn *conn, u32 class, s64 *cost)
{
	struct mps_subflow *subflow;
	s64 next = S64_MAX;

	mps_for_each_subflow(conn, subflow) {
		s64 mine = cost_of(conn, subflow);

		if (subflow->usable && class_of(conn, subflow) == class && mine > *cost)
			next = min(next, mine);
	}
	*cost = next;
	return next != S64_MAX;
}

/* The path for a segment that those of `seg` have not carried; NULL as seg: for
 * new data. Dearer paths only if `impatient`, or if no cheaper one would take it.
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

		for (cost = -1; next_cost(conn, class, &cost);) {
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

/* Since when has data waited, without a break? */
static bool is_impatient(struct mps_conn *conn)
{
	u64 patience_ns = (u64)mps_param(conn, PATIENCE_MS) * NSEC_PER_MSEC;
	struct weighted_conn *state = mps_conn_priv(conn);
	u64 now = mps_clock_ns();

	if (!state->waiting_ns)
		state->waiting_ns = now;
	return now >= state->waiting_ns + patience_ns;
}

/* A copy of the oldest segment on a path that exceeds, and that carries nothing
 * therefore: otherwise nothing would ever tell that it has become better.
 */
static bool measure(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *seg = mps_oldest_unacked(conn);
	struct mps_subflow *subflow;
	u64 now = mps_clock_ns();

	mps_for_each_subflow(conn, subflow)
		if (seg && exceeds(conn, subflow) && mps_available(subflow) &&
		    !subflow->in_flight_pkts && now >= state_of(subflow)->sent_ns + MEASURE_NS &&
		    class_of(conn, subflow) == REGULAR && !mps_carried_by(seg, subflow))
			return mps_pick_duplicate(pick, conn, subflow, seg);
	return false;
}

/* False: nothing can be sent on the path that it is for. */
static bool pick_by_cost(struct mps_conn *conn, struct mps_pick *pick)
{
	struct weighted_conn *state = mps_conn_priv(conn);
	struct mps_segment *seg = mps_reinjection(conn);
	struct mps_segment *head = mps_head(conn);
	struct mps_subflow *subflow;

	if (seg) {
		subflow = choose(conn, seg, false) ?: choose(conn, NULL, false);
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
	/* a full receive window is nothing that another path could mend */
	if (!mps_fits_window(conn, head)) {
		state->waiting_ns = 0;
		return false;
	}
	if (is_impatient(conn)) {
		subflow = choose(conn, NULL, true);
		return subflow && mps_pick_new(pick, conn, subflow, head);
	}
	if (state->timer_ns != state->waiting_ns) {
		state->timer_ns = state->waiting_ns;
		mps_wake_at(conn, state->waiting_ns +
			    (u64)mps_param(conn, PATIENCE_MS) * NSEC_PER_MSEC);
	}
	return false;
}

static bool weighted_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	return pick_by_cost(conn, pick) || measure(conn, pick);
}

/* The others do not fall behind by more than they may catch up with; with
 * strict, only those that cannot send. Then both count from where the sender is,
 * without what a division has left of that: it is in other parts.
 */
static void weighted_on_sent(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes)
{
	struct weighted_subflow *sent = state_of(pick->subflow);
	struct mps_subflow *subflow;

	sent->sent_ns = mps_clock_ns();
	sent->bytes += bytes;
	sent->turn += div_u64_rem(bytes * SCALE + sent->rest, share_of(conn, pick->subflow),
				  &sent->rest);
	mps_for_each_subflow(conn, subflow) {
		struct weighted_subflow *state = state_of(subflow);
		u32 share = share_of(conn, subflow), rest;
		u64 behind = div_u64_rem(CATCH_UP_BYTES * SCALE, share, &rest);

		if (subflow == pick->subflow || (mps_param(conn, STRICT) && subflow->usable))
			continue;
		if (state->turn + behind >= sent->turn)
			continue;
		sent->rest = 0;
		state->turn = sent->turn - behind - !!rest;
		state->rest = rest ? share - rest : 0;
	}
}

static void weighted_on_ack(struct mps_conn *conn, struct mps_subflow *subflow, u64 acked_bytes)
{
	u64 pkts = (u64)subflow->round_delivered_pkts + subflow->round_lost_pkts;
	struct weighted_subflow *state = state_of(subflow);

	if (state->rounds == subflow->rounds)
		return;
	state->rounds = subflow->rounds;
	state->round_pkts += pkts * LOSS_SCALE - state->round_pkts / LOSS_PART;
	state->round_lost += subflow->round_lost_pkts * LOSS_SCALE -
			     state->round_lost / LOSS_PART;
}

/* A new path begins where the others are, and exactly there: what a division has left
 * of the farthest one's is in other parts than those of the new one.
 */
static void weighted_init_subflow(struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct weighted_subflow *farthest = state_of(subflow);
	struct mps_subflow *other;

	mps_for_each_subflow(conn, other)
		if (state_of(other)->turn > farthest->turn)
			farthest = state_of(other);
	farthest->rest = 0;
	state_of(subflow)->turn = farthest->turn;
}

static struct mps_subflow *weighted_get_subflow(struct mps_conn *conn,
						const struct mps_segment *seg)
{
	return choose(conn, seg, false) ?: choose(conn, NULL, false);
}

static struct mps_ops weighted_ops = {
	.next_segment	= weighted_next_segment,
	.get_subflow	= weighted_get_subflow,
	.init_subflow	= weighted_init_subflow,
	.on_sent	= weighted_on_sent,
	.on_ack		= weighted_on_ack,
	.name		= "weighted",
	.owner		= THIS_MODULE,
	.conn_size	= sizeof(struct weighted_conn),
	.subflow_size	= sizeof(struct weighted_subflow),
	.params		= weighted_params,
	.num_params	= ARRAY_SIZE(weighted_params),
};

mps_scheduler(weighted_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler: shares, costs and caps of paths");
