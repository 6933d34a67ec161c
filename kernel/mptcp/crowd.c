// SPDX-License-Identifier: GPL-2.0-only
/* /proc/mptcplab_crowd: moves the data of many connections.
 *
 * A process opens this file, says with CROWD_START how much flows in each direction, and hands
 * over its sockets with CROWD_ADD. A kernel thread then greets, sends, receives, verifies,
 * and closes. So a connection costs the process a few system calls, and a packet none.
 * Computing takes no virtual time, in the thread as elsewhere: it reads no clock that moves.
 *
 * Connections that something has happened to queue up for the thread. It looks at no other
 * one, except when the time is over.
 *
 * LOCKING: `lock` protects the lists, and the events of connections. It is taken within the
 * lock of a wait queue. All else of a connection belongs to the thread once it is queued.
 */

#include <linux/errno.h>
#include <linux/file.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/proc_fs.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <linux/uaccess.h>
#include <net/sock.h>

#include "moving.h"
#include "probe.h"
#include "uapi/crowd.h"
#include "uapi/pattern.h"

/* received at once */
#define CROWD_RECEIVE_BYTES	SZ_128K
/* sent at once: a full send buffer takes less */
#define CROWD_SEND_BYTES	SZ_16K

struct crowd;

struct crowd_connection {
	struct list_head	queued;		/* in crowd->queue; empty: it is not */
	__poll_t		events;		/* since it was queued */
	struct list_head	all;		/* in crowd->all, or in crowd->ended */
	struct crowd		*crowd;
	struct file		*file;
	struct sock		*sk;
	poll_table		table;
	wait_queue_entry_t	entry;
	wait_queue_head_t	*head;
	bool			connecting;
	bool			in_ended;
	bool			out_ended;
	unsigned int		greeted;	/* bytes of the greeting, at the server */
	struct crowd_greeting	greeting;
	struct crowd_record	record;
};

struct crowd {
	struct mutex		starting;	/* of thread and settings */
	struct task_struct	*thread;
	struct crowd_settings	settings;
	spinlock_t		lock;		/* see LOCKING */
	struct list_head	queue;
	struct list_head	all;		/* but the ended ones */
	struct list_head	ended;
	wait_queue_head_t	wait;		/* for ended ones */
	/* the thread's */
	bool			stopped;	/* stop_ns is over */
	u64			*chunk;		/* data that is sent or received */
};

/* The bytes that this end sends, or receives, on each connection. */
static u64 crowd_bytes(const struct crowd *crowd, bool down)
{
	return down ? crowd->settings.down_bytes : crowd->settings.up_bytes;
}

static u64 crowd_seed(const struct crowd_connection *c, bool down)
{
	return pattern_seed(c->crowd->settings.seed, c->record.connection - 1, down);
}

static void crowd_queue(struct crowd_connection *c, __poll_t events)
{
	struct crowd *crowd = c->crowd;
	unsigned long flags;
	bool first = false;

	spin_lock_irqsave(&crowd->lock, flags);
	c->events |= events;
	if (list_empty(&c->queued)) {
		first = list_empty(&crowd->queue);
		list_add_tail(&c->queued, &crowd->queue);
	}
	spin_unlock_irqrestore(&crowd->lock, flags);
	if (first)
		wake_up_process(crowd->thread);
}

/* From any context. */
static int crowd_wake(wait_queue_entry_t *entry, unsigned int mode, int sync, void *key)
{
	struct crowd_connection *c = container_of(entry, struct crowd_connection, entry);

	crowd_queue(c, key ? key_to_poll(key) : EPOLLIN | EPOLLOUT);
	return 0;
}

static void crowd_wait_queue(struct file *file, wait_queue_head_t *head, poll_table *table)
{
	struct crowd_connection *c = container_of(table, struct crowd_connection, table);

	if (WARN_ON_ONCE(c->head))
		return;
	c->head = head;
	add_wait_queue(head, &c->entry);
}

/* Its file, so its socket, goes away. The connection becomes a record. */
static void crowd_finish(struct crowd_connection *c, int error)
{
	struct crowd *crowd = c->crowd;

	remove_wait_queue(c->head, &c->entry);
	fput(c->file);
	c->record.error = -error;
	spin_lock_irq(&crowd->lock);
	list_del_init(&c->queued);
	list_move_tail(&c->all, &crowd->ended);
	spin_unlock_irq(&crowd->lock);
	wake_up_interruptible(&crowd->wait);
}

static int crowd_end_sending(struct crowd_connection *c)
{
	c->out_ended = true;
	return kernel_sock_shutdown(sock_from_file(c->file), SHUT_WR);
}

/* Returns 0 also if there is no room for more, or an error. */
static int crowd_send(struct crowd_connection *c)
{
	struct crowd *crowd = c->crowd;
	bool down = crowd->settings.is_server;
	u64 bytes = crowd_bytes(crowd, down), *sent = &c->record.sent_bytes;
	struct socket *sock = sock_from_file(c->file);

	if (!bytes || c->out_ended)
		return 0;
	while (*sent < bytes) {
		struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
		size_t skip = *sent % 8, len = min_t(u64, bytes - *sent, CROWD_SEND_BYTES);
		struct kvec piece = { .iov_base = (char *)crowd->chunk + skip };
		long done;

		if (bytes == CROWD_OPEN_ENDED && crowd->stopped)
			break;
		/* more is not taken, and need not be made */
		len = min_t(long, len, max(sk_stream_wspace(c->sk), 1));
		moving_fill(crowd->chunk, (skip + len + 7) / 8, *sent,
			    crowd_seed(c, down));
		piece.iov_len = len;
		if (!c->record.begin_ns)
			c->record.begin_ns = moving_look_at_clock();
		done = kernel_sendmsg(sock, &msg, &piece, 1, len);
		if (done == -EAGAIN)
			return 0;
		if (done < 0)
			return done;
		*sent += done;
	}
	c->record.written_ns = moving_look_at_clock();
	return crowd_end_sending(c);
}

/* The peer sends no more. */
static int crowd_receive_end(struct crowd_connection *c)
{
	u64 bytes = crowd_bytes(c->crowd, !c->crowd->settings.is_server);

	if (bytes == CROWD_OPEN_ENDED)
		c->record.complete_ns = moving_look_at_clock();
	else if (c->record.received_bytes != bytes)
		return -ENODATA;
	c->in_ended = true;
	probe_sample_end(c->sk);
	return c->out_ended || crowd_bytes(c->crowd, c->crowd->settings.is_server) ?
		0 : crowd_end_sending(c);
}

static int crowd_verify(struct crowd_connection *c, size_t got)
{
	bool down = !c->crowd->settings.is_server;
	u64 bytes = crowd_bytes(c->crowd, down), *received = &c->record.received_bytes;

	if (moving_verify(c->crowd->chunk, *received, got, crowd_seed(c, down)) != got ||
	    got > bytes - *received)
		return -EBADMSG;
	if (!*received)
		c->record.first_ns = moving_look_at_clock();
	*received += got;
	if (*received == bytes)
		c->record.complete_ns = moving_look_at_clock();
	return 0;
}

static long crowd_take(struct crowd_connection *c, void *to, size_t len)
{
	struct kvec piece = { .iov_base = to, .iov_len = len };
	struct msghdr msg = {};

	return kernel_recvmsg(sock_from_file(c->file), &msg, &piece, 1, len, MSG_DONTWAIT);
}

/* Returns 0 also if nothing more is there, or an error. */
static int crowd_receive(struct crowd_connection *c)
{
	long got;
	int err;

	do {
		got = crowd_take(c, (char *)c->crowd->chunk + c->record.received_bytes % 8,
				 CROWD_RECEIVE_BYTES);
		if (got == -EAGAIN)
			return 0;
		if (got < 0)
			return got;
		if (!got)
			return crowd_receive_end(c);
		err = crowd_verify(c, got);
		if (err)
			return err;
		/* a short read leaves nothing behind, but perhaps the end */
	} while (got == CROWD_RECEIVE_BYTES || READ_ONCE(c->sk->sk_shutdown) & RCV_SHUTDOWN);
	return 0;
}

/* At the server. Returns 1 when the greeting is whole, 0 if not yet, or an error. */
static int crowd_hear_greeting(struct crowd_connection *c)
{
	long got;

	while (c->greeted < sizeof(c->greeting)) {
		got = crowd_take(c, (char *)&c->greeting + c->greeted,
				 sizeof(c->greeting) - c->greeted);
		if (got == -EAGAIN)
			return 0;
		if (got <= 0)
			return got ?: -ENODATA;
		c->greeted += got;
	}
	if (memcmp(c->greeting.magic, CROWD_MAGIC, sizeof(c->greeting.magic)) ||
	    !c->greeting.connection ||
	    c->greeting.connection > c->crowd->settings.connections)
		return -EBADMSG;
	c->record.connection = c->greeting.connection;
	return 1;
}

/* At the client. Returns 1 when it is connected, 0 if not yet, or an error. */
static int crowd_greet(struct crowd_connection *c)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct kvec piece = { .iov_base = &c->greeting, .iov_len = sizeof(c->greeting) };
	int state = READ_ONCE(c->sk->sk_state), err;
	long sent;

	if (state == TCP_SYN_SENT)
		return 0;
	err = sock_error(c->sk);
	if (err || state == TCP_CLOSE)
		return err ?: -ECONNABORTED;
	c->connecting = false;
	memcpy(c->greeting.magic, CROWD_MAGIC, sizeof(c->greeting.magic));
	c->greeting.connection = c->record.connection;
	if (crowd_bytes(c->crowd, false))
		msg.msg_flags |= MSG_MORE;
	sent = kernel_sendmsg(sock_from_file(c->file), &msg, &piece, 1, piece.iov_len);
	if (sent < 0)
		return sent;
	return sent == sizeof(c->greeting) ? 1 : -ENOBUFS;
}

/* of sk_stream_write_space() */
#define CROWD_ROOM	(EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND)

/* Does what can be done for a connection now. */
static int crowd_work(struct crowd_connection *c, __poll_t events)
{
	int result = 1;

	if (c->connecting)
		result = crowd_greet(c);
	else if (!c->record.connection)
		result = crowd_hear_greeting(c);
	else if (events && !(events & ~CROWD_ROOM))
		goto send;
	if (result <= 0)
		return result;
	result = c->in_ended ? 0 : crowd_receive(c);
	if (result)
		return result;
send:
	return crowd_send(c);
}

static void crowd_serve(struct crowd_connection *c, __poll_t events)
{
	int err = crowd_work(c, events);

	if (!err && c->connecting && c->crowd->stopped)
		err = -ETIMEDOUT;
	if (err || (c->in_ended && c->out_ended))
		crowd_finish(c, err);
}

static void crowd_serve_queue(struct crowd *crowd)
{
	struct crowd_connection *c;
	__poll_t events;

	for (;;) {
		spin_lock_irq(&crowd->lock);
		c = list_first_entry_or_null(&crowd->queue, struct crowd_connection, queued);
		if (c) {
			list_del_init(&c->queued);
			events = c->events;
			c->events = 0;
		}
		spin_unlock_irq(&crowd->lock);
		if (!c)
			return;
		crowd_serve(c, events);
		cond_resched();
	}
}

static void crowd_stop_if_due(struct crowd *crowd)
{
	struct crowd_connection *c;

	if (crowd->stopped || !crowd->settings.stop_ns ||
	    moving_look_at_clock() < crowd->settings.stop_ns)
		return;
	crowd->stopped = true;
	guard(spinlock_irq)(&crowd->lock);
	list_for_each_entry(c, &crowd->all, all) {
		c->events |= EPOLLOUT;
		if (list_empty(&c->queued))
			list_add_tail(&c->queued, &crowd->queue);
	}
}

static int crowd_thread(void *arg)
{
	struct crowd *crowd = arg;
	ktime_t stop = ns_to_ktime(crowd->settings.stop_ns);

	for (;;) {
		crowd_serve_queue(crowd);
		crowd_stop_if_due(crowd);
		set_current_state(TASK_INTERRUPTIBLE);
		if (kthread_should_stop())
			break;
		/* only this thread takes from the queue */
		if (!list_empty_careful(&crowd->queue))
			__set_current_state(TASK_RUNNING);
		else if (crowd->settings.stop_ns && !crowd->stopped)
			schedule_hrtimeout(&stop, HRTIMER_MODE_ABS);
		else
			schedule();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static long crowd_start(struct crowd *crowd, const struct crowd_settings __user *user)
{
	struct task_struct *thread;

	guard(mutex)(&crowd->starting);
	if (crowd->thread)
		return -EBUSY;
	if (copy_from_user(&crowd->settings, user, sizeof(*user)))
		return -EFAULT;
	thread = kthread_run(crowd_thread, crowd, "mptcp_crowd");
	if (IS_ERR(thread))
		return PTR_ERR(thread);
	/* connections wake it until they are forgotten */
	crowd->thread = get_task_struct(thread);
	return 0;
}

static long crowd_add(struct crowd *crowd, const struct crowd_socket __user *user)
{
	struct crowd_connection *c;
	struct crowd_socket given;
	struct socket *sock;

	guard(mutex)(&crowd->starting);
	if (!crowd->thread)
		return -EINVAL;
	if (copy_from_user(&given, user, sizeof(given)))
		return -EFAULT;
	if (given.connection > crowd->settings.connections ||
	    !given.connection != !!crowd->settings.is_server)
		return -EINVAL;
	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	c->file = fget(given.fd);
	sock = c->file ? sock_from_file(c->file) : NULL;
	if (!sock) {
		if (c->file)
			fput(c->file);
		kfree(c);
		return -ENOTSOCK;
	}
	c->crowd = crowd;
	c->sk = sock->sk;
	c->record.connection = given.connection;
	c->connecting = given.connection;
	INIT_LIST_HEAD(&c->queued);
	scoped_guard(spinlock_irq, &crowd->lock)
		list_add_tail(&c->all, &crowd->all);
	init_waitqueue_func_entry(&c->entry, crowd_wake);
	init_poll_funcptr(&c->table, crowd_wait_queue);
	vfs_poll(c->file, &c->table);
	crowd_queue(c, EPOLLIN | EPOLLOUT);
	return 0;
}

static long crowd_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	switch (command) {
	case CROWD_START:
		return crowd_start(file->private_data, (void __user *)argument);
	case CROWD_ADD:
		return crowd_add(file->private_data, (void __user *)argument);
	default:
		return -ENOTTY;
	}
}

/* The next connection that has ended, which the caller frees; NULL: none. */
static struct crowd_connection *crowd_next_ended(struct crowd *crowd)
{
	struct crowd_connection *c;

	guard(spinlock_irq)(&crowd->lock);
	c = list_first_entry_or_null(&crowd->ended, struct crowd_connection, all);
	if (c)
		list_del(&c->all);
	return c;
}

/* Does not wait: poll() does. */
static ssize_t crowd_read(struct file *file, char __user *to, size_t len, loff_t *pos)
{
	struct crowd *crowd = file->private_data;
	struct crowd_connection *c;
	size_t copied = 0;
	unsigned long left;

	while (len - copied >= sizeof(c->record)) {
		c = crowd_next_ended(crowd);
		if (!c)
			break;
		left = copy_to_user(to + copied, &c->record, sizeof(c->record));
		kfree(c);
		if (left)
			return -EFAULT;
		copied += sizeof(c->record);
	}
	return copied ?: -EAGAIN;
}

static __poll_t crowd_poll(struct file *file, poll_table *wait)
{
	struct crowd *crowd = file->private_data;

	poll_wait(file, &crowd->wait, wait);
	return list_empty_careful(&crowd->ended) ? 0 : EPOLLIN | EPOLLRDNORM;
}

static void crowd_forget(struct list_head *connections, bool open)
{
	struct crowd_connection *c, *next;

	list_for_each_entry_safe(c, next, connections, all) {
		if (open) {
			remove_wait_queue(c->head, &c->entry);
			fput(c->file);
		}
		kfree(c);
	}
}

static int crowd_release(struct inode *inode, struct file *file)
{
	struct crowd *crowd = file->private_data;

	if (crowd->thread)
		kthread_stop(crowd->thread);
	crowd_forget(&crowd->all, true);
	crowd_forget(&crowd->ended, false);
	if (crowd->thread)
		put_task_struct(crowd->thread);
	kvfree(crowd->chunk);
	kfree(crowd);
	return 0;
}

static int crowd_open(struct inode *inode, struct file *file)
{
	struct crowd *crowd = kzalloc(sizeof(*crowd), GFP_KERNEL);

	if (!crowd)
		return -ENOMEM;
	/* a piece may begin within a word, and moving_verify() needs one behind it */
	crowd->chunk = kvmalloc(CROWD_RECEIVE_BYTES + 2 * sizeof(u64), GFP_KERNEL);
	if (!crowd->chunk) {
		kfree(crowd);
		return -ENOMEM;
	}
	mutex_init(&crowd->starting);
	spin_lock_init(&crowd->lock);
	INIT_LIST_HEAD(&crowd->queue);
	INIT_LIST_HEAD(&crowd->ended);
	INIT_LIST_HEAD(&crowd->all);
	init_waitqueue_head(&crowd->wait);
	file->private_data = crowd;
	return 0;
}

static const struct proc_ops crowd_proc_ops = {
	.proc_open	= crowd_open,
	.proc_ioctl	= crowd_ioctl,
	.proc_read	= crowd_read,
	.proc_poll	= crowd_poll,
	.proc_release	= crowd_release,
};

static int __init crowd_init(void)
{
	return proc_create("mptcplab_crowd", 0600, NULL, &crowd_proc_ops) ? 0 : -ENOMEM;
}

late_initcall(crowd_init);
