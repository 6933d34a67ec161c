// SPDX-License-Identifier: GPL-2.0-only
/* thinstream: the path of the lowest one-way delay, and the others are probed.
 *
 * A stream that never fills a congestion window stays on one path, and the
 * scheduler learns nothing about the others. Here, at the end of each burst,
 * every path that has been idle for some round trips gets a probe. It is a
 * duplicate of the last segment, or, with redundant=off, the last segment itself.
 * New data goes to the path with room whose latest one-way delay is the lowest.
 *
 * Source: Froemmgen, Heuschkel, Koldehofe, "Multipath TCP Scheduling for Thin
 * Streams: Active Probing and One-way Delay-awareness", ICC 2018; the authors'
 * programs for ProgMP: we had the text of the programs, but only the abstract of
 * the paper.
 *
 * Works for small data that is to come soon, over paths whose delays change: it
 * moves within six round trips of the path that has become the faster one. Bulk
 * data fills all paths, as with minrtt. Fails where delays change faster than
 * that. Probes cost data on every path, redundant ones a duplicate, and others
 * wait for a slow path as long as it takes.
 *
 * Differs from the source:
 * - owd: the source has each idea in a program of its own: two that probe, and
 *   choose by the smoothed RTT (owd=off), and one that chooses by delays and does
 *   not probe (probe_rtts=0). Here both ideas are one scheduler, as in the title
 *   of the paper.
 * - probe_rtts: the source means five round trips, but adds an RTT in eighths of
 *   us to a time in ms: 40000 is what it does, and 4 keeps all within five.
 * - stay_us: the source leaves a path for any that is lower. Timestamps are in
 *   whole ms, so two that are alike take turns; 1000 ends that.
 * - latest_rtt: the source knows the smoothed RTT, which is slow to follow.
 * - any_clock: the source compares delays whatever the clocks are; on kernels of
 *   its time that was right. Off, those that cannot be compared are not
 *   (mps_delays_comparable()): round-trip times stand for them, and `fallbacks`
 *   counts.
 * - spare_backups: the source does not look at the flag. On, a backup is neither
 *   used nor probed while another path is usable.
 * - always: the delay is that of the last packet acknowledged, where the source
 *   has that of the first, which an ACK was delayed for. The framework measures no
 *   other.
 * - always: the end of a burst is where nothing is left to send, where the source
 *   also asks for TCP's PSH, which the last segment of a write has anyway.
 */

#include "mpsched.h"

enum { REDUNDANT, PROBE_RTTS, OWD, STAY_US, LATEST_RTT, ANY_CLOCK, SPARE_BACKUPS };

static const struct mps_param thinstream_params[] = {
	[REDUNDANT]  = MPS_BOOL("redundant", 1,
				"probe with a duplicate of the last segment; off: with itself"),
	[PROBE_RTTS] = MPS_UINT("probe_rtts", 0, 100000, 5, "round trips",
				"a path is probed when it was idle for so long; 0: never"),
	[OWD]	     = MPS_BOOL("owd", 1,
				"choose by one-way delays; off: by round-trip times"),
	[STAY_US]    = MPS_UINT("stay_us", 0, 1000000, 0, "us",
				"the path in use is left only for one that is lower by more"),
	[LATEST_RTT] = MPS_BOOL("latest_rtt", 0,
				"of round-trip times the latest, not the smoothed one"),
	[ANY_CLOCK]  = MPS_BOOL("any_clock", 0,
				"compare one-way delays also if the clocks are not the same"),
	[SPARE_BACKUPS] = MPS_BOOL("spare_backups", 0,
				   "use or probe a backup subflow only if no other is usable"),
};

struct thinstream_conn {
	u32	in_use;		/* id of the subflow of the latest new data; 0: none */
	bool	copying;	/* the last segment of a burst is a probe on further paths */
};

struct thinstream_subflow {
	u64	due_ns;		/* to be probed then, if idle */
};

/* Backups only when no other is usable. As in the source, all that was sent counts
 * against the congestion window until it is acknowledged in order.
 */
static bool thinstream_is_candidate(const struct mps_subflow *subflow, bool backups)
{
	u64 pkts = (u64)subflow->in_flight_pkts + subflow->left_out_pkts +
		   subflow->unsent_bytes / max(subflow->mss_bytes, 1U);

	return subflow->usable && !mps_in_loss(subflow) && !mps_throttled(subflow) &&
	       subflow->cwnd_pkts > pkts && (backups || !subflow->backup);
}

static u32 thinstream_rtt_us(const struct mps_conn *conn, const struct mps_subflow *subflow)
{
	if (mps_param(conn, LATEST_RTT) && subflow->last_rtt_us)
		return subflow->last_rtt_us;
	return subflow->srtt_us;
}

/* As in the source, a delay that is not known is the lowest: it has one since the
 * handshake.
 */
static u32 thinstream_delay_us(const struct mps_conn *conn, const struct mps_subflow *subflow,
			       bool by_owd)
{
	return by_owd ? subflow->owd_us : thinstream_rtt_us(conn, subflow);
}

/* Can the candidates be compared by their one-way delays? */
static bool thinstream_by_owd(struct mps_conn *conn, bool backups)
{
	const struct mps_subflow *subflow;
	unsigned int candidates = 0;

	if (!mps_param(conn, OWD))
		return false;
	mps_for_each_subflow(conn, subflow)
		candidates += thinstream_is_candidate(subflow, backups);
	if (candidates < 2)
		return false;
	if (mps_param(conn, ANY_CLOCK) || mps_delays_comparable(conn))
		return true;
	mps_count_fallback(conn);
	return false;
}

static struct mps_subflow *thinstream_fastest(struct mps_conn *conn, bool backups)
{
	const struct thinstream_conn *state = mps_conn_priv(conn);
	struct mps_subflow *subflow, *best = NULL, *used = NULL;
	bool by_owd = thinstream_by_owd(conn, backups);

	mps_for_each_subflow(conn, subflow) {
		if (!thinstream_is_candidate(subflow, backups))
			continue;
		if (subflow->id == state->in_use)
			used = subflow;
		if (!best || thinstream_delay_us(conn, subflow, by_owd) <
			     thinstream_delay_us(conn, best, by_owd))
			best = subflow;
	}
	if (used && mps_param(conn, STAY_US) &&
	    thinstream_delay_us(conn, used, by_owd) <=
	    (u64)thinstream_delay_us(conn, best, by_owd) + mps_param(conn, STAY_US))
		return used;
	return best;
}

/* It is not to be probed for a while. */
static void thinstream_put_off(const struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct thinstream_subflow *state = mps_subflow_priv(subflow);
	u64 idle_us = mps_param(conn, PROBE_RTTS) * (u64)thinstream_rtt_us(conn, subflow);

	state->due_ns = mps_clock_ns() + idle_us * NSEC_PER_USEC;
}

/* A path to be probed now, but not by what it carries already, nor `not_this`. */
static struct mps_subflow *thinstream_idle(struct mps_conn *conn, bool backups,
					   const struct mps_segment *seg,
					   const struct mps_subflow *not_this)
{
	struct mps_subflow *subflow;
	u64 now = mps_clock_ns();

	if (!mps_param(conn, PROBE_RTTS))
		return NULL;
	mps_for_each_subflow(conn, subflow) {
		const struct thinstream_subflow *state = mps_subflow_priv(subflow);

		if (subflow != not_this && now >= state->due_ns &&
		    thinstream_is_candidate(subflow, backups) && !mps_carried_by(seg, subflow))
			return subflow;
	}
	return NULL;
}

/* On the lowest delay of those that did not carry it. If there is none, new data goes
 * on.
 */
static bool thinstream_reinject(struct mps_conn *conn, bool backups, struct mps_pick *pick)
{
	struct mps_segment *seg = mps_reinjection(conn);
	struct mps_subflow *subflow, *best = NULL;
	bool by_owd;

	if (!seg)
		return false;
	by_owd = thinstream_by_owd(conn, backups);
	mps_for_each_subflow(conn, subflow)
		if (thinstream_is_candidate(subflow, backups) && !mps_carried_by(seg, subflow) &&
		    min(mps_len(seg), subflow->mss_bytes) <= subflow->window_bytes &&
		    (!best || thinstream_delay_us(conn, subflow, by_owd) <
			      thinstream_delay_us(conn, best, by_owd)))
			best = subflow;
	return best && mps_pick_reinjection(pick, conn, best, seg);
}

static bool thinstream_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct thinstream_conn *state = mps_conn_priv(conn);
	struct mps_segment *head = mps_head(conn), *last;
	bool backups = mps_may_use_backups(conn, SPARE_BACKUPS);
	struct mps_subflow *best, *idle;

	if (thinstream_reinject(conn, backups, pick))
		return true;

	if (!head) {
		last = state->copying ? mps_latest_sent(conn) : NULL;
		idle = last ? thinstream_idle(conn, backups, last, NULL) : NULL;
		state->copying = idle;
		return idle && mps_pick_duplicate(pick, conn, idle, last);
	}

	best = thinstream_fastest(conn, backups);
	if (!best)
		return false;
	state->copying = mps_param(conn, REDUNDANT);
	if (!state->copying && !mps_next_unsent(conn, head)) {
		idle = thinstream_idle(conn, backups, head, best);
		if (idle) {
			/* as in the source, though it carries nothing */
			thinstream_put_off(conn, best);
			state->copying = true;
			return mps_pick_new(pick, conn, idle, head);
		}
	}
	state->in_use = best->id;
	return mps_pick_new(pick, conn, best, head);
}

/* What it carries tells about a path; as in the source, reinjections do not count. */
static void thinstream_on_sent(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes)
{
	if (pick->kind != MPS_REINJECTION)
		thinstream_put_off(conn, pick->subflow);
}

static struct mps_ops thinstream_ops = {
	.next_segment	= thinstream_next_segment,
	.on_sent	= thinstream_on_sent,
	.name		= "thinstream",
	.owner		= THIS_MODULE,
	.conn_size	= sizeof(struct thinstream_conn),
	.subflow_size	= sizeof(struct thinstream_subflow),
	.params		= thinstream_params,
	.num_params	= ARRAY_SIZE(thinstream_params),
};

mps_scheduler(thinstream_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler for thin streams: one-way delays, and probes");
