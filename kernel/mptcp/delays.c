// SPDX-License-Identifier: GPL-2.0-only
/* One-way delays, from the timestamps in ACKs. Locking: see framework.h. */

#include <kunit/visibility.h>
#include <net/tcp.h>

#include "framework.h"

/* Clocks are read in whole ms: two readings differ by less than 1 ms more, and by
 * less than 1 ms less, than the times they stand for; so with two of them there
 * is no delay of less than 0, and 0 can say that there is none.
 */
#define MPS_CLOCK_MARGIN_MS	2
/* 35 minutes, so that it fits into 31 bits */
#define MPS_OWD_MAX_MS		(S32_MAX / USEC_PER_MSEC)

/* From the peer's clock minus ours, with a delay in it. */
static u32 mps_owd_us(const struct mps_conn *conn, u32 clock_ms)
{
	s32 ms = clock_ms - conn_core(conn)->clock_zero_ms;

	ms = clamp_t(s32, ms, -MPS_CLOCK_MARGIN_MS, MPS_OWD_MAX_MS - MPS_CLOCK_MARGIN_MS);
	return max((ms + MPS_CLOCK_MARGIN_MS) * USEC_PER_MSEC, 1L);
}

/* An ACK of what was sent at a time of ours. It left the peer before it came here, and
 * what it acknowledges left us before it came there.
 */
static void mps_sample_clock(struct mps_subflow *subflow, u32 sent_ms)
{
	struct mps_subflow_core *sub = subflow_core(subflow);
	struct mps_conn_core *core = conn_core(sub->conn);
	const struct tcp_sock *tp = tcp_sk(sub->ssk);
	u32 theirs_ms = tp->rx_opt.rcv_tsval;

	WRITE_ONCE(sub->clock_least_ms, theirs_ms - tcp_time_stamp_ms(tp));
	WRITE_ONCE(sub->clock_most_ms, theirs_ms - sent_ms);
	if (!core->clock_known) {
		core->clock_zero_ms = sub->clock_least_ms;
		core->clock_known = true;
	}
	WRITE_ONCE(sub->clock_known, true);
	WRITE_ONCE(sub->owd_sample_us, mps_owd_us(sub->conn, sub->clock_most_ms));
}

/* A packet has come that may acknowledge something. The subflow is locked, and
 * so is the spinlock.
 */
void mps_read_timestamps(struct mps_subflow *subflow)
{
	struct mps_subflow_core *sub = subflow_core(subflow);
	const struct tcp_sock *tp = tcp_sk(sub->ssk);
	u32 theirs_ms = tp->rx_opt.rcv_tsval;
	struct mps_conn *conn = sub->conn;

	mps_assert_locked(mps_sk(conn));
	mps_assert_locked(sub->ssk);
	if (!sub->has_timestamps || !tp->rx_opt.saw_tstamp)
		return;
	/* Not by the time that it echoes, which is that of the first packet it
	 * acknowledges, but by that of the last one: that is the one which did
	 * not wait for another before it was acknowledged.
	 */
	if (tp->rack.mstamp != sub->newest_acked_us) {
		sub->newest_acked_us = tp->rack.mstamp;
		mps_sample_clock(subflow, div_u64(tp->rack.mstamp, USEC_PER_MSEC));
	}
	if (sub->timing && conn_core(conn)->clock_known && !before(tp->snd_una, sub->timed_end)) {
		u32 sent_ms = div_u64(sub->timed_us, USEC_PER_MSEC);
		s32 old_us = sub->commd_sample_us, sample_us;

		sample_us = mps_owd_us(conn, theirs_ms - sent_ms);
		/* smoothed as the RTT is */
		WRITE_ONCE(sub->commd_sample_us,
			   old_us ? old_us + (sample_us - old_us) / 8 : sample_us);
		sub->timing = false;
	}
}
EXPORT_SYMBOL_IF_KUNIT(mps_read_timestamps);

/* A new subflow: of the last packet of its handshake, what that echoes says what it
 * acknowledges. Locked as above; the connection is the caller's.
 */
void mps_read_handshake(struct mps_subflow *subflow)
{
	struct mps_subflow_core *sub = subflow_core(subflow);
	const struct tcp_sock *tp = tcp_sk(sub->ssk);

	mps_assert_locked(mps_sk(sub->conn));
	mps_assert_locked(sub->ssk);
	if (!sub->handshake_unread)
		return;
	sub->handshake_unread = false;
	/* or something has been acknowledged in the meantime */
	if (sub->clock_known || !tp->rx_opt.saw_tstamp || !tp->rx_opt.rcv_tsecr)
		return;
	mps_sample_clock(subflow, tp->rx_opt.rcv_tsecr);
	subflow->owd_us = sub->owd_sample_us;
}
EXPORT_SYMBOL_IF_KUNIT(mps_read_handshake);

/* The subflow, which is locked, has just sent up to snd_nxt for the first time:
 * one segment at a time is timed until it arrives.
 */
void mps_time_segment(struct mps_subflow *subflow)
{
	struct mps_subflow_core *sub = subflow_core(subflow);
	const struct tcp_sock *tp = tcp_sk(sub->ssk);

	mps_assert_locked(sub->ssk);
	if (sub->timing || !sub->has_timestamps)
		return;
	sub->timing = true;
	sub->timed_end = tp->snd_nxt;
	sub->timed_us = tp->tcp_mstamp;
}

bool mps_delays_comparable(const struct mps_conn *conn)
{
	const struct mps_subflow *subflow;
	u32 least = 0, most = 0;
	bool known = false;

	mps_for_each_subflow(conn, subflow) {
		u32 its_least = READ_ONCE(subflow_core(subflow)->clock_least_ms);
		u32 its_most = READ_ONCE(subflow_core(subflow)->clock_most_ms);

		if (!subflow->usable)
			continue;
		if (!subflow_core(subflow)->has_timestamps)
			return false;
		if (!READ_ONCE(subflow_core(subflow)->clock_known))
			continue;
		if (!known) {
			least = its_least;
			most = its_most;
			known = true;
			continue;
		}
		if ((s32)(its_least - most) > MPS_CLOCK_MARGIN_MS ||
		    (s32)(least - its_most) > MPS_CLOCK_MARGIN_MS)
			return false;
		if ((s32)(its_least - least) > 0)
			least = its_least;
		if ((s32)(its_most - most) < 0)
			most = its_most;
	}
	return true;
}
EXPORT_SYMBOL_GPL(mps_delays_comparable);
