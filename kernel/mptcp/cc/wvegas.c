// SPDX-License-Identifier: GPL-2.0-only
/* wvegas: ten segments in the queues of all paths, each its part by its rate.
 *
 * As TCP Vegas, it looks at the queueing delay. Once in a round trip, with the
 * mean RTT of that and the least RTT ever, base, a subflow has
 *
 *	diff = w (rtt - base) / rtt
 *
 * segments in queues. It grows by one segment if that is less than alpha, and
 * shrinks by one if it is more. When diff has come to alpha, alpha becomes
 * 10 x / sum of x, where x = w / rtt is the subflow's rate, and at least 2: so
 * rates shift to where the queueing delay is lower. Slow start ends when diff is
 * more than 1, with the window that needs no queue. If the queueing delay is twice
 * the least one since the last time, the window that needs no queue is halved, so
 * that the queue drains and all see the true base. After a loss it is halved as
 * with Reno, which it also is until the loss is repaired, and when there are less
 * than three samples of the RTT.
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
 * As measured: the module of the out-of-tree kernels v0.9x. Rates are whole
 * numbers of 2^-16 segments per us, those of the last time that diff had come to
 * alpha. The drain has two quirks: a queue that just begins to fill is twice as
 * long as the one before, and an empty one, when the mean RTT is base, is twice
 * as long as itself. After it, slow start goes on up to ssthresh, three quarters
 * of the window before.
 *
 * Differs from the source:
 * - always: the source's sum of the RTTs of a round overflows at 4295 s.
 * - alpha_drain: the source compares the queueing delay with the least one since the
 *   last drain. On, with the least one with alpha segments in the queue, which is to
 *   be found anew when alpha grows: a queue that begins to fill, or is empty, is no
 *   reason to halve the window. And after it there is no slow start.
 * - least_rtt: the source takes the mean RTT of a round. On, after slow start, the
 *   least one, as Linux's Vegas does: a whole window may leave at once when the send
 *   buffer was full, and the queue that makes is gone in a moment.
 * - used_window: in the source any window grows. On, one that was used.
 * - tcp_rate: the source has the rates of the last time that diff came to alpha. On,
 *   those of now, by TCP's smoothed RTT, in bytes.
 */

#include <kunit/visibility.h>
#include "../coupled.h"

#define INITIAL_ALPHA	2	/* segments, and the least */
#define TOTAL_ALPHA	10	/* of all subflows */
#define GAMMA		1	/* segments in the queue end slow start */
#define MIN_SAMPLES	3	/* of the RTT; fewer may all be of delayed ACKs */
#define MIN_CWND	2U
#define RATE_SHIFT	16	/* of rates, weights and the factor of the drain */

static const struct mps_param wvegas_params[] = {
	[WVEGAS_ALPHA_DRAIN] = MPS_BOOL("alpha_drain", 0,
					"a queue is drained if it is not its own"),
	[WVEGAS_LEAST_RTT] = MPS_BOOL("least_rtt", 0,
				      "the least RTT of a round counts, not the mean"),
	[WVEGAS_USED_WINDOW] = MPS_BOOL("used_window", 0, "a window grows only if it was used"),
	[WVEGAS_TCP_RATE] = MPS_BOOL("tcp_rate", 0,
				     "rates are those of now, by TCP's smoothed RTT"),
};

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

/* The window that is left when the queue had to be drained, or cwnd. */
static u32 after_drain(struct wvegas *wvegas, u32 cwnd, u32 rtt_us)
{
	u32 factor = div64_u64((u64)wvegas->base_us << RATE_SHIFT, 2 * (u64)rtt_us);
	u32 queue_us = rtt_us - wvegas->base_us;

	if (!wvegas->queue_us || queue_us < wvegas->queue_us)
		wvegas->queue_us = queue_us;
	if (queue_us < 2 * (u64)wvegas->queue_us)
		return cwnd;
	wvegas->queue_us = 0;
	return (u64)cwnd * factor >> RATE_SHIFT;
}

/* The same with alpha_drain, where there are alpha segments in the queue, or more. */
static u32 after_alpha_drain(struct wvegas *wvegas, u32 cwnd, u32 queued, u32 rtt_us)
{
	u32 queue_us = rtt_us - wvegas->base_us;

	/* never 0, as there are segments in the queue */
	if (!wvegas->queue_us || queue_us < wvegas->queue_us)
		wvegas->queue_us = queue_us;
	if (queue_us / 2 >= wvegas->queue_us) {
		wvegas->queue_us = 0;
		return unqueued(wvegas, cwnd, rtt_us) / 2;
	}
	return queued > wvegas->alpha ? cwnd - 1 : cwnd;
}

/* The window after a round in congestion avoidance, and ssthresh. */
VISIBLE_IF_KUNIT u32 wvegas_window(struct wvegas *wvegas, u32 cwnd, u32 rtt_us, u64 share,
				   u32 *ssthresh)
{
	u32 queued = wvegas_queued(wvegas, cwnd, rtt_us);
	bool alpha_drain = coupled_on(&wvegas->coupled, WVEGAS_ALPHA_DRAIN);
	u32 alpha = wvegas->alpha;

	if (queued >= alpha) {
		wvegas->alpha = max(TOTAL_ALPHA * share >> COUPLED_SHIFT, INITIAL_ALPHA);
		if (alpha_drain && wvegas->alpha > alpha)
			wvegas->queue_us = 0;
	}
	if (alpha_drain) {
		if (queued < wvegas->alpha)
			return cwnd + 1;
		cwnd = max(after_alpha_drain(wvegas, cwnd, queued, rtt_us), MIN_CWND);
		*ssthresh = min(*ssthresh, cwnd);
		return cwnd;
	}
	if (queued > wvegas->alpha) {
		cwnd--;
		*ssthresh = min(*ssthresh, cwnd - 1);
	} else if (queued < wvegas->alpha) {
		cwnd++;
	}
	return max(after_drain(wvegas, cwnd, rtt_us), MIN_CWND);
}
EXPORT_SYMBOL_IF_KUNIT(wvegas_window);

/* Begins a round. */
static void begin(struct sock *sk)
{
	struct wvegas *wvegas = inet_csk_ca(sk);

	wvegas->round_end = tcp_sk(sk)->snd_nxt;
	wvegas->rtt_us = U32_MAX;
	wvegas->rtt_sum_us = 0;
	WRITE_ONCE(wvegas->rtts, 0);
}

/* What was learnt of queues and rates may not hold any more. */
static void start(struct sock *sk)
{
	struct wvegas *wvegas = inet_csk_ca(sk);

	wvegas->doing = true;
	wvegas->queue_us = 0;
	wvegas->alpha = INITIAL_ALPHA;
	wvegas->weight = BIT(RATE_SHIFT);
	WRITE_ONCE(wvegas->rate, 0);
	begin(sk);
}

static void wvegas_init(struct sock *sk)
{
	coupled_init(sk);
	start(sk);
}

static void wvegas_set_state(struct sock *sk, u8 ca_state)
{
	struct wvegas *wvegas = inet_csk_ca(sk);

	coupled_set_state(sk, ca_state);
	if (ca_state == TCP_CA_Open)
		start(sk);
	else
		wvegas->doing = false;
}

static void wvegas_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct wvegas *wvegas = inet_csk_ca(sk);

	/* the path may be another one */
	if (event == CA_EVENT_CWND_RESTART) {
		wvegas->base_us = 0;
		start(sk);
	} else if (event == CA_EVENT_LOSS) {
		WRITE_ONCE(wvegas->rate, 0);
	}
}

static void wvegas_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct wvegas *wvegas = inet_csk_ca(sk);
	u32 rtt_us;

	coupled_pkts_acked(sk, sample);
	if (sample->rtt_us < 0)
		return;
	/* never 0 */
	rtt_us = sample->rtt_us + 1;
	if (!wvegas->base_us || rtt_us < wvegas->base_us)
		wvegas->base_us = rtt_us;
	wvegas->rtt_us = min(wvegas->rtt_us, rtt_us);
	wvegas->rtt_sum_us += rtt_us;
	WRITE_ONCE(wvegas->rtts, wvegas->rtts + 1);
}

/* The part of all rates that there were when queues were long enough, of those with
 * samples of the RTT: the one of before, where a rate is too low to be told.
 */
static u64 measured_share(const struct coupled_group *group, struct wvegas *wvegas, u32 cwnd,
			  u32 rtt_us)
{
	u64 rate = div_u64((u64)cwnd << RATE_SHIFT, rtt_us), all = 0;
	const struct coupled_subflow *other;
	const struct wvegas *of;

	WRITE_ONCE(wvegas->rate, rate);
	coupled_for_each(group, other) {
		of = container_of(other, struct wvegas, coupled);
		if (READ_ONCE(of->rtts))
			all += READ_ONCE(of->rate);
	}
	if (rate)
		wvegas->weight = div64_u64(rate << RATE_SHIFT, all);
	return (u64)wvegas->weight << (COUPLED_SHIFT - RATE_SHIFT);
}

/* Its part of the rate of all, for a new alpha. */
static u64 share_of(struct sock *sk, u32 cwnd, u32 rtt_us)
{
	struct coupled_group *group = coupled_lock(sk);
	struct wvegas *wvegas = inet_csk_ca(sk);
	u64 share = COUPLED_ONE;

	if (group && coupled_on(&wvegas->coupled, WVEGAS_TCP_RATE))
		share = coupled_share(group, &wvegas->coupled);
	else if (group && wvegas_queued(wvegas, cwnd, rtt_us) >= wvegas->alpha)
		share = measured_share(group, wvegas, cwnd, rtt_us);
	coupled_unlock(group);
	return share;
}

/* At the end of a round with enough samples. */
static void end_round(struct sock *sk, u32 acked)
{
	struct wvegas *wvegas = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	bool may_grow = !coupled_on(&wvegas->coupled, WVEGAS_USED_WINDOW) ||
			tcp_is_cwnd_limited(sk);
	u32 rtt_us = div_u64(wvegas->rtt_sum_us, wvegas->rtts);
	u32 before = tcp_snd_cwnd(tp), cwnd;

	if (tcp_in_slow_start(tp)) {
		cwnd = wvegas_out_of_slow_start(wvegas, before, rtt_us);
		if (!cwnd) {
			if (may_grow)
				tcp_slow_start(tp, acked);
			return;
		}
		tp->snd_ssthresh = cwnd - 1;
	} else {
		if (coupled_on(&wvegas->coupled, WVEGAS_LEAST_RTT))
			rtt_us = wvegas->rtt_us;
		cwnd = wvegas_window(wvegas, before, rtt_us, share_of(sk, before, rtt_us),
				     &tp->snd_ssthresh);
		if (cwnd > before && !may_grow)
			cwnd = before;
	}
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
	tp->snd_ssthresh = tcp_current_ssthresh(sk);
}

static void wvegas_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct wvegas *wvegas = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!wvegas->doing) {
		tcp_reno_cong_avoid(sk, ack, acked);
	} else if (after(ack, wvegas->round_end)) {
		if (wvegas->rtts < MIN_SAMPLES)
			tcp_reno_cong_avoid(sk, ack, acked);
		else
			end_round(sk, acked);
		begin(sk);
	} else if (tcp_in_slow_start(tp) &&
		   (!coupled_on(&wvegas->coupled, WVEGAS_USED_WINDOW) || tcp_is_cwnd_limited(sk))) {
		tcp_slow_start(tp, acked);
	}
}

static struct coupled_ops wvegas_ops __read_mostly = {
	.tcp = {
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
	},
	.params = { .name = "wvegas", .table = wvegas_params, .num = ARRAY_SIZE(wvegas_params) },
};

coupled_algorithm(wvegas_ops, wvegas);
