// SPDX-License-Identifier: GPL-2.0-only
/* burst: Linux's default scheduler, segment by segment.
 *
 * The subflow whose queue will be empty soonest carries a burst of up to 65428
 * bytes: the least memory / pacing rate, where memory covers all data handed to
 * the subflow and not acknowledged, and the pacing rate is an average over the
 * subflow's bursts. If that subflow has no memory left, burst waits for it,
 * whatever room the others have. Congestion windows and round-trip times count
 * only as far as the pacing rate is made of them. Backups are used when no other
 * subflow is.
 *
 * Source: burst, one of the example schedulers in BPF of upstream's developers
 * (mptcp_net-next, tools/testing/selftests/bpf/progs/mptcp_bpf_burst.c), which is
 * a copy of mptcp_subflow_get_send() and mptcp_subflow_get_retrans() in Linux
 * 6.12.
 *
 * Works where default does, with large buffers. Fails where default does: data
 * committed to a slow path blocks a small receive window, and data for a path
 * that fails waits for the connection's timer. It exists because default's own
 * decisions cannot be recorded or changed.
 *
 * Differs from the source:
 * - reinject: the source has no queue of segments in trouble. What a subflow with
 *   a timeout carried waits until the connection's timer fires, which sends the
 *   oldest segment alone, where nothing else is on its way; or until the subflow
 *   is stale or closed, when all of it is sent again, as here. On, it goes first
 *   at once, as with all other schedulers here.
 * - always: a burst ends after a segment, and not after a fragment of what was
 *   written, of up to 32 KiB. Each segment is a packet of its own in memory, which
 *   so takes more of it.
 * - always: a subflow is not usable from a timeout on until something comes back,
 *   where upstream's is until it is stale, several timers later. Otherwise one
 *   that has failed, and whose queue is therefore short, could attract all data.
 * - always: upstream's TCP holds a short segment back behind others in flight
 *   (Nagle). The framework has a rule of its own for all schedulers.
 * - always: upstream computes in 32 bits, which overflow at 34 Gbit/s.
 * - always: a backup gets what is sent again when no other subflow is usable,
 *   where upstream counts two timers without progress, which a scheduler here does
 *   not see.
 */

#include "mpsched.h"

/* MPTCP_SEND_BURST_SIZE: 64 KiB less headers of IPv6 and TCP */
#define BURST_BYTES	65428

enum { REINJECT };

static const struct mps_param burst_params[] = {
	[REINJECT] = MPS_BOOL("reinject", 0,
			      "segments of a subflow with a timeout go first, on others"),
};

struct burst_conn {
	struct mps_subflow	*winner;	/* of the burst; NULL: there is none */
	s64			left_bytes;	/* of the burst */
	bool			asked;		/* the last pick was not carried out so far */
};

struct burst_subflow {
	u64	pacing_rate;	/* averaged over bursts, bytes per second; 0: none yet */
};

static struct burst_subflow *state_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

static u64 pacing_rate(const struct mps_subflow *subflow)
{
	return clamp_t(u64, subflow->pacing_rate, 1, U32_MAX);
}

/* Whose queue is empty soonest; the first one in a tie. */
static struct mps_subflow *burst_soonest(struct mps_conn *conn)
{
	bool backups = mps_only_backups(conn);
	struct mps_subflow *subflow, *best = NULL;
	u64 linger, least = U64_MAX;

	mps_for_each_subflow(conn, subflow) {
		u64 *rate = &state_of(subflow)->pacing_rate;

		if (!subflow->usable)
			continue;
		if (!*rate)
			*rate = pacing_rate(subflow);
		if (subflow->backup != backups)
			continue;
		linger = div64_u64((u64)subflow->memory_bytes << 32, *rate);
		if (linger < least) {
			least = linger;
			best = subflow;
		}
	}
	return best;
}

/* Begins a burst, of no more than the receive window admits. */
static void burst_begin(struct mps_conn *conn, struct mps_subflow *subflow)
{
	u64 burst = conn->window_end_seq - min(conn->nxt_seq, conn->window_end_seq);
	struct burst_conn *state = mps_conn_priv(conn);
	u64 memory = subflow->memory_bytes;
	u64 *rate = &state_of(subflow)->pacing_rate;

	burst = min_t(u64, burst, BURST_BYTES);
	if (burst)
		*rate = div64_u64(*rate * memory + pacing_rate(subflow) * burst, burst + memory);
	state->winner = subflow;
	state->left_bytes = burst;
}

/* The subflow for the next segment; NULL: wait. What was begun ends with a wait. */
static struct mps_subflow *burst_subflow(struct mps_conn *conn)
{
	struct burst_conn *state = mps_conn_priv(conn);
	struct mps_subflow *winner = state->winner;

	if (winner && state->left_bytes > 0 && !state->asked && winner->usable &&
	    !winner->memory_full)
		return winner;
	winner = burst_soonest(conn);
	if (winner && winner->memory_full)
		winner = NULL;
	if (winner)
		burst_begin(conn, winner);
	return winner;
}

/* Is every subflow that carried it closed or stale? */
static bool burst_is_orphan(struct mps_conn *conn, const struct mps_segment *seg)
{
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		if (!subflow->stale && mps_carried_by(seg, subflow))
			return false;
	return true;
}

static bool burst_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *lost = mps_reinjection(conn), *head = mps_head(conn);
	struct burst_conn *state = mps_conn_priv(conn);
	struct mps_subflow *subflow = NULL;

	if (lost && !mps_param(conn, REINJECT) && !burst_is_orphan(conn, lost))
		lost = NULL;
	if (lost || head)
		subflow = burst_subflow(conn);
	state->asked = subflow;
	if (!subflow) {
		state->winner = NULL;
		return false;
	}
	return lost ? mps_pick_reinjection(pick, conn, subflow, lost) :
		      mps_pick_new(pick, conn, subflow, head);
}

/* As upstream's: where nothing is on its way. */
static struct mps_subflow *burst_get_subflow(struct mps_conn *conn, const struct mps_segment *seg)
{
	bool backups = mps_only_backups(conn);
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		if (subflow->usable && subflow->backup == backups && !subflow->outstanding_bytes)
			return subflow;
	return NULL;
}

static void burst_on_sent(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes)
{
	struct burst_conn *state = mps_conn_priv(conn);

	state->asked = false;
	state->left_bytes -= bytes;
}

static void burst_release_subflow(struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct burst_conn *state = mps_conn_priv(conn);

	if (state->winner == subflow)
		state->winner = NULL;
}

static struct mps_ops burst_ops = {
	.next_segment		= burst_next_segment,
	.get_subflow		= burst_get_subflow,
	.on_sent		= burst_on_sent,
	.release_subflow	= burst_release_subflow,
	.name			= "burst",
	.owner			= THIS_MODULE,
	.conn_size		= sizeof(struct burst_conn),
	.subflow_size		= sizeof(struct burst_subflow),
	.params			= burst_params,
	.num_params		= ARRAY_SIZE(burst_params),
};

mps_scheduler(burst_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler: Linux's default one, segment by segment");
