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
/* An interval is so many round trips at least: what another ratio brings is seen a
 * round trip after it began, and that is then a quarter of the interval at most.
 */
#define MUSHER_RTTS		4
/* A measurement goes on while throughput grows, but a congestion window that is far
 * from what its path carries grows for minutes, and the search has to end.
 */
#define MUSHER_PATIENCE		8
/* Intervals whose mean is the reference, and that differ from it in a row before a
 * new search: both as in the source.
 */
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

/* At rest the ratio stays, and throughput and queues are watched; in a search, a
 * ratio is measured in each state.
 */
enum musher_state {
	UPSET,		/* rest: subflows have come or gone, a search is due */
	REFERENCE,	/* rest: after a search, what will be compared with is measured */
	WATCH,		/* rest: compares */
	START,		/* search: the ratio that there is */
	UP,		/* search: a step more for the subflow whose turn it is */
	FURTHER,	/* search: another one, since that was better */
	DOWN,		/* search: a step less, as long as that is better */
	HALF_UP,	/* search: half a step more than the best so far */
	HALF_DOWN,	/* search: half a step less */
	NEXT,		/* the turn of the next subflow: UP, or the search is over */
};

/* What a search tries, and what comes next if that brought more throughput, or not:
 * also if the share cannot be changed so, because all shares are a whole.
 */
static const struct musher_try {
	int			sign;	/* of the change of a share */
	u32			halves;	/* of a step, also where a rate is compared */
	enum musher_state	if_more;
	enum musher_state	if_not;
} musher_tries[] = {
	[START]	    = {  0, 2, UP,	UP },
	[UP]	    = {  1, 2, FURTHER, DOWN },
	[FURTHER]   = {  1, 2, FURTHER, HALF_UP },
	[DOWN]	    = { -1, 2, DOWN,	HALF_UP },
	[HALF_UP]   = {  1, 1, NEXT,	HALF_DOWN },
	[HALF_DOWN] = { -1, 1, NEXT,	NEXT },
};

struct musher_conn {
	/* the present interval */
	u64	begin_ns;
	u64	acked_bytes;
	u64	queued_bytes;	/* sum over its samples */
	u32	samples;
	bool	unclear;	/* it says nothing: for a time there was nothing to send */

	u8	state;		/* enum musher_state */
	u8	intervals;	/* in this state; WATCH: those in a row that differ */
	u8	turn;		/* index of the subflow whose share the search changes */
	u64	rest_ns;	/* begin of the last rest after a search */
	u64	reference_rate;	/* sums of MUSHER_REFERENCE intervals */
	u64	reference_queue;
	u64	rate;		/* of the interval before in this state; 0: none */
	u64	best_rate;	/* that the search has found */
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
		struct musher_subflow *own = state_of(subflow);

		if (!mps_has_room_soon(subflow) || (subflow->backup && !backups))
			continue;
		/* (sent + 1) / share is less: it comes first */
		if (!next || (own->sent + 1ULL) * state_of(next)->share <
			     (state_of(next)->sent + 1ULL) * own->share)
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

static u32 musher_sum(struct mps_conn *conn)
{
	struct mps_subflow *subflow;
	u32 sum = 0;

	mps_for_each_subflow(conn, subflow)
		if (musher_is_member(conn, subflow))
			sum += state_of(subflow)->share;
	return sum;
}

/* Gives one subflow that share of all, and to the others what is left, in the
 * proportion that they have now.
 */
static void musher_set_share(struct mps_conn *conn, struct mps_subflow *one, u32 share)
{
	u32 others = musher_sum(conn) - state_of(one)->share, count = musher_count(conn) - 1;
	u32 rest = MUSHER_SCALE - share, left = rest, last = count;
	struct mps_subflow *subflow;

	state_of(one)->share = count ? share : MUSHER_SCALE;
	mps_for_each_subflow(conn, subflow) {
		struct musher_subflow *own = state_of(subflow);

		if (subflow == one || !musher_is_member(conn, subflow))
			continue;
		own->share = others ? rest * own->share / others : rest / count;
		/* with what was lost by rounding */
		if (!--last)
			own->share = left;
		left -= own->share;
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
	struct mps_subflow *first = musher_nth(conn, 0);
	u32 sum = musher_sum(conn);

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

static bool musher_is_more(u64 rate, u64 than, u32 permille)
{
	return rate > than && (rate - than) * MUSHER_SCALE > than * permille;
}

static void musher_enter(struct musher_conn *state, enum musher_state next)
{
	state->state = next;
	state->intervals = 0;
	state->rate = 0;
}

/* Of a share, in this state. */
static u32 musher_step(const struct mps_conn *conn, enum musher_state state)
{
	return mps_param(conn, STEP) * musher_tries[state].halves / 2;
}

/* Changes the shares as the state says. False: that cannot be. */
static bool musher_change(struct mps_conn *conn, enum musher_state next)
{
	struct musher_conn *state = mps_conn_priv(conn);
	struct mps_subflow *one = musher_nth(conn, state->turn);
	int change = musher_tries[next].sign * (int)musher_step(conn, next);
	int share = one ? (int)state_of(one)->share + change : -1;

	if (share < 0 || share > MUSHER_SCALE)
		return false;
	musher_set_share(conn, one, share);
	return true;
}

/* Goes on with the search, until there is another ratio to be measured. Ends: each
 * turn is taken once.
 */
static void musher_go_on(struct mps_conn *conn, enum musher_state next, u64 now)
{
	struct musher_conn *state = mps_conn_priv(conn);
	u32 count = musher_count(conn);

	for (;; next = musher_tries[next].if_not) {
		if (next == NEXT) {
			/* of two, what the one gets more is what the other gets less */
			if (count <= 2 || ++state->turn >= count)
				break;
			next = UP;
		}
		if (musher_change(conn, next)) {
			musher_enter(state, next);
			return;
		}
	}
	state->rest_ns = now;
	state->reference_rate = 0;
	state->reference_queue = 0;
	musher_enter(state, REFERENCE);
}

/* An interval of a search. A ratio is measured until throughput no longer grows; a
 * better one is kept.
 */
static void musher_measure(struct mps_conn *conn, u64 rate, u64 now)
{
	struct musher_conn *state = mps_conn_priv(conn);
	const struct musher_try *try = &musher_tries[state->state];
	u32 enough = musher_step(conn, state->state) / 2;

	if (++state->intervals < MUSHER_PATIENCE &&
	    (!state->rate || musher_is_more(rate, state->rate, enough))) {
		state->rate = rate;
		return;
	}
	rate = max(rate, state->rate);
	if (state->state == START || musher_is_more(rate, state->best_rate, enough)) {
		state->best_rate = rate;
		musher_keep(conn);
		musher_go_on(conn, try->if_more, now);
	} else {
		musher_restore(conn);
		musher_go_on(conn, try->if_not, now);
	}
}

/* --- the rest */

static bool musher_differs(const struct mps_conn *conn, const struct musher_conn *state, u64 rate,
			   u64 queue)
{
	u64 mean_rate = div_u64(state->reference_rate, MUSHER_REFERENCE);
	u64 mean_queue = div_u64(state->reference_queue, MUSHER_REFERENCE);
	u32 change = mps_param(conn, RATE_CHANGE), fall = mps_param(conn, QUEUE_FALL);

	return musher_is_more(rate, mean_rate, change) ||
	       rate * MUSHER_SCALE < mean_rate * (MUSHER_SCALE - change) ||
	       queue * MUSHER_SCALE < mean_queue * (MUSHER_SCALE - fall);
}

/* An interval that is compared with the reference: is it time for a new search? */
static bool musher_is_due(struct mps_conn *conn, u64 rate, u64 queue, u64 now)
{
	struct musher_conn *state = mps_conn_priv(conn);
	u64 rest_ms = div_u64(now - state->rest_ns, NSEC_PER_MSEC);
	u32 period_ms = mps_param(conn, PERIOD);

	state->intervals = musher_differs(conn, state, rate, queue) ?
			   min(state->intervals + 1, MUSHER_IN_A_ROW) : 0;
	return rest_ms >= mps_param(conn, SPACING) &&
	       (state->intervals == MUSHER_IN_A_ROW || (period_ms && rest_ms >= period_ms));
}

static void musher_search(struct mps_conn *conn)
{
	struct musher_conn *state = mps_conn_priv(conn);

	musher_fit_shares(conn);
	musher_keep(conn);
	state->turn = 0;
	musher_enter(state, START);
}

/* An interval is over in which the connection had to send all the time. */
static void musher_interval(struct mps_conn *conn, u64 rate, u64 queue, u64 now)
{
	struct musher_conn *state = mps_conn_priv(conn);

	if (musher_count(conn) < 2)
		return;
	switch (state->state) {
	case UPSET:
		musher_search(conn);
		break;
	case REFERENCE:
		state->reference_rate += rate;
		state->reference_queue += queue;
		if (++state->intervals == MUSHER_REFERENCE)
			musher_enter(state, WATCH);
		break;
	case WATCH:
		if (musher_is_due(conn, rate, queue, now))
			musher_search(conn);
		break;
	default:
		musher_measure(conn, rate, now);
	}
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
static void musher_upset(struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct musher_conn *state = mps_conn_priv(conn);

	if (state->state >= START)
		musher_restore(conn);
	musher_begin_round(conn);
	musher_enter(state, UPSET);
	state->unclear = true;
}

static void musher_init_subflow(struct mps_conn *conn, struct mps_subflow *subflow)
{
	musher_upset(conn, subflow);
	musher_reset_shares(conn);
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
	.release_subflow	= musher_upset,
	.on_ack			= musher_on_ack,
	.on_subflow_state	= musher_upset,
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
