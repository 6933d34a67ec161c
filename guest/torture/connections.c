// SPDX-License-Identifier: GPL-2.0-only
/* Connections with troubles: makes both ends of each between two network
 * namespaces, has them write, read, pause, shut down, close and be killed at the
 * times that it is told, and tells what each end has seen.
 *
 *	connections CLIENT_NS SERVER_NS [PROCESSES]
 *
 * On standard input, a line for the whole and three for each connection; words
 * are KEY=NUMBER, times are in us after the start:
 *
 *	until=TIME
 *	connection at=TIME path=NUMBER
 *	client KEY=NUMBER ...
 *	server KEY=NUMBER ...
 *
 * The keys of an end are the fields of struct end_plan. On standard output, a
 * line of JSON for each connection. Both ends of one are in one process, so that what
 * one of them has seen can be compared with what the other one did; it never
 * blocks. With several processes, for several CPUs, each has its share of the
 * connections, whose lines come in any order. What it writes depends on connection,
 * direction and position, and each byte that is read is compared.
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"
#include "mptcp.h"
#include "uapi/pattern.h"

/* of linux/sockios.h, which does not go together with the C library's headers */
#define SIOCOUTQ_BYTES	0x5411

#define CONNECTIONS_MAX	64
#define SUBFLOWS_MAX	16
#define FIRST_PORT	5001
#define CHUNK_MAX	(1 << 16)
#define LINE_MAX_BYTES	(1 << 16)
/* What one turn may move of an end: the others have theirs, too. */
#define TURN_BYTES	(1 << 18)
/* of every TCP state but LISTEN */
#define ALL_STATES	(~(1u << 10))

enum { CLIENT, SERVER, ENDS };

/* What an end does when it has written all, or at a time. */
enum act {
	ACT_SHUTDOWN,	/* when all is written; closes when the peer has ended, too */
	ACT_CLOSE,	/* when all is written, whatever the peer does */
	ACT_SHUTDOWN_AT,
	ACT_CLOSE_AT,
	ACT_ABORT_AT,	/* closes with a reset */
	ACTS
};

static const char * const act_names[ACTS] = {
	"shutdown", "close", "shutdown", "close", "abort",
};

/* Numbers that the plan gives; times in us. */
struct end_plan {
	uint64_t bytes;		/* to write */
	uint64_t write_chunk, write_gap;
	uint64_t read_chunk, read_gap;
	uint64_t pause_at, pause;	/* reads nothing from then on, for so long */
	uint64_t send_buffer, receive_buffer;	/* 0: as they are */
	uint64_t shrink, shrink_at;	/* the receive buffer, once connected; 0: as it is */
	uint64_t no_delay, low_water;
	uint64_t act, act_at;
	uint64_t kill_at;	/* subflows of this end; 0: never */
	uint64_t kill_index;	/* this one of them; KILL_ALL: each */
};

#define KILL_ALL	99

struct end {
	struct end_plan plan;
	int fd;			/* -1: not there yet, or closed */
	bool connecting;
	bool was_there;
	bool shrunk, killed;
	uint64_t wrote, got;
	int64_t wrong_at;	/* the first byte that differs; -1: none does */
	bool fell_back;		/* to TCP, when it was looked at last */
	bool read_end;		/* the peer's end of stream was seen */
	const char *error;	/* the first one */
	const char *error_of;
	const char *did;	/* how it has ended its direction */
	bool closed;
	uint64_t closed_us;
	uint64_t next_write, next_read;
	uint64_t moved_us;	/* when it wrote or read last */
	uint64_t seen_us;	/* when it saw the end or an error */
};

static struct connection {
	uint64_t at, path;
	int listener;
	bool started;
	struct end ends[ENDS];
} connections[CONNECTIONS_MAX];

static int count;
/* this process has every so many-th connection, from the one of this index on */
static int shares = 1, share;
static int namespaces[ENDS];
static uint64_t start_ns, until_us;

static void __attribute__((noreturn, format(printf, 1, 2))) give_up(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(2);
}

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (to_ns(&t) - start_ns) / 1000;
}

static void enter(int end)
{
	if (setns(namespaces[end], CLONE_NEWNET))
		give_up("setns: %s", strerror(errno));
}

/* THE PLAN */

struct key {
	const char *name;
	size_t offset;
};

#define KEY(type, name)	{ #name, offsetof(type, name) }

static const struct key end_keys[] = {
	KEY(struct end_plan, bytes), KEY(struct end_plan, write_chunk),
	KEY(struct end_plan, write_gap), KEY(struct end_plan, read_chunk),
	KEY(struct end_plan, read_gap), KEY(struct end_plan, pause_at),
	KEY(struct end_plan, pause), KEY(struct end_plan, send_buffer),
	KEY(struct end_plan, receive_buffer), KEY(struct end_plan, shrink),
	KEY(struct end_plan, shrink_at),
	KEY(struct end_plan, no_delay), KEY(struct end_plan, low_water),
	KEY(struct end_plan, act), KEY(struct end_plan, act_at),
	KEY(struct end_plan, kill_at), KEY(struct end_plan, kill_index), {}
};

static const struct key connection_keys[] = {
	KEY(struct connection, at), KEY(struct connection, path), {}
};

static void take_words(char *words, const struct key *keys, void *into)
{
	char *word, *save, *value, *end;
	const struct key *key;

	while ((word = strtok_r(words, " ", &save))) {
		words = NULL;
		value = strchr(word, '=');
		if (!value)
			give_up("%s: KEY=NUMBER is expected", word);
		*value++ = '\0';
		for (key = keys; key->name; key++)
			if (!strcmp(key->name, word))
				break;
		if (!key->name)
			give_up("%s: not known", word);
		*(uint64_t *)((char *)into + key->offset) = strtoull(value, &end, 10);
		if (end == value || *end)
			give_up("%s=%s: a number is expected", word, value);
	}
}

static struct connection *last_connection(void)
{
	if (!count)
		give_up("an end of no connection");
	return &connections[count - 1];
}

static void check(const struct end_plan *plan)
{
	if (!plan->write_chunk || plan->write_chunk > CHUNK_MAX || !plan->read_chunk ||
	    plan->read_chunk > CHUNK_MAX || plan->act >= ACTS)
		give_up("an end with values that cannot be");
}

static void read_plan(void)
{
	char line[1024];
	struct connection *c;
	int i;

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "until=%" SCNu64, &until_us) == 1)
			continue;
		if (!strncmp(line, "connection ", 11)) {
			if (count == CONNECTIONS_MAX)
				give_up("more than %d connections", CONNECTIONS_MAX);
			c = &connections[count++];
			c->listener = -1;
			for (i = 0; i < ENDS; i++) {
				c->ends[i].fd = -1;
				c->ends[i].wrong_at = -1;
			}
			take_words(line + 11, connection_keys, c);
		} else if (!strncmp(line, "client ", 7)) {
			take_words(line + 7, end_keys, &last_connection()->ends[CLIENT].plan);
		} else if (!strncmp(line, "server ", 7)) {
			take_words(line + 7, end_keys, &last_connection()->ends[SERVER].plan);
		} else {
			give_up("%s: not known", line);
		}
	}
	for (c = connections; c < connections + count; c++)
		for (i = 0; i < ENDS; i++)
			check(&c->ends[i].plan);
	if (!until_us || !count)
		give_up("a time and connections are expected");
}

/* THE BYTES */

static void fill(unsigned char *bytes, size_t len, unsigned int stream, uint64_t position)
{
	size_t i;

	for (i = 0; i < len; i++)
		bytes[i] = pattern_byte(position + i, stream);
}

/* KILLING SUBFLOWS */

struct diag_request {
	struct nlmsghdr head;
	struct inet_diag_req_v2 ask;
};

static int diag_ask(int fd, struct diag_request *request)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

	request->head.nlmsg_len = sizeof(*request);
	request->ask.sdiag_family = AF_INET;
	request->ask.sdiag_protocol = IPPROTO_TCP;
	return sendto(fd, request, sizeof(*request), 0, (struct sockaddr *)&kernel,
		      sizeof(kernel)) == sizeof(*request) ? 0 : -1;
}

static void destroy(int fd, const struct inet_diag_sockid *id)
{
	struct diag_request request = {
		.head = { .nlmsg_type = SOCK_DESTROY, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK },
		.ask = { .idiag_states = ALL_STATES, .id = *id },
	};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char more[256];
	} answer;

	if (diag_ask(fd, &request) || recv(fd, &answer, sizeof(answer), 0) < 0)
		give_up("SOCK_DESTROY: %s", strerror(errno));
	/* it may have gone meanwhile */
	if (answer.error.error && answer.error.error != -ENOENT)
		give_up("SOCK_DESTROY: %s", strerror(-answer.error.error));
}

/* Those of an end, told by the server's port, which each connection has for itself. */
static void kill_subflows(struct connection *c, int end)
{
	const uint16_t port = htons(FIRST_PORT + (c - connections));
	struct diag_request request = {
		.head = {
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		},
		.ask = { .idiag_states = ALL_STATES },
	};
	static char answer[1 << 16];
	struct inet_diag_sockid found[64];
	const struct nlmsghdr *head;
	unsigned int n = 0, i;
	bool done = false;
	ssize_t len;
	int fd;

	enter(end);
	fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (fd < 0 || diag_ask(fd, &request))
		give_up("sock_diag: %s", strerror(errno));
	while (!done && (len = recv(fd, answer, sizeof(answer), 0)) > 0) {
		for (head = (void *)answer; NLMSG_OK(head, len); head = NLMSG_NEXT(head, len)) {
			const struct inet_diag_msg *m = NLMSG_DATA(head);

			if (head->nlmsg_type != SOCK_DIAG_BY_FAMILY) {
				done = true;
				break;
			}
			if ((end == CLIENT ? m->id.idiag_dport : m->id.idiag_sport) == port &&
			    n < COUNT(found))
				found[n++] = m->id;
		}
	}
	for (i = 0; i < n; i++)
		if (c->ends[end].plan.kill_index == KILL_ALL ||
		    i == c->ends[end].plan.kill_index % n)
			destroy(fd, &found[i]);
	close(fd);
}

/* THE ENDS */

static void set_number(int fd, int level, int name, int value)
{
	if (setsockopt(fd, level, name, &value, sizeof(value)))
		give_up("setsockopt: %s", strerror(errno));
}

static int open_socket(const struct end *end, int ns)
{
	int fd;

	enter(ns);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_MPTCP);
	if (fd < 0)
		give_up("socket: %s", strerror(errno));
	if (end->plan.send_buffer)
		set_number(fd, SOL_SOCKET, SO_SNDBUF, end->plan.send_buffer);
	if (end->plan.receive_buffer)
		set_number(fd, SOL_SOCKET, SO_RCVBUF, end->plan.receive_buffer);
	if (end->plan.no_delay)
		set_number(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	if (end->plan.low_water)
		set_number(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, end->plan.low_water);
	return fd;
}

static void end_failed(struct end *end, const char *what, int error)
{
	end->seen_us = now_us();
	if (!end->error) {
		end->error = strerrorname_np(error);
		end->error_of = what;
	}
}

/* The kernel has nothing to tell of MPTCP when a connection is none any more. */
static bool get_info(const struct end *end, struct mptcp_info *info)
{
	socklen_t len = sizeof(*info);

	return !getsockopt(end->fd, SOL_MPTCP, MPTCP_INFO, info, &len);
}

static void look_at(struct end *end)
{
	struct mptcp_info info = {};

	end->fell_back = !get_info(end, &info) || info.mptcpi_flags & MPTCP_INFO_FLAG_FALLBACK;
}

static void end_close(struct end *end, bool reset)
{
	struct linger linger = { 1, 0 };

	look_at(end);
	if (reset && setsockopt(end->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)))
		give_up("SO_LINGER: %s", strerror(errno));
	close(end->fd);
	end->fd = -1;
	end->closed = true;
	end->closed_us = now_us();
}

static struct sockaddr_in address(int net, uint64_t path, unsigned int port)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };

	to.sin_addr.s_addr = htonl(10 << 24 | net << 16 | path << 8 | 1);
	return to;
}

/* Each connection has a port, whose listener stays: further subflows need it. */
static void listen_for(struct connection *c)
{
	struct sockaddr_in any = {
		.sin_family = AF_INET, .sin_port = htons(FIRST_PORT + (c - connections)),
	};

	c->listener = open_socket(&c->ends[SERVER], SERVER);
	set_number(c->listener, SOL_SOCKET, SO_REUSEADDR, 1);
	if (bind(c->listener, (struct sockaddr *)&any, sizeof(any)) || listen(c->listener, 8))
		give_up("listen: %s", strerror(errno));
}

static void start(struct connection *c)
{
	struct sockaddr_in from = address(0, c->path, 0);
	struct sockaddr_in to = address(1, c->path, FIRST_PORT + (c - connections));
	struct end *end = &c->ends[CLIENT];

	c->started = true;
	end->was_there = true;
	end->fd = open_socket(end, CLIENT);
	if (bind(end->fd, (struct sockaddr *)&from, sizeof(from)))
		give_up("bind: %s", strerror(errno));
	if (!connect(end->fd, (struct sockaddr *)&to, sizeof(to)))
		return;
	if (errno == EINPROGRESS) {
		end->connecting = true;
		return;
	}
	end_failed(end, "connect", errno);
	end_close(end, false);
}

static void accept_one(struct connection *c)
{
	struct end *end = &c->ends[SERVER];
	int fd = accept4(c->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	/* it may have gone before it was taken */
	if (fd < 0)
		return;
	if (end->was_there)
		give_up("connection %zd: a second one came", c - connections + 1);
	end->was_there = true;
	end->fd = fd;
	/* from its listener it has the buffers, but not this */
	if (end->plan.no_delay)
		set_number(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	if (end->plan.low_water)
		set_number(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, end->plan.low_water);
}

static bool pauses(const struct end *end, uint64_t now)
{
	return now >= end->plan.pause_at && now - end->plan.pause_at < end->plan.pause;
}

static uint64_t read_due(const struct end *end, uint64_t now)
{
	uint64_t due = end->next_read > now ? end->next_read : now;

	return pauses(end, due) ? end->plan.pause_at + end->plan.pause : due;
}

static bool writes(const struct end *end)
{
	return !end->did && end->wrote < end->plan.bytes;
}

static void do_write(struct connection *c, struct end *end, uint64_t now)
{
	static unsigned char bytes[CHUNK_MAX];
	unsigned int stream = 2 * (c - connections) + (end - c->ends);
	size_t turn = 0;

	while (writes(end) && end->next_write <= now && turn < TURN_BYTES) {
		uint64_t left = end->plan.bytes - end->wrote;
		size_t len = left < end->plan.write_chunk ? left : end->plan.write_chunk;
		ssize_t done;

		fill(bytes, len, stream, end->wrote);
		done = send(end->fd, bytes, len, MSG_NOSIGNAL);
		if (done < 0) {
			if (errno != EAGAIN)
				end_failed(end, "write", errno);
			return;
		}
		end->wrote += done;
		turn += done;
		end->moved_us = now;
		if (end->plan.write_gap)
			end->next_write = now + end->plan.write_gap;
	}
}

static void do_read(struct connection *c, struct end *end, uint64_t now)
{
	static unsigned char bytes[CHUNK_MAX], expected[CHUNK_MAX];
	unsigned int stream = 2 * (c - connections) + !(end - c->ends);
	size_t turn = 0;

	while (!end->read_end && read_due(end, now) <= now && turn < TURN_BYTES) {
		ssize_t len = recv(end->fd, bytes, end->plan.read_chunk, 0), i;

		if (len < 0) {
			if (errno != EAGAIN)
				end_failed(end, "read", errno);
			return;
		}
		if (!len) {
			end->read_end = true;
			end->seen_us = now;
			return;
		}
		fill(expected, len, stream, end->got);
		for (i = 0; i < len && end->wrong_at < 0; i++)
			if (bytes[i] != expected[i])
				end->wrong_at = end->got + i;
		end->got += len;
		turn += len;
		end->moved_us = now;
		if (end->plan.read_gap)
			end->next_read = now + end->plan.read_gap;
	}
}

static void do_act(struct end *end, uint64_t now)
{
	bool timed = end->plan.act >= ACT_SHUTDOWN_AT;

	if (timed ? now < end->plan.act_at : end->wrote < end->plan.bytes)
		return;
	end->did = act_names[end->plan.act];
	switch (end->plan.act) {
	case ACT_SHUTDOWN:
	case ACT_SHUTDOWN_AT:
		if (shutdown(end->fd, SHUT_WR))
			end_failed(end, "shutdown", errno);
		break;
	case ACT_CLOSE:
	case ACT_CLOSE_AT:
		end_close(end, false);
		break;
	case ACT_ABORT_AT:
		end_close(end, true);
		break;
	}
}

/* A connection request can be given up; what it would write is for later. */
static bool may_act(const struct end *end)
{
	return !end->connecting || end->plan.act == ACT_CLOSE_AT || end->plan.act == ACT_ABORT_AT;
}

/* What has become of the connection request. */
static void end_connect(struct end *end, short events)
{
	int error = 0;
	socklen_t len = sizeof(error);

	if (!(events & (POLLOUT | POLLERR | POLLHUP)))
		return;
	if (getsockopt(end->fd, SOL_SOCKET, SO_ERROR, &error, &len))
		give_up("SO_ERROR: %s", strerror(errno));
	end->connecting = false;
	if (error)
		end_failed(end, "connect", error);
}

static void turn(struct connection *c, struct end *end, short events, uint64_t now)
{
	if (end->plan.kill_at && !end->killed && now >= end->plan.kill_at) {
		end->killed = true;
		kill_subflows(c, end - c->ends);
	}
	if (end->fd < 0)
		return;
	if (end->connecting)
		end_connect(end, events);
	if (end->plan.shrink && !end->shrunk && !end->connecting && now >= end->plan.shrink_at) {
		end->shrunk = true;
		set_number(end->fd, SOL_SOCKET, SO_RCVBUF, end->plan.shrink);
	}
	if (!end->error && !end->connecting && (events & ~POLLIN))
		do_write(c, end, now);
	if (!end->error && !end->connecting && (events & ~POLLOUT))
		do_read(c, end, now);
	if (!end->error && !end->did && may_act(end))
		do_act(end, now);
	if (end->fd >= 0 && (end->error || (end->read_end && end->did)))
		end_close(end, false);
}

static bool is_open(const struct connection *c)
{
	const struct end *client = &c->ends[CLIENT], *server = &c->ends[SERVER];

	if (!c->started || client->fd >= 0 || server->fd >= 0)
		return true;
	/* what the client gave up need not have come to the server */
	return !server->was_there && !client->error && !client->connecting &&
	       client->plan.act != ACT_ABORT_AT;
}

static uint64_t earlier(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

/* When an end wants its turn, without anything that happens to its socket. */
static uint64_t end_due(const struct end *end, uint64_t now)
{
	uint64_t due = NEVER;

	if (end->plan.kill_at && !end->killed)
		due = end->plan.kill_at;
	if (end->fd < 0)
		return due;
	if (!end->did && end->plan.act >= ACT_SHUTDOWN_AT && may_act(end))
		due = earlier(due, end->plan.act_at);
	if (end->connecting)
		return due;
	if (end->plan.shrink && !end->shrunk)
		due = earlier(due, end->plan.shrink_at);
	if (writes(end) && end->next_write > now)
		due = earlier(due, end->next_write);
	if (!end->read_end && read_due(end, now) > now)
		due = earlier(due, read_due(end, now));
	return due;
}

static short end_events(const struct end *end, uint64_t now)
{
	short events = 0;

	if (end->connecting || (writes(end) && end->next_write <= now))
		events |= POLLOUT;
	if (!end->connecting && !end->read_end && read_due(end, now) <= now)
		events |= POLLIN;
	return events;
}

static void play(void)
{
	struct pollfd fds[3 * CONNECTIONS_MAX];
	uint64_t now, due;
	struct timespec wait;
	bool open = true;
	int i, k, n;

	while (open) {
		now = now_us();
		if (now >= until_us)
			return;
		due = until_us;
		n = 0;
		for (i = share; i < count; i += shares) {
			struct connection *c = &connections[i];

			if (!c->started && c->at > now)
				due = earlier(due, c->at);
			else if (!c->started)
				start(c);
			fds[n++] = (struct pollfd) { c->listener, POLLIN, 0 };
			for (k = 0; k < ENDS; k++) {
				struct end *end = &c->ends[k];
				short events = end->fd < 0 ? 0 : end_events(end, now);

				due = earlier(due, end_due(end, now));
				/* with no events, errors would still wake it up */
				fds[n++] = (struct pollfd) { events ? end->fd : -1, events, 0 };
			}
		}
		now = now_us();
		due = due > now ? due - now : 0;
		wait = (struct timespec) { due / 1000000, due % 1000000 * 1000 };
		if (ppoll(fds, n, &wait, NULL) < 0)
			give_up("poll: %s", strerror(errno));
		now = now_us();
		open = false;
		n = 0;
		for (i = share; i < count; i += shares) {
			struct connection *c = &connections[i];

			if (fds[n++].revents)
				accept_one(c);
			for (k = 0; k < ENDS; k++)
				turn(c, &c->ends[k], fds[n++].revents, now);
			open = open || is_open(c);
		}
	}
}

/* WHAT HAPPENED */

static void print_number(const char *name, int64_t value)
{
	printf(",\"%s\":%" PRId64, name, value);
}

static void print_text(const char *name, const char *text)
{
	printf(",\"%s\":\"%s\"", name, text ? text : "");
}

static void print_subflow(const struct tcp_info *tcp, bool first)
{
	printf("%s{\"state\":%u", first ? "" : ",", tcp->tcpi_state);
	print_number("unacked", tcp->tcpi_unacked);
	print_number("notsent", tcp->tcpi_notsent_bytes);
	print_number("rto_us", tcp->tcpi_rto);
	print_number("backoff", tcp->tcpi_backoff);
	print_number("probes", tcp->tcpi_probes);
	print_number("snd_wnd", tcp->tcpi_snd_wnd);
	print_number("cwnd", tcp->tcpi_snd_cwnd);
	print_number("mss", tcp->tcpi_snd_mss);
	printf("}");
}

/* what an end that is still open knows */
static void print_state(const struct end *end)
{
	static struct {
		struct mptcp_subflow_data head;
		struct tcp_info tcp[SUBFLOWS_MAX];
	} subflows;
	struct mptcp_info info = {};
	socklen_t len = sizeof(subflows);
	unsigned int i;
	int queued = -1;

	ioctl(end->fd, SIOCOUTQ_BYTES, &queued);
	printf(",\"state\":{\"queued\":%d", queued);
	if (get_info(end, &info))
		print_number("unacked", info.mptcpi_write_seq - info.mptcpi_snd_una);
	subflows.head = (struct mptcp_subflow_data) {
		.size_subflow_data = sizeof(subflows.head),
		.size_user = sizeof(struct tcp_info),
	};
	printf(",\"tcp\":[");
	if (!getsockopt(end->fd, SOL_MPTCP, MPTCP_TCPINFO, &subflows, &len))
		for (i = 0; i < subflows.head.num_subflows && i < SUBFLOWS_MAX; i++)
			print_subflow(&subflows.tcp[i], !i);
	printf("]}");
}

static void print_end(const char *name, struct end *end)
{
	if (end->fd >= 0)
		look_at(end);
	printf(",\"%s\":{\"there\":%d", name, end->was_there);
	print_number("connected", end->was_there && !end->connecting);
	print_number("wrote", end->wrote);
	print_number("read", end->got);
	print_number("wrong_at", end->wrong_at);
	print_number("read_end", end->read_end);
	print_text("did", end->did);
	print_number("closed", end->closed);
	print_text("error", end->error);
	print_text("error_of", end->error_of);
	print_number("moved_us", end->moved_us);
	print_number("seen_us", end->seen_us);
	print_number("closed_us", end->closed_us);
	print_number("fell_back", end->fell_back);
	if (end->fd >= 0)
		print_state(end);
	printf("}");
}

/* For whoever looks into it: what the tools of the host, if it has them, say of all
 * sockets that are left.
 */
static void show_sockets(void)
{
	static const char * const names[] = { "client", "server" };
	char command[128];
	int end;

	fflush(stdout);
	for (end = 0; end < ENDS; end++) {
		enter(end);
		snprintf(command, sizeof(command), "(echo %s; ss -MOnaie; ss -tOnaie) >&2",
			 names[end]);
		if (system(command))
			fprintf(stderr, "no ss\n");
	}
}

static int open_namespace(const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), NETNS_DIR "/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		give_up("%s: %s", path, strerror(errno));
	return fd;
}

/* Those that have another share; what becomes of them is that of the whole. */
static void end_others(void)
{
	int status;

	while (!share && wait(&status) > 0)
		if (status)
			give_up("a process has ended with status %d", status);
}

int main(int argc, char **argv)
{
	struct timespec t;
	int i;

	if (argc != 3 && argc != 4)
		give_up("the namespaces of client and server are expected");
	for (i = 0; i < ENDS; i++)
		namespaces[i] = open_namespace(argv[1 + i]);
	read_plan();
	clock_gettime(CLOCK_MONOTONIC, &t);
	start_ns = to_ns(&t);
	/* each line as a whole, also between those of other processes */
	setvbuf(stdout, NULL, _IOLBF, LINE_MAX_BYTES);
	if (argc == 4)
		shares = atoi(argv[3]);
	for (i = 1; i < shares && !share; i++)
		share = fork() ? 0 : i;
	for (i = share; i < count; i += shares)
		listen_for(&connections[i]);
	play();
	for (i = share; i < count && !is_open(&connections[i]); i += shares)
		;
	if (i < count)
		show_sockets();
	for (i = share; i < count; i += shares) {
		printf("{\"connection\":%d", i + 1);
		print_end("client", &connections[i].ends[CLIENT]);
		print_end("server", &connections[i].ends[SERVER]);
		printf("}\n");
	}
	end_others();
	return 0;
}
