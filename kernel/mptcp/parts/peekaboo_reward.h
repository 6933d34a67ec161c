/* SPDX-License-Identifier: GPL-2.0-only */
/* Decisions of peekaboo that wait for their reward. */
#ifndef _MPTCP_LAB_PEEKABOO_REWARD_H
#define _MPTCP_LAB_PEEKABOO_REWARD_H

#include "mpsched.h"
#include "parts/linucb.h"

#define PEEKABOO_TRIALS		256

/* A decision. Its packet is the next one that joins the queue of `subflow`: of the faster
 * subflow after a wait.
 */
struct peekaboo_trial {
	u32	x[LINUCB_FEATURES];
	u32	subflow;	/* its id */
	u8	arm;
	bool	over;		/* no ACK changes the reward any more */
	u32	weight;		/* of the next ACK, in 2^-16 */
	u32	reward;		/* so far, in 2^-32 bytes per ns */
	u64	decided_ns;
	u64	window_ns;	/* T_r of the paper: rewards come in three of these */
	u64	mark_bytes;	/* of the subflow: its packet begins there */
};

/* In the order of decisions, and learnt in that order */
struct peekaboo_trials {
	u32	first;
	u32	num;
	struct peekaboo_trial ring[PEEKABOO_TRIALS];
};

/* An ACK, `age_ns` after the decision, of so many bytes that count. */
void peekaboo_reward(struct peekaboo_trial *trial, u64 age_ns, u64 bytes);

/* The reward of the authors' program: the first ACK alone, and it counts a full segment. */
void peekaboo_reward_own(struct peekaboo_trial *trial, u64 age_ns, u32 mss_bytes);

/* The oldest trial; NULL: none. */
static inline struct peekaboo_trial *peekaboo_oldest(struct peekaboo_trials *trials)
{
	return trials->num ? &trials->ring[trials->first] : NULL;
}

void peekaboo_forget_oldest(struct peekaboo_trials *trials);

/* Room for a further trial, which is zero; NULL: too many wait. */
struct peekaboo_trial *peekaboo_new_trial(struct peekaboo_trials *trials);

/* The hook on_ack(): `acked_bytes` of the subflow were acknowledged. */
void peekaboo_acked(struct peekaboo_trials *trials, const struct mps_subflow *subflow,
		    u64 acked_bytes, bool own_packet, u64 now_ns);

/* The subflow is gone: no trial gets an ACK of it any more. */
void peekaboo_gone(struct peekaboo_trials *trials, const struct mps_subflow *subflow);

#endif
