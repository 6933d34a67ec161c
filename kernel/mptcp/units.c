// SPDX-License-Identifier: GPL-2.0-only
/* Units: what an application says of its data, by the socket option MPTCP_UNIT,
 * and how a scheduler has a unit leave the stream.
 *
 * A unit gets segments of its own. As long as none of them was sent, nor
 * anything behind them, the peer has heard of no data sequence number that they
 * or what follows have: so the segments are freed, and all that follows moves
 * up. What is not yet written of a dropped unit is thrown away when it is. The
 * peer sees a stream that never had the unit.
 *
 * Everything here belongs to the owner of the connection, see framework.c. A
 * unit is dropped under the data lock, too, as memory is given back.
 */

#include <kunit/visibility.h>
#include <linux/uio.h>

#include "framework.h"

/* more than any application needs; sums of all units are far from overflow */
#define MPS_UNIT_BYTES_MAX	SZ_1G

static struct mps_unit *mps_unit_or_null(const struct mps_conn *conn, const struct list_head *node)
{
	return node == &conn->units ? NULL : list_entry(node, struct mps_unit, node);
}

struct mps_unit *mps_first_unit(const struct mps_conn *conn)
{
	return mps_unit_or_null(conn, conn->units.next);
}
EXPORT_SYMBOL_GPL(mps_first_unit);

struct mps_unit *mps_next_unit(const struct mps_conn *conn, const struct mps_unit *unit)
{
	return mps_unit_or_null(conn, unit->node.next);
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

	list_for_each_entry(unit, &conn->units, node)
		if (unit->seq == seq)
			return unit;
	return NULL;
}
EXPORT_SYMBOL_IF_KUNIT(mps_unit_at);

/* Of those that wait or are not forgotten yet. */
static struct mps_unit *mps_unit_find(const struct mps_conn *conn, u32 id)
{
	struct mps_unit *unit;

	list_for_each_entry(unit, &conn->units, node)
		if (unit->id == id)
			return unit;
	list_for_each_entry(unit, &conn->past_units, node)
		if (unit->id == id)
			return unit;
	return NULL;
}

/* A unit waits no longer; what depends on it may still come. */
void mps_keep_unit(struct mps_conn *conn, struct mps_unit *unit, bool dropped)
{
	struct mps_unit *other, *oldest;

	list_move_tail(&unit->node, &conn->past_units);
	conn->units_waiting--;
	conn->units_past++;
	if (dropped) {
		unit->dropped = true;
		conn->units_dropped++;
		conn->dropped_bytes += unit->bytes;
		conn->last_dropped = unit->id;
		list_for_each_entry(other, &conn->units, node) {
			const struct mps_unit *needed = NULL;

			if (other->depends_on && !other->useless)
				needed = mps_unit_find(conn, other->depends_on);
			if (needed && (needed->dropped || needed->useless))
				other->useless = true;
		}
	}
	oldest = list_first_entry(&conn->past_units, struct mps_unit, node);
	if (conn->units_past <= MPS_UNITS_MAX || oldest == conn->writing)
		return;
	list_del(&oldest->node);
	kfree(oldest);
	conn->units_past--;
}
EXPORT_SYMBOL_IF_KUNIT(mps_keep_unit);

void mps_drop_unit(struct mps_conn *conn, struct mps_unit *unit)
{
	u32 bytes = unit->written_bytes;
	struct mptcp_sock *msk = conn->msk;
	struct sock *sk = (struct sock *)msk;
	struct mps_segment *seg, *next;
	struct mps_unit *later = unit;

	/* its segments, and those behind it */
	list_for_each_entry_safe(seg, next, &conn->unsent, unsent) {
		u64 seq = mps_seq(conn, seg);

		if (seq >= unit->seq + bytes)
			seg->frag.data_seq -= bytes;
		else if (seq >= unit->seq)
			dfrag_clear(sk, &seg->frag);
	}
	list_for_each_entry_continue(later, &conn->units, node)
		later->seq -= bytes;
	WRITE_ONCE(msk->write_seq, msk->write_seq - bytes);
	mps_keep_unit(conn, unit, true);
	/* there is room in the send buffer */
	mptcp_write_space(sk);
}

/* Something was wholly sent: units, too? */
void mps_units_sent(struct mps_conn *conn)
{
	u64 unsent_seq = U64_MAX;
	struct mps_unit *unit;

	if (list_empty(&conn->units))
		return;
	if (!list_empty(&conn->unsent))
		unsent_seq = mps_seq(conn, list_first_entry(&conn->unsent, struct mps_segment,
							    unsent));
	while ((unit = mps_first_unit(conn)) && unit->written_bytes == unit->bytes &&
	       unit->seq + unit->bytes <= unsent_seq)
		mps_keep_unit(conn, unit, false);
}
EXPORT_SYMBOL_IF_KUNIT(mps_units_sent);

void mps_forget_units(struct mps_conn *conn)
{
	struct mps_unit *unit, *next;

	list_splice_init(&conn->units, &conn->past_units);
	list_for_each_entry_safe(unit, next, &conn->past_units, node)
		kfree(unit);
	INIT_LIST_HEAD(&conn->past_units);
	conn->units_waiting = 0;
	conn->units_past = 0;
	conn->writing = NULL;
}
EXPORT_SYMBOL_IF_KUNIT(mps_forget_units);

/* --- writing */

void mps_unit_written(struct mps_conn *conn, u32 bytes)
{
	struct mps_unit *unit = conn->writing;

	if (!unit)
		return;
	unit->written_bytes += bytes;
	if (unit->written_bytes == unit->bytes) {
		conn->writing = NULL;
		conn->cut = true;
	}
}
EXPORT_SYMBOL_IF_KUNIT(mps_unit_written);

/* How much of what is written next may share a segment. */
u32 mps_unit_room(const struct mptcp_sock *msk)
{
	const struct mps_unit *unit = msk->mps->writing;

	return unit ? unit->bytes - unit->written_bytes : U32_MAX;
}

/* What is left of a dropped unit is accepted, and goes nowhere. */
size_t mps_swallow(struct mptcp_sock *msk, struct iov_iter *from)
{
	struct mps_unit *unit = msk->mps->writing;
	size_t bytes;

	if (!unit || !unit->dropped)
		return 0;
	bytes = min_t(size_t, iov_iter_count(from), unit->bytes - unit->written_bytes);
	iov_iter_advance(from, bytes);
	mps_unit_written(msk->mps, bytes);
	return bytes;
}

/* --- the socket option */

int mps_announce_unit(struct mps_conn *conn, const struct mptcp_unit *what)
{
	struct mps_unit *unit, *needed;

	if (!what->id || !what->bytes || what->bytes > MPS_UNIT_BYTES_MAX ||
	    what->depends_on == what->id ||
	    (what->deadline_ns && what->expires_ns && what->expires_ns < what->deadline_ns))
		return -EINVAL;
	if (conn->writing)
		return -EBUSY;
	if (mps_unit_find(conn, what->id))
		return -EEXIST;
	if (conn->units_waiting == MPS_UNITS_MAX)
		return -ENOBUFS;
	unit = kzalloc(sizeof(*unit), GFP_KERNEL_ACCOUNT);
	if (!unit)
		return -ENOMEM;
	unit->id = what->id;
	unit->bytes = what->bytes;
	unit->depends_on = what->depends_on;
	unit->importance = what->importance;
	unit->deadline_ns = what->deadline_ns ?: U64_MAX;
	unit->expires_ns = what->expires_ns ?: unit->deadline_ns;
	/* the first byte of all has number 0 */
	if (conn->started)
		unit->seq = conn->msk->write_seq - conn->base_seq;

	needed = unit->depends_on ? mps_unit_find(conn, unit->depends_on) : NULL;
	unit->useless = needed && (needed->dropped || needed->useless);
	list_add_tail(&unit->node, &conn->units);
	conn->units_waiting++;
	conn->units_announced++;
	conn->writing = unit;
	conn->cut = true;

	/* each raises the one before it to its own: this comes to an end */
	for (unit = needed; unit && unit->importance < what->importance;
	     unit = mps_unit_find(conn, unit->depends_on))
		unit->importance = what->importance;
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
	else if (msk->mps && msk->mps->ops->takes_units)
		err = mps_announce_unit(msk->mps, what);
	release_sock(sk);
	return err;
}

int mps_get_units(struct mptcp_sock *msk, struct mptcp_units *units)
{
	struct sock *sk = (struct sock *)msk;
	int err = -EOPNOTSUPP;

	lock_sock(sk);
	if (msk->mps && msk->mps->ops->takes_units) {
		*units = (struct mptcp_units) {
			.announced	= msk->mps->units_announced,
			.waiting	= msk->mps->units_waiting,
			.dropped	= msk->mps->units_dropped,
			.last_dropped	= msk->mps->last_dropped,
			.dropped_bytes	= msk->mps->dropped_bytes,
		};
		err = 0;
	}
	release_sock(sk);
	return err;
}
