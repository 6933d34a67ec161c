/* SPDX-License-Identifier: GPL-2.0-only */
/* Congestion control that couples the subflows of a connection: what its
 * algorithms, cc/NAME.c, share with each other and with their tests.
 *
 * The subflows of a connection with the same algorithm are a group. Each tells
 * the others its window, its RTT and its MSS; from these an algorithm computes
 * by how much less than Reno a subflow grows. A subflow without others, and
 * plain TCP, are alone in their group: there, every algorithm but wvegas is
 * Reno, to the packet.
 */
#ifndef _MPTCP_LAB_COUPLED_H
#define _MPTCP_LAB_COUPLED_H

#include <net/tcp.h>

/* Shares and factors are in units of 2^-32. */
#define COUPLED_SHIFT	32
#define COUPLED_ONE	BIT_ULL(COUPLED_SHIFT)

struct coupled_group;

/* A subflow as the others see it. An algorithm's own state, in icsk_ca_priv,
 * begins with it.
 */
struct coupled_subflow {
	struct coupled_group	*group;		/* NULL: plain TCP, or no memory */

	/* written by the owner, read by the others; under the group's lock */
	struct list_head	node;		/* in coupled_group.subflows, or empty */
	u32			cwnd;		/* in segments */
	u32			srtt;		/* in us / 8 */
	u32			mss;		/* in bytes */

	u32			fraction;	/* of a segment that counts; the owner's own */
};

struct coupled_group {
	struct hlist_node	node;		/* in the table of groups */
	struct sock		*conn;		/* with a reference */
	const struct tcp_congestion_ops *ops;
	unsigned int		users;		/* subflows that point here */

	spinlock_t		lock;		/* of the list, and what is in it */
	struct list_head	subflows;	/* those with an RTT, that can send new data */
};

#define coupled_for_each(group, subflow) \
	list_for_each_entry(subflow, &(group)->subflows, node)

/* --- figures, of a group with at least one subflow in the list, under the lock
 *
 * Whatever the kernel has in a window, an RTT and an MSS, these are bounded so
 * that products of two fit into 64 bits: up to 262,143 segments of 48 to 65,535
 * bytes, and 67 s.
 */
u64 coupled_window_bytes(const struct coupled_subflow *subflow);
u64 coupled_srtt(const struct coupled_subflow *subflow);

/* The one with the highest rate, that is window by RTT. */
const struct coupled_subflow *coupled_fastest(const struct coupled_group *group);

/* A rate in parts of another one that is not lower; at most 1. */
u64 coupled_relative_rate(const struct coupled_subflow *subflow,
			  const struct coupled_subflow *fastest);

/* The part that it has of the rate of all; at most 1, and that when alone. */
u64 coupled_share(const struct coupled_group *group, const struct coupled_subflow *subflow);

/* --- what algorithms have in common */

/* What an acknowledged segment counts for the growth of the window, where it is
 * one for Reno, which grows by one when a window of them was acknowledged.
 * Negative: it shrinks. The subflow is in the list; under the lock.
 */
typedef s64 (*coupled_factor_t)(const struct coupled_group *group,
				const struct coupled_subflow *subflow);

void coupled_init(struct sock *sk);
void coupled_release(struct sock *sk);
void coupled_set_state(struct sock *sk, u8 ca_state);
void coupled_pkts_acked(struct sock *sk, const struct ack_sample *sample);
/* Slow start as ever, then by the factor. */
void coupled_cong_avoid(struct sock *sk, u32 acked, coupled_factor_t factor);

/* Locks the group of sk, and tells the others of it. NULL, and no lock, where it
 * is in none, or not in the list.
 */
struct coupled_group *coupled_lock(struct sock *sk);
void coupled_unlock(struct coupled_group *group);

/* Registers the algorithm when the kernel starts. */
#define coupled_algorithm(ops, state)						\
static int __init ops##_register(void)						\
{										\
	BUILD_BUG_ON(offsetof(struct state, coupled));				\
	BUILD_BUG_ON(sizeof(struct state) > ICSK_CA_PRIV_SIZE);			\
	return tcp_register_congestion_control(&(ops));				\
}										\
late_initcall(ops##_register)

/* --- what tests look at, besides the above */

struct olia {
	struct coupled_subflow	coupled;
	/* in bytes that were acknowledged; under the group's lock */
	u64			since;		/* since the last loss, */
	u64			between;	/* and between the last two */
	u64			at_loss;	/* in all, at the last one; the owner's own */
};

struct wvegas {
	struct coupled_subflow	coupled;
	/* all of it the owner's own */
	u64			rtt_sum_us;	/* of the round, */
	u32			rtts;		/* from so many samples, */
	u32			rtt_us;		/* and the least of them */
	u32			round_end;	/* it ends when this is acknowledged */
	u32			base_us;	/* the least RTT; 0: none yet */
	u32			alpha;		/* segments to be in the queue */
	u32			queue_us;	/* the least delay that made; 0: unknown */
	bool			on;		/* no loss, reordering, ECN */
};

#if IS_ENABLED(CONFIG_KUNIT)
s64 lia_factor(const struct coupled_group *group, const struct coupled_subflow *subflow);
s64 olia_factor(const struct coupled_group *group, const struct coupled_subflow *subflow);
s64 balia_factor(const struct coupled_group *group, const struct coupled_subflow *subflow);
u32 balia_kept(const struct coupled_group *group, const struct coupled_subflow *subflow,
	       u32 cwnd);
u32 wvegas_queued(const struct wvegas *wvegas, u32 cwnd, u32 rtt_us);
u32 wvegas_out_of_slow_start(const struct wvegas *wvegas, u32 cwnd, u32 rtt_us);
u32 wvegas_window(struct wvegas *wvegas, u32 cwnd, u32 rtt_us, u64 share);
#endif

#endif
