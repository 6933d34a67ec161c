// SPDX-License-Identifier: GPL-2.0-only
/* The subflows of a connection, as congestion control sees them.
 *
 * TCP calls a congestion control with the lock of one subflow, and without the lock of
 * the connection. Meanwhile msk->conn_list may change, and the other subflows may run on
 * other CPUs. So each subflow writes its figures into its own struct coupled_subflow, in
 * a list of ours, and reads nothing else of another subflow.
 *
 * Locks, in this order:
 *
 *	lock of the subflow's socket	TCP holds it when it calls
 *	coupled_group.lock		members of the group, and their figures
 *
 * and alone, groups_lock: the table of groups, and the count of each group's subflows.
 *
 * All with bottom halves off: TCP calls from softirq, and from processes.
 *
 * Life. TCP calls init() when a subflow is established, or when it gets another
 * algorithm. The subflow knows its connection by then: a joining one since its creation,
 * a passive one since the third packet of the handshake. TCP calls release() before
 * another algorithm, before the socket's next connection, and before its memory goes;
 * then it clears the area of our state. Accepted sockets are copies of listening ones,
 * for which TCP does not call init(): they are in no group. So a subflow in the list
 * exists, no visible memory is freed, and no RCU is needed. The first subflow makes the
 * group, the last one removes it. The group holds a reference to the connection, so no
 * other one gets its address.
 *
 * Subflows of a connection may have different algorithms, by the route of an address.
 * Each couples only with subflows of the same algorithm.
 */

#include <linux/hashtable.h>
#include <kunit/visibility.h>
#include "../protocol.h"
#include "coupled.h"

/* bounds of figures, see coupled.h; the MSS is at least TCP_MIN_SND_MSS */
#define MAX_CWND	(BIT(18) - 1)
#define MAX_MSS		U16_MAX
#define MAX_SRTT	(BIT(29) - 1)

/* far more than an ACK acknowledges; its product with a factor fits into 64 bits */
#define MAX_ACKED	BIT(24)

/* TCP calls init() of a passive subflow before the subflow is established */
#define CAN_SEND	(TCPF_ESTABLISHED | TCPF_CLOSE_WAIT | TCPF_SYN_RECV)

static DEFINE_SPINLOCK(groups_lock);
static DEFINE_HASHTABLE(groups, 8);

/* --- figures */

u64 coupled_snd_cwnd(const struct coupled_subflow *subflow)
{
	return clamp(subflow->snd_cwnd, 1U, MAX_CWND);
}
EXPORT_SYMBOL_IF_KUNIT(coupled_snd_cwnd);

u64 coupled_cwnd(const struct coupled_subflow *subflow)
{
	return clamp(subflow->cwnd, 1U, MAX_CWND);
}
EXPORT_SYMBOL_IF_KUNIT(coupled_cwnd);

u64 coupled_window_bytes(const struct coupled_subflow *subflow)
{
	return coupled_cwnd(subflow) * clamp(subflow->mss, (u32)TCP_MIN_SND_MSS, MAX_MSS);
}
EXPORT_SYMBOL_IF_KUNIT(coupled_window_bytes);

u64 coupled_srtt(const struct coupled_subflow *subflow)
{
	return clamp(subflow->srtt, 1U, MAX_SRTT);
}
EXPORT_SYMBOL_IF_KUNIT(coupled_srtt);

static bool faster(const struct coupled_subflow *subflow, const struct coupled_subflow *than)
{
	return coupled_window_bytes(subflow) * coupled_srtt(than) >
	       coupled_window_bytes(than) * coupled_srtt(subflow);
}

const struct coupled_subflow *coupled_fastest(const struct coupled_group *group)
{
	const struct coupled_subflow *subflow, *fastest = NULL;

	coupled_for_each(group, subflow)
		if (!fastest || faster(subflow, fastest))
			fastest = subflow;
	return fastest;
}
EXPORT_SYMBOL_IF_KUNIT(coupled_fastest);

/* w / rtt : W / RTT = w RTT / (W rtt) */
u64 coupled_relative_rate(const struct coupled_subflow *subflow,
			  const struct coupled_subflow *fastest)
{
	return mul_u64_u64_div_u64(coupled_window_bytes(subflow) * coupled_srtt(fastest),
				   COUPLED_ONE,
				   coupled_window_bytes(fastest) * coupled_srtt(subflow));
}
EXPORT_SYMBOL_IF_KUNIT(coupled_relative_rate);

u64 coupled_share(const struct coupled_group *group, const struct coupled_subflow *subflow)
{
	const struct coupled_subflow *other, *fastest = coupled_fastest(group);
	u64 all = 0;

	coupled_for_each(group, other)
		all += coupled_relative_rate(other, fastest);
	return mul_u64_u64_div_u64(coupled_relative_rate(subflow, fastest), COUPLED_ONE, all);
}
EXPORT_SYMBOL_IF_KUNIT(coupled_share);

/* --- groups */

/* The parameters that are on in the namespace, a bit for each. */
static u32 those_on(const struct sock *sk)
{
	const struct coupled_ops *ops = container_of(inet_csk(sk)->icsk_ca_ops,
						     struct coupled_ops, tcp);
	u32 values[MPS_PARAMS_MAX], on = 0;
	unsigned int i;

	mps_params_get(&ops->params, sock_net(sk), values);
	for (i = 0; i < ops->params.num; i++)
		on |= values[i] << i;
	return on;
}

static struct coupled_group *find_group(struct sock *conn, const struct tcp_congestion_ops *ops,
					u32 on)
{
	struct coupled_group *group;

	hash_for_each_possible(groups, group, node, (unsigned long)conn)
		if (group->conn == conn && group->ops == ops)
			return group;

	group = kzalloc(sizeof(*group), GFP_ATOMIC);
	if (!group)
		return NULL;
	sock_hold(conn);
	group->conn = conn;
	group->ops = ops;
	group->on = on;
	spin_lock_init(&group->lock);
	INIT_LIST_HEAD(&group->subflows);
	hash_add(groups, &group->node, (unsigned long)conn);
	return group;
}

/* The subflow joins the group's list with its first acknowledgment. */
void coupled_init(struct sock *sk)
{
	struct coupled_subflow *subflow = inet_csk_ca(sk);
	struct sock *conn = sk_is_mptcp(sk) ? mptcp_subflow_ctx(sk)->conn : NULL;

	subflow->on = those_on(sk);
	if (!conn)
		return;

	INIT_LIST_HEAD(&subflow->node);
	spin_lock_bh(&groups_lock);
	subflow->group = find_group(conn, inet_csk(sk)->icsk_ca_ops, subflow->on);
	if (subflow->group) {
		subflow->group->users++;
		subflow->on = subflow->group->on;
	}
	spin_unlock_bh(&groups_lock);
}

/* TCP also calls it for sockets that were never in a group, such as a connection's. */
void coupled_release(struct sock *sk)
{
	struct coupled_subflow *subflow = inet_csk_ca(sk);
	struct coupled_group *group = subflow->group;
	bool last;

	if (!group)
		return;

	spin_lock_bh(&group->lock);
	list_del(&subflow->node);
	spin_unlock_bh(&group->lock);

	spin_lock_bh(&groups_lock);
	last = !--group->users;
	if (last)
		hash_del(&group->node);
	spin_unlock_bh(&groups_lock);

	subflow->group = NULL;
	if (last) {
		sock_put(group->conn);
		kfree(group);
	}
}

struct coupled_group *coupled_lock(struct sock *sk)
{
	struct coupled_subflow *subflow = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	bool takes_part, recovers;

	if (!subflow->group)
		return NULL;

	recovers = inet_csk(sk)->icsk_ca_state == TCP_CA_Recovery;
	spin_lock_bh(&subflow->group->lock);
	subflow->snd_cwnd = tcp_snd_cwnd(tp);
	subflow->cwnd = recovers ? tp->snd_ssthresh : tcp_snd_cwnd(tp);
	subflow->srtt = tp->srtt_us;
	subflow->mss = tp->mss_cache;
	takes_part = tp->srtt_us && (BIT(sk->sk_state) & CAN_SEND);
	if (takes_part && list_empty(&subflow->node))
		list_add(&subflow->node, &subflow->group->subflows);
	else if (!takes_part)
		list_del_init(&subflow->node);
	if (takes_part)
		return subflow->group;
	spin_unlock_bh(&subflow->group->lock);
	return NULL;
}

void coupled_unlock(struct coupled_group *group)
{
	if (group)
		spin_unlock_bh(&group->lock);
}

/* --- hooks */

void coupled_tell(struct sock *sk)
{
	coupled_unlock(coupled_lock(sk));
}

bool coupled_is_alone(struct sock *sk)
{
	struct coupled_group *group = coupled_lock(sk);
	bool alone = !group || coupled_alone(group);

	coupled_unlock(group);
	return alone;
}

/* TCP has changed the window, or is about to. */
void coupled_set_state(struct sock *sk, u8 ca_state)
{
	coupled_tell(sk);
}

void coupled_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	coupled_tell(sk);
}

u32 coupled_counts(const struct sock *sk, u32 acked)
{
	return coupled_on(inet_csk_ca(sk), COUPLED_SEGMENTS) ? min(acked, MAX_ACKED) : 1;
}

/* True: the window has grown. */
static bool grow(struct sock *sk, u32 acked, u64 threshold)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (tp->snd_cwnd_cnt < threshold) {
		tp->snd_cwnd_cnt += coupled_counts(sk, acked);
		return false;
	}
	tp->snd_cwnd_cnt = 0;
	if (tcp_snd_cwnd(tp) >= tp->snd_cwnd_clamp)
		return false;
	tcp_snd_cwnd_set(tp, tcp_snd_cwnd(tp) + 1);
	return true;
}

void coupled_count_avoid(struct sock *sk, u32 acked, u64 (*threshold)(struct sock *sk),
			 void (*recompute)(struct sock *sk))
{
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tcp_sk(sk))) {
		tcp_slow_start(tcp_sk(sk), acked);
		recompute(sk);
	} else if (grow(sk, acked, threshold(sk))) {
		recompute(sk);
	}
}

/* tcp_cong_avoid_ai() for negative acknowledgments. */
static void shrink(struct tcp_sock *tp, u64 by)
{
	u32 cwnd = tcp_snd_cwnd(tp);

	if (by <= tp->snd_cwnd_cnt) {
		tp->snd_cwnd_cnt -= by;
	} else if (cwnd > 1) {
		tcp_snd_cwnd_set(tp, cwnd - 1);
		tp->snd_cwnd_cnt = max((s64)tp->snd_cwnd_cnt + cwnd - 1 - (s64)by, 0LL);
	} else {
		tp->snd_cwnd_cnt = 0;
	}
}

void coupled_cong_avoid(struct sock *sk, u32 acked, coupled_factor_t factor)
{
	struct coupled_subflow *subflow = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	s64 counts = COUPLED_ONE;
	struct coupled_group *group;

	if (!subflow->group) {
		tcp_reno_cong_avoid(sk, 0, acked);
		return;
	}
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}

	group = coupled_lock(sk);
	if (group)
		counts = factor(group, subflow);
	coupled_unlock(group);

	/* the fraction of a segment, never negative, waits for the next ACK */
	counts = counts * coupled_counts(sk, acked) + subflow->fraction;
	subflow->fraction = lower_32_bits(counts);
	counts >>= COUPLED_SHIFT;
	if (counts >= 0)
		tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), counts);
	else
		shrink(tp, -counts);
}

/* --- registration */

int coupled_register(struct coupled_ops *ops)
{
	int err = mps_params_register(&ops->params);

	if (err)
		return err;
	err = tcp_register_congestion_control(&ops->tcp);
	if (err)
		mps_params_unregister(&ops->params);
	return err;
}
