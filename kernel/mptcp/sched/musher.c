// SPDX-License-Identifier: GPL-2.0-only
/* musher: segments in the ratio of what the paths can carry.
 *
 * Each subflow has a share of the segments, and gets just that: one whose share
 * is too large is waited for by all. The shares are found by a search: the share
 * of a subflow is changed by a step at a time for as long as that brings more
 * throughput, and then by half a step. A new search starts when throughput has
 * changed, when less is queued in the subflows than was, and after some time.
 *
 * Source: Saha, Aggarwal, Pathak, Koutsonikolas, Widmer, "MuSher: An Agile
 * Multipath-TCP Scheduler for Dual-Band 802.11ad/ac Wireless LANs", MobiCom
 * 2019, of which only the abstract was at hand; the modules that the authors
 * published, mptcp_musher.c and mptcp_ratio.c.
 *
 * Works where much is sent over paths whose rates stay for seconds. Fails where
 * rates change faster than a search takes, where the data is short, or comes by
 * the rate of the application: nothing is found out then. All wait for a path
 * that fails until its retransmission timeout.
 *
 * Differs from the source:
 * - The ratio is a connection's own. In the module it is one sysctl for all.
 * - Segments are mixed, and do not go in blocks on one subflow and the other.
 * - What is better is a matter of the step, not of Mbit/s: where a path is worth
 *   its larger share, a step of s permille brings s permille of throughput at
 *   least, so half of that counts. The thresholds of a new search are relative.
 * - A ratio is measured until throughput no longer grows, for a subflow needs
 *   time to use a larger share. The source waits until none is in slow start,
 *   which one that is not full never leaves.
 * - It searches at the beginning, and from time to time: that a path has become
 *   faster may show in neither throughput nor queues.
 * - Throughput is what was acknowledged, not what the devices have sent.
 * - Not as in the module, a try to the left is compared with the ratio of the
 *   start, not with a failed try to the right; a search that fails restores the
 *   ratio; it ends at 0 and 1000; the reference of the queues is taken anew.
 * - More than two subflows take turns in a search: what one gets more, the
 *   others get less, in proportion. The modules know two.
 * - A backup subflow is used only if no other is usable. A reinjection goes
 *   where the default scheduler of v0.9x would send it.
 */

#include "mpsched.h"

#define MUSHER_SCALE		1000U	/* of shares and thresholds: permille */
/* An interval is so many round trips at least. */
#define MUSHER_RTTS		4
/* After so many intervals a measurement ends, whatever throughput does. */
#define MUSHER_PATIENCE		8
/* As in the source: intervals for a reference, and in a row for a new search. */
#define MUSHER_REFERENCE	5
#define MUSHER_IN_A_ROW		5

enum { RATIO, SEARCH, STEP, INTERVAL, RATE_CHANGE, QUEUE_FALL, SPACING, PERIOD };

static const struct mps_param musher_params[] = {
	[RATIO] = MPS_UINT("ratio", 0, 1000, 500, "1/1000",
			   "share of the first of two subflows at the beginning"),
	[SEARCH] = MPS_BOOL("search", 1, "find the ratio; else it stays what it is"),
	[STEP] = MPS_UINT("step", 2, 500, 50, "1/1000", "by which the search changes a share"),
	[INTERVAL] = MPS_UINT("interval_ms", 10, 10000, 200, "ms",
			      "time of a measurement; 4 round trips at least"),
	[RATE_CHANGE] = MPS_UINT("rate_change", 1, 1000, 250, "1/1000",
				 "change of throughput after which a new search starts"),
	[QUEUE_FALL] = MPS_UINT("queue_fall", 1, 1000, 400, "1/1000",
				"fall of what is queued after which a new search starts"),
	[SPACING] = MPS_UINT("spacing_ms", 0, 600000, 3000, "ms",
			     "from one search to the next, at least"),
	[PERIOD] = MPS_UINT("period_ms", 0, 600000, 10000, "ms",
			    "from one search to the next, at most; 0: no matter"),
};

enum musher_phase {
	MUSHER_REST,		/* the ratio stays: watches throughput and queues */
	MUSHER_START,		/* of a search: measures the ratio that there is */
	MUSHER_TRY,		/* measures another one */
};

struct musher_conn {
	/* the present interval */
	u64	begin_ns;
	u64	acked_bytes;
	u64	queued_bytes;	/* sum over its samples */
	u32	samples;
	bool	unclear;	/* for a time there was nothing to send */

	u8	phase;		/* enum musher_phase */
	bool	upset;		/* subflows have come or gone, or nothing is known yet */

	/* at rest */
	u64	reference_rate;	/* sums of MUSHER_REFERENCE intervals */
	u64	reference_queue;
	u8	referenced;	/* intervals in them */
	u8	in_a_row;	/* intervals that differ from them */
	u64	searched_ns;	/* end of the last search */

	/* in a search */
	u64	rate;		/* of the interval before; 0: none */
	u64	best_rate;
	u32	step;
	u8	intervals;	/* of this measurement */
	u8	turn;		/* whose share is changed: the how manyeth */
	bool	down;		/* it is made smaller */
	bool	found;		/* in this direction something was better */
	u32	sent;		/* segments since the shares are what they are */
};

struct musher_subflow {
	u32	share;		/* permille */
	u32	best_share;	/* the best that the search has found */
	u32	sent;		/* segments since the shares are what they are */
};

static struct musher_subflow *state_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

/* A subflow whose share counts. */
static bool musher_is_member(struct mps_conn *conn, const struct mps_subflow *subflow)
{
	return subflow->usable && (!subflow->backup || mps_only_backups(conn));
}

/* --- shares */

static void musher_begin_round(struct mps_conn *conn)
{
	struct musher_conn *state = mps_conn_priv(conn);
	struct mps_subflow *subflow;

	state->sent = 0;
	mps_for_each_subflow(conn, subflow)
		state_of(subflow)->sent = 0;
}

/* The subflow that is the farthest behind its share; of those without a share only
 * if there is no other. NULL: none takes part.
 */
static struct mps_subflow *musher_whose_turn(struct mps_conn *conn)
{
	struct mps_subflow *subflow, *next = NULL;
	bool backups = mps_only_backups(conn);

	mps_for_each_subflow(conn, subflow) {
		struct musher_subflow *own = state_of(subflow), *other;

		if (!mps_has_room_soon(subflow) || (subflow->backup && !backups))
			continue;
		if (!next) {
			next = subflow;
			continue;
		}
		/* (sent + 1) / share is less: it comes first */
		other = state_of(next);
		if ((own->sent + 1ULL) * other->share < (other->sent + 1ULL) * own->share)
			next = subflow;
	}
	return next;
}

static u32 musher_count(struct mps_conn *conn)
{
	struct mps_subflow *subflow;
	u32 count = 0;

	mps_for_each_subflow(conn, subflow)
		count += musher_is_member(conn, subflow);
	return count;
}

static struct mps_subflow *musher_nth(struct mps_conn *conn, u32 n)
{
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		if (musher_is_member(conn, subflow) && !n--)
			return subflow;
	return NULL;
}

/* Gives one subflow that share of all, and to the others what is left, in the
 * proportion that they have now.
 */
static void musher_set_share(struct mps_conn *conn, struct mps_subflow *one, u32 share)
{
	u32 others = 0, count = 0, left = MUSHER_SCALE - share;
	struct mps_subflow *subflow, *last = NULL;

	mps_for_each_subflow(conn, subflow) {
		if (subflow == one || !musher_is_member(conn, subflow))
			continue;
		others += state_of(subflow)->share;
		count++;
		last = subflow;
	}
	state_of(one)->share = last ? share : MUSHER_SCALE;
	mps_for_each_subflow(conn, subflow) {
		u32 own;

		if (subflow == one || !musher_is_member(conn, subflow))
			continue;
		own = others ? (MUSHER_SCALE - share) * state_of(subflow)->share / others :
			       (MUSHER_SCALE - share) / count;
		/* with what was lost by rounding */
		state_of(subflow)->share = subflow == last ? left : own;
		left -= state_of(subflow)->share;
	}
	musher_begin_round(conn);
}

/* As at the beginning: equal shares, but of two the ratio that was asked for. */
static void musher_reset_shares(struct mps_conn *conn)
{
	u32 count = musher_count(conn);
	struct mps_subflow *subflow;

	if (!count)
		return;
	mps_for_each_subflow(conn, subflow)
		state_of(subflow)->share = MUSHER_SCALE;
	musher_set_share(conn, musher_nth(conn, 0),
			 count == 2 ? mps_param(conn, RATIO) : MUSHER_SCALE / count);
}

/* The shares of those that are left, or have come back, make a whole. */
static void musher_fit_shares(struct mps_conn *conn)
{
	struct mps_subflow *subflow, *first = musher_nth(conn, 0);
	u32 sum = 0;

	mps_for_each_subflow(conn, subflow)
		if (musher_is_member(conn, subflow))
			sum += state_of(subflow)->share;
	if (!sum)
		musher_reset_shares(conn);
	else if (sum != MUSHER_SCALE)
		musher_set_share(conn, first, state_of(first)->share * MUSHER_SCALE / sum);
}

static void musher_keep(struct mps_conn *conn)
{
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		state_of(subflow)->best_share = state_of(subflow)->share;
}

static void musher_restore(struct mps_conn *conn)
{
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		state_of(subflow)->share = state_of(subflow)->best_share;
	musher_begin_round(conn);
}

/* --- the search */

static void musher_measure(struct musher_conn *state, u8 phase)
{
	state->phase = phase;
	state->rate = 0;
	state->intervals = 0;
}

static void musher_rest(struct musher_conn *state, u64 now)
{
	state->phase = MUSHER_REST;
	state->searched_ns = now;
	state->reference_rate = 0;
	state->reference_queue = 0;
	state->referenced = 0;
	state->in_a_row = 0;
}

static void musher_search(struct mps_conn *conn)
{
	struct musher_conn *state = mps_conn_priv(conn);

	musher_fit_shares(conn);
	musher_keep(conn);
	state->turn = 0;
	state->step = mps_param(conn, STEP);
	state->down = false;
	state->found = false;
	state->upset = false;
	musher_measure(state, MUSHER_START);
}

/* What is to be tried after what was tried last: the other direction, half of the
 * step, the next subflow. False: nothing, the search is over.
 */
static bool musher_turn(struct mps_conn *conn)
{
	struct musher_conn *state = mps_conn_priv(conn);
	u32 count = musher_count(conn);

	if (!state->found && !state->down) {
		state->down = true;
		return true;
	}
	state->down = false;
	state->found = false;
	if (state->step == mps_param(conn, STEP)) {
		state->step /= 2;
		return true;
	}
	state->step = mps_param(conn, STEP);
	state->turn++;
	/* of two, what the one gets more is what the other gets less */
	return count > 2 && state->turn < count;
}

/* Goes on with the search until there is another ratio to be measured. Ends: each
 * turn is taken once.
 */
static void musher_try(struct mps_conn *conn, u64 now)
{
	struct musher_conn *state = mps_conn_priv(conn);

	do {
		struct mps_subflow *one = musher_nth(conn, state->turn);
		u32 share = one ? state_of(one)->share : 0;

		if (one && (state->down ? share >= state->step :
					  share + state->step <= MUSHER_SCALE)) {
			musher_set_share(conn, one, state->down ? share - state->step :
								  share + state->step);
			musher_measure(state, MUSHER_TRY);
			return;
		}
	} while (musher_turn(conn));
	musher_rest(state, now);
}

static bool musher_is_more(u64 rate, u64 than, u32 permille)
{
	return rate > than && (rate - than) * MUSHER_SCALE > than * permille;
}

/* A ratio has been measured. */
static void musher_measured(struct mps_conn *conn, u64 rate, u64 now)
{
	struct musher_conn *state = mps_conn_priv(conn);

	bool more = state->phase == MUSHER_START ||
		    musher_is_more(rate, state->best_rate, state->step / 2);

	if (more) {
		state->best_rate = rate;
		musher_keep(conn);
	} else {
		musher_restore(conn);
	}
	if (state->phase == MUSHER_TRY) {
		state->found |= more;
		/* a step further, if that was a whole one to the better */
		if ((!more || state->step < mps_param(conn, STEP)) && !musher_turn(conn)) {
			musher_rest(state, now);
			return;
		}
	}
	musher_try(conn, now);
}

/* At rest: is it time for a new search? */
static bool musher_is_due(struct mps_conn *conn, u64 rate, u64 queue, u64 now)
{
	struct musher_conn *state = mps_conn_priv(conn);
	u64 since_ms = div_u64(now - state->searched_ns, NSEC_PER_MSEC);
	u64 mean_rate, mean_queue;

	if (state->referenced < MUSHER_REFERENCE) {
		state->reference_rate += rate;
		state->reference_queue += queue;
		state->referenced++;
		return false;
	}
	mean_rate = div_u64(state->reference_rate, MUSHER_REFERENCE);
	mean_queue = div_u64(state->reference_queue, MUSHER_REFERENCE);
	if (musher_is_more(rate, mean_rate, mps_param(conn, RATE_CHANGE)) ||
	    rate * MUSHER_SCALE < mean_rate * (MUSHER_SCALE - mps_param(conn, RATE_CHANGE)) ||
	    queue * MUSHER_SCALE < mean_queue * (MUSHER_SCALE - mps_param(conn, QUEUE_FALL)))
		state->in_a_row = min(state->in_a_row + 1, MUSHER_IN_A_ROW);
	else
		state->in_a_row = 0;
	if (since_ms < mps_param(conn, SPACING))
		return false;
	return state->in_a_row == MUSHER_IN_A_ROW ||
	       (mps_param(conn, PERIOD) && since_ms >= mps_param(conn, PERIOD));
}

/* An interval is over in which the connection had to send all the time. */
static void musher_interval(struct mps_conn *conn, u64 rate, u64 queue, u64 now)
{
	struct musher_conn *state = mps_conn_priv(conn);

	if (musher_count(conn) < 2)
		return;
	if (state->phase == MUSHER_REST) {
		if (state->upset || musher_is_due(conn, rate, queue, now))
			musher_search(conn);
		return;
	}
	state->intervals++;
	if ((!state->rate || musher_is_more(rate, state->rate, state->step / 2)) &&
	    state->intervals < MUSHER_PATIENCE) {
		state->rate = rate;
		return;
	}
	musher_measured(conn, max(rate, state->rate), now);
}

/* --- hooks */

static u64 musher_interval_ns(struct mps_conn *conn)
{
	u64 interval_ns = (u64)mps_param(conn, INTERVAL) * NSEC_PER_MSEC;
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		if (subflow->usable)
			interval_ns = max(interval_ns, (u64)subflow->srtt_us * MUSHER_RTTS *
						       NSEC_PER_USEC);
	return interval_ns;
}

static void musher_on_ack(struct mps_conn *conn, struct mps_subflow *acked, u64 acked_bytes)
{
	struct musher_conn *state = mps_conn_priv(conn);
	u64 now, past_ns, rate, queue;
	struct mps_subflow *subflow;

	if (!mps_param(conn, SEARCH) || conn->subflows_usable < 2)
		return;
	now = mps_clock_ns();
	if (!state->begin_ns)
		state->begin_ns = now;
	/* no product below is beyond 64 bits */
	state->acked_bytes = min_t(u64, state->acked_bytes + min_t(u64, acked_bytes, U32_MAX),
				   U32_MAX);
	mps_for_each_subflow(conn, subflow)
		state->queued_bytes += subflow->outstanding_bytes;
	state->samples++;

	past_ns = now - state->begin_ns;
	if (past_ns < musher_interval_ns(conn) || !past_ns)
		return;
	rate = div64_u64(state->acked_bytes * NSEC_PER_SEC, past_ns);
	queue = div_u64(state->queued_bytes, state->samples);
	state->begin_ns = now;
	state->acked_bytes = 0;
	state->queued_bytes = 0;
	state->samples = 0;
	if (!state->unclear)
		musher_interval(conn, rate, queue, now);
	state->unclear = false;
}

/* Subflows have come or gone: a search starts anew, from what it has found. */
static void musher_upset(struct mps_conn *conn)
{
	struct musher_conn *state = mps_conn_priv(conn);

	if (state->phase != MUSHER_REST)
		musher_restore(conn);
	musher_begin_round(conn);
	musher_rest(state, state->searched_ns);
	state->upset = true;
	state->unclear = true;
}

static void musher_on_subflow_state(struct mps_conn *conn, struct mps_subflow *subflow)
{
	musher_upset(conn);
}

static void musher_init_subflow(struct mps_conn *conn, struct mps_subflow *subflow)
{
	musher_upset(conn);
	musher_reset_shares(conn);
}

static void musher_release_subflow(struct mps_conn *conn, struct mps_subflow *subflow)
{
	musher_upset(conn);
}

static bool musher_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct musher_conn *state = mps_conn_priv(conn);
	struct mps_segment *head = mps_head(conn);
	struct mps_subflow *subflow;

	if (mps_reinject(conn, pick))
		return true;
	if (!head) {
		/* throughput is what the application writes */
		state->unclear |= !conn->writer_waits;
		return false;
	}
	subflow = musher_whose_turn(conn);
	if (!subflow || !mps_has_room(subflow))
		return false;
	return mps_pick_new(pick, conn, subflow, head);
}

static void musher_on_sent(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes)
{
	struct musher_conn *state = mps_conn_priv(conn);

	if (pick->kind != MPS_NEW)
		return;
	state_of(pick->subflow)->sent++;
	/* each has had its share */
	if (++state->sent == MUSHER_SCALE)
		musher_begin_round(conn);
}

static struct mps_ops musher_ops = {
	.next_segment		= musher_next_segment,
	.init_subflow		= musher_init_subflow,
	.release_subflow	= musher_release_subflow,
	.on_ack			= musher_on_ack,
	.on_subflow_state	= musher_on_subflow_state,
	.on_sent		= musher_on_sent,
	.name			= "musher",
	.owner			= THIS_MODULE,
	.conn_size		= sizeof(struct musher_conn),
	.subflow_size		= sizeof(struct musher_subflow),
	.params			= musher_params,
	.num_params		= ARRAY_SIZE(musher_params),
};

mps_scheduler(musher_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler MuSher: the ratio of the paths' throughput");
