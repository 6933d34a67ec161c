// SPDX-License-Identifier: GPL-2.0-only
/* Short connections, one after the other, each of which loses other packets of its
 * handshake and of its first data.
 *
 *	short server
 *	short client FIRST LAST		the numbers of the connections
 *
 * Bits 0 to 7 of a number say which packets path 1 loses, see lost_packets; bits 8
 * and 9 who sends and who closes, see enum mode; bit 10, whether buffers are small.
 * Both ends print a line for each connection: its number, and the bytes that came, of
 * those that were sent, with "end" when the stream ended cleanly, or the error. The
 * server knows the number by the client's port.
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../programs.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP	262
#endif
#define PORT		5003
#define CLIENT_PORT	10000	/* and the number of the connection */
#define BYTES		15000
#define REPLY		100
#define SMALL		4096
/* more than all timeouts of a handshake and a transfer together; nothing waits for ever */
#define PATIENCE_MS	600000

enum mode {
	UPLOAD,		/* the client sends and closes its half; then the server replies */
	ANSWER,		/* the client asks; the server sends, and closes the socket at once */
	BOTH,		/* both send, and close their half as soon as all is written */
	SERVER_FIRST,	/* the server sends as it accepts, and closes its half */
};

static const struct {
	const char *device, *kind, *number;
} lost_packets[8] = {
	/* SYN, third ACK; or what is sent again */
	{ "rc1", "acks", "1" }, { "rc1", "acks", "2" }, { "rc1", "acks", "3" },
	{ "rc1", "data", "1" }, { "rc1", "data", "2" },
	/* SYN/ACK, first ACK */
	{ "rs1", "acks", "1" }, { "rs1", "acks", "2" },
	{ "rs1", "data", "1" },
};

static enum mode mode_of(int number)
{
	return number >> 8 & 3;
}

static char byte_at(int offset)
{
	return offset * 31 + offset / 256;
}

/* Writes and reads so much, then, with `shut`, closes its half, and with `to_end` waits
 * for the peer to do so. Returns what came, or -1 with errno.
 */
static int transfer(int fd, int write_bytes, int read_bytes, bool shut, bool to_end)
{
	int written = 0, got = 0, i;
	char bytes[BYTES];
	bool ended = false;

	for (;;) {
		bool reads = !ended && (to_end || got < read_bytes);
		struct pollfd wait = { .fd = fd };
		ssize_t n;

		if (written == write_bytes) {
			if (shut)
				check(!shutdown(fd, SHUT_WR), "shutdown");
			shut = false;
			if (!reads)
				return got;
		}
		wait.events = (written < write_bytes ? POLLOUT : 0) | (reads ? POLLIN : 0);
		if (!poll(&wait, 1, PATIENCE_MS)) {
			errno = ETIME;
			return -1;
		}
		if (written < write_bytes) {
			for (i = 0; i < write_bytes - written; i++)
				bytes[i] = byte_at(written + i);
			n = send(fd, bytes, write_bytes - written, MSG_DONTWAIT | MSG_NOSIGNAL);
			if (n < 0 && errno != EAGAIN)
				return -1;
			if (n > 0)
				written += n;
		}
		if (!reads)
			continue;
		n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
		if (n < 0 && errno != EAGAIN)
			return -1;
		for (i = 0; i < n; i++) {
			errno = EILSEQ;
			if (bytes[i] != byte_at(got + i))
				return -1;
		}
		if (n > 0)
			got += n;
		ended = !n;
	}
}

static void print_result(int number, int got, int expected)
{
	printf("%d: %d of %d %s\n", number, got < 0 ? 0 : got, expected,
	       got < 0 ? strerrorname_np(errno) : "end");
	fflush(stdout);
}

static void make_small(int fd)
{
	int size = SMALL;

	check(!setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) &&
	      !setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)), "setsockopt");
}

static void serve(int fd, int number)
{
	int got = 0, expected = 0;

	switch (mode_of(number)) {
	case UPLOAD:
		expected = BYTES;
		got = transfer(fd, 0, BYTES, false, true);
		if (got >= 0 && transfer(fd, REPLY, 0, true, false) < 0)
			got = -1;
		break;
	case ANSWER:
		expected = 1;
		got = transfer(fd, 0, 1, false, false);
		if (got >= 0 && transfer(fd, BYTES, 0, false, false) < 0)
			got = -1;
		break;
	case BOTH:
		expected = BYTES;
		got = transfer(fd, BYTES, BYTES, true, true);
		break;
	case SERVER_FIRST:
		got = transfer(fd, BYTES, 0, true, true);
		break;
	}
	print_result(number, got, expected);
	close(fd);
}

struct accepted {
	int fd, number;
};

static void *serve_one(void *given)
{
	struct accepted *accepted = given;

	serve(accepted->fd, accepted->number);
	free(accepted);
	return NULL;
}

/* One may still wait for its client when the next one comes. Threads, since processes
 * would take most of the time.
 */
static void server(void)
{
	struct pollfd listeners[2];
	int i, fd;

	for (i = 0; i < 2; i++) {
		struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(PORT + i) };

		fd = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
		if (i)
			make_small(fd);
		check(!bind(fd, (struct sockaddr *)&any, sizeof(any)) && !listen(fd, 5), "listen");
		listeners[i] = (struct pollfd) { .fd = fd, .events = POLLIN };
	}
	while (poll(listeners, 2, -1) > 0) {
		for (i = 0; i < 2; i++) {
			struct accepted *accepted;
			struct sockaddr_in from;
			socklen_t len = sizeof(from);
			pthread_t thread;

			if (!listeners[i].revents)
				continue;
			fd = accept(listeners[i].fd, (struct sockaddr *)&from, &len);
			check(fd >= 0, "accept");
			accepted = malloc(sizeof(*accepted));
			check(accepted, "malloc");
			accepted->fd = fd;
			accepted->number = ntohs(from.sin_port) - CLIENT_PORT;
			errno = pthread_create(&thread, NULL, serve_one, accepted);
			check(!errno, "pthread_create");
			pthread_detach(thread);
		}
	}
}

/* What the router is told: the numbers of a device and a kind, counted from now. */
static void lose(int router, unsigned int mask)
{
	char text[64];
	int i, k;

	for (i = 0; i < 8; i = k) {
		int len = snprintf(text, sizeof(text), "%s %s ", lost_packets[i].device,
				   lost_packets[i].kind);

		for (k = i; k < 8 && !strcmp(lost_packets[k].device, lost_packets[i].device) &&
		     !strcmp(lost_packets[k].kind, lost_packets[i].kind); k++)
			if (mask & (1 << k))
				len += snprintf(text + len, sizeof(text) - len, "%s,",
						lost_packets[k].number);
		/* no list is empty: so many packets there are not */
		len += snprintf(text + len, sizeof(text) - len, "1000000");
		check(write(router, text, len) == len, text);
	}
	check(write(router, "start", 5) == 5, "start");
}

static void connection(int number)
{
	int mode = mode_of(number), small = number >> 10 & 1;
	struct sockaddr_in from = { .sin_family = AF_INET,
				    .sin_port = htons(CLIENT_PORT + number) };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT + small) };
	int fd, i, queued, got = 0, expected = mode == UPLOAD ? REPLY : BYTES;

	inet_pton(AF_INET, "10.1.1.1", &to.sin_addr);
	fd = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
	if (small)
		make_small(fd);
	check(!bind(fd, (struct sockaddr *)&from, sizeof(from)), "bind");
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
		got = -1;
	else if (mode == UPLOAD)
		got = transfer(fd, BYTES, REPLY, true, true);
	else if (mode == ANSWER)
		got = transfer(fd, 1, BYTES, false, true);
	else if (mode == BOTH)
		got = transfer(fd, BYTES, BYTES, true, true);
	else
		got = transfer(fd, 0, BYTES, false, true);
	print_result(number, got, expected);
	/* What is sent again later would count among the packets of the next one. To ask each
	 * 10 ms was half of the system calls of a run.
	 */
	for (i = 50; i < PATIENCE_MS && !ioctl(fd, SIOCOUTQ, &queued) && queued; i *= 2)
		usleep(i * 1000);
	close(fd);
}

static void client(int first, int last)
{
	int router, number;
	int here = open("/proc/self/ns/net", O_RDONLY), there = open("/run/netns/router1", O_RDONLY);
	int blackhole = open("/proc/sys/net/mptcp/blackhole_timeout", O_WRONLY);

	/* or MPTCP is not tried for an hour when SYNs are lost */
	check(write(blackhole, "0", 1) == 1, "blackhole_timeout");
	check(!setns(there, CLONE_NEWNET), "router1");
	router = open("/proc/thread-self/net/mptcp_drop", O_WRONLY);
	check(router >= 0 && !setns(here, CLONE_NEWNET), "mptcp_drop");
	for (number = first; number <= last; number++) {
		lose(router, number & 0xff);
		connection(number);
	}
	/* the server may be about to print what it got */
	sleep(PATIENCE_MS / 1000);
}

int main(int argc, char **argv)
{
	if (argc == 4)
		client(atoi(argv[2]), atoi(argv[3]));
	else
		server();
	return 0;
}
