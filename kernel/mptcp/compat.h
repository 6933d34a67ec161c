/* SPDX-License-Identifier: GPL-2.0-only */
/* Differences between 6.12 and 7.3, the series of Linux with patches, and the kernels between
 * them (docs/kernels.md), under the newest name. The conditions were checked with 6.18 and
 * 7.1, too; elsewhere, a condition may be a series off.
 */
#ifndef _MPTCP_LAB_COMPAT_H
#define _MPTCP_LAB_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/version.h>

#include "../protocol.h"
#ifdef MPS_LOOKUP
#include "adapter/lookup.h"
#endif

/* framework.c, or adapter/; reinject: which subflow shall send the oldest segment again? */
int mps_get_subflow(struct mptcp_sock *msk, bool reinject);

/* what a sysctl's function gets */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define MPS_CTL_TABLE		struct ctl_table
#else
#define MPS_CTL_TABLE		const struct ctl_table
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)

static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *timer),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}

#define MPS_IMPORT_NS(_name)	MODULE_IMPORT_NS(_name)

#else

#define MPS_IMPORT_NS(_name)	MODULE_IMPORT_NS(#_name)

#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)

static inline int mps_sched_get_subflow(struct mptcp_sock *msk, struct mptcp_sched_data *data)
{
	return mps_get_subflow(msk, data->reinject);
}

#define MPS_SCHED_CALLS	.get_subflow = mps_sched_get_subflow

#else

static inline int mps_sched_get_send(struct mptcp_sock *msk)
{
	return mps_get_subflow(msk, false);
}

static inline int mps_sched_get_retrans(struct mptcp_sock *msk)
{
	return mps_get_subflow(msk, true);
}

#define MPS_SCHED_CALLS	.get_send = mps_sched_get_send, .get_retrans = mps_sched_get_retrans

#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)

/* KUnit's arguments for a function that generates parameters. */
#define MPS_GENERATOR_ARGS(_prev, _name)	const void *_prev, char *_name

/* tracepoints of trace.h that are no events */
#define trace_mps_question_tp			trace_mps_question
#define register_trace_mps_question_tp		register_trace_mps_question
#define unregister_trace_mps_question_tp	unregister_trace_mps_question
#define trace_mps_answer_tp			trace_mps_answer
#define register_trace_mps_answer_tp		register_trace_mps_answer
#define unregister_trace_mps_answer_tp		unregister_trace_mps_answer

#else

#define MPS_GENERATOR_ARGS(_prev, _name)	struct kunit *test, const void *_prev, char *_name

#endif

/* Are TCP's timestamps in microseconds? Until 6.6, all are in milliseconds. */
static inline bool mps_usec_ts(const struct tcp_sock *tp)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)
	return false;
#else
	return tp->tcp_usec_ts;
#endif
}

/* When a timer of TCP will fire, in jiffies, if one is pending. */
static inline unsigned long mps_timer_expires(const struct sock *ssk)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 19, 0)
	return inet_csk(ssk)->icsk_timeout;
#else
	return tcp_timeout_expires(ssk);
#endif
}

/* The schedulers' own package has no need of these. */
#ifndef MPS_LOOKUP

/* Bytes in the receive buffer of a connection. */
static inline u32 mps_rmem(const struct sock *sk)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
	return __mptcp_rmem(sk);
#elif LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0)
	return sk_rmem_alloc_get(sk);
#else
	return sk_rmem_alloc_get(sk) + READ_ONCE(mptcp_sk(sk)->backlog_len);
#endif
}

/* Counts a period of the connection's timer in which no packet came on a subflow. */
static inline void mps_count_period(struct mptcp_sock *msk, struct sock *ssk)
{
	/* later, mptcp_pm_chk_stale() has, before it asks a scheduler */
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 3, 0)
	mptcp_pm_subflow_chk_stale(msk, ssk);
#endif
}

#endif

#endif
