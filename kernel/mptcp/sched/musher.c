// SPDX-License-Identifier: GPL-2.0-only
/* musher: segments in the ratio of what the paths can carry.
 *
 * Of each 100 segments, the newer one of two subflows gets as many as the ratio
 * says, and the other one the rest: in a row, and strictly, so that all wait for
 * the subflow at its turn. With room for one segment, that subflow gets a burst,
 * of up to 64 KB and as far as its share goes; the excess waits in its queue.
 * When throughput has changed, or the subflows hold less data than before, a
 * search looks for a better ratio: first a step to the right, then a step to the
 * left, and on in the direction that brought more throughput until there is less
 * again.
 *
 * Source: Saha, Aggarwal, Pathak, Koutsonikolas, Widmer, "MuSher: An Agile
 * Multipath-TCP Scheduler for Dual-Band 802.11ad/ac Wireless LANs", MobiCom 2019:
 * we had only the abstract; the authors' module for v0.94, mptcp_musher.c with
 * mptcp_ratio.c. An older form, in their fork of v0.9x, searches at the
 * beginning, too, and ends with half a step.
 *
 * Works where two paths carry hundreds of Mbit/s for seconds: the source chose
 * its thresholds for these. Fails on slower ones: no step brings 5 Mbit/s more,
 * and a search only makes the ratio worse; proportional measures the shares
 * instead. With three or more paths there is still one number: from the newest
 * subflow on, every other one gets the ratio, and each one in between gets the
 * rest. All wait for a path that fails until its retransmission timeout.
 *
 * Rounds are here, looks at throughput and queues in parts/watch.c, the steps of
 * a search in parts/musher_search.c, bursts in parts/musher_burst.c.
 *
 * Differs from the source:
 * - always: in the source the ratio is one number for all connections of a host,
 *   and each search corrupts that of another connection; here each has its own.
 * - always: the source searches beyond 0 and 100, where its unsigned char
 *   overflows; here a search ends there.
 * - always: the source spins, and then stalls, while only subflows with a share
 *   of 0 are left; here the last one of them sends.
 * - always: the source counts its samples of the queues in 8 bits, which
 *   overflow; here in 32.
 * - always: the source divides by the time between two transmissions of a device,
 *   and stalls where the device does not note them; here by the time between
 *   looks.
 * - spare_backups: the source does not look at the flag. On, a backup subflow is
 *   used only if no other is usable.
 */

#include "parts/musher_burst.h"
#include "parts/musher_search.h"
#include "parts/watch.h"

enum {
	RATIO, CWND_LIMITED, SEARCH, STEP, INTERVAL, SEARCH_INTERVAL, BETTER, RATE_CHANGE,
	QUEUE_FALL, SPACING, SPARE_BACKUPS,
};

static const struct mps_param musher_params[] = {
	[RATIO] = MPS_UINT("ratio", 0, 100, 50, "1/100",
			   "of each 100 segments, for the newer of two subflows at first"),
	[CWND_LIMITED] = MPS_BOOL("cwnd_limited", 0,
				  "pass over a subflow whose congestion window is full"),
	[SEARCH] = MPS_BOOL("search", 1, "change the ratio; else it stays what it is"),
	[STEP] = MPS_UINT("step", 1, 50, 5, "1/100", "by which a search changes the ratio"),
	[INTERVAL] = MPS_UINT("interval_ms", 10, 10000, 100, "ms", "from one look to the next"),
	[SEARCH_INTERVAL] = MPS_UINT("search_interval_ms", 10, 10000, 200, "ms",
				     "the same in a search"),
	[BETTER] = MPS_UINT("better_kbps", 0, 100000000, 5000, "kbit/s",
			    "more throughput than that makes a direction better"),
	[RATE_CHANGE] = MPS_UINT("rate_change_kbps", 1, 100000000, 200000, "kbit/s",
				 "change of throughput after which a search starts"),
	[QUEUE_FALL] = MPS_UINT("queue_fall_bytes", 1, 1000000000, 75000, "bytes",
				"fall of what is queued after which a search starts"),
	[SPACING] = MPS_UINT("spacing_ms", 0, 600000, 3000, "ms",
			     "from one search to the next, at least"),
	[SPARE_BACKUPS] = MPS_BOOL("spare_backups", 0,
				   "use a backup subflow only if no other is usable"),
};

struct musher_conn {
	struct watch		watch;		/* first, as watch.h asks */
	struct musher_search	search;		/* its ratio is that of the next round */
	struct musher_burst	burst;
	u32			round_ratio;	/* of the present round */
};

struct musher_subflow {
	struct watch_subflow	watch;
	u32			sent;		/* segments in this round */
};

static struct musher_subflow *state_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

/* The source's list of subflows has the newest first. */
#define musher_for_each_subflow(_conn, _subflow) \
	list_for_each_entry_reverse(_subflow, &(_conn)->subflows, node)

/* --- the ratio */

/* Do the others wait for this subflow at its turn? */
static bool musher_takes_part(struct mps_conn *conn, const struct mps_subflow *subflow,
			      bool backups)
{
	if (!mps_has_room_soon(subflow) || (subflow->backup && !backups))
		return false;
	return mps_has_room(subflow) || !mps_param(conn, CWND_LIMITED);
}

static void musher_begin_round(struct mps_conn *conn)
{
	bool backups = mps_may_use_backups(conn, SPARE_BACKUPS);
	struct musher_conn *state = mps_conn_priv(conn);
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		if (musher_takes_part(conn, subflow, backups))
			state_of(subflow)->sent = 0;
	state->round_ratio = state->search.ratio;
}

/* The subflow that has begun with its segments, or the last one that has not; if all are
 * through, a round begins. As in the source, subflows are counted on from one scan to the
 * next: with an odd number, the shares are exchanged for the segment that begins a round.
 * NULL: none takes part. *left: the rest of its share; without a share, a whole round.
 */
static struct mps_subflow *musher_whose_turn(struct mps_conn *conn, u32 *left)
{
	const struct musher_conn *state = mps_conn_priv(conn);
	struct mps_subflow *subflow, *next, *any = NULL;
	bool backups = mps_may_use_backups(conn, SPARE_BACKUPS);
	u32 n = 0, quota, scan;

	for (scan = 0; scan < 3; scan++) {
		next = NULL;
		any = NULL;
		musher_for_each_subflow(conn, subflow) {
			u32 sent = state_of(subflow)->sent;

			n++;
			if (!musher_takes_part(conn, subflow, backups))
				continue;
			any = subflow;
			quota = n % 2 ? state->round_ratio : MUSHER_ROUND - state->round_ratio;
			if (sent && sent < quota) {
				*left = quota - sent;
				return subflow;
			}
			if (!sent && quota) {
				next = subflow;
				*left = quota;
			}
		}
		if (next || !any)
			return next;
		musher_begin_round(conn);
	}
	*left = MUSHER_ROUND;
	return any;
}

static struct mps_subflow *musher_choose(struct mps_conn *conn, const struct mps_segment *head)
{
	struct musher_conn *state = mps_conn_priv(conn);
	struct mps_subflow *subflow = musher_in_burst(&state->burst, conn, head);
	u32 left;

	if (subflow)
		return subflow;
	subflow = musher_whose_turn(conn, &left);
	if (!subflow || !mps_has_room(subflow))
		return NULL;
	state_of(subflow)->sent += musher_begin_burst(&state->burst, conn, subflow, head, left);
	return subflow;
}

/* --- the search */

/* Looks at throughput and queues, if it is time to. Searches keep a distance. */
static void musher_look(struct mps_conn *conn)
{
	struct musher_conn *state = mps_conn_priv(conn);
	bool watches = state->search.next == WATCH;

	if (!watch_look(conn, mps_param(conn, watches ? INTERVAL : SEARCH_INTERVAL)))
		return;
	if (watches && !state->watch.last_kbps) {
		if (watch_refer(&state->watch)) {
			state->watch.change_kbps = mps_param(conn, RATE_CHANGE);
			state->watch.fall_bytes = mps_param(conn, QUEUE_FALL);
		}
		return;
	}
	watch_differs(&state->watch);
	if (!watches)
		musher_search(&state->search, state->watch.kbps, mps_param(conn, BETTER));
	else if (watch_has_changed(&state->watch) &&
		 jiffies_to_msecs(jiffies - state->search.begin) >= mps_param(conn, SPACING))
		musher_begin_search(&state->search, mps_param(conn, STEP));
}

/* The oldest subflow, which is the last in the list of the source. */
static struct mps_subflow *musher_get_subflow(struct mps_conn *conn,
					      const struct mps_segment *seg)
{
	return mps_first_available(conn, seg, mps_may_use_backups(conn, SPARE_BACKUPS));
}

static bool musher_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *reinjection = mps_reinjection(conn), *head = mps_head(conn);
	struct musher_conn *state = mps_conn_priv(conn);
	struct mps_subflow *subflow;

	musher_note_window(&state->burst, conn);
	if (mps_param(conn, SEARCH))
		musher_look(conn);
	if (reinjection) {
		subflow = musher_get_subflow(conn, reinjection);
		return subflow && mps_pick_reinjection(pick, conn, subflow, reinjection);
	}
	subflow = head ? musher_choose(conn, head) : NULL;
	return subflow && mps_pick_new(pick, conn, subflow, head);
}

static void musher_init(struct mps_conn *conn)
{
	struct musher_conn *state = mps_conn_priv(conn);

	state->search.ratio = mps_param(conn, RATIO);
	state->round_ratio = state->search.ratio;
	/* the first look, and the first search, may be at once */
	state->watch.look = jiffies - msecs_to_jiffies(mps_param(conn, INTERVAL)) - 1;
	state->search.begin = jiffies - msecs_to_jiffies(mps_param(conn, SPACING));
}

static struct mps_ops musher_ops = {
	.next_segment	= musher_next_segment,
	.get_subflow	= musher_get_subflow,
	.init		= musher_init,
	.name		= "musher",
	.owner		= THIS_MODULE,
	.conn_size	= sizeof(struct musher_conn),
	.subflow_size	= sizeof(struct musher_subflow),
	.params		= musher_params,
	.num_params	= ARRAY_SIZE(musher_params),
};

mps_scheduler(musher_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler MuSher: the ratio of the paths' throughput");
