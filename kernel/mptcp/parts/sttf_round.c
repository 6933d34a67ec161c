// SPDX-License-Identifier: GPL-2.0-only
/* Rounds in the plan of sttf: see sttf_round.h. */

#include "parts/sttf_round.h"

/* A bound that no window reaches: all sums below fit. */
#define STTF_MAX_PKTS		BIT(24)
/* ... and one that no queue reaches: it holds reinjections only */
#define STTF_MAX_QUEUE_PKTS	65536U

static u32 sttf_rtt_us(const struct mps_subflow *subflow)
{
	return subflow->last_rtt_us ?: subflow->srtt_us;
}

void sttf_next_round(struct sttf_round *round, const struct mps_subflow *subflow)
{
	if (round->cwnd_pkts < subflow->ssthresh_pkts)
		round->cwnd_pkts = min(2 * round->cwnd_pkts, subflow->ssthresh_pkts);
	else
		round->cwnd_pkts++;
	round->cwnd_pkts = min_t(u32, round->cwnd_pkts, STTF_MAX_PKTS);
	round->room_pkts = round->cwnd_pkts;
	round->arrival_us += sttf_rtt_us(subflow);
	round->now = false;
}
EXPORT_SYMBOL_GPL(sttf_next_round);

void sttf_first_round(struct sttf_round *round, const struct mps_subflow *subflow)
{
	u32 queued_pkts = subflow->unsent_bytes / max(subflow->mss_bytes, 1U);
	u32 room_pkts = 0;

	queued_pkts = min(queued_pkts, STTF_MAX_QUEUE_PKTS);
	round->arrival_us = sttf_rtt_us(subflow) / 2;
	round->cwnd_pkts = clamp_t(u32, mps_cwnd(subflow), 1, STTF_MAX_PKTS);
	if (subflow->in_flight_pkts < mps_cwnd(subflow))
		room_pkts = mps_cwnd(subflow) - subflow->in_flight_pkts;
	if (queued_pkts < room_pkts) {
		round->room_pkts = room_pkts - queued_pkts;
		round->now = true;
		return;
	}
	/* the subflow's queue leaves before */
	queued_pkts -= room_pkts;
	sttf_next_round(round, subflow);
	while (queued_pkts >= round->room_pkts) {
		queued_pkts -= round->room_pkts;
		sttf_next_round(round, subflow);
	}
	round->room_pkts -= queued_pkts;
}
EXPORT_SYMBOL_GPL(sttf_first_round);
