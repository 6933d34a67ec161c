/* SPDX-License-Identifier: GPL-2.0-only */
/* Congestion control that couples the subflows of a connection: declarations that its
 * algorithms, cc/NAME.c, share with each other and with their tests.
 *
 * The subflows of a connection with the same algorithm form a group. Each subflow reports
 * its window, RTT and MSS to the others. From these an algorithm computes by how much less
 * than Reno a subflow grows. Plain TCP is in no group: there, every algorithm but wvegas is
 * Reno, to the packet.
 *
 * By default, each algorithm is the module of the out-of-tree kernels v0.9x, with which
 * papers measured: with its integers, its times of computation, and its counting. Changes
 * of ours are parameters.
 */
#ifndef _MPTCP_LAB_COUPLED_H
#define _MPTCP_LAB_COUPLED_H

#include <net/tcp.h>
#include "params.h"

/* Shares and factors are in units of 2^-32. */
#define COUPLED_SHIFT	32
#define COUPLED_ONE	BIT_ULL(COUPLED_SHIFT)

/* Parameters are switches, MPS_BOOL: sysctls of each network namespace. A connection takes
 * their values when its first subflow is established. These are the first parameters of
 * lia, olia and balia.
 */
enum coupled_param {
	COUPLED_EXACT,
	COUPLED_SEGMENTS,
	COUPLED_USED_ONLY,
	COUPLED_PARAMS,
};

struct coupled_group;

/* The others' view of a subflow. An algorithm's own state, in icsk_ca_priv, begins with it. */
struct coupled_subflow {
	struct coupled_group	*group;		/* NULL: plain TCP, or no memory */
	u32			on;		/* parameters, a bit for each */

	/* the owner writes, the others read; under the group's lock */
	struct list_head	node;		/* in coupled_group.subflows, or empty */
	u32			snd_cwnd;	/* in segments */
	u32			cwnd;		/* the same; in recovery, its target */
	u32			srtt;		/* in us / 8 */
	u32			mss;		/* in bytes */

	u32			fraction;	/* of a segment; the owner's own */
};

struct coupled_group {
	struct hlist_node	node;		/* in the table of groups */
	struct sock		*conn;		/* with a reference */
	const struct tcp_congestion_ops *ops;
	unsigned int		users;		/* subflows that point here */
	u32			on;		/* parameters, a bit for each */

	spinlock_t		lock;		/* of the fields below, and the listed subflows */
	/* subflows with an RTT that can send new data; the newest first, as in v0.9x */
	struct list_head	subflows;
	u64			lia_alpha;
	bool			lia_stale;	/* alpha must be computed anew */
};

static inline bool coupled_on(const struct coupled_subflow *subflow, unsigned int param)
{
	return subflow->on & BIT(param);
}

static inline bool coupled_alone(const struct coupled_group *group)
{
	return list_is_singular(&group->subflows);
}

#define coupled_for_each(group, subflow) \
	list_for_each_entry(subflow, &(group)->subflows, node)

/* --- figures, of a group with at least one subflow in the list, under the lock
 *
 * Bounds on window, RTT and MSS let products of two figures fit into 64 bits: up to 262,143
 * segments of 48 to 65,535 bytes, and 67 s.
 */
u64 coupled_snd_cwnd(const struct coupled_subflow *subflow);
u64 coupled_cwnd(const struct coupled_subflow *subflow);
u64 coupled_window_bytes(const struct coupled_subflow *subflow);
u64 coupled_srtt(const struct coupled_subflow *subflow);

/* The subflow with the highest rate, window by RTT. */
const struct coupled_subflow *coupled_fastest(const struct coupled_group *group);

/* A rate relative to the fastest subflow's; at most 1. */
u64 coupled_relative_rate(const struct coupled_subflow *subflow,
			  const struct coupled_subflow *fastest);

/* The subflow's share of the rate of all; 1 when alone. */
u64 coupled_share(const struct coupled_group *group, const struct coupled_subflow *subflow);

/* --- functions that algorithms share */

/* The weight of an acknowledged segment in the window's growth. Reno's is one: its window
 * grows by one for each window of acknowledged segments. Negative: the window shrinks. The
 * subflow is in the list; under the lock.
 */
typedef s64 (*coupled_factor_t)(const struct coupled_group *group,
				const struct coupled_subflow *subflow);

void coupled_init(struct sock *sk);
void coupled_release(struct sock *sk);
void coupled_set_state(struct sock *sk, u8 ca_state);
void coupled_pkts_acked(struct sock *sk, const struct ack_sample *sample);
/* Reports the figures of sk to the others. */
void coupled_tell(struct sock *sk);
/* Slow start as in TCP, then growth by the factor. */
void coupled_cong_avoid(struct sock *sk, u32 acked, coupled_factor_t factor);
/* The weight of an acknowledgment of this many segments. */
u32 coupled_counts(const struct sock *sk, u32 acked);
/* Slow start, then counting as in v0.9x: the acknowledgment at which the count has reached
 * the threshold lets the window grow, and does not itself count. recompute() follows each
 * acknowledgment in slow start, and each growth of the window.
 */
void coupled_count_avoid(struct sock *sk, u32 acked, u64 (*threshold)(struct sock *sk),
			 void (*recompute)(struct sock *sk));
/* Is the subflow alone in its group, or in none? Reports the figures of sk to the others. */
bool coupled_is_alone(struct sock *sk);

/* Locks the group of sk, and reports its figures to the others. NULL, without the lock: sk
 * is in no group, or not in the list.
 */
struct coupled_group *coupled_lock(struct sock *sk);
void coupled_unlock(struct coupled_group *group);

/* An algorithm, and its parameters. */
struct coupled_ops {
	struct tcp_congestion_ops	tcp;
	struct mps_params		params;
};

int coupled_register(struct coupled_ops *ops);

/* Registers the algorithm when the kernel starts. */
#define coupled_algorithm(ops, state)						\
static int __init ops##_register(void)						\
{										\
	BUILD_BUG_ON(offsetof(struct state, coupled));				\
	BUILD_BUG_ON(sizeof(struct state) > ICSK_CA_PRIV_SIZE);			\
	return coupled_register(&(ops));					\
}										\
late_initcall(ops##_register)

/* --- declarations for tests */

struct olia {
	struct coupled_subflow	coupled;
	/* acknowledged bytes; under the group's lock */
	u64			since;		/* since the last loss, */
	u64			between;	/* and between the last two */
	/* the owner's own */
	u64			at_loss;	/* all acknowledged bytes at the last loss */
	s64			count;		/* of a segment, in 2^-10 */
};

struct wvegas {
	struct coupled_subflow	coupled;
	/* the owner writes, the others read */
	u64			rate;		/* when the queue was long enough; 0: not yet */
	u32			rtts;		/* samples of the round */
	/* the owner's own */
	u32			rtt_us;		/* the least of the round */
	u64			rtt_sum_us;
	u32			round_end;	/* the ACK of this byte ends the round */
	u32			base_us;	/* the least RTT; 0: none yet */
	u32			alpha;		/* segments to be in the queue */
	u32			weight;		/* part of all rates, in 2^-16 */
	u32			queue_us;	/* the least delay of the queue; 0: unknown */
	bool			doing;		/* no loss, reordering, ECN */
};

enum wvegas_param {
	WVEGAS_ALPHA_DRAIN,
	WVEGAS_LEAST_RTT,
	WVEGAS_USED_WINDOW,
	WVEGAS_TCP_RATE,
};

#if IS_ENABLED(CONFIG_KUNIT)
u64 lia_alpha(const struct coupled_group *group);
s64 lia_factor(const struct coupled_group *group, const struct coupled_subflow *subflow);
s64 olia_step(const struct coupled_group *group, const struct coupled_subflow *subflow);
s64 olia_factor(const struct coupled_group *group, const struct coupled_subflow *subflow);
u64 balia_acks(const struct coupled_group *group, const struct coupled_subflow *subflow);
u32 balia_lost(const struct coupled_group *group, const struct coupled_subflow *subflow);
s64 balia_factor(const struct coupled_group *group, const struct coupled_subflow *subflow);
u32 balia_kept(const struct coupled_group *group, const struct coupled_subflow *subflow,
	       u32 cwnd);
u32 wvegas_queued(const struct wvegas *wvegas, u32 cwnd, u32 rtt_us);
u32 wvegas_out_of_slow_start(const struct wvegas *wvegas, u32 cwnd, u32 rtt_us);
u32 wvegas_window(struct wvegas *wvegas, u32 cwnd, u32 rtt_us, u64 share, u32 *ssthresh);
#endif

#endif
