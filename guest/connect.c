// SPDX-License-Identifier: GPL-2.0-only
/* Makes the connections of one end of the traffic. */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "address.h"
#include "base.h"
#include "connect.h"
#include "end.h"
#include "mptcp.h"
#include "report.h"
#include "subflows.h"

/* Simulated time for all subflows to come up: lost SYNs are repeated after 1,
 * 3, 7, 15 and 31 s.
 */
#define ESTABLISH_NS	(60 * NS_PER_SEC)
#define ESTABLISH_POLL_NS	(NS_PER_SEC / 1000)

/* The first bytes of a connection, before those that are measured. They say which one it is;
 * and only data confirms MPTCP to both ends, and lets the server announce its addresses.
 */
struct greeting {
	char magic[4];
	uint32_t connection;
};

_Static_assert(sizeof(struct greeting) == GREETING_BYTES, "");

static const char magic[4] = "lab:";

static void set_options(int fd, const struct traffic *t)
{
	const int on = 1, lowat = t->not_sent_lowat;

	if (t->no_delay && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
		fail("TCP_NODELAY: %s", strerror(errno));
	if (lowat && setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &lowat, sizeof(lowat)))
		fail("TCP_NOTSENT_LOWAT: %s", strerror(errno));
}

/* In the namespace of this end's host of a pair, in which the process then stays. */
static int open_socket(const struct traffic *t)
{
	static const struct traffic *at;
	int fd;

	if (at != t)
		enter_namespace(t->ns);
	at = t;
	if (t->udp)
		fd = socket(t->ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);
	else
		fd = socket(t->ipv6 ? AF_INET6 : AF_INET, SOCK_STREAM,
			    t->tcp || v0_kernel() ? IPPROTO_TCP : IPPROTO_MPTCP);
	if (fd < 0)
		fail("socket: %s", strerror(errno));
	set_options(fd, t);
	return fd;
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

/* A bit mask of the paths that have an established subflow, and the largest smoothed
 * round-trip time of these. Plain TCP, where it is allowed, has all that it will have.
 */
static uint64_t established_paths(const struct traffic *t, int fd, uint64_t *srtt_us)
{
	struct subflows found;
	uint64_t mask = 0;
	unsigned int i;

	*srtt_us = 0;
	if (!subflows_ask(fd, &found)) {
		if (errno == EOPNOTSUPP && t->may_fall_back)
			return (1ull << t->paths) - 1;
		if (errno == EOPNOTSUPP)
			fail("the connection fell back to plain TCP: %s, %s; %s",
			     "its first two SYNs had no answer within 3 s",
			     "and Linux sends the third without MPTCP",
			     "put a path with a shorter round trip, or less loss, first");
		fail("the subflows of a connection: %s", strerror(errno));
	}
	for (i = 0; i < found.count; i++) {
		const struct tcp_info *info = &found.state.info[i];
		/* path p has the client's address 10.0.p.1, or one of IPv6 that ends so */
		uint32_t local = ntohl(socket_address_last(&found.where.addrs[i].sa_local));
		unsigned int path = ((local >> 8) & 0xff) - t->first_path;

		if (info->tcpi_state != STATE_ESTABLISHED || path >= SUBFLOWS_MAX)
			continue;
		mask |= 1ull << path;
		if (info->tcpi_rtt > *srtt_us)
			*srtt_us = info->tcpi_rtt;
	}
	return mask;
}

/* Returns when there is one subflow per path, and data may be sent on each. */
static void wait_for_subflows(const struct traffic *t, int fd)
{
	uint64_t wanted = (1ull << t->paths) - 1, have, srtt_us, at = now_ns();
	uint64_t limit = at + ESTABLISH_NS;

	while ((have = established_paths(t, fd, &srtt_us)) != wanted) {
		if (at > limit) {
			tell(REPORT_MISSING, wanted & ~have, t->first_path,
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

/* flags: MSG_MORE if a message follows at once */
static void send_greeting(struct connection *c, int flags)
{
	struct greeting greeting = { .connection = number_of(c) };

	memcpy(greeting.magic, magic, sizeof(magic));
	if (send(c->fd, &greeting, sizeof(greeting), MSG_NOSIGNAL | flags) != sizeof(greeting))
		fail("greeting of connection %u: %s", number_of(c), strerror(errno));
}

static void __attribute__((noreturn)) fail_to_connect(const struct connection *c, int error)
{
	tell(REPORT_MISSING, 1, c->t->first_path, strerror(error));
	_exit(1);
}

static socklen_t peer_of(const struct traffic *t, union socket_address *peer)
{
	struct address address;

	if (!address_parse(&address, t->peer))
		fail("%s: not an address", t->peer);
	if (t->ipv6)
		address_map(&address);
	return socket_address_set(peer, &address, t->port);
}

void start_connecting(struct connection *c, int flags)
{
	union socket_address peer;
	socklen_t len = peer_of(c->t, &peer);

	c->fd = open_socket(c->t);
	if (*c->t->scheduler)
		choose_scheduler(c->fd, c->t->scheduler);
	if (flags && fcntl(c->fd, F_SETFL, O_NONBLOCK))
		fail("connection %u: %s", number_of(c), strerror(errno));
	if (!connect(c->fd, &peer.any, len))
		return;
	if (errno != EINPROGRESS)
		fail_to_connect(c, errno);
	c->connecting = true;
}

void finish_connecting(struct connection *c)
{
	socklen_t len = sizeof(int);
	uint64_t srtt_us;
	int error;

	if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len))
		error = errno;
	if (error && c->t->at_once)
		fail_to_connect(c, error);
	if (error)
		fail("connection %u: %s", number_of(c), strerror(error));
	c->connecting = false;
	/* gives up if it has fallen back to TCP */
	if (c->t->at_once && !c->t->tcp)
		established_paths(c->t, c->fd, &srtt_us);
	send_greeting(c, c->out.count && due_ns(c->out.numbers[0]) <= now_ns() ? MSG_MORE : 0);
}

static void bind_port(int fd, const struct traffic *t)
{
	struct address nowhere = { .family = AF_INET, .len = sizeof(struct in_addr) };
	union socket_address any;
	const int on = 1;
	socklen_t len;

	/* with IPv6, of both */
	if (t->ipv6)
		nowhere = (struct address) { AF_INET6, sizeof(struct in6_addr), {} };
	len = socket_address_set(&any, &nowhere, t->port);
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) || bind(fd, &any.any, len))
		fail("port %u: %s", t->port, strerror(errno));
}

/* A flow of UDP has no handshake: each end knows the address of the other. */
static void open_flow(struct connection *c)
{
	union socket_address peer;
	socklen_t len = peer_of(c->t, &peer);

	c->fd = open_socket(c->t);
	bind_port(c->fd, c->t);
	if (connect(c->fd, &peer.any, len))
		fail("%s: %s", c->t->peer, strerror(errno));
}

void establish(struct connection *c)
{
	if (c->t->udp) {
		open_flow(c);
		return;
	}
	start_connecting(c, 0);
	send_greeting(c, 0);
	if (!c->t->tcp)
		wait_for_subflows(c->t, c->fd);
	if (*c->t->scheduler &&
	    (!setsockopt(c->fd, SOL_MPTCP, MPTCP_SCHEDULER, "default", 7) || errno != EISCONN))
		fail("the scheduler of a connection that is made could be changed");
}

bool open_at_once(void)
{
	struct pollfd *fds = allocate(end.count, sizeof(*fds));
	int i, count = 0;

	for (i = 0; i < end.count; i++) {
		struct connection *c = &end.list[i];

		if (!c->t->at_once)
			continue;
		if (!count)
			sleep_until(now_ns() + phase_ns(end.t->seed));
		start_connecting(c, SOCK_NONBLOCK);
		fds[count++] = (struct pollfd) { c->fd, POLLOUT, 0 };
	}
	if (count && poll(fds, count, -1) < 0)
		fail("poll: %s", strerror(errno));
	free(fds);
	return count;
}

/* THE SERVER'S END */

static int listen_at(const struct traffic *t)
{
	int fd = open_socket(t);

	bind_port(fd, t);
	if (listen(fd, end.count) || fcntl(fd, F_SETFL, O_NONBLOCK))
		fail("port %u: %s", t->port, strerror(errno));
	return fd;
}

void listen_for_clients(void)
{
	unsigned int pair;
	int i;

	end.listeners = allocate(end.pairs, sizeof(*end.listeners));
	for (pair = 0; pair < end.pairs; pair++)
		end.listeners[pair] = end.t[pair].udp ? -1 : listen_at(&end.t[pair]);
	for (i = 0; i < end.count; i++)
		if (end.list[i].t->udp)
			open_flow(&end.list[i]);
	tell(REPORT_LISTENING, 0, 0, "");
}

void accept_stranger(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);

	if (fd < 0 && errno == EAGAIN)
		return;
	if (fd < 0 || end.stranger_count == end.count)
		fail("accept: %s", fd < 0 ? strerror(errno) : "more connections than expected");
	end.strangers[end.stranger_count++] = (struct stranger) { .fd = fd };
}

/* A scheduler may send the greeting in parts. */
void meet_stranger(int i)
{
	struct stranger *s = &end.strangers[i];
	struct greeting greeting;
	struct connection *c;
	ssize_t bytes;
	int fd = s->fd;

	bytes = recv(fd, s->greeting + s->got, sizeof(greeting) - s->got, 0);
	if (bytes > 0)
		s->got += bytes;
	if (bytes > 0 && s->got < sizeof(greeting))
		return;
	memcpy(&greeting, s->greeting, sizeof(greeting));
	if (bytes <= 0 || memcmp(greeting.magic, magic, sizeof(magic)) || !greeting.connection ||
	    greeting.connection > (unsigned int)end.count)
		fail("a connection does not begin with the greeting");
	c = &end.list[greeting.connection - 1];
	if (c->fd >= 0)
		fail("connection %u came twice", greeting.connection);
	set_options(fd, c->t);
	c->fd = fd;
	end.strangers[i] = end.strangers[--end.stranger_count];
}
