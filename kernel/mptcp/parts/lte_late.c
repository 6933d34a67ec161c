// SPDX-License-Identifier: GPL-2.0-only
/* The time between acknowledgments (inter-ack) against that between sends (inter-send), and
 * against what is usual: see the head of sched/lte.c.
 */

#include "parts/lte_late.h"

#define LATE_RTT_PART		4	/* of the smoothed RTT: paths vary by as much */
#define LATE_RTTVARS		4	/* as in TCP's timeout (RFC 6298) */
#define USUAL_PART		8	/* of it that is new each time, as in TCP's RTT */
#define PAUSE_RTT_PART		2	/* so long for a packet: it was the sender's pause */
/* a bound that no path reaches: all products below fit into 64 bits */
#define MAX_PKTS		BIT_ULL(16)

/* What inter-ack time is no reason to worry. */
static u64 lte_allowed_ns(const struct lte_late *lte, struct lte_limits limits,
			  u64 inter_send_ns, u64 pkts)
{
	return max(inter_send_ns,
		   limits.slowdown * min(pkts, MAX_PKTS) * lte->usual_ns);
}

void lte_note_acks(struct lte_late *lte, const struct mps_subflow *subflow,
		   struct lte_limits limits, bool normal)
{
	u32 pkts = subflow->delivered_pkts - lte->acked_pkts;
	u64 inter_send_ns = between_ns(lte->sent_ns, subflow->delivered_sent_ns);
	u64 inter_ack_ns = between_ns(lte->acked_ns, subflow->delivered_ns);
	u64 srtt_ns = (u64)subflow->srtt_us * NSEC_PER_USEC;

	if (!pkts)
		return;
	/* the acknowledgment of a lone packet may have been delayed */
	if (lte->acked_ns && (pkts > 1 || subflow->in_flight_pkts)) {
		u64 pkt_ns = div_u64(inter_ack_ns, pkts);

		if (lte->usual_ns && normal)
			lte->late_ns = between_ns(lte_allowed_ns(lte, limits, inter_send_ns,
								 pkts),
						  lte->late_ns + inter_ack_ns);
		if (!lte->late_ns && pkt_ns <= srtt_ns / PAUSE_RTT_PART)
			lte->usual_ns = lte->usual_ns ?
				lte->usual_ns + div_s64(pkt_ns - lte->usual_ns, USUAL_PART) :
				max(pkt_ns, 1ULL);
	}
	if (!subflow->in_flight_pkts)
		lte->late_ns = 0;
	if (!lte->late_ns && normal) {
		lte->limit_ns = max3(limits.late_ms * (u64)NSEC_PER_MSEC,
				     subflow->srtt_us / LATE_RTT_PART * (u64)NSEC_PER_USEC,
				     (u64)LATE_RTTVARS * subflow->rttvar_us * NSEC_PER_USEC);
		lte->srtt_us = subflow->srtt_us;
	}
	lte->acked_pkts = subflow->delivered_pkts;
	lte->acked_ns = subflow->delivered_ns;
	lte->sent_ns = subflow->delivered_sent_ns;
}
EXPORT_SYMBOL_GPL(lte_note_acks);

u64 lte_late_at_ns(const struct lte_late *lte, const struct mps_subflow *subflow,
		   struct lte_limits limits)
{
	u64 allowed_ns;

	if (lte->late_ns > lte->limit_ns)
		return 0;
	if (!subflow->usable || mps_in_loss(subflow) || !lte->usual_ns ||
	    !subflow->oldest_sent_ns || subflow->in_flight_pkts < PROBE_PKTS ||
	    subflow->outstanding_bytes < subflow->unsent_bytes +
					 (u64)PROBE_PKTS * subflow->mss_bytes)
		return U64_MAX;
	allowed_ns = lte_allowed_ns(lte, limits,
				    between_ns(lte->sent_ns, subflow->oldest_sent_ns), PROBE_PKTS);
	return lte->acked_ns + allowed_ns + between_ns(lte->late_ns, lte->limit_ns) + 1;
}
EXPORT_SYMBOL_GPL(lte_late_at_ns);
