// SPDX-License-Identifier: GPL-2.0-only
/* The subflows of a connection, as congestion control sees them.
 *
 * TCP calls a congestion control with the lock of one subflow, and not with that
 * of the connection: msk->conn_list may change meanwhile, and the other subflows
 * may be at work on other CPUs. So each subflow writes what others need into its
 * own struct coupled_subflow, which is in a list of ours, and reads nothing of
 * another subflow but that.
 *
 * Locks, in this order:
 *
 *	lock of the subflow's socket	held by TCP when it calls
 *	coupled_group.lock		who takes part in it, and their figures
 *
 * and alone, groups_lock: which groups there are, and how many subflows know each.
 *
 * All with bottom halves off: TCP calls from softirq, and from processes.
 *
 * Life. TCP calls init() when a subflow is established, or when its algorithm
 * is chosen later; by then it knows its connection: a joining one since it was
 * created, a passive one since the third packet of the handshake. It calls
 * release() before another algorithm is chosen, before the socket is used for
 * another connection, and before its memory goes; and after that the area for
 * our state is cleared. Accepted sockets are copied from listening ones, which
 * are never in a group: init() is not called there. So who is in the list is
 * there, no memory is freed while anybody can see it, and no RCU is needed. The
 * first subflow makes the group, the last one removes it. The group holds the
 * connection, so that its address is not that of another one.
 *
 * Algorithms may differ among the subflows of a connection, for an address can
 * have its own by a route: each couples with those of its kind only.
 */

#include <linux/hashtable.h>
#include <kunit/visibility.h>
#include "../protocol.h"
#include "coupled.h"

/* bounds of figures, see coupled.h; the MSS is at least TCP_MIN_SND_MSS */
#define MAX_CWND	(BIT(18) - 1)
#define MAX_MSS		U16_MAX
#define MAX_SRTT	(BIT(29) - 1)

/* far more than an ACK acknowledges; times a factor it fits into 64 bits */
#define MAX_ACKED	BIT(24)

static DEFINE_SPINLOCK(groups_lock);
static DEFINE_HASHTABLE(groups, 8);

/* --- figures */

u64 coupled_window_bytes(const struct coupled_subflow *subflow)
{
	return (u64)clamp(subflow->cwnd, 1U, MAX_CWND) *
	       clamp(subflow->mss, (u32)TCP_MIN_SND_MSS, MAX_MSS);
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

static struct coupled_group *find_group(struct sock *conn, const struct tcp_congestion_ops *ops)
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
	spin_lock_init(&group->lock);
	INIT_LIST_HEAD(&group->subflows);
	hash_add(groups, &group->node, (unsigned long)conn);
	return group;
}

/* It takes part from its first acknowledgment on: a subflow that was never used,
 * such as a backup, takes nothing from the others.
 */
void coupled_init(struct sock *sk)
{
	struct coupled_subflow *subflow = inet_csk_ca(sk);
	struct sock *conn = sk_is_mptcp(sk) ? mptcp_subflow_ctx(sk)->conn : NULL;

	if (!conn)
		return;

	INIT_LIST_HEAD(&subflow->node);
	spin_lock_bh(&groups_lock);
	subflow->group = find_group(conn, inet_csk(sk)->icsk_ca_ops);
	if (subflow->group)
		subflow->group->users++;
	spin_unlock_bh(&groups_lock);
}

/* Also called for sockets that were never in a group, a connection's among them. */
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
	bool takes_part;

	if (!subflow->group)
		return NULL;

	spin_lock_bh(&subflow->group->lock);
	/* while it is reduced step by step, the window that it is reduced to */
	subflow->cwnd = tcp_in_cwnd_reduction(sk) ? tp->snd_ssthresh : tcp_snd_cwnd(tp);
	subflow->srtt = tp->srtt_us;
	subflow->mss = tp->mss_cache;
	takes_part = tp->srtt_us && (BIT(sk->sk_state) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT));
	if (takes_part && list_empty(&subflow->node))
		list_add_tail(&subflow->node, &subflow->group->subflows);
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

/* TCP has changed the window, or is about to. */
void coupled_set_state(struct sock *sk, u8 ca_state)
{
	coupled_unlock(coupled_lock(sk));
}

void coupled_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	coupled_unlock(coupled_lock(sk));
}

/* As tcp_cong_avoid_ai() with less than nothing acknowledged. */
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

	/* what is less than a segment is kept for the next time, always positive */
	counts = counts * min(acked, MAX_ACKED) + subflow->fraction;
	subflow->fraction = lower_32_bits(counts);
	counts >>= COUPLED_SHIFT;
	if (counts >= 0)
		tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), counts);
	else
		shrink(tp, -counts);
}
