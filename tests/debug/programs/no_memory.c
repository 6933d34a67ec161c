// SPDX-License-Identifier: GPL-2.0-only
/* Connections during each of which one piece of memory is refused, the next one each time.
 *
 *	no_memory server
 *	no_memory client
 *	no_memory pages
 *
 * First those that the client's system calls ask for (fail-nth), then those of interrupts, at
 * both ends (failslab), until a connection asks for none that was not refused once. Data goes
 * both ways, the client's as a unit, and must arrive whole; a call that fails for want of
 * memory is made again. Prints how many were refused, and how many connections of the
 * client and of the server had the default scheduler.
 *
 * `pages` is a client, too: every second page that interrupts ask for is refused (fail_page_alloc).
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../../programs.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP	262
#endif
#define SOL_MPTCP	284
#define MPTCP_SCHEDULER	100
#define MPTCP_UNIT	101
#define PORT		5100
#define BYTES		8000
#define MOST		2000
#define WITHOUT_PAGES	30
#define FAULTS		"/sys/kernel/debug/"

struct mptcp_unit {
	uint32_t id, bytes, depends_on, importance;
	uint64_t deadline_ns, expires_ns;
};

static long get(const char *file)
{
	char text[32] = "";
	int fd = open(file, O_RDONLY);

	check(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0, file);
	close(fd);
	return atol(text);
}

static char pattern(int i)
{
	return i * 31 + i / 256;
}

static void send_all(int fd)
{
	char bytes[BYTES];
	int i;

	for (i = 0; i < BYTES; i++)
		bytes[i] = pattern(i);
	for (i = 0; i < BYTES;) {
		ssize_t n = send(fd, bytes + i, BYTES - i, MSG_NOSIGNAL);

		check(n > 0 || errno == ENOMEM || errno == ENOBUFS || errno == EAGAIN, "send");
		i += n > 0 ? n : 0;
	}
	check(!shutdown(fd, SHUT_WR), "shutdown");
}

static void read_all(int fd)
{
	static char bytes[BYTES];
	int at = 0;
	ssize_t n;

	while ((n = recv(fd, bytes, sizeof(bytes), 0))) {
		int i;

		if (n < 0 && (errno == ENOMEM || errno == ENOBUFS))
			continue;
		check(n > 0, "recv");
		for (i = 0; i < n; i++)
			check(bytes[i] == pattern(at + i), "a byte is wrong");
		at += n;
	}
	check(at == BYTES, "bytes are missing");
}

/* Has it the default scheduler? One that has fallen back to TCP has none. */
static bool has_default(int fd)
{
	char found[16] = "";
	socklen_t len = sizeof(found);

	if (getsockopt(fd, SOL_MPTCP, MPTCP_SCHEDULER, found, &len))
		return false;
	return !strcmp(found, "default");
}

static void server(void)
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int fd = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);

	check(!bind(fd, (struct sockaddr *)&here, sizeof(here)) && !listen(fd, 100), "listen");
	for (;;) {
		int got = accept(fd, NULL, NULL);

		check(got >= 0, "accept");
		if (has_default(got)) {
			printf("default\n");
			fflush(stdout);
		}
		read_all(got);
		send_all(got);
		close(got);
	}
}

static int connected(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int fd, tries;

	inet_pton(AF_INET, "10.1.1.1", &to.sin_addr);
	for (tries = 0; tries < 5; tries++) {
		fd = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
		if (fd >= 0 && !connect(fd, (struct sockaddr *)&to, sizeof(to)))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	check(false, "connect");
	return -1;
}

/* What has the default scheduler, or is TCP, has no units. */
static void announce(int fd)
{
	struct mptcp_unit unit = { .id = 1, .bytes = BYTES };

	while (setsockopt(fd, SOL_MPTCP, MPTCP_UNIT, &unit, sizeof(unit))) {
		if (errno != ENOMEM) {
			check(errno == EOPNOTSUPP, "MPTCP_UNIT");
			return;
		}
	}
}

/* Returns whether its scheduler was the default one: then it lasts until a sample was taken. */
static bool connection(bool all)
{
	int fd = connected();
	bool other = has_default(fd);

	/* the second subflow is there */
	if (all)
		usleep(200000);
	if (other)
		sleep(2);
	announce(fd);
	send_all(fd);
	read_all(fd);
	close(fd);
	return other;
}

/* open all the time, as open() itself asks for memory */
static int nth;

static void refuse_in_calls(int n)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "%d", n);

	check(pwrite(nth, text, len, 0) == len, "fail-nth");
}

/* Was it, since it was asked for? */
static bool refused_in_calls(void)
{
	char text[32] = "";

	check(pread(nth, text, sizeof(text) - 1, 0) > 0, "fail-nth");
	check(pwrite(nth, "0", 1, 0) == 1, "fail-nth");
	return !atoi(text);
}

static void prepare(void)
{
	nth = open("/proc/thread-self/fail-nth", O_RDWR);
	mount("none", "/sys/kernel/debug", "debugfs", 0, NULL);
	put(FAULTS "failslab/verbose", "0");
	put(FAULTS "fail_page_alloc/verbose", "0");
	put(FAULTS "failslab/ignore-gfp-wait", "N");
	put(FAULTS "fail_page_alloc/ignore-gfp-wait", "N");
	put(FAULTS "fail_page_alloc/min-order", "0");
}

static void refuse_pieces(void)
{
	int n, refused, others, count = 0;
	char text[32];

	put(FAULTS "failslab/ignore-gfp-wait", "Y");
	put(FAULTS "failslab/probability", "100");
	for (n = 1, refused = 0, others = 0; n < MOST; n++, refused++) {
		/* nothing of the one before asks for any */
		usleep(500000);
		/* those whose count is divided by it, and it goes on counting; with 1, it does not */
		count += n > 1 ? n : 0;
		snprintf(text, sizeof(text), "%d", n > 1 ? count : 1);
		put(FAULTS "failslab/interval", text);
		put(FAULTS "failslab/times", "1");
		others += connection(true);
		if (get(FAULTS "failslab/times"))
			break;
	}
	put(FAULTS "failslab/times", "0");
	printf("interrupts: %d refused, %d default\n", refused, others);
}

static void pages(void)
{
	int n;

	prepare();
	put(FAULTS "fail_page_alloc/ignore-gfp-wait", "Y");
	put(FAULTS "fail_page_alloc/probability", "100");
	put(FAULTS "fail_page_alloc/interval", "2");
	put(FAULTS "fail_page_alloc/times", "100000");
	for (n = 0; n < WITHOUT_PAGES; n++)
		connection(true);
	printf("pages: %ld refused\n", 100000 - get(FAULTS "fail_page_alloc/times"));
	put(FAULTS "fail_page_alloc/times", "0");
}

static void client(void)
{
	int n, refused, others;

	prepare();
	for (n = 1, refused = 0, others = 0; n < MOST; n++, refused++) {
		refuse_in_calls(n);
		others += connection(n % 2);
		if (!refused_in_calls())
			break;
	}
	printf("calls: %d refused, %d default\n", refused, others);
	refuse_pieces();
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "client"))
		client();
	else if (argc > 1 && !strcmp(argv[1], "pages"))
		pages();
	else
		server();
	return 0;
}
