// SPDX-License-Identifier: GPL-2.0-only
/* /proc/net/mptcp_decisions: the decisions of schedulers in a network namespace.
 *
 * A process writes "1" to start and "0" to stop. In between, read() gives a record (struct
 * probe_decision of uapi/probe.h) for each decision of each connection. The file listens to
 * the tracepoint mps_decision, which others may use, too. With "states" instead of "1", it
 * gives the schedulers' views and answers (struct state_head).
 */

#include <linux/proc_fs.h>
#include <linux/sizes.h>
#include <linux/sock_diag.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>

#include "framework.h"
#include "states.h"
#include "stream.h"
#include "trace.h"
#include "uapi/probe.h"

/* A process may send a whole send buffer, segment by segment, before the reader runs: some
 * thousand questions.
 */
#define STATES_BYTES	SZ_16M

struct decisions {
	struct record_stream	stream;
	struct net		*net;
	struct mutex		lock;		/* of started */
	spinlock_t		write_lock;	/* of ids, and of writing to the stream */
	struct xarray		ids;		/* socket cookie -> connection number */
	u32			connections;
	bool			started;
	bool			states;
};

static u32 decisions_connection(struct decisions *decisions, struct sock *sk)
{
	u64 cookie = __sock_gen_cookie(sk);
	void *known = xa_load(&decisions->ids, cookie);

	if (known)
		return xa_to_value(known);
	decisions->connections++;
	/* without an entry, it would get another number in the next record */
	if (xa_err(xa_store(&decisions->ids, cookie, xa_mk_value(decisions->connections),
			    GFP_ATOMIC)))
		WRITE_ONCE(decisions->stream.overflow, true);
	return decisions->connections;
}

/* Starts to write about a connection. True: go on, and end with decisions_end(). False: it
 * is in another namespace.
 */
static bool decisions_begin(struct decisions *decisions, const struct mps_conn *conn,
			    u32 *number)
{
	struct sock *sk = mps_sk(conn);

	if (!net_eq(sock_net(sk), decisions->net))
		return false;
	spin_lock_bh(&decisions->write_lock);
	*number = decisions_connection(decisions, sk);
	return true;
}

static void decisions_end(struct decisions *decisions)
{
	spin_unlock_bh(&decisions->write_lock);
	stream_wake(&decisions->stream);
}

static void decisions_record(void *data, const struct mps_conn *conn,
			     const struct mps_subflow *subflow,
			     const struct mps_decision *decision)
{
	struct decisions *decisions = data;
	struct probe_decision record;
	u32 number;

	if (!decisions_begin(decisions, conn, &number))
		return;
	record = (struct probe_decision) {
		.connection	= cpu_to_le32(number),
		.time_ns	= cpu_to_le64(decision->time_ns),
		.seq		= cpu_to_le64(decision->seq),
		.length		= cpu_to_le32(decision->length),
		.subflow	= cpu_to_le32(subflow ? subflow->id : 0),
		.kind		= decision->kind,
		.unsent_bytes	= cpu_to_le32(conn->unsent_bytes),
		.in_flight	= cpu_to_le32(subflow ? subflow->in_flight_pkts : 0),
		.cwnd		= cpu_to_le32(subflow ? mps_cwnd(subflow) : 0),
	};
	stream_put(&decisions->stream, &record, sizeof(record));
	decisions_end(decisions);
}

static void decisions_question(void *data, const struct mps_conn *conn)
{
	struct decisions *decisions = data;
	u32 number;

	if (!decisions_begin(decisions, conn, &number))
		return;
	states_put_question(&decisions->stream, number, conn);
	decisions_end(decisions);
}

static void decisions_answer(void *data, const struct mps_conn *conn,
			     const struct mps_pick *pick)
{
	struct decisions *decisions = data;
	u32 number;

	if (!decisions_begin(decisions, conn, &number))
		return;
	states_put_answer(&decisions->stream, number, pick);
	decisions_end(decisions);
}

static void decisions_done(void *data, const struct mps_conn *conn,
			   const struct mps_subflow *subflow,
			   const struct mps_decision *decision)
{
	struct decisions *decisions = data;
	u32 number;

	/* the answer has recorded it */
	if (decision->kind == DECISION_WAIT)
		return;
	if (!decisions_begin(decisions, conn, &number))
		return;
	states_put_done(&decisions->stream, number, subflow, decision);
	decisions_end(decisions);
}

static int decisions_open(struct inode *inode, struct file *file)
{
	/* the namespace may be going away */
	struct net *net = maybe_get_net(pde_data(inode));
	struct decisions *decisions;

	if (!net)
		return -ENXIO;
	decisions = kzalloc(sizeof(*decisions), GFP_KERNEL);
	if (!decisions) {
		put_net(net);
		return -ENOMEM;
	}
	stream_init(&decisions->stream, sizeof(struct probe_decision));
	decisions->net = net;
	mutex_init(&decisions->lock);
	spin_lock_init(&decisions->write_lock);
	xa_init(&decisions->ids);
	file->private_data = decisions;
	return nonseekable_open(inode, file);
}

static void decisions_stop(struct decisions *decisions)
{
	if (!decisions->started)
		return;
	if (decisions->states) {
		unregister_trace_mps_question_tp(decisions_question, decisions);
		unregister_trace_mps_answer_tp(decisions_answer, decisions);
		unregister_trace_mps_decision(decisions_done, decisions);
	} else {
		unregister_trace_mps_decision(decisions_record, decisions);
	}
	tracepoint_synchronize_unregister();
	decisions->started = false;
	stream_end(&decisions->stream);
}

static int decisions_start(struct decisions *decisions)
{
	return register_trace_mps_decision(decisions_record, decisions);
}

static int decisions_start_states(struct decisions *decisions)
{
	int err;

	decisions->stream.record_bytes = sizeof(struct state_question);
	decisions->stream.most_bytes = STATES_BYTES;
	err = register_trace_mps_question_tp(decisions_question, decisions);
	if (err)
		return err;
	err = register_trace_mps_answer_tp(decisions_answer, decisions);
	if (err)
		goto no_answer;
	err = register_trace_mps_decision(decisions_done, decisions);
	if (err)
		goto no_decision;
	return 0;

no_decision:
	unregister_trace_mps_answer_tp(decisions_answer, decisions);
no_answer:
	unregister_trace_mps_question_tp(decisions_question, decisions);
	return err;
}

static ssize_t decisions_write(struct file *file, const char __user *from, size_t len,
			       loff_t *pos)
{
	struct decisions *decisions = file->private_data;
	char word[sizeof("states")] = {};
	bool start, states;
	int err;

	if (!len || len >= sizeof(word))
		return -EINVAL;
	if (copy_from_user(word, from, len))
		return -EFAULT;
	states = sysfs_streq(word, "states");
	err = states ? 0 : kstrtobool(word, &start);
	if (err)
		return err;
	guard(mutex)(&decisions->lock);
	if (!states && !start) {
		decisions_stop(decisions);
		return len;
	}
	if (decisions->started)
		return -EBUSY;
	err = states ? decisions_start_states(decisions) : decisions_start(decisions);
	if (err)
		return err;
	decisions->states = states;
	decisions->started = true;
	return len;
}

static ssize_t decisions_read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	struct decisions *decisions = file->private_data;

	return stream_read(&decisions->stream, file, to, len);
}

static __poll_t decisions_poll(struct file *file, poll_table *wait)
{
	struct decisions *decisions = file->private_data;

	return stream_poll(&decisions->stream, file, wait);
}

static int decisions_release(struct inode *inode, struct file *file)
{
	struct decisions *decisions = file->private_data;

	decisions_stop(decisions);
	xa_destroy(&decisions->ids);
	stream_free(&decisions->stream);
	put_net(decisions->net);
	kfree(decisions);
	return 0;
}

static const struct proc_ops decisions_proc_ops = {
	.proc_open	= decisions_open,
	.proc_write	= decisions_write,
	.proc_read	= decisions_read,
	.proc_poll	= decisions_poll,
	.proc_release	= decisions_release,
};

static int __net_init decisions_net_init(struct net *net)
{
	if (!proc_create_data("mptcp_decisions", 0600, net->proc_net, &decisions_proc_ops, net))
		return -ENOMEM;
	return 0;
}

static void __net_exit decisions_net_exit(struct net *net)
{
	remove_proc_entry("mptcp_decisions", net->proc_net);
}

static struct pernet_operations decisions_net_ops = {
	.init = decisions_net_init,
	.exit = decisions_net_exit,
};

static int __init decisions_init(void)
{
	return register_pernet_subsys(&decisions_net_ops);
}

late_initcall(decisions_init);
