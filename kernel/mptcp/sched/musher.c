// SPDX-License-Identifier: GPL-2.0-only
/* musher: segments in the ratio of what the paths can carry.
 *
 * Of each 100 segments, the newer one of two subflows gets as many as the ratio
 * says, and the other one the rest: in a row, and strictly, so that all wait
 * for the one whose turn it is. With room for one segment, that one gets a
 * burst, of up to 64 KB and as far as its share goes; what has no room waits in
 * its queue. When throughput has changed, or less waits in the subflows than
 * did, a better ratio is searched for: first a step to the right, then a step to
 * the left, and on in the direction that brought more throughput until there is
 * less again.
 *
 * Source: Saha, Aggarwal, Pathak, Koutsonikolas, Widmer, "MuSher: An Agile
 * Multipath-TCP Scheduler for Dual-Band 802.11ad/ac Wireless LANs", MobiCom
 * 2019, of which only the abstract was at hand; the authors' module for v0.94,
 * mptcp_musher.c with mptcp_ratio.c. An older form, in their fork of v0.9x,
 * searches at the beginning, too, and ends with half a step.
 *
 * Works where two paths carry hundreds of Mbit/s for seconds: the thresholds of
 * the source are of such. Fails on slower ones: no step brings 5 Mbit/s more,
 * and a search only makes the ratio worse. With three or more paths there is
 * still one number: from the newest subflow on, every other one gets the ratio,
 * and each between them the rest. All wait for a path that fails until its
 * retransmission timeout.
 *
 * Differs from the source:
 * - always: in the source the ratio is one number for all connections of a host,
 *   and each search corrupts that of another connection; here each has its own.
 * - always: the source searches beyond 0 and 100, where its unsigned char
 *   overflows; here a search ends there.
 * - always: the source spins, and then stalls, while only subflows with a share
 *   of nothing are left; here the last one of them sends.
 * - always: the source counts its samples of the queues in 8 bits, which
 *   overflow; here in 32.
 * - always: the source divides by the time between two transmissions of a device,
 *   which stalls its measure where the device does not note them; here by that
 *   between two looks at what it has sent.
 * - measure: the source searches as above. On, the rates of the paths are
 *   measured while each sends all that its window admits, and become the shares:
 *   at the beginning, when a subflow comes, goes or changes, when throughput or
 *   queues change in proportion, and every period_ms; for any number of
 *   subflows.
 * - mixed: the source sends the segments of a subflow in a row, in bursts. On,
 *   those of all subflows are mixed, and each needs room.
 * - spare_backups: the source does not look at the flag. On, a backup subflow is
 *   used only if no other is usable.
 */

#include "mpsched.h"

/* segments in a round, and bounds of where a search begins: as in the source */
#define MUSHER_ROUND		100
#define MUSHER_LEAST		5
#define MUSHER_MOST		95
/* Intervals whose mean is the reference, and in a row that differ from it */
#define MUSHER_REFERENCE	5
#define MUSHER_IN_A_ROW		5

/* A burst is what the source finds in the first buffer of its send queue: so much as
 * one packet may have before it is segmented (GSO), without the room for headers.
 */
#define MUSHER_BURST_BYTES	(SZ_64K - 1 - 320)

/* of measured shares: permille */
#define MUSHER_WHOLE		1000
/* They are those of the intervals after which throughput has not grown by this much,
 * in permille: half of the source's step. A window far from what its path carries
 * may grow for minutes, and measuring has to end.
 */
#define MUSHER_GROWTH		25
#define MUSHER_QUIET		5
#define MUSHER_PATIENCE		25
/* After that, a change of throughput by a quarter counts, and a fall of the queues
 * by two fifths: a window of cubic falls by three tenths at a loss.
 */
#define MUSHER_CHANGE(_rate)	((_rate) / 4)
#define MUSHER_FALL(_queue)	((_queue) * 2 / 5)

enum {
	RATIO, CWND_LIMITED, SEARCH, STEP, INTERVAL, SEARCH_INTERVAL, BETTER, RATE_CHANGE,
	QUEUE_FALL, SPACING, MEASURE, PERIOD, MIXED, SPARE_BACKUPS,
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
				     "the same in a search, or measuring"),
	[BETTER] = MPS_UINT("better_kbps", 0, 100000000, 5000, "kbit/s",
			    "more throughput than that makes a direction better"),
	[RATE_CHANGE] = MPS_UINT("rate_change_kbps", 1, 100000000, 200000, "kbit/s",
				 "change of throughput after which a search starts"),
	[QUEUE_FALL] = MPS_UINT("queue_fall_bytes", 1, 1000000000, 75000, "bytes",
				"fall of what is queued after which a search starts"),
	[SPACING] = MPS_UINT("spacing_ms", 0, 600000, 3000, "ms",
			     "from one search to the next, at least"),
	[MEASURE] = MPS_BOOL("measure", 0, "no search: shares are the measured rates of the paths"),
	[PERIOD] = MPS_UINT("period_ms", 0, 600000, 10000, "ms",
			    "measure: from one time to the next, at most; 0: no matter"),
	[MIXED] = MPS_BOOL("mixed", 0, "mix the segments of all subflows"),
	[SPARE_BACKUPS] = MPS_BOOL("spare_backups", 0,
				   "use a backup subflow only if no other is usable"),
};

enum musher_state {
	WATCH,			/* the ratio stays: is it time for another one? */
	GO_RIGHT,		/* a search: the first step to the right */
	RIGHT,			/* was that better? */
	GO_LEFT,
	LEFT,
	ON,			/* on in that direction, while it is no worse */
	MEASURING,
};

struct musher_conn {
	u8		state;		/* enum musher_state */
	u32		ratio;		/* of 100, from the next round on */
	u32		round_ratio;	/* of the present one */
	u32		sent;		/* segments in this round; mixed */

	u32		burst_id;	/* the subflow of the last burst, */
	u64		burst_end_seq;	/* which has all before that */
	u64		buffer_end_seq;	/* of the source's first buffer, if it is full and in part
					 * sent; else before the head
					 */
	u32		window_bytes;	/* the largest there was */

	unsigned long	look;		/* jiffies of the last one */
	unsigned long	begin;		/* of the last search, or measure */
	u64		reference_kbps;	/* sums of MUSHER_REFERENCE looks */
	u64		reference_queue;
	u32		references;
	u64		change_kbps;	/* differences from the reference that count */
	s64		fall_bytes;
	/* the last look; 0: there is no reference */
	u64		last_kbps;
	u64		last_queue;
	s64		rate_diff;	/* from the reference */
	s64		queue_diff;
	u32		rate_count;	/* looks in a row that differ */
	u32		queue_count;

	u32		search_ratio;	/* where it began */
	int		step;
	u64		search_kbps;

	u32		intervals;	/* MEASURING */
	u32		quiet;		/* of these without growth */
	u64		most_bytes;	/* acknowledged in one of them */
	u64		acked_bytes;	/* by its begin, since throughput has grown */
	bool		unclear;	/* for a time there was nothing to send */
};

struct musher_subflow {
	u32		sent;		/* segments in this round */
	u32		share;		/* permille; measured */
	u64		acked_bytes;	/* since throughput has grown; MEASURING */
	u64		queue_bytes;	/* sum over its samples since then */
	u32		samples;
	u64		device_bytes;	/* that its device had sent then */
	unsigned long	device_look;
};

static struct musher_subflow *state_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

/* The source's list of subflows has the newest first. */
#define musher_for_each_subflow(_conn, _subflow) \
	list_for_each_entry_reverse(_subflow, &(_conn)->subflows, node)

/* --- the ratio */

/* Is it waited for, if it is its turn? */
static bool musher_takes_part(struct mps_conn *conn, const struct mps_subflow *subflow,
			      bool backups)
{
	const struct musher_conn *state = mps_conn_priv(conn);

	if (!mps_has_room_soon(subflow) || (subflow->backup && !backups))
		return false;
	return mps_has_room(subflow) ||
	       (!mps_param(conn, CWND_LIMITED) && state->state != MEASURING);
}

/* Are shares measured? */
static bool musher_measures(const struct mps_conn *conn)
{
	return mps_param(conn, SEARCH) && mps_param(conn, MEASURE);
}

static bool musher_backups(const struct mps_conn *conn)
{
	return !mps_param(conn, SPARE_BACKUPS) || mps_only_backups(conn);
}

/* In permille, of the subflow that is the n-th */
static u32 musher_share(struct mps_conn *conn, struct mps_subflow *subflow, u32 n)
{
	struct musher_conn *state = mps_conn_priv(conn);
	u32 odd = state->round_ratio * (MUSHER_WHOLE / MUSHER_ROUND);

	if (musher_measures(conn))
		return state_of(subflow)->share;
	return n % 2 ? odd : MUSHER_WHOLE - odd;
}

static void musher_begin_round(struct mps_conn *conn)
{
	struct musher_conn *state = mps_conn_priv(conn);
	bool backups = musher_backups(conn);
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		if (musher_takes_part(conn, subflow, backups))
			state_of(subflow)->sent = 0;
	state->sent = 0;
	state->round_ratio = state->ratio;
}

/* The subflow that has begun with its segments, or the last one of those that have
 * not; if all are through, a round begins. As in the source, subflows are counted
 * on from one scan to the next: with an odd number, the shares are exchanged for
 * the segment that begins a round. NULL: none takes part. *left is what it has left
 * of its share; of those without one, all.
 */
static struct mps_subflow *musher_whose_turn(struct mps_conn *conn, u32 *left)
{
	struct mps_subflow *subflow, *next, *any = NULL;
	bool backups = musher_backups(conn);
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
			quota = musher_share(conn, subflow, n) * MUSHER_ROUND / MUSHER_WHOLE;
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

/* What a buffer of the source's send queue holds: whole segments, and no more than
 * half of the largest window (tcp_xmit_size_goal()).
 */
static u32 musher_buffer_bytes(struct mps_conn *conn)
{
	const struct musher_conn *state = mps_conn_priv(conn);
	u32 bytes = min_t(u32, MUSHER_BURST_BYTES, state->window_bytes / 2);

	return max(bytes - bytes % conn->segment_bytes, conn->segment_bytes);
}

/* A subflow with room gets the first buffer, as far as that is written, no more of it
 * than is left of the share, and of whole segments than the receive window takes. All of
 * it is counted.
 */
static void musher_begin_burst(struct mps_conn *conn, struct mps_subflow *subflow,
			       const struct mps_segment *head, u32 left)
{
	struct musher_conn *state = mps_conn_priv(conn);
	u64 seq = mps_seq(conn, head), end_seq = state->buffer_end_seq;
	u32 fits = conn->window_end_seq > seq ? conn->window_end_seq - seq : 0;

	/* what was left of the last one may be added to, if nothing is behind it */
	if (end_seq <= seq)
		end_seq = seq + min(musher_buffer_bytes(conn), conn->unsent_bytes);
	state_of(subflow)->sent += DIV_ROUND_UP((u32)(end_seq - seq), max(subflow->mss_bytes, 1U));
	state->buffer_end_seq = end_seq < seq + conn->unsent_bytes ? end_seq : 0;
	if (end_seq - seq > fits)
		fits -= fits % conn->segment_bytes;
	state->burst_end_seq = min3(end_seq, seq + (u64)left * subflow->mss_bytes, seq + fits);
	state->burst_id = subflow->id;
}

/* The subflow that has a burst which the segment is in. NULL: there is no such burst, or
 * what has no room yet might never have it.
 */
static struct mps_subflow *musher_in_burst(struct mps_conn *conn, const struct mps_segment *head)
{
	const struct musher_conn *state = mps_conn_priv(conn);
	struct mps_subflow *subflow;

	if (mps_seq(conn, head) >= state->burst_end_seq)
		return NULL;
	mps_for_each_subflow(conn, subflow)
		if (subflow->id == state->burst_id)
			return mps_has_room_soon(subflow) ? subflow : NULL;
	return NULL;
}

static struct mps_subflow *musher_in_a_row(struct mps_conn *conn, const struct mps_segment *head)
{
	struct mps_subflow *subflow = musher_in_burst(conn, head);
	u32 left;

	if (subflow)
		return subflow;
	subflow = musher_whose_turn(conn, &left);
	if (!subflow || !mps_has_room(subflow))
		return NULL;
	musher_begin_burst(conn, subflow, head, left);
	return subflow;
}

/* The subflow that is the farthest behind its share; of those without a share only
 * if there is no other. NULL: none takes part, or it has no room.
 */
static struct mps_subflow *musher_farthest_behind(struct mps_conn *conn)
{
	struct mps_subflow *subflow, *next = NULL;
	bool backups = musher_backups(conn);
	u32 n = 0, share, next_share = 0;

	musher_for_each_subflow(conn, subflow) {
		n++;
		if (!musher_takes_part(conn, subflow, backups))
			continue;
		share = musher_share(conn, subflow, n);
		/* (sent + 1) / share is less: it comes first */
		if (!next || (state_of(subflow)->sent + 1ULL) * next_share <
			     (state_of(next)->sent + 1ULL) * share) {
			next = subflow;
			next_share = share;
		}
	}
	return next && mps_has_room(next) ? next : NULL;
}

/* --- what is measured at each look */

/* What has left the devices of the subflows, each of them counted once. */
static u64 musher_rate_kbps(struct mps_conn *conn)
{
	struct mps_subflow *subflow, *other;
	u64 kbps = 0, bytes;
	u32 ms;

	mps_for_each_subflow(conn, subflow) {
		struct musher_subflow *own = state_of(subflow);
		bool counted = false;

		bytes = mps_device_sent_bytes(subflow);
		if (bytes == own->device_bytes)
			continue;
		mps_for_each_subflow(conn, other) {
			if (other == subflow)
				break;
			counted |= mps_same_device(subflow, other);
		}
		ms = jiffies_to_msecs(jiffies - own->device_look);
		if (own->device_bytes && bytes > own->device_bytes && ms && !counted)
			kbps += div_u64((bytes - own->device_bytes) * BITS_PER_BYTE, ms);
		own->device_bytes = bytes;
		own->device_look = jiffies;
	}
	return kbps;
}

static u64 musher_queue_bytes(struct mps_conn *conn)
{
	struct mps_subflow *subflow;
	u64 bytes = 0;

	mps_for_each_subflow(conn, subflow) {
		struct musher_subflow *own = state_of(subflow);

		if (own->samples)
			bytes += div_u64(own->queue_bytes, own->samples);
		own->queue_bytes = 0;
		own->samples = 0;
	}
	return bytes;
}

/* --- the search of the source */

static void musher_end_search(struct musher_conn *state)
{
	state->state = WATCH;
}

/* The ratio is changed by the step, or the search ends. */
static void musher_go_on(struct musher_conn *state)
{
	int ratio = (int)state->ratio + state->step;

	if (ratio < 0 || ratio > MUSHER_ROUND) {
		musher_end_search(state);
		return;
	}
	state->ratio = ratio;
	state->state = ON;
}

/* What the source leaves behind is left: where it cannot go to the left, the ratio of
 * the failed step to the right; after a failed step to the left, another one.
 */
static void musher_search(struct mps_conn *conn, u64 kbps)
{
	struct musher_conn *state = mps_conn_priv(conn);
	bool better = kbps > state->search_kbps + mps_param(conn, BETTER);

	switch (state->state) {
	case GO_RIGHT:
		state->state = GO_LEFT;
		if (state->search_ratio + state->step > MUSHER_MOST)
			return;
		state->ratio = state->search_ratio + state->step;
		state->state = RIGHT;
		break;
	case RIGHT:
		state->state = GO_LEFT;
		if (!better)
			return;
		musher_go_on(state);
		break;
	case GO_LEFT:
		if ((int)state->search_ratio - state->step < MUSHER_LEAST) {
			musher_end_search(state);
			return;
		}
		state->ratio = state->search_ratio - state->step;
		state->state = LEFT;
		break;
	case LEFT:
		state->step = -state->step;
		musher_go_on(state);
		if (!better)
			musher_end_search(state);
		break;
	default:
		if (kbps < state->search_kbps) {
			state->ratio -= state->step;
			musher_end_search(state);
			return;
		}
		musher_go_on(state);
	}
	state->search_kbps = kbps;
}

static void musher_begin_search(struct mps_conn *conn)
{
	struct musher_conn *state = mps_conn_priv(conn);

	state->begin = jiffies;
	state->state = GO_RIGHT;
	state->step = mps_param(conn, STEP);
	state->search_ratio = state->ratio;
}

/* --- measured shares */

static void musher_forget_acked(struct mps_conn *conn)
{
	struct musher_conn *state = mps_conn_priv(conn);
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		state_of(subflow)->acked_bytes = 0;
	state->acked_bytes = 0;
	state->quiet = 0;
}

static void musher_begin_measure(struct mps_conn *conn)
{
	struct musher_conn *state = mps_conn_priv(conn);
	struct mps_subflow *subflow;

	/* each in turn, if it has room */
	mps_for_each_subflow(conn, subflow) {
		state_of(subflow)->share = MUSHER_WHOLE;
		state_of(subflow)->sent = 0;
	}
	state->begin = jiffies;
	state->look = jiffies;
	state->intervals = 0;
	state->most_bytes = 0;
	musher_forget_acked(conn);
	state->unclear = false;
	state->last_kbps = 0;
	state->queue_diff = 0;
	state->state = MEASURING;
}

/* An interval in which each sent what it could. */
static void musher_measure(struct mps_conn *conn)
{
	struct musher_conn *state = mps_conn_priv(conn);
	u64 all_bytes = 0, interval_bytes;
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		all_bytes += state_of(subflow)->acked_bytes;
	interval_bytes = all_bytes - state->acked_bytes;
	state->acked_bytes = all_bytes;
	if (!interval_bytes || state->unclear) {
		musher_begin_measure(conn);
		return;
	}
	state->intervals++;
	state->quiet++;
	if (interval_bytes * MUSHER_WHOLE > state->most_bytes * (MUSHER_WHOLE + MUSHER_GROWTH)) {
		state->most_bytes = interval_bytes;
		if (state->intervals < MUSHER_PATIENCE)
			musher_forget_acked(conn);
	}
	if (state->quiet < MUSHER_QUIET && state->intervals < MUSHER_PATIENCE)
		return;
	mps_for_each_subflow(conn, subflow) {
		struct musher_subflow *own = state_of(subflow);

		own->share = div64_u64(own->acked_bytes * MUSHER_WHOLE + all_bytes / 2, all_bytes);
		own->sent = 0;
	}
	state->sent = 0;
	state->state = WATCH;
}

/* --- the watch */

/* Another ratio might be better; not again so soon. */
static void musher_trigger(struct mps_conn *conn)
{
	struct musher_conn *state = mps_conn_priv(conn);

	state->rate_count = 0;
	state->queue_count = 0;
	state->last_kbps = 0;
	state->last_queue = 0;
	state->queue_diff = 0;
	state->references = 0;
	if (jiffies_to_msecs(jiffies - state->begin) < mps_param(conn, SPACING))
		return;
	if (mps_param(conn, MEASURE))
		musher_begin_measure(conn);
	else
		musher_begin_search(conn);
}

/* What is compared with: the mean of the last looks */
static void musher_refer(struct mps_conn *conn, u64 kbps, u64 queue)
{
	struct musher_conn *state = mps_conn_priv(conn);

	if (state->references < MUSHER_REFERENCE) {
		state->reference_kbps += kbps;
		state->reference_queue += queue;
		state->references++;
		return;
	}
	state->last_kbps = div_u64(state->reference_kbps, MUSHER_REFERENCE);
	state->last_queue = div_u64(state->reference_queue, MUSHER_REFERENCE);
	state->change_kbps = mps_param(conn, RATE_CHANGE);
	state->fall_bytes = mps_param(conn, QUEUE_FALL);
	if (mps_param(conn, MEASURE)) {
		state->change_kbps = MUSHER_CHANGE(state->last_kbps);
		state->fall_bytes = MUSHER_FALL(state->last_queue);
	}
	state->reference_kbps = 0;
	state->reference_queue = 0;
	state->references = 0;
	/* the difference of the queues goes on, as in the source */
	state->rate_diff = 0;
}

static void musher_watch(struct mps_conn *conn, u64 kbps, u64 queue)
{
	struct musher_conn *state = mps_conn_priv(conn);

	if (abs(state->rate_diff) > state->change_kbps) {
		state->queue_count = 0;
		state->rate_count++;
	} else if (state->queue_diff < -state->fall_bytes) {
		state->rate_count = 0;
		state->queue_count++;
	} else {
		state->rate_count = 0;
		state->queue_count = 0;
	}
	state->last_kbps = kbps;
	state->last_queue = queue;
	if (state->rate_count == MUSHER_IN_A_ROW || state->queue_count == MUSHER_IN_A_ROW)
		musher_trigger(conn);
}

static u32 musher_interval_ms(struct mps_conn *conn)
{
	struct musher_conn *state = mps_conn_priv(conn);
	u32 ms = mps_param(conn, SEARCH_INTERVAL);
	struct mps_subflow *subflow;

	if (state->state == WATCH)
		return mps_param(conn, INTERVAL);
	/* what a path carries is seen in no less than its RTT */
	if (state->state == MEASURING)
		mps_for_each_subflow(conn, subflow)
			if (subflow->usable && subflow->min_rtt_us != ~0U)
				ms = max(ms, subflow->min_rtt_us / (u32)USEC_PER_MSEC);
	return ms;
}

/* Looks at throughput and queues, if it is time to. */
static void musher_look(struct mps_conn *conn)
{
	struct musher_conn *state = mps_conn_priv(conn);
	struct mps_subflow *subflow;
	u64 kbps, queue;

	mps_for_each_subflow(conn, subflow) {
		state_of(subflow)->queue_bytes += subflow->outstanding_bytes;
		state_of(subflow)->samples++;
	}
	if (jiffies_to_msecs(jiffies - state->look) <= musher_interval_ms(conn))
		return;
	state->look = jiffies;
	kbps = musher_rate_kbps(conn);
	queue = musher_queue_bytes(conn);
	if (state->state == MEASURING) {
		musher_measure(conn);
		return;
	}
	if (mps_param(conn, MEASURE) && mps_param(conn, PERIOD) &&
	    jiffies_to_msecs(jiffies - state->begin) >= mps_param(conn, PERIOD)) {
		musher_begin_measure(conn);
		return;
	}
	if (state->state == WATCH && !state->last_kbps) {
		musher_refer(conn, kbps, queue);
		return;
	}
	state->rate_diff += kbps - state->last_kbps;
	state->queue_diff += queue - state->last_queue;
	if (state->state == WATCH)
		musher_watch(conn, kbps, queue);
	else
		musher_search(conn, kbps);
}

/* --- hooks */

/* The oldest with room that has not carried the segment, or else of all with room:
 * the last one in the list of the source.
 */
static struct mps_subflow *musher_oldest(struct mps_conn *conn, const struct mps_segment *seg)
{
	struct mps_subflow *subflow, *carrier = NULL;
	bool backups = musher_backups(conn);

	mps_for_each_subflow(conn, subflow) {
		if (!mps_available(subflow) || (subflow->backup && !backups))
			continue;
		if (!mps_carried_by(seg, subflow))
			return subflow;
		if (!carrier)
			carrier = subflow;
	}
	return carrier;
}

static bool musher_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *reinjection = mps_reinjection(conn), *head = mps_head(conn);
	struct musher_conn *state = mps_conn_priv(conn);
	struct mps_subflow *subflow;

	state->window_bytes = max(state->window_bytes, conn->window_bytes);
	if (mps_param(conn, SEARCH))
		musher_look(conn);
	if (reinjection) {
		subflow = musher_oldest(conn, reinjection);
		return subflow && mps_pick_reinjection(pick, conn, subflow, reinjection);
	}
	if (!head) {
		/* throughput is what the application writes */
		state->unclear |= !conn->writer_waits;
		return false;
	}
	if (!mps_param(conn, MIXED)) {
		subflow = musher_in_a_row(conn, head);
		return subflow && mps_pick_new(pick, conn, subflow, head);
	}
	subflow = musher_farthest_behind(conn);
	if (!subflow)
		return false;
	/* what is picked counts, though the window of the receiver is closed */
	if (!mps_fits_window(conn, head))
		state_of(subflow)->sent++;
	return mps_pick_new(pick, conn, subflow, head);
}

static void musher_on_sent(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes)
{
	struct musher_conn *state = mps_conn_priv(conn);

	if (pick->kind != MPS_NEW || !mps_param(conn, MIXED))
		return;
	state_of(pick->subflow)->sent++;
	/* each has had its share */
	if (++state->sent == MUSHER_WHOLE)
		musher_begin_round(conn);
}

static void musher_on_ack(struct mps_conn *conn, struct mps_subflow *subflow, u64 acked_bytes)
{
	state_of(subflow)->acked_bytes += acked_bytes;
}

static void musher_init(struct mps_conn *conn)
{
	struct musher_conn *state = mps_conn_priv(conn);

	state->ratio = mps_param(conn, RATIO);
	state->round_ratio = state->ratio;
	/* the first look, and the first search, may be at once */
	state->look = jiffies - msecs_to_jiffies(mps_param(conn, INTERVAL)) - 1;
	state->begin = jiffies - msecs_to_jiffies(mps_param(conn, SPACING));
}

static void musher_upset(struct mps_conn *conn, struct mps_subflow *subflow)
{
	if (musher_measures(conn))
		musher_begin_measure(conn);
}

static struct mps_ops musher_ops = {
	.next_segment		= musher_next_segment,
	.get_subflow		= musher_oldest,
	.init			= musher_init,
	.init_subflow		= musher_upset,
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
