// SPDX-License-Identifier: GPL-2.0-only
/* Trials of a path after a handover: see lte_trial.h, and the states in sched/lte.c. */

#include "parts/lte_trial.h"

/* thresholds that are no parameters, and why these */
#define BACK_RTT_HALVES		3	/* in a handover, RTTs are several times as long */
#define TRUSTED_PKTS		8	/* of each, an eighth is new in the smoothed RTT */
#define TRUSTED_RTT_PART	4	/* of the smoothed RTT: as LATE_RTT_PART */

void lte_begin_trial(struct lte_trial *trial, const struct lte_late *late)
{
	trial->since_ns = mps_clock_ns();
	trial->mark_pkts = late->acked_pkts;
	trial->probe_ns = trial->since_ns;
	trial->probe_pkts = PROBE_PKTS;
}
EXPORT_SYMBOL_GPL(lte_begin_trial);

/* It may if nothing is on its way there; or, once in a round trip, if something came back
 * since the last try: after an outage, TCP finds losses by the packets that follow them.
 */
bool lte_may_probe(struct lte_trial *trial, const struct lte_late *late,
		   const struct mps_subflow *subflow)
{
	u64 now = mps_clock_ns();

	if (trial->probe_pkts < PROBE_PKTS)
		return true;
	if (subflow->outstanding_bytes &&
	    (trial->mark_pkts == late->acked_pkts ||
	     between_ns(trial->probe_ns, now) < late->srtt_us * (u64)NSEC_PER_USEC))
		return false;
	trial->probe_ns = now;
	trial->mark_pkts = late->acked_pkts;
	trial->probe_pkts = 0;
	return true;
}
EXPORT_SYMBOL_GPL(lte_may_probe);

static bool lte_lasts(const struct lte_trial *trial, u32 longest_ms)
{
	return between_ns(trial->since_ns, mps_clock_ns()) > longest_ms * (u64)NSEC_PER_MSEC;
}

bool lte_is_back(const struct lte_trial *trial, const struct lte_late *late,
		 const struct mps_subflow *subflow, u32 longest_ms)
{
	return subflow->usable && subflow->delivered_sent_ns > trial->since_ns &&
	       (subflow->last_rtt_us * 2ULL <= late->srtt_us * (u64)BACK_RTT_HALVES ||
		lte_lasts(trial, longest_ms));
}
EXPORT_SYMBOL_GPL(lte_is_back);

bool lte_is_trusted(const struct lte_trial *trial, const struct mps_subflow *subflow,
		    u32 longest_ms)
{
	u64 off_us = abs_diff(subflow->srtt_us, subflow->last_rtt_us);

	return (subflow->delivered_pkts - trial->mark_pkts >= TRUSTED_PKTS &&
		off_us * TRUSTED_RTT_PART <= subflow->srtt_us) || lte_lasts(trial, longest_ms);
}
EXPORT_SYMBOL_GPL(lte_is_trusted);
