// SPDX-License-Identifier: GPL-2.0-only
/* The segments of a connection: what is in its lists, where it was sent, and what
 * is to be sent again. Locking: see framework.h.
 */

#include <kunit/visibility.h>

#include "framework.h"

u64 mps_seq(const struct mps_conn *conn, const struct mps_segment *seg)
{
	return seg->frag.data_seq - conn_core(conn)->base_seq;
}
EXPORT_SYMBOL_GPL(mps_seq);

u32 mps_len(const struct mps_segment *seg)
{
	return seg->frag.data_len;
}
EXPORT_SYMBOL_GPL(mps_len);

bool mps_carried_by(const struct mps_segment *seg, const struct mps_subflow *subflow)
{
	return seg->carried & BIT(subflow_core(subflow)->slot);
}
EXPORT_SYMBOL_GPL(mps_carried_by);

struct mps_segment *mps_first_unsent(const struct mps_conn *conn)
{
	return mps_first(&conn_core(conn)->unsent, unsent);
}

/* Does TCP_CORK hold a short last segment? Not when no more can be written. */
static bool mps_is_corked(const struct mps_conn_core *core, const struct mps_segment *seg)
{
	const struct sock *sk = (struct sock *)core->msk;

	return !before64(seg->frag.data_seq, core->cork_end) &&
	       sk->sk_wmem_queued < READ_ONCE(sk->sk_sndbuf);
}

/* A short last segment waits for more data while a short one is on its way
 * (Minshall's form of Nagle's rule, as in TCP), and with TCP_CORK. Not when none can be
 * written into it: others follow, sent before it, or a part of it was sent.
 */
bool mps_is_held(const struct mps_conn *conn, const struct mps_segment *seg)
{
	const struct mps_conn_core *core = conn_core(conn);

	if (seg->frag.data_len >= conn->segment_bytes || conn->closing || mps_sent(seg) ||
	    !list_is_last(&seg->frag.list, &core->msk->rtx_queue))
		return false;
	if (unlikely(core->msk->cork) && mps_is_corked(core, seg))
		return true;
	return !core->msk->nodelay && after64(core->small_end, core->base_seq + conn->una_seq);
}
EXPORT_SYMBOL_IF_KUNIT(mps_is_held);

/* TCP_CORK holds nothing any more of what is written: TCP_NODELAY was set, as in TCP,
 * or the data has waited long enough. A process owns the connection.
 */
void mps_uncork(struct mptcp_sock *msk)
{
	mps_assert_locked((struct sock *)msk);
	conn_core(msk->mps)->cork_end = msk->write_seq;
}
EXPORT_SYMBOL_IF_KUNIT(mps_uncork);

struct mps_segment *mps_head(const struct mps_conn *conn)
{
	struct mps_segment *seg = mps_first_unsent(conn);

	return seg && !mps_is_held(conn, seg) ? seg : NULL;
}
EXPORT_SYMBOL_GPL(mps_head);

struct mps_segment *mps_next_unsent(const struct mps_conn *conn, const struct mps_segment *seg)
{
	struct mps_segment *next = mps_next(&conn_core(conn)->unsent, seg, unsent);

	return next && !mps_is_held(conn, next) ? next : NULL;
}
EXPORT_SYMBOL_GPL(mps_next_unsent);

struct mps_segment *mps_nth_unsent(struct mps_conn *conn, u32 n)
{
	struct mps_conn_core *core = conn_core(conn);
	struct mps_segment *seg = core->nth_unsent;
	u32 nth = core->nth;

	/* from the first one, if that is nearer */
	if (!seg || n < nth / 2) {
		seg = mps_first_unsent(conn);
		nth = 0;
	}
	for (; seg && nth < n; nth++)
		seg = mps_next(&core->unsent, seg, unsent);
	for (; nth > n; nth--)
		seg = list_prev_entry(seg, unsent);
	if (!seg)
		return NULL;
	core->nth_unsent = seg;
	core->nth = nth;
	return mps_is_held(conn, seg) ? NULL : seg;
}
EXPORT_SYMBOL_GPL(mps_nth_unsent);

void mps_forget_unsent(struct mps_conn *conn, struct mps_segment *seg)
{
	struct mps_conn_core *core = conn_core(conn);
	struct mps_segment *nth = core->nth_unsent;

	if (seg == nth)
		core->nth_unsent = mps_next(&core->unsent, seg, unsent);
	else if (nth && before64(seg->frag.data_seq, nth->frag.data_seq))
		core->nth--;
	list_del_init(&seg->unsent);
}
EXPORT_SYMBOL_IF_KUNIT(mps_forget_unsent);

struct mps_segment *mps_reinjection(const struct mps_conn *conn)
{
	return mps_first(&conn_core(conn)->reinject, reinject);
}
EXPORT_SYMBOL_GPL(mps_reinjection);

/* from seg on, itself included, the first that was sent */
static struct mps_segment *mps_skip_unsent(const struct mps_conn *conn, struct mps_segment *seg)
{
	while (seg && !mps_sent(seg))
		seg = mps_next(&conn_core(conn)->msk->rtx_queue, seg, frag.list);
	return seg;
}

struct mps_segment *mps_oldest_unacked(const struct mps_conn *conn)
{
	if (conn->una_seq == conn->nxt_seq)
		return NULL;
	return mps_skip_unsent(conn, mps_first(&conn_core(conn)->msk->rtx_queue, frag.list));
}
EXPORT_SYMBOL_GPL(mps_oldest_unacked);

struct mps_segment *mps_next_unacked(const struct mps_conn *conn, const struct mps_segment *seg)
{
	return mps_skip_unsent(conn, mps_next(&conn_core(conn)->msk->rtx_queue, seg, frag.list));
}
EXPORT_SYMBOL_GPL(mps_next_unacked);

struct mps_segment *mps_latest_sent(const struct mps_conn *conn)
{
	struct list_head *queue = &conn_core(conn)->msk->rtx_queue, *last = queue->prev;
	struct mps_segment *unsent = mps_first_unsent(conn);

	/* of the first unsent one, a part may have left */
	if (unsent)
		last = mps_sent(unsent) ? &unsent->frag.list : unsent->frag.list.prev;
	return last == queue ? NULL : list_entry(last, struct mps_segment, frag.list);
}
EXPORT_SYMBOL_GPL(mps_latest_sent);

struct mps_segment *mps_oldest_missing(struct mps_conn *conn, struct mps_subflow *subflow)
{
	struct mps_conn_core *core = conn_core(conn);
	struct mps_subflow_core *sub = subflow_core(subflow);
	struct list_head *queue = &core->msk->rtx_queue;
	struct mps_segment *seg;

	if (!mps_is_there(subflow))
		return NULL;
	seg = sub->cursor ? mps_next(queue, sub->cursor, frag.list) : mps_first(queue, frag.list);
	for (; seg && mps_sent(seg); seg = mps_next(queue, seg, frag.list)) {
		if (!mps_carried_by(seg, subflow))
			return seg;
		sub->cursor = seg;
		core->has_cursors = true;
	}
	return NULL;
}
EXPORT_SYMBOL_GPL(mps_oldest_missing);

bool mps_fits_window(const struct mps_conn *conn, const struct mps_segment *seg)
{
	return mps_seq(conn, seg) + seg->frag.data_len <= conn->window_end_seq;
}
EXPORT_SYMBOL_GPL(mps_fits_window);

void mps_update_first_pending(struct mps_conn *conn)
{
	struct mps_segment *seg = mps_first_unsent(conn);

	conn_core(conn)->msk->first_pending = seg ? &seg->frag : NULL;
}

size_t mps_segment_overhead(void)
{
	return sizeof(struct mps_segment);
}

/* What fits into a segment: as it was when the turn of mptcp_sendmsg() began, with
 * mps_segment_tail(). Meanwhile another subflow may have made segments smaller.
 */
u16 mps_segment_room(const struct mptcp_sock *msk)
{
	return conn_core(msk->mps)->room_bytes;
}

/* How much of a page must be left for a new segment: as much as a full one takes,
 * so that the end of the page does not cut it short. But at least half of each page
 * is used, also where a segment is larger than that, as on loopback: what the send
 * buffer counts is then at least half of the memory that is taken.
 */
unsigned int mps_refill_bytes(const struct mptcp_sock *msk, const struct page_frag *pfrag)
{
	/* a segment begins where a long may */
	return min_t(unsigned int, pfrag->size / 2,
		     mps_segment_overhead() + mps_segment_room(msk) + sizeof(long));
}

/* The last segment, if more data can be written into it. The connection is owned by a
 * process.
 */
struct mptcp_data_frag *mps_segment_tail(const struct mptcp_sock *msk)
{
	struct mps_conn_core *core = conn_core(msk->mps);
	struct mptcp_data_frag *tail;

	msk_owned_by_me(msk);
	if (list_empty(&core->pub.subflows) || core->dss_bytes != mps_dss_bytes(msk))
		mps_refresh(&core->pub, NULL);
	core->room_bytes = core->pub.segment_bytes;
	if (list_empty(&core->unsent) || core->cut)
		return NULL;
	tail = list_last_entry(&msk->rtx_queue, struct mptcp_data_frag, list);
	/* it may have more than segments have now */
	if (tail->already_sent || tail->data_len >= core->room_bytes)
		return NULL;
	return tail;
}

/* The application has written into a segment, which may be a new one. */
void mps_segment_written(struct mptcp_sock *msk, struct mptcp_data_frag *dfrag, u32 bytes,
			 bool is_new)
{
	struct mps_segment *seg = mps_segment(dfrag);
	struct mps_conn *conn = msk->mps;
	struct mps_conn_core *core = conn_core(conn);

	msk_owned_by_me(msk);
	if (!core->started) {
		core->started = true;
		core->base_seq = dfrag->data_seq;
		core->small_end = dfrag->data_seq;
		core->cork_end = dfrag->data_seq;
	}
	if (is_new) {
		seg->carried = 0;
		seg->to_repeat = 0;
		seg->split = false;
		INIT_LIST_HEAD(&seg->reinject);
		list_add_tail(&seg->unsent, &core->unsent);
		core->cut = false;
	}
	conn->unsent_bytes += bytes;
	mps_unit_written(conn, bytes);
}

/* A segment, or a part of it, leaves on a subflow. A subflow that got only a part of what
 * was sent of a segment is among those that carried it, but the segment is split: it is safe
 * only as long as all that carried it are. So nothing needs to be known of who has which part.
 *
 * A reinjection that was cut short - by the scheduler's limit, the room or the memory of the
 * subflow - goes on where it ended, perhaps on another subflow, and the segment stays in the
 * queue until all of it has left again. It counts from the end: what is acknowledged meanwhile
 * is cut off at the beginning. Whoever carried the segment before counts no more, as it is
 * reinjected because they cannot be relied on.
 *
 * A duplicate that was cut short is not continued: a subflow gets one copy.
 */
void mps_picked_part(const struct mps_segment *seg, const struct mps_pick *pick,
		     u16 *begin, u16 *end)
{
	const struct mptcp_data_frag *frag = &seg->frag;

	*begin = pick->kind == MPS_NEW ? frag->already_sent : 0;
	*end = pick->kind == MPS_NEW ? frag->data_len : frag->already_sent;
	if (pick->kind == MPS_REINJECTION && seg->to_repeat)
		*begin = *end - min(seg->to_repeat, *end);
	if (pick->limit_bytes && pick->limit_bytes < *end - *begin)
		*end = *begin + pick->limit_bytes;
}
EXPORT_SYMBOL_IF_KUNIT(mps_picked_part);

void mps_sent_part(struct mps_segment *seg, const struct mps_subflow *subflow, u16 bytes)
{
	struct mptcp_data_frag *frag = &seg->frag;

	seg->carried |= BIT(subflow_core(subflow)->slot);
	seg->split |= frag->already_sent || bytes < frag->data_len;
	frag->already_sent += bytes;
	if (seg->to_repeat)
		seg->to_repeat += bytes;
}
EXPORT_SYMBOL_IF_KUNIT(mps_sent_part);

void mps_repeated_part(struct mps_segment *seg, const struct mps_subflow *subflow,
		       enum mps_kind kind, u16 begin, u16 bytes)
{
	u16 left = seg->frag.already_sent - begin - bytes;
	bool whole = !begin && !left;

	if (kind == MPS_REINJECTION && !begin && (seg->split || !whole))
		seg->carried = 0;
	seg->carried |= BIT(subflow_core(subflow)->slot);
	if (!whole)
		seg->split = true;
	else if (kind == MPS_REINJECTION)
		seg->split = false;
	if (whole || (kind == MPS_REINJECTION && !left)) {
		list_del_init(&seg->reinject);
		seg->to_repeat = 0;
	} else if (kind == MPS_REINJECTION) {
		seg->to_repeat = left;
	}
}
EXPORT_SYMBOL_IF_KUNIT(mps_repeated_part);

/* When the connection's retransmission timer had fired, so much of the segment left
 * on a subflow.
 */
void mps_segment_repeated(struct mptcp_sock *msk, struct mptcp_data_frag *dfrag,
			  const struct mptcp_subflow_context *ctx, u32 bytes)
{
	mps_assert_locked((struct sock *)msk);
	/* from its beginning, whatever was reinjected of it */
	mps_repeated_part(mps_segment(dfrag), ctx->mps, MPS_DUPLICATE, 0, bytes);
	subflow_core(ctx->mps)->reinjections++;
}
EXPORT_SYMBOL_IF_KUNIT(mps_segment_repeated);

/* The segment is about to be freed: acknowledged, or dropped at the end. */
void mps_segment_gone(struct mptcp_sock *msk, struct mptcp_data_frag *dfrag)
{
	struct mps_segment *seg = mps_segment(dfrag);
	struct mps_conn *conn = msk->mps;
	struct mps_subflow *subflow;

	mps_assert_locked(mps_sk(conn));
	if (!list_empty(&seg->unsent)) {
		conn->unsent_bytes -= mps_unsent_part(seg);
		mps_forget_unsent(conn, seg);
		mps_update_first_pending(conn);
	}
	list_del(&seg->reinject);
	if (!conn_core(conn)->has_cursors)
		return;
	mps_for_each_subflow(conn, subflow)
		if (subflow_core(subflow)->cursor == seg)
			subflow_core(subflow)->cursor = NULL;
}

/* How far an acknowledgment can be believed: a peer may claim more than the
 * segments that were sent without a gap.
 */
u64 mps_acked_limit(const struct mptcp_sock *msk, u64 snd_una)
{
	const struct mptcp_data_frag *head = msk->first_pending;
	u64 limit;

	if (!conn_core(msk->mps)->has_gaps)
		return snd_una;
	limit = head ? head->data_seq + head->already_sent : msk->snd_nxt;
	return after64(snd_una, limit) ? limit : snd_una;
}

/* --- what is to be sent again */

/* The usable subflows that are not distrusted; all of them, if there is none. */
static u32 mps_trusted_mask(const struct mps_conn *conn)
{
	const struct mps_subflow *subflow;
	u32 mask = conn_core(conn)->usable_mask;

	mps_for_each_subflow(conn, subflow)
		if (subflow_core(subflow)->distrusted)
			mask &= ~BIT(subflow_core(subflow)->slot);
	return mask ?: conn_core(conn)->usable_mask;
}

/* Is all of what was sent of it on no subflow of these? Then what left of an unfinished
 * reinjection is lost, too, if not all that carried it are among them.
 */
static bool mps_is_orphan(struct mps_segment *seg, u32 trusted)
{
	u32 alive = seg->carried & trusted;
	bool lacks = seg->split ? !alive || alive != seg->carried : !alive;

	if (lacks)
		seg->to_repeat = 0;
	return mps_sent(seg) && (lacks || seg->to_repeat);
}

/* Segments that were sent, but on no subflow that is usable now and trusted, are
 * to be sent on another one. If there is none, TCP's own repetition is all there
 * is; and it is enough where a subflow has come back.
 */
void mps_recover(struct mps_conn *conn)
{
	u32 trusted = mps_trusted_mask(conn);
	struct list_head *after = &conn_core(conn)->reinject;
	struct mps_segment *seg;

	mps_assert_locked(mps_sk(conn));
	if (!trusted)
		return;
	list_for_each_entry(seg, &conn_core(conn)->msk->rtx_queue, frag.list) {
		bool orphan = mps_is_orphan(seg, trusted);

		if (!orphan)
			list_del_init(&seg->reinject);
		else if (list_empty(&seg->reinject))
			list_add(&seg->reinject, after);
		if (orphan)
			after = &seg->reinject;
	}
}
EXPORT_SYMBOL_IF_KUNIT(mps_recover);

void mps_distrust(struct mps_subflow *subflow, bool distrust)
{
	if (!mps_is_there(subflow) || subflow_core(subflow)->distrusted == distrust)
		return;
	subflow_core(subflow)->distrusted = distrust;
	mps_recover(subflow_core(subflow)->conn);
}
EXPORT_SYMBOL_GPL(mps_distrust);

/* A segment was sent on a subflow that is perhaps distrusted: then it is to be
 * sent on another one, too.
 */
void mps_doubt(struct mps_conn *conn, const struct mps_subflow *subflow,
	       struct mps_segment *seg)
{
	struct mps_segment *before;

	if (!subflow_core(subflow)->distrusted || !list_empty(&seg->reinject) ||
	    !mps_is_orphan(seg, mps_trusted_mask(conn)))
		return;
	/* mostly it is the last one */
	list_for_each_entry_reverse(before, &conn_core(conn)->reinject, reinject)
		if (before64(before->frag.data_seq, seg->frag.data_seq))
			break;
	list_add(&seg->reinject, &before->reinject);
}
EXPORT_SYMBOL_IF_KUNIT(mps_doubt);

/* --- checks */

struct mps_segment *mps_find_segment(struct mps_conn *conn, const struct mps_pick *pick)
{
	struct mps_conn_core *core = conn_core(conn);
	struct mps_segment *seg;

	switch (pick->kind) {
	case MPS_NEW:
		/* one that is picked out of order may be far from the first */
		seg = core->nth_unsent;
		if (seg && mps_seq(conn, seg) == pick->seq)
			return seg;
		list_for_each_entry(seg, &core->unsent, unsent)
			if (mps_seq(conn, seg) == pick->seq)
				return seg;
		break;
	case MPS_REINJECTION:
		list_for_each_entry(seg, &core->reinject, reinject)
			if (mps_seq(conn, seg) == pick->seq)
				return seg;
		break;
	case MPS_DUPLICATE:
		/* the one that redundant schedulers pick may be far from the first */
		seg = mps_oldest_missing(conn, pick->subflow);
		if (seg && mps_seq(conn, seg) == pick->seq)
			return seg;
		seg = mps_latest_sent(conn);
		if (seg && mps_seq(conn, seg) == pick->seq)
			return seg;
		list_for_each_entry(seg, &core->msk->rtx_queue, frag.list)
			if (mps_seq(conn, seg) == pick->seq)
				return seg;
		break;
	}
	return NULL;
}

/* In a kernel that looks after itself: is what the framework keeps of the segments
 * still true of the queue?
 */
void mps_verify(const struct mps_conn *conn)
{
	const struct mps_conn_core *core = conn_core(conn);
	const struct mptcp_sock *msk = core->msk;
	const struct mps_segment *seg, *unsent = mps_first_unsent(conn), *before = NULL;
	u64 end = msk->write_seq;
	u32 unsent_bytes = 0;

	mps_assert_locked((const struct sock *)msk);
	if (!IS_ENABLED(CONFIG_DEBUG_NET))
		return;
	WARN_ON_ONCE(msk->first_pending != (unsent ? &unsent->frag : NULL));
	list_for_each_entry(seg, &msk->rtx_queue, frag.list) {
		/* one follows the other, and what is unsent of them is in the same order */
		WARN_ON_ONCE(before &&
			     before->frag.data_seq + before->frag.data_len != seg->frag.data_seq);
		WARN_ON_ONCE(seg->frag.already_sent > seg->frag.data_len);
		if (WARN_ON_ONCE((mps_unsent_part(seg) != 0) == list_empty(&seg->unsent)))
			return;
		if (mps_unsent_part(seg)) {
			if (WARN_ON_ONCE(seg != unsent))
				return;
			unsent = mps_next(&core->unsent, unsent, unsent);
		}
		WARN_ON_ONCE(seg->to_repeat && list_empty(&seg->reinject));
		unsent_bytes += mps_unsent_part(seg);
		before = seg;
	}
	WARN_ON_ONCE(unsent || unsent_bytes != conn->unsent_bytes);
	if (before)
		end = before->frag.data_seq + before->frag.data_len;
	/* a DATA_FIN has a number, too */
	WARN_ON_ONCE(end != msk->write_seq && end + 1 != msk->write_seq);
	before = NULL;
	list_for_each_entry(seg, &core->reinject, reinject) {
		WARN_ON_ONCE(!mps_sent(seg));
		WARN_ON_ONCE(before && !before64(before->frag.data_seq, seg->frag.data_seq));
		before = seg;
	}
}
