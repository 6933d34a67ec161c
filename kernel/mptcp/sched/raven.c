// SPDX-License-Identifier: GPL-2.0-only
/* raven: duplicates, while it is unsure which path is the fastest.
 *
 * It predicts the next RTT of each subflow: a mean of the samples, in which newer
 * ones count more, and an interval around it in which 90 % of the samples of that
 * network were found. The interval widens with the age of the latest sample. Each
 * new segment goes to the subflow whose interval begins the lowest, and, where
 * there is room now, to all others whose interval overlaps with that one.
 *
 * Source: Lee, Flinn, Tonshal, "RAVEN: Improving Interactive Latency for the
 * Connected Car", MobiCom 2018: we had the abstract; the authors' module
 * mptcp_raven.c of June 2018 for the out-of-tree kernel v0.94, which was not
 * finished. The code that chooses the constants of a subflow is compiled out, and
 * the code that adds a sample to the mean is missing; the table of its weights is
 * there.
 *
 * Works for small data that is to come soon, over paths whose delays vary by more
 * than they differ, and for paths that were not used for a while. Fails, as the
 * intervals come from the authors' two cellular networks in a car, and are wide:
 * unless one of two paths is twice as fast, both carry everything. Bulk data
 * seldom finds room on both and spreads.
 *
 * The interval is in parts/raven_interval.c.
 *
 * Differs from the source:
 * - always: the constants of the second data set, the one compiled in, are used
 *   by the order of subflows: the first one's network, and for all others the
 *   second's. In the source no subflow has any, and the interval is not set.
 * - always: the first transmission goes to the lowest RTT of the targets. In the
 *   source a pointer is not set there; with a single target, nothing is sent.
 * - half_life_ms: the table of weights halves at its 164th entry. The time that an
 *   entry stands for is not known; here it is 1 ms.
 * - whole_upper: the source rounds down 1 + the upper share, which makes [m,
 *   1.58 m] [m, m]. Off, it does not.
 * - always: age is counted up to 30 s. The source's tables go on to 1000 s, by
 *   no more than -17 and +6 %.
 * - always: a duplicate that finds no room at the moment of the decision is not
 *   sent. The source puts it into a queue until there is room.
 * - always: a backup subflow gets data if no other is usable. The source does not
 *   look at the flag.
 * - always: a reinjection goes where the default scheduler of v0.9x would send
 *   it. The source takes the first subflow that can send.
 */

#include "parts/raven_interval.h"

static const struct mps_param raven_params[] = {
	[LOWER1]      = MPS_UINT("lower1_permille", 0, 1000, 347, "1/1000",
				 "of the mean RTT, what the first path's interval has below"),
	[UPPER1]      = MPS_UINT("upper1_permille", 0, 100000, 578, "1/1000",
				 "and above"),
	[LOWER]	      = MPS_UINT("lower_permille", 0, 1000, 578, "1/1000",
				 "of all other paths, below"),
	[UPPER]	      = MPS_UINT("upper_permille", 0, 100000, 1321, "1/1000",
				 "and above"),
	[HALF_LIFE]   = MPS_UINT("half_life_ms", 1, 1000000, 164, "ms",
				 "a sample that is so old counts half as much as a new one"),
	[AGING]	      = MPS_BOOL("aging", 1, "intervals widen with the age of the latest sample"),
	[WHOLE_UPPER] = MPS_BOOL("whole_upper", 1,
				 "the upper bound is a whole multiple of the mean, rounded down"),
};

struct raven_subflow {
	struct raven_interval interval;	/* first, as raven_interval.h asks */
	bool	target;		/* of the next segment */

	bool	copies;		/* it is to carry this segment, too */
	u64	copy_seq;
};

static struct raven_subflow *state_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

static bool raven_is_candidate(const struct mps_subflow *subflow, bool backups)
{
	return subflow->usable && (backups || !subflow->backup);
}

/* The interval that begins the lowest; NULL: no subflow has one. */
static const struct raven_interval *raven_lowest(struct mps_conn *conn, bool backups)
{
	const struct raven_interval *best = NULL;
	struct mps_subflow *subflow;
	u64 now_ns = mps_clock_ns();

	mps_for_each_subflow(conn, subflow) {
		const struct raven_interval *own = &state_of(subflow)->interval;

		if (!raven_is_candidate(subflow, backups))
			continue;
		raven_predict(conn, subflow, now_ns);
		if (own->low_us && (!best || own->low_us < best->low_us))
			best = own;
	}
	return best;
}

/* Chooses the targets of the next segment; returns the one with the lowest RTT. Targets are
 * the subflows with room whose interval overlaps with the lowest, or else all with room.
 */
static struct mps_subflow *raven_targets(struct mps_conn *conn)
{
	bool backups = mps_only_backups(conn), blind = false;
	const struct raven_interval *lowest = raven_lowest(conn, backups);
	struct mps_subflow *subflow, *first = NULL;

	do {
		mps_for_each_subflow(conn, subflow) {
			struct raven_subflow *state = state_of(subflow);

			state->target = raven_is_candidate(subflow, backups) &&
					mps_available(subflow) &&
					(blind || !lowest ||
					 state->interval.low_us <= lowest->high_us);
			if (state->target && (!first || subflow->srtt_us < first->srtt_us))
				first = subflow;
		}
		blind = !blind;
	} while (!first && blind);
	return first;
}

/* The segment that was sent last, on its other targets. */
static bool raven_copy(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *seg = mps_latest_sent(conn);
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow) {
		struct raven_subflow *state = state_of(subflow);

		if (!state->copies)
			continue;
		state->copies = false;
		if (seg && mps_seq(conn, seg) == state->copy_seq &&
		    !mps_carried_by(seg, subflow) && mps_available(subflow))
			return mps_pick_duplicate(pick, conn, subflow, seg);
	}
	return false;
}

static bool raven_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *seg = mps_head(conn);
	struct mps_subflow *subflow;

	if (mps_reinject(conn, pick) || raven_copy(conn, pick))
		return true;
	subflow = seg ? raven_targets(conn) : NULL;
	return subflow && mps_pick_new(pick, conn, subflow, seg);
}

static void raven_on_sent(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes)
{
	struct mps_subflow *subflow;

	if (pick->kind != MPS_NEW)
		return;
	mps_for_each_subflow(conn, subflow) {
		struct raven_subflow *state = state_of(subflow);

		state->copies = subflow != pick->subflow && state->target;
		state->copy_seq = pick->seq;
	}
}

static struct mps_ops raven_ops = {
	.next_segment	= raven_next_segment,
	.on_ack		= raven_sample,
	.on_sent	= raven_on_sent,
	.name		= "raven",
	.owner		= THIS_MODULE,
	.subflow_size	= sizeof(struct raven_subflow),
	.params		= raven_params,
	.num_params	= ARRAY_SIZE(raven_params),
};

mps_scheduler(raven_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler RAVEN: duplicates while it is unsure which path is fastest");
