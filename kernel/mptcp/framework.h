/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of the framework share with each other and with its tests.
 * The functions that net/mptcp calls are declared in its protocol.h.
 */
#ifndef _MPTCP_LAB_FRAMEWORK_H
#define _MPTCP_LAB_FRAMEWORK_H

#include "../protocol.h"
#include "mpsched.h"

/* A data fragment of net/mptcp that never holds more than one segment. It lies
 * in front of its data.
 */
struct mps_segment {
	struct mptcp_data_frag	frag;		/* on mptcp_sock.rtx_queue */
	struct list_head	unsent;		/* on mps_conn.unsent, or empty */
	struct list_head	reinject;	/* on mps_conn.reinject, or empty */
	u32			carried;	/* by these slots; cleared when one goes */
	bool			split;		/* it left in pieces, perhaps on several */
};

static inline struct mps_segment *mps_segment(const struct mptcp_data_frag *dfrag)
{
	return container_of(dfrag, struct mps_segment, frag);
}

/* The registered scheduler of that name, NULL if there is none. */
const struct mps_ops *mps_find(const char *name);

/* registry.c: the parameters of new connections of a network namespace */
void mps_params_get(const struct mps_ops *ops, struct net *net, u32 *values);

/* framework.c, called by what registry.c registers with net/mptcp */
void mps_conn_init(struct mptcp_sock *msk);
void mps_conn_release(struct mptcp_sock *msk);
int mps_get_subflow(struct mptcp_sock *msk, struct mptcp_sched_data *data);

/* units.c: a waiting one that begins at seq; take it from those that wait
 * (keep_unit), with its data from the queue, too (drop_unit, under the data
 * lock); what was sent; what was written; forget all
 */
struct mps_unit *mps_unit_at(const struct mps_conn *conn, u64 seq);
void mps_keep_unit(struct mps_conn *conn, struct mps_unit *unit, bool dropped);
void mps_drop_unit(struct mps_conn *conn, struct mps_unit *unit);
void mps_units_sent(struct mps_conn *conn);
void mps_unit_written(struct mps_conn *conn, u32 bytes);
void mps_forget_units(struct mps_conn *conn);
/* the same as the socket option, without its checks of the socket */
int mps_announce_unit(struct mps_conn *conn, const struct mptcp_unit *what);

/* framework.c: it is not unsent any more */
void mps_forget_unsent(struct mps_conn *conn, struct mps_segment *seg);

/* framework.c, for tests: check and carry out a pick as the framework does */
const char *mps_check_pick(struct mps_conn *conn, const struct mps_pick *pick,
			   struct mps_segment **seg);
void mps_recover(struct mps_conn *conn);
void mps_doubt(struct mps_conn *conn, const struct mps_subflow *subflow,
	       struct mps_segment *seg);
void mps_read_timestamps(struct mps_subflow *subflow);

#endif
