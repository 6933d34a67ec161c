// SPDX-License-Identifier: GPL-2.0-only
/* thinstream: the path of the lowest one-way delay, and the others are probed.
 *
 * A stream that never fills a congestion window stays on one path, and nothing
 * is learnt of the others. Here, at the end of each burst, every path that has
 * been idle for some round trips gets a probe. It is a copy of the last segment,
 * or, with redundant=off, the last segment itself. New data goes to the path with
 * room whose latest one-way delay is the lowest.
 *
 * Source: Froemmgen, Heuschkel, Koldehofe, "Multipath TCP Scheduling for Thin
 * Streams: Active Probing and One-way Delay-awareness", ICC 2018; the authors'
 * programs for ProgMP, whose text we had, while of the paper we had the abstract.
 *
 * Works for small data that is to come soon, over paths whose delays change: it
 * moves within five round trips of the path that has become the faster one. Bulk
 * data fills all paths, as with minrtt. Fails where delays change faster than
 * that. Probes cost data on every path, redundant ones a copy, and others wait for
 * a slow path as long as it takes.
 *
 * Differs from the source:
 * - An idle path is probed after four of its round trips, not five, so that what
 *   the probe tells is used within five. The source compares ms with us, and in
 *   truth probes thousands of times less often.
 * - One-way delays that cannot be compared are not: mps_delays_comparable(). Then
 *   the latest round-trip times stand for them, and `fallbacks` counts. So they
 *   do, uncounted, until each path has had its first sample.
 * - Timestamps are in whole ms: a path that is lower by no more than that is no
 *   reason to leave the one in use.
 * - Backup paths are neither used nor probed while another one is usable.
 */

#include "mpsched.h"

/* two readings of clocks in whole ms */
#define THINSTREAM_CLOCK_US	1000
enum { REDUNDANT, PROBE_RTTS, OWD };

static const struct mps_param thinstream_params[] = {
	[REDUNDANT]  = MPS_BOOL("redundant", 1,
				"probe with a copy of the last segment, not with itself"),
	[PROBE_RTTS] = MPS_UINT("probe_rtts", 0, 1000, 4, "round trips",
				"a path is probed when it was idle for so long; 0: never"),
	[OWD]	     = MPS_BOOL("owd", 1,
				"choose by one-way delays; off: by the latest round-trip times"),
};

struct thinstream_conn {
	u32	in_use;		/* id of the subflow of the latest new data; 0: none */
	bool	copying;	/* the last segment of a burst is a probe on further paths */
};

struct thinstream_subflow {
	u64	due_ns;		/* to be probed then, if idle */
};

/* Backups only when no other is usable. */
static bool thinstream_is_candidate(const struct mps_subflow *subflow, bool backups)
{
	return mps_available(subflow) && (backups || !subflow->backup);
}

static u32 thinstream_delay_us(const struct mps_subflow *subflow, bool by_owd)
{
	return by_owd ? subflow->owd_us : subflow->last_rtt_us ?: subflow->srtt_us;
}

/* Can the candidates be compared by their one-way delays? */
static bool thinstream_by_owd(struct mps_conn *conn, bool backups)
{
	const struct mps_subflow *subflow;
	unsigned int candidates = 0;
	bool sampled = true;

	if (!mps_param(conn, OWD))
		return false;
	mps_for_each_subflow(conn, subflow) {
		if (!thinstream_is_candidate(subflow, backups))
			continue;
		candidates++;
		sampled &= !!subflow->owd_us;
	}
	if (candidates < 2)
		return false;
	if (mps_delays_comparable(conn))
		return sampled;
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
		if (!best || thinstream_delay_us(subflow, by_owd) <
			     thinstream_delay_us(best, by_owd))
			best = subflow;
	}
	if (used && thinstream_delay_us(used, by_owd) <=
		    (u64)thinstream_delay_us(best, by_owd) + THINSTREAM_CLOCK_US)
		return used;
	return best;
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

static bool thinstream_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct thinstream_conn *state = mps_conn_priv(conn);
	struct mps_segment *head = mps_head(conn), *last;
	bool backups = mps_only_backups(conn);
	struct mps_subflow *best, *idle;

	if (mps_reinjection(conn))
		return mps_reinject(conn, pick);

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
			state->copying = true;
			return mps_pick_new(pick, conn, idle, head);
		}
	}
	state->in_use = best->id;
	return mps_pick_new(pick, conn, best, head);
}

/* Whatever it carries tells about a path. */
static void thinstream_on_sent(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes)
{
	struct thinstream_subflow *state = mps_subflow_priv(pick->subflow);
	u64 idle_us = mps_param(conn, PROBE_RTTS) * (u64)thinstream_delay_us(pick->subflow, false);

	state->due_ns = mps_clock_ns() + idle_us * NSEC_PER_USEC;
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
