// SPDX-License-Identifier: GPL-2.0-only
/* The segments of a connection: its lists, the subflows that carried them, and
 * reinjections. Locking: see framework.h.
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

/* Does TCP_CORK hold a short last segment? A full send buffer lets it go. */
static bool mps_is_corked(const struct mps_conn_core *core, const struct mps_segment *seg)
{
	const struct sock *sk = (struct sock *)core->msk;

	return !before64(seg->frag.data_seq, core->cork_end) &&
	       sk->sk_wmem_queued < READ_ONCE(sk->sk_sndbuf);
}

/* A short last segment waits for more data while a short one is in flight (Minshall's form
 * of Nagle's rule, as in TCP), and with TCP_CORK. It leaves if it takes no more data: others
 * follow it, or a part of it was sent.
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

/* TCP_CORK lets all written data go: the user set TCP_NODELAY, as in TCP, or the data has
 * waited long enough. A process owns the connection.
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

	/* begin at the first one if it is nearer */
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

/* the first sent segment from seg on, seg included */
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

/* The bytes that fit into a segment, as mps_segment_tail() found them at the beginning of
 * this turn of mptcp_sendmsg(). Another subflow may have made segments smaller since.
 */
u16 mps_segment_room(const struct mptcp_sock *msk)
{
	return conn_core(msk->mps)->room_bytes;
}

/* A new segment begins in a page with this much room: enough for a full segment, so that
 * the page's end does not cut it short. At least half of each page is used, even if a
 * segment is larger, as on loopback. Thus the send buffer counts at least half of the
 * memory in use.
 */
unsigned int mps_refill_bytes(const struct mptcp_sock *msk, const struct page_frag *pfrag)
{
	/* a segment begins where a long may */
	return min_t(unsigned int, pfrag->size / 2,
		     mps_segment_overhead() + mps_segment_room(msk) + sizeof(long));
}

/* The last segment, if it takes more data. A process owns the connection. */
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
	/* it may be longer than segments are now */
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

/* A segment, or a part of it, leaves on a subflow. A subflow with only a part also counts as
 * a carrier, but the segment is then split: it is safe only as long as all its carriers are.
 * So the framework need not know who has which part.
 *
 * A reinjection may be cut short, by the scheduler's limit, or by the subflow's room or
 * memory. It goes on where it ended, perhaps on another subflow. The segment stays in the
 * queue until all of it has left again. The rest counts from the segment's end, since ACKs
 * cut off its beginning meanwhile. Earlier carriers no longer count: the segment is in the
 * queue because they are unreliable.
 *
 * A duplicate that was cut short does not go on: a subflow gets one copy.
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

/* After the connection's retransmission timer had fired, these bytes of the segment left on
 * a subflow.
 */
void mps_segment_repeated(struct mptcp_sock *msk, struct mptcp_data_frag *dfrag,
			  const struct mptcp_subflow_context *ctx, u32 bytes)
{
	mps_assert_locked((struct sock *)msk);
	/* from its beginning, even amid a reinjection */
	mps_repeated_part(mps_segment(dfrag), ctx->mps, MPS_DUPLICATE, 0, bytes);
	subflow_core(ctx->mps)->reinjections++;
}
EXPORT_SYMBOL_IF_KUNIT(mps_segment_repeated);

/* The segment is about to be freed: acknowledged, or dropped. */
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

/* Limits an acknowledgment to the segments that were sent without a gap: a peer may claim
 * more.
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

/* --- reinjections */

/* The usable subflows that are not distrusted; if all are, all usable ones. */
static u32 mps_trusted_mask(const struct mps_conn *conn)
{
	const struct mps_subflow *subflow;
	u32 mask = conn_core(conn)->usable_mask;

	mps_for_each_subflow(conn, subflow)
		if (subflow_core(subflow)->distrusted)
			mask &= ~BIT(subflow_core(subflow)->slot);
	return mask ?: conn_core(conn)->usable_mask;
}

/* Do these subflows lack some sent data of the segment? Then an unfinished reinjection
 * begins anew.
 */
static bool mps_is_orphan(struct mps_segment *seg, u32 trusted)
{
	u32 alive = seg->carried & trusted;
	bool lacks = seg->split ? !alive || alive != seg->carried : !alive;

	if (lacks)
		seg->to_repeat = 0;
	return mps_sent(seg) && (lacks || seg->to_repeat);
}

/* Queues the sent segments that no usable and trusted subflow carries, for another subflow.
 * Without another, TCP's own retransmission has to do. They stay in the queue when a subflow
 * comes back, as in v0.9x: after its timeout it sends a few packets per round trip, and all
 * data would wait for them.
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
		/* an unfinished one in the queue may have to begin anew */
		if (mps_is_orphan(seg, trusted) && list_empty(&seg->reinject))
			list_add(&seg->reinject, after);
		if (!list_empty(&seg->reinject))
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

/* A segment was sent. If its subflow is distrusted, another one has to send it, too. */
void mps_doubt(struct mps_conn *conn, const struct mps_subflow *subflow,
	       struct mps_segment *seg)
{
	struct mps_segment *before;

	if (!subflow_core(subflow)->distrusted || !list_empty(&seg->reinject) ||
	    !mps_is_orphan(seg, mps_trusted_mask(conn)))
		return;
	/* it usually becomes the last one */
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
		/* a pick out of order may be far from the first segment */
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
		/* a redundant scheduler's pick may be far from the first segment */
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

/* In a debug kernel: does the framework's view of the segments agree with the queue? */
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
		/* segments adjoin, and the unsent list has the same order */
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
