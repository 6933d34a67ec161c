// SPDX-License-Identifier: GPL-2.0-only
/* Cross traffic: UDP packets at a constant rate, beside the connections.
 *
 *	at 3s ip netns exec NS cross TO_NS ADDRESS BPS
 *
 * From 3 s after START on, frames of 1514 bytes go from NS to the ADDRESS of
 * TO_NS, evenly, at so many bits per second as queues count them; 0 ends it.
 * There is no congestion control. What a queue has no room for is lost, and the
 * receiver reads nothing. One process sends the packets of all streams.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "address.h"
#include "base.h"
#include "cross.h"

#define STREAMS_MAX	(2 * PATHS_MAX)	/* in 2 directions */
#define PORT		9	/* discard, RFC 863 */
#define FRAME_BYTES	1514
/* Ethernet, IP, UDP */
#define HEADER_BYTES_4	(14 + 20 + 8)
#define HEADER_BYTES_6	(14 + 40 + 8)
/* The queue of the device limits what waits, not the socket. */
#define BUFFER_BYTES	(64 << 20)

struct stream {
	char ns[32];
	char to_ns[32];
	struct address address;
	int line;		/* of its first change */
	int fd;
	uint64_t bps;		/* 0: it sends nothing now */
	uint64_t next_ns;	/* when the next packet is due, since boot */
	uint64_t rest;		/* the fraction of a ns of it, in units of 1 / bps */
};

struct change {
	uint64_t at_ns;		/* after START */
	uint64_t bps;
	struct stream *stream;
};

static struct {
	struct stream streams[STREAMS_MAX];
	int stream_count;
	struct change *changes;	/* in the order of time */
	int change_count;
	int start_pipe[2];
	pid_t pid;
} cross;

static struct stream *stream_of(const struct stream *wanted)
{
	struct stream *stream;
	int i;

	for (i = 0; i < cross.stream_count; i++) {
		stream = &cross.streams[i];
		if (!strcmp(stream->ns, wanted->ns) && !strcmp(stream->to_ns, wanted->to_ns) &&
		    !memcmp(&stream->address, &wanted->address, sizeof(wanted->address)))
			return stream;
	}
	if (cross.stream_count == STREAMS_MAX)
		give_up("plan line %d: more than %d streams of cross traffic", wanted->line,
			STREAMS_MAX);
	cross.streams[cross.stream_count] = *wanted;
	return &cross.streams[cross.stream_count++];
}

void cross_add(struct command *command, uint64_t at_ns)
{
	struct stream stream = { .line = command->line };
	const char *text;
	uint64_t bps;

	snprintf(stream.ns, sizeof(stream.ns), "%s", command->ns);
	snprintf(stream.to_ns, sizeof(stream.to_ns), "%s", command_word(command, "a namespace"));
	text = command_word(command, "an address");
	bps = command_number(command, UINT64_MAX);
	command_expect_end(command);
	if (!address_parse(&stream.address, text))
		command_failed(command, "%s is not an address of IPv4 or IPv6", text);
	cross.changes = realloc(cross.changes, (cross.change_count + 1) * sizeof(*cross.changes));
	if (!cross.changes)
		command_failed(command, "%s", strerror(errno));
	cross.changes[cross.change_count++] = (struct change) { at_ns, bps, stream_of(&stream) };
}

/* With a socket at the other end, no ICMP errors are sent back. */
static void open_stream(struct stream *stream)
{
	const int least = 0, most = BUFFER_BYTES, family = stream->address.family;
	union socket_address to;
	socklen_t len = socket_address_set(&to, &stream->address, PORT);
	int sink;

	enter_namespace(stream->to_ns);
	sink = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	enter_namespace(stream->ns);
	stream->fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	enter_namespace(NULL);
	if (sink < 0 || setsockopt(sink, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least)) ||
	    bind(sink, &to.any, len) || stream->fd < 0 ||
	    setsockopt(stream->fd, SOL_SOCKET, SO_SNDBUFFORCE, &most, sizeof(most)) ||
	    connect(stream->fd, &to.any, len))
		give_up("plan line %d: cross: %s", stream->line, strerror(errno));
}

static void send_packet(struct stream *stream)
{
	static const char payload[FRAME_BYTES - HEADER_BYTES_4];
	const uint64_t ns_bps = FRAME_BYTES * 8 * NS_PER_SEC;
	size_t len = sizeof(payload);

	if (stream->address.family == AF_INET6)
		len = FRAME_BYTES - HEADER_BYTES_6;
	if (send(stream->fd, payload, len, MSG_DONTWAIT) < 0 && errno != ENOBUFS && errno != EAGAIN)
		give_up("plan line %d: cross: %s", stream->line, strerror(errno));
	stream->next_ns += ns_bps / stream->bps;
	stream->rest += ns_bps % stream->bps;
	if (stream->rest >= stream->bps) {
		stream->rest -= stream->bps;
		stream->next_ns++;
	}
}

/* The stream whose packet is due first; NULL: none sends. */
static struct stream *next_stream(void)
{
	struct stream *next = NULL;
	int i;

	for (i = 0; i < cross.stream_count; i++) {
		struct stream *stream = &cross.streams[i];

		if (stream->bps && (!next || stream->next_ns < next->next_ns))
			next = stream;
	}
	return next;
}

static void leave(int number)
{
	(void)number;
	_exit(0);
}

static void __attribute__((noreturn)) play(void)
{
	struct stream *stream;
	uint64_t start_ns;
	int i;

	signal(SIGTERM, leave);
	for (i = 0; i < cross.stream_count; i++)
		open_stream(&cross.streams[i]);
	if (read(cross.start_pipe[0], &start_ns, sizeof(start_ns)) != sizeof(start_ns))
		give_up("cross: START is not known: %s", strerror(errno));
	i = 0;
	for (;;) {
		uint64_t change_ns = NEVER;

		stream = next_stream();
		if (i < cross.change_count)
			change_ns = start_ns + cross.changes[i].at_ns;
		if (stream && stream->next_ns < change_ns) {
			sleep_until(stream->next_ns);
			send_packet(stream);
		} else if (i < cross.change_count) {
			sleep_until(change_ns);
			stream = cross.changes[i].stream;
			stream->bps = cross.changes[i++].bps;
			stream->next_ns = change_ns;
			stream->rest = 0;
		} else {
			pause();
		}
	}
}

void cross_prepare(void)
{
	if (!cross.change_count)
		return;
	if (pipe(cross.start_pipe))
		give_up("pipe: %s", strerror(errno));
	cross.pid = child_fork();
	if (!cross.pid)
		play();
}

void cross_start(uint64_t start_ns)
{
	if (cross.change_count &&
	    write(cross.start_pipe[1], &start_ns, sizeof(start_ns)) != sizeof(start_ns))
		give_up("cross: %s", strerror(errno));
}

void cross_end(void)
{
	if (cross.change_count)
		child_end(cross.pid, "the cross traffic");
}
