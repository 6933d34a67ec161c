/* SPDX-License-Identifier: GPL-2.0-only */
/* What the adapter uses of net/mptcp/protocol.h, which no kernel's headers have. A whole tree of
 * the kernel has it: MPS_TREE.
 *
 * layout.h has the structs, from the BTF of the kernel. Below are numbers that no BTF has; they
 * are the same from 6.6 to 7.3.
 */
#ifndef _MPTCP_LAB_PROTOCOL_H
#define _MPTCP_LAB_PROTOCOL_H

#ifdef MPS_TREE

#include <net/mptcp/protocol.h>

#else

#include <net/inet_connection_sock.h>
#include <net/mptcp.h>
#include <net/tcp.h>

#include "layout.h"

#ifdef __BIG_ENDIAN
#error "layout.awk counts the bits of a bit field from the least one"
#endif

/* bytes of the DSS option, RFC 8684, section 3.3 */
#define TCPOLEN_MPTCP_DSS_BASE		4
#define TCPOLEN_MPTCP_DSS_ACK32		4
#define TCPOLEN_MPTCP_DSS_ACK64		8
#define TCPOLEN_MPTCP_DSS_MAP64		14
#define TCPOLEN_MPTCP_DSS_CHECKSUM	2

/* a bit of cb_flags: whoever releases the socket asks the scheduler */
#define MPTCP_PUSH_PENDING		1

#define mptcp_sk(_sk)			((struct mptcp_sock *)(_sk))

#define mptcp_for_each_subflow(_msk, _subflow) \
	list_for_each_entry(_subflow, &(_msk)->conn_list, node)

#define mptcp_data_lock(_sk)		spin_lock_bh(&(_sk)->sk_lock.slock)
#define mptcp_data_unlock(_sk)		spin_unlock_bh(&(_sk)->sk_lock.slock)

static inline bool after64(u64 seq, u64 other)
{
	return (s64)(seq - other) > 0;
}

static inline struct sock *mptcp_subflow_tcp_sock(const struct mptcp_subflow_context *subflow)
{
	return subflow->tcp_sock;
}

static inline struct mptcp_subflow_context *mptcp_subflow_ctx(const struct sock *ssk)
{
	return (__force void *)inet_csk(ssk)->icsk_ulp_data;
}

/* May it send? A join has to be confirmed before. */
static inline bool __mptcp_subflow_active(const struct mptcp_subflow_context *subflow)
{
	/* a bit until 6.11 */
	if (subflow->request_join && !data_race(subflow->fully_established))
		return false;
	return (1 << READ_ONCE(mptcp_subflow_tcp_sock(subflow)->sk_state)) &
	       (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT);
}

/* The oldest data that the peer may lack; NULL: there is none. */
static inline struct mptcp_data_frag *mptcp_rtx_head(struct sock *sk)
{
	if (mptcp_sk(sk)->snd_una == mptcp_sk(sk)->snd_nxt)
		return NULL;
	return list_first_entry_or_null(&mptcp_sk(sk)->rtx_queue, struct mptcp_data_frag, list);
}

#endif

#endif
