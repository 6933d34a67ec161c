// SPDX-License-Identifier: GPL-2.0-only
/* lte: lowest RTT first, away from a handover; after the idea of Cech.
 *
 * As minrtt, as long as nothing happens. A subflow whose acknowledgments come too
 * slowly is disabled until its path is back, and then stale until its smoothed RTT
 * can be trusted. Meanwhile, data on its way there alone is sent on others, too,
 * at once, so that the receiver does not wait for it.
 *
 * The time between acknowledgments (inter-ack) shows a handover, compared with the
 * time between the sending of the acknowledged data (inter-send). In steady state
 * the two are equal. For each acknowledgment of n packets, and for the silence
 * since the last one, with n = 2,
 *
 *	late = max(0, late + inter-ack - max(inter-send, slowdown x n x usual))
 *
 * where `usual` is the smoothed time per packet while late is 0. The subflow is
 * disabled when late exceeds the greatest of late_ms, a quarter of the smoothed
 * RTT, and four times the RTT's mean deviation, the latter two as they were when
 * late was 0; 50 ms are more than the 40 ms by which Linux delays most
 * acknowledgments. A retransmission timeout disables it, too. A queue that fills
 * lengthens each RTT, but lets acknowledgments come at the rate of the path: late
 * stays 0. An application that pauses lengthens the inter-send time as well. A
 * lone packet does not count, since the receiver may delay its acknowledgment.
 *
 * The states, and their ends:
 *
 *	NORMAL	  carries data as in minrtt, until it is late or has a timeout, and
 *		  another one is NORMAL; then it is DISABLED
 *	DISABLED  tries with two packets at a time, until a packet sent since has an
 *		  RTT of at most 3/2 of the smoothed one before the handover, or
 *		  any after longest_ms: the path is another one then; then it is STALE
 *	STALE	  gets a few packets, until the smoothed RTT is within a quarter of
 *		  the latest after at least 8 packets, or longest_ms are over; then it
 *		  is NORMAL. After a timeout it is DISABLED again.
 *
 * If no other subflow is NORMAL, it is NORMAL: there is nowhere to go.
 *
 * Source: after the idea of H. Cech, guided research, TUM 2020, section 5 and
 * figure 8. The paper's part: the two states beside the normal one, what they do,
 * and the comparison of inter-ack with inter-send. Its detection is not worked
 * out, and no code is known: all numbers, and the ends of the states, are ours.
 *
 * Works where paths have handovers or outages of their own, one at a time. Fails
 * where a path is alone: then there is nowhere to go, and nothing is done. A
 * handover that is over before it is seen, in about late_ms, costs some round
 * trips of the path more than if it had been ignored.
 *
 * Lateness is in parts/lte_late.c, trials of a path are in parts/lte_trial.c.
 *
 * Differs from the source:
 * - late_ms: the source has no numbers, and so no default.
 * - slowdown: the same.
 * - longest_ms: the same.
 * - linear_timeouts: on, the timer of a disabled subflow does not double. Else,
 *   after an outage of seconds, lte would find the path only as many seconds
 *   later. The source leaves TCP alone, as off does.
 * - rp_limit: as minrtt's, which the source starts from.
 * - always: two packets at a time try a disabled subflow, and their ACKs end the
 *   state. The source does not name its end; without any packet nothing would ever
 *   show that an outage is over.
 */

#include "parts/lte_trial.h"

/* of a stale subflow, in flight: TCP's initial window (RFC 6928) */
#define STALE_PKTS		10

enum { LATE_MS, SLOWDOWN, LONGEST_MS, LINEAR, RP, RP_LIMIT };

static const struct mps_param lte_params[] = {
	[LATE_MS]    = MPS_UINT("late_ms", 10, 10000, 50, "ms",
				"so late acknowledgments mean a handover; more than their delay"),
	[SLOWDOWN]   = MPS_UINT("slowdown", 2, 100, 3, "",
				"they may be this many times slower than usual"),
	[LONGEST_MS] = MPS_UINT("longest_ms", 100, 60000, 5000, "ms",
				"a longer RTT that has lasted for this is no handover's"),
	[LINEAR]     = MPS_BOOL("linear_timeouts", 1,
				"the timer of a disabled subflow does not double"),
	[RP]         = MPS_BOOL("rp", 1, "opportunistic retransmission and penalisation"),
	[RP_LIMIT]   = MPS_BOOL("rp_limit", 0, "rp: by a limit beside cwnd, not by halving cwnd"),
};

/* the numbers of mps_event() */
enum { EVENT_LATE = 1, EVENT_TIMEOUT, EVENT_STALE, EVENT_NORMAL };

enum lte_state { NORMAL, DISABLED, STALE };

struct lte_conn {
	u64	wake_ns;	/* for when the timer is set */
};

struct lte_subflow {
	u8	state;		/* enum lte_state */
	struct lte_late late;
	struct lte_trial trial;
};

static struct lte_subflow *state_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

/* Is there another subflow that could carry everything? */
static bool lte_has_another(struct mps_conn *conn, const struct mps_subflow *but)
{
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		if (subflow != but && subflow->usable && !mps_in_loss(subflow) &&
		    state_of(subflow)->state == NORMAL)
			return true;
	return false;
}

static void lte_enter(struct mps_conn *conn, struct mps_subflow *subflow, enum lte_state state,
		      u32 event)
{
	struct lte_subflow *lte = state_of(subflow);

	lte->state = state;
	lte->late.late_ns = 0;
	lte_begin_trial(&lte->trial, &lte->late);
	if (state == STALE)
		lte->late.usual_ns = 0;
	mps_set_limit(subflow, state == STALE ? STALE_PKTS : ~0);
	mps_set_linear_timeouts(subflow, state == DISABLED && mps_param(conn, LINEAR));
	mps_distrust(subflow, state != NORMAL);
	mps_event(conn, subflow, event);
}

/* Updates the state of a subflow. Returns when it will be late; ~0: never. */
static u64 lte_update(struct mps_conn *conn, struct mps_subflow *subflow, u64 now)
{
	struct lte_subflow *lte = state_of(subflow);
	u32 longest_ms = mps_param(conn, LONGEST_MS);
	struct lte_limits limits = {
		.late_ms  = mps_param(conn, LATE_MS),
		.slowdown = mps_param(conn, SLOWDOWN),
	};
	u64 late_at_ns;

	lte_note_acks(&lte->late, subflow, limits, lte->state == NORMAL);
	if (lte->state != NORMAL && !lte_has_another(conn, subflow)) {
		lte_enter(conn, subflow, NORMAL, EVENT_NORMAL);
		return U64_MAX;
	}
	switch (lte->state) {
	case DISABLED:
		if (lte_is_back(&lte->trial, &lte->late, subflow, longest_ms))
			lte_enter(conn, subflow, STALE, EVENT_STALE);
		break;
	case STALE:
		if (!lte_is_trusted(&lte->trial, subflow, longest_ms))
			break;
		lte_enter(conn, subflow, NORMAL, EVENT_NORMAL);
		fallthrough;
	case NORMAL:
		late_at_ns = lte_late_at_ns(&lte->late, subflow, limits);
		if (late_at_ns > now)
			return late_at_ns;
		if (lte_has_another(conn, subflow))
			lte_enter(conn, subflow, DISABLED, EVENT_LATE);
	}
	return U64_MAX;
}

static void lte_watch(struct mps_conn *conn)
{
	struct lte_conn *state = mps_conn_priv(conn);
	u64 now = mps_clock_ns(), wake_ns = U64_MAX;
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		wake_ns = min(wake_ns, lte_update(conn, subflow, now));
	/* a timer that comes too early does no harm, and is cheaper than a new one */
	if (wake_ns != U64_MAX && (state->wake_ns <= now || wake_ns < state->wake_ns)) {
		state->wake_ns = wake_ns;
		mps_wake_at(conn, wake_ns);
	}
}

static void lte_on_rto(struct mps_conn *conn, struct mps_subflow *subflow)
{
	if (state_of(subflow)->state != DISABLED && lte_has_another(conn, subflow))
		lte_enter(conn, subflow, DISABLED, EVENT_TIMEOUT);
}

/* A subflow in trouble gets new data, which is then queued for the others, too; or else a
 * duplicate.
 */
static bool lte_try(struct mps_conn *conn, struct mps_subflow *subflow, struct mps_pick *pick)
{
	struct lte_subflow *lte = state_of(subflow);
	struct mps_segment *head = mps_head(conn);
	struct mps_segment *seg;

	if (!mps_available(subflow) || subflow->backup)
		return false;
	if (lte->state == DISABLED && !lte_may_probe(&lte->trial, &lte->late, subflow))
		return false;
	if (head && mps_fits_window(conn, head))
		return mps_pick_new(pick, conn, subflow, head);
	seg = mps_oldest_missing(conn, subflow);
	return seg && mps_pick_duplicate(pick, conn, subflow, seg);
}

static void lte_on_sent(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes)
{
	state_of(pick->subflow)->trial.probe_pkts++;
}

static bool lte_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_subflow *subflow, *fast;
	struct mps_segment *head;

	lte_watch(conn);
	if (mps_reinject(conn, pick))
		return true;
	mps_for_each_subflow(conn, subflow)
		if (state_of(subflow)->state != NORMAL && lte_try(conn, subflow, pick))
			return true;
	if (mps_reinjection(conn))
		return false;

	head = mps_head(conn);
	fast = mps_lowest_rtt(conn, NULL);
	if (!fast)
		return false;
	return mps_new_or_repeat(conn, fast, head, mps_rp(conn, RP, RP_LIMIT), pick);
}

static struct mps_ops lte_ops = {
	.next_segment	= lte_next_segment,
	.on_rto		= lte_on_rto,
	.on_sent	= lte_on_sent,
	.name		= "lte",
	.owner		= THIS_MODULE,
	.conn_size	= sizeof(struct lte_conn),
	.subflow_size	= sizeof(struct lte_subflow),
	.params		= lte_params,
	.num_params	= ARRAY_SIZE(lte_params),
};

mps_scheduler(lte_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler: lowest RTT first, away from LTE handovers");
