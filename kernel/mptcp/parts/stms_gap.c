// SPDX-License-Identifier: GPL-2.0-only
/* Samples of stms: whether they came late or early, and the gap that follows. */

#include "parts/stms_gap.h"

/* A bound, so that nothing overflows: no window is larger. */
#define STMS_GAP_MAX_BYTES	((u64)SZ_1G)
/* probes that come late become rarer, 64 times at most */
#define STMS_PROBE_SHIFT_MAX	6

static struct stms_subflow *state_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

/* After a loss, the order is not the reason why data is late. */
static bool stms_is_calm(struct mps_conn *conn)
{
	const struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		if (subflow->usable && subflow->ca_state != TCP_CA_Open)
			return false;
	return true;
}

static void stms_late(struct stms_subflow *state, u64 bytes)
{
	state->gap_bytes = min(state->ahead_bytes + bytes, STMS_GAP_MAX_BYTES);
	if (state->probe && state->probe_shift < STMS_PROBE_SHIFT_MAX)
		state->probe_shift++;
}

static void stms_early(struct stms_subflow *state, u64 bytes)
{
	state->gap_bytes = state->ahead_bytes - min(bytes, state->ahead_bytes);
	state->probe_shift = 0;
}

void stms_look(struct mps_conn *conn)
{
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow) {
		struct stms_subflow *state = state_of(subflow);

		if (!state->sampling || conn->una_seq < state->end_seq)
			continue;
		state->sampling = false;
		if (!stms_is_calm(conn))
			continue;
		if (state->missing_bytes < 0)
			stms_late(state, -state->missing_bytes);
		else
			stms_early(state, (u64)mps_param(conn, SHRINK) * conn->segment_bytes);
	}
}
EXPORT_SYMBOL_GPL(stms_look);

static u32 stms_bit(const struct mps_subflow *subflow)
{
	return BIT(subflow->id % 32);
}

/* Faster subflows have to bring the data on their way and the data left to them before the
 * sample.
 */
void stms_begin_sample(struct mps_conn *conn, struct mps_subflow *subflow, u64 seq, u32 bytes,
		       u64 ahead_bytes)
{
	struct stms_subflow *state = state_of(subflow);
	struct mps_subflow *other;

	state->sampling = true;
	state->probe = ahead_bytes < state->gap_bytes;
	state->seq = seq;
	state->end_seq = seq + bytes;
	state->ahead_bytes = ahead_bytes;
	state->left_bytes = subflow->outstanding_bytes;
	state->missing_bytes = ahead_bytes;
	state->faster = 0;
	mps_for_each_subflow(conn, other) {
		if (other == subflow || !other->usable || other->srtt_us > subflow->srtt_us)
			continue;
		state->faster |= stms_bit(other);
		state->missing_bytes += other->outstanding_bytes;
	}
}
EXPORT_SYMBOL_GPL(stms_begin_sample);

void stms_count_acked(struct mps_conn *conn, struct mps_subflow *subflow, u64 acked_bytes)
{
	struct stms_subflow *state;
	struct mps_subflow *other;

	mps_for_each_subflow(conn, other) {
		state = state_of(other);
		if (state->sampling && (state->faster & stms_bit(subflow)))
			state->missing_bytes -= acked_bytes;
	}
	stms_look(conn);

	state = state_of(subflow);
	if (!state->sampling)
		return;
	state->left_bytes -= min(acked_bytes, state->left_bytes);
	if (state->left_bytes)
		return;
	/* the sample has arrived, and data before it has not */
	state->sampling = false;
	if (state->missing_bytes > 0 && stms_is_calm(conn))
		stms_early(state, state->missing_bytes);
}
EXPORT_SYMBOL_GPL(stms_count_acked);

/* Data on its way says nothing of the order any more. */
void stms_forget_samples(struct mps_conn *conn, struct mps_subflow *subflow)
{
	mps_for_each_subflow(conn, subflow)
		state_of(subflow)->sampling = false;
}
EXPORT_SYMBOL_GPL(stms_forget_samples);
