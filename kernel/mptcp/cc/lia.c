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
 * Differs from the source: nothing is rounded before the window changes. The
 * best path is found anew with each acknowledgment. With the share s of the best
 * subflow b in the rate of all, the first term is (s^2 w_i / w_b) / w_i, which
 * needs no numbers that are out of range.
 */

#include <kunit/visibility.h>
#include "../coupled.h"

struct lia {
	struct coupled_subflow coupled;
};

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

static void lia_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	coupled_cong_avoid(sk, acked, lia_factor);
}

static struct tcp_congestion_ops lia_ops __read_mostly = {
	.init		= coupled_init,
	.release	= coupled_release,
	.set_state	= coupled_set_state,
	.pkts_acked	= coupled_pkts_acked,
	.cong_avoid	= lia_cong_avoid,
	.ssthresh	= tcp_reno_ssthresh,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.name		= "lia",
	.owner		= THIS_MODULE,
};

coupled_algorithm(lia_ops, lia);
