// SPDX-License-Identifier: GPL-2.0-only
/* sttf: the shortest transfer time, with the growth of the windows foreseen.
 *
 * A plan assigns the unsent segments, in order, to the subflow on which each is
 * predicted to arrive first: at once if the congestion window has room, else in
 * one of the next round trips, whose windows grow as in slow start and congestion
 * avoidance. The first segment that is assigned to present room is sent; the
 * others are not committed to anything. Every decision plans anew: after any ACK,
 * loss, write. Where the paths are alike from the beginning, nothing is planned:
 * the lowest RTT with room is taken, as by the default scheduler of the module's
 * time. A reinjection is not planned: it goes where it is predicted to arrive
 * first, even into a queue, or to a subflow that carried it.
 *
 * Source: Hurtig, Grinnemo, Brunstrom, Ferlin, Alay, Kuhn, "Low-Latency
 * Scheduling in MPTCP", IEEE/ACM Transactions on Networking 27(1), 2019, as in
 * Cech 2020, algorithm 3; the authors' module in the out-of-tree kernel v0.91,
 * whose closed forms give the same figures as the rounds here.
 *
 * Works where RTTs differ and there is little to send: a page or a message ends
 * where minrtt still waits for its last segments on the slow path. Fails where
 * the RTT is not the path's own: with deep queues it grows with the data sent
 * there, and the window does not show the rate. Bulk data needs a send buffer
 * that reaches to the segments for the slow path, or that one idles.
 *
 * Look-ahead: look_ahead_pkts unsent segments, a round of a subflow at a time.
 * Rounds are in parts/sttf_round.c.
 *
 * Differs from the source:
 * - look_ahead_pkts: the source plans all unsent segments. So does this, up to
 *   65,536 segments. Less, and of more than these the next one is sent.
 * - spare_backups: the module does not look at the backup flag. On, a backup is
 *   used only if no other subflow is usable.
 * - penalise: the module repeats the oldest segment when the windows are closed,
 *   and penalises nobody (optim=1). On, it does both (optim=2).
 * - rp_limit: the module, when it penalises, halves cwnd and ssthresh of one
 *   subflow. On, all slower ones that carry the oldest segment get a limit.
 * - always: the module queues its plan, and takes it back when a subflow's part
 *   changes by more than a segment. Nothing can be taken back here, hence nothing
 *   is queued: the paper's algorithm, which plans anew each time.
 * - always: the module plans for subflows without room and with nothing in
 *   flight, and stalls. Here they take no part.
 */

#include "parts/sttf_round.h"

enum { ALPHA, LOOK_AHEAD, SPARE_BACKUPS, RP, PENALISE, RP_LIMIT };

static const struct mps_param sttf_params[] = {
	[ALPHA]		= MPS_UINT("alpha_percent", 0, 1000, 10, "%",
				   "paths are alike if their first RTTs differ by less; 0: never"),
	[LOOK_AHEAD]	= MPS_UINT("look_ahead_pkts", 1, 65536, 65536, "segments",
				   "plan as many unsent ones; of more, the next one is sent"),
	[SPARE_BACKUPS]	= MPS_BOOL("spare_backups", 0,
				   "use a backup subflow only if no other is usable"),
	[RP]		= MPS_BOOL("rp", 1, "opportunistic retransmission"),
	[PENALISE]	= MPS_BOOL("penalise", 0, "rp: and penalisation"),
	[RP_LIMIT]	= MPS_BOOL("rp_limit", 0,
				   "penalise: by a limit beside cwnd, not by halving cwnd"),
};

struct sttf_conn {
	bool	alike;		/* the first RTTs of all subflows are */
};

struct sttf_subflow {
	u32	first_rtt_us;	/* of its handshake; 0: not known yet */
	bool	takes_part;
	struct sttf_round round;	/* that the plan has come to */
};

static struct sttf_subflow *state_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

/* As in the module, in jiffies, when a subflow has come. */
static void sttf_init_subflow(struct mps_conn *conn, struct mps_subflow *joined)
{
	struct sttf_conn *state = mps_conn_priv(conn);
	u64 first, most = 0, least = U32_MAX;
	struct mps_subflow *subflow;

	state_of(joined)->first_rtt_us = joined->srtt_us;
	mps_for_each_subflow(conn, subflow) {
		if (!state_of(subflow)->first_rtt_us)
			continue;
		first = usecs_to_jiffies(state_of(subflow)->first_rtt_us);
		most = max(most, first);
		least = min(least, first);
	}
	state->alike = most <= least + 1 ||
		       div64_u64(100 * most, max(least, 1ULL)) < 100 + mps_param(conn, ALPHA);
}

static bool sttf_alike(struct mps_conn *conn)
{
	struct sttf_conn *state = mps_conn_priv(conn);

	return state->alike && mps_param(conn, ALPHA) && !list_is_singular(&conn->subflows);
}

/* Is there room anywhere? If not, there is nothing to plan. */
static bool sttf_begin(struct mps_conn *conn)
{
	bool backups = mps_may_use_backups(conn, SPARE_BACKUPS);
	struct mps_subflow *subflow;
	bool room = false;

	mps_for_each_subflow(conn, subflow) {
		struct sttf_subflow *own = state_of(subflow);

		own->takes_part = mps_has_room_soon(subflow) && (backups || !subflow->backup);
		if (!own->takes_part)
			continue;
		sttf_first_round(&own->round, subflow);
		room |= own->round.now;
	}
	return room;
}

/* The subflow whose round arrives first, the first one in a tie; `now`: with room now. */
static struct mps_subflow *sttf_soonest(struct mps_conn *conn, bool now)
{
	struct mps_subflow *subflow, *best = NULL;
	u64 best_us = 0;

	mps_for_each_subflow(conn, subflow) {
		const struct sttf_subflow *own = state_of(subflow);

		if (!own->takes_part || (now && !own->round.now) ||
		    (best && own->round.arrival_us >= best_us))
			continue;
		best = subflow;
		best_us = own->round.arrival_us;
	}
	return best;
}

/* Where the next segment arrives first; NULL: nowhere, or TCP holds that subflow back. As in
 * the source, a lone subflow is taken all the same.
 */
static struct mps_subflow *sttf_winner(struct mps_conn *conn)
{
	struct mps_subflow *best = sttf_soonest(conn, false);

	if (best && mps_throttled(best) && !list_is_singular(&conn->subflows))
		return NULL;
	return best;
}

/* The subflow for a segment that was sent before. */
static struct mps_subflow *sttf_get_subflow(struct mps_conn *conn, const struct mps_segment *seg)
{
	if (sttf_alike(conn))
		return mps_lowest_rtt(conn, seg);
	sttf_begin(conn);
	return sttf_winner(conn);
}

/* The first subflow in the plan that sends now; *nth: so many unsent segments are for others
 * before. NULL: wait for room.
 */
static struct mps_subflow *sttf_plan(struct mps_conn *conn, u32 *nth)
{
	u32 look_ahead_pkts = mps_param(conn, LOOK_AHEAD);
	struct mps_subflow *best;
	struct sttf_round *round;

	*nth = 0;
	if (sttf_alike(conn))
		return mps_lowest_rtt(conn, NULL);
	if (!sttf_begin(conn) || !sttf_winner(conn))
		return NULL;
	while (*nth < look_ahead_pkts) {
		best = sttf_soonest(conn, false);
		round = &state_of(best)->round;
		if (round->now)
			return best;
		*nth += round->room_pkts;
		sttf_next_round(round, best);
	}
	*nth = look_ahead_pkts;
	return sttf_soonest(conn, true);
}

/* One subflow is penalised, as in v0.94 and before. */
static enum mps_rp sttf_rp(const struct mps_conn *conn)
{
	enum mps_rp rp = mps_rp(conn, RP, RP_LIMIT);

	if (rp != MPS_RP_OFF && !mps_param(conn, PENALISE))
		return MPS_RP_REPEAT;
	return rp == MPS_RP_HALVE ? MPS_RP_HALVE_ONE : rp;
}

static bool sttf_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *again = mps_reinjection(conn), *seg;
	struct mps_subflow *best;
	u32 nth;

	if (again) {
		best = sttf_get_subflow(conn, again);
		return best && mps_pick_reinjection(pick, conn, best, again);
	}
	if (!mps_head(conn) && !conn->writer_waits)
		return false;

	best = sttf_plan(conn, &nth);
	if (!best)
		return false;
	/* NULL: the others can carry all */
	seg = nth ? mps_nth_unsent(conn, nth) : mps_head(conn);
	return mps_new_or_repeat(conn, best, seg, sttf_rp(conn), pick);
}

static struct mps_ops sttf_ops = {
	.next_segment	= sttf_next_segment,
	.get_subflow	= sttf_get_subflow,
	.init_subflow	= sttf_init_subflow,
	.name		= "sttf",
	.owner		= THIS_MODULE,
	.conn_size	= sizeof(struct sttf_conn),
	.subflow_size	= sizeof(struct sttf_subflow),
	.params		= sttf_params,
	.num_params	= ARRAY_SIZE(sttf_params),
};

mps_scheduler(sttf_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler STTF: shortest transfer time first");
