// SPDX-License-Identifier: GPL-2.0-only
/* qaware: the earliest arrival, local queues counted; after the idea of QAware.
 *
 * For each subflow with room, two delays are added: how long the segment would
 * wait on this host, and half of the round-trip time without such waiting. It
 * waits for the packets in the device's queue, of all traffic, and for data in
 * the subflow, at the measured rate of the device. The least sum is chosen.
 *
 * Source: after the idea of Shreedhar, Mohan, Kaul, Kangasharju, "QAware: A
 * Cross-Layer Approach to MPTCP Scheduling", IFIP Networking 2018. We had only
 * the abstract, and no code. The paper's part: end-to-end delay estimates are
 * combined with what the queues of this host's device drivers hold. All formulas
 * are ours.
 *
 * Works where other traffic of the host fills the queue of a device: qaware
 * notices it at once, not only when an RTT shows it. It notices an empty queue,
 * too, even if nothing was sent there. Fails where the queue is elsewhere: it is
 * no more than minrtt then. Where the device serves flows in turn (fq_codel), a
 * segment does not wait for all that is queued, and the delay is overrated.
 *
 * Differs from the source:
 * - wait: that it waits for a full subflow is ours: where the queue of the next
 *   one's device alone takes longer than a round trip of the full one, and the way
 *   there. Off, the next one is used.
 * - rp_limit: as minrtt's; QAware was made in v0.9x.
 * - always: the formulas. The rate of a device is measured while its queue does
 *   not run empty, over some packets at a time; until then its queue counts as
 *   empty. Waiting in the subflow counts: TSQ keeps all but two packets of a
 *   subflow out of the queue of its device, and each two wait for all of it. The
 *   RTT without local waiting is the smoothed RTT less the local delay, smoothed
 *   in the same way at the same ACKs, and at least the least RTT. Its excess over
 *   the least RTT is halved with each RTT without an ACK: otherwise an unused
 *   subflow would show nothing new.
 * - always: the source reads the queues of device drivers. Virtual devices have
 *   none: here it is the backlog of the queueing disciplines.
 */

#include <linux/sizes.h>
#include "mpsched.h"

/* Packets leave whole, so of n one may be counted too much or too little. */
#define QAWARE_SAMPLE_BYTES	(8 * 1514)
/* of the rate of a device, and of the local delay: that of TCP's smoothed RTT */
#define QAWARE_SHIFT		3
/* At a time a subflow has two packets in the queue of its device, or what its pacing
 * rate is in a 1024th of a second: tcp_small_queue_check()
 */
#define QAWARE_TSQ_PKTS		2
#define QAWARE_TSQ_SHIFT	10
/* 16 kbit/s; with the bytes of three counters of 32 bits, it fits into 64 bits */
#define QAWARE_MAX_US_PER_MIB	BIT(29)
/* A delay that no queue has. */
#define QAWARE_MAX_US		(100 * USEC_PER_SEC)

enum { WAIT, RP, RP_LIMIT };

static const struct mps_param qaware_params[] = {
	[WAIT] = MPS_BOOL("wait", 1, "wait for a full subflow rather than in a long queue"),
	[RP]   = MPS_BOOL("rp", 1, "opportunistic retransmission and penalisation"),
	[RP_LIMIT] = MPS_BOOL("rp_limit", 0, "rp: by a limit beside cwnd, not by halving cwnd"),
};

struct qaware_subflow {
	/* the last look at the device */
	u64	looked_ns;	/* 0: none yet */
	u64	sent_bytes;	/* that had left it */
	u32	queue_bytes;

	/* since the last sample, while the queue did not run empty */
	u64	busy_ns;
	u64	busy_bytes;

	u64	drain_rate;	/* of the device, bytes per second; 0: not known yet */
	u32	us_per_mib;	/* the time that it takes for a MiB */
	u32	local_us_8;	/* local delay in the smoothed RTT, times 8 */
	u64	acked_ns;	/* of the last acknowledgment; 0: none yet */
};

/* Looks at the device, and measures how fast it sends. */
static void qaware_look(struct mps_subflow *subflow, u64 now)
{
	struct qaware_subflow *state = mps_subflow_priv(subflow);
	struct mps_device device = mps_device(subflow);
	u64 left_bytes = device.sent_bytes - state->sent_bytes;
	u64 rate;

	/* Not all that waited has left, so the device was busy all the time. */
	if (state->looked_ns && left_bytes < state->queue_bytes) {
		state->busy_ns += now - state->looked_ns;
		state->busy_bytes += left_bytes;
	} else {
		state->busy_ns = 0;
		state->busy_bytes = 0;
	}
	state->looked_ns = now;
	state->sent_bytes = device.sent_bytes;
	state->queue_bytes = min(device.queue_bytes, U32_MAX);

	if (state->busy_bytes < QAWARE_SAMPLE_BYTES || !state->busy_ns)
		return;
	rate = max(div64_u64(min_t(u64, state->busy_bytes, U32_MAX) * NSEC_PER_SEC,
			     state->busy_ns), 1ULL);
	if (state->drain_rate)
		rate = state->drain_rate - (state->drain_rate >> QAWARE_SHIFT) +
		       (rate >> QAWARE_SHIFT);
	state->drain_rate = max(rate, 1ULL);
	state->us_per_mib = min_t(u64, div64_u64(SZ_1M * (u64)USEC_PER_SEC, state->drain_rate),
				  QAWARE_MAX_US_PER_MIB);
	state->busy_ns = 0;
	state->busy_bytes = 0;
}

/* How long so many bytes wait on this host, with what is before them. TSQ lets a
 * subflow have only so much in the queue of its device: what waits for that has to
 * wait for the whole queue again and again, also for what others have put there.
 */
static u32 qaware_local_us(struct mps_subflow *subflow, u32 bytes)
{
	struct qaware_subflow *state = mps_subflow_priv(subflow);
	u64 before_bytes = subflow->unsent_bytes, at_a_time;

	if (!state->drain_rate)
		return 0;
	if (before_bytes) {
		at_a_time = max(QAWARE_TSQ_PKTS * (u64)subflow->mss_bytes,
				subflow->pacing_rate >> QAWARE_TSQ_SHIFT);
		before_bytes = max(before_bytes, div64_u64(before_bytes * state->queue_bytes,
							   max(at_a_time, 1ULL)));
		before_bytes = min(before_bytes, U32_MAX);
	}
	return min_t(u64, ((state->queue_bytes + before_bytes + bytes) * state->us_per_mib) >> 20,
		     QAWARE_MAX_US);
}

/* The RTT, had nothing waited on this host. */
static u32 qaware_path_rtt_us(struct mps_subflow *subflow)
{
	struct qaware_subflow *state = mps_subflow_priv(subflow);
	u32 local_us = state->local_us_8 >> QAWARE_SHIFT;
	/* no sample yet: ~0 */
	u32 least_us = min(subflow->min_rtt_us, subflow->srtt_us);
	u64 rtts;

	if (subflow->srtt_us <= least_us + (u64)local_us)
		return least_us;
	rtts = div64_u64(state->looked_ns - state->acked_ns,
			 (u64)subflow->srtt_us * NSEC_PER_USEC);
	return least_us + ((subflow->srtt_us - least_us - local_us) >> min(rtts, 31ULL));
}

static u64 qaware_delay_us(struct mps_subflow *subflow, u32 bytes)
{
	return (u64)qaware_local_us(subflow, bytes) + qaware_path_rtt_us(subflow) / 2;
}

/* The least delay of those with room. NULL: none has, or the queue of its device
 * alone takes longer than a round trip of one that is only full, after which that
 * has room for a window, and the way there. All are looked at, so that the rates of
 * their devices are known.
 */
static struct mps_subflow *qaware_best(struct mps_conn *conn, u32 bytes)
{
	u64 now = mps_clock_ns(), best_us = U64_MAX, full_us = U64_MAX;
	struct mps_subflow *subflow, *best = NULL;
	bool backups = mps_only_backups(conn);

	mps_for_each_subflow(conn, subflow) {
		u64 delay_us;

		qaware_look(subflow, now);
		if (!mps_has_room_soon(subflow) || (subflow->backup && !backups))
			continue;
		delay_us = qaware_delay_us(subflow, bytes);
		if (mps_has_room(subflow)) {
			if (delay_us < best_us)
				best = subflow;
			best_us = min(best_us, delay_us);
		} else {
			full_us = min(full_us, delay_us + subflow->srtt_us);
		}
	}
	if (best && mps_param(conn, WAIT) && qaware_local_us(best, 0) > full_us)
		return NULL;
	return best;
}

static bool qaware_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *head = mps_head(conn);
	struct mps_subflow *best;

	if (mps_reinjection(conn))
		return mps_reinject(conn, pick);
	if (!head && !conn->writer_waits)
		return false;

	best = qaware_best(conn, head ? mps_len(head) : conn->segment_bytes);
	if (!best)
		return false;
	return mps_new_or_repeat(conn, best, head, mps_rp(conn, RP, RP_LIMIT), pick);
}

/* TCP has taken another sample of the RTT, so another one is taken of the local
 * delay.
 */
static void qaware_on_ack(struct mps_conn *conn, struct mps_subflow *subflow, u64 acked_bytes)
{
	struct qaware_subflow *state = mps_subflow_priv(subflow);
	u64 now = mps_clock_ns();
	u32 local_us;

	qaware_look(subflow, now);
	local_us = qaware_local_us(subflow, 0);
	if (state->acked_ns)
		state->local_us_8 += local_us - (state->local_us_8 >> QAWARE_SHIFT);
	else
		state->local_us_8 = local_us << QAWARE_SHIFT;
	state->acked_ns = now;
}

static struct mps_ops qaware_ops = {
	.next_segment	= qaware_next_segment,
	.on_ack		= qaware_on_ack,
	.name		= "qaware",
	.owner		= THIS_MODULE,
	.subflow_size	= sizeof(struct qaware_subflow),
	.params		= qaware_params,
	.num_params	= ARRAY_SIZE(qaware_params),
};

mps_scheduler(qaware_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler like QAware: local queues and path delays");
