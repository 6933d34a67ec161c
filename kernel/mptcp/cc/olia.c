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
 * As measured: the module of the out-of-tree kernels v0.9x. 2^10 of the increase
 * are added to a count with each acknowledgment, rounded towards 0; at 1023 the
 * window grows by one, at -1023 it shrinks by one, and the count begins anew. A
 * window in recovery is what it is reduced to. The best paths are those by
 * l / rtt^2, as here; bytes count when they are acknowledged out of recovery.
 *
 * Differs from the source:
 * - always: the source overflows 64 bits with windows from some 10,000 segments on,
 *   if RTTs differ much, and 32 bits with 4 GB between losses. Here that is bounded.
 * - exact: the source rounds the increase, and compares windows in segments. On, the
 *   draft's formula, in exact numbers and bytes.
 * - segments: the source counts acknowledgments. On, the segments that they
 *   acknowledge, as Linux's Reno has done since 4.0.
 * - used_only: the source has all subflows take part. On, a subflow that was never
 *   used, such as a backup, takes nothing from the others.
 * - draft_ssthresh: the source takes Reno's, at least two segments. On, at least
 *   one where there are several subflows, as the draft asks for.
 */

#include <kunit/visibility.h>
#include "../coupled.h"

#define SCALE	10		/* of windows, and of the count */
#define ENOUGH	(BIT(SCALE) - 1)	/* a segment, to be counted */

enum {
	DRAFT_SSTHRESH = COUPLED_PARAMS,
};

static const struct mps_param olia_params[] = {
	[COUPLED_EXACT] = MPS_BOOL("exact", 0, "the draft's formula in exact numbers"),
	[COUPLED_SEGMENTS] = MPS_BOOL("segments", 0,
				      "counts acknowledged segments, as Reno, not acknowledgments"),
	[COUPLED_USED_ONLY] = MPS_BOOL("used_only", 0,
				       "a subflow counts from its first acknowledged data on"),
	[DRAFT_SSTHRESH] = MPS_BOOL("draft_ssthresh", 0,
				    "ssthresh down to one segment with several subflows"),
};

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
	if (coupled_on(subflow, COUPLED_EXACT))
		return coupled_window_bytes(subflow) > coupled_window_bytes(than);
	return coupled_cwnd(subflow) > coupled_cwnd(than);
}

/* e: 1, -1 or 0 by *by */
static int epsilon(const struct coupled_group *group, const struct coupled_subflow *subflow,
		   u64 *by)
{
	const struct coupled_subflow *other, *best = subflow, *largest = subflow;
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

	*by = 1;
	if (best_but_small && !larger(largest, subflow)) {
		*by = all * of_largest;
		return -1;
	}
	if (best_but_small && !better(best, subflow)) {
		*by = all * best_but_small;
		return 1;
	}
	return 0;
}

/* --- as measured */

/* What an acknowledgment adds to the count.
 *
 *	w^2 / rate + e
 *	--------------, where rate is (sum of w_p rtt / rtt_p)^2
 *	       w
 */
VISIBLE_IF_KUNIT s64 olia_step(const struct coupled_group *group,
			       const struct coupled_subflow *subflow)
{
	u64 cwnd = coupled_cwnd(subflow), scaled = cwnd << SCALE, sum = 1, rate, by, own;
	const struct coupled_subflow *other;
	int e = epsilon(group, subflow, &by);
	u64 step;
	bool down;

	coupled_for_each(group, other)
		sum += div64_u64((coupled_cwnd(other) << SCALE) * coupled_srtt(subflow),
				 coupled_srtt(other));
	rate = min(sum, BIT_ULL(31)) * min(sum, BIT_ULL(31));
	own = by * scaled * scaled;

	/* dividing twice, and rounding each time, is dividing and rounding once */
	down = e < 0 && own < rate;
	step = e < 0 ? (down ? rate - own : own - rate) : own + e * rate;
	step = div64_u64(mul_u64_u64_div_u64(step, BIT(SCALE), rate), by * cwnd);
	return down ? -(s64)step : step;
}
EXPORT_SYMBOL_IF_KUNIT(olia_step);

static void measured_cong_avoid(struct sock *sk, u32 acked)
{
	struct coupled_group *group;
	struct olia *olia = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		tcp_slow_start(tp, acked);
		return;
	}

	group = coupled_lock(sk);
	if (group)
		olia->count += olia_step(group, &olia->coupled) * coupled_counts(sk, acked);
	coupled_unlock(group);
	if (abs(olia->count) < ENOUGH)
		return;
	tcp_snd_cwnd_set(tp, olia->count > 0 ? min(cwnd + 1, tp->snd_cwnd_clamp) :
					       max(cwnd, 2U) - 1);
	olia->count = 0;
}

/* --- exact */

/* With the share s of a subflow in the rate of all, the first term is s^2 / w. */
VISIBLE_IF_KUNIT s64 olia_factor(const struct coupled_group *group,
				 const struct coupled_subflow *subflow)
{
	u64 share = coupled_share(group, subflow), by;
	int e = epsilon(group, subflow, &by);

	return (s64)mul_u64_u64_shr(share, share, COUPLED_SHIFT) +
	       e * (s64)div64_u64(COUPLED_ONE, by);
}
EXPORT_SYMBOL_IF_KUNIT(olia_factor);

/* --- hooks */

static void olia_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct coupled_group *group = coupled_lock(sk);
	struct olia *olia = inet_csk_ca(sk);

	if (group)
		olia->since = tcp_sk(sk)->bytes_acked - olia->at_loss;
	coupled_unlock(group);

	if (!olia->coupled.group || coupled_on(&olia->coupled, COUPLED_EXACT))
		coupled_cong_avoid(sk, acked, olia_factor);
	else
		measured_cong_avoid(sk, acked);
}

/* A loss, or whatever else has TCP reduce the window. Without anything
 * acknowledged since, it tells nothing new.
 */
static void olia_set_state(struct sock *sk, u8 ca_state)
{
	struct coupled_group *group = coupled_lock(sk);
	struct olia *olia = inet_csk_ca(sk);

	if (group && ca_state >= TCP_CA_CWR && olia->since && !inet_csk(sk)->icsk_retransmits) {
		olia->between = olia->since;
		olia->at_loss += olia->since;
		olia->since = 0;
	}
	coupled_unlock(group);
}

static u32 olia_ssthresh(struct sock *sk)
{
	if (!coupled_on(inet_csk_ca(sk), DRAFT_SSTHRESH) || coupled_is_alone(sk))
		return tcp_reno_ssthresh(sk);
	return max(tcp_snd_cwnd(tcp_sk(sk)) / 2, 1U);
}

/* Of the losses before nothing is known. */
static void olia_init(struct sock *sk)
{
	struct olia *olia = inet_csk_ca(sk);

	olia->at_loss = tcp_sk(sk)->bytes_acked;
	coupled_init(sk);
	if (!coupled_on(&olia->coupled, COUPLED_USED_ONLY))
		coupled_tell(sk);
}

static struct coupled_ops olia_ops __read_mostly = {
	.tcp = {
		.init		= olia_init,
		.release	= coupled_release,
		.set_state	= olia_set_state,
		.pkts_acked	= coupled_pkts_acked,
		.cong_avoid	= olia_cong_avoid,
		.ssthresh	= olia_ssthresh,
		.undo_cwnd	= tcp_reno_undo_cwnd,
		.name		= "olia",
		.owner		= THIS_MODULE,
	},
	.params = { .name = "olia", .table = olia_params, .num = ARRAY_SIZE(olia_params) },
};

coupled_algorithm(olia_ops, olia);
