// SPDX-License-Identifier: GPL-2.0-only
/* Plays the messages of a crowd: many connections between two hosts, each of which carries at
 * most one message in each direction. The process opens and accepts them, and the kernel does
 * the rest (kernel/mptcp/crowd.c). A connection may fail: the run goes on without it.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base.h"
#include "connect.h"
#include "crowd.h"
#include "end.h"
#include "report.h"
#include "uapi/crowd.h"

/* at once from the kernel */
#define RECORDS	256

static struct {
	int fd;			/* of the kernel's crowd */
	bool *ended;		/* each connection, from 0 */
	int left;		/* connections that have not ended */
} crowd;

/* What is sent on each connection in one direction. */
static uint64_t bytes_of(bool down)
{
	int i;

	for (i = 0; i < messages.count; i++)
		if (messages.list[i].down == down)
			return messages.list[i].sizes ? *messages.list[i].sizes : CROWD_OPEN_ENDED;
	return 0;
}

static void prepare(void)
{
	struct crowd_settings settings = {
		.seed = end.t->seed,
		.up_bytes = bytes_of(false),
		.down_bytes = bytes_of(true),
		.stop_ns = end.t->duration_ns ? stop_ns(end.list) : 0,
		.connections = end.count,
		.is_server = end.t->is_server,
	};

	crowd.ended = allocate(end.count, sizeof(*crowd.ended));
	crowd.left = end.count;
	crowd.fd = open("/proc/mptcplab_crowd", O_RDONLY | O_CLOEXEC);
	if (crowd.fd < 0 || ioctl(crowd.fd, CROWD_START, &settings))
		fail("crowd: %s", strerror(errno));
}

/* The socket is then the kernel's. */
static void hand_over(int fd, unsigned int connection)
{
	struct crowd_socket socket = { .fd = fd, .connection = connection };

	if (ioctl(crowd.fd, CROWD_ADD, &socket))
		fail("connection %u: %s", connection, strerror(errno));
	close(fd);
}

static void note_end(unsigned int connection)
{
	if (!connection || connection > (unsigned int)end.count)
		fail("connection %u is none of the crowd", connection);
	if (crowd.ended[connection - 1])
		return;
	crowd.ended[connection - 1] = true;
	crowd.left--;
}

static void store_record(const struct crowd_record *record)
{
	const struct connection *c = &end.list[record->connection - 1];

	if (c->out.count) {
		int number = c->out.numbers[0];
		struct message_record *out = &messages.records[number];

		out->due_ns = due_ns(number);
		out->begin_ns = record->begin_ns;
		/* an open-ended stream may end before its first byte */
		out->written_ns = record->sent_bytes ? record->written_ns : 0;
		out->bytes = record->sent_bytes;
	}
	if (c->in.count) {
		struct message_record *in = &messages.records[c->in.numbers[0]];

		in->first_ns = record->first_ns;
		in->complete_ns = record->received_bytes ? record->complete_ns : 0;
	}
}

/* failed_pipe: -1 at the server */
static void take_ended(int failed_pipe)
{
	static struct crowd_record records[RECORDS];
	ssize_t len = read(crowd.fd, records, sizeof(records));
	const struct crowd_record *record;

	calls++;
	if (len < 0 && errno != EAGAIN)
		fail("crowd: %s", strerror(errno));
	for (record = records; (char *)record < (char *)records + len; record++) {
		if (record->error == EBADMSG)
			fail("connection %u, after %llu bytes: another byte than was sent",
			     record->connection, record->received_bytes);
		/* a stranger, which the client has given up */
		if (!record->connection)
			continue;
		note_end(record->connection);
		store_record(record);
		/* in any case: it may fail at one end alone */
		end.written += record->sent_bytes;
		end.received += record->received_bytes;
		if (record->error && failed_pipe >= 0 &&
		    write(failed_pipe, &record->connection, sizeof(record->connection)) !=
		    sizeof(record->connection))
			fail("connection %u: %s", record->connection, strerror(errno));
	}
}

void crowd_connect(int failed_pipe)
{
	struct pollfd ended;
	int i;

	prepare();
	for (i = 0; i < end.count; i++) {
		struct connection *c = &end.list[i];

		sleep_until(due_ns(first_message(c)));
		start_connecting(c, SOCK_NONBLOCK);
		hand_over(c->fd, number_of(c));
	}
	ended = (struct pollfd) { crowd.fd, POLLIN, 0 };
	while (crowd.left) {
		if (poll(&ended, 1, -1) < 0)
			fail("poll: %s", strerror(errno));
		take_ended(failed_pipe);
	}
}

static void accept_all(void)
{
	int fd;

	while ((fd = accept4(end.listeners[0], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0)
		hand_over(fd, 0);
	/* one may be gone before it is accepted */
	if (errno != EAGAIN && errno != ECONNABORTED)
		fail("accept: %s", strerror(errno));
}

static void hear_failed(int failed_pipe)
{
	uint32_t connection;

	if (read(failed_pipe, &connection, sizeof(connection)) != sizeof(connection))
		fail("the client ended before its connections");
	note_end(connection);
}

void crowd_accept(int failed_pipe)
{
	struct pollfd fds[] = { { failed_pipe, POLLIN, 0 }, { end.listeners[0], POLLIN, 0 }, {} };

	prepare();
	fds[2] = (struct pollfd) { crowd.fd, POLLIN, 0 };
	while (crowd.left) {
		if (poll(fds, 3, -1) < 0)
			fail("poll: %s", strerror(errno));
		if (fds[0].revents)
			hear_failed(failed_pipe);
		if (fds[1].revents)
			accept_all();
		if (fds[2].revents)
			take_ended(-1);
	}
}
