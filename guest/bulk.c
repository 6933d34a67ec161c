// SPDX-License-Identifier: GPL-2.0-only
/* Waits for connections, and has the kernel move data meanwhile (kernel/mptcp/bulk.c): a
 * system call costs as much as five packets here.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>

#include "base.h"
#include "bulk.h"
#include "end.h"
#include "outcome.h"
#include "pattern.h"
#include "receive.h"
#include "report.h"
#include "send.h"
#include "subflows.h"
#include "uapi/bulk.h"

/* opened by wait_prepare(); bulk_fd is -1 on a kernel without it */
static int timer, bulk_fd;

/* How often work() in traffic.c reads the clock for a connection to which nothing has
 * happened; -1: it does more than that.
 */
static int idle_clock_reads(const struct connection *c)
{
	if (c->closed || c->connecting || (c->fd < 0 && end.t->is_server))
		return 0;
	if (c->fd < 0)
		return due_ns(first_message(c)) != NEVER;
	if (all_done(&c->out))
		return 1;
	if (record_of(&c->out)->begin_ns)
		return -1;
	return due_ns(c->out.numbers[c->out.next]) != NEVER;
}

/* The sum over all connections of a pair of hosts, since work() is called for all of them, and
 * in *wake when it does more for one of them.
 */
static int idle_clock_reads_of_pair(unsigned int pair, uint64_t *wake)
{
	int i, all = 0;

	*wake = NEVER;
	for (i = 0; i < end.count; i++) {
		const struct connection *c = &end.list[i];
		int reads = c->pair == pair ? idle_clock_reads(c) : 0;

		if (reads < 0)
			return -1;
		if (reads && c->wake < *wake)
			*wake = c->wake;
		all += reads;
	}
	return all;
}

/* With no more than that, no socket is full. */
#define FULL_BYTES	4096

/* How many messages may be looked through at each wait: there may be a hundred thousand. */
#define MESSAGES_AHEAD	256

/* How much may come in until a message ends that something waits for: another message, the
 * player, or the end of the connection. It may be less. 0: nothing may.
 */
static uint64_t left_until_awaited(const struct flow *flow)
{
	uint64_t left = 0;
	int i;

	for (i = flow->next; i < flow->count && i - flow->next < MESSAGES_AHEAD; i++) {
		const struct traffic_message *message = &messages.list[flow->numbers[i]];

		if (!message->sizes)
			return NEVER;
		left += message->sizes[messages.records[flow->numbers[i]].choice];
		if (message->awaited || message->size_count > 1)
			break;
	}
	return left - flow->done;
}

/* Can another connection of this process be full? poll() looks at that one, too, and asks for
 * room on it, which the kernel does not do where nothing happens.
 */
static bool others_may_be_full(const struct connection *c)
{
	const struct connection *other;

	for (other = end.list; other < end.list + end.count; other++)
		if (other != c && other->fd >= 0 && other->out.position > FULL_BYTES)
			return true;
	return false;
}

/* What the kernel may receive: bulk data if it is not sure that poll() does nothing else, but
 * for the last chunk of the message under way, else all that nothing waits for.
 */
static uint64_t left_for_kernel(const struct connection *c)
{
	const struct flow *in = &c->in;
	uint64_t left;

	if (!others_may_be_full(c))
		return left_until_awaited(in);
	left = in->done ? size_of(in) - in->done : 0;
	return c->wake == NEVER && left > CHUNK_BYTES ? left - CHUNK_BYTES : 0;
}

/* While a connection waits, the kernel may send more of the message under way, if there is no
 * other connection (sends_bulk()), and receive messages (receives_bulk()). It leaves to this
 * process the last chunk of a message that is sent, and whatever else this process would act on.
 */

static bool sends_bulk(const struct connection *c, struct bulk_flow *bulk)
{
	const struct flow *out = &c->out;
	bool open_ended;

	if (!(c->events & POLLOUT) || c->connecting || out->units || end.count > 1)
		return false;
	open_ended = !message_of(out)->sizes;
	*bulk = (struct bulk_flow) {
		.sends = true,
		.seed = stream_seed(c, end.t->is_server),
		.until_ns = open_ended ? stop_ns(c) : NEVER,
		.clock_reads = open_ended,
		.chunk_bytes = c->chunk_bytes,
		.position = out->position,
		.left = size_of(out) - out->done,
		.sent = c->sent,
	};
	return true;
}

/* also_sends: the kernel sends on the same connection, and reads the clock for that already */
static bool receives_bulk(const struct connection *c, struct bulk_flow *bulk, bool also_sends)
{
	const struct flow *in = &c->in;
	uint64_t wake = NEVER, left;
	int clock_reads = 0;

	if (!(c->events & POLLIN) || in->units || c->t->udp)
		return false;
	left = left_for_kernel(c);
	if (!also_sends)
		clock_reads = idle_clock_reads_of_pair(c->pair, &wake);
	if (!left || clock_reads < 0)
		return false;
	*bulk = (struct bulk_flow) {
		.seed = stream_seed(c, !end.t->is_server),
		.until_ns = wake,
		.clock_reads = clock_reads,
		.chunk_bytes = CHUNK_BYTES,
		.position = in->position,
		.left = left,
	};
	return true;
}

/* The flows of a connection that the kernel may move: none, one or two. */
static unsigned int bulk_of(const struct connection *c, struct bulk_flow *bulk)
{
	struct bulk_flow sending;
	bool sends = sends_bulk(c, &sending), receives = receives_bulk(c, bulk, sends);

	if (sends)
		bulk[receives] = sending;
	return sends + receives;
}

/* Takes note of what the kernel has sent on a connection. */
static void take_over(struct connection *c, const struct bulk_flow *bulk)
{
	uint64_t moved = bulk->position - c->out.position;

	c->out.position += moved;
	c->out.done += moved;
	if (moved) {
		c->sent = bulk->sent;
		fill_chunk(c);
	}
}

/* Waits as poll() does, at a timer until `wake` if that is not NEVER, and has the kernel move
 * what it may meanwhile. Returns how many files are ready; 0: it is to wait again.
 */
static int wait_in_bulk(struct pollfd *fds, int count, uint64_t wake)
{
	static struct bulk_flow flows[BULK_FLOWS_MAX];
	static struct bulk_receipt receipts[BULK_RECEIPTS_MAX];
	struct pollfd *own = fds + count - end.count;
	const struct timespec at = to_timespec(wake);
	struct bulk_wait wait = {
		.fds = (uintptr_t)fds, .count = count, .flows = (uintptr_t)flows,
		.receipts = (uintptr_t)receipts, .timer = wake == NEVER ? -1 : timer,
		.wake = { .it_value = { at.tv_sec, at.tv_nsec } },
	};
	unsigned int i;
	int number, ready, error;

	for (number = 0; number < end.count; number++) {
		unsigned int more;

		if (wait.flow_count + 2 > BULK_FLOWS_MAX)
			break;
		more = bulk_of(&end.list[number], &flows[wait.flow_count]);
		for (; more; more--, wait.flow_count++) {
			flows[wait.flow_count].own = own + number - fds;
			/* the end of the connection is for this process */
			if (!flows[wait.flow_count].sends)
				own[number].events |= POLLRDHUP;
		}
	}
	calls++;
	ready = ioctl(bulk_fd, BULK_WAIT, &wait);
	error = ready < 0 ? errno : 0;
	if (error == EBADMSG)
		pattern_verify_byte(wait.found, wait.wrong, flows[wait.flow].seed);
	if (error)
		fail("moving bulk data: %s", strerror(error));
	for (i = 0; i < wait.receipt_count; i++) {
		const struct bulk_receipt *receipt = &receipts[i];

		count_received(&end.list[fds + flows[receipt->flow].own - own], receipt->bytes,
			       receipt->at_ns);
	}
	for (i = 0; i < wait.flow_count; i++)
		if (flows[i].sends)
			take_over(&end.list[fds + flows[i].own - own], &flows[i]);
	return ready;
}

static void wait_in_poll(struct pollfd *fds, int count, uint64_t wake)
{
	const struct itimerspec at = { .it_value = to_timespec(wake) };

	calls += 2;
	if (wake != NEVER && timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL))
		fail("timerfd: %s", strerror(errno));
	if (poll(fds, count, -1) < 0)
		fail("poll: %s", strerror(errno));
}

void wait_for(struct pollfd *fds, int count, uint64_t wake)
{
	/* 0 would disarm the timer */
	if (!wake)
		wake = 1;
	fds[0] = (struct pollfd) { wake == NEVER ? -1 : timer, POLLIN, 0 };
	if (bulk_fd < 0)
		wait_in_poll(fds, count, wake);
	else
		while (!wait_in_bulk(fds, count, wake))
			;
}

void wait_prepare(void)
{
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (timer < 0)
		fail("timerfd: %s", strerror(errno));
	bulk_fd = open("/proc/mptcplab_bulk", O_RDWR | O_CLOEXEC);
	if (bulk_fd < 0 && !stock_kernel() && !v0_kernel())
		fail("bulk: %s", strerror(errno));
}
