// SPDX-License-Identifier: GPL-2.0-only
/* /proc/mptcplab_bulk: a poll() that moves bulk data by itself.
 *
 * A process that sends as much as goes, or verifies what comes, spends most of
 * its time on coming here and going back, some 10 us for each system call. Here
 * these calls are made for it: the same ones, in the same order, with what each
 * costs in virtual time, so that packets leave when they left before. What is
 * not plain goes to the process, as from poll(): other descriptors, where a
 * message begins or ends, and the end of a connection.
 *
 * The sysctl mptcplab.bulk=0 makes it an ordinary poll().
 */

#include <linux/delay.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/proc_fs.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <linux/syscalls.h>
#include <linux/sysctl.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>

#include "bulk.h"

#define BULK_CHUNK_MAX	SZ_256K
/* from one word of a stream to the next, see pattern() in guest/traffic.c */
#define BULK_STEP	0x9e3779b97f4a7c15ull

struct bulk {
	struct mutex	lock;		/* held while one waits, who uses all below */
	struct bulk_flow *flows;
	u64		*chunk;		/* what is being sent */
	const struct bulk_flow *filled;	/* by which */
	u64		chunk_position;	/* of it in the stream */
	u64		*received;	/* aligned as the stream is: a word more than a chunk */
};

static u8 bulk_enabled = 1;

/* What happens at the end of a system call: in virtual time, one that fails
 * takes a microsecond (arch/um/kernel/skas/syscall.c).
 */
static long bulk_called(long result)
{
	if (IS_ERR_VALUE(result)) {
		udelay(1);
		schedule();
	}
	cond_resched();
	return result;
}

static void bulk_read_clock(void)
{
	struct timespec64 now;

	ktime_get_ts64(&now);
	bulk_called(0);
}

static u64 bulk_word(u64 i, u64 seed)
{
	return (i + seed * 0xd1342543de82ef95ull) * BULK_STEP;
}

static void bulk_fill(struct bulk *bulk, const struct bulk_flow *flow)
{
	u64 word, *to, *end = bulk->chunk + flow->chunk_bytes / 8;

	bulk->filled = flow;
	bulk->chunk_position = flow->position - flow->sent;
	word = bulk_word(bulk->chunk_position / 8, flow->seed);
	for (to = bulk->chunk; to < end; to++, word += BULK_STEP)
		*to = word;
}

/* Returns 0 when not more than a chunk is left, else why no more can be sent. */
static long bulk_send(struct bulk *bulk, struct socket *sock, struct bulk_flow *flow)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct kvec piece;
	long sent;

	while (flow->left > flow->chunk_bytes) {
		/* a socket may take all, and that be without end */
		if (fatal_signal_pending(current))
			return -EINTR;
		if (flow->sent == flow->chunk_bytes)
			flow->sent = 0;
		if (bulk->filled != flow || bulk->chunk_position != flow->position - flow->sent)
			bulk_fill(bulk, flow);
		piece.iov_base = (char *)bulk->chunk + flow->sent;
		piece.iov_len = flow->chunk_bytes - flow->sent;
		sent = bulk_called(kernel_sendmsg(sock, &msg, &piece, 1, piece.iov_len));
		if (sent < 0)
			return sent;
		flow->sent += sent;
		flow->position += sent;
		flow->left -= sent;
	}
	return 0;
}

/* Returns 0, or -EBADMSG with the first byte that is wrong. */
static long bulk_verify(const struct bulk *bulk, struct bulk_wait *wait,
			const struct bulk_flow *flow, size_t len)
{
	size_t begin = flow->position % 8, end = begin + len, words = DIV_ROUND_UP(end, 8), i;
	u64 first = bulk_word(flow->position / 8, flow->seed), word = first, wrong = 0;
	u64 last = first + (words - 1) * BULK_STEP;
	u8 *bytes = (u8 *)bulk->received;

	/* what the first and the last word have beside it is none of ours: make it right */
	memcpy(bytes, &first, begin);
	memcpy(bytes + end, (u8 *)&last + 8 - (8 * words - end), 8 * words - end);
	for (i = 0; i < words; i++, word += BULK_STEP)
		wrong |= bulk->received[i] ^ word;
	if (!wrong)
		return 0;
	for (i = begin; i < end; i++) {
		word = first + i / 8 * BULK_STEP;
		if (bytes[i] != (u8)(word >> (8 * (i % 8))))
			break;
	}
	wait->wrong = flow->position + i - begin;
	wait->flow = flow - bulk->flows;
	wait->found = bytes[i];
	return -EBADMSG;
}

static long bulk_receive(struct bulk *bulk, struct socket *sock, struct bulk_wait *wait,
			 struct bulk_flow *flow)
{
	struct msghdr msg = {};
	struct kvec piece = {
		.iov_base = (char *)bulk->received + flow->position % 8,
		.iov_len = flow->chunk_bytes,
	};
	long got, err;

	got = bulk_called(kernel_recvmsg(sock, &msg, &piece, 1, piece.iov_len, MSG_DONTWAIT));
	if (got <= 0)
		return got ?: -ENODATA;
	err = bulk_verify(bulk, wait, flow, got);
	if (err)
		return err;
	bulk_read_clock();
	flow->position += got;
	flow->left -= got;
	return 0;
}

/* The flow that is ready; NULL: something else is. An error if fds are not there. */
static struct bulk_flow *bulk_ready(struct bulk *bulk, const struct bulk_wait *wait,
				    struct pollfd *own)
{
	struct pollfd __user *fds = u64_to_user_ptr(wait->fds);
	struct bulk_flow *flow;

	for (flow = bulk->flows; flow < bulk->flows + wait->flow_count; flow++) {
		if (copy_from_user(own, fds + flow->own, sizeof(*own)))
			return ERR_PTR(-EFAULT);
		if (own->revents)
			return flow;
	}
	return NULL;
}

static bool bulk_may(const struct bulk_flow *flow)
{
	/* this does not move the time as ktime_get() does */
	return flow->left > flow->chunk_bytes && ktime_get_coarse_ns() <= flow->until_ns;
}

/* Moves data of a connection that is ready for it. Returns as bulk_move(). */
static long bulk_move_of(struct bulk *bulk, struct bulk_wait *wait, struct socket *sock,
			 short ready, struct bulk_flow *in, struct bulk_flow *out)
{
	struct pollfd __user *fds = u64_to_user_ptr(wait->fds);
	unsigned int clock_reads = in ? in->clock_reads : 0, i;
	long result = 0;

	if (ready & POLLIN) {
		result = bulk_receive(bulk, sock, wait, in);
		if (result && result != -EAGAIN)
			return result;
	}
	if (out) {
		result = bulk_send(bulk, sock, out);
		if (!result && ready & POLLIN)
			/* what was received is not there any more */
			return put_user((short)POLLOUT, &fds[out->own].revents);
		if (result != -EAGAIN)
			return result;
		clock_reads = out->clock_reads;
	}
	for (i = 0; i < clock_reads; i++)
		bulk_read_clock();
	return 1;
}

/* Moves what can be moved, if that is all that is ready. Returns 1; 0: that is
 * for the process; or an error.
 */
static long bulk_move(struct bulk *bulk, struct bulk_wait *wait)
{
	struct bulk_flow *flow, *in = NULL, *out = NULL;
	struct socket *sock;
	struct pollfd own;
	long result;
	int err;

	flow = bulk_ready(bulk, wait, &own);
	if (IS_ERR_OR_NULL(flow))
		return PTR_ERR_OR_ZERO(flow);
	if (!flow->sends)
		in = flow++;
	if (flow < bulk->flows + wait->flow_count && flow->sends && (!in || flow->own == in->own))
		out = flow;
	if (own.revents & ~(POLLIN | POLLOUT) || (own.revents & POLLIN && !in) ||
	    (own.revents & POLLOUT && !out) || (in && !bulk_may(in)) || (out && !bulk_may(out)))
		return 0;
	sock = sockfd_lookup(own.fd, &err);
	if (!sock)
		return err;
	result = bulk_move_of(bulk, wait, sock, own.revents, in, out);
	sockfd_put(sock);
	return result;
}

static long bulk_wait(struct bulk *bulk, struct bulk_wait *wait)
{
	struct pollfd __user *fds = u64_to_user_ptr(wait->fds);
	long ready, moved;

	do {
		/* of a process on its own memory: poll() itself is what acts as poll() */
		ready = bulk_called(sys_poll(fds, wait->count, -1));
		moved = 0;
		if (ready == 1 && READ_ONCE(bulk_enabled) && !signal_pending(current))
			moved = bulk_move(bulk, wait);
	} while (moved > 0);
	return moved ?: ready;
}

static bool bulk_flow_is_right(const struct bulk_flow *flow, const struct bulk_wait *wait)
{
	return flow->own < wait->count && flow->chunk_bytes &&
	       flow->chunk_bytes <= BULK_CHUNK_MAX && !(flow->chunk_bytes % 8) &&
	       flow->sent <= flow->chunk_bytes;
}

static long bulk_wait_user(struct bulk *bulk, struct bulk_wait *wait)
{
	struct bulk_flow __user *flows = u64_to_user_ptr(wait->flows);
	size_t bytes = wait->flow_count * sizeof(*flows);
	unsigned int i;
	long result;

	if (copy_from_user(bulk->flows, flows, bytes))
		return -EFAULT;
	for (i = 0; i < wait->flow_count; i++)
		if (!bulk_flow_is_right(&bulk->flows[i], wait))
			return -EINVAL;
	/* others may be there now */
	bulk->filled = NULL;
	result = bulk_wait(bulk, wait);
	return copy_to_user(flows, bulk->flows, bytes) ? -EFAULT : result;
}

static long bulk_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct bulk_wait __user *user = (struct bulk_wait __user *)argument;
	struct bulk *bulk = file->private_data;
	struct bulk_wait wait;
	long result;

	if (command != BULK_WAIT)
		return -ENOTTY;
	if (copy_from_user(&wait, user, sizeof(wait)))
		return -EFAULT;
	if (!wait.flow_count || wait.flow_count > BULK_FLOWS_MAX)
		return -EINVAL;
	if (!mutex_trylock(&bulk->lock))
		return -EBUSY;
	result = bulk_wait_user(bulk, &wait);
	mutex_unlock(&bulk->lock);
	return copy_to_user(user, &wait, sizeof(wait)) ? -EFAULT : result;
}

static int bulk_release(struct inode *inode, struct file *file)
{
	struct bulk *bulk = file->private_data;

	kvfree(bulk->flows);
	kvfree(bulk->chunk);
	kvfree(bulk->received);
	kfree(bulk);
	return 0;
}

static int bulk_open(struct inode *inode, struct file *file)
{
	struct bulk *bulk = kzalloc(sizeof(*bulk), GFP_KERNEL);

	if (!bulk)
		return -ENOMEM;
	file->private_data = bulk;
	mutex_init(&bulk->lock);
	bulk->flows = kvmalloc_array(BULK_FLOWS_MAX, sizeof(*bulk->flows), GFP_KERNEL);
	bulk->chunk = kvmalloc(BULK_CHUNK_MAX, GFP_KERNEL);
	bulk->received = kvmalloc(BULK_CHUNK_MAX + sizeof(u64), GFP_KERNEL);
	if (!bulk->flows || !bulk->chunk || !bulk->received) {
		bulk_release(inode, file);
		return -ENOMEM;
	}
	return 0;
}

static const struct proc_ops bulk_proc_ops = {
	.proc_open	= bulk_open,
	.proc_ioctl	= bulk_ioctl,
	.proc_release	= bulk_release,
};

static const struct ctl_table bulk_sysctl[] = {
	{
		.procname	= "bulk",
		.data		= &bulk_enabled,
		.maxlen		= sizeof(bulk_enabled),
		.mode		= 0644,
		.proc_handler	= proc_dou8vec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	},
};

static int __init bulk_init(void)
{
	if (!proc_create("mptcplab_bulk", 0600, NULL, &bulk_proc_ops) ||
	    !register_sysctl("mptcplab", bulk_sysctl))
		return -ENOMEM;
	return 0;
}

late_initcall(bulk_init);
