// SPDX-License-Identifier: GPL-2.0-only
/* whenidle: duplicates only when there is nothing new to send.
 *
 * New data goes to the lowest RTT with room. Without new data, the oldest segment
 * in flight is duplicated first, on the lowest RTT of the subflows with room that
 * did not carry it.
 *
 * Source: "redundant if Q empty" of ProgMP (Froemmgen et al., "A Programming
 * Model for Application-defined Multipath TCP Scheduling", Middleware 2017).
 *
 * Works for bulk data and messages alike: it spends only what would be idle, and
 * the end of the data is on all paths. Fails to protect more than that end:
 * earlier data has no duplicate.
 *
 * Differs from the source:
 * - spare_backups: the source does not look at the backup flag. On, a backup gets
 *   new data if no other is usable, and no duplicates.
 */

#include "parts/copies.h"
#include "parts/turns.h"

enum { SPARE_BACKUPS };

static const struct mps_param whenidle_params[] = {
	[SPARE_BACKUPS] = MPS_BOOL("spare_backups", 0,
				   "use a backup if no other is usable, and for no duplicates"),
};

/* The oldest segment that a subflow with room has not carried, on the lowest
 * RTT of those.
 */
static bool whenidle_copy(struct mps_conn *conn, struct mps_pick *pick)
{
	bool spare_backups = mps_param(conn, SPARE_BACKUPS);
	struct mps_subflow *subflow, *best = NULL;
	struct mps_segment *seg, *oldest = NULL;

	mps_for_each_subflow(conn, subflow) {
		seg = copies_available(subflow, spare_backups) ?
		      mps_oldest_missing(conn, subflow) : NULL;
		if (!seg)
			continue;
		if (!oldest || mps_seq(conn, seg) < mps_seq(conn, oldest) ||
		    (seg == oldest && subflow->srtt_us < best->srtt_us)) {
			oldest = seg;
			best = subflow;
		}
	}
	return best && mps_pick_duplicate(pick, conn, best, oldest);
}

static bool whenidle_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct mps_segment *head = mps_head(conn);
	struct mps_subflow *subflow;

	if (mps_reinject(conn, pick))
		return true;
	if (!head)
		return whenidle_copy(conn, pick);
	subflow = copies_lowest_rtt(conn, mps_param(conn, SPARE_BACKUPS));
	return subflow && mps_pick_new(pick, conn, subflow, head);
}

static struct mps_ops whenidle_ops = {
	.next_segment	= whenidle_next_segment,
	.get_subflow	= turns_get_subflow,
	.name		= "whenidle",
	.owner		= THIS_MODULE,
	.conn_size	= sizeof(struct turns),
	.params		= whenidle_params,
	.num_params	= ARRAY_SIZE(whenidle_params),
};

mps_scheduler(whenidle_ops);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler: duplicates when there is nothing new to send");
