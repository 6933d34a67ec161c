// SPDX-License-Identifier: GPL-2.0-only
/* lia: all subflows together take what TCP would on the best path.
 *
 * For each acknowledged segment the window of subflow i grows by
 *
 *	min(mss_i max(w / rtt^2) / (sum of w / rtt)^2, 1 / w_i)
 *
 * segments, where w and mss are in bytes in the first term: the same increase on
 * all subflows, so that one with losses carries less, but at most that of Reno.
 * After a loss the window is halved. Slow start is that of TCP.
 *
 * Year: 2011
 * Couples: the growth of windows
 * Source: RFC 6356; D. Wischik, C. Raiciu, A. Greenhalgh, M. Handley, "Design,
 * Implementation and Evaluation of Congestion Control for Multipath TCP", NSDI
 * 2011.
 *
 * Works where subflows share a bottleneck with TCP: together they take what one
 * connection does. Fails to leave a bad path altogether: it goes on with a window
 * there, which others could have used (OLIA). On paths without others in them,
 * the windows come back more slowly after a loss than with Reno.
 *
 * As measured: the module "coupled" of the out-of-tree kernels v0.9x. alpha =
 * max(w / rtt^2) / (sum of w / rtt)^2 is a whole number of 2^-12, at least 1, of
 * the connection. It is computed when a window has grown, with each
 * acknowledgment in slow start, after a timeout, and after a change of TCP's
 * state. The window grows with the acknowledgment that finds max(1 / alpha, w)
 * others counted.
 *
 * Differs from the source:
 * - always: the source's sum of w / rtt overflows with 2^18 segments and RTTs of 4
 *   and 67 s; here it is bounded.
 * - exact: the source compares w / rtt^2 in whole numbers of 2^-26 / us^2, which
 *   are 0 for w < (rtt / 8192 us)^2, and then takes the first subflow for the best;
 *   alpha and 1 / alpha are rounded down, and are those of the latest event. On,
 *   RFC 6356's formula, in exact numbers and bytes, with each acknowledgment.
 * - segments: the source counts acknowledgments. On, the segments that they
 *   acknowledge, as Linux's Reno has done since 4.0.
 * - used_only: the source has all subflows take part. On, a subflow that was never
 *   used, such as a backup, takes nothing from the others.
 */

#include <kunit/visibility.h>
#include "../coupled.h"

#define ALPHA_SHIFT	12	/* alpha is in 2^-12 */
#define QUALITY_SHIFT	32	/* of w / rtt^2, by 64 / us^2 */
#define SUM_SHIFT	10	/* of w; 2^32 / (2^10)^2 is what alpha is in */

struct lia {
	struct coupled_subflow coupled;
};

static const struct mps_param lia_params[] = {
	[COUPLED_EXACT] = MPS_BOOL("exact", 0, "RFC 6356's formula in exact numbers"),
	[COUPLED_SEGMENTS] = MPS_BOOL("segments", 0,
				      "counts acknowledged segments, as Reno, not acknowledgments"),
	[COUPLED_USED_ONLY] = MPS_BOOL("used_only", 0,
				       "a subflow counts from its first acknowledged data on"),
};

/* --- as measured */

/* The last one of those with the highest w / rtt^2, as far as that can be told. */
static const struct coupled_subflow *measured_best(const struct coupled_group *group)
{
	const struct coupled_subflow *subflow, *best = NULL;
	u64 quality, highest = 0;

	coupled_for_each(group, subflow) {
		quality = div64_u64(coupled_snd_cwnd(subflow) << QUALITY_SHIFT,
				    coupled_srtt(subflow) * coupled_srtt(subflow));
		if (quality >= highest) {
			highest = quality;
			best = subflow;
		}
	}
	return best;
}

VISIBLE_IF_KUNIT u64 lia_alpha(const struct coupled_group *group)
{
	const struct coupled_subflow *subflow, *best;
	u64 sum = 0;

	if (list_empty(&group->subflows) || coupled_alone(group))
		return 1;
	best = measured_best(group);
	coupled_for_each(group, subflow)
		sum += div64_u64((coupled_snd_cwnd(subflow) << SUM_SHIFT) * coupled_srtt(best),
				 coupled_srtt(subflow));
	sum = min_t(u64, sum, U32_MAX);
	return max(div64_u64(coupled_snd_cwnd(best) << QUALITY_SHIFT, sum * sum), 1ULL);
}
EXPORT_SYMBOL_IF_KUNIT(lia_alpha);

static void recompute(struct sock *sk)
{
	struct coupled_group *group = coupled_lock(sk);

	if (group)
		group->lia_alpha = lia_alpha(group);
	coupled_unlock(group);
}

/* The acknowledgments that a window of this subflow takes to grow. */
static u64 threshold(struct sock *sk)
{
	struct coupled_group *group = coupled_lock(sk);
	u64 acks = tcp_snd_cwnd(tcp_sk(sk));

	if (!group)
		return acks;
	if (group->lia_stale)
		group->lia_alpha = lia_alpha(group);
	group->lia_stale = false;
	if (!coupled_alone(group))
		acks = max(acks, div64_u64(BIT(ALPHA_SHIFT), group->lia_alpha));
	coupled_unlock(group);
	return acks;
}

/* --- exact */

/* The first one with the highest w / rtt^2, that is rate by RTT. */
static const struct coupled_subflow *best(const struct coupled_group *group)
{
	const struct coupled_subflow *subflow, *fastest = coupled_fastest(group), *best = NULL;
	u64 rate, best_rate = 0;

	coupled_for_each(group, subflow) {
		rate = coupled_relative_rate(subflow, fastest);
		if (!best || rate * coupled_srtt(best) > best_rate * coupled_srtt(subflow)) {
			best = subflow;
			best_rate = rate;
		}
	}
	return best;
}

/* With the share s of the best subflow b in the rate of all, the first term is
 * (s^2 w_i / w_b) / w_i, which needs no numbers that are out of range.
 */
VISIBLE_IF_KUNIT s64 lia_factor(const struct coupled_group *group,
				const struct coupled_subflow *subflow)
{
	const struct coupled_subflow *b = best(group);
	u64 share = coupled_share(group, b);
	u64 by_windows = mul_u64_u64_div_u64(share, coupled_window_bytes(subflow),
					     coupled_window_bytes(b));

	return min(mul_u64_u64_shr(by_windows, share, COUPLED_SHIFT), COUPLED_ONE);
}
EXPORT_SYMBOL_IF_KUNIT(lia_factor);

/* --- hooks */

static void lia_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	const struct coupled_subflow *subflow = inet_csk_ca(sk);

	if (!subflow->group || coupled_on(subflow, COUPLED_EXACT))
		coupled_cong_avoid(sk, acked, lia_factor);
	else
		coupled_count_avoid(sk, acked, threshold, recompute);
}

/* alpha is 1 until it is computed, for all. */
static void lia_init(struct sock *sk)
{
	const struct coupled_subflow *subflow = inet_csk_ca(sk);

	coupled_init(sk);
	if (!subflow->group)
		return;
	if (!coupled_on(subflow, COUPLED_USED_ONLY))
		coupled_tell(sk);
	spin_lock_bh(&subflow->group->lock);
	subflow->group->lia_alpha = 1;
	subflow->group->lia_stale = false;
	spin_unlock_bh(&subflow->group->lock);
}

static void lia_set_state(struct sock *sk, u8 ca_state)
{
	struct coupled_group *group = coupled_lock(sk);

	if (group)
		group->lia_stale = true;
	coupled_unlock(group);
}

static void lia_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_LOSS)
		recompute(sk);
}

static struct coupled_ops lia_ops __read_mostly = {
	.tcp = {
		.init		= lia_init,
		.release	= coupled_release,
		.set_state	= lia_set_state,
		.cwnd_event	= lia_cwnd_event,
		.pkts_acked	= coupled_pkts_acked,
		.cong_avoid	= lia_cong_avoid,
		.ssthresh	= tcp_reno_ssthresh,
		.undo_cwnd	= tcp_reno_undo_cwnd,
		.name		= "lia",
		.owner		= THIS_MODULE,
	},
	.params = { .name = "lia", .table = lia_params, .num = ARRAY_SIZE(lia_params) },
};

coupled_algorithm(lia_ops, lia);
