/* SPDX-License-Identifier: GPL-2.0-only */
/* What video expects of the paths: how many bytes they bring by a deadline, and a promise
 * that everything stays in time, so that it need not look at each ACK.
 */
#ifndef _MPTCP_LAB_VIDEO_H
#define _MPTCP_LAB_VIDEO_H

#include "mpsched.h"

/* Bounds that keep all sums in 64 bits: no path has a larger window, and nobody
 * plans further ahead.
 */
#define VIDEO_WINDOW_MAX_BYTES	((u64)SZ_1G)
#define VIDEO_AHEAD_MAX_US	(60ULL * USEC_PER_SEC)
/* of rates, so that they are divided once for all units */
#define VIDEO_RATE_SHIFT	20
/* A promise: at the last look at the units, all were in time with so much to spare,
 * counting each path for less than it brings. As long as no path brings less than
 * that, and what is sent keeps up with it, they are in time without another look.
 */
struct video_promise {
	bool	holds;
	u64	nxt_seq;	/* what was sent then */
	u64	now_ns;
	u64	spare_bytes;
	u64	rate;		/* of all paths, as in struct video_window */
	u32	leaves_shift;
};

/* A congestion window, and as a rate: bytes per microsecond << VIDEO_RATE_SHIFT. */
struct video_window {
	u64	bytes;
	u64	rate;
};

/* A path, as of the last look. */
struct video_subflow {
	u32	trip_us;	/* what leaves now counts as there then; ~0: never */
	u32	rtt_us;
	u64	room_bytes;	/* so much can leave now, */
	struct video_window window;	/* and so much in each RTT from now on; in slow */
	struct video_window grows_to;	/* start twice as much in the next one, up to this */
	u64	promised_rate;	/* 0: the path is not counted */
	u32	promised_trip_us;
};

/* --- paths: parts/video_paths.c */

/* From when something leaves until it is there. */
u32 video_trip_us(const struct mps_subflow *subflow);

/* The same with a margin for losses, in percent of an RTT. */
u32 video_counted_trip_us(const struct mps_subflow *subflow, u32 margin);

/* Looks at all paths. False: one has no sample of its RTT, so that nothing can be said. */
bool video_look_at_paths(struct mps_conn *conn, u32 margin);

/* How many bytes, from the first that was not sent on, can be there by then; ~0: at any
 * time.
 */
u64 video_brings(struct mps_conn *conn, u64 now_ns, u64 then_ns);

/* --- promises: parts/video_promise.c */

void video_promise(struct video_promise *promise, struct mps_conn *conn, u64 now_ns,
		   bool can_tell);

/* So many bytes are left to be sent, and wanted by then. */
void video_promise_unit(struct video_promise *promise, struct mps_conn *conn, u64 left_bytes,
			u64 then_ns);

/* Is everything still in time, as it was promised? */
bool video_is_promised(const struct video_promise *promise, struct mps_conn *conn, u32 margin);

#endif
