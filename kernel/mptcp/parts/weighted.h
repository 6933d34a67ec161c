/* SPDX-License-Identifier: GPL-2.0-only */
/* The state of weighted; the costs of paths, and their shares. */
#ifndef _MPTCP_LAB_WEIGHTED_H
#define _MPTCP_LAB_WEIGHTED_H

#include "mpsched.h"

/* The parameters; the first three are groups with one for each path. */
enum {
	SHARE = 0, COST = 8, CAP_MB = 16, STRICT = 24, PATIENCE_MS, FASTEST, MAX_RTT_MS, MAX_LOSS
};

struct weighted_subflow {
	u64	bytes;		/* carried */
	u64	turn;		/* carried per share, with what was forgone, */
	u32	rest;		/* and what that leaves of the division */
	u64	sent_ns;	/* when the latest was sent */
	/* its losses, smoothed over rounds as the RTT is over samples; both are scaled */
	u64	round_pkts;	/* in a round */
	u64	round_lost;	/* in a round, and lost */
	u32	rounds;		/* that are counted in these */
};

static inline struct weighted_subflow *weighted_state(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

/* The parameter of a group for this path; all paths behind the 8th have that of the 8th. */
static inline u32 weighted_path_param(const struct mps_conn *conn,
				      const struct mps_subflow *subflow, u32 group)
{
	return mps_param(conn, group + min(subflow->id, 8U) - 1);
}

/* --- costs: parts/weighted_cost.c */

/* The classes of paths, from the best to the last. */
enum { REGULAR, RESERVED, BACKUP };

u32 weighted_class(const struct mps_conn *conn, struct mps_subflow *subflow);

/* Is the path slower than max_rtt_ms, or does it lose more than max_loss_permille? */
bool weighted_exceeds(const struct mps_conn *conn, struct mps_subflow *subflow);

/* A path that exceeds costs as much as the dearest other one of its class, or more if
 * none is dearer anyway.
 */
s64 weighted_cost(const struct mps_conn *conn, struct mps_subflow *subflow);

/* The least cost above *cost of a usable path of the class. False: there is none. */
bool weighted_next_cost(struct mps_conn *conn, u32 class, s64 *cost);

/* The hook on_ack() */
void weighted_count_losses(struct mps_conn *conn, struct mps_subflow *subflow, u64 acked_bytes);

/* --- shares: parts/weighted_share.c. The hooks on_sent() and init_subflow(). */

void weighted_count_sent(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes);
void weighted_begin_turn(struct mps_conn *conn, struct mps_subflow *subflow);

#endif
