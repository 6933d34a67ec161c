// SPDX-License-Identifier: GPL-2.0-only
/* sttf: the shortest transfer time, with the growth of the windows foreseen.
 *
 * The unsent segments, in order, are assigned to the subflow on which each is
 * predicted to arrive first: at once if the congestion window has room, else in
 * one of the next round trips, whose windows grow as slow start and congestion
 * avoidance make them grow. The first segment that is assigned to room that is
 * there now is sent; the others are not committed to anything. All of it is
 * done again for every decision: after any ACK, loss, write. Where the paths are
 * alike from the beginning, there is nothing to plan, and the lowest RTT with
 * room is taken, as by the default scheduler of the module's time. A segment that
 * is sent again is not planned: it goes where it is predicted to arrive first, be
 * that in a queue, or where it was sent before.
 *
 * Source: Hurtig, Grinnemo, Brunstrom, Ferlin, Alay, Kuhn, "Low-Latency
 * Scheduling in MPTCP", IEEE/ACM Transactions on Networking 27(1), 2019, as in
 * Cech 2020, algorithm 3; the authors' module in the out-of-tree kernel v0.91,
 * whose closed forms give the figures of the rounds that are followed here.
 *
 * Works where RTTs differ and there is little to send: a page or a message ends
 * where minrtt still waits for its last segments on the slow path. Fails where
 * the RTT is not that of the path: with deep queues it grows with what is sent
 * there, and the window does not tell the rate. Bulk data needs a send buffer
 * that reaches to the segments that the slow path should carry, or that one
 * idles.
 *
 * Look-ahead: look_ahead_pkts unsent segments. They are not looked at one by
 * one: a round of a subflow is planned at a time.
 *
 * Differs from the source:
 * - look_ahead_pkts: the source plans all that is unsent. So does this, up to
 *   65,536 segments. Less, and of more than these the next one is sent.
 * - spare_backups: the module does not look whether a subflow is a backup. On, one
 *   is used only if no other is usable.
 * - penalise: the module repeats the oldest segment when the windows are closed,
 *   and penalises nobody (optim=1). On, it does both (optim=2).
 * - rp_limit: the module, told to penalise, halves cwnd and ssthresh of a
 *   subflow. On, all slower ones that carry the oldest segment get a limit.
 * - always: the module queues what it plans, and takes it back when a subflow's
 *   part changes by more than a segment. Nothing can be taken back here, so
 *   nothing is queued: the paper's algorithm, which plans anew each time.
 * - always: the module plans for subflows without room and with nothing in
 *   flight, and stalls. Here they take no part.
 */

#include "mpsched.h"

/* A bound that no window reaches: sums and products below fit. */
#define STTF_MAX_PKTS		BIT(24)
/* ... and one that no queue does: it holds what was sent again only */
#define STTF_MAX_QUEUE_PKTS	65536U

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
	/* the round that the plan has come to */
	bool	now;		/* the present one */
	u64	arrival_us;	/* of what is sent in it, from now */
	u32	cwnd_pkts;
	u32	room_pkts;	/* of it, not yet assigned */
};

static u32 sttf_rtt_us(const struct mps_subflow *subflow)
{
	return subflow->last_rtt_us ?: subflow->srtt_us;
}

static void sttf_next_round(struct mps_subflow *subflow)
{
	struct sttf_subflow *round = mps_subflow_priv(subflow);

	if (round->cwnd_pkts < subflow->ssthresh_pkts)
		round->cwnd_pkts = min(2 * round->cwnd_pkts, subflow->ssthresh_pkts);
	else
		round->cwnd_pkts++;
	round->cwnd_pkts = min_t(u32, round->cwnd_pkts, STTF_MAX_PKTS);
	round->room_pkts = round->cwnd_pkts;
	round->arrival_us += sttf_rtt_us(subflow);
	round->now = false;
}

static void sttf_first_round(struct mps_subflow *subflow)
{
	struct sttf_subflow *round = mps_subflow_priv(subflow);
	u32 queued_pkts = subflow->unsent_bytes / max(subflow->mss_bytes, 1U);
	u32 room_pkts = 0;

	queued_pkts = min(queued_pkts, STTF_MAX_QUEUE_PKTS);
	round->arrival_us = sttf_rtt_us(subflow) / 2;
	round->cwnd_pkts = clamp_t(u32, mps_cwnd(subflow), 1, STTF_MAX_PKTS);
	if (subflow->in_flight_pkts < mps_cwnd(subflow))
		room_pkts = mps_cwnd(subflow) - subflow->in_flight_pkts;
	if (queued_pkts < room_pkts) {
		round->room_pkts = room_pkts - queued_pkts;
		round->now = true;
		return;
	}
	/* what waits in its queue leaves before */
	queued_pkts -= room_pkts;
	sttf_next_round(subflow);
	while (queued_pkts >= round->room_pkts) {
		queued_pkts -= round->room_pkts;
		sttf_next_round(subflow);
	}
	round->room_pkts -= queued_pkts;
}

/* As the module has it, in jiffies, when a subflow has come. */
static void sttf_init_subflow(struct mps_conn *conn, struct mps_subflow *joined)
{
	struct sttf_subflow *own = mps_subflow_priv(joined);
	struct sttf_conn *state = mps_conn_priv(conn);
	u64 first, most = 0, least = U32_MAX;
	struct mps_subflow *subflow;

	own->first_rtt_us = joined->srtt_us;
	mps_for_each_subflow(conn, subflow) {
		own = mps_subflow_priv(subflow);
		if (!own->first_rtt_us)
			continue;
		first = usecs_to_jiffies(own->first_rtt_us);
		most = max(most, first);
		least = min(least, first);
	}
	state->alike = most <= least + 1 ||
		       100 * most / max(least, 1ULL) < 100 + mps_param(conn, ALPHA);
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
		struct sttf_subflow *round = mps_subflow_priv(subflow);

		round->takes_part = mps_has_room_soon(subflow) && (backups || !subflow->backup);
		if (!round->takes_part)
			continue;
		sttf_first_round(subflow);
		room |= round->now;
	}
	return room;
}

/* The first one in a tie. `now`: of those that have room. */
static struct mps_subflow *sttf_soonest(struct mps_conn *conn, bool now)
{
	struct mps_subflow *subflow, *best = NULL;
	struct sttf_subflow *round, *best_round = NULL;

	mps_for_each_subflow(conn, subflow) {
		round = mps_subflow_priv(subflow);
		if (!round->takes_part || (now && !round->now))
			continue;
		if (!best || round->arrival_us < best_round->arrival_us) {
			best = subflow;
			best_round = round;
		}
	}
	return best;
}

/* Where the next segment arrives first; NULL: nowhere, or TCP holds that one back, which
 * as in the source does not matter if there is no other.
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

/* The first subflow in the plan that sends now, and in *nth how many unsent
 * segments others will carry before. NULL: wait for room.
 */
static struct mps_subflow *sttf_plan(struct mps_conn *conn, u32 *nth)
{
	u32 look_ahead_pkts = mps_param(conn, LOOK_AHEAD);
	struct mps_subflow *best;
	struct sttf_subflow *round;

	*nth = 0;
	if (sttf_alike(conn))
		return mps_lowest_rtt(conn, NULL);
	if (!sttf_begin(conn) || !sttf_winner(conn))
		return NULL;
	while (*nth < look_ahead_pkts) {
		best = sttf_soonest(conn, false);
		round = mps_subflow_priv(best);
		if (round->now)
			return best;
		*nth += round->room_pkts;
		sttf_next_round(best);
	}
	*nth = look_ahead_pkts;
	return sttf_soonest(conn, true);
}

/* Of penalised subflows there is one, as in v0.94 and before. */
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
	/* none: there is no more than others can carry. The place of a later one
	 * is kept for the next time.
	 */
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
