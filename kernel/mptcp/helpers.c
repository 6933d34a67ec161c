// SPDX-License-Identifier: GPL-2.0-only
/* Functions that several schedulers share: the choice of the lowest RTT, and opportunistic
 * retransmission with penalisation.
 */

#include "framework.h"

/* 4 x RTT and cwnd <= 4: mptcp_rcv_buf_optimization() of v0.9x */
#define RP_RTT_RATIO		4
#define RP_SMALL_CWND_PKTS	4

/* Is there a usable subflow that is not distrusted? */
static bool mps_any_trusted(const struct mps_conn *conn)
{
	const struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		if (subflow->usable && !subflow_core(subflow)->distrusted)
			return true;
	return false;
}

void mps_count_fallback(struct mps_conn *conn)
{
	conn_core(conn)->fallbacks++;
}
EXPORT_SYMBOL_GPL(mps_count_fallback);

u64 mps_clock_ns(void)
{
	unsigned long flags;
	u64 now;

	/* with interrupts on, reading the clock moves virtual time */
	local_irq_save(flags);
	now = ktime_get_ns();
	local_irq_restore(flags);
	return now;
}
EXPORT_SYMBOL_GPL(mps_clock_ns);

bool mps_only_backups(const struct mps_conn *conn)
{
	const struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		if (subflow->usable && !subflow->backup)
			return false;
	return true;
}
EXPORT_SYMBOL_GPL(mps_only_backups);

bool mps_has_room_soon(const struct mps_subflow *subflow)
{
	return subflow->usable && !mps_in_loss(subflow) &&
	       (mps_has_room(subflow) || subflow->in_flight_pkts || subflow->unsent_bytes);
}
EXPORT_SYMBOL_GPL(mps_has_room_soon);

/* The lowest RTT of the regular subflows, or of the backups. Subflows that did not carry the
 * segment come first. *final: no further search is needed.
 */
static struct mps_subflow *mps_lowest_rtt_of(const struct mps_conn *conn,
					     const struct mps_segment *seg, bool backup,
					     bool *final)
{
	struct mps_subflow *subflow, *best = NULL;
	bool any_trusted = mps_any_trusted(conn);
	bool best_new = false, new_full = false;

	mps_for_each_subflow(conn, subflow) {
		bool new = !seg || !mps_carried_by(seg, subflow);

		if (!subflow->usable || subflow->backup != backup || (best_new && !new) ||
		    (subflow_core(subflow)->distrusted && any_trusted))
			continue;
		if (!mps_available(subflow)) {
			new_full |= new;
			continue;
		}
		if (new != best_new)
			best = NULL;
		best_new = new;
		if (!best || subflow->srtt_us < best->srtt_us)
			best = subflow;
	}
	*final = best ? best_new : new_full;
	return best;
}

struct mps_subflow *mps_lowest_rtt(struct mps_conn *conn, const struct mps_segment *seg)
{
	struct mps_subflow *best;
	bool final;

	best = mps_lowest_rtt_of(conn, seg, false, &final);
	if (final)
		return best;
	best = mps_lowest_rtt_of(conn, seg, true, &final);
	/* all subflows that could send it carried it: choose as for new data */
	return final || !seg ? best : mps_lowest_rtt(conn, NULL);
}
EXPORT_SYMBOL_GPL(mps_lowest_rtt);

struct mps_subflow *mps_faster_but_full(struct mps_conn *conn, const struct mps_subflow *slow)
{
	struct mps_subflow *subflow, *fastest = NULL;

	mps_for_each_subflow(conn, subflow) {
		if (subflow->backup > slow->backup || subflow->srtt_us >= slow->srtt_us ||
		    mps_has_room(subflow) || !mps_has_room_soon(subflow))
			continue;
		if (!fastest || subflow->srtt_us < fastest->srtt_us)
			fastest = subflow;
	}
	return fastest;
}
EXPORT_SYMBOL_GPL(mps_faster_but_full);

struct mps_subflow *mps_fastest_but(struct mps_conn *conn, const struct mps_subflow *slow)
{
	struct mps_subflow *subflow, *fastest = NULL;

	mps_for_each_subflow(conn, subflow) {
		if (!subflow->usable || subflow->backup > slow->backup)
			continue;
		if (subflow != slow && !subflow->in_flight_pkts && !subflow->unsent_bytes)
			continue;
		if (!fastest || subflow->srtt_us < fastest->srtt_us)
			fastest = subflow;
	}
	return fastest == slow ? NULL : fastest;
}
EXPORT_SYMBOL_GPL(mps_fastest_but);

struct mps_subflow *mps_first_available(struct mps_conn *conn, const struct mps_segment *seg,
					bool backups)
{
	struct mps_subflow *subflow, *carrier = NULL;

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
EXPORT_SYMBOL_GPL(mps_first_available);

bool mps_reinject(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *seg = mps_reinjection(conn);
	struct mps_subflow *subflow;

	if (!seg)
		return false;
	subflow = mps_lowest_rtt(conn, seg);
	return subflow && mps_pick_reinjection(pick, conn, subflow, seg);
}
EXPORT_SYMBOL_GPL(mps_reinject);

bool mps_all_on(struct mps_conn *conn, struct mps_subflow *subflow, bool queue,
		struct mps_pick *pick)
{
	struct mps_segment *seg = mps_reinjection(conn);

	if (!subflow || !(queue || mps_available(subflow)))
		return false;
	if (seg)
		return mps_pick_reinjection(pick, conn, subflow, seg);
	seg = mps_head(conn);
	return seg && mps_pick_new(pick, conn, subflow, seg);
}
EXPORT_SYMBOL_GPL(mps_all_on);

/* Penalises the slower subflows that carry the segment, except ones that repair a loss. The
 * time since the last penalty counts in jiffies, as in v0.9x.
 */
static void mps_penalise_slower(struct mps_conn *conn, struct mps_subflow *fast,
				const struct mps_segment *seg, enum mps_rp rp)
{
	u32 *penalised = &subflow_core(fast)->penalised;
	u32 now = tcp_jiffies32;
	struct mps_subflow *slow;

	if (now - *penalised < usecs_to_jiffies(fast->srtt_us))
		return;
	list_for_each_entry_reverse(slow, &conn->subflows, node) {
		if (slow == fast || !mps_carried_by(seg, slow))
			continue;
		if (slow->srtt_us > fast->srtt_us && slow->ca_state == TCP_CA_Open) {
			if (rp == MPS_RP_LIMIT)
				mps_penalise(slow);
			else
				mps_halve_cwnd(slow);
			*penalised = now;
		}
		if (rp == MPS_RP_HALVE_ONE)
			break;
	}
}

bool mps_opportunistic(struct mps_conn *conn, struct mps_subflow *fast, enum mps_rp rp,
		       struct mps_pick *pick)
{
	struct mps_segment *seg = mps_oldest_unacked(conn);
	struct mps_subflow *slow;
	bool worth = false;

	if (!seg || rp == MPS_RP_OFF)
		return false;
	if (rp != MPS_RP_REPEAT && (mps_head(conn) || conn->sndbuf_full))
		mps_penalise_slower(conn, fast, seg, rp);

	if (mps_carried_by(seg, fast) || !mps_available(fast))
		return false;
	/* a path that is hardly slower will deliver it soon */
	mps_for_each_subflow(conn, slow) {
		if (slow == fast || !mps_carried_by(seg, slow))
			continue;
		if (mps_cwnd(slow) <= RP_SMALL_CWND_PKTS) {
			worth = true;
			break;
		}
		if ((u64)RP_RTT_RATIO * fast->srtt_us >= slow->srtt_us)
			return false;
		worth = true;
	}
	return worth && mps_pick_duplicate(pick, conn, fast, seg);
}
EXPORT_SYMBOL_GPL(mps_opportunistic);

bool mps_new_or_repeat(struct mps_conn *conn, struct mps_subflow *subflow,
		       struct mps_segment *seg, enum mps_rp rp, struct mps_pick *pick)
{
	bool blocked = seg ? !mps_fits_window(conn, seg) : conn->writer_waits;

	if (blocked && mps_opportunistic(conn, subflow, rp, pick))
		return true;
	return seg && mps_pick_new(pick, conn, subflow, seg);
}
EXPORT_SYMBOL_GPL(mps_new_or_repeat);
