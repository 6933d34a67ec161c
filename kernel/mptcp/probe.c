// SPDX-License-Identifier: GPL-2.0-only
/* A probe that samples the connections of a network namespace, or all links.
 *
 * A process opens /proc/net/mptcp_probe in a namespace, and writes
 *
 *	START INTERVAL STOP [tcp | any | links]
 *
 * in nanoseconds since boot; INTERVAL is at least 10 us. The probe takes samples at START,
 * START + INTERVAL, ... up to and including STOP, but none of the past. With STOP 0, it goes
 * on until the process writes "stop". A sample has every MPTCP connection of the namespace.
 * With "tcp" it has every plain TCP connection, with "any" both. With "links" it has every
 * device, in any namespace, that has a queueing discipline; this needs CAP_NET_ADMIN for all.
 * read() gives the records of uapi/probe.h, sleeps while they are few, and returns 0 after
 * the last one.
 *
 * A connection that the kernel itself ends (crowd.c) has a sample at its end, too.
 *
 * The probe must not change its objects. A kernel thread takes the samples, so it can hold
 * the socket locks like any process. It reads no clock, which would move the time in time
 * travel. Records bear the time at which they were due. CPUs are infinitely fast, so this is
 * the time of the sample.
 */

#define pr_fmt(fmt) "mptcp_probe: " fmt

#include <linux/bitmap.h>
#include <linux/capability.h>
#include <linux/hrtimer.h>
#include <linux/ipv6.h>
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/proc_fs.h>
#include <linux/sock_diag.h>
#include <linux/user_namespace.h>
#include <linux/xarray.h>
#include <net/inet_hashtables.h>
#include <net/ip.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>
#include <net/pkt_sched.h>
#include <net/tcp.h>

#include "../mib.h"
#include "../protocol.h"
#include "compat.h"
#include "moving.h"
#include "probe.h"
#include "stream.h"
#include "uapi/probe.h"
#if defined(CONFIG_MPTCP_LAB_SCHED)
#include "framework.h"
#elif defined(CONFIG_MPTCP_LAB_ADAPTER)
#include "adapter/adapter.h"
#endif

/* a connection with eight subflows */
#define PROBE_RECORDS_MAX	9
/* of a sample of ten thousand connections with two subflows */
#define PROBE_STREAM_BYTES	SZ_8M
/* a tenth of a scenario's least interval */
#define PROBE_INTERVAL_MIN_NS	(10 * NSEC_PER_USEC)

struct probe;

/* The objects of the samples. */
struct probe_mode {
	const char	*name;
	void		(*sample)(struct probe *probe, u64 now);
	bool		all_namespaces;
};

struct probe {
	struct net		*net;
	struct mutex		lock;		/* of thread */
	struct task_struct	*thread;
	struct record_stream	stream;
	struct xarray		ids;		/* socket cookie -> connection number */
	u32			connections;
	u64			start_ns;
	u64			interval_ns;
	u64			stop_ns;
	const struct probe_mode	*mode;
	unsigned long		*tcp_slots;	/* bitmap over the hash table of TCP */
	unsigned long		tcp_opens;	/* at the last search for these */
	bool			tcp_unsettled;
	u64			latest_ns;	/* sample */
};

/* Of a namespace: the probe that samples its connections. */
struct probe_net {
	struct mutex		sampling;	/* of running; held while it samples */
	struct probe		*running;	/* NULL: none */
};

static unsigned int probe_net_id;

static struct probe_net *probe_net(const struct probe *probe)
{
	return net_generic(probe->net, probe_net_id);
}

static u32 probe_connection_number(struct probe *probe, struct sock *sk)
{
	u64 cookie = sock_gen_cookie(sk);
	void *known = xa_load(&probe->ids, cookie);

	if (known)
		return xa_to_value(known);
	probe->connections++;
	/* without an entry, it would get another number in the next sample */
	if (xa_err(xa_store(&probe->ids, cookie, xa_mk_value(probe->connections), GFP_KERNEL)))
		WRITE_ONCE(probe->stream.overflow, true);
	return probe->connections;
}

static struct probe_head probe_head(u64 now, u32 connection, u8 kind, u8 n)
{
	return (struct probe_head) {
		.time_ns	= cpu_to_le64(now),
		.connection	= cpu_to_le32(connection),
		.kind		= kind,
		.n		= n,
	};
}

/* Does the application wait, perhaps in poll()? Under the lock of the socket, which keeps
 * sk_socket.
 */
static __le16 probe_flags(const struct sock *sk)
{
	if (sk->sk_socket && test_bit(SOCK_NOSPACE, &sk->sk_socket->flags))
		return cpu_to_le16(PROBE_NO_SPACE);
	return 0;
}

static u32 probe_tcp_ofo_bytes(const struct tcp_sock *tp)
{
	struct rb_node *node;
	u32 bytes = 0;

	for (node = rb_first(&tp->out_of_order_queue); node; node = rb_next(node))
		bytes += rb_to_skb(node)->len;
	return bytes;
}

/* Has this end accepted the connection? Then it has noted the device of the peer's SYN, as
 * the device of its multicasts.
 */
static bool probe_has_accepted(const struct sock *ssk)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (ssk->sk_family == AF_INET6)
		return READ_ONCE(inet6_sk(ssk)->mcast_oif);
#endif
	return inet_sk(ssk)->mc_index;
}

/* TCP counts SYN and FIN as a byte each. Its acknowledged bytes include a FIN, and the SYN of
 * the end that connected; the other end's SYN is acknowledged before it has a socket. In
 * TCP_CLOSE, the peer's FIN shows that ours was acknowledged.
 */
static u32 probe_acked_flags(const struct sock *ssk)
{
	const struct tcp_sock *tp = tcp_sk(ssk);
	bool syn = !probe_has_accepted(ssk), fin;

	fin = ssk->sk_state == TCP_FIN_WAIT2 ||
	      (ssk->sk_state == TCP_CLOSE && sock_flag(ssk, SOCK_DONE) &&
	       tp->snd_una == tp->write_seq);
	return min_t(u64, syn + fin, tp->bytes_acked);
}

/* The same for unacknowledged bytes. */
static u32 probe_unacked_flags(const struct sock *ssk)
{
	return !!((1 << ssk->sk_state) & (TCPF_SYN_SENT | TCPF_SYN_RECV | TCPF_FIN_WAIT1 |
					  TCPF_CLOSING | TCPF_LAST_ACK));
}

static u64 probe_tcp_acked_bytes(const struct sock *ssk)
{
	return tcp_sk(ssk)->bytes_acked - probe_acked_flags(ssk);
}

static u64 probe_tcp_received_bytes(const struct sock *ssk)
{
	/* a FIN has come */
	return tcp_sk(ssk)->bytes_received - sock_flag(ssk, SOCK_DONE);
}

/* A FIN is sent last. A disconnected socket has a new number for its next connection. */
static u32 probe_tcp_unsent_bytes(const struct sock *ssk)
{
	const struct tcp_sock *tp = tcp_sk(ssk);
	u32 unsent = tp->write_seq - tp->snd_nxt;

	if (ssk->sk_state == TCP_CLOSE || !unsent)
		return 0;
	return unsent - probe_unacked_flags(ssk);
}

/* A peer may shrink its window, and a connection knows no window before it is established. */
static u64 probe_tcp_window_left(const struct sock *ssk)
{
	const struct tcp_sock *tp = tcp_sk(ssk);

	if ((1 << ssk->sk_state) & (TCPF_SYN_SENT | TCPF_CLOSE))
		return 0;
	return max_t(s32, tcp_wnd_end(tp) - tp->snd_nxt, 0);
}

/* The last four bytes of an IPv6 address, as in a mapped IPv4 address. */
static __be32 probe_local_addr(const struct sock *ssk)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (ssk->sk_family == AF_INET6)
		return inet6_sk(ssk)->saddr.s6_addr32[3];
#endif
	return inet_sk(ssk)->inet_saddr;
}

static __be32 probe_remote_addr(const struct sock *ssk)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (ssk->sk_family == AF_INET6)
		return ssk->sk_v6_daddr.s6_addr32[3];
#endif
	return inet_sk(ssk)->inet_daddr;
}

static void probe_fill_subflow(struct probe_subflow *rec, struct sock *ssk,
			       struct probe_head head, bool backup)
{
	const struct tcp_sock *tp = tcp_sk(ssk);
	bool slow = lock_sock_fast(ssk);
	u32 min_rtt_us = tcp_min_rtt(tp);

	*rec = (struct probe_subflow) {
		.head			= head,
		.local_addr		= probe_local_addr(ssk),
		.remote_addr		= probe_remote_addr(ssk),
		.cwnd			= cpu_to_le32(tcp_snd_cwnd(tp)),
		.ssthresh		= cpu_to_le32(tp->snd_ssthresh),
		.srtt_us		= cpu_to_le32(tp->srtt_us >> 3),
		.rttvar_us		= cpu_to_le32(tp->mdev_us >> 2),
		.min_rtt_us		= cpu_to_le32(min_rtt_us == ~0U ? 0 : min_rtt_us),
		.in_flight		= cpu_to_le32(tcp_packets_in_flight(tp)),
		.mss			= cpu_to_le32(tp->mss_cache),
		.unsent_bytes		= cpu_to_le32(probe_tcp_unsent_bytes(ssk)),
		.sent_bytes		= cpu_to_le64(tp->bytes_sent),
		.acked_bytes		= cpu_to_le64(probe_tcp_acked_bytes(ssk)),
		.received_bytes		= cpu_to_le64(probe_tcp_received_bytes(ssk)),
		.retransmitted_bytes	= cpu_to_le64(tp->bytes_retrans),
		.retransmitted_packets	= cpu_to_le32(tp->total_retrans),
		.data_packets_out	= cpu_to_le32(tp->data_segs_out),
		.data_packets_in	= cpu_to_le32(tp->data_segs_in),
		.window_bytes		= cpu_to_le32(tp->snd_wnd),
		.ofo_bytes		= cpu_to_le32(probe_tcp_ofo_bytes(tp)),
		.ca_state		= inet_csk(ssk)->icsk_ca_state,
		.tcp_state		= ssk->sk_state,
		.backup			= backup,
		.local_port		= cpu_to_le16(inet_sk(ssk)->inet_num),
		.remote_port		= cpu_to_le16(ntohs(inet_sk(ssk)->inet_dport)),
		.pacing_rate		= cpu_to_le64(ssk->sk_pacing_rate),
		.rto_us			= cpu_to_le32(jiffies_to_usecs(inet_csk(ssk)->icsk_rto)),
		.timeouts		= cpu_to_le32(tp->total_rto),
	};
	unlock_sock_fast(ssk, slow);
}

#if defined(CONFIG_MPTCP_LAB_SCHED) || defined(CONFIG_MPTCP_LAB_ADAPTER)
static void probe_add_counters(struct probe_connection *rec,
			       const struct mps_conn_core *core)
{
	rec->waits = cpu_to_le64(core->waits);
	rec->refused = cpu_to_le64(core->refused);
	rec->forced = cpu_to_le64(core->forced);
	rec->fallbacks = cpu_to_le32(core->fallbacks);
	rec->forced_reinjections = cpu_to_le32(core->forced_reinjections);
	rec->deferred = cpu_to_le32(core->deferred);
	rec->refused_calls = cpu_to_le32(core->refused_calls);
}
#endif

#ifdef CONFIG_MPTCP_LAB_SCHED
/* Under the data lock. Waiting data has waited until now. */
static void probe_add_blocking(struct probe_connection *rec, const struct mptcp_sock *msk,
			       u64 now)
{
	u64 blocked_us = msk->blocked_us, now_us = div_u64(now, NSEC_PER_USEC);

	if (msk->blocked_since_us && now_us > msk->blocked_since_us)
		blocked_us += now_us - msk->blocked_since_us;
	rec->blocked_us = cpu_to_le64(blocked_us);
	rec->blocks = cpu_to_le32(msk->blocks);
}

static void probe_add_scheduling(struct probe_connection *rec, const struct mptcp_sock *msk)
{
	if (msk->unscheduled)
		rec->head.flags |= cpu_to_le16(PROBE_UNSCHEDULED);
	if (!msk->mps)
		return;
	probe_add_counters(rec, conn_core(msk->mps));
}

static void probe_add_subflow_scheduling(struct probe_subflow *rec,
					 const struct mptcp_subflow_context *subflow)
{
	const struct mps_subflow_core *core;

	rec->blocking_us = cpu_to_le64(subflow->blocking_us);
	if (!subflow->mps)
		return;
	core = subflow_core(subflow->mps);
	rec->new_segments = cpu_to_le32(core->new_segments);
	rec->duplicates = cpu_to_le32(core->duplicates);
	rec->reinjections = cpu_to_le32(core->reinjections);
}
#else
static void probe_add_blocking(struct probe_connection *rec, const struct mptcp_sock *msk,
			       u64 now)
{
}

static void probe_add_scheduling(struct probe_connection *rec, const struct mptcp_sock *msk)
{
#if IS_ENABLED(CONFIG_MPTCP_LAB_ADAPTER)
	const struct mps_conn_core *core;

	rcu_read_lock();
	core = mps_adapter_core((struct mptcp_sock *)msk);
	if (core)
		probe_add_counters(rec, core);
	rcu_read_unlock();
#endif
}

static void probe_add_subflow_scheduling(struct probe_subflow *rec,
					 const struct mptcp_subflow_context *subflow)
{
}
#endif

/* Written and acknowledged bytes, and the rest of the window. The end of the stream,
 * DATA_FIN, has a number, too. Under the data lock.
 */
static void probe_add_progress(struct probe_connection *rec, const struct mptcp_sock *msk)
{
	int state = ((const struct sock *)msk)->sk_state;
	bool end = msk->snd_data_fin_enable || state == TCP_FIN_WAIT2 || state == TCP_CLOSE;
	u64 acked, written;
	s64 window = 0;

	if (__mptcp_check_fallback(msk) && msk->first) {
		/* one subflow has all data, and its numbers count */
		acked = probe_tcp_acked_bytes(msk->first);
		written = msk->bytes_sent + msk->write_seq - msk->snd_nxt -
			  (end && msk->snd_nxt != msk->write_seq);
		window = probe_tcp_window_left(msk->first);
	} else {
		acked = msk->bytes_acked - (end && msk->snd_una == msk->write_seq);
		written = msk->bytes_acked + msk->write_seq - msk->snd_una - end;
		/* before the peer's answer there is none */
		if (state != TCP_SYN_SENT)
			window = max_t(s64, msk->wnd_end - msk->snd_nxt, 0);
	}
	rec->acked_bytes = cpu_to_le64(acked);
	rec->written_bytes = cpu_to_le64(written);
	rec->window_bytes = cpu_to_le64(window);
}

/* ending: even if both directions have ended */
static void probe_sample_mptcp_connection(struct probe *probe, struct mptcp_sock *msk,
					  u64 now, bool ending)
{
	struct mptcp_subflow_context *subflow;
	struct sock *sk = (struct sock *)msk;
	struct {
		struct probe_connection	connection;
		struct probe_subflow	subflow[PROBE_RECORDS_MAX - 1];
	} *rec;
	u32 ofo_packets = 0, id;
	struct rb_node *node;
	u64 ofo_bytes = 0;
	int n = 0;

	rec = kmalloc(sizeof(*rec), GFP_KERNEL);
	if (!rec) {
		WRITE_ONCE(probe->stream.overflow, true);
		return;
	}
	id = probe_connection_number(probe, sk);

	lock_sock(sk);
	if (sk->sk_state == TCP_CLOSE && !ending)
		goto unlock;

	mptcp_for_each_subflow(msk, subflow) {
		if (n == ARRAY_SIZE(rec->subflow))
			break;
		probe_fill_subflow(&rec->subflow[n], mptcp_subflow_tcp_sock(subflow),
				   probe_head(now, id, PROBE_SUBFLOW,
					      subflow->subflow_id - 1),
				   subflow->backup || subflow->request_bkup);
		probe_add_subflow_scheduling(&rec->subflow[n], subflow);
		n++;
	}

	mptcp_data_lock(sk);
	for (node = rb_first(&msk->out_of_order_queue); node; node = rb_next(node)) {
		ofo_bytes += MPTCP_SKB_CB(rb_to_skb(node))->end_seq -
			     MPTCP_SKB_CB(rb_to_skb(node))->map_seq;
		ofo_packets++;
	}
	rec->connection = (struct probe_connection) {
		.head		 = probe_head(now, id, PROBE_CONNECTION, n),
		.delivered_bytes = cpu_to_le64(msk->bytes_received),
		.read_bytes	 = cpu_to_le64(msk->bytes_consumed),
		.ofo_bytes	 = cpu_to_le64(ofo_bytes),
		.sent_bytes	 = cpu_to_le64(msk->bytes_sent),
		.sndbuf_used	 = cpu_to_le32(sk->sk_wmem_queued),
		.sndbuf		 = cpu_to_le32(sk->sk_sndbuf),
		.rcvbuf_used	 = cpu_to_le32(mps_rmem(sk)),
		.rcvbuf		 = cpu_to_le32(sk->sk_rcvbuf),
		.ofo_packets	 = cpu_to_le32(ofo_packets),
		.reinjected_bytes = cpu_to_le64(msk->bytes_retrans),
	};
	rec->connection.head.flags = probe_flags(sk);
	probe_add_progress(&rec->connection, msk);
	probe_add_blocking(&rec->connection, msk, now);
	probe_add_scheduling(&rec->connection, msk);
	mptcp_data_unlock(sk);

	stream_put(&probe->stream, rec, offsetof(typeof(*rec), subflow[n]));
unlock:
	release_sock(sk);
	kfree(rec);
}

/* The same two records for plain TCP: one connection with one subflow. */
static void probe_sample_tcp_connection(struct probe *probe, struct sock *sk, u64 now)
{
	u32 id = probe_connection_number(probe, sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	struct {
		struct probe_connection	connection;
		struct probe_subflow	subflow;
	} rec;
	u64 delivered, acked;
	u32 unacked = 0;
	bool slow;

	probe_fill_subflow(&rec.subflow, sk, probe_head(now, id, PROBE_SUBFLOW, 0), false);
	slow = lock_sock_fast(sk);
	delivered = probe_tcp_received_bytes(sk);
	acked = probe_tcp_acked_bytes(sk);
	if (sk->sk_state != TCP_CLOSE)
		unacked = tp->write_seq - tp->snd_una - probe_unacked_flags(sk);
	rec.connection = (struct probe_connection) {
		.head		 = probe_head(now, id, PROBE_CONNECTION, 1),
		.delivered_bytes = cpu_to_le64(delivered),
		/* a FIN counts as read, too */
		.read_bytes	 = cpu_to_le64(min(tp->bytes_received -
						   (tp->rcv_nxt - tp->copied_seq), delivered)),
		.ofo_bytes	 = cpu_to_le64(probe_tcp_ofo_bytes(tp)),
		.written_bytes	 = cpu_to_le64(acked + unacked),
		.sent_bytes	 = cpu_to_le64(tp->bytes_sent - tp->bytes_retrans),
		.acked_bytes	 = cpu_to_le64(acked),
		.sndbuf_used	 = cpu_to_le32(sk->sk_wmem_queued),
		.sndbuf		 = cpu_to_le32(sk->sk_sndbuf),
		.rcvbuf_used	 = cpu_to_le32(atomic_read(&sk->sk_rmem_alloc)),
		.rcvbuf		 = cpu_to_le32(sk->sk_rcvbuf),
		.window_bytes	 = cpu_to_le64(probe_tcp_window_left(sk)),
	};
	rec.connection.head.flags = probe_flags(sk);
	unlock_sock_fast(sk, slow);
	stream_put(&probe->stream, &rec, sizeof(rec));
}

/* Finds the slots with sockets. The table is large and nearly empty, so the search runs only
 * after connections were opened. A connecting socket is in the table before TCP counts it.
 * An accepted one follows right after, perhaps on another CPU: the next sample finds it.
 */
static void probe_find_tcp_slots(struct probe *probe, const struct inet_hashinfo *hash)
{
	struct tcp_mib __percpu *mib = probe->net->mib.tcp_statistics;
	unsigned long opens = snmp_fold_field(mib, TCP_MIB_ACTIVEOPENS) +
			      snmp_fold_field(mib, TCP_MIB_PASSIVEOPENS);
	bool is_new = opens != probe->tcp_opens;
	unsigned int slot;

	if (!is_new && !probe->tcp_unsettled)
		return;
	probe->tcp_opens = opens;
	probe->tcp_unsettled = is_new;
	for (slot = 0; slot <= hash->ehash_mask; slot++)
		if (!hlist_nulls_empty(&hash->ehash[slot].chain))
			__set_bit(slot, probe->tcp_slots);
}

static void probe_sample_tcp(struct probe *probe, u64 now)
{
	struct inet_hashinfo *hash = probe->net->ipv4.tcp_death_row.hashinfo;
	struct hlist_nulls_node *node;
	struct sock *sk, *found;
	unsigned int slot;
	int num, seen;

	probe_find_tcp_slots(probe, hash);
	for_each_set_bit(slot, probe->tcp_slots, hash->ehash_mask + 1) {
		if (hlist_nulls_empty(&hash->ehash[slot].chain))
			__clear_bit(slot, probe->tcp_slots);
		/* Locking a socket needs this lock released: come back for each socket, and
		 * step over the earlier ones.
		 */
		for (seen = 0; !hlist_nulls_empty(&hash->ehash[slot].chain); seen++) {
			spinlock_t *lock = inet_ehash_lockp(hash, slot);

			found = NULL;
			num = 0;
			spin_lock_bh(lock);
			sk_nulls_for_each(sk, node, &hash->ehash[slot].chain) {
				if (!net_eq(sock_net(sk), probe->net) ||
				    !sk_fullsock(sk) || sk_is_mptcp(sk) ||
				    num++ != seen)
					continue;
				if (refcount_inc_not_zero(&sk->sk_refcnt))
					found = sk;
				break;
			}
			spin_unlock_bh(lock);
			if (!found)
				break;
			probe_sample_tcp_connection(probe, found, now);
			sock_put(found);
		}
	}
}

/* After a fallback in the handshake, the server's end is a TCP socket. The search for these
 * takes long, so it runs only after such a fallback.
 */
static bool probe_fell_back(struct net *net)
{
	return net->mib.mptcp_statistics &&
	       snmp_fold_field(net->mib.mptcp_statistics,
			       MPTCP_MIB_MPCAPABLEPASSIVEFALLBACK);
}

static void probe_sample_msks(struct probe *probe, u64 now)
{
	long slot = 0, num = 0;
	struct mptcp_sock *msk;

	while ((msk = mptcp_token_iter_next(probe->net, &slot, &num))) {
		probe_sample_mptcp_connection(probe, msk, now, false);
		sock_put((struct sock *)msk);
		cond_resched();
	}
}

static void probe_sample_any(struct probe *probe, u64 now)
{
	probe_sample_msks(probe, now);
	probe_sample_tcp(probe, now);
}

static void probe_sample_mptcp(struct probe *probe, u64 now)
{
	probe_sample_msks(probe, now);
	if (probe_fell_back(probe->net))
		probe_sample_tcp(probe, now);
}

/* Under the root lock. A root's numbers include the disciplines below it, except packets
 * that a netem delays. The netem may be the root or any of them.
 */
static void probe_fill_link(struct probe_link *rec, struct net_device *dev, struct Qdisc *root,
			    u64 now)
{
	struct netem_state netem, all = {};
	struct gnet_stats_basic_sync sent;
	struct gnet_stats_queue queue = {};
	struct Qdisc *child;
	u32 packets;
	int bucket;

	gnet_stats_basic_sync_init(&sent);
	gnet_stats_add_basic(&sent, root->cpu_bstats, &root->bstats, false);
	gnet_stats_add_queue(&queue, root->cpu_qstats, &root->qstats);
	packets = qdisc_qlen_sum(root);
	if (netem_get_state(root, now, &netem))
		all = netem;
	hash_for_each_rcu(dev->qdisc_hash, bucket, child, hash) {
		if (child == root || !netem_get_state(child, now, &netem))
			continue;
		all.lost_packets += netem.lost_packets;
		all.delayed_packets += netem.delayed_packets;
		all.delayed_bytes += netem.delayed_bytes;
	}
	*rec = (struct probe_link) {
		.head			= probe_head(now, 0, PROBE_LINK, 0),
		.sent_bytes		= cpu_to_le64(u64_stats_read(&sent.bytes)),
		.sent_packets		= cpu_to_le64(u64_stats_read(&sent.packets)),
		.dropped_packets	= cpu_to_le64(queue.drops),
		.lost_packets		= cpu_to_le64(all.lost_packets),
		.queue_packets		= cpu_to_le32(packets - all.delayed_packets),
		.queue_bytes		= cpu_to_le32(queue.backlog - all.delayed_bytes),
		.delayed_packets	= cpu_to_le32(all.delayed_packets),
		.delayed_bytes		= cpu_to_le32(all.delayed_bytes),
	};
	strscpy(rec->device, dev->name, sizeof(rec->device));
	strscpy(rec->qdisc, root->ops->id, sizeof(rec->qdisc));
}

/* Devices neither come nor go during a measurement, and RCU frees their disciplines. */
static void probe_sample_links(struct probe *probe, u64 now)
{
	struct net_device *dev;
	struct probe_link rec;
	struct Qdisc *root;
	struct net *net;

	guard(rcu)();
	for_each_net_rcu(net) {
		for_each_netdev_rcu(net, dev) {
			root = rcu_dereference(dev->qdisc);
			/* noqueue, or a device that is down */
			if (!root->enqueue || root == &noop_qdisc)
				continue;
			spin_lock_bh(qdisc_lock(root));
			probe_fill_link(&rec, dev, root, now);
			spin_unlock_bh(qdisc_lock(root));
			stream_put(&probe->stream, &rec, sizeof(rec));
		}
	}
}

static const struct probe_mode probe_modes[] = {
	{ "", probe_sample_mptcp },
	{ "tcp", probe_sample_tcp },
	{ "any", probe_sample_any },
	{ "links", probe_sample_links, true },
};

static const struct probe_mode *probe_mode(const char *name)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(probe_modes); i++)
		if (!strcmp(probe_modes[i].name, name))
			return &probe_modes[i];
	return NULL;
}

static void probe_sample(struct probe *probe, u64 due)
{
	guard(mutex)(&probe_net(probe)->sampling);
	probe->latest_ns = due;
	probe->mode->sample(probe, due);
}

void probe_sample_end(struct sock *sk)
{
	struct probe_net *of_net = net_generic(sock_net(sk), probe_net_id);
	struct probe *probe;
	u64 now;

	guard(mutex)(&of_net->sampling);
	probe = of_net->running;
	now = moving_look_at_clock();
	if (!probe || now < probe->start_ns)
		return;
	/* Records are in the order of time, and a sample is taken shortly before it is due or, if
	 * the CPU is busy, after: this one is not before the latest, nor after the next.
	 */
	if (!probe->latest_ns)
		now = probe->start_ns;
	else
		now = probe->latest_ns +
		      min(max(now, probe->latest_ns) - probe->latest_ns, probe->interval_ns);
	if (sk->sk_protocol == IPPROTO_MPTCP)
		probe_sample_mptcp_connection(probe, mptcp_sk(sk), now, true);
	else
		probe_sample_tcp_connection(probe, sk, now);
	stream_wake(&probe->stream);
}

/* Becomes the probe of its namespace, if there is none and it samples connections. */
static void probe_register(struct probe *probe)
{
	struct probe_net *of_net = probe_net(probe);

	guard(mutex)(&of_net->sampling);
	if (!of_net->running && !probe->mode->all_namespaces)
		of_net->running = probe;
}

static void probe_unregister(struct probe *probe)
{
	struct probe_net *of_net = probe_net(probe);

	guard(mutex)(&of_net->sampling);
	if (of_net->running == probe)
		of_net->running = NULL;
}

static int probe_thread(void *arg)
{
	struct probe *probe = arg;
	u64 due, last;

	/* a time beyond KTIME_MAX would be negative */
	last = min_t(u64, probe->stop_ns ?: KTIME_MAX, KTIME_MAX);
	for (due = probe->start_ns; due <= last;) {
		/* before all other timers of this time, in whatever order they started */
		ktime_t at = ns_to_ktime(due - 1);

		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop()) {
			__set_current_state(TASK_RUNNING);
			break;
		}
		schedule_hrtimeout(&at, HRTIMER_MODE_ABS);
		if (kthread_should_stop())
			break;
		probe_sample(probe, due);
		stream_wake(&probe->stream);
		if (check_add_overflow(due, probe->interval_ns, &due))
			break;
	}
	probe_unregister(probe);
	stream_end(&probe->stream);

	/* wait for probe_stop() */
	set_current_state(TASK_INTERRUPTIBLE);
	while (!kthread_should_stop()) {
		schedule();
		set_current_state(TASK_INTERRUPTIBLE);
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static int probe_open(struct inode *inode, struct file *file)
{
	/* the namespace may be going away */
	struct net *net = maybe_get_net(pde_data(inode));
	struct probe *probe;
	unsigned int slots;

	if (!net)
		return -ENXIO;
	probe = kzalloc(sizeof(*probe), GFP_KERNEL);
	if (!probe)
		goto no_memory;
	slots = net->ipv4.tcp_death_row.hashinfo->ehash_mask + 1;
	probe->tcp_slots = kvcalloc(BITS_TO_LONGS(slots), sizeof(long), GFP_KERNEL);
	if (!probe->tcp_slots)
		goto no_memory;
	probe->tcp_unsettled = true;
	stream_init(&probe->stream, sizeof(struct probe_connection));
	probe->stream.most_bytes = PROBE_STREAM_BYTES;
	probe->net = net;
	mutex_init(&probe->lock);
	xa_init(&probe->ids);
	file->private_data = probe;
	return nonseekable_open(inode, file);

no_memory:
	kfree(probe);
	put_net(net);
	return -ENOMEM;
}

static void probe_stop(struct probe *probe)
{
	if (!probe->thread)
		return;
	kthread_stop(probe->thread);
	/* a thread that is stopped at once has never run */
	probe_unregister(probe);
	probe->thread = NULL;
}

/* The past cannot be sampled, and its loop would take long. Reading the coarse clock does not
 * move it. False: all times are past.
 */
static bool probe_skip_past(struct probe *probe)
{
	u64 now = ktime_get_coarse_ns(), behind;

	if (probe->start_ns >= now)
		return probe->start_ns <= KTIME_MAX;
	/* rounded up; an interval may be as long as its type allows */
	behind = div64_u64(now - probe->start_ns - 1, probe->interval_ns) + 1;
	return !check_mul_overflow(behind, probe->interval_ns, &behind) &&
	       !check_add_overflow(probe->start_ns, behind, &probe->start_ns) &&
	       probe->start_ns <= KTIME_MAX;
}

static ssize_t probe_write(struct file *file, const char __user *from, size_t len,
			   loff_t *pos)
{
	struct probe *probe = file->private_data;
	struct task_struct *thread;
	char text[96], name[8] = "";
	int fields;

	if (len >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, len))
		return -EFAULT;
	text[len] = '\0';

	guard(mutex)(&probe->lock);
	if (sysfs_streq(text, "stop")) {
		probe_stop(probe);
		return len;
	}
	if (probe->thread)
		return -EBUSY;
	fields = sscanf(text, "%llu %llu %llu %7s", &probe->start_ns,
			&probe->interval_ns, &probe->stop_ns, name);
	probe->mode = probe_mode(name);
	if (fields < 3 || !probe->mode || probe->interval_ns < PROBE_INTERVAL_MIN_NS ||
	    !probe_skip_past(probe))
		return -EINVAL;
	/* links belong to all namespaces, not to this one alone */
	if (probe->mode->all_namespaces && !file_ns_capable(file, &init_user_ns, CAP_NET_ADMIN))
		return -EPERM;

	probe_register(probe);
	thread = kthread_run(probe_thread, probe, "mptcp_probe");
	if (IS_ERR(thread)) {
		probe_unregister(probe);
		return PTR_ERR(thread);
	}
	probe->thread = thread;
	return len;
}

static ssize_t probe_read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	struct probe *probe = file->private_data;

	return stream_read(&probe->stream, file, to, len);
}

static __poll_t probe_poll(struct file *file, poll_table *wait)
{
	struct probe *probe = file->private_data;

	return stream_poll(&probe->stream, file, wait);
}

static int probe_release(struct inode *inode, struct file *file)
{
	struct probe *probe = file->private_data;

	probe_stop(probe);
	xa_destroy(&probe->ids);
	stream_free(&probe->stream);
	put_net(probe->net);
	kvfree(probe->tcp_slots);
	kfree(probe);
	return 0;
}

static const struct proc_ops probe_proc_ops = {
	.proc_open	= probe_open,
	.proc_write	= probe_write,
	.proc_read	= probe_read,
	.proc_poll	= probe_poll,
	.proc_release	= probe_release,
};

static int __net_init probe_net_init(struct net *net)
{
	struct probe_net *of_net = net_generic(net, probe_net_id);

	mutex_init(&of_net->sampling);
	if (!proc_create_data("mptcp_probe", 0600, net->proc_net, &probe_proc_ops, net))
		return -ENOMEM;
	return 0;
}

static void __net_exit probe_net_exit(struct net *net)
{
	remove_proc_entry("mptcp_probe", net->proc_net);
}

static struct pernet_operations probe_net_ops = {
	.init = probe_net_init,
	.exit = probe_net_exit,
	.id = &probe_net_id,
	.size = sizeof(struct probe_net),
};

static int __init probe_init(void)
{
	return register_pernet_subsys(&probe_net_ops);
}

late_initcall(probe_init);
