// SPDX-License-Identifier: GPL-2.0-only
/* /proc/mptcplab_bulk: a poll() that moves data by itself.
 *
 * A process that sends or verifies bulk data spends most of its time entering and leaving
 * the kernel, some 10 us for each system call. This file makes these calls for it: the same
 * ones, in the same order, at the same cost in virtual time. So packets leave at the same
 * times. All other events go to the process, as from poll(): other descriptors, the first
 * and last bytes of a message that it sends, bytes that something waits for, and the end of
 * a connection. Receipts record the arrival of bytes; from them the process knows when each
 * message began and ended.
 *
 * It waits like poll(), but stays on the wait queues of all files while it moves data. It
 * looks only at files that were woken or were ready before, since looking costs most with
 * many connections, or a packet at a time.
 *
 * The sysctl mptcplab.bulk=0 makes it an ordinary poll().
 */

#include <linux/bitmap.h>
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/proc_fs.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <linux/syscalls.h>
#include <linux/sysctl.h>
#include <linux/timekeeping.h>
#include <linux/timerfd.h>
#include <linux/uaccess.h>

#include "moving.h"
#include "uapi/bulk.h"

#define BULK_CHUNK_MAX	SZ_256K
/* longer than the work between two looks at the clock */
#define BULK_MARGIN_NS	NSEC_PER_MSEC
/* a pipe has two */
#define BULK_QUEUES_MAX	2

/* A file to wait for, and its wait queues. */
struct bulk_source {
	struct file	*file;		/* NULL: none */
	__poll_t	wanted;
	__poll_t	ready;		/* at the latest look */
	poll_table	table;
	struct bulk	*bulk;
	unsigned int	queue_count;
	struct bulk_queue {
		wait_queue_entry_t	entry;
		wait_queue_head_t	*head;
		struct bulk_source	*source;
	} queues[BULK_QUEUES_MAX];
};

struct bulk {
	struct mutex	lock;		/* of all fields below; held during a wait */
	struct bulk_source *sources;	/* one for each of fds */
	unsigned int	source_count;
	unsigned int	ready;		/* the last source found ready */
	unsigned long	*stirred;	/* bits of sources to look at; wakeups set them, too */
	bool		woken;		/* by any source since the latest look */
	struct bulk_flow *flows;
	u64		*chunk;		/* data to send */
	const struct bulk_flow *filled;	/* the flow of the chunk */
	u64		chunk_position;	/* in the stream */
	u64		*received;	/* aligned like the stream: a word more than a chunk */
	struct bulk_receipt *receipts;
};

static u8 bulk_enabled = 1;

/* The end of a system call: in virtual time, a failure takes a microsecond
 * (arch/um/kernel/skas/syscall.c).
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

static u64 bulk_read_clock(void)
{
	struct timespec64 now;

	ktime_get_ts64(&now);
	bulk_called(0);
	return timespec64_to_ns(&now);
}

static void bulk_fill(struct bulk *bulk, const struct bulk_flow *flow)
{
	bulk->filled = flow;
	bulk->chunk_position = flow->position - flow->sent;
	moving_fill(bulk->chunk, flow->chunk_bytes / 8, bulk->chunk_position, flow->seed);
}

/* Returns 0 when at most a chunk is left, else the error that stops the sending. */
static long bulk_send(struct bulk *bulk, struct socket *sock, struct bulk_flow *flow)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct kvec piece;
	long sent;

	while (flow->left > flow->chunk_bytes) {
		/* a socket may take endless data */
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

/* Returns 0, or -EBADMSG with the first wrong byte. */
static long bulk_verify(const struct bulk *bulk, struct bulk_wait *wait,
			const struct bulk_flow *flow, size_t len)
{
	size_t right = moving_verify(bulk->received, flow->position, len, flow->seed);

	if (right == len)
		return 0;
	wait->wrong = flow->position + right;
	wait->flow = flow - bulk->flows;
	wait->found = ((u8 *)bulk->received)[flow->position % 8 + right];
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
	struct bulk_receipt *receipt;
	long got, err;

	got = bulk_called(kernel_recvmsg(sock, &msg, &piece, 1, piece.iov_len, MSG_DONTWAIT));
	if (got <= 0)
		return got ?: -ENODATA;
	err = bulk_verify(bulk, wait, flow, got);
	if (err)
		return err;
	receipt = &bulk->receipts[wait->receipt_count++];
	receipt->flow = flow - bulk->flows;
	receipt->bytes = got;
	receipt->at_ns = bulk_read_clock();
	flow->position += got;
	flow->left -= min_t(u64, got, flow->left);
	return 0;
}

static bool bulk_may(const struct bulk_flow *flow)
{
	return flow->left > (flow->sends ? flow->chunk_bytes : 0) &&
	       moving_look_at_clock() + BULK_MARGIN_NS <= flow->until_ns;
}

/* Moves data of a connection that is ready for it. Returns as bulk_move(). */
static long bulk_move_of(struct bulk *bulk, struct bulk_wait *wait, struct bulk_source *source,
			 struct bulk_flow *in, struct bulk_flow *out)
{
	struct socket *sock = sock_from_file(source->file);
	unsigned int clock_reads = in ? in->clock_reads : 0, i;
	bool received = source->ready & EPOLLIN;
	long result = 0;

	if (!sock)
		return -ENOTSOCK;
	if (received) {
		result = bulk_receive(bulk, sock, wait, in);
		if (result && result != -EAGAIN)
			return result;
		if (!in->left) {
			/* the data is no longer there */
			source->ready = EPOLLOUT;
			return 0;
		}
	}
	if (out) {
		result = bulk_send(bulk, sock, out);
		if (!result && received)
			source->ready = EPOLLOUT;
		if (result != -EAGAIN)
			return result;
		clock_reads = out->clock_reads;
	}
	for (i = 0; i < clock_reads; i++)
		bulk_read_clock();
	return 1;
}

/* Moves data if only such flows are ready. Returns 1; 0: the process must act; or an error. */
static long bulk_move(struct bulk *bulk, struct bulk_wait *wait)
{
	struct bulk_flow *flow, *end = bulk->flows + wait->flow_count, *in = NULL, *out = NULL;
	struct bulk_source *source = &bulk->sources[bulk->ready];

	for (flow = bulk->flows; flow < end && flow->own != bulk->ready; flow++)
		;
	if (flow < end && !flow->sends)
		in = flow++;
	if (flow < end && flow->sends && flow->own == bulk->ready)
		out = flow;
	if (source->ready & ~(EPOLLIN | EPOLLOUT) || (source->ready & EPOLLIN && !in) ||
	    (source->ready & EPOLLOUT && !out) || (in && !bulk_may(in)) || (out && !bulk_may(out)))
		return 0;
	return bulk_move_of(bulk, wait, source, in, out);
}

/* From any context. */
static int bulk_wake(wait_queue_entry_t *entry, unsigned int mode, int sync, void *key)
{
	struct bulk_source *source = container_of(entry, struct bulk_queue, entry)->source;
	struct bulk *bulk = source->bulk;

	if (key && !(key_to_poll(key) & source->wanted))
		return 0;
	set_bit(source - bulk->sources, bulk->stirred);
	/* before it can run: see bulk_poll() */
	smp_store_mb(bulk->woken, true);
	return default_wake_function(entry, mode, sync, key);
}

static void bulk_queue(struct file *file, wait_queue_head_t *head, poll_table *table)
{
	struct bulk_source *source = container_of(table, struct bulk_source, table);
	struct bulk_queue *queue = &source->queues[source->queue_count];

	if (WARN_ON_ONCE(source->queue_count == BULK_QUEUES_MAX))
		return;
	init_waitqueue_entry(&queue->entry, current);
	queue->entry.func = bulk_wake;
	queue->head = head;
	queue->source = source;
	source->queue_count++;
	add_wait_queue(head, &queue->entry);
}

/* Looks at all stirred sources. A ready one stays stirred. Returns the number of ready ones. */
static unsigned int bulk_look(struct bulk *bulk)
{
	unsigned int i, ready = 0;

	for_each_set_bit(i, bulk->stirred, bulk->source_count) {
		struct bulk_source *source = &bulk->sources[i];

		clear_bit(i, bulk->stirred);
		/* a wakeup from here on is seen the next time */
		smp_mb__after_atomic();
		source->ready = vfs_poll(source->file, NULL) & source->wanted;
		if (source->ready) {
			set_bit(i, bulk->stirred);
			bulk->ready = i;
			ready++;
		}
	}
	return ready;
}

/* Returns the number of ready files, at least one, or -EINTR. */
static long bulk_poll(struct bulk *bulk)
{
	unsigned int ready;

	for (;;) {
		ready = bulk_look(bulk);
		if (ready)
			return ready;
		if (signal_pending(current))
			return -EINTR;
		set_current_state(TASK_INTERRUPTIBLE);
		if (!READ_ONCE(bulk->woken))
			schedule();
		__set_current_state(TASK_RUNNING);
		/* before the files are looked at: pairs with bulk_wake() */
		smp_store_mb(bulk->woken, false);
	}
}

/* A process calls it on its own memory, as with any system call. */
static long bulk_set_timer(const struct bulk_wait *wait, struct bulk_wait __user *user)
{
	if (wait->timer < 0)
		return 0;
	return bulk_called(sys_timerfd_settime(wait->timer, TFD_TIMER_ABSTIME, &user->wake, NULL));
}

static long bulk_wait(struct bulk *bulk, struct bulk_wait *wait, struct bulk_wait __user *user)
{
	long ready, moved;

	while (wait->receipt_count < BULK_RECEIPTS_MAX) {
		ready = bulk_set_timer(wait, user) ?: bulk_called(bulk_poll(bulk));
		moved = 0;
		if (ready == 1 && !signal_pending(current))
			moved = bulk_move(bulk, wait);
		if (moved <= 0)
			return moved ?: ready;
	}
	return 0;
}

static void bulk_forget_sources(struct bulk *bulk)
{
	struct bulk_source *source;

	for (source = bulk->sources; source < bulk->sources + bulk->source_count; source++) {
		while (source->queue_count) {
			struct bulk_queue *queue = &source->queues[--source->queue_count];

			remove_wait_queue(queue->head, &queue->entry);
		}
		if (source->file)
			fput(source->file);
	}
	kvfree(bulk->sources);
	bitmap_free(bulk->stirred);
	bulk->sources = NULL;
	bulk->stirred = NULL;
	bulk->source_count = 0;
}

static long bulk_take_sources(struct bulk *bulk, const struct bulk_wait *wait)
{
	struct pollfd __user *fds = u64_to_user_ptr(wait->fds);
	struct bulk_source *source;
	struct pollfd fd;
	unsigned int i;

	bulk->sources = kvcalloc(wait->count, sizeof(*bulk->sources), GFP_KERNEL);
	bulk->stirred = bitmap_zalloc(wait->count, GFP_KERNEL);
	if (!bulk->sources || !bulk->stirred)
		return -ENOMEM;
	bulk->source_count = wait->count;
	bulk->woken = false;
	for (i = 0; i < wait->count; i++) {
		if (copy_from_user(&fd, fds + i, sizeof(fd)))
			return -EFAULT;
		/* like poll(), do not wait for it */
		if (fd.fd < 0)
			continue;
		source = &bulk->sources[i];
		source->bulk = bulk;
		source->wanted = demangle_poll(fd.events) | EPOLLERR | EPOLLHUP;
		source->file = fget(fd.fd);
		if (!source->file)
			return -EBADF;
		init_poll_funcptr(&source->table, bulk_queue);
		vfs_poll(source->file, &source->table);
		set_bit(i, bulk->stirred);
	}
	return 0;
}

static long bulk_tell_sources(const struct bulk *bulk, const struct bulk_wait *wait)
{
	struct pollfd __user *fds = u64_to_user_ptr(wait->fds);
	unsigned int i;

	for (i = 0; i < wait->count; i++)
		if (put_user((short)mangle_poll(bulk->sources[i].ready), &fds[i].revents))
			return -EFAULT;
	return 0;
}

static bool bulk_flow_is_right(const struct bulk_flow *flow, const struct bulk_wait *wait)
{
	return flow->own < wait->count && flow->chunk_bytes &&
	       flow->chunk_bytes <= BULK_CHUNK_MAX && !(flow->chunk_bytes % 8) &&
	       flow->sent <= flow->chunk_bytes;
}

static long bulk_tell_receipts(const struct bulk *bulk, const struct bulk_wait *wait)
{
	size_t bytes = wait->receipt_count * sizeof(*bulk->receipts);

	if (copy_to_user(u64_to_user_ptr(wait->receipts), bulk->receipts, bytes))
		return -EFAULT;
	return 0;
}

static long bulk_wait_user(struct bulk *bulk, struct bulk_wait *wait,
			   struct bulk_wait __user *user)
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
	wait->receipt_count = 0;
	if (!READ_ONCE(bulk_enabled) || !wait->flow_count) {
		/* poll() itself acts as poll() */
		result = bulk_set_timer(wait, user);
		return result ?: sys_poll(u64_to_user_ptr(wait->fds), wait->count, -1);
	}
	/* it may hold another flow's data next */
	bulk->filled = NULL;
	result = bulk_take_sources(bulk, wait);
	if (!result)
		result = bulk_wait(bulk, wait, user);
	if (result > 0)
		result = bulk_tell_sources(bulk, wait) ?: result;
	if (result >= 0)
		result = bulk_tell_receipts(bulk, wait) ?: result;
	bulk_forget_sources(bulk);
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
	if (wait.flow_count > BULK_FLOWS_MAX ||
	    wait.count > rlimit(RLIMIT_NOFILE))
		return -EINVAL;
	if (!mutex_trylock(&bulk->lock))
		return -EBUSY;
	result = bulk_wait_user(bulk, &wait, user);
	mutex_unlock(&bulk->lock);
	return copy_to_user(user, &wait, sizeof(wait)) ? -EFAULT : result;
}

static int bulk_release(struct inode *inode, struct file *file)
{
	struct bulk *bulk = file->private_data;

	kvfree(bulk->flows);
	kvfree(bulk->chunk);
	kvfree(bulk->received);
	kvfree(bulk->receipts);
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
	bulk->receipts = kvmalloc_array(BULK_RECEIPTS_MAX, sizeof(*bulk->receipts), GFP_KERNEL);
	if (!bulk->flows || !bulk->chunk || !bulk->received || !bulk->receipts) {
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

static struct ctl_table bulk_sysctl[] = {
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
