/* SPDX-License-Identifier: GPL-2.0-only */
/* The adapter, for its own files and the probe. */
#ifndef _MPTCP_LAB_ADAPTER_H
#define _MPTCP_LAB_ADAPTER_H

#include <linux/rhashtable.h>
#include <linux/workqueue.h>

#include "../framework.h"

/* A scheduler that waits with nothing in flight is asked again after this time. */
#define MPS_ADAPTER_WAIT_NS	(200 * NSEC_PER_MSEC)

/* The state of a connection. */
struct adapter_conn {
	struct mptcp_sock	*msk;		/* the key of the hash table: never changes */
	struct rhash_head	node;
	struct rcu_head		rcu;
	refcount_t		refs;		/* release(), and a timer's work */
	struct work_struct	wake;
	const struct mps_registration *registration;	/* its module is held */
	u64			local_key;	/* of the connection, not only of the socket */
	u64			idle_since_ns;	/* waits with nothing in flight; 0: does not */
	u64			pick_seq;	/* where the latest pick began */
	struct mps_subflow	*picked;	/* its subflow; NULL: none, or it is gone */
	u64			again_seq;	/* latest fragment sent again on a busy subflow */
	u32			again_id;	/* the id of that subflow; 0: none */
	u32			grain_bytes;	/* of a choice; 0: a fragment .. */
	u32			burst_bytes;	/* .. or several, up to so much; 0: one */
	bool			lacks_slot;	/* a subflow got none: there was no memory */
	bool			cut;		/* the window ends with a choice, not at .. */
	u64			wnd_end;	/* .. its own end */
	struct mps_conn_core	core;		/* and the scheduler's own state */
};

/* conns.c */

/* The state of a connection, made if necessary; NULL: there is no memory. */
struct adapter_conn *mps_adapter_conn(struct mptcp_sock *msk);
/* The state, or NULL: the connection has none yet. */
struct adapter_conn *mps_adapter_lookup(struct mptcp_sock *msk);
/* Reports what was sent since the latest question, and brings the view up to date. */
void mps_adapter_refresh(struct adapter_conn *own);
/* Has the scheduler limited the subflow, and not only TCP? */
static inline bool mps_adapter_limited(const struct mps_subflow *subflow)
{
	return subflow->limit_pkts < subflow->cwnd_pkts;
}

/* The bytes that a subflow has room for, as mps_has_room() says. */
u32 mps_adapter_room(const struct mps_subflow *subflow);
/* Ends the window of net/mptcp with the latest choice, if there is a grain or a limit. */
void mps_adapter_cut(struct adapter_conn *own);
/* The bytes of the choice that the first unsent fragment is next, or begins with. */
u32 mps_adapter_choice_bytes(const struct adapter_conn *own, const struct mptcp_data_frag *frag);
/* Where the next data begins, as a data sequence number. Behind it, all is unsent. */
u64 mps_adapter_next_seq(const struct mptcp_sock *msk);
/* What mptcp_subflow_active() says, without its writes. A subflow that had a timeout is not
 * usable before an ACK has brought something new.
 */
bool mps_adapter_is_active(struct mptcp_subflow_context *ctx);
int mps_adapter_conns_init(void);
void mps_adapter_conns_exit(void);

/* The counters of a connection; NULL: it has no scheduler of ours, or has sent nothing yet.
 * Under RCU, and with the socket's data lock.
 */
const struct mps_conn_core *mps_adapter_core(struct mptcp_sock *msk);

/* sysctls.c */

/* The scheduler of a connection that begins, by the rules of its namespace or else by its
 * socket. The caller puts the module of its ops.
 */
struct mps_registration *mps_choose(const struct mptcp_sock *msk);
/* The grain of the connections of a namespace that begin, in bytes; 0: a fragment. */
u32 mps_grain_bytes(struct net *net);
int mps_adapter_sysctls_init(void);
void mps_adapter_sysctls_exit(void);

#endif
