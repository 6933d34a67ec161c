// SPDX-License-Identifier: GPL-2.0-only
/* roundrobin: every subflow in turn, one segment each.
 *
 * Segment by segment the next subflow, in order of creation, that can send at
 * once gets the head of the send queue. A subflow whose congestion window is
 * full is skipped, so no capacity is left idle while there is data
 * (work-conserving): with bulk data the order is in the end dictated by the
 * ACKs. When none can send, it waits for the next ACK.
 *
 * Source: the num_segments = 1, cwnd_limited = Y setting of the scheduler
 * "roundrobin" of the out-of-tree MPTCP kernels (v0.9x); described in Paasch
 * et al., "Experimental Evaluation of Multipath TCP Schedulers", CSWS 2014.
 *
 * Works well where the paths are alike. Fails where their round-trip times
 * differ and the data is not bulk: segments sent on the slow path block those
 * that went over the fast one, and the out-of-order queue of the receiver is
 * the largest of all schedulers.
 *
 * Differs from the source: retransmissions at the connection level go where
 * the default scheduler of Linux would send them; a backup subflow is used
 * only if there is no other.
 */

#include <net/tcp.h>
#include <net/mptcp.h>
#include "../../protocol.h"

/* Can this subflow put one more segment on the wire now? Segments that wait
 * in its queue count against the congestion window, as in v0.9x: without that
 * a subflow is handed data up to its send buffer, long before it can send it.
 */
static bool rr_can_send(const struct sock *ssk)
{
	const struct tcp_sock *tp = tcp_sk(ssk);
	u32 cwnd = tcp_snd_cwnd(tp);
	u32 in_flight = tcp_packets_in_flight(tp);
	u32 unsent = tp->write_seq - tp->snd_nxt;

	/* after a timeout only what was lost may leave */
	if (inet_csk(ssk)->icsk_ca_state == TCP_CA_Loss)
		return false;
	if (in_flight >= cwnd)
		return false;
	return unsent < (u64)(cwnd - in_flight) * tp->mss_cache;
}

static int rr_get_subflow(struct mptcp_sock *msk, struct mptcp_sched_data *data)
{
	struct mptcp_subflow_context *subflow, *next = NULL;
	u32 distance, next_distance = 0;
	bool next_backup = true;

	if (data->reinject) {
		struct sock *ssk = mptcp_subflow_get_retrans(msk);

		if (!ssk)
			return -EINVAL;
		mptcp_subflow_set_scheduled(mptcp_subflow_ctx(ssk), true);
		return 0;
	}

	mptcp_for_each_subflow(msk, subflow) {
		bool backup = subflow->backup || subflow->request_bkup;

		if (!mptcp_subflow_active(subflow))
			continue;

		/* a usable regular subflow, even if it is full, keeps the
		 * backup ones out
		 */
		if (next_backup && !backup) {
			next = NULL;
			next_backup = false;
		}
		if (backup != next_backup ||
		    !rr_can_send(mptcp_subflow_tcp_sock(subflow)))
			continue;

		/* 0 is the one right after the last, which itself is the
		 * farthest: unsigned wrap-around makes the circle
		 */
		distance = subflow->subflow_id - msk->last_subflow_id - 1;
		if (!next || distance < next_distance) {
			next = subflow;
			next_distance = distance;
		}
	}

	if (!next)
		return -EINVAL;

	/* used up by any segment: per_segment brings the next decision */
	msk->snd_burst = 1;
	mptcp_subflow_set_scheduled(next, true);
	return 0;
}

static struct mptcp_sched_ops roundrobin = {
	.get_subflow	= rr_get_subflow,
	.per_segment	= true,
	.name		= "roundrobin",
	.owner		= THIS_MODULE,
};

static int __init rr_init(void)
{
	return mptcp_register_scheduler(&roundrobin);
}

late_initcall(rr_init);
