// SPDX-License-Identifier: GPL-2.0-only
/* Where a chunk of dems begins and ends: see dems_chunk.h. */

#include "parts/dems_chunk.h"

void dems_begin_chunk(struct mps_conn *conn, struct mps_segment *head)
{
	const struct mps_unit *unit = mps_unit_of(conn, head);
	struct dems_chunk *chunk = mps_conn_priv(conn);
	struct mps_segment *seg, *last = head;
	u64 unit_end_seq = U64_MAX;

	if (unit)
		unit_end_seq = unit->seq + unit->bytes;
	chunk->nth = 0;
	while ((seg = mps_next_unsent(conn, last)) && mps_fits_window(conn, seg) &&
	       mps_seq(conn, seg) < unit_end_seq) {
		last = seg;
		chunk->nth++;
	}
	chunk->begin_seq = mps_seq(conn, head);
	chunk->end_seq = mps_seq(conn, last) + mps_len(last);
	chunk->copied_bytes = 0;
}
EXPORT_SYMBOL_GPL(dems_begin_chunk);

struct mps_segment *dems_chunk_last(struct mps_conn *conn)
{
	struct dems_chunk *chunk = mps_conn_priv(conn);
	struct mps_segment *seg;

	/* as segments are sent, there are fewer before the last one */
	for (;;) {
		seg = mps_nth_unsent(conn, chunk->nth);
		if (seg && mps_seq(conn, seg) < chunk->end_seq)
			return seg;
		if (!chunk->nth)
			return NULL;
		chunk->nth--;
	}
}
EXPORT_SYMBOL_GPL(dems_chunk_last);
