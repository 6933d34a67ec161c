// SPDX-License-Identifier: GPL-2.0-only
/* Announces units that make no sense, and others, over a connection to a server
 * that reads nothing, and prints what the socket option says to each.
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP	262
#endif
#define SOL_MPTCP	284
#define MPTCP_UNIT	101
#define PORT		5003

struct mptcp_unit {
	uint32_t id, bytes, depends_on, importance;
	uint64_t deadline_ns, expires_ns;
};

static int fd;

static void say(const char *what, int result)
{
	printf("%s: %s\n", what, result ? strerrorname_np(errno) : "ok");
}

static void announce(const char *what, struct mptcp_unit unit)
{
	say(what, setsockopt(fd, SOL_MPTCP, MPTCP_UNIT, &unit, sizeof(unit)));
}

static void client(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	struct mptcp_unit unit = { .id = 1, .bytes = 8 };
	uint32_t units[6];
	socklen_t len = sizeof(units);
	char bytes[8] = "";
	int i, buffer = 1 << 20;

	fd = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
	inet_pton(AF_INET, "10.1.1.1", &to.sin_addr);
	announce("not connected", unit);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
		exit(1);
	say("short", setsockopt(fd, SOL_MPTCP, MPTCP_UNIT, &unit, sizeof(unit) - 1));
	say("long", setsockopt(fd, SOL_MPTCP, MPTCP_UNIT, &unit, sizeof(unit) + 1));
	say("no memory of ours", setsockopt(fd, SOL_MPTCP, MPTCP_UNIT, (void *)1, sizeof(unit)));
	announce("no id", (struct mptcp_unit) { .bytes = 8 });
	announce("no bytes", (struct mptcp_unit) { .id = 1 });
	announce("too many bytes", (struct mptcp_unit) { .id = 1, .bytes = (1 << 30) + 1 });
	announce("of itself", (struct mptcp_unit) { .id = 1, .bytes = 8, .depends_on = 1 });
	announce("expires early", (struct mptcp_unit) { .id = 1, .bytes = 8, .deadline_ns = 2,
							.expires_ns = 1 });
	announce("good", unit);
	announce("too early", (struct mptcp_unit) { .id = 2, .bytes = 8 });
	if (send(fd, bytes, sizeof(bytes), 0) != sizeof(bytes))
		exit(1);
	announce("again", unit);
	/* no time goes by, so that windows are full and what is written waits */
	for (i = 0, errno = 0; i < 100000; i++) {
		unit.id = i + 2;
		if (setsockopt(fd, SOL_MPTCP, MPTCP_UNIT, &unit, sizeof(unit)))
			break;
		if (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) != sizeof(bytes))
			break;
	}
	say("too many", -1);
	say("read", getsockopt(fd, SOL_MPTCP, MPTCP_UNIT, units, &len));
	printf("length %u, announced %u, waiting %u, dropped %u\n", len, units[0] - i, units[1],
	       units[2]);
	len = 4;
	say("read in part", getsockopt(fd, SOL_MPTCP, MPTCP_UNIT, units, &len));
	printf("length %u\n", len);
	shutdown(fd, SHUT_WR);
	announce("shut down", (struct mptcp_unit) { .id = 1000000, .bytes = 8 });
	close(fd);

	/* a socket that is used again has forgotten its units */
	fd = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
		exit(1);
	announce("half", (struct mptcp_unit) { .id = 1, .bytes = 16 });
	if (send(fd, bytes, sizeof(bytes), 0) != sizeof(bytes))
		exit(1);
	if (connect(fd, &(struct sockaddr) { .sa_family = AF_UNSPEC }, sizeof(struct sockaddr)))
		exit(1);
	len = sizeof(units);
	say("read", getsockopt(fd, SOL_MPTCP, MPTCP_UNIT, units, &len));
	printf("announced %u, waiting %u\n", units[0], units[1]);
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)))
		exit(1);
	announce("after all", (struct mptcp_unit) { .id = 1, .bytes = 8 });
	if (send(fd, bytes, sizeof(bytes), 0) != sizeof(bytes))
		exit(1);
	announce("and another", (struct mptcp_unit) { .id = 2, .bytes = 8 });
}

static void server(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int listener = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);

	if (bind(listener, (struct sockaddr *)&any, sizeof(any)) || listen(listener, 5))
		exit(1);
	fd = accept(listener, NULL, NULL);
	pause();
}

int main(int argc, char **argv)
{
	if (argc > 1)
		server();
	client();
	return 0;
}
