// SPDX-License-Identifier: GPL-2.0-only
/* olia: data moves to the best paths, which are those with the fewest losses.
 *
 * For each acknowledged segment the window of a subflow grows by
 *
 *	mss (w / rtt^2) / (sum of w / rtt)^2 + e / w
 *
 * segments; after a loss it is halved. l is the greater of the bytes that were
 * acknowledged since the last loss, and between the last two. The best paths are
 * those with the highest l / rtt^2, the largest those with the highest w. If
 * there are best paths that are not among the largest, each of them has
 * e = 1 / (n b), and each of the largest e = -1 / (n m), where n is the number of
 * subflows, b that of these best ones, and m that of the largest. All others,
 * and else all, have e = 0.
 *
 * Year: 2012
 * Couples: the growth of windows, and which paths are best
 * Source: draft-khalili-mptcp-congestion-control-05; R. Khalili, N. Gast,
 * M. Popovic, J.-Y. Le Boudec, "MPTCP is not Pareto-Optimal: Performance Issues
 * and a Possible Solution", IEEE/ACM Transactions on Networking 21(5), 2013.
 *
 * Works where LIA keeps a path busy that others need: it leaves a bad path but
 * for a segment or two. Fails where paths change: a window of that size finds
 * out late that its path is a good one again.
 *
 * Differs from the source: the paper's l / rtt^2, which is the rate of TCP at
 * that loss, squared; the window is at least one segment. Computed with the
 * share s of a subflow in the rate of all: the first term is s^2 / w.
 */

#include <kunit/visibility.h>
#include "../coupled.h"

/* l */
static u64 interval(const struct coupled_subflow *subflow)
{
	const struct olia *olia = container_of(subflow, struct olia, coupled);

	return max(olia->since, olia->between);
}

/* The higher l / rtt^2? */
static bool better(const struct coupled_subflow *subflow, const struct coupled_subflow *than)
{
	u64 rtt = coupled_srtt(subflow), than_rtt = coupled_srtt(than);

	return (u128)interval(subflow) * (than_rtt * than_rtt) >
	       (u128)interval(than) * (rtt * rtt);
}

static bool larger(const struct coupled_subflow *subflow, const struct coupled_subflow *than)
{
	return coupled_window_bytes(subflow) > coupled_window_bytes(than);
}

VISIBLE_IF_KUNIT s64 olia_factor(const struct coupled_group *group,
				 const struct coupled_subflow *subflow)
{
	const struct coupled_subflow *other, *best = subflow, *largest = subflow;
	u64 share = coupled_share(group, subflow);
	s64 factor = mul_u64_u64_shr(share, share, COUPLED_SHIFT);
	u64 all = 0, best_but_small = 0, of_largest = 0;

	coupled_for_each(group, other) {
		all++;
		if (better(other, best))
			best = other;
		if (larger(other, largest))
			largest = other;
	}
	coupled_for_each(group, other) {
		if (!larger(largest, other))
			of_largest++;
		else if (!better(best, other))
			best_but_small++;
	}

	if (best_but_small && !larger(largest, subflow))
		factor -= div64_u64(COUPLED_ONE, all * of_largest);
	else if (best_but_small && !better(best, subflow))
		factor += div64_u64(COUPLED_ONE, all * best_but_small);
	return factor;
}
EXPORT_SYMBOL_IF_KUNIT(olia_factor);

static void olia_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	coupled_cong_avoid(sk, acked, olia_factor);
}

/* A loss, or whatever else has TCP reduce the window; what is lost on the way
 * out of the same one does not come here. Without anything acknowledged since,
 * it tells nothing new.
 */
static u32 olia_ssthresh(struct sock *sk)
{
	struct coupled_group *group = coupled_lock(sk);
	struct olia *olia = inet_csk_ca(sk);

	if (group && tcp_sk(sk)->bytes_acked != olia->at_loss) {
		olia->between = tcp_sk(sk)->bytes_acked - olia->at_loss;
		olia->at_loss = tcp_sk(sk)->bytes_acked;
		olia->since = 0;
	}
	coupled_unlock(group);
	return tcp_reno_ssthresh(sk);
}

/* Of the losses before nothing is known. */
static void olia_init(struct sock *sk)
{
	struct olia *olia = inet_csk_ca(sk);

	olia->at_loss = tcp_sk(sk)->bytes_acked;
	coupled_init(sk);
}

static void olia_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct coupled_group *group = coupled_lock(sk);
	struct olia *olia = inet_csk_ca(sk);

	if (group)
		olia->since = tcp_sk(sk)->bytes_acked - olia->at_loss;
	coupled_unlock(group);
}

static struct tcp_congestion_ops olia_ops __read_mostly = {
	.init		= olia_init,
	.release	= coupled_release,
	.set_state	= coupled_set_state,
	.pkts_acked	= olia_pkts_acked,
	.cong_avoid	= olia_cong_avoid,
	.ssthresh	= olia_ssthresh,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.name		= "olia",
	.owner		= THIS_MODULE,
};

coupled_algorithm(olia_ops, olia);
