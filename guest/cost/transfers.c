// SPDX-License-Identifier: GPL-2.0-only
/* Transfers with MPTCP schedulers in turn, and what each costs on a CPU whose clock counts
 * instructions, a nanosecond each (checks/cost.py).
 *
 *	transfers ADDRESS BYTES TURNS SCHEDULER[:GRAIN_BYTES] ...
 *
 * In each turn, every scheduler sends the bytes from the network namespace `client` to ADDRESS in
 * `server`, default before each of the others. On standard output, a line of JSON for each
 * transfer: how long CPUs computed and were idle, and the packets that the devices of each end have
 * sent, which are as large as the offloads make them.
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"
#include "mptcp.h"

#define PORT		5001
#define CHUNK_BYTES	(1 << 16)
/* for the second subflow, in idle time, which does not count */
#define JOIN_US		500000
/* more than /proc/timer_list of one CPU has */
#define TEXT_BYTES	(1 << 20)

enum { CLIENT, SERVER, ENDS };

static const char * const names[ENDS] = { "client", "server" };
static char chunk[CHUNK_BYTES];

struct count {
	uint64_t now_ns;
	uint64_t idle_ns;
	uint64_t packets[ENDS];
};

static void __attribute__((noreturn, format(printf, 1, 2))) give_up(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static void enter(int end)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), NETNS_DIR "/%s", names[end]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		give_up("%s: %s", path, strerror(errno));
	close(fd);
}

static const char *text_of(const char *path)
{
	static char text[TEXT_BYTES];
	size_t len = 0;
	ssize_t got;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		give_up("%s: %s", path, strerror(errno));
	while ((got = read(fd, text + len, sizeof(text) - 1 - len)) > 0)
		len += got;
	text[len] = '\0';
	close(fd);
	return text;
}

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return to_ns(&now);
}

static uint64_t idle_ns(void)
{
	const char *found = strstr(text_of("/proc/timer_list"), ".idle_sleeptime");
	uint64_t idle;

	if (!found || sscanf(found, ".idle_sleeptime : %" SCNu64, &idle) != 1)
		give_up("/proc/timer_list does not say how long the CPU was idle");
	return idle;
}

/* What all devices of an end have sent. */
static uint64_t packets_of(int end)
{
	uint64_t all = 0, packets;
	const char *line;

	enter(end);
	for (line = text_of("/proc/net/dev"); line; line = strchr(line + 1, '\n'))
		if (sscanf(line, " %*[^:]: %*u %*u %*u %*u %*u %*u %*u %*u %*u %" SCNu64,
			   &packets) == 1)
			all += packets;
	return all;
}

static void write_all(int fd, uint64_t len)
{
	ssize_t done;

	for (; len; len -= done) {
		done = write(fd, chunk, len < sizeof(chunk) ? len : sizeof(chunk));
		if (done <= 0)
			give_up("write: %s", strerror(errno));
	}
}

static void read_all(int fd, uint64_t len)
{
	ssize_t done;

	for (; len; len -= done) {
		done = read(fd, chunk, len < sizeof(chunk) ? len : sizeof(chunk));
		if (done <= 0)
			give_up("read: %s", done ? strerror(errno) : "the end came early");
	}
}

/* The other end: reads all, and then says so. */
static void serve(int listener, uint64_t bytes)
{
	int fd = accept(listener, NULL, NULL);

	if (fd < 0)
		give_up("accept: %s", strerror(errno));
	read_all(fd, 1);
	read_all(fd, bytes);
	write_all(fd, 1);
	close(fd);
	exit(0);
}

static void set(const char *name, const char *value)
{
	ssize_t len = strlen(value);
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/net/mptcp/%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, value, len) != len)
		give_up("%s: %s: %s", path, value, strerror(errno));
	close(fd);
}

static void choose(const char *scheduler)
{
	const char *grain = strchr(scheduler, ':');
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(scheduler, ":"), scheduler);
	set("scheduler", name);
	set("grain_bytes", grain ? grain + 1 : "0");
}

static void transfer(const struct sockaddr_in *to, int listener, uint64_t bytes,
		     const char *scheduler)
{
	struct count before, after;
	struct mptcp_info info;
	socklen_t len = sizeof(info);
	int fd, status;

	enter(CLIENT);
	choose(scheduler);
	if (!fork())
		serve(listener, bytes);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_MPTCP);
	if (fd < 0 || connect(fd, (const struct sockaddr *)to, sizeof(*to)))
		give_up("connect: %s", strerror(errno));
	write_all(fd, 1);
	usleep(JOIN_US);
	if (getsockopt(fd, SOL_MPTCP, MPTCP_INFO, &info, &len) || info.mptcpi_subflows != 1)
		give_up("%s: the second subflow is missing", scheduler);
	before.packets[SERVER] = packets_of(SERVER);
	before.packets[CLIENT] = packets_of(CLIENT);
	before.idle_ns = idle_ns();
	before.now_ns = clock_ns();
	write_all(fd, bytes);
	read_all(fd, 1);
	after.now_ns = clock_ns();
	after.idle_ns = idle_ns();
	after.packets[SERVER] = packets_of(SERVER);
	after.packets[CLIENT] = packets_of(CLIENT);
	close(fd);
	if (wait(&status) < 0 || status)
		give_up("the other end failed");
	after.now_ns -= before.now_ns;
	after.idle_ns -= before.idle_ns;
	printf("{\"scheduler\": \"%s\", \"busy_ns\": %" PRIu64 ", \"idle_ns\": %" PRIu64
	       ", \"packets\": %" PRIu64 ", \"acks\": %" PRIu64 "}\n", scheduler,
	       after.now_ns - after.idle_ns, after.idle_ns,
	       after.packets[CLIENT] - before.packets[CLIENT],
	       after.packets[SERVER] - before.packets[SERVER]);
	fflush(stdout);
	usleep(JOIN_US);
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int listener, turn, i;
	uint64_t bytes;

	if (argc < 5 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1)
		give_up("usage: transfers ADDRESS BYTES TURNS SCHEDULER[:GRAIN_BYTES] ...");
	bytes = strtoull(argv[2], NULL, 10);
	enter(SERVER);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_MPTCP);
	if (listener < 0 || bind(listener, (struct sockaddr *)&to, sizeof(to)) ||
	    listen(listener, 1))
		give_up("listen: %s", strerror(errno));
	for (turn = 0; turn < atoi(argv[3]); turn++) {
		for (i = 4; i < argc; i++) {
			transfer(&to, listener, bytes, "default");
			transfer(&to, listener, bytes, argv[i]);
		}
	}
	return 0;
}
