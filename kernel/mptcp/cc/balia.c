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
 * As measured: the module of the out-of-tree kernels v0.9x. The window grows with
 * the acknowledgment that finds 10 (sum of x)^2 w / ((x + max) (4 x + max))
 * others counted. That, and what a loss takes, are computed when the window has
 * grown, with each acknowledgment in slow start, after a timeout, and at the end
 * of recovery; a loss takes what was computed last. a is a whole number.
 *
 * Differs from the source:
 * - exact: in the source a is rounded down, so that a subflow with more than half
 *   of the highest rate is halved, not more; and a loss takes what was computed
 *   before it. On, the draft's formulas in exact numbers and bytes, with each
 *   acknowledgment, and at the loss.
 * - segments: the source counts acknowledgments. On, the segments that they
 *   acknowledge, as Linux's Reno has done since 4.0.
 * - used_only: the source has all subflows take part. On, a subflow that was never
 *   used, such as a backup, takes nothing from the others.
 */

#include <kunit/visibility.h>
#include "../coupled.h"

#define RATE_LIMIT	BIT(25)	/* of the highest rate, in bytes per second */
#define RATE_SHIFT	5	/* until it is less */

struct balia {
	struct coupled_subflow coupled;
	/* the owner's own; 0: nothing is computed yet */
	u64 acks;	/* that the window takes to grow */
	u32 lost;	/* segments that the window loses */
};

static const struct mps_param balia_params[] = {
	[COUPLED_EXACT] = MPS_BOOL("exact", 0, "the draft's formulas in exact numbers"),
	[COUPLED_SEGMENTS] = MPS_BOOL("segments", 0,
				      "counts acknowledged segments, as Reno, not acknowledgments"),
	[COUPLED_USED_ONLY] = MPS_BOOL("used_only", 0,
				       "a subflow counts from its first acknowledged data on"),
};

/* --- as measured */

/* In bytes per second, all with the MSS of one subflow. */
static u64 rate_of(const struct coupled_subflow *subflow, u32 mss)
{
	return div64_u64(clamp(mss, (u32)TCP_MIN_SND_MSS, (u32)U16_MAX) *
			 coupled_snd_cwnd(subflow) * (USEC_PER_SEC << 3), coupled_srtt(subflow));
}

static u64 highest_rate(const struct coupled_group *group, u32 mss)
{
	const struct coupled_subflow *subflow;
	u64 highest = 0;

	coupled_for_each(group, subflow)
		highest = max(highest, rate_of(subflow, mss));
	return highest;
}

/* 0: it grows at once, and then computes again */
VISIBLE_IF_KUNIT u64 balia_acks(const struct coupled_group *group,
				const struct coupled_subflow *subflow)
{
	u64 most = highest_rate(group, subflow->mss), sum = 0, cwnd = coupled_snd_cwnd(subflow);
	const struct coupled_subflow *other;
	u64 rate, acks;
	int shift = 0;

	if (coupled_alone(group) || !rate_of(subflow, subflow->mss))
		return 0;
	for (; most > RATE_LIMIT; most >>= RATE_SHIFT)
		shift += RATE_SHIFT;
	coupled_for_each(group, other)
		sum += rate_of(other, subflow->mss) >> shift;
	rate = rate_of(subflow, subflow->mss) >> shift;

	acks = div64_u64(sum * sum * 10, rate + most);
	return div64_u64(acks * cwnd, 4 * rate + most) ?: cwnd;
}
EXPORT_SYMBOL_IF_KUNIT(balia_acks);

/* Half of the window by a, of which only 1 and 3/2 are left. */
VISIBLE_IF_KUNIT u32 balia_lost(const struct coupled_group *group,
				const struct coupled_subflow *subflow)
{
	u64 half = coupled_snd_cwnd(subflow) / 2, rate = rate_of(subflow, subflow->mss);

	if (coupled_alone(group) || !rate)
		return 0;
	return div64_u64(highest_rate(group, subflow->mss), rate) < 2 ? half : half * 3 / 2;
}
EXPORT_SYMBOL_IF_KUNIT(balia_lost);

static void recompute(struct sock *sk)
{
	struct coupled_group *group = coupled_lock(sk);
	struct balia *balia = inet_csk_ca(sk);

	if (group) {
		balia->acks = balia_acks(group, &balia->coupled);
		balia->lost = balia_lost(group, &balia->coupled);
	}
	coupled_unlock(group);
}

/* The acknowledgments that a window of this subflow takes to grow. */
static u64 threshold(struct sock *sk)
{
	const struct balia *balia = inet_csk_ca(sk);

	return coupled_is_alone(sk) ? tcp_snd_cwnd(tcp_sk(sk)) : balia->acks;
}

/* --- exact */

/* With the share s in the rate of all, and S that of the fastest, the increase is
 * ((s + S) (4 s + S) / 10) / w.
 */
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

/* --- hooks */

static void balia_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	const struct coupled_subflow *subflow = inet_csk_ca(sk);

	if (!subflow->group || coupled_on(subflow, COUPLED_EXACT))
		coupled_cong_avoid(sk, acked, balia_factor);
	else
		coupled_count_avoid(sk, acked, threshold, recompute);
}

static u32 balia_ssthresh(struct sock *sk)
{
	struct coupled_group *group = coupled_lock(sk);
	const struct balia *balia = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk)), kept;

	if (!group || coupled_alone(group))
		kept = tcp_reno_ssthresh(sk);
	else if (coupled_on(&balia->coupled, COUPLED_EXACT))
		kept = balia_kept(group, &balia->coupled, cwnd);
	else
		kept = cwnd - min(cwnd, balia->lost);
	coupled_unlock(group);
	return max(kept, 1U);
}

static void balia_init(struct sock *sk)
{
	coupled_init(sk);
	if (!coupled_on(inet_csk_ca(sk), COUPLED_USED_ONLY))
		coupled_tell(sk);
}

static void balia_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_LOSS || event == CA_EVENT_COMPLETE_CWR)
		recompute(sk);
}

static struct coupled_ops balia_ops __read_mostly = {
	.tcp = {
		.init		= balia_init,
		.release	= coupled_release,
		.set_state	= coupled_set_state,
		.cwnd_event	= balia_cwnd_event,
		.pkts_acked	= coupled_pkts_acked,
		.cong_avoid	= balia_cong_avoid,
		.ssthresh	= balia_ssthresh,
		.undo_cwnd	= tcp_reno_undo_cwnd,
		.name		= "balia",
		.owner		= THIS_MODULE,
	},
	.params = { .name = "balia", .table = balia_params, .num = ARRAY_SIZE(balia_params) },
};

coupled_algorithm(balia_ops, balia);
