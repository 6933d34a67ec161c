// SPDX-License-Identifier: GPL-2.0-only
/* A connection is back on a path soon after an outage: net.mptcp.recovery, a sysctl of each
 * network namespace. 0 is off, 1 is on, and 2, the default, is on for the schedulers that
 * ask for it (mps_ops.recovers). A connection takes the value when it gets its scheduler.
 * docs/recovery.md has measurements.
 *
 * A subflow is in trouble from a retransmission timeout until the next packet comes in.
 *
 * - Its timer does not double. TCP sends its first packet again after each interval,
 *
 *	interval = max(200 ms, min(2 x SRTT, max(500 ms, 2 x min RTT)),
 *		       min(500 ms, time since the first timeout / 25))
 *
 *   so an answer comes at most an interval and an RTT after the path is back. With
 *   RTT <= 100 ms this is at most 200 + 100 ms if SRTT <= 100 ms, too. It is at most
 *   500 + 100 ms if a queue had made SRTT longer, or the outage was longer than 5 s. With
 *   RTT <= 250 ms it is at most 500 + 250 ms; beyond, at most 2 + 1 RTTs. All are less
 *   than the greater of 1 s and 5 x RTT. In a long outage, the tries are 1424 bytes each
 *   500 ms, 23 kbit/s. TCP's own limits of time end them: tcp_retries2, 924 s by default,
 *   and TCP_USER_TIMEOUT.
 * - After the second timeout, the path was away for longer than TCP expects of a path
 *   that is merely slow. Then the first answer undoes nothing (F-RTO, RFC 5682; Eifel,
 *   RFC 4015): the path lost its packets. The answer may still acknowledge some that
 *   had arrived, if their ACKs were lost.
 * - A second after the first timeout, BBR goes on as after a pause of the application.
 *   Its least RTT is too old, but no queue has hidden it meanwhile. So BBR need not
 *   empty the queue first, for 200 ms and a round trip (bbr_update_min_rtt()).
 * - The answer's RTT does not count: it would include the outage, as the receiver echoes
 *   an older timestamp. A packet that was sent later must be timed before another RTT
 *   may be ignored. Otherwise TCP would never notice a path that has become slower.
 *
 * Schedulers of mpsched.h get two more things:
 *
 * - A subflow also counts as silent when its oldest packet has waited for
 *
 *	SRTT + max(4 x RTTVAR, 100 ms), or 200 ms instead if it is the only one
 *
 *   and another subflow can carry the data. This is the reasoning of RACK (RFC 8985),
 *   with half of the least margin of TCP's timeout (RFC 6298). A lone packet gets the
 *   time of a tail loss probe, as its ACK may be delayed.
 * - After a timeout, schedulers see the congestion state Recovery instead of Loss. In
 *   Loss, they would leave the subflow alone until all data from before the outage has
 *   arrived. But there is room for more once TCP has sent this data again.
 *
 * Locking: mptcp_subflow_context.trouble belongs to the holder of the subflow's lock. For
 * silent and waits_since_ns of a subflow see framework.h.
 */

#include <kunit/visibility.h>
#include <linux/tcp.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/tcp.h>

#include "framework.h"

/* the values of the sysctl, and of mptcp_sock.recovers */
enum { RECOVERY_OFF, RECOVERY_ON, RECOVERY_IF_ASKED };

#define PROBE_LEAST_US		(200 * USEC_PER_MSEC)	/* TCP_RTO_MIN */
#define PROBE_MOST_US		(500 * USEC_PER_MSEC)	/* leaves 500 ms of 1 s */
#define PROBE_PART		25	/* of an outage; has no effect up to 5 s */
#define PAUSE_US		USEC_PER_SEC	/* flapping paths are not idle */
#define LATE_MARGIN_US		(100 * USEC_PER_MSEC)	/* TCP_RTO_MIN / 2 */
#define DELAYED_ACK_US		(200 * USEC_PER_MSEC)	/* TCP_DELACK_MAX */

/* --- probes of the path, and the meaning of the first answer */

/* The time from a timeout to the next one, if the first one was tried_us ago. */
u32 mptcp_probe_interval_us(u32 srtt_us, u32 min_rtt_us, u64 tried_us)
{
	u64 least_us = clamp_t(u64, div_u64(tried_us, PROBE_PART), PROBE_LEAST_US, PROBE_MOST_US);
	u64 most_us = max_t(u64, PROBE_MOST_US, 2ULL * min_rtt_us);

	/* no sample: ~0 */
	if (min_rtt_us == U32_MAX)
		most_us = PROBE_MOST_US;
	return max_t(u64, least_us, min(2ULL * srtt_us, most_us));
}
EXPORT_SYMBOL_IF_KUNIT(mptcp_probe_interval_us);

/* A subflow, which is locked, had a timeout. Returns the time to the next one, in jiffies. */
static u32 mptcp_trouble_timeout(struct sock *ssk)
{
	struct mptcp_trouble *trouble = &mptcp_subflow_ctx(ssk)->trouble;
	struct tcp_sock *tp = tcp_sk(ssk);
	u64 tried_us = 0;

	if (!trouble->timeouts) {
		trouble->srtt_us = tp->srtt_us;
		trouble->mdev_us = tp->mdev_us;
		trouble->mdev_max_us = tp->mdev_max_us;
		trouble->rttvar_us = tp->rttvar_us;
	} else {
		tp->undo_marker = 0;
		tp->frto = 0;
		tried_us = USEC_PER_MSEC * (u64)(tcp_time_stamp_ms(tp) - tp->rto_stamp);
	}
	/* As in tcp_rate_check_app_limited(). TCP has given up all data in flight, so its
	 * retransmission begins a transmission (CA_EVENT_TX_START).
	 */
	if (tried_us >= PAUSE_US)
		tp->app_limited = (tp->delivered + tcp_packets_in_flight(tp)) ? : 1;
	WRITE_ONCE(trouble->timeouts, trouble->timeouts + 1);
	return usecs_to_jiffies(mptcp_probe_interval_us(tp->srtt_us >> 3, tcp_min_rtt(tp),
							tried_us));
}

/* TCP has computed the pacing rate with a wrong RTT, unless the congestion control sets the
 * rate: see tcp_update_pacing_rate().
 */
static void mptcp_correct_pacing(struct sock *ssk, u32 wrong_srtt_us)
{
	u64 rate = READ_ONCE(ssk->sk_pacing_rate);

	if (inet_csk(ssk)->icsk_ca_ops->cong_control || !tcp_sk(ssk)->srtt_us || rate == ~0UL)
		return;
	rate = mul_u64_u32_div(rate, wrong_srtt_us, tcp_sk(ssk)->srtt_us);
	WRITE_ONCE(ssk->sk_pacing_rate, min_t(u64, rate, READ_ONCE(ssk->sk_max_pacing_rate)));
}

static void mptcp_trouble_over(struct sock *ssk, struct mptcp_trouble *trouble)
{
	bool long_one = trouble->timeouts > 1;
	struct tcp_sock *tp = tcp_sk(ssk);
	u32 wrong_us = tp->srtt_us;

	WRITE_ONCE(trouble->timeouts, 0);
	if (!long_one || !trouble->srtt_us || trouble->untimed_us)
		return;
	trouble->untimed_us = tp->tcp_mstamp;
	tp->srtt_us = trouble->srtt_us;
	tp->mdev_us = trouble->mdev_us;
	tp->mdev_max_us = trouble->mdev_max_us;
	tp->rttvar_us = trouble->rttvar_us;
	inet_csk(ssk)->icsk_rto = clamp(__tcp_set_rto(tp), tcp_rto_min(ssk), TCP_RTO_MAX);
	inet_csk(ssk)->icsk_backoff = 0;
	tcp_rearm_rto(ssk);
	mptcp_correct_pacing(ssk, wrong_us);
}

/* A packet has come in on a subflow that is, or was, in trouble. The subflow is locked, and
 * TCP has processed the acknowledgment.
 */
void mptcp_trouble_packet(struct sock *ssk)
{
	struct mptcp_trouble *trouble = &mptcp_subflow_ctx(ssk)->trouble;

	if (trouble->untimed_us && tcp_sk(ssk)->rack.mstamp > trouble->untimed_us)
		trouble->untimed_us = 0;
	if (trouble->timeouts)
		mptcp_trouble_over(ssk, trouble);
}

/* After a fallback, no scheduler has a say. */
static bool mptcp_recovers(const struct mptcp_sock *msk)
{
	return msk->recovers == RECOVERY_ON ||
	       (msk->recovers == RECOVERY_IF_ASKED && !__mptcp_check_fallback(msk));
}

/* A subflow had a retransmission timeout; it is locked. Returns the time to the next one, in
 * jiffies; 0: TCP's own.
 */
u32 mptcp_subflow_timeout(struct sock *ssk)
{
	struct mptcp_subflow_context *ctx = mptcp_subflow_ctx(ssk);
	struct sock *sk = ctx->conn;
	struct mptcp_sock *msk;
	bool linear = false;

	if (!sk)
		return 0;
	msk = mptcp_sk(sk);
	mptcp_data_lock(sk);
	if (mptcp_mps(msk)) {
		linear = mps_timeout(ctx) && !__mptcp_check_fallback(msk);
	} else if (msk->recovers) {
		/* for mptcp_pm_subflow_chk_stale() */
		set_bit(MPTCP_WORK_RTX, &msk->flags);
		mptcp_schedule_work(sk);
	}
	mptcp_data_unlock(sk);
	if (mptcp_recovers(msk))
		return mptcp_trouble_timeout(ssk);
	return linear ? clamp(__tcp_set_rto(tcp_sk(ssk)), tcp_rto_min(ssk), TCP_RTO_MAX) : 0;
}

/* --- late subflows, with schedulers of mpsched.h */

/* The oldest packet in flight may wait this long. */
u64 mps_late_us(u32 srtt_us, u32 rttvar_us, u32 pkts)
{
	return srtt_us + max(4ULL * rttvar_us, pkts > 1 ? LATE_MARGIN_US : DELAYED_ACK_US);
}
EXPORT_SYMBOL_IF_KUNIT(mps_late_us);

/* With upstream's scheduler: had a subflow a timeout, or is it late? It is not locked. */
bool mptcp_is_troubled(struct sock *ssk)
{
	bool slow = lock_sock_fast(ssk), troubled = mptcp_subflow_ctx(ssk)->trouble.timeouts;
	const struct sk_buff *head = tcp_rtx_queue_head(ssk);
	const struct tcp_sock *tp = tcp_sk(ssk);
	u64 late_us;

	if (head) {
		late_us = mps_late_us(tp->srtt_us >> 3, tp->mdev_us >> 2, tp->packets_out);
		troubled |= head->skb_mstamp_ns + late_us * NSEC_PER_USEC <= mps_clock_ns();
	}
	unlock_sock_fast(ssk, slow);
	return troubled;
}

/* Could another subflow carry its data? */
static bool mps_has_another(const struct mps_conn *conn, const struct mps_subflow *but)
{
	const struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		if (subflow != but && subflow->usable && subflow->backup <= but->backup &&
		    !READ_ONCE(subflow_core(subflow)->silent))
			return true;
	return false;
}

/* Notes the oldest packet in flight. The subflow is locked. */
void mps_note_oldest(struct mps_subflow *subflow)
{
	struct tcp_sock *tp = tcp_sk(subflow_core(subflow)->ssk);
	const struct sk_buff *skb;

	mps_assert_locked(subflow_core(subflow)->ssk);
	skb = list_first_entry_or_null(&tp->tsorted_sent_queue, struct sk_buff,
				       tcp_tsorted_anchor);
	WRITE_ONCE(subflow_core(subflow)->waits_since_ns, skb ? skb->skb_mstamp_ns : 0);
}

/* Marks late subflows as silent, and sets the timer for the next one. Under the data lock:
 * an ACK ends the silence again.
 */
void mps_find_late(struct mps_conn *conn)
{
	struct mps_conn_core *core = conn_core(conn);
	u64 now, late_ns, next_ns = U64_MAX;
	struct mps_subflow *subflow;

	mps_assert_locked(mps_sk(conn));
	if (!core->msk->recovers)
		return;
	now = mps_clock_ns();
	mps_for_each_subflow(conn, subflow) {
		struct mps_subflow_core *sub = subflow_core(subflow);
		u64 since_ns = READ_ONCE(sub->waits_since_ns);

		if (!since_ns || READ_ONCE(sub->silent) || !subflow->usable ||
		    !mps_has_another(conn, subflow))
			continue;
		late_ns = since_ns + NSEC_PER_USEC * mps_late_us(subflow->srtt_us,
								 subflow->rttvar_us,
								 sub->packets_out);
		if (late_ns <= now)
			WRITE_ONCE(sub->silent, true);
		else
			next_ns = min(next_ns, late_ns);
	}
	/* a timer that fires too early does no harm, and is cheaper than a new one */
	if (next_ns != U64_MAX && (!hrtimer_is_queued(&core->late_timer) ||
				   next_ns < ktime_to_ns(hrtimer_get_expires(&core->late_timer))))
		hrtimer_start(&core->late_timer, ns_to_ktime(next_ns), HRTIMER_MODE_ABS_SOFT);
}
EXPORT_SYMBOL_IF_KUNIT(mps_find_late);

/* --- the sysctl */

struct mptcp_recovery_net {
	struct ctl_table_header	*header;
	struct ctl_table	sysctl;
	u8			value;
};

static unsigned int mptcp_recovery_net_id __ro_after_init;

static u8 mptcp_recovery_value(const struct net *net)
{
	const struct mptcp_recovery_net *own = net_generic(net, mptcp_recovery_net_id);

	return READ_ONCE(own->value);
}

/* asks: the scheduler asks for it */
bool mps_recovery_is_on(u8 value, bool asks)
{
	return value == RECOVERY_ON || (value == RECOVERY_IF_ASKED && asks);
}
EXPORT_SYMBOL_IF_KUNIT(mps_recovery_is_on);

/* The value for a new connection. asks: its scheduler asks for recovery. */
u8 mptcp_recovery_of(const struct net *net, bool asks)
{
	u8 value = mptcp_recovery_value(net);

	return mps_recovery_is_on(value, asks) ? value : RECOVERY_OFF;
}

static int __net_init mptcp_recovery_net_init(struct net *net)
{
	struct mptcp_recovery_net *own = net_generic(net, mptcp_recovery_net_id);

	own->value = RECOVERY_IF_ASKED;
	own->sysctl = (struct ctl_table) {
		.procname	= "recovery",
		.data		= &own->value,
		.maxlen		= sizeof(own->value),
		.mode		= 0644,
		.proc_handler	= proc_dou8vec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_TWO,
	};
	own->header = register_net_sysctl_sz(net, "net/mptcp", &own->sysctl, 1);
	return own->header ? 0 : -ENOMEM;
}

static void __net_exit mptcp_recovery_net_exit(struct net *net)
{
	struct mptcp_recovery_net *own = net_generic(net, mptcp_recovery_net_id);

	unregister_net_sysctl_table(own->header);
}

static struct pernet_operations mptcp_recovery_net_ops = {
	.init	= mptcp_recovery_net_init,
	.exit	= mptcp_recovery_net_exit,
	.id	= &mptcp_recovery_net_id,
	.size	= sizeof(struct mptcp_recovery_net),
};

/* before the first socket */
static int __init mptcp_recovery_init(void)
{
	return register_pernet_subsys(&mptcp_recovery_net_ops);
}

subsys_initcall_sync(mptcp_recovery_init);
