// SPDX-License-Identifier: GPL-2.0-only
/* Promises that all units are in time: see video.h. */

#include "parts/video.h"

/* A promise leaves a quarter of each rate and trip; less, down to this power of two, if
 * a unit needs that.
 */
#define VIDEO_LEAVES_SHIFT	2
#define VIDEO_LEAVES_SHIFT_MAX	8
/* and so that it outlasts a few ACKs */
#define VIDEO_SPARE_SEGMENTS	4ULL

/* A part less of the rate of each path, and more of its trip: so that what changes a
 * little does not break the promise.
 */
static void video_promise_paths(struct video_promise *promise, struct mps_conn *conn,
				u32 leaves_shift)
{
	struct mps_subflow *subflow;

	promise->leaves_shift = leaves_shift;
	promise->rate = 0;
	mps_for_each_subflow(conn, subflow) {
		struct video_subflow *path = mps_subflow_priv(subflow);
		u64 rate = path->window.rate;

		path->promised_rate = path->trip_us == ~0 ? 0 : rate - (rate >> leaves_shift);
		path->promised_trip_us = path->trip_us + (path->trip_us >> leaves_shift);
		promise->rate += path->promised_rate;
	}
}

void video_promise(struct video_promise *promise, struct mps_conn *conn, u64 now_ns,
		   bool can_tell)
{
	*promise = (struct video_promise) {
		.holds		= can_tell,
		.nxt_seq	= conn->nxt_seq,
		.now_ns		= now_ns,
		.spare_bytes	= U64_MAX,
	};
	video_promise_paths(promise, conn, VIDEO_LEAVES_SHIFT);
}
EXPORT_SYMBOL_GPL(video_promise);

/* What is promised to be there so much later. */
static u64 video_promised(struct mps_conn *conn, u64 left_us)
{
	struct mps_subflow *subflow;
	u64 bytes = 0;

	mps_for_each_subflow(conn, subflow) {
		const struct video_subflow *path = mps_subflow_priv(subflow);

		if (left_us > path->promised_trip_us)
			bytes += mul_u64_u64_shr(path->promised_rate,
						 left_us - path->promised_trip_us,
						 VIDEO_RATE_SHIFT);
	}
	return bytes;
}

/* If what is left takes a higher rate, what was to spare before is no less with it.
 */
void video_promise_unit(struct video_promise *promise, struct mps_conn *conn, u64 left_bytes,
			u64 then_ns)
{
	u64 left_us, bytes;

	if (then_ns == U64_MAX || !promise->holds)
		return;
	left_us = then_ns > promise->now_ns ? div_u64(then_ns - promise->now_ns, NSEC_PER_USEC) : 0;
	left_us = min(left_us, VIDEO_AHEAD_MAX_US);
	bytes = video_promised(conn, left_us);
	while (bytes < left_bytes + VIDEO_SPARE_SEGMENTS * conn->segment_bytes &&
	       promise->leaves_shift < VIDEO_LEAVES_SHIFT_MAX) {
		video_promise_paths(promise, conn, promise->leaves_shift + 1);
		bytes = video_promised(conn, left_us);
	}
	if (bytes < left_bytes)
		promise->holds = false;
	else
		promise->spare_bytes = min(promise->spare_bytes, bytes - left_bytes);
}
EXPORT_SYMBOL_GPL(video_promise_unit);

/* What was rounded down is counted as one more. */
bool video_is_promised(const struct video_promise *promise, struct mps_conn *conn, u32 margin)
{
	u64 past_us, due, sent = conn->nxt_seq - promise->nxt_seq;
	struct mps_subflow *subflow;

	if (!promise->holds)
		return false;
	past_us = div_u64(mps_clock_ns() - promise->now_ns, NSEC_PER_USEC) + 1;
	if (past_us > VIDEO_AHEAD_MAX_US)
		return false;
	due = mul_u64_u64_shr(promise->rate, past_us, VIDEO_RATE_SHIFT) + conn->subflows_usable + 1;
	if (due > sent && due - sent > promise->spare_bytes)
		return false;
	mps_for_each_subflow(conn, subflow) {
		const struct video_subflow *path = mps_subflow_priv(subflow);
		u64 bytes = min((u64)mps_cwnd(subflow) * subflow->mss_bytes,
				VIDEO_WINDOW_MAX_BYTES);

		if (!path->promised_rate)
			continue;
		if (video_counted_trip_us(subflow, margin) > path->promised_trip_us ||
		    mul_u64_u64_shr(path->promised_rate, subflow->srtt_us, VIDEO_RATE_SHIFT) >=
		    bytes)
			return false;
	}
	return true;
}
EXPORT_SYMBOL_GPL(video_is_promised);
