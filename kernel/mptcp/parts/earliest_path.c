// SPDX-License-Identifier: GPL-2.0-only
/* Rates and delays of a path, as earliest estimates them: see earliest_path.h. */

#include "parts/earliest_path.h"

/* HyStart++ (RFC 9406, 4.2): a queue is there, and the window at its end, when the RTT
 * exceeds the least one by an eighth, but by no less than 4 and no more than 16 ms.
 */
#define EARLIEST_QUEUE_SHARE	8
#define EARLIEST_QUEUE_LEAST_US	(4 * USEC_PER_MSEC)
#define EARLIEST_QUEUE_MOST_US	(16 * USEC_PER_MSEC)

/* The queue of TCP small queues below: a ms (sk_pacing_shift), at least two packets. */
#define EARLIEST_PACING_SHIFT	10
#define EARLIEST_QUEUE_PKTS	2
/* No amount, rate or time is more: 10^6 times as much fits into 64 bits, like all sums. */
#define EARLIEST_MOST		BIT_ULL(44)

/* Bytes per second of bytes in us, and us of bytes at bytes per second. */
static u64 earliest_ratio(u64 bytes, u64 by)
{
	return min(div64_u64(min(bytes, EARLIEST_MOST) * USEC_PER_SEC, by), EARLIEST_MOST);
}

/* Bytes per second, if a window leaves in each round trip. */
static u64 earliest_window_rate(const struct mps_subflow *subflow)
{
	return earliest_ratio((u64)mps_cwnd(subflow) * subflow->mss_bytes,
			      max(subflow->srtt_us, 1U));
}

/* Bytes per second that leave. */
static u64 earliest_rate(const struct mps_subflow *subflow)
{
	return clamp(subflow->pacing_rate, 1ULL, max(earliest_window_rate(subflow), 1ULL));
}

bool earliest_is_busy(const struct mps_subflow *subflow)
{
	return subflow->pacing_rate < earliest_window_rate(subflow) &&
	       subflow->unsent_bytes > max_t(u64, EARLIEST_QUEUE_PKTS * subflow->mss_bytes,
					     subflow->pacing_rate >> EARLIEST_PACING_SHIFT);
}
EXPORT_SYMBOL_GPL(earliest_is_busy);

static bool earliest_has_queue(const struct mps_subflow *subflow)
{
	u32 queue_us = subflow->srtt_us - min(subflow->srtt_us, subflow->min_rtt_us);

	return queue_us >= clamp(subflow->min_rtt_us / EARLIEST_QUEUE_SHARE,
				 EARLIEST_QUEUE_LEAST_US, EARLIEST_QUEUE_MOST_US);
}

/* How long the path takes to serve the packets in flight and one more, without the way
 * back: unlike the RTT, this follows a queue that grows or drains within a round trip.
 */
static u64 earliest_service_us(struct mps_subflow *subflow)
{
	const struct earliest_subflow *state = mps_subflow_priv(subflow);
	u64 us, bytes = (subflow->in_flight_pkts + 1ULL) * subflow->mss_bytes;

	if (!state->rate || !earliest_has_queue(subflow))
		return 0;
	us = earliest_ratio(bytes, state->rate);
	return us - min_t(u64, us, subflow->min_rtt_us / 2);
}

u32 earliest_delay_us(struct mps_subflow *subflow)
{
	u64 us = max_t(u64, subflow->srtt_us / 2, earliest_service_us(subflow));

	us += earliest_ratio(subflow->unsent_bytes, earliest_rate(subflow));
	return min_t(u64, us, U32_MAX);
}
EXPORT_SYMBOL_GPL(earliest_delay_us);

/* Is the next round twice as large? In slow start TCP paces twice the window, later 6/5. */
static bool earliest_doubles(const struct mps_subflow *subflow)
{
	return subflow->cwnd_pkts < subflow->ssthresh_pkts && !earliest_has_queue(subflow) &&
	       div_u64(subflow->pacing_rate, 3) >= earliest_window_rate(subflow) / 2;
}

u64 earliest_sends(const struct mps_subflow *subflow, u32 us)
{
	u64 rate = earliest_rate(subflow), last = rate, bytes = 0;
	u32 rtt_us = max(subflow->srtt_us, 1U);

	if (earliest_doubles(subflow))
		last = earliest_ratio((u64)subflow->ssthresh_pkts * subflow->mss_bytes, rtt_us);
	for (; us >= rtt_us && rate < last; us -= rtt_us) {
		bytes += mul_u64_u32_div(rate, rtt_us, USEC_PER_SEC);
		rate = min(2 * rate, last);
	}
	return bytes + mul_u64_u32_div(rate, us, USEC_PER_SEC);
}
EXPORT_SYMBOL_GPL(earliest_sends);

/* The rate of the path is the data acknowledged in a time with always more to send. The most of
 * the last times counts, fading by an eighth as SRTT (RFC 6298). The time is the least RTT, not
 * the RTT: behind a queue from before a throttle, a round trip lasts for seconds.
 */
void earliest_measure(struct mps_conn *conn, struct mps_subflow *subflow, u64 acked_bytes)
{
	bool loaded = conn->unsent_bytes && subflow->in_flight_pkts;
	struct earliest_subflow *state = mps_subflow_priv(subflow);
	u64 now = mps_clock_ns(), ns = now - state->since_ns;
	u32 least_us = clamp(subflow->min_rtt_us, 1U, max(subflow->srtt_us, 1U));

	state->bytes += acked_bytes;
	if (loaded && state->since_ns) {
		if (ns < (u64)least_us * NSEC_PER_USEC)
			return;
		state->rate = max(div64_u64(state->bytes * NSEC_PER_SEC, ns),
				  state->rate - state->rate / 8);
	}
	state->since_ns = loaded ? now : 0;
	state->bytes = 0;
}
EXPORT_SYMBOL_GPL(earliest_measure);

/* Data that an outage lets through says nothing of the rate. */
void earliest_stop_measuring(struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct earliest_subflow *state = mps_subflow_priv(subflow);

	state->since_ns = 0;
}
EXPORT_SYMBOL_GPL(earliest_stop_measuring);
