// SPDX-License-Identifier: GPL-2.0-only
/* Connections whose packets are compared, one after the other, each in a situation of
 * its own.
 *
 *	wire server SITUATION...
 *	wire client SITUATION...
 *
 * A situation is WAY,BYTES,MESSAGES,PAUSE,FLAGS,LOST: a number of enum way; the bytes of
 * a message, and how many there are, so many ms apart; a sum of enum flags; and which
 * packet of each kind a router loses, DEVICE-KIND-NUMBER+... (kernel/mptcp/drop.c), or
 * "-". The ports of the servers are FIRST_PORT and following, by the situation's number.
 * Each begins at an instant of its own, a multiple of PERIOD_NS: so its packets have the
 * same times whatever came before.
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../../programs.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP	262
#endif
#define FIRST_PORT	5100
#define PERIOD_NS	(20 * SECOND_NS)
#define MESSAGES	5
#define LARGEST		100000
#define SITUATIONS	64

enum way {
	UP,		/* the client sends its messages; the server closes when they have come */
	DOWN,		/* the same in the other direction, for a request of a byte */
	IN_TURN,	/* each message is answered by one as large */
	HALF_CLOSED,	/* the client ends its half; then the server answers, and closes */
	NOTHING,	/* the client closes as soon as it is connected */
	RESET,		/* the client resets instead of closing */
	UNREAD,		/* the client closes without reading what has come */
};

enum flags {
	NAGLE		= 1,	/* short segments wait, as programs have it that say nothing */
	CHECKSUMS	= 2,	/* of DSS, at both ends */
	PLAIN_CLIENT	= 4,	/* it knows of TCP alone */
	PLAIN_SERVER	= 8,
	CORKED		= 16,	/* short segments wait for more, or for a timer */
};

struct situation {
	int way, bytes, messages, pause_ms, flags;
	char lost[48];
};

static struct situation situations[SITUATIONS];
static int count;

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * SECOND_NS + now.tv_nsec;
}

static void set_checksums(bool on)
{
	put("/proc/sys/net/mptcp/checksum_enabled", on ? "1" : "0");
}

static void send_message(int fd, int bytes)
{
	static char pattern[LARGEST];
	int i;

	for (i = 0; i < bytes; i++)
		pattern[i] = i * 31 + i / 256;
	for (i = 0; i < bytes;) {
		ssize_t n = send(fd, pattern + i, bytes - i, MSG_NOSIGNAL);

		check(n > 0, "send");
		i += n;
	}
}

static void read_message(int fd, int bytes)
{
	static char buffer[LARGEST];

	while (bytes) {
		ssize_t n = recv(fd, buffer, bytes, 0);

		check(n > 0, "recv");
		bytes -= n;
	}
}

static void read_to_end(int fd)
{
	char buffer[4096];

	while (recv(fd, buffer, sizeof(buffer), 0) > 0)
		;
}

static void send_messages(int fd, const struct situation *it)
{
	int i;

	for (i = 0; i < it->messages; i++) {
		if (i)
			usleep(it->pause_ms * 1000);
		send_message(fd, it->bytes);
	}
}

static void set_no_delay(int fd, const struct situation *it)
{
	int on = !(it->flags & NAGLE);

	check(!setsockopt(fd, SOL_TCP, TCP_NODELAY, &on, sizeof(on)), "TCP_NODELAY");
	on = it->flags & CORKED;
	check(!setsockopt(fd, SOL_TCP, TCP_CORK, &on, sizeof(on)), "TCP_CORK");
}

static void serve(int fd, const struct situation *it)
{
	int i;

	set_no_delay(fd, it);
	switch (it->way) {
	case UP:
		read_message(fd, it->bytes * it->messages);
		break;
	case DOWN:
		read_message(fd, 1);
		send_messages(fd, it);
		break;
	case IN_TURN:
		for (i = 0; i < it->messages; i++) {
			read_message(fd, it->bytes);
			send_message(fd, it->bytes);
		}
		read_to_end(fd);
		break;
	case HALF_CLOSED:
		read_to_end(fd);
		send_messages(fd, it);
		break;
	case UNREAD:
		send_messages(fd, it);
		read_to_end(fd);
		break;
	case NOTHING:
	case RESET:
		read_to_end(fd);
		break;
	}
	close(fd);
}

static void server(void)
{
	struct pollfd listeners[SITUATIONS];
	int i, fd;

	put("/proc/sys/net/mptcp/mptcpize", "0");
	for (i = 0; i < count; i++) {
		struct sockaddr_in any = { .sin_family = AF_INET,
					   .sin_port = htons(FIRST_PORT + i) };

		fd = socket(AF_INET, SOCK_STREAM,
			    situations[i].flags & PLAIN_SERVER ? IPPROTO_TCP : IPPROTO_MPTCP);
		check(!bind(fd, (struct sockaddr *)&any, sizeof(any)) && !listen(fd, 5), "listen");
		listeners[i] = (struct pollfd) { .fd = fd, .events = POLLIN };
	}
	/* in turn with the client: the switch is one for all of a host */
	for (i = 0; i < count; i++) {
		set_checksums(situations[i].flags & CHECKSUMS);
		fd = accept(listeners[i].fd, NULL, NULL);
		check(fd >= 0, "accept");
		serve(fd, &situations[i]);
	}
}

static void be_client(const struct situation *it, int number)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(FIRST_PORT + number) };
	struct linger reset = { .l_onoff = 1 };
	int fd, i;

	set_checksums(it->flags & CHECKSUMS);
	inet_pton(AF_INET, "10.1.1.1", &to.sin_addr);
	fd = socket(AF_INET, SOCK_STREAM, it->flags & PLAIN_CLIENT ? IPPROTO_TCP : IPPROTO_MPTCP);
	set_no_delay(fd, it);
	check(!connect(fd, (struct sockaddr *)&to, sizeof(to)), "connect");
	switch (it->way) {
	case UP:
		send_messages(fd, it);
		read_to_end(fd);
		break;
	case DOWN:
		send_message(fd, 1);
		read_to_end(fd);
		break;
	case IN_TURN:
		for (i = 0; i < it->messages; i++) {
			send_message(fd, it->bytes);
			read_message(fd, it->bytes);
			usleep(it->pause_ms * 1000);
		}
		break;
	case HALF_CLOSED:
		send_messages(fd, it);
		check(!shutdown(fd, SHUT_WR), "shutdown");
		read_to_end(fd);
		break;
	case NOTHING:
		break;
	case RESET:
		send_messages(fd, it);
		sleep(1);
		check(!setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), "SO_LINGER");
		break;
	case UNREAD:
		sleep(1);
		break;
	}
	close(fd);
}

/* Of each list the packets that are lost: none of those that the situation does not name. */
static void lose(int router, const char *lost)
{
	static const char *const lists[] = { "rc1-acks-", "rc1-data-", "rs1-acks-", "rs1-data-" };
	char text[64];
	int i;

	for (i = 0; i < 4; i++) {
		const char *found = strstr(lost, lists[i]);
		int len = snprintf(text, sizeof(text), "%.3s %.4s %d", lists[i], lists[i] + 4,
				   found ? atoi(found + 9) : 1000000);

		check(write(router, text, len) == len, text);
	}
	check(write(router, "start", 5) == 5, "start");
}

static void client(void)
{
	int here = open("/proc/self/ns/net", O_RDONLY);
	int there = open("/run/netns/router1", O_RDONLY);
	long long start_ns = (now_ns() / PERIOD_NS + 1) * PERIOD_NS;
	int router, i;

	put("/proc/sys/net/mptcp/mptcpize", "0");
	/* or MPTCP is not tried for an hour when SYNs are lost */
	put("/proc/sys/net/mptcp/blackhole_timeout", "0");
	check(!setns(there, CLONE_NEWNET), "router1");
	router = open("/proc/thread-self/net/mptcp_drop", O_WRONLY);
	check(router >= 0 && !setns(here, CLONE_NEWNET), "mptcp_drop");
	for (i = 0; i < count; i++) {
		sleep_until(start_ns + i * PERIOD_NS);
		/* counted from here on */
		lose(router, situations[i].lost);
		be_client(&situations[i], i);
	}
	/* what is sent again, and the last ACKs */
	sleep(PERIOD_NS / SECOND_NS);
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	for (count = 0; count < argc - 2 && count < SITUATIONS; count++) {
		struct situation *it = &situations[count];

		check(sscanf(argv[count + 2], "%d,%d,%d,%d,%d,%47s", &it->way, &it->bytes,
			     &it->messages, &it->pause_ms, &it->flags, it->lost) == 6,
		      argv[count + 2]);
	}
	if (!strcmp(argv[1], "client"))
		client();
	else
		server();
	return 0;
}
