// SPDX-License-Identifier: GPL-2.0-only
/* Waits for connections, and has the kernel move bulk data meanwhile (kernel/mptcp/bulk.c): a
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
#include "report.h"
#include "send.h"
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

/* The sum over all connections of a pair of hosts, since work() is called for all of them. */
static int idle_clock_reads_of_pair(unsigned int pair)
{
	int i, all = 0;

	for (i = 0; i < end.count; i++) {
		int reads = end.list[i].pair == pair ? idle_clock_reads(&end.list[i]) : 0;

		if (reads < 0)
			return -1;
		all += reads;
	}
	return all;
}

/* While a connection waits, the kernel may send more of the message under way, if there is no
 * other connection (sends_bulk()), and receive more of one (receives_bulk()). It leaves to this
 * process the last chunk of a message, and whatever else this process would act on.
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
		/* the kernel looks at a clock that may be a tick late */
		.until_ns = open_ended ? stop_ns(c) - NS_PER_SEC / 100 : NEVER,
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
	int clock_reads = 0;

	if (!(c->events & POLLIN) || in->units || !in->done)
		return false;
	if (!also_sends) {
		if (c->wake != NEVER)
			return false;
		clock_reads = idle_clock_reads_of_pair(c->pair);
		if (clock_reads < 0)
			return false;
	}
	*bulk = (struct bulk_flow) {
		.seed = stream_seed(c, !end.t->is_server),
		.until_ns = NEVER,
		.clock_reads = clock_reads,
		.chunk_bytes = CHUNK_BYTES,
		.position = in->position,
		.left = size_of(in) - in->done,
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

/* Takes note of what the kernel has moved of a connection. */
static void take_over(struct connection *c, const struct bulk_flow *bulk)
{
	struct flow *flow = bulk->sends ? &c->out : &c->in;
	uint64_t moved = bulk->position - flow->position;

	flow->position += moved;
	flow->done += moved;
	if (bulk->sends && moved) {
		c->sent = bulk->sent;
		fill_chunk(c);
	}
}

/* Waits as poll() does, and has the kernel move what it may meanwhile; false, at once: there is
 * nothing that it may move.
 */
static bool wait_in_bulk(struct pollfd *fds, int count)
{
	static struct bulk_flow flows[BULK_FLOWS_MAX];
	struct pollfd *own = fds + count - end.count;
	struct bulk_wait wait = {
		.fds = (uintptr_t)fds, .count = count, .flows = (uintptr_t)flows,
	};
	unsigned int i;
	int number, error;

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
	if (!wait.flow_count)
		return false;
	error = ioctl(bulk_fd, BULK_WAIT, &wait) < 0 ? errno : 0;
	for (i = 0; i < wait.flow_count; i++)
		take_over(&end.list[fds + flows[i].own - own], &flows[i]);
	if (error == EBADMSG)
		pattern_verify_byte(wait.found, wait.wrong, flows[wait.flow].seed);
	if (error)
		fail("moving bulk data: %s", strerror(error));
	return true;
}

void wait_for(struct pollfd *fds, int count, uint64_t wake)
{
	/* 0 would disarm the timer */
	const struct itimerspec at = { .it_value = to_timespec(wake ? wake : 1) };

	fds[0] = (struct pollfd) { wake == NEVER ? -1 : timer, POLLIN, 0 };
	calls += 2;
	if (wake != NEVER && timerfd_settime(timer, TFD_TIMER_ABSTIME, &at, NULL))
		fail("timerfd: %s", strerror(errno));
	if ((bulk_fd < 0 || !wait_in_bulk(fds, count)) && poll(fds, count, -1) < 0)
		fail("poll: %s", strerror(errno));
}

void wait_prepare(void)
{
	timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (timer < 0)
		fail("timerfd: %s", strerror(errno));
	bulk_fd = open("/proc/mptcplab_bulk", O_RDWR | O_CLOEXEC);
	if (bulk_fd < 0 && !stock_kernel())
		fail("bulk: %s", strerror(errno));
}
