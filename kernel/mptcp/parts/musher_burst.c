// SPDX-License-Identifier: GPL-2.0-only
/* Bursts as large as the buffers in the send queue of v0.94. */

#include "parts/musher_burst.h"

/* So much one packet may have before it is segmented (GSO), without the room for headers. */
#define MUSHER_BURST_BYTES	(SZ_64K - 1 - 320)

void musher_note_window(struct musher_burst *burst, const struct mps_conn *conn)
{
	burst->window_bytes = max(burst->window_bytes, conn->window_bytes);
}
EXPORT_SYMBOL_GPL(musher_note_window);

/* A buffer of the source's send queue holds whole segments, and no more than half of the
 * largest window (tcp_xmit_size_goal()).
 */
static u32 musher_buffer_bytes(const struct musher_burst *burst, const struct mps_conn *conn)
{
	u32 bytes = min_t(u32, MUSHER_BURST_BYTES, burst->window_bytes / 2);

	return max(bytes - bytes % conn->segment_bytes, conn->segment_bytes);
}

/* The burst is the first buffer, as far as that is written, no more of it than is left of
 * the share, and of whole segments than the receive window takes. All of it counts.
 */
u32 musher_begin_burst(struct musher_burst *burst, const struct mps_conn *conn,
		       struct mps_subflow *subflow, const struct mps_segment *head, u32 left)
{
	u64 seq = mps_seq(conn, head), end_seq = burst->buffer_end_seq;
	u32 fits = conn->window_end_seq > seq ? conn->window_end_seq - seq : 0;

	/* what was left of the last one may be added to, if nothing is behind it */
	if (end_seq <= seq)
		end_seq = seq + min(musher_buffer_bytes(burst, conn), conn->unsent_bytes);
	burst->buffer_end_seq = end_seq < seq + conn->unsent_bytes ? end_seq : 0;
	if (end_seq - seq > fits)
		fits -= fits % conn->segment_bytes;
	burst->end_seq = min3(end_seq, seq + (u64)left * subflow->mss_bytes, seq + fits);
	burst->id = subflow->id;
	return DIV_ROUND_UP((u32)(end_seq - seq), max(subflow->mss_bytes, 1U));
}
EXPORT_SYMBOL_GPL(musher_begin_burst);

struct mps_subflow *musher_in_burst(const struct musher_burst *burst, struct mps_conn *conn,
				    const struct mps_segment *head)
{
	struct mps_subflow *subflow;

	if (mps_seq(conn, head) >= burst->end_seq)
		return NULL;
	mps_for_each_subflow(conn, subflow)
		if (subflow->id == burst->id)
			return mps_has_room_soon(subflow) ? subflow : NULL;
	return NULL;
}
EXPORT_SYMBOL_GPL(musher_in_burst);
