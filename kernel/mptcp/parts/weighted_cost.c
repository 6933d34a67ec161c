// SPDX-License-Identifier: GPL-2.0-only
/* The class and the cost of each path of weighted, and the losses that make it expensive. */

#include "parts/weighted.h"

/* of counts of packets; each round brings an eighth of them */
#define LOSS_SCALE		1024ULL
#define LOSS_PART		8

u32 weighted_class(const struct mps_conn *conn, struct mps_subflow *subflow)
{
	u64 cap_bytes = weighted_path_param(conn, subflow, CAP_MB) * 1000000ULL;

	if (subflow->backup)
		return BACKUP;
	if (!weighted_path_param(conn, subflow, SHARE) ||
	    (cap_bytes && weighted_state(subflow)->bytes >= cap_bytes))
		return RESERVED;
	return REGULAR;
}
EXPORT_SYMBOL_GPL(weighted_class);

bool weighted_exceeds(const struct mps_conn *conn, struct mps_subflow *subflow)
{
	u32 max_loss = mps_param(conn, MAX_LOSS), max_rtt_ms = mps_param(conn, MAX_RTT_MS);
	const struct weighted_subflow *state = weighted_state(subflow);

	if (max_rtt_ms && subflow->srtt_us > max_rtt_ms * (u64)USEC_PER_MSEC)
		return true;
	return max_loss && 1000 * state->round_lost > max_loss * state->round_pkts;
}
EXPORT_SYMBOL_GPL(weighted_exceeds);

s64 weighted_cost(const struct mps_conn *conn, struct mps_subflow *subflow)
{
	s64 cost = weighted_path_param(conn, subflow, COST), dearest = 0;
	struct mps_subflow *other;

	if (!weighted_exceeds(conn, subflow))
		return cost;
	mps_for_each_subflow(conn, other)
		if (other->usable && weighted_class(conn, other) == weighted_class(conn, subflow))
			dearest = max_t(s64, dearest, weighted_path_param(conn, other, COST));
	return dearest > cost ? dearest : cost + 1;
}
EXPORT_SYMBOL_GPL(weighted_cost);

bool weighted_next_cost(struct mps_conn *conn, u32 class, s64 *cost)
{
	struct mps_subflow *subflow;
	s64 next = S64_MAX;

	mps_for_each_subflow(conn, subflow) {
		s64 mine = weighted_cost(conn, subflow);

		if (subflow->usable && weighted_class(conn, subflow) == class && mine > *cost)
			next = min(next, mine);
	}
	*cost = next;
	return next != S64_MAX;
}
EXPORT_SYMBOL_GPL(weighted_next_cost);

void weighted_count_losses(struct mps_conn *conn, struct mps_subflow *subflow, u64 acked_bytes)
{
	u64 pkts = (u64)subflow->round_delivered_pkts + subflow->round_lost_pkts;
	struct weighted_subflow *state = weighted_state(subflow);

	if (state->rounds == subflow->rounds)
		return;
	state->rounds = subflow->rounds;
	state->round_pkts += pkts * LOSS_SCALE - state->round_pkts / LOSS_PART;
	state->round_lost += subflow->round_lost_pkts * LOSS_SCALE -
			     state->round_lost / LOSS_PART;
}
EXPORT_SYMBOL_GPL(weighted_count_losses);
