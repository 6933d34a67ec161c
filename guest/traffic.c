// SPDX-License-Identifier: GPL-2.0-only
/* The traffic: two ends that send messages to each other over connections, and
 * verify what they receive.
 *
 * Every byte depends on its position, the connection and the seed (uapi/pattern.h). Messages
 * that the scheduler may drop begin with their number, from which the position of what
 * follows is known. Each end writes up to 128 KiB at a time, and reads what has arrived at
 * once, up to as much, as iperf3 does; the kernel moves data for them where it can (bulk.c).
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base.h"
#include "bulk.h"
#include "connect.h"
#include "crowd.h"
#include "end.h"
#include "ip.h"
#include "messages.h"
#include "player.h"
#include "receive.h"
#include "report.h"
#include "send.h"
#include "settings.h"
#include "traffic.h"

/* From REPORT_START to START where data is sent at once, for each pair of hosts: some reads of
 * the clock. A program takes as long from connect() to its first send().
 */
#define AT_ONCE_DELAY_NS	5000

/* The client tells the server START, and then the connections of a crowd that have failed. */
static int start_pipe[2];

/* When all messages end, if none has a size; else 0. */
static uint64_t last_stop_ns(void)
{
	uint64_t last = 0;
	unsigned int i;

	for (i = 0; i < end.pairs; i++) {
		if (!end.t[i].duration_ns)
			return 0;
		if (end.t[i].duration_ns > last)
			last = end.t[i].duration_ns;
	}
	return end.start_ns + last;
}

static void connect_to_server(void)
{
	int i;

	sleep_until_set_up();
	tell(REPORT_CONNECTING, 0, 0, "");
	for (i = 0; i < end.count; i++)
		if (!end.list[i].t->fresh && !end.list[i].t->at_once)
			establish(&end.list[i]);
	if (open_at_once())
		end.start_ns = now_ns() + end.pairs * AT_ONCE_DELAY_NS;
	else
		end.start_ns = now_ns() + START_DELAY_NS + phase_ns(end.t->seed);
	if (write(start_pipe[1], &end.start_ns, sizeof(end.start_ns)) != sizeof(end.start_ns))
		fail("start: %s", strerror(errno));
	tell(REPORT_START, end.start_ns, last_stop_ns(), "");
	sleep_until(end.start_ns);
}

static void hear_start(void)
{
	if (read(start_pipe[0], &end.start_ns, sizeof(end.start_ns)) != sizeof(end.start_ns))
		fail("start: %s", strerror(errno));
}

/* Does what can be done for a connection now. Returns when there is more to do,
 * whatever happens, and in *events what else it waits for.
 */
static uint64_t work(struct connection *c, short *events)
{
	bool blocked = false;
	uint64_t wake, due;

	if (c->closed)
		return NEVER;
	if (c->fd < 0 && !end.t->is_server) {
		due = due_ns(first_message(c));
		if (due == NEVER || due > now_ns())
			return due;
		start_connecting(c, SOCK_NONBLOCK);
		if (!c->connecting)
			finish_connecting(c);
	}
	if (c->fd < 0)
		return NEVER;
	if (c->connecting) {
		*events = POLLOUT;
		return NEVER;
	}
	wake = send_messages(c, &blocked);
	due = all_done(&c->out) ? end_connection(c, now_ns()) : NEVER;
	*events = (c->in.ended ? 0 : POLLIN) | (blocked && !all_done(&c->out) ? POLLOUT : 0);
	return wake < due ? wake : due;
}

/* What else the server waits for: START, and strangers. */
static int expect_strangers(struct pollfd *fds)
{
	unsigned int pair;
	int i, count = 0;

	if (!end.t->is_server)
		return 0;
	if (!end.start_ns)
		fds[count++] = (struct pollfd) { start_pipe[0], POLLIN, 0 };
	for (pair = 0; pair < end.pairs; pair++)
		fds[count++] = (struct pollfd) { end.listeners[pair], POLLIN, 0 };
	for (i = 0; i < end.stranger_count; i++)
		fds[count++] = (struct pollfd) { end.strangers[i].fd, POLLIN, 0 };
	return count;
}

/* Returns whether anything changed for the connections. */
static bool hear_strangers(const struct pollfd *fds)
{
	const struct pollfd *listeners = fds + !end.start_ns, *strangers = listeners + end.pairs;
	bool heard = false;
	unsigned int pair;
	int i;

	if (!end.t->is_server)
		return false;
	if (listeners > fds && fds[0].revents) {
		hear_start();
		heard = true;
	}
	/* backwards, as the last one takes the place of one that is met */
	for (i = end.stranger_count - 1; i >= 0; i--) {
		if (!strangers[i].revents)
			continue;
		meet_stranger(i);
		heard = true;
	}
	for (pair = 0; pair < end.pairs; pair++)
		if (listeners[pair].revents)
			accept_stranger(listeners[pair].fd);
	return heard;
}

/* Works on all connections of a pair of hosts to which something has happened, since messages
 * may wait for those of other connections of the pair, but of no other pair. Returns when to
 * do it again, whatever happens.
 */
static uint64_t work_on_all(int *closed)
{
	uint64_t wake = NEVER;
	int i;

	*closed = 0;
	for (i = 0; i < end.count; i++) {
		struct connection *c = &end.list[i];

		if (end.stirred[c->pair]) {
			c->events = 0;
			c->wake = work(c, &c->events);
		}
		if (c->wake < wake)
			wake = c->wake;
		*closed += c->closed;
	}
	return wake;
}

static void stir(bool all)
{
	memset(end.stirred, all, end.pairs * sizeof(*end.stirred));
}

static void play_messages(void)
{
	struct pollfd *fds = allocate(2 * end.count + end.pairs + 2, sizeof(*fds));

	stir(true);
	for (;;) {
		struct pollfd *own;
		int i, others, closed;
		uint64_t wake = work_on_all(&closed);

		if (closed == end.count)
			break;
		others = expect_strangers(fds + 1);
		own = fds + 1 + others;
		for (i = 0; i < end.count; i++)
			own[i] = (struct pollfd) { end.list[i].events ? end.list[i].fd : -1,
						   end.list[i].events, 0 };
		wait_for(fds, 1 + others + end.count, wake);
		stir(end.pairs == 1);
		for (i = 0; i < end.count; i++) {
			struct connection *c = &end.list[i];

			if (own[i].revents || (fds[0].revents && c->wake <= wake))
				end.stirred[c->pair] = true;
			if (!own[i].revents)
				continue;
			if (c->connecting)
				finish_connecting(c);
			else if (own[i].revents & ~POLLOUT)
				receive(c);
		}
		if (hear_strangers(fds + 1))
			stir(true);
	}
	free(fds);
}

void traffic_prepare(void)
{
	messages_share();
	if (pipe2(start_pipe, O_CLOEXEC))
		give_up("pipe: %s", strerror(errno));
}

void traffic_run(const struct traffic *t, unsigned int pairs, int report_fd)
{
	end.t = t;
	end.pairs = pairs;
	report_to(report_fd);
	player_prepare(t);
	sort_connections();
	sort_messages();
	wait_prepare();
	if (t->is_server)
		listen_for_clients();
	else
		connect_to_server();
	if (!t->crowd_interval_ns) {
		play_messages();
	} else if (t->is_server) {
		hear_start();
		crowd_accept(start_pipe[0]);
	} else {
		crowd_connect(start_pipe[1]);
	}
	tell(REPORT_DONE, end.written, end.received, "");
	_exit(0);
}
