// SPDX-License-Identifier: GPL-2.0-only
/* obstinate: keeps data from leaving, in the way that its parameter says.
 *
 * For tests that no way stops a connection or the kernel.
 */

#include "mpsched.h"

enum way {
	SLEEP,			/* wait */
	WAKE_HOUR,		/* .. for a timer of an hour */
	WAKE_MAX,		/* .. for ~0 */
	WAKE_ALMOST_MAX,
	WAKE_NEAR,		/* .. for one of 10 ms, each time */
	WAKE_SOON,		/* .. of 1 ns */
	WAKE_PAST,
	CUT_AND_WAIT,
	CUT,			/* cut all windows, and pick */
	PENALISE,
	LIMIT,			/* one segment at a time on each subflow */
	DISTRUST,		/* all subflows */
	DISTRUST_IN_TURN,	/* and send what is in the reinjection queue wherever it was */
	LINEAR,			/* timeouts that do not double */
	NONSENSE,		/* picks that are refused */
	DROP,			/* units that are not there */
	SAME_AGAIN,		/* the oldest segment, as a reinjection */
	LAST,			/* the last segment, whether the window has room or not */
	NOWHERE,		/* new data alone; the oldest segment goes nowhere */
	UNUSABLE,		/* .. or on a subflow that is not usable */
	ONE_BYTE,		/* of each segment */
	ALL_BYTES,		/* and as many more as there are numbers for */
	SPLIT,			/* segments in two, a part on each path; none is reinjected */
	BYTES_IN_TURN,		/* as DISTRUST_IN_TURN, a byte at a time, room or not */
	HANG,			/* next_segment() does not return */
	HANG_ON_ACK,
};

static const struct mps_param params[] = {
	MPS_UINT("way", 0, 25, 0, "", "which one"),
};

static enum way way_of(const struct mps_conn *conn)
{
	return mps_param(conn, 0);
}

/* In time travel, cpu_relax() lets time pass, but barrier() does not. */
static noinline void obstinate_hang(void)
{
	for (;;)
		cpu_relax();
}

static bool pick_new(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *head = mps_head(conn);
	struct mps_subflow *subflow = head ? mps_lowest_rtt(conn, NULL) : NULL;

	return subflow && mps_pick_new(pick, conn, subflow, head);
}

struct obstinate_conn {
	u64	begun_seq;	/* SPLIT: of the segment whose first part was sent */
};

/* The first bytes of a segment on the first subflow, the rest on the last one. */
static bool pick_split(struct mps_conn *conn, struct mps_pick *pick)
{
	struct obstinate_conn *state = mps_conn_priv(conn);
	struct mps_subflow *subflow, *first = NULL, *last = NULL;
	struct mps_segment *head = mps_head(conn);
	bool begun;

	mps_for_each_subflow(conn, subflow) {
		if (!subflow->usable)
			continue;
		first = first ?: subflow;
		last = subflow;
	}
	if (!head || !first || !mps_has_room(first) || !mps_has_room(last))
		return false;
	begun = state->begun_seq == mps_seq(conn, head);
	state->begun_seq = mps_seq(conn, head);
	mps_pick_new(pick, conn, begun ? last : first, head);
	pick->limit_bytes = begun ? 0 : 100;
	return true;
}

/* Some bytes of a segment, the rest elsewhere; then the subflows are distrusted in turn. */
static bool pick_in_turn(struct mps_conn *conn, struct mps_pick *pick, u32 limit_bytes)
{
	struct mps_subflow *subflow;
	struct mps_segment *seg;

	mps_for_each_subflow(conn, subflow)
		mps_distrust(subflow, false);
	mps_for_each_subflow(conn, subflow) {
		mps_distrust(subflow, true);
		seg = mps_reinjection(conn);
		if (seg) {
			pick->limit_bytes = limit_bytes;
			return mps_pick_reinjection(pick, conn, subflow, seg);
		}
	}
	if (!pick_new(conn, pick))
		return false;
	pick->limit_bytes = 700;
	return true;
}

static bool obstinate_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *seg = mps_head(conn), *last;
	u64 now = mps_clock_ns();
	struct mps_subflow *subflow;

	switch (way_of(conn)) {
	case SLEEP:
		return false;
	case WAKE_HOUR:
		mps_wake_at(conn, now + 3600 * NSEC_PER_SEC);
		return false;
	case WAKE_MAX:
		mps_wake_at(conn, ~0ULL);
		return false;
	case WAKE_ALMOST_MAX:
		mps_wake_at(conn, S64_MAX - 1);
		return false;
	case WAKE_NEAR:
		mps_wake_at(conn, now + 10 * NSEC_PER_MSEC);
		return false;
	case WAKE_SOON:
		mps_wake_at(conn, now + 1);
		return false;
	case WAKE_PAST:
		mps_wake_at(conn, 1);
		return false;
	case CUT_AND_WAIT:
		mps_for_each_subflow(conn, subflow)
			mps_halve_cwnd(subflow);
		return false;
	case CUT:
		mps_for_each_subflow(conn, subflow)
			mps_halve_cwnd(subflow);
		break;
	case PENALISE:
		mps_for_each_subflow(conn, subflow)
			mps_penalise(subflow);
		break;
	case LIMIT:
		mps_for_each_subflow(conn, subflow)
			mps_set_limit(subflow, 0);
		break;
	case DISTRUST:
		mps_for_each_subflow(conn, subflow)
			mps_distrust(subflow, true);
		break;
	case DISTRUST_IN_TURN:
		return pick_in_turn(conn, pick, 0);
	case BYTES_IN_TURN:
		return pick_in_turn(conn, pick, 1);
	case SPLIT:
		return pick_split(conn, pick);
	case LINEAR:
		mps_for_each_subflow(conn, subflow)
			mps_set_linear_timeouts(subflow, true);
		break;
	case NONSENSE:
		pick->kind = MPS_NEW;
		return true;
	case DROP:
		pick->kind = MPS_DROP;
		return true;
	case SAME_AGAIN:
		pick->subflow = mps_lowest_rtt(conn, NULL);
		pick->kind = MPS_REINJECTION;
		return true;
	case LAST:
		for (last = seg; seg; seg = mps_next_unsent(conn, seg))
			last = seg;
		subflow = last ? mps_lowest_rtt(conn, NULL) : NULL;
		return subflow && mps_pick_new(pick, conn, subflow, last);
	case NOWHERE:
	case UNUSABLE:
		return pick_new(conn, pick);
	case HANG:
		obstinate_hang();
		break;
	default:
		break;
	}
	if (!mps_reinject(conn, pick) && !pick_new(conn, pick))
		return false;
	if (way_of(conn) == ONE_BYTE)
		pick->limit_bytes = 1;
	if (way_of(conn) == ALL_BYTES)
		pick->limit_bytes = ~0;
	return true;
}

static struct mps_subflow *obstinate_get_subflow(struct mps_conn *conn,
						 const struct mps_segment *seg)
{
	struct mps_subflow *subflow;

	if (way_of(conn) == NOWHERE)
		return NULL;
	if (way_of(conn) == UNUSABLE)
		mps_for_each_subflow(conn, subflow)
			if (!subflow->usable)
				return subflow;
	return mps_lowest_rtt(conn, seg);
}

static void obstinate_on_ack(struct mps_conn *conn, struct mps_subflow *subflow, u64 acked_bytes)
{
	if (way_of(conn) == HANG_ON_ACK)
		obstinate_hang();
}

static struct mps_ops obstinate = {
	.next_segment	= obstinate_next_segment,
	.get_subflow	= obstinate_get_subflow,
	.on_ack		= obstinate_on_ack,
	.conn_size	= sizeof(struct obstinate_conn),
	.name		= "obstinate",
	.owner		= THIS_MODULE,
	.params		= params,
	.num_params	= ARRAY_SIZE(params),
};

mps_scheduler(obstinate);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler for tests: keeps data from leaving");
