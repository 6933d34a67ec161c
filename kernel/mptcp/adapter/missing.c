// SPDX-License-Identifier: GPL-2.0-only
/* Functions and fields without effect on a kernel without our patches, and their answers.
 *
 * | function or field                       | answer                                         |
 * |-----------------------------------------|------------------------------------------------|
 * | mps_reinjection(), mps_reinject()       | the queue is empty; net/mptcp's own timer      |
 * |                                         | sends on another subflow                       |
 * | get_subflow()                           | not called: net/mptcp's own function decides   |
 * | mps_carried_by()                        | true: so no scheduler duplicates a segment     |
 * | mps_oldest_missing(), mps_latest_sent() | NULL, for the same reason                      |
 * | MPS_DUPLICATE, MPS_REINJECTION          | wait                                           |
 * | mps_next_unsent()                       | NULL: net/mptcp sends in order                 |
 * | mps_nth_unsent()                        | NULL, but for the first one                    |
 * | mps_pick.seq                            | the first unsent fragment leaves               |
 * | mps_pick.limit_bytes                    | the whole fragment leaves, as far as the       |
 * |                                         | receive window admits                          |
 * | mps_halve_cwnd(), mps_penalise()        | nothing happens: nobody is penalised           |
 * | mps_distrust()                          | the subflow comes last in mps_lowest_rtt(); no |
 * |                                         | data leaves again                              |
 * | mps_set_linear_timeouts(), .recovers    | nothing happens                                |
 * | owd_us, commd_us                        | 0: no sample; mps_delays_comparable() is false |
 * | oldest_sent_ns                          | 0: nothing is in flight                        |
 * | writer_waits, sndbuf_full               | false: a question comes only when data waits   |
 * | units: mps_first_unit(), .takes_units   | there are none                                 |
 * | mps_event()                             | no effect                                      |
 *
 * mps_len() of a fragment is up to 32 KiB, also with a grain, and a subflow with room for one
 * packet takes all of the choice: the rest waits in its queue, as unsent_bytes. Only a limit of
 * the scheduler ends a choice. `usable` ends with a retransmission timeout of TCP, until an ACK
 * of new data. Events of a subflow come before the next question: several ACKs between two
 * questions are reported as one, and so are several timeouts. on_sent() also comes then.
 */

#include "adapter.h"

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

bool mps_fits_window(const struct mps_conn *conn, const struct mps_segment *seg)
{
	const struct adapter_conn *own = container_of(conn_core(conn), struct adapter_conn, core);
	const struct mptcp_data_frag *frag = &seg->frag;
	u64 seq = frag->data_seq + frag->already_sent - own->core.base_seq;

	return seq + mps_adapter_choice_bytes(own, frag) <= conn->window_end_seq;
}
EXPORT_SYMBOL_GPL(mps_fits_window);

bool mps_carried_by(const struct mps_segment *seg, const struct mps_subflow *subflow)
{
	return true;
}
EXPORT_SYMBOL_GPL(mps_carried_by);

struct mps_segment *mps_next_unsent(const struct mps_conn *conn, const struct mps_segment *seg)
{
	return NULL;
}
EXPORT_SYMBOL_GPL(mps_next_unsent);

struct mps_segment *mps_nth_unsent(struct mps_conn *conn, u32 n)
{
	return n ? NULL : mps_head(conn);
}
EXPORT_SYMBOL_GPL(mps_nth_unsent);

struct mps_segment *mps_reinjection(const struct mps_conn *conn)
{
	return NULL;
}
EXPORT_SYMBOL_GPL(mps_reinjection);

/* The fragment, if something of it was sent. */
static struct mps_segment *adapter_sent(const struct mps_conn *conn, struct list_head *place)
{
	struct mptcp_data_frag *frag = list_entry(place, struct mptcp_data_frag, list);

	if (place == &conn_core(conn)->msk->rtx_queue || !frag->already_sent)
		return NULL;
	return mps_segment(frag);
}

struct mps_segment *mps_oldest_unacked(const struct mps_conn *conn)
{
	return adapter_sent(conn, conn_core(conn)->msk->rtx_queue.next);
}
EXPORT_SYMBOL_GPL(mps_oldest_unacked);

struct mps_segment *mps_next_unacked(const struct mps_conn *conn, const struct mps_segment *seg)
{
	return adapter_sent(conn, seg->frag.list.next);
}
EXPORT_SYMBOL_GPL(mps_next_unacked);

struct mps_segment *mps_latest_sent(const struct mps_conn *conn)
{
	return NULL;
}
EXPORT_SYMBOL_GPL(mps_latest_sent);

struct mps_segment *mps_oldest_missing(struct mps_conn *conn, struct mps_subflow *subflow)
{
	return NULL;
}
EXPORT_SYMBOL_GPL(mps_oldest_missing);

void mps_halve_cwnd(struct mps_subflow *subflow)
{
}
EXPORT_SYMBOL_GPL(mps_halve_cwnd);

void mps_penalise(struct mps_subflow *subflow)
{
}
EXPORT_SYMBOL_GPL(mps_penalise);

void mps_distrust(struct mps_subflow *subflow, bool distrust)
{
	if (mps_is_there(subflow))
		subflow_core(subflow)->distrusted = distrust;
}
EXPORT_SYMBOL_GPL(mps_distrust);

void mps_set_linear_timeouts(struct mps_subflow *subflow, bool linear)
{
}
EXPORT_SYMBOL_GPL(mps_set_linear_timeouts);

bool mps_delays_comparable(const struct mps_conn *conn)
{
	return false;
}
EXPORT_SYMBOL_GPL(mps_delays_comparable);

struct mps_unit *mps_first_unit(const struct mps_conn *conn)
{
	return NULL;
}
EXPORT_SYMBOL_GPL(mps_first_unit);

struct mps_unit *mps_next_unit(const struct mps_conn *conn, const struct mps_unit *unit)
{
	return NULL;
}
EXPORT_SYMBOL_GPL(mps_next_unit);

struct mps_unit *mps_unit_of(const struct mps_conn *conn, const struct mps_segment *seg)
{
	return NULL;
}
EXPORT_SYMBOL_GPL(mps_unit_of);

bool mps_may_drop(const struct mps_conn *conn, const struct mps_unit *unit)
{
	return false;
}
EXPORT_SYMBOL_GPL(mps_may_drop);

void mps_event(const struct mps_conn *conn, const struct mps_subflow *subflow, u32 number)
{
}
EXPORT_SYMBOL_GPL(mps_event);
