// SPDX-License-Identifier: GPL-2.0-only
/* Units over MPTCP: a client that sends frames of a live video, and a server
 * that counts those that arrive in time. docs/units.md explains it.
 *
 *	cc -O2 -o units units.c
 *	mptcplab exec --path a:2.2mbit,10ms --path b:1.8mbit,20ms --scheduler video \
 *		--server './units server' -- ./units client 10.1.1.1
 *
 * With a scheduler that takes no units it sends the same, and drops nothing.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP	262
#endif
#ifndef SOL_MPTCP
#define SOL_MPTCP	284
#endif

#define MPTCP_UNIT	101

struct mptcp_unit {
	uint32_t id;
	uint32_t bytes;
	uint32_t depends_on;
	uint32_t importance;
	uint64_t deadline_ns;
	uint64_t expires_ns;
};

struct mptcp_units {
	uint32_t announced;
	uint32_t waiting;
	uint32_t dropped;
	uint32_t last_dropped;
	uint64_t dropped_bytes;
};

#define PORT		5002
#define FRAMES		250
#define FRAME_BYTES	20000		/* 4 Mbit/s at 25 frames per second */
#define INTERVAL_NS	40000000ull
#define DEADLINE_NS	250000000ull

/* What a frame begins with: the receiver must know what it has before it. */
struct header {
	uint32_t id;
	uint32_t bytes;
	uint64_t deadline_ns;		/* both ends have the same clock here */
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void send_all(int fd, const char *bytes, size_t left)
{
	while (left) {
		ssize_t n = send(fd, bytes, left, MSG_NOSIGNAL);

		if (n < 0)
			fail("send");
		bytes += n;
		left -= n;
	}
}

static void send_frames(const char *address)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int fd = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP), on = 1;
	static char frame[FRAME_BYTES];
	struct mptcp_units units = {};
	socklen_t len = sizeof(units);
	uint64_t due_ns;
	uint32_t id;

	inet_pton(AF_INET, address, &to.sin_addr);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)))
		fail("connect");
	/* the end of a frame does not wait for the next one (Nagle) */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	due_ns = now_ns();
	for (id = 1; id <= FRAMES; id++, due_ns += INTERVAL_NS) {
		struct timespec due = { due_ns / 1000000000, due_ns % 1000000000 };
		struct header header = { id, FRAME_BYTES, due_ns + DEADLINE_NS };
		struct mptcp_unit unit = {
			.id		= id,
			.bytes		= FRAME_BYTES,
			/* every tenth is complete in itself, the others build on it */
			.depends_on	= id % 10 == 1 ? 0 : id - (id - 1) % 10,
			.importance	= id % 10 == 1 ? 10 : 1,
			.deadline_ns	= header.deadline_ns,
		};

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
		if (setsockopt(fd, SOL_MPTCP, MPTCP_UNIT, &unit, sizeof(unit)) &&
		    errno != EOPNOTSUPP && errno != ENOPROTOOPT && errno != ENOBUFS)
			fail("MPTCP_UNIT");
		memcpy(frame, &header, sizeof(header));
		send_all(fd, frame, FRAME_BYTES);
	}
	/* the server closes once it has all */
	shutdown(fd, SHUT_WR);
	recv(fd, frame, 1, 0);
	if (getsockopt(fd, SOL_MPTCP, MPTCP_UNIT, &units, &len))
		printf("the scheduler takes no units: %s\n", strerror(errno));
	printf("%d frames written, %u announced, %u dropped\n", FRAMES, units.announced,
	       units.dropped);
	close(fd);
}

static void receive_frames(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int listener = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP), fd, on = 1;
	unsigned int arrived = 0, in_time = 0;
	struct header header;
	static char rest[FRAME_BYTES];

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (listener < 0 || bind(listener, (struct sockaddr *)&any, sizeof(any)) ||
	    listen(listener, 1))
		fail("listen");
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		fail("accept");
	while (recv(fd, &header, sizeof(header), MSG_WAITALL) == sizeof(header)) {
		size_t left = header.bytes - sizeof(header);

		if (header.bytes != FRAME_BYTES || header.id < 1 || header.id > FRAMES ||
		    recv(fd, rest, left, MSG_WAITALL) != (ssize_t)left) {
			fprintf(stderr, "frame %u is not whole\n", header.id);
			exit(1);
		}
		arrived++;
		in_time += now_ns() <= header.deadline_ns;
	}
	printf("%u frames arrived, %u in time\n", arrived, in_time);
	fflush(stdout);
	close(fd);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "server"))
		receive_frames();
	else if (argc == 3 && !strcmp(argv[1], "client"))
		send_frames(argv[2]);
	else
		return fprintf(stderr, "usage: units server | units client ADDRESS\n"), 2;
	return 0;
}
