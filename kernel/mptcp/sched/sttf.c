// SPDX-License-Identifier: GPL-2.0-only
/* sttf: the shortest transfer time, with the growth of the windows foreseen.
 *
 * The unsent segments, in order, are assigned to the subflow on which each is
 * predicted to arrive first: at once if the congestion window has room, else in
 * one of the next round trips, whose windows grow as slow start and congestion
 * avoidance make them grow. The first segment that is assigned to room that is
 * there now is sent; the others are not committed to anything. All of it is
 * done again for every decision: after any ACK, loss, write. Where the paths are
 * alike, there is nothing to plan, and the lowest RTT with room is taken.
 *
 * Source: Hurtig, Grinnemo, Brunstrom, Ferlin, Alay, Kuhn, "Low-Latency
 * Scheduling in MPTCP", IEEE/ACM Transactions on Networking 27(1), 2019, as in
 * Cech 2020, algorithm 3; the authors' module in the out-of-tree kernel v0.91.
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
 * - Nothing unsent is queued on a subflow, so that nothing is to be removed from
 *   there before it is planned anew.
 * - The rounds are followed one by one, as in algorithm 3. The module's closed
 *   forms are the same figures.
 * - Paths are alike by their least RTTs. The module takes the first ones, and
 *   adds what its clock could not tell.
 * - A backup subflow is used only if no other is usable; a reinjection goes
 *   where the default scheduler of v0.9x would send it.
 * - rp penalises, too. The module's default is to repeat only.
 */

#include "mpsched.h"

/* A bound that no window reaches: sums and products below fit. */
#define STTF_MAX_PKTS	BIT(24)

enum { ALPHA, LOOK_AHEAD, RP, RP_LIMIT };

static const struct mps_param sttf_params[] = {
	[ALPHA]	     = MPS_UINT("alpha_percent", 0, 1000, 10, "%",
				"paths are alike if their RTTs differ by no more"),
	[LOOK_AHEAD] = MPS_UINT("look_ahead_pkts", 1, 65536, 1024, "segments",
				"plan as many unsent ones; of more, the next one is sent"),
	[RP]	     = MPS_BOOL("rp", 1, "opportunistic retransmission and penalisation"),
	[RP_LIMIT]   = MPS_BOOL("rp_limit", 0, "rp: by a limit beside cwnd, not by halving cwnd"),
};

/* The round of the subflow that the plan has come to. */
struct sttf_subflow {
	u64	arrival_us;	/* of what is sent in it, from now */
	u32	cwnd_pkts;
	u32	room_pkts;	/* of it, not yet assigned */
	bool	now;		/* the present one */
	bool	takes_part;
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

	round->arrival_us = sttf_rtt_us(subflow) / 2;
	round->cwnd_pkts = clamp_t(u32, mps_cwnd(subflow), 1, STTF_MAX_PKTS);
	if (subflow->in_flight_pkts < mps_cwnd(subflow))
		room_pkts = mps_cwnd(subflow) - subflow->in_flight_pkts;
	if (queued_pkts < room_pkts) {
		round->room_pkts = room_pkts - queued_pkts;
		round->now = true;
		return;
	}
	/* what waits in its queue leaves before; that is never much */
	sttf_next_round(subflow);
	round->room_pkts -= min(queued_pkts - room_pkts, round->room_pkts - 1);
}

/* Queues make the RTTs of such paths differ, in turns. */
static bool sttf_alike(struct mps_conn *conn)
{
	u32 rtt_us, most_us = 0, least_us = U32_MAX;
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow) {
		struct sttf_subflow *round = mps_subflow_priv(subflow);

		if (!round->takes_part)
			continue;
		rtt_us = min(subflow->min_rtt_us, sttf_rtt_us(subflow));
		most_us = max(most_us, rtt_us);
		least_us = min(least_us, rtt_us);
	}
	return 100ULL * most_us <= (100ULL + mps_param(conn, ALPHA)) * least_us;
}

/* Is there room anywhere? If not, there is nothing to plan. */
static bool sttf_begin(struct mps_conn *conn)
{
	bool backups = mps_only_backups(conn);
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

/* The first subflow in the plan that sends now, and in *nth how many unsent
 * segments others will carry before. NULL: wait for room.
 */
static struct mps_subflow *sttf_plan(struct mps_conn *conn, u32 *nth)
{
	u32 look_ahead_pkts = mps_param(conn, LOOK_AHEAD);
	struct mps_subflow *best;
	struct sttf_subflow *round;

	*nth = 0;
	if (!sttf_begin(conn))
		return NULL;
	if (sttf_alike(conn))
		return mps_lowest_rtt(conn, NULL);
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

static bool sttf_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *seg;
	struct mps_subflow *best;
	u32 nth;

	if (mps_reinjection(conn))
		return mps_reinject(conn, pick);
	if (!mps_head(conn) && !conn->writer_waits)
		return false;

	best = sttf_plan(conn, &nth);
	if (!best)
		return false;
	/* none: there is no more than others can carry */
	seg = mps_nth_unsent(conn, nth);
	return mps_new_or_repeat(conn, best, seg, mps_rp(conn, RP, RP_LIMIT), pick);
}

static struct mps_ops sttf_ops = {
	.next_segment	= sttf_next_segment,
	.name		= "sttf",
	.owner		= THIS_MODULE,
	.subflow_size	= sizeof(struct sttf_subflow),
	.params		= sttf_params,
	.num_params	= ARRAY_SIZE(sttf_params),
};

mps_scheduler(sttf_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler STTF: shortest transfer time first");
