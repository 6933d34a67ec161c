// SPDX-License-Identifier: GPL-2.0-only
/* wvegas: ten segments in the queues of all paths, each its part by its rate.
 *
 * As TCP Vegas, it looks at the queueing delay. Once in a round trip, with the
 * least RTT of that and the least RTT ever, base, a subflow has
 *
 *	diff = w (rtt - base) / rtt
 *
 * segments in queues. It grows by one segment if that is less than alpha, and
 * shrinks by one if it is more. When diff has come to alpha, alpha becomes
 * 10 x / sum of x, where x = w / rtt is the subflow's rate, and at least 2: so
 * rates shift to where the queueing delay is lower. Slow start ends when diff,
 * with the mean RTT, is more than 1, with the window that needs no queue. If the
 * queueing delay becomes twice the least one at alpha, someone else has filled
 * the queue: the window that needs no queue is halved once, so that the queue
 * drains and all see the true base. After a loss it is halved as with Reno,
 * which it also is until the loss is repaired, and when there are less than
 * three samples of the RTT.
 *
 * Year: 2012
 * Couples: how many segments wait in queues
 * Source: draft-xu-mptcp-congestion-control-05; Y. Cao, M. Xu, X. Fu,
 * "Delay-based Congestion Control for Multipath TCP", ICNP 2012.
 *
 * Works where all others look at the delay, too, or nobody is there: short
 * queues, no losses. Fails beside TCP that fills the queue (Reno, CUBIC): it
 * gives way. On a path whose delay jitters, or grows, it takes that for a queue.
 * From a short slow start it grows by a segment per round trip.
 *
 * Differs from the source: after slow start the least RTT of a round counts, as
 * in Linux's Vegas, not the mean. When the send buffer was full, a whole window
 * may leave at once, and the queue that makes is gone in a moment. A window
 * grows only if it was used. The drain compares with the least queueing delay at
 * alpha, not with that ever since the last drain: a queue that just begins to
 * fill, or is empty, is no reason to halve the window. When alpha grows, that
 * delay is to be found anew. Rates are by the smoothed RTT of TCP.
 */

#include <kunit/visibility.h>
#include "../coupled.h"

#define INITIAL_ALPHA	2	/* segments, and the least */
#define TOTAL_ALPHA	10	/* of all subflows */
#define GAMMA		1	/* segments in the queue end slow start */
#define MIN_SAMPLES	3	/* of the RTT; fewer may all be of delayed ACKs */
#define MIN_CWND	2U

/* The window that needs no queue. */
static u32 unqueued(const struct wvegas *wvegas, u32 cwnd, u32 rtt_us)
{
	return div_u64((u64)cwnd * wvegas->base_us, rtt_us);
}

VISIBLE_IF_KUNIT u32 wvegas_queued(const struct wvegas *wvegas, u32 cwnd, u32 rtt_us)
{
	return div_u64((u64)cwnd * (rtt_us - wvegas->base_us), rtt_us);
}
EXPORT_SYMBOL_IF_KUNIT(wvegas_queued);

/* The window at the end of slow start; 0 if that goes on. */
VISIBLE_IF_KUNIT u32 wvegas_out_of_slow_start(const struct wvegas *wvegas, u32 cwnd, u32 rtt_us)
{
	if (wvegas_queued(wvegas, cwnd, rtt_us) <= GAMMA)
		return 0;
	return max(min(cwnd, unqueued(wvegas, cwnd, rtt_us) + 1), MIN_CWND);
}
EXPORT_SYMBOL_IF_KUNIT(wvegas_out_of_slow_start);

/* The window after a round in congestion avoidance. */
VISIBLE_IF_KUNIT u32 wvegas_window(struct wvegas *wvegas, u32 cwnd, u32 rtt_us, u64 share)
{
	u32 queued = wvegas_queued(wvegas, cwnd, rtt_us);
	u32 queue_us = rtt_us - wvegas->base_us;
	u32 alpha = wvegas->alpha;

	if (queued >= alpha) {
		wvegas->alpha = max(TOTAL_ALPHA * share >> COUPLED_SHIFT, INITIAL_ALPHA);
		if (wvegas->alpha > alpha)
			wvegas->queue_us = 0;
	}
	if (queued < wvegas->alpha)
		return cwnd + 1;

	/* never 0, as there are segments in the queue */
	if (!wvegas->queue_us || queue_us < wvegas->queue_us)
		wvegas->queue_us = queue_us;
	if (queue_us / 2 >= wvegas->queue_us) {
		wvegas->queue_us = 0;
		return max(unqueued(wvegas, cwnd, rtt_us) / 2, MIN_CWND);
	}
	return queued > wvegas->alpha ? max(cwnd - 1, MIN_CWND) : cwnd;
}
EXPORT_SYMBOL_IF_KUNIT(wvegas_window);

/* Begins a round. */
static void begin(struct sock *sk)
{
	struct wvegas *wvegas = inet_csk_ca(sk);

	wvegas->round_end = tcp_sk(sk)->snd_nxt;
	wvegas->rtt_us = U32_MAX;
	wvegas->rtt_sum_us = 0;
	wvegas->rtts = 0;
}

/* The path may be another one. */
static void forget(struct sock *sk)
{
	struct wvegas *wvegas = inet_csk_ca(sk);

	wvegas->base_us = 0;
	wvegas->queue_us = 0;
	wvegas->alpha = INITIAL_ALPHA;
	wvegas->on = true;
	begin(sk);
}

static void wvegas_init(struct sock *sk)
{
	coupled_init(sk);
	forget(sk);
}

static void wvegas_set_state(struct sock *sk, u8 ca_state)
{
	struct wvegas *wvegas = inet_csk_ca(sk);

	coupled_set_state(sk, ca_state);
	wvegas->on = ca_state == TCP_CA_Open;
	if (wvegas->on)
		begin(sk);
}

static void wvegas_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_CWND_RESTART)
		forget(sk);
}

static void wvegas_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct wvegas *wvegas = inet_csk_ca(sk);
	u32 rtt_us;

	coupled_pkts_acked(sk, sample);
	if (sample->rtt_us < 0)
		return;
	rtt_us = max(sample->rtt_us, 1);
	if (!wvegas->base_us || rtt_us < wvegas->base_us)
		wvegas->base_us = rtt_us;
	wvegas->rtt_us = min(wvegas->rtt_us, rtt_us);
	wvegas->rtt_sum_us += rtt_us;
	wvegas->rtts++;
}

/* At the end of a round with enough samples. */
static void end_round(struct sock *sk, u32 acked)
{
	struct wvegas *wvegas = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 before = tcp_snd_cwnd(tp), cwnd = before;
	struct coupled_group *group;
	u64 share = COUPLED_ONE;

	if (tcp_in_slow_start(tp)) {
		cwnd = wvegas_out_of_slow_start(wvegas, before,
						div_u64(wvegas->rtt_sum_us, wvegas->rtts));
		if (!cwnd) {
			if (tcp_is_cwnd_limited(sk))
				tcp_slow_start(tp, acked);
			return;
		}
		tp->snd_ssthresh = cwnd;
	} else {
		group = coupled_lock(sk);
		if (group)
			share = coupled_share(group, &wvegas->coupled);
		coupled_unlock(group);
		cwnd = wvegas_window(wvegas, before, wvegas->rtt_us, share);
		if (cwnd > before && !tcp_is_cwnd_limited(sk))
			cwnd = before;
	}
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
	/* it has left slow start, and does not come back to it by shrinking */
	tp->snd_ssthresh = min(tp->snd_ssthresh, tcp_snd_cwnd(tp));
	tp->snd_ssthresh = tcp_current_ssthresh(sk);
}

static void wvegas_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct wvegas *wvegas = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!wvegas->on) {
		tcp_reno_cong_avoid(sk, ack, acked);
	} else if (after(ack, wvegas->round_end)) {
		if (wvegas->rtts < MIN_SAMPLES)
			tcp_reno_cong_avoid(sk, ack, acked);
		else
			end_round(sk, acked);
		begin(sk);
	} else if (tcp_in_slow_start(tp) && tcp_is_cwnd_limited(sk)) {
		tcp_slow_start(tp, acked);
	}
}

static struct tcp_congestion_ops wvegas_ops __read_mostly = {
	.init		= wvegas_init,
	.release	= coupled_release,
	.set_state	= wvegas_set_state,
	.cwnd_event	= wvegas_cwnd_event,
	.pkts_acked	= wvegas_pkts_acked,
	.cong_avoid	= wvegas_cong_avoid,
	.ssthresh	= tcp_reno_ssthresh,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.name		= "wvegas",
	.owner		= THIS_MODULE,
};

coupled_algorithm(wvegas_ops, wvegas);
