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
	u64		*chunk;		/* what is being sent */
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

static void bulk_fill(struct bulk *bulk, const struct bulk_wait *wait)
{
	u64 word, *to, *end = bulk->chunk + wait->chunk_bytes / 8;

	bulk->chunk_position = wait->position - wait->sent;
	word = bulk_word(bulk->chunk_position / 8, wait->seed);
	for (to = bulk->chunk; to < end; to++, word += BULK_STEP)
		*to = word;
}

/* Returns 0 when not more than a chunk is left, else why no more can be sent. */
static long bulk_send(struct bulk *bulk, struct socket *sock, struct bulk_wait *wait)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct kvec piece;
	long sent;

	while (wait->left > wait->chunk_bytes) {
		/* a socket may take all, and that be without end */
		if (fatal_signal_pending(current))
			return -EINTR;
		if (wait->sent == wait->chunk_bytes)
			wait->sent = 0;
		if (bulk->chunk_position != wait->position - wait->sent)
			bulk_fill(bulk, wait);
		piece.iov_base = (char *)bulk->chunk + wait->sent;
		piece.iov_len = wait->chunk_bytes - wait->sent;
		sent = bulk_called(kernel_sendmsg(sock, &msg, &piece, 1, piece.iov_len));
		if (sent < 0)
			return sent;
		wait->sent += sent;
		wait->position += sent;
		wait->left -= sent;
	}
	return 0;
}

/* Returns 0, or -EBADMSG with the first byte that is wrong. */
static long bulk_verify(const struct bulk *bulk, struct bulk_wait *wait, size_t len)
{
	size_t begin = wait->position % 8, end = begin + len, words = DIV_ROUND_UP(end, 8), i;
	u64 first = bulk_word(wait->position / 8, wait->seed), word = first, wrong = 0;
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
	wait->wrong = wait->position + i - begin;
	wait->found = bytes[i];
	return -EBADMSG;
}

static long bulk_receive(struct bulk *bulk, struct socket *sock, struct bulk_wait *wait)
{
	struct msghdr msg = {};
	struct kvec piece = {
		.iov_base = (char *)bulk->received + wait->position % 8,
		.iov_len = wait->chunk_bytes,
	};
	long got, err;

	got = bulk_called(kernel_recvmsg(sock, &msg, &piece, 1, piece.iov_len, MSG_DONTWAIT));
	if (got <= 0)
		return got ?: -ENODATA;
	err = bulk_verify(bulk, wait, got);
	if (err)
		return err;
	bulk_read_clock();
	wait->receives--;
	wait->position += got;
	wait->left -= got;
	return 0;
}

/* Moves what can be moved, if that is all that is ready. Returns 1; 0: that is
 * for the process; or an error.
 */
static long bulk_move(struct bulk *bulk, struct socket *sock, struct bulk_wait *wait)
{
	struct pollfd __user *fds = u64_to_user_ptr(wait->fds);
	struct pollfd own;
	unsigned int i;
	long err;

	if (copy_from_user(&own, fds + wait->own, sizeof(own)))
		return -EFAULT;
	/* this does not move the time as ktime_get() does */
	if (ktime_get_coarse_ns() > wait->until_ns)
		return 0;
	if (own.events & POLLOUT) {
		if (own.revents != POLLOUT)
			return 0;
		err = bulk_send(bulk, sock, wait);
		if (!err)
			return 0;
	} else {
		if (own.revents != POLLIN || !wait->receives || wait->left < 2 * wait->chunk_bytes)
			return 0;
		err = bulk_receive(bulk, sock, wait);
	}
	if (err && err != -EAGAIN)
		return err;
	for (i = 0; i < wait->clock_reads; i++)
		bulk_read_clock();
	return 1;
}

static long bulk_wait(struct bulk *bulk, struct bulk_wait *wait)
{
	struct pollfd __user *fds = u64_to_user_ptr(wait->fds);
	struct socket *sock;
	long ready, moved;
	int fd, err;

	if (get_user(fd, &fds[wait->own].fd))
		return -EFAULT;
	sock = sockfd_lookup(fd, &err);
	if (!sock)
		return err;
	do {
		/* of a process on its own memory: poll() itself is what acts as poll() */
		ready = bulk_called(sys_poll(fds, wait->count, -1));
		moved = 0;
		if (ready == 1 && READ_ONCE(bulk_enabled) && !signal_pending(current))
			moved = bulk_move(bulk, sock, wait);
	} while (moved > 0);
	sockfd_put(sock);
	return moved ?: ready;
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
	if (wait.own >= wait.count || !wait.chunk_bytes || wait.chunk_bytes > BULK_CHUNK_MAX ||
	    wait.chunk_bytes % 8 || wait.sent > wait.chunk_bytes)
		return -EINVAL;
	if (!mutex_trylock(&bulk->lock))
		return -EBUSY;
	result = bulk_wait(bulk, &wait);
	mutex_unlock(&bulk->lock);
	return copy_to_user(user, &wait, sizeof(wait)) ? -EFAULT : result;
}

static int bulk_release(struct inode *inode, struct file *file)
{
	struct bulk *bulk = file->private_data;

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
	bulk->chunk_position = U64_MAX;
	bulk->chunk = kvmalloc(BULK_CHUNK_MAX, GFP_KERNEL);
	bulk->received = kvmalloc(BULK_CHUNK_MAX + sizeof(u64), GFP_KERNEL);
	if (!bulk->chunk || !bulk->received) {
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
