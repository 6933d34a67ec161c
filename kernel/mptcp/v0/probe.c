// SPDX-License-Identifier: GPL-2.0-only
/* The probe for Linux 4.19 with the out-of-tree MPTCP, v0.95. Its file, its modes and its
 * records are those of upstream's in the directory above, except for these:
 *
 * - START must not be past.
 * - Two fields have values here alone: `reinjection_packets` and `penalties`.
 * - The counters of decisions, and `timeouts` of subflows, are 0: the kernel has none.
 *
 * There, a connection is a TCP socket, too: the meta socket, whose sequence numbers are those
 * of the data. Its lock is the one of its subflows.
 */

#define pr_fmt(fmt) "mptcp_probe: " fmt

#include <linux/bitmap.h>
#include <linux/hrtimer.h>
#include <linux/ipv6.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/nsproxy.h>
#include <linux/proc_fs.h>
#include <linux/radix-tree.h>
#include <linux/sizes.h>
#include <linux/sock_diag.h>
#include <net/inet_hashtables.h>
#include <net/ip.h>
#include <net/mptcp.h>
#include <net/net_namespace.h>
#include <net/pkt_sched.h>
#include <net/tcp.h>

#include "../stream.h"
#include "../uapi/probe.h"

#define PROBE_SUBFLOWS_MAX	8
#define PROBE_STREAM_BYTES	SZ_8M
#define PROBE_INTERVAL_MIN_NS	(10 * NSEC_PER_USEC)

#define PROBE_FIN_UNACKED	(TCPF_FIN_WAIT1 | TCPF_CLOSING | TCPF_LAST_ACK)

struct probe;

struct probe_mode {
	const char	*name;
	void		(*sample)(struct probe *probe, u64 now);
};

struct probe {
	struct net		*net;
	struct mutex		lock;		/* of thread */
	struct task_struct	*thread;
	struct record_stream	stream;
	struct radix_tree_root	ids;		/* socket cookie -> connection number */
	unsigned long		connections;
	u64			start_ns;
	u64			interval_ns;
	u64			stop_ns;
	const struct probe_mode	*mode;
	unsigned long		*tcp_slots;	/* bitmap over the hash table of TCP */
	unsigned long		tcp_opens;	/* at the last search for these */
	bool			tcp_unsettled;
};

/* The numbers are the pointers of the tree. */
static u32 probe_connection_number(struct probe *probe, struct sock *sk)
{
	u64 cookie = sock_gen_cookie(sk);
	void *known = radix_tree_lookup(&probe->ids, cookie);

	if (known)
		return (unsigned long)known >> RADIX_TREE_EXCEPTIONAL_SHIFT;
	probe->connections++;
	known = (void *)(probe->connections << RADIX_TREE_EXCEPTIONAL_SHIFT |
			 RADIX_TREE_EXCEPTIONAL_ENTRY);
	if (radix_tree_insert(&probe->ids, cookie, known))
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

/* Each byte once: segments in the queue may overlap. */
static u32 probe_ofo_bytes(const struct tcp_sock *tp, u32 *packets)
{
	u32 reached = tp->rcv_nxt, bytes = 0;
	struct rb_node *node;

	*packets = 0;
	for (node = rb_first(&tp->out_of_order_queue); node; node = rb_next(node)) {
		const struct sk_buff *skb = rb_to_skb(node);
		u32 seq = TCP_SKB_CB(skb)->seq, end = seq + skb->len;

		if (before(seq, reached))
			seq = reached;
		if (after(end, seq)) {
			bytes += end - seq;
			reached = end;
		}
		++*packets;
	}
	return bytes;
}

/* Has this end accepted the connection? Then it has noted the device of the peer's SYN. */
static bool probe_has_accepted(const struct sock *ssk)
{
	if (ssk->sk_family == AF_INET6)
		return inet6_sk(ssk)->mcast_oif;
	return inet_sk(ssk)->mc_index;
}

/* TCP counts SYN and FIN as a byte each. The SYN of an end that accepted the connection was
 * acknowledged before it had a socket.
 */
static u64 probe_acked_bytes(const struct sock *ssk)
{
	const struct tcp_sock *tp = tcp_sk(ssk);
	bool syn = !probe_has_accepted(ssk), fin;

	fin = ssk->sk_state == TCP_FIN_WAIT2 ||
	      (ssk->sk_state == TCP_CLOSE && sock_flag(ssk, SOCK_DONE) &&
	       tp->snd_una == tp->write_seq);
	return tp->bytes_acked - min_t(u64, syn + fin, tp->bytes_acked);
}

static u32 probe_unacked_flags(const struct sock *ssk)
{
	return !!((1 << ssk->sk_state) & (TCPF_SYN_SENT | TCPF_SYN_RECV | PROBE_FIN_UNACKED));
}

/* TCP's own count has packets, too, that this host could not send, and sent again. */
static u64 probe_sent_bytes(const struct sock *ssk)
{
	const struct tcp_sock *tp = tcp_sk(ssk);
	u32 unacked = tp->snd_nxt - tp->snd_una;

	if (unacked && tp->snd_nxt == tp->write_seq)
		unacked -= probe_unacked_flags(ssk);
	return probe_acked_bytes(ssk) + unacked + tp->bytes_retrans;
}

static u64 probe_received_bytes(const struct sock *ssk)
{
	/* a FIN has come */
	return tcp_sk(ssk)->bytes_received - sock_flag(ssk, SOCK_DONE);
}

static u32 probe_unsent_bytes(const struct sock *ssk)
{
	const struct tcp_sock *tp = tcp_sk(ssk);
	u32 unsent = tp->write_seq - tp->snd_nxt;

	if (ssk->sk_state == TCP_CLOSE || !unsent)
		return 0;
	return unsent - probe_unacked_flags(ssk);
}

static u64 probe_window_left(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if ((1 << sk->sk_state) & (TCPF_SYN_SENT | TCPF_CLOSE))
		return 0;
	return max_t(s32, tcp_wnd_end(tp) - tp->snd_nxt, 0);
}

/* The last four bytes of an IPv6 address, as in a mapped IPv4 address. */
static __be32 probe_local_addr(const struct sock *ssk)
{
	if (ssk->sk_family == AF_INET6)
		return inet6_sk(ssk)->saddr.s6_addr32[3];
	return inet_sk(ssk)->inet_saddr;
}

static __be32 probe_remote_addr(const struct sock *ssk)
{
	if (ssk->sk_family == AF_INET6)
		return ssk->sk_v6_daddr.s6_addr32[3];
	return inet_sk(ssk)->inet_daddr;
}

static void probe_fill_subflow(struct probe_subflow *rec, const struct sock *ssk,
			       struct probe_head head)
{
	const struct tcp_sock *tp = tcp_sk(ssk);
	u32 min_rtt_us = tcp_min_rtt(tp), packets;

	*rec = (struct probe_subflow) {
		.head			= head,
		.local_addr		= probe_local_addr(ssk),
		.remote_addr		= probe_remote_addr(ssk),
		.cwnd			= cpu_to_le32(tp->snd_cwnd),
		.ssthresh		= cpu_to_le32(tp->snd_ssthresh),
		.srtt_us		= cpu_to_le32(tp->srtt_us >> 3),
		.rttvar_us		= cpu_to_le32(tp->mdev_us >> 2),
		.min_rtt_us		= cpu_to_le32(min_rtt_us == ~0U ? 0 : min_rtt_us),
		.in_flight		= cpu_to_le32(tcp_packets_in_flight(tp)),
		.mss			= cpu_to_le32(tp->mss_cache),
		.unsent_bytes		= cpu_to_le32(probe_unsent_bytes(ssk)),
		.sent_bytes		= cpu_to_le64(probe_sent_bytes(ssk)),
		.acked_bytes		= cpu_to_le64(probe_acked_bytes(ssk)),
		.received_bytes		= cpu_to_le64(probe_received_bytes(ssk)),
		.retransmitted_bytes	= cpu_to_le64(tp->bytes_retrans),
		.retransmitted_packets	= cpu_to_le32(tp->total_retrans),
		.data_packets_out	= cpu_to_le32(tp->data_segs_out),
		.data_packets_in	= cpu_to_le32(tp->data_segs_in),
		.window_bytes		= cpu_to_le32(tp->snd_wnd),
		.ofo_bytes		= cpu_to_le32(probe_ofo_bytes(tp, &packets)),
		.ca_state		= inet_csk(ssk)->icsk_ca_state,
		.tcp_state		= ssk->sk_state,
		.local_port		= cpu_to_le16(inet_sk(ssk)->inet_num),
		.remote_port		= cpu_to_le16(ntohs(inet_sk(ssk)->inet_dport)),
		.pacing_rate		= cpu_to_le64(ssk->sk_pacing_rate == ~0U ?
						      ~0ULL : ssk->sk_pacing_rate),
		.rto_us			= cpu_to_le32(jiffies_to_usecs(inet_csk(ssk)->icsk_rto)),
	};
}

/* The fields that a connection and a meta socket have in common. */
static void probe_fill_connection(struct probe_connection *rec, const struct sock *sk,
				  struct probe_head head)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 delivered = probe_received_bytes(sk);
	u32 packets;

	*rec = (struct probe_connection) {
		.head		 = head,
		.delivered_bytes = cpu_to_le64(delivered),
		/* a FIN counts as read, too */
		.read_bytes	 = cpu_to_le64(min(tp->bytes_received -
						   (tp->rcv_nxt - tp->copied_seq), delivered)),
		.ofo_bytes	 = cpu_to_le64(probe_ofo_bytes(tp, &packets)),
		.sndbuf_used	 = cpu_to_le32(sk->sk_wmem_queued),
		.sndbuf		 = cpu_to_le32(sk->sk_sndbuf),
		.rcvbuf_used	 = cpu_to_le32(atomic_read(&sk->sk_rmem_alloc)),
		.rcvbuf		 = cpu_to_le32(sk->sk_rcvbuf),
		.window_bytes	 = cpu_to_le64(probe_window_left(sk)),
	};
	/* the lock of the socket keeps sk_socket */
	if (sk->sk_socket && test_bit(SOCK_NOSPACE, &sk->sk_socket->flags))
		rec->head.flags = cpu_to_le16(PROBE_NO_SPACE);
}

static void probe_fill_tcp_connection(struct probe_connection *rec, const struct sock *sk,
				      struct probe_head head)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 acked = probe_acked_bytes(sk);
	u32 unacked = 0;

	probe_fill_connection(rec, sk, head);
	if (sk->sk_state != TCP_CLOSE)
		unacked = tp->write_seq - tp->snd_una - probe_unacked_flags(sk);
	rec->written_bytes = cpu_to_le64(acked + unacked);
	rec->sent_bytes = cpu_to_le64(probe_sent_bytes(sk) - tp->bytes_retrans);
	rec->acked_bytes = cpu_to_le64(acked);
}

static void probe_fill_meta(struct probe_connection *rec, const struct sock *meta_sk,
			    struct probe_head head)
{
	const struct tcp_sock *tp = tcp_sk(meta_sk);
	const struct mptcp_cb *mpcb = tp->mpcb;
	u64 now = div_u64(le64_to_cpu(head.time_ns), NSEC_PER_USEC), blocked = mpcb->blocked_us;
	u64 acked = probe_acked_bytes(meta_sk);
	bool fin = (1 << meta_sk->sk_state) & PROBE_FIN_UNACKED;
	u32 packets;

	probe_fill_connection(rec, meta_sk, head);
	probe_ofo_bytes(tp, &packets);
	rec->written_bytes = cpu_to_le64(acked + (tp->write_seq - tp->snd_una) - fin);
	rec->sent_bytes = cpu_to_le64(acked + (tp->snd_nxt - tp->snd_una) -
				      (fin && tp->snd_nxt == tp->write_seq));
	rec->acked_bytes = cpu_to_le64(acked);
	rec->ofo_packets = cpu_to_le32(packets);
	rec->reinjected_bytes = cpu_to_le64(mpcb->reinjected_bytes);
	/* waiting data has waited until now */
	if (mpcb->blocked_since_us && now > mpcb->blocked_since_us)
		blocked += now - mpcb->blocked_since_us;
	rec->blocked_us = cpu_to_le64(blocked);
	rec->blocks = cpu_to_le32(mpcb->blocks);
	rec->reinjection_packets = cpu_to_le32(skb_queue_len(&mpcb->reinject_queue));
}

/* In the order of creation, without those that have no number. */
static int probe_subflows(struct mptcp_cb *mpcb, struct sock **found)
{
	struct sock *all[BITS_PER_LONG];
	struct mptcp_tcp_sock *mptcp;
	int count = 0, n = 0;

	mptcp_number_subflows(mpcb);
	mptcp_for_each_sub(mpcb, mptcp)
		if (mptcp->number)
			all[count++] = mptcp_to_sock(mptcp);
	while (count-- && n < PROBE_SUBFLOWS_MAX)
		found[n++] = all[count];
	return n;
}

static void probe_sample_meta(struct probe *probe, struct sock *meta_sk, u64 now)
{
	struct mptcp_cb *mpcb = tcp_sk(meta_sk)->mpcb;
	struct sock *subflows[PROBE_SUBFLOWS_MAX];
	struct {
		struct probe_connection	connection;
		struct probe_subflow	subflow[PROBE_SUBFLOWS_MAX];
	} *rec;
	int i, n;
	u32 id;

	rec = kmalloc(sizeof(*rec), GFP_KERNEL);
	if (!rec) {
		WRITE_ONCE(probe->stream.overflow, true);
		return;
	}
	id = probe_connection_number(probe, meta_sk);

	lock_sock(meta_sk);
	if (meta_sk->sk_state == TCP_CLOSE)
		goto unlock;
	n = probe_subflows(mpcb, subflows);
	probe_fill_meta(&rec->connection, meta_sk, probe_head(now, id, PROBE_CONNECTION, n));
	for (i = 0; i < n; i++) {
		const struct mptcp_tcp_sock *mptcp = tcp_sk(subflows[i])->mptcp;
		struct probe_subflow *of = &rec->subflow[i];

		probe_fill_subflow(of, subflows[i],
				   probe_head(now, id, PROBE_SUBFLOW, mptcp->number - 1));
		of->backup = mptcp->low_prio || mptcp->rcv_low_prio;
		of->blocking_us = cpu_to_le64(mptcp->blocking_us);
		of->penalties = cpu_to_le32(mptcp->penalties);
	}
	stream_put(&probe->stream, rec, offsetof(typeof(*rec), subflow[n]));
unlock:
	release_sock(meta_sk);
	kfree(rec);
}

static void probe_sample_tcp_connection(struct probe *probe, struct sock *sk, u64 now)
{
	u32 id = probe_connection_number(probe, sk);
	struct {
		struct probe_connection	connection;
		struct probe_subflow	subflow;
	} rec;
	bool slow = lock_sock_fast(sk);

	probe_fill_tcp_connection(&rec.connection, sk, probe_head(now, id, PROBE_CONNECTION, 1));
	probe_fill_subflow(&rec.subflow, sk, probe_head(now, id, PROBE_SUBFLOW, 0));
	unlock_sock_fast(sk, slow);
	stream_put(&probe->stream, &rec, sizeof(rec));
}

/* Locking a socket needs the list unlocked: it is walked again for each, past the earlier
 * ones.
 */
static struct sock *probe_tcp_at(struct probe *probe, unsigned int slot, int seen)
{
	spinlock_t *lock = inet_ehash_lockp(&tcp_hashinfo, slot);
	struct sock *sk, *found = NULL;
	struct hlist_nulls_node *node;

	spin_lock_bh(lock);
	sk_nulls_for_each(sk, node, &tcp_hashinfo.ehash[slot].chain) {
		if (!net_eq(sock_net(sk), probe->net) || !sk_fullsock(sk) ||
		    mptcp(tcp_sk(sk)) || tcp_sk(sk)->request_mptcp || seen--)
			continue;
		if (refcount_inc_not_zero(&sk->sk_refcnt))
			found = sk;
		break;
	}
	spin_unlock_bh(lock);
	return found;
}

/* The table is large and nearly empty: its slots are searched only after connections were
 * opened. A connecting socket is in the table before TCP counts it.
 */
static void probe_find_tcp_slots(struct probe *probe)
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
	for (slot = 0; slot <= tcp_hashinfo.ehash_mask; slot++)
		if (!hlist_nulls_empty(&tcp_hashinfo.ehash[slot].chain))
			__set_bit(slot, probe->tcp_slots);
}

static void probe_sample_tcp(struct probe *probe, u64 now)
{
	unsigned int slot;
	struct sock *sk;
	int seen;

	probe_find_tcp_slots(probe);
	for_each_set_bit(slot, probe->tcp_slots, tcp_hashinfo.ehash_mask + 1) {
		if (hlist_nulls_empty(&tcp_hashinfo.ehash[slot].chain))
			__clear_bit(slot, probe->tcp_slots);
		for (seen = 0; (sk = probe_tcp_at(probe, slot, seen)); seen++) {
			probe_sample_tcp_connection(probe, sk, now);
			sock_put(sk);
		}
	}
}

static struct sock *probe_meta_at(struct probe *probe, unsigned int slot, int seen)
{
	struct sock *found = NULL;
	struct hlist_nulls_node *node;
	struct tcp_sock *tp;

	rcu_read_lock();
	local_bh_disable();
	hlist_nulls_for_each_entry_rcu(tp, node, &tk_hashtable[slot], tk_table) {
		struct sock *sk = (struct sock *)tp;

		if (!net_eq(sock_net(sk), probe->net) || !mptcp(tp) || seen--)
			continue;
		if (refcount_inc_not_zero(&sk->sk_refcnt))
			found = sk;
		break;
	}
	local_bh_enable();
	rcu_read_unlock();
	return found;
}

static void probe_sample_metas(struct probe *probe, u64 now)
{
	unsigned int slot;
	struct sock *sk;
	int seen;

	for (slot = 0; slot < MPTCP_HASH_SIZE; slot++) {
		for (seen = 0; (sk = probe_meta_at(probe, slot, seen)); seen++) {
			probe_sample_meta(probe, sk, now);
			sock_put(sk);
		}
	}
}

static void probe_sample_any(struct probe *probe, u64 now)
{
	probe_sample_metas(probe, now);
	probe_sample_tcp(probe, now);
}

/* After a fallback in the handshake, both ends are TCP sockets. */
static void probe_sample_mptcp(struct probe *probe, u64 now)
{
	struct mptcp_mib __percpu *mib = probe->net->mptcp.mptcp_statistics;

	probe_sample_metas(probe, now);
	if (snmp_fold_field(mib, MPTCP_MIB_MPCAPABLEPASSIVEFALLBACK) ||
	    snmp_fold_field(mib, MPTCP_MIB_MPCAPABLEACTIVEFALLBACK) ||
	    snmp_fold_field(mib, MPTCP_MIB_MPCAPABLERETRANSFALLBACK))
		probe_sample_tcp(probe, now);
}

/* Under the root lock. A root's numbers include the disciplines below it, except packets
 * that a netem delays. The netem may be the root or any of them.
 */
static void probe_fill_link(struct probe_link *rec, struct net_device *dev, struct Qdisc *root,
			    u64 now)
{
	struct netem_state netem, all = {};
	struct Qdisc *child;
	int bucket;

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
		.sent_bytes		= cpu_to_le64(root->bstats.bytes),
		.sent_packets		= cpu_to_le64(root->bstats.packets),
		.dropped_packets	= cpu_to_le64(root->qstats.drops),
		.lost_packets		= cpu_to_le64(all.lost_packets),
		.queue_packets		= cpu_to_le32(qdisc_qlen_sum(root) - all.delayed_packets),
		.queue_bytes		= cpu_to_le32(root->qstats.backlog - all.delayed_bytes),
		.delayed_packets	= cpu_to_le32(all.delayed_packets),
		.delayed_bytes		= cpu_to_le32(all.delayed_bytes),
	};
	strscpy(rec->device, dev->name, sizeof(rec->device));
	strscpy(rec->qdisc, root->ops->id, sizeof(rec->qdisc));
}

static void probe_sample_links(struct probe *probe, u64 now)
{
	struct net_device *dev;
	struct probe_link rec;
	struct Qdisc *root;
	struct net *net;

	rcu_read_lock();
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
	rcu_read_unlock();
}

static const struct probe_mode probe_modes[] = {
	{ "", probe_sample_mptcp },
	{ "tcp", probe_sample_tcp },
	{ "any", probe_sample_any },
	{ "links", probe_sample_links },
};

static const struct probe_mode *probe_mode(const char *name)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(probe_modes); i++)
		if (!strcmp(probe_modes[i].name, name))
			return &probe_modes[i];
	return NULL;
}

static int probe_thread(void *arg)
{
	struct probe *probe = arg;
	u64 due, last;

	last = min_t(u64, probe->stop_ns ?: KTIME_MAX, KTIME_MAX);
	for (due = probe->start_ns; due <= last; due += probe->interval_ns) {
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
		probe->mode->sample(probe, due);
		stream_wake(&probe->stream);
	}
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
	/* the file may be another namespace's: names are not looked up again after setns(2) */
	struct net *net = get_net(current->nsproxy->net_ns);
	struct probe *probe;

	probe = kzalloc(sizeof(*probe), GFP_KERNEL);
	if (!probe)
		goto no_memory;
	probe->tcp_slots = kvcalloc(BITS_TO_LONGS(tcp_hashinfo.ehash_mask + 1), sizeof(long),
				    GFP_KERNEL);
	if (!probe->tcp_slots)
		goto no_memory;
	probe->tcp_unsettled = true;
	stream_init(&probe->stream, sizeof(struct probe_connection));
	probe->stream.most_bytes = PROBE_STREAM_BYTES;
	probe->net = net;
	mutex_init(&probe->lock);
	INIT_RADIX_TREE(&probe->ids, GFP_KERNEL);
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
	probe->thread = NULL;
}

static int probe_start(struct probe *probe, const char *text)
{
	struct task_struct *thread;
	char name[8] = "";
	int fields;

	if (probe->thread)
		return -EBUSY;
	fields = sscanf(text, "%llu %llu %llu %7s", &probe->start_ns,
			&probe->interval_ns, &probe->stop_ns, name);
	probe->mode = probe_mode(name);
	/* sums of two times do not overflow; reading the coarse clock does not move it */
	if (fields < 3 || !probe->mode || probe->interval_ns < PROBE_INTERVAL_MIN_NS ||
	    probe->interval_ns > KTIME_MAX || probe->start_ns > KTIME_MAX ||
	    probe->start_ns < ktime_to_ns(ktime_get_coarse_boottime()))
		return -EINVAL;

	thread = kthread_run(probe_thread, probe, "mptcp_probe");
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	probe->thread = thread;
	return 0;
}

static ssize_t probe_write(struct file *file, const char __user *from, size_t len,
			   loff_t *pos)
{
	struct probe *probe = file->private_data;
	char text[96];
	int err = 0;

	if (len >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, len))
		return -EFAULT;
	text[len] = '\0';

	mutex_lock(&probe->lock);
	if (sysfs_streq(text, "stop"))
		probe_stop(probe);
	else
		err = probe_start(probe, text);
	mutex_unlock(&probe->lock);
	return err ?: len;
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
	struct radix_tree_iter iter;
	void __rcu **slot;

	probe_stop(probe);
	radix_tree_for_each_slot(slot, &probe->ids, &iter, 0)
		radix_tree_iter_delete(&probe->ids, &iter, slot);
	stream_free(&probe->stream);
	put_net(probe->net);
	kvfree(probe->tcp_slots);
	kfree(probe);
	return 0;
}

static const struct file_operations probe_file_ops = {
	.open		= probe_open,
	.write		= probe_write,
	.read		= probe_read,
	.poll		= probe_poll,
	.release	= probe_release,
};

static int __net_init probe_net_init(struct net *net)
{
	if (!proc_create("mptcp_probe", 0600, net->proc_net, &probe_file_ops))
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
};

static int __init probe_init(void)
{
	return register_pernet_subsys(&probe_net_ops);
}

late_initcall(probe_init);
