// SPDX-License-Identifier: GPL-2.0-only
/* One-way delays, from the timestamps in ACKs. Locking: see framework.h. */

#include <kunit/visibility.h>
#include <net/tcp.h>

#include "framework.h"

/* Clocks read in whole ms: the difference of two readings is less than 1 ms off. A delay is
 * computed from two differences; with this margin it is never below 0, and 0 can mean "none".
 */
#define MPS_CLOCK_MARGIN_MS	2
/* 35 minutes, so that it fits into 31 bits */
#define MPS_OWD_MAX_MS		(S32_MAX / USEC_PER_MSEC)

/* clock_ms: the peer's clock minus ours, plus a delay. */
static u32 mps_owd_us(const struct mps_conn *conn, u32 clock_ms)
{
	s32 ms = clock_ms - conn_core(conn)->clock_zero_ms;

	ms = clamp_t(s32, ms, -MPS_CLOCK_MARGIN_MS, MPS_OWD_MAX_MS - MPS_CLOCK_MARGIN_MS);
	return max((ms + MPS_CLOCK_MARGIN_MS) * USEC_PER_MSEC, 1L);
}

/* An ACK of data that left at sent_ms of our clock. The ACK left the peer before it came
 * here, and the data left us before it came there: two bounds.
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

/* A packet has come that may acknowledge data. The subflow is locked, and the spinlock is
 * held.
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
	/* The ACK echoes the timestamp of the first packet that it acknowledges. The last
	 * one counts here: it did not wait for another packet before the peer's ACK.
	 */
	if (tp->rack.mstamp != sub->newest_acked_us) {
		sub->newest_acked_us = tp->rack.mstamp;
		mps_sample_clock(subflow, div_u64(tp->rack.mstamp, USEC_PER_MSEC));
	}
	if (sub->timing && conn_core(conn)->clock_known && !before(tp->snd_una, sub->timed_end)) {
		u32 sent_ms = div_u64(sub->timed_us, USEC_PER_MSEC);
		s32 old_us = sub->commd_sample_us, sample_us;

		sample_us = mps_owd_us(conn, theirs_ms - sent_ms);
		/* smoothed like the RTT */
		WRITE_ONCE(sub->commd_sample_us,
			   old_us ? old_us + (sample_us - old_us) / 8 : sample_us);
		sub->timing = false;
	}
}
EXPORT_SYMBOL_IF_KUNIT(mps_read_timestamps);

/* A new subflow: the echo in the last packet of its handshake is the time of the packet
 * that it acknowledges. Locked as above; the caller owns the connection.
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
	/* an ACK may have given a sample meanwhile */
	if (sub->clock_known || !tp->rx_opt.saw_tstamp || !tp->rx_opt.rcv_tsecr)
		return;
	mps_sample_clock(subflow, tp->rx_opt.rcv_tsecr);
	subflow->owd_us = sub->owd_sample_us;
}
EXPORT_SYMBOL_IF_KUNIT(mps_read_handshake);

/* The subflow, which is locked, has just sent up to snd_nxt for the first time. One segment
 * at a time is timed until it arrives.
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
