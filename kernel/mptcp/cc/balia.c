// SPDX-License-Identifier: GPL-2.0-only
/* balia: a balance of friendliness to TCP and of quick use of what is free.
 *
 * With x = w / rtt, the rate of a subflow, and a = max(x) / x, for each
 * acknowledged segment the window grows by
 *
 *	mss x / (rtt (sum of x)^2)  (1 + a) / 2  (4 + a) / 5
 *
 * segments, and after a loss it loses w / 2 min(a, 3/2): the fastest subflow is
 * halved, as with Reno, and the slower ones lose up to three quarters.
 *
 * Year: 2016
 * Couples: the growth of windows, and what a loss takes
 * Source: draft-walid-mptcp-congestion-control-04; Q. Peng, A. Walid, J. Hwang,
 * S. Low, "Multipath TCP: Analysis, Design, and Implementation", IEEE/ACM
 * Transactions on Networking 24(1), 2016.
 *
 * Works where LIA does. Fails to give a slow path back what a lone loss took:
 * the factor 3/2 is there for any cause. As with all that are coupled, paths
 * without others in them are filled more slowly than with Reno.
 *
 * Differs from the source: nothing. Computed with the share s of a subflow in
 * the rate of all, and S that of the fastest: the increase is
 * ((s + S) (4 s + S) / 10) / w. What is kept after a loss is rounded down, as
 * with Reno, and is at least two segments.
 */

#include <kunit/visibility.h>
#include "../coupled.h"

struct balia {
	struct coupled_subflow coupled;
};

VISIBLE_IF_KUNIT s64 balia_factor(const struct coupled_group *group,
				  const struct coupled_subflow *subflow)
{
	u64 most = coupled_share(group, coupled_fastest(group));
	u64 share = coupled_share(group, subflow);

	return div_u64(mul_u64_u64_shr(share + most, 4 * share + most, COUPLED_SHIFT), 10);
}
EXPORT_SYMBOL_IF_KUNIT(balia_factor);

/* w (1 - a / 2), where 1 / a is the rate relative to the fastest; with 3/2 for a, w / 4 */
VISIBLE_IF_KUNIT u32 balia_kept(const struct coupled_group *group,
				const struct coupled_subflow *subflow, u32 cwnd)
{
	u64 rate = coupled_relative_rate(subflow, coupled_fastest(group));

	if (3 * rate <= 2 * COUPLED_ONE)
		return cwnd / 4;
	return div64_u64(cwnd * (2 * rate - COUPLED_ONE), 2 * rate);
}
EXPORT_SYMBOL_IF_KUNIT(balia_kept);

static void balia_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	coupled_cong_avoid(sk, acked, balia_factor);
}

static u32 balia_ssthresh(struct sock *sk)
{
	struct coupled_group *group = coupled_lock(sk);
	u32 kept;

	if (!group)
		return tcp_reno_ssthresh(sk);
	kept = balia_kept(group, inet_csk_ca(sk), tcp_snd_cwnd(tcp_sk(sk)));
	coupled_unlock(group);
	return max(kept, 2U);
}

static struct tcp_congestion_ops balia_ops __read_mostly = {
	.init		= coupled_init,
	.release	= coupled_release,
	.set_state	= coupled_set_state,
	.pkts_acked	= coupled_pkts_acked,
	.cong_avoid	= balia_cong_avoid,
	.ssthresh	= balia_ssthresh,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.name		= "balia",
	.owner		= THIS_MODULE,
};

coupled_algorithm(balia_ops, balia);
