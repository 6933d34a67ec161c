// SPDX-License-Identifier: GPL-2.0-only
/* Units: an application describes its data by the socket option MPTCP_UNIT, and a scheduler
 * may drop a unit from the stream.
 *
 * A unit gets segments of its own. While they and all data behind them are unsent, the
 * peer knows none of their data sequence numbers. A drop frees the segments, and all later
 * data moves up. Data of a dropped unit that the application writes afterwards is thrown
 * away. The peer sees a stream that never had the unit.
 *
 * The owner of the connection calls all functions here, see framework.h. Dropping a unit
 * frees memory, which needs the data lock, too.
 */

#include <kunit/visibility.h>
#include <linux/uio.h>

#include "framework.h"

/* more than any application needs; the sum of all units does not overflow */
#define MPS_UNIT_BYTES_MAX	SZ_1G

static struct mps_unit *mps_unit_or_null(const struct mps_conn *conn, const struct list_head *node)
{
	return node == &conn_core(conn)->units ? NULL :
	       &list_entry(node, struct mps_unit_core, node)->pub;
}

struct mps_unit *mps_first_unit(const struct mps_conn *conn)
{
	return mps_unit_or_null(conn, conn_core(conn)->units.next);
}
EXPORT_SYMBOL_GPL(mps_first_unit);

struct mps_unit *mps_next_unit(const struct mps_conn *conn, const struct mps_unit *unit)
{
	return mps_unit_or_null(conn, unit_core(unit)->node.next);
}
EXPORT_SYMBOL_GPL(mps_next_unit);

struct mps_unit *mps_unit_of(const struct mps_conn *conn, const struct mps_segment *seg)
{
	u64 seq = mps_seq(conn, seg);
	struct mps_unit *unit;

	for (unit = mps_first_unit(conn); unit && unit->seq <= seq;
	     unit = mps_next_unit(conn, unit))
		if (seq < unit->seq + unit->bytes)
			return unit;
	return NULL;
}
EXPORT_SYMBOL_GPL(mps_unit_of);

bool mps_may_drop(const struct mps_conn *conn, const struct mps_unit *unit)
{
	return !unit->written_bytes || unit->seq >= conn->nxt_seq;
}
EXPORT_SYMBOL_GPL(mps_may_drop);

struct mps_unit *mps_unit_at(const struct mps_conn *conn, u64 seq)
{
	struct mps_unit *unit;

	for (unit = mps_first_unit(conn); unit; unit = mps_next_unit(conn, unit))
		if (unit->seq == seq)
			return unit;
	return NULL;
}
EXPORT_SYMBOL_IF_KUNIT(mps_unit_at);

/* Among waiting units, and past ones that are not forgotten yet. */
static struct mps_unit_core *mps_unit_find(const struct mps_conn *conn, u32 id)
{
	struct mps_unit_core *unit;

	list_for_each_entry(unit, &conn_core(conn)->units, node)
		if (unit->pub.id == id)
			return unit;
	list_for_each_entry(unit, &conn_core(conn)->past_units, node)
		if (unit->pub.id == id)
			return unit;
	return NULL;
}

/* Was the unit that it depends on dropped, or is that one useless, too? */
static bool mps_unit_is_useless(const struct mps_conn *conn, const struct mps_unit *unit)
{
	const struct mps_unit_core *needed = NULL;

	if (unit->depends_on)
		needed = mps_unit_find(conn, unit->depends_on);
	return needed && (needed->dropped || needed->pub.useless);
}

/* A unit waits no longer. Its dependents may still come. */
void mps_keep_unit(struct mps_conn *conn, struct mps_unit *unit, bool dropped)
{
	struct mps_conn_core *core = conn_core(conn);
	struct mps_unit_core *oldest;
	struct mps_unit *other;

	list_move_tail(&unit_core(unit)->node, &core->past_units);
	core->units_waiting--;
	core->units_past++;
	if (dropped) {
		unit_core(unit)->dropped = true;
		core->units_dropped++;
		core->dropped_bytes += unit->bytes;
		core->last_dropped = unit->id;
		for (other = mps_first_unit(conn); other; other = mps_next_unit(conn, other))
			other->useless |= mps_unit_is_useless(conn, other);
	}
	oldest = list_first_entry(&core->past_units, struct mps_unit_core, node);
	if (core->units_past <= MPS_UNITS_MAX || &oldest->pub == core->writing)
		return;
	list_del(&oldest->node);
	kfree(oldest);
	core->units_past--;
}
EXPORT_SYMBOL_IF_KUNIT(mps_keep_unit);

void mps_drop_unit(struct mps_conn *conn, struct mps_unit *unit)
{
	struct mps_conn_core *core = conn_core(conn);
	u32 bytes = unit->written_bytes;
	struct mptcp_sock *msk = core->msk;
	struct sock *sk = (struct sock *)msk;
	struct mps_segment *seg, *next;
	struct mps_unit *later = unit;

	/* frees its segments, and moves up the ones behind it */
	list_for_each_entry_safe(seg, next, &core->unsent, unsent) {
		u64 seq = mps_seq(conn, seg);

		if (seq >= unit->seq + bytes)
			seg->frag.data_seq -= bytes;
		else if (seq >= unit->seq)
			dfrag_clear(sk, &seg->frag);
	}
	while ((later = mps_next_unit(conn, later)))
		later->seq -= bytes;
	WRITE_ONCE(msk->write_seq, msk->write_seq - bytes);
	/* TCP_CORK holds all data written from now on */
	if (after64(core->cork_end, msk->write_seq))
		core->cork_end = msk->write_seq;
	mps_keep_unit(conn, unit, true);
	/* there is room in the send buffer */
	mptcp_write_space(sk);
}

/* A segment was wholly sent: which units were, too? */
void mps_units_sent(struct mps_conn *conn)
{
	struct mps_conn_core *core = conn_core(conn);
	u64 unsent_seq = U64_MAX;
	struct mps_unit *unit;

	if (list_empty(&core->units))
		return;
	if (!list_empty(&core->unsent))
		unsent_seq = mps_seq(conn, list_first_entry(&core->unsent, struct mps_segment,
							    unsent));
	while ((unit = mps_first_unit(conn)) && unit->written_bytes == unit->bytes &&
	       unit->seq + unit->bytes <= unsent_seq)
		mps_keep_unit(conn, unit, false);
}
EXPORT_SYMBOL_IF_KUNIT(mps_units_sent);

void mps_forget_units(struct mps_conn *conn)
{
	struct mps_conn_core *core = conn_core(conn);
	struct mps_unit_core *unit, *next;

	list_splice_init(&core->units, &core->past_units);
	list_for_each_entry_safe(unit, next, &core->past_units, node)
		kfree(unit);
	INIT_LIST_HEAD(&core->past_units);
	core->units_waiting = 0;
	core->units_past = 0;
	core->writing = NULL;
}
EXPORT_SYMBOL_IF_KUNIT(mps_forget_units);

/* --- writing */

void mps_unit_written(struct mps_conn *conn, u32 bytes)
{
	struct mps_conn_core *core = conn_core(conn);
	struct mps_unit *unit = core->writing;

	if (!unit)
		return;
	unit->written_bytes += bytes;
	if (unit->written_bytes == unit->bytes) {
		core->writing = NULL;
		core->cut = true;
	}
}
EXPORT_SYMBOL_IF_KUNIT(mps_unit_written);

/* The next bytes that may share a segment. */
u32 mps_unit_room(const struct mptcp_sock *msk)
{
	const struct mps_unit *unit = conn_core(msk->mps)->writing;

	return unit ? unit->bytes - unit->written_bytes : U32_MAX;
}

/* Takes the rest of a dropped unit from the application, and throws it away. */
size_t mps_swallow(struct mptcp_sock *msk, struct iov_iter *from)
{
	struct mps_unit *unit = conn_core(msk->mps)->writing;
	size_t bytes;

	if (!unit || !unit_core(unit)->dropped)
		return 0;
	bytes = min_t(size_t, iov_iter_count(from), unit->bytes - unit->written_bytes);
	iov_iter_advance(from, bytes);
	mps_unit_written(msk->mps, bytes);
	return bytes;
}

/* --- the socket option */

int mps_announce_unit(struct mps_conn *conn, const struct mptcp_unit *what)
{
	struct mps_conn_core *core = conn_core(conn);
	struct mps_unit_core *needed, *made;
	struct mps_unit *unit;

	if (!what->id || !what->bytes || what->bytes > MPS_UNIT_BYTES_MAX ||
	    what->depends_on == what->id ||
	    (what->deadline_ns && what->expires_ns && what->expires_ns < what->deadline_ns))
		return -EINVAL;
	if (core->writing)
		return -EBUSY;
	if (mps_unit_find(conn, what->id))
		return -EEXIST;
	if (core->units_waiting == MPS_UNITS_MAX)
		return -ENOBUFS;
	made = kzalloc(sizeof(*made), GFP_KERNEL_ACCOUNT);
	if (!made)
		return -ENOMEM;
	unit = &made->pub;
	unit->id = what->id;
	unit->bytes = what->bytes;
	unit->depends_on = what->depends_on;
	unit->importance = what->importance;
	unit->deadline_ns = what->deadline_ns ?: U64_MAX;
	unit->expires_ns = what->expires_ns ?: unit->deadline_ns;
	unit->useless = mps_unit_is_useless(conn, unit);
	/* otherwise 0: the connection's first byte */
	if (core->started)
		unit->seq = core->msk->write_seq - core->base_seq;

	list_add_tail(&made->node, &core->units);
	core->units_waiting++;
	conn->units_announced++;
	core->writing = unit;
	core->cut = true;

	/* units depend on earlier ones alone, so this loop ends */
	for (needed = mps_unit_find(conn, unit->depends_on);
	     needed && needed->pub.importance < what->importance;
	     needed = mps_unit_find(conn, needed->pub.depends_on))
		needed->pub.importance = what->importance;
	return 0;
}
EXPORT_SYMBOL_IF_KUNIT(mps_announce_unit);

int mps_set_unit(struct mptcp_sock *msk, const struct mptcp_unit *what)
{
	struct sock *sk = (struct sock *)msk;
	int err = -EOPNOTSUPP;

	lock_sock(sk);
	if (!((1 << sk->sk_state) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT)) ||
	    sk->sk_shutdown & SEND_SHUTDOWN)
		err = -ENOTCONN;
	else if (msk->mps && conn_core(msk->mps)->ops->takes_units)
		err = mps_announce_unit(msk->mps, what);
	release_sock(sk);
	return err;
}

int mps_get_units(struct mptcp_sock *msk, struct mptcp_units *units)
{
	struct sock *sk = (struct sock *)msk;
	int err = -EOPNOTSUPP;

	lock_sock(sk);
	if (msk->mps && conn_core(msk->mps)->ops->takes_units) {
		const struct mps_conn_core *core = conn_core(msk->mps);

		*units = (struct mptcp_units) {
			.announced	= msk->mps->units_announced,
			.waiting	= core->units_waiting,
			.dropped	= core->units_dropped,
			.last_dropped	= core->last_dropped,
			.dropped_bytes	= core->dropped_bytes,
		};
		err = 0;
	}
	release_sock(sk);
	return err;
}
