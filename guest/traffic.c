// SPDX-License-Identifier: GPL-2.0-only
/* The traffic: a source that writes a pattern, a sink that verifies it.
 *
 * Every eight bytes of the stream are a function of their position and the
 * seed, so that a byte that is lost, repeated, changed or out of place is
 * seen. A system call costs as much as three packets here, so both move large
 * pieces; the sink still behaves as one that reads at once (see set_mark()).
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/mptcp.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

/* the lab kernel's option that chooses the scheduler of one connection */
#define SOL_MPTCP		284
#define MPTCP_SCHEDULER		100

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP	262
#endif
#ifndef SOL_MPTCP
#define SOL_MPTCP	284
#endif

#define CHUNK_WORDS	(32 * 1024)
#define CHUNK_BYTES	(8 * CHUNK_WORDS)
#define SUBFLOWS_MAX	8
/* TCP_ESTABLISHED; its header does not go with linux/tcp.h */
#define STATE_ESTABLISHED	1
/* Simulated time for all subflows to come up: lost SYNs are repeated after 1,
 * 3, 7, 15 and 31 s.
 */
#define ESTABLISH_NS	(60 * NS_PER_SEC)
/* for init to start the probes */
#define START_DELAY_NS	(NS_PER_SEC / 100)
#define ESTABLISH_POLL_NS	(NS_PER_SEC / 1000)

/* The first bytes of a connection, before those that are measured: only data
 * makes both ends sure of MPTCP, and lets the server announce its addresses.
 */
static const char greeting[8] = "mptcplab";

static int report_fd;
/* system calls of moving the data: what a run must not spend its time on */
static uint32_t calls;

static uint64_t now_ns(void)
{
	struct timespec t;

	calls++;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_SEC + t.tv_nsec;
}

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec) { ns / NS_PER_SEC, ns % NS_PER_SEC };
}

void sleep_until(uint64_t ns)
{
	struct timespec t = to_timespec(ns);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static void report(enum message_kind kind, uint64_t a, uint64_t b, const char *text)
{
	struct message m = { .kind = kind, .calls = calls, .a = a, .b = b };

	snprintf(m.text, sizeof(m.text), "%s", text);
	if (write(report_fd, &m, sizeof(m)) != sizeof(m))
		_exit(1);
}

static void __attribute__((noreturn, format(printf, 1, 2))) fail(const char *format, ...)
{
	char text[sizeof(((struct message *)NULL)->text)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	report(MESSAGE_ERROR, 0, 0, text);
	_exit(1);
}

/* Word i of the stream. Odd multipliers let every byte hang on position and seed. */
static inline uint64_t pattern(uint64_t i, uint64_t seed)
{
	return (i + seed * 0xd1342543de82ef95ull) * 0x9e3779b97f4a7c15ull;
}

static int open_socket(const struct traffic *t)
{
	int fd = socket(AF_INET, SOCK_STREAM, t->tcp ? IPPROTO_TCP : IPPROTO_MPTCP);

	if (fd < 0)
		fail("socket: %s", strerror(errno));
	return fd;
}

/* SINK */

/* Wake up for no less than a sixteenth of the receive buffer. Data that waits
 * to be read takes up receive window, so the mark must stay small against the
 * buffer, also while the kernel lets that grow: otherwise this program would be
 * measured and not the scheduler.
 */
static void set_mark(int fd)
{
	socklen_t len = sizeof(int);
	int buffer, mark;

	calls += 2;
	if (getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, &len))
		fail("SO_RCVBUF: %s", strerror(errno));
	mark = buffer / 16 < CHUNK_BYTES ? buffer / 16 : CHUNK_BYTES;
	if (setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &mark, sizeof(mark)))
		fail("SO_RCVLOWAT: %s", strerror(errno));
}

static void verify_bytes(const unsigned char *bytes, uint64_t pos, size_t len, uint64_t seed)
{
	unsigned char expected;
	size_t i;

	for (i = 0; i < len; i++, pos++) {
		expected = pattern(pos / 8, seed) >> (8 * (pos % 8));
		if (bytes[i] != expected)
			fail("byte %" PRIu64 " of the stream is %02x instead of %02x",
			     pos, bytes[i], expected);
	}
}

/* Verifies a piece of the stream that begins at pos and lies in a buffer which
 * is aligned as the stream is: whole words at once, the bytes around them singly.
 */
static void verify(const uint64_t *buffer, uint64_t pos, size_t len, uint64_t seed)
{
	const unsigned char *bytes = (const unsigned char *)buffer;
	size_t begin = pos % 8, end = begin + len;
	size_t first = (begin + 7) / 8, last = end / 8, i;
	uint64_t origin = pos / 8, wrong = 0;

	for (i = first; i < last; i++)
		wrong |= buffer[i] ^ pattern(origin + i, seed);
	if (wrong || first >= last) {
		verify_bytes(bytes + begin, pos, len, seed);
		return;
	}
	verify_bytes(bytes + begin, pos, 8 * first - begin, seed);
	verify_bytes(bytes + 8 * last, 8 * (origin + last), end - 8 * last, seed);
}

static void run_sink(const struct traffic *t)
{
	static uint64_t buffer[CHUNK_WORDS + 1];
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(t->port) };
	int listener = open_socket(t), fd, reads;
	const int on = 1;
	uint64_t pos = 0;
	ssize_t got;

	if (setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(listener, (struct sockaddr *)&any, sizeof(any)) || listen(listener, 1))
		fail("port %u: %s", t->port, strerror(errno));
	report(MESSAGE_LISTENING, 0, 0, "");
	fd = accept(listener, NULL, NULL);
	if (fd < 0)
		fail("accept: %s", strerror(errno));
	/* the listener stays: it is what answers the joins of further subflows */
	if (recv(fd, buffer, sizeof(greeting), MSG_WAITALL) != sizeof(greeting) ||
	    memcmp(buffer, greeting, sizeof(greeting)))
		fail("the connection does not begin with the greeting");

	for (reads = 0;; reads++) {
		if (reads % 16 == 0)
			set_mark(fd);
		calls++;
		got = read(fd, (char *)buffer + pos % 8, CHUNK_BYTES);
		if (got <= 0)
			break;
		verify(buffer, pos, got, t->seed);
		pos += got;
	}
	if (got < 0)
		fail("after %" PRIu64 " bytes: %s", pos, strerror(errno));
	report(MESSAGE_COMPLETE, now_ns(), pos, "");
	/* one more sample shows the connection as it is now */
	sleep_until(now_ns() + t->sample_interval_ns);
}

/* SOURCE */

/* What the kernel says of the subflows: which paths have an established one,
 * as a bit mask, and the largest smoothed round-trip time.
 */
static uint64_t established_paths(int fd, uint64_t *srtt_us)
{
	struct {
		struct mptcp_subflow_data data;
		struct mptcp_subflow_addrs addrs[SUBFLOWS_MAX];
	} where = {
		.data = {
			.size_subflow_data = sizeof(where.data),
			.size_user = sizeof(where.addrs[0]),
		},
	};
	struct {
		struct mptcp_subflow_data data;
		struct tcp_info info[SUBFLOWS_MAX];
	} state = {
		.data = {
			.size_subflow_data = sizeof(state.data),
			.size_user = sizeof(state.info[0]),
		},
	};
	socklen_t where_len = sizeof(where), state_len = sizeof(state);
	uint64_t mask = 0;
	unsigned int count, i;

	*srtt_us = 0;
	if (getsockopt(fd, SOL_MPTCP, MPTCP_SUBFLOW_ADDRS, &where, &where_len) ||
	    getsockopt(fd, SOL_MPTCP, MPTCP_TCPINFO, &state, &state_len))
		fail("the connection fell back to plain TCP: %s", strerror(errno));
	count = where.data.num_subflows;
	if (state.data.num_subflows < count)
		count = state.data.num_subflows;
	for (i = 0; i < count && i < SUBFLOWS_MAX; i++) {
		/* path p has the client's address 10.0.p.1 */
		uint32_t local = ntohl(where.addrs[i].sin_local.sin_addr.s_addr);
		unsigned int path = (local >> 8) & 0xff;

		if (state.info[i].tcpi_state != STATE_ESTABLISHED || !path || path > SUBFLOWS_MAX)
			continue;
		mask |= 1ull << (path - 1);
		if (state.info[i].tcpi_rtt > *srtt_us)
			*srtt_us = state.info[i].tcpi_rtt;
	}
	return mask;
}

/* Returns when there is one subflow per path, and data may be sent on each. */
static void wait_for_subflows(int fd, const struct traffic *t)
{
	uint64_t wanted = (1ull << t->paths) - 1, have, srtt_us, at = now_ns();
	uint64_t limit = at + ESTABLISH_NS;

	while ((have = established_paths(fd, &srtt_us)) != wanted) {
		if (at > limit) {
			report(MESSAGE_MISSING, wanted & ~have, 0,
			       "no subflow came up within 60 s of simulated time");
			_exit(1);
		}
		at += ESTABLISH_POLL_NS;
		sleep_until(at);
	}
	/* a joined subflow may carry data after the fourth ACK of its
	 * handshake (RFC 8684, section 3.2), a round trip later
	 */
	sleep_until(at + 2 * srtt_us * 1000);
}

/* Where between two seconds the traffic starts, from the seed. On lossless
 * paths nothing else is random, and runs that differ only in their phase
 * against the kernel's timers show how far a result hangs on it.
 */
static uint64_t phase_ns(uint64_t seed)
{
	uint64_t z = seed + 0x9e3779b97f4a7c15ull;

	/* the mixing steps of splitmix64 (Steele, Lea and Flood, OOPSLA 2014) */
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return (z ^ (z >> 31)) % NS_PER_SEC;
}

static void choose_scheduler(int fd, const char *name)
{
	char chosen[16] = "";
	socklen_t len = sizeof(chosen);

	if (setsockopt(fd, SOL_MPTCP, MPTCP_SCHEDULER, name, strlen(name)))
		fail("scheduler %s: %s", name, strerror(errno));
	if (getsockopt(fd, SOL_MPTCP, MPTCP_SCHEDULER, chosen, &len) || strcmp(chosen, name))
		fail("scheduler %s: the socket has %s", name, chosen);
}

static void run_source(const struct traffic *t)
{
	static uint64_t buffer[CHUNK_WORDS];
	struct sockaddr_in peer = { .sin_family = AF_INET, .sin_port = htons(t->port) };
	uint64_t start, stop = 0, pos = 0, i;
	size_t filled = 0, sent = 0;
	int fd = open_socket(t);
	ssize_t n;

	if (inet_pton(AF_INET, t->peer, &peer.sin_addr) != 1)
		fail("%s: not an address", t->peer);
	/* From a whole second on, nothing hangs on how long the set-up took, with
	 * all that may be in a plan beside what the run is.
	 */
	sleep_until((now_ns() / NS_PER_SEC + 1) * NS_PER_SEC);
	if (*t->scheduler)
		choose_scheduler(fd, t->scheduler);
	report(MESSAGE_CONNECTING, 0, 0, "");
	if (connect(fd, (struct sockaddr *)&peer, sizeof(peer))) {
		report(MESSAGE_MISSING, 1, 0, strerror(errno));
		_exit(1);
	}
	if (send(fd, greeting, sizeof(greeting), MSG_NOSIGNAL) != sizeof(greeting))
		fail("greeting: %s", strerror(errno));
	if (!t->tcp)
		wait_for_subflows(fd, t);
	if (*t->scheduler && (!setsockopt(fd, SOL_MPTCP, MPTCP_SCHEDULER, "default", 7) ||
			      errno != EISCONN))
		fail("the scheduler of a connection that is made could be changed");

	start = now_ns() + START_DELAY_NS + phase_ns(t->seed);
	if (t->duration_ns)
		stop = start + t->duration_ns;
	report(MESSAGE_START, start, stop, "");
	sleep_until(start);

	while (!t->size_bytes || pos < t->size_bytes) {
		if (sent == filled) {
			for (i = 0; i < CHUNK_WORDS; i++)
				buffer[i] = pattern(pos / 8 + i, t->seed);
			sent = 0;
			filled = CHUNK_BYTES;
			if (t->size_bytes && t->size_bytes - pos < filled)
				filled = t->size_bytes - pos;
		}
		calls++;
		n = send(fd, (char *)buffer + sent, filled - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n > 0) {
			sent += n;
			pos += n;
		} else if (n < 0 && errno == EAGAIN) {
			struct pollfd writable = { fd, POLLOUT, 0 };
			uint64_t now = now_ns();
			struct timespec left;

			if (stop && now >= stop)
				break;
			left = to_timespec(stop - now);
			calls++;
			if (ppoll(&writable, 1, stop ? &left : NULL, NULL) < 0)
				fail("poll: %s", strerror(errno));
		} else {
			fail("after %" PRIu64 " bytes: %s", pos, strerror(errno));
		}
	}
	report(MESSAGE_END, now_ns(), pos, "");

	/* Stay until the peer has everything: a closed socket with unsent data
	 * is given up after a minute.
	 */
	if (shutdown(fd, SHUT_WR))
		fail("shutdown: %s", strerror(errno));
	while ((n = read(fd, buffer, sizeof(buffer))) > 0)
		;
	if (n < 0)
		fail("at the end: %s", strerror(errno));
}

void traffic_run(const struct traffic *t, int fd)
{
	report_fd = fd;
	if (t->is_sink)
		run_sink(t);
	else
		run_source(t);
	_exit(0);
}
