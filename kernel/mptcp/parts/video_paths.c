// SPDX-License-Identifier: GPL-2.0-only
/* How much the paths bring, and when: see video.h. */

#include "parts/video.h"

/* Queues are on the way to the receiver, and not on the way back. */
u32 video_trip_us(const struct mps_subflow *subflow)
{
	return subflow->srtt_us - min(subflow->min_rtt_us, subflow->srtt_us) / 2;
}
EXPORT_SYMBOL_GPL(video_trip_us);

static struct video_window video_window(const struct mps_subflow *subflow, u32 pkts)
{
	u64 bytes = clamp((u64)pkts * subflow->mss_bytes, 1ULL, VIDEO_WINDOW_MAX_BYTES);

	return (struct video_window) {
		.bytes	= bytes,
		.rate	= div_u64(bytes << VIDEO_RATE_SHIFT, subflow->srtt_us),
	};
}

u32 video_counted_trip_us(const struct mps_subflow *subflow, u32 margin)
{
	return min(video_trip_us(subflow) + (u64)subflow->srtt_us * margin / 100,
		   VIDEO_AHEAD_MAX_US);
}
EXPORT_SYMBOL_GPL(video_counted_trip_us);

bool video_look_at_paths(struct mps_conn *conn, u32 margin)
{
	bool backups = mps_only_backups(conn);
	struct mps_subflow *subflow;
	u64 used;

	mps_for_each_subflow(conn, subflow) {
		struct video_subflow *path = mps_subflow_priv(subflow);

		path->trip_us = ~0;
		if (!subflow->usable || (subflow->backup && !backups))
			continue;
		if (!subflow->srtt_us)
			return false;
		path->trip_us = video_counted_trip_us(subflow, margin);
		path->rtt_us = subflow->srtt_us;
		path->window = video_window(subflow, mps_cwnd(subflow));
		path->grows_to = path->window;
		if (mps_cwnd(subflow) < subflow->ssthresh_pkts)
			path->grows_to = video_window(subflow, min(subflow->ssthresh_pkts,
								   subflow->limit_pkts));
		used = (u64)subflow->in_flight_pkts * subflow->mss_bytes + subflow->unsent_bytes;
		path->room_bytes = path->window.bytes - min(used, path->window.bytes);
	}
	return true;
}
EXPORT_SYMBOL_GPL(video_look_at_paths);

/* How much of what is sent from now on has a path brought so much later? */
static u64 video_path_brings(const struct video_subflow *path, u64 left_us)
{
	struct video_window window = path->window;
	u64 bytes = path->room_bytes;

	if (left_us < path->trip_us)
		return 0;
	left_us -= path->trip_us;
	/* no more than 30 rounds, as the window is doubled up to 1 GiB */
	while (window.bytes < path->grows_to.bytes && left_us >= path->rtt_us) {
		bytes += window.bytes;
		window.bytes = min(2 * window.bytes, path->grows_to.bytes);
		window.rate = min(2 * window.rate, path->grows_to.rate);
		left_us -= path->rtt_us;
	}
	return bytes + mul_u64_u64_shr(window.rate, left_us, VIDEO_RATE_SHIFT);
}

u64 video_brings(struct mps_conn *conn, u64 now_ns, u64 then_ns)
{
	u64 left_us = then_ns > now_ns ? div_u64(then_ns - now_ns, NSEC_PER_USEC) : 0;
	struct mps_subflow *subflow;
	u64 bytes = 0;

	if (then_ns == U64_MAX)
		return U64_MAX;
	left_us = min(left_us, VIDEO_AHEAD_MAX_US);
	mps_for_each_subflow(conn, subflow)
		bytes += video_path_brings(mps_subflow_priv(subflow), left_us);
	return bytes;
}
EXPORT_SYMBOL_GPL(video_brings);
