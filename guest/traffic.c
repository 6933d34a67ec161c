// SPDX-License-Identifier: GPL-2.0-only
/* The traffic: two ends that send messages to each other over connections, and
 * verify what they receive.
 *
 * Every eight bytes of a byte stream are a function of their position, the
 * connection and the seed, so that a byte that is lost, repeated, changed or
 * out of place is seen. Messages that the scheduler may drop begin with their
 * number, which tells the position of what follows. Each end writes up to 128 KiB
 * at a time, and reads what is there, up to as much, as soon as it is, as iperf3
 * does. A system call costs as much as five packets here, so both have the kernel
 * move what is plain (see is_bulk()).
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/mptcp.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"
#include "uapi/bulk.h"
#include "uapi/pattern.h"
#include "uapi/sockopt.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP	262
#endif
#ifndef SOL_MPTCP
#define SOL_MPTCP	284
#endif

#define CHUNK_WORDS	(16 * 1024)
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
/* The same where data is sent at once: for each pair of hosts, some reads of the
 * clock. A program takes as long from connect() to its first send().
 */
#define AT_ONCE_DELAY_NS	5000
#define ESTABLISH_POLL_NS	(NS_PER_SEC / 1000)

/* The first bytes of a connection, before those that are measured: only data
 * makes both ends sure of MPTCP, and lets the server announce its addresses.
 */
struct greeting {
	char magic[4];
	uint32_t connection;
};

static const char magic[4] = "lab:";

/* One direction of a connection. */
struct flow {
	int *numbers;		/* of its messages, in order */
	int count;
	int next;		/* the message under way */
	uint64_t done;		/* bytes of it */
	uint64_t position;	/* in the byte stream, as it was written */
	bool ended;		/* no more bytes will come */
	bool units;		/* its messages are */
	uint64_t lost;		/* bytes of those that were dropped */
	uint32_t number;	/* as far as it came: of the unit that comes in */
};

struct connection {
	const struct traffic *t;	/* of its pair of hosts */
	unsigned int pair;	/* its number, from 0 */
	uint64_t wake;		/* when there is more to do in any case */
	int fd;			/* -1: not open */
	bool connecting;
	bool closed;
	struct flow out, in;
	uint64_t close_ns;	/* when it may be shut down; 0: not known yet */
	uint64_t *chunk;	/* of the stream: what is being sent */
	size_t chunk_bytes, sent;
	short events;		/* to wait for */
};

static struct {
	const struct traffic *t;	/* of each pair of hosts */
	unsigned int pairs;
	bool *stirred;		/* something has happened between the hosts of a pair */
	int report_fd;
	int timer;
	int bulk;
	int *listeners;		/* of the server, one for each pair */
	struct connection *list;
	int count;
	/* of the server: accepted, and not known yet which they are */
	int *strangers;
	int stranger_count;
	uint64_t start_ns;
	uint64_t written, received;
} end;

/* The client tells the server when it starts. */
static int start_pipe[2];

static void tell(enum report_kind kind, uint64_t a, uint64_t b, const char *text)
{
	struct report m = { .kind = kind, .calls = calls, .a = a, .b = b };

	snprintf(m.text, sizeof(m.text), "%s", text);
	if (write(end.report_fd, &m, sizeof(m)) != sizeof(m))
		_exit(1);
}

static void __attribute__((noreturn, format(printf, 1, 2))) fail(const char *format, ...)
{
	char text[sizeof(((struct report *)NULL)->text)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	tell(REPORT_ERROR, 0, 0, text);
	_exit(1);
}

static void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory)
		fail("%s", strerror(ENOMEM));
	return memory;
}

static unsigned int number_of(const struct connection *c)
{
	return c - end.list + 1;
}

/* THE BYTES */

/* What the words of a stream hang on beside their position. */
static uint64_t stream_seed(const struct connection *c, bool down)
{
	return end.t->seed + ((c - end.list) * 2ull + down) * 0x9fb21c651e98df25ull;
}

static void verify_byte(unsigned char byte, uint64_t pos, uint64_t seed)
{
	unsigned char expected = pattern_byte(pos, seed);

	if (byte != expected)
		fail("byte %" PRIu64 " of the stream is %02x instead of %02x", pos, byte,
		     expected);
}

static void verify_bytes(const unsigned char *bytes, uint64_t pos, size_t len, uint64_t seed)
{
	size_t i;

	for (i = 0; i < len; i++)
		verify_byte(bytes[i], pos + i, seed);
}

/* Verifies a piece of a stream that begins at pos and lies in a buffer which is
 * aligned as the stream is: whole words at once, the bytes around them singly.
 */
static void verify(const uint64_t *buffer, uint64_t pos, size_t len, uint64_t seed)
{
	const unsigned char *bytes = (const unsigned char *)buffer;
	size_t begin = pos % 8, limit = begin + len;
	size_t first = (begin + 7) / 8, last = limit / 8, i;
	uint64_t origin = pos / 8, word = pattern_word(origin + first, seed), wrong = 0;

	for (i = first; i < last; i++, word += PATTERN_STEP)
		wrong |= buffer[i] ^ word;
	if (wrong || first >= last) {
		verify_bytes(bytes + begin, pos, len, seed);
		return;
	}
	verify_bytes(bytes + begin, pos, 8 * first - begin, seed);
	verify_bytes(bytes + 8 * last, 8 * (origin + last), limit - 8 * last, seed);
}

/* WHEN */

static const struct traffic_message *message_of(const struct flow *flow)
{
	return &messages.list[flow->numbers[flow->next]];
}

static struct message_record *record_of(const struct flow *flow)
{
	return &messages.records[flow->numbers[flow->next]];
}

static bool all_done(const struct flow *flow)
{
	return flow->next == flow->count;
}

/* When a message of this end may be sent, or, of a connection's first, arrives
 * at the earliest; NEVER: what it waits for has not happened yet. Of what both
 * ends share, each uses only what it knows itself.
 */
static uint64_t due_ns(int number)
{
	const struct traffic_message *message = &messages.list[number], *before;
	const struct message_record *record;
	uint64_t at;

	if (!end.start_ns)
		return NEVER;
	if (message->after < 0)
		return end.start_ns + message->delay_ns;
	before = &messages.list[message->after];
	record = &messages.records[message->after];
	at = before->down == end.t->is_server ? record->written_ns : record->complete_ns;
	if (!at)
		return NEVER;
	return player_due_ns(number, at + message->delay_ns);
}

/* Until when a message without a size is sent; 0: START is not known. */
static uint64_t stop_ns(const struct connection *c)
{
	return end.start_ns ? end.start_ns + c->t->duration_ns : 0;
}

/* CONNECTIONS */

/* At the host of this process that is of the pair; it stays the one it is at. */
static int open_socket(const struct traffic *t)
{
	static const struct traffic *at;
	const int on = 1;
	int fd;

	if (at != t)
		enter_namespace(t->ns);
	at = t;
	fd = socket(AF_INET, SOCK_STREAM, t->tcp ? IPPROTO_TCP : IPPROTO_MPTCP);
	if (fd < 0)
		fail("socket: %s", strerror(errno));
	if (t->no_delay && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
		fail("TCP_NODELAY: %s", strerror(errno));
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

/* What the kernel says of the subflows: which paths have an established one,
 * as a bit mask, and the largest smoothed round-trip time.
 */
static uint64_t established_paths(const struct traffic *t, int fd, uint64_t *srtt_us)
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
		unsigned int path = ((local >> 8) & 0xff) - t->first_path;

		if (state.info[i].tcpi_state != STATE_ESTABLISHED || path >= SUBFLOWS_MAX)
			continue;
		mask |= 1ull << path;
		if (state.info[i].tcpi_rtt > *srtt_us)
			*srtt_us = state.info[i].tcpi_rtt;
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

/* flags: SOCK_NONBLOCK, or 0. */
static void start_connecting(struct connection *c, int flags)
{
	struct sockaddr_in peer = { .sin_family = AF_INET, .sin_port = htons(c->t->port) };

	if (inet_pton(AF_INET, c->t->peer, &peer.sin_addr) != 1)
		fail("%s: not an address", c->t->peer);
	c->fd = open_socket(c->t);
	if (*c->t->scheduler)
		choose_scheduler(c->fd, c->t->scheduler);
	if (flags && fcntl(c->fd, F_SETFL, O_NONBLOCK))
		fail("connection %u: %s", number_of(c), strerror(errno));
	if (!connect(c->fd, (struct sockaddr *)&peer, sizeof(peer)))
		return;
	if (errno != EINPROGRESS)
		fail_to_connect(c, errno);
	c->connecting = true;
}

/* What connect() has not waited for: data may be sent now. */
static void finish_connecting(struct connection *c)
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
	/* which fails if it is none of MPTCP */
	if (c->t->at_once && !c->t->tcp)
		established_paths(c->t, c->fd, &srtt_us);
	send_greeting(c, c->out.count && due_ns(c->out.numbers[0]) <= now_ns() ? MSG_MORE : 0);
}

static void accept_stranger(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);

	if (fd < 0 && errno == EAGAIN)
		return;
	if (fd < 0 || end.stranger_count == end.count)
		fail("accept: %s", fd < 0 ? strerror(errno) : "more connections than expected");
	end.strangers[end.stranger_count++] = fd;
}

/* The greeting says which connection a stranger is. */
static void meet_stranger(int i)
{
	struct greeting greeting;
	struct connection *c;
	int fd = end.strangers[i];
	const int on = 1;

	if (recv(fd, &greeting, sizeof(greeting), 0) != sizeof(greeting) ||
	    memcmp(greeting.magic, magic, sizeof(magic)) || !greeting.connection ||
	    greeting.connection > (unsigned int)end.count)
		fail("a connection does not begin with the greeting");
	c = &end.list[greeting.connection - 1];
	if (c->fd >= 0)
		fail("connection %u came twice", greeting.connection);
	if (c->t->no_delay && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
		fail("TCP_NODELAY: %s", strerror(errno));
	c->fd = fd;
	end.strangers[i] = end.strangers[--end.stranger_count];
}

/* SENDING */

/* As many bytes as the message under way has; NEVER: until the time is over. */
static uint64_t size_of(const struct flow *flow)
{
	const struct traffic_message *message = message_of(flow);

	return message->sizes ? message->sizes[record_of(flow)->choice] : NEVER;
}

/* All that a flow may have to send, or a chunk if that is less. */
static size_t chunk_bytes_of(const struct flow *flow)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < flow->count && sum < CHUNK_BYTES; i++) {
		const struct traffic_message *message = &messages.list[flow->numbers[i]];
		unsigned int k;
		uint64_t most = 0;

		if (!message->sizes)
			return CHUNK_BYTES;
		for (k = 0; k < message->size_count; k++)
			if (message->sizes[k] > most)
				most = message->sizes[k];
		sum += most;
	}
	return sum < CHUNK_BYTES ? (sum + 7) / 8 * 8 : CHUNK_BYTES;
}

/* The chunk that the position of the stream is in. */
static void fill_chunk(struct connection *c)
{
	uint64_t position = c->out.position - c->sent, *to, *limit;
	uint64_t word = pattern_word(position / 8, stream_seed(c, end.t->is_server));

	limit = c->chunk + c->chunk_bytes / 8;
	for (to = c->chunk; to < limit; to++, word += PATTERN_STEP)
		*to = word;
}

static void next_chunk(struct connection *c)
{
	if (!c->chunk) {
		c->chunk_bytes = chunk_bytes_of(&c->out);
		c->chunk = allocate(c->chunk_bytes, 1);
	}
	c->sent = 0;
	fill_chunk(c);
}

/* Tells the scheduler what is written next. */
static void announce(const struct connection *c, uint64_t due)
{
	const struct traffic_message *message = message_of(&c->out);
	const struct mptcp_unit unit = {
		.id = c->out.numbers[c->out.next] + 1,
		.bytes = *message->sizes,
		.depends_on = message->needs,
		.importance = message->importance,
		.deadline_ns = due + message->deadline_ns,
		.expires_ns = due + message->expires_ns,
	};

	calls++;
	/* with too many that wait, it is data as any other */
	if (setsockopt(c->fd, SOL_MPTCP, MPTCP_UNIT, &unit, sizeof(unit)) && errno != ENOBUFS)
		fail("MPTCP_UNIT: %s", strerror(errno));
}

/* What is left of its number, as far as the chunk has room for it. */
static void put_number(struct connection *c)
{
	const struct flow *out = &c->out;
	uint32_t number = out->numbers[out->next] + 1;
	size_t i, at = c->sent;

	for (i = out->done; i < UNIT_HEADER && at < c->chunk_bytes; i++, at++)
		((unsigned char *)c->chunk)[at] = number >> (8 * i);
}

static void begin_message(struct connection *c, uint64_t due, uint64_t now)
{
	struct flow *out = &c->out;
	struct message_record *record = record_of(out);

	record->due_ns = due;
	record->begin_ns = now;
	if (!end.t->is_server)
		player_choose(out->numbers[out->next], due);
	record->bytes = message_of(out)->sizes ? size_of(out) : 0;
	if (out->units)
		announce(c, due);
}

static void finish_message(struct flow *out)
{
	struct message_record *record = record_of(out);

	record->bytes = out->done;
	record->written_ns = now_ns();
	out->done = 0;
	out->next++;
}

/* Sends what is due and has room. Returns when there is more to do without
 * anything that happens before; *blocked: there is no room.
 */
static uint64_t send_messages(struct connection *c, bool *blocked)
{
	struct flow *out = &c->out;

	while (!all_done(out)) {
		bool open_ended = !message_of(out)->sizes;
		uint64_t now, due, left;
		ssize_t n;

		if (!record_of(out)->begin_ns) {
			due = due_ns(out->numbers[out->next]);
			if (due == NEVER)
				return NEVER;
			now = now_ns();
			if (due > now)
				return due;
			begin_message(c, due, now);
		}
		left = size_of(out) - out->done;
		if (!c->chunk || c->sent == c->chunk_bytes)
			next_chunk(c);
		if (left > c->chunk_bytes - c->sent)
			left = c->chunk_bytes - c->sent;
		if (out->units)
			put_number(c);
		calls++;
		n = send(c->fd, (char *)c->chunk + c->sent, left, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n > 0) {
			c->sent += n;
			out->position += n;
			out->done += n;
			if (out->done == size_of(out))
				finish_message(out);
		} else if (n < 0 && errno == EAGAIN) {
			*blocked = true;
			if (!open_ended)
				return NEVER;
			if (now_ns() < stop_ns(c))
				return stop_ns(c);
			finish_message(out);
		} else {
			fail("connection %u, after %" PRIu64 " bytes: %s", number_of(c),
			     out->position, strerror(errno));
		}
	}
	return NEVER;
}

/* RECEIVING */

static void count_received(struct connection *c, uint64_t got, uint64_t now)
{
	struct flow *in = &c->in;

	in->position += got;
	while (got) {
		struct message_record *record;
		uint64_t left;

		if (all_done(in))
			fail("connection %u: %" PRIu64 " bytes more than its messages have",
			     number_of(c), got);
		record = record_of(in);
		if (!in->done)
			record->first_ns = now;
		left = size_of(in) - in->done;
		if (left > got)
			left = got;
		in->done += left;
		got -= left;
		if (in->done == size_of(in)) {
			record->complete_ns = now;
			in->done = 0;
			in->next++;
		}
	}
}

static void lose_unit(struct flow *in)
{
	in->position += size_of(in);
	in->lost += size_of(in);
	in->next++;
}

/* The same for units, of which any may be missing: verifies them, too. */
static void receive_units(struct connection *c, const unsigned char *bytes, uint64_t got,
			  uint64_t now)
{
	uint64_t seed = stream_seed(c, !end.t->is_server), piece;
	struct flow *in = &c->in;

	for (; got; bytes += piece, got -= piece) {
		if (in->done < UNIT_HEADER) {
			piece = 1;
			in->number = in->done ? in->number : 0;
			in->number |= (uint32_t)*bytes << (8 * in->done);
			if (++in->done < UNIT_HEADER)
				continue;
			while (!all_done(in) && in->numbers[in->next] + 1u != in->number)
				lose_unit(in);
			if (all_done(in))
				fail("connection %u: unit %u is none that can come now",
				     number_of(c), in->number);
			in->position += UNIT_HEADER;
			record_of(in)->first_ns = now;
			continue;
		}
		piece = size_of(in) - in->done;
		if (piece > got)
			piece = got;
		verify_bytes(bytes, in->position, piece, seed);
		in->position += piece;
		in->done += piece;
		if (in->done == size_of(in)) {
			record_of(in)->complete_ns = now;
			in->done = 0;
			in->next++;
		}
	}
}

static void receive_end(struct connection *c)
{
	struct flow *in = &c->in;

	in->ended = true;
	while (in->units && !in->done && !all_done(in))
		lose_unit(in);
	if (!all_done(in) && !message_of(in)->sizes) {
		record_of(in)->complete_ns = now_ns();
		in->next++;
	}
	if (!all_done(in))
		fail("connection %u ended after %" PRIu64 " bytes, within message %d",
		     number_of(c), in->position, in->numbers[in->next] + 1);
}

static void receive(struct connection *c)
{
	static uint64_t buffer[CHUNK_WORDS + 1];
	uint64_t position = c->in.position;
	ssize_t got;

	calls++;
	got = recv(c->fd, (char *)buffer + position % 8, CHUNK_BYTES, MSG_DONTWAIT);
	if (got < 0 && errno == EAGAIN)
		return;
	if (got < 0)
		fail("connection %u, after %" PRIu64 " bytes: %s", number_of(c), position,
		     strerror(errno));
	if (!got) {
		receive_end(c);
		return;
	}
	if (c->in.units) {
		receive_units(c, (unsigned char *)buffer + position % 8, got, now_ns());
	} else {
		verify(buffer, position, got, stream_seed(c, !end.t->is_server));
		count_received(c, got, now_ns());
	}
}

/* ENDING */

/* How many of the bytes that were written the scheduler dropped. */
static uint64_t dropped_bytes(const struct connection *c)
{
	struct mptcp_units units;
	socklen_t len = sizeof(units);

	if (!c->out.units)
		return 0;
	calls++;
	if (getsockopt(c->fd, SOL_MPTCP, MPTCP_UNIT, &units, &len))
		fail("MPTCP_UNIT: %s", strerror(errno));
	return units.dropped_bytes;
}

static uint64_t last_complete_ns(const struct flow *flow)
{
	return flow->count ? messages.records[flow->numbers[flow->count - 1]].complete_ns : 0;
}

/* Ends this direction as soon as it may be, and closes when both have ended.
 * The other end of a connection that carries data one way waits for a sample
 * that shows it as it was; if data goes both ways, the client does, before it
 * ends its own. Returns when it has to be looked at again.
 */
static uint64_t end_connection(struct connection *c, uint64_t now)
{
	struct flow *out = &c->out, *in = &c->in;
	/* the other end learns from it that units at the end were dropped */
	bool at_once = out->count && (!in->count || out->units ||
				      !messages.list[out->numbers[out->count - 1]].sizes);

	if (!all_done(out) || !end.start_ns)
		return NEVER;
	if (!out->ended && !at_once) {
		uint64_t complete = last_complete_ns(out);

		if (!in->ended && (end.t->is_server || !out->count || !all_done(in)))
			return NEVER;
		if (!c->close_ns)
			c->close_ns = now + end.t->sample_interval_ns;
		while (c->close_ns <= now && !in->ended &&
		       (!complete || c->close_ns < complete + end.t->sample_interval_ns))
			c->close_ns += end.t->sample_interval_ns;
		if (c->close_ns > now)
			return c->close_ns;
	}
	if (!out->ended && shutdown(c->fd, SHUT_WR))
		fail("connection %u: shutdown: %s", number_of(c), strerror(errno));
	out->ended = true;
	if (in->ended) {
		end.written += out->position - dropped_bytes(c);
		end.received += in->position - in->lost;
		close(c->fd);
		c->fd = -1;
		c->closed = true;
	}
	return NEVER;
}

/* THE TWO ENDS */

/* Each pair of hosts has the connections that are next in number. */
static void sort_connections(void)
{
	unsigned int pair = 0, left = end.t->connections;
	int i;

	end.count = messages.connections;
	end.list = allocate(end.count, sizeof(*end.list));
	end.strangers = allocate(end.count, sizeof(*end.strangers));
	end.stirred = allocate(end.pairs, sizeof(*end.stirred));
	for (i = 0; i < end.count; i++) {
		if (end.t->connections && !left) {
			if (++pair == end.pairs)
				fail("connection %d is between no hosts", i + 1);
			left = end.t[pair].connections;
		}
		end.list[i].t = &end.t[pair];
		end.list[i].pair = pair;
		left--;
	}
}

static void sort_messages(void)
{
	int i;

	for (i = 0; i < messages.count; i++) {
		struct connection *c = &end.list[messages.list[i].connection];

		messages.list[i].down == end.t->is_server ? c->out.count++ : c->in.count++;
	}
	for (i = 0; i < end.count; i++) {
		struct connection *c = &end.list[i];

		c->fd = -1;
		c->out.numbers = allocate(c->out.count, sizeof(int));
		c->in.numbers = allocate(c->in.count, sizeof(int));
		c->out.count = 0;
		c->in.count = 0;
	}
	for (i = 0; i < messages.count; i++) {
		struct connection *c = &end.list[messages.list[i].connection];
		struct flow *flow = messages.list[i].down == end.t->is_server ? &c->out : &c->in;

		flow->numbers[flow->count++] = i;
		flow->units = messages.list[i].is_unit;
	}
}

/* The first message of a connection, whichever way it goes. */
static int first_message(const struct connection *c)
{
	if (!c->in.count || (c->out.count && c->out.numbers[0] < c->in.numbers[0]))
		return c->out.numbers[0];
	return c->in.numbers[0];
}

static int listen_at(const struct traffic *t)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(t->port) };
	int fd = open_socket(t);
	const int on = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, (struct sockaddr *)&any, sizeof(any)) ||
	    listen(fd, end.count) || fcntl(fd, F_SETFL, O_NONBLOCK))
		fail("port %u: %s", t->port, strerror(errno));
	return fd;
}

static void listen_for_clients(void)
{
	unsigned int i;

	end.listeners = allocate(end.pairs, sizeof(*end.listeners));
	for (i = 0; i < end.pairs; i++)
		end.listeners[i] = listen_at(&end.t[i]);
	tell(REPORT_LISTENING, 0, 0, "");
}

/* When all messages without a size are over; 0: there are others. */
static uint64_t last_stop_ns(void)
{
	uint64_t last = 0;
	unsigned int i;

	for (i = 0; i < end.pairs; i++) {
		if (!end.t[i].duration_ns)
			return 0;
		if (end.t[i].duration_ns > last)
			last = end.t[i].duration_ns;
	}
	return end.start_ns + last;
}

/* One that has all its subflows before START. */
static void establish(struct connection *c)
{
	start_connecting(c, 0);
	send_greeting(c, 0);
	if (!c->t->tcp)
		wait_for_subflows(c->t, c->fd);
	if (*c->t->scheduler &&
	    (!setsockopt(c->fd, SOL_MPTCP, MPTCP_SCHEDULER, "default", 7) || errno != EISCONN))
		fail("the scheduler of a connection that is made could be changed");
}

/* Opens at the same time all that send at once. Returns when the first one is
 * connected, or has failed; false: there is none.
 */
static bool open_at_once(void)
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

static void connect_to_server(void)
{
	int i;

	sleep_until_set_up();
	tell(REPORT_CONNECTING, 0, 0, "");
	for (i = 0; i < end.count; i++)
		if (!end.list[i].t->fresh && !end.list[i].t->at_once)
			establish(&end.list[i]);
	if (open_at_once())
		end.start_ns = now_ns() + end.pairs * AT_ONCE_DELAY_NS;
	else
		end.start_ns = now_ns() + START_DELAY_NS + phase_ns(end.t->seed);
	if (write(start_pipe[1], &end.start_ns, sizeof(end.start_ns)) != sizeof(end.start_ns))
		fail("start: %s", strerror(errno));
	tell(REPORT_START, end.start_ns, last_stop_ns(), "");
	sleep_until(end.start_ns);
}

static void hear_start(void)
{
	if (read(start_pipe[0], &end.start_ns, sizeof(end.start_ns)) != sizeof(end.start_ns))
		fail("start: %s", strerror(errno));
}

/* Does what can be done of a connection now. Returns when there is more to do
 * in any case, and in *events what else it waits for.
 */
static uint64_t work(struct connection *c, short *events)
{
	bool blocked = false;
	uint64_t wake, due;

	if (c->closed)
		return NEVER;
	if (c->fd < 0 && !end.t->is_server) {
		due = due_ns(first_message(c));
		if (due == NEVER || due > now_ns())
			return due;
		start_connecting(c, SOCK_NONBLOCK);
		if (!c->connecting)
			finish_connecting(c);
	}
	if (c->fd < 0)
		return NEVER;
	if (c->connecting) {
		*events = POLLOUT;
		return NEVER;
	}
	wake = send_messages(c, &blocked);
	due = all_done(&c->out) ? end_connection(c, now_ns()) : NEVER;
	*events = (c->in.ended ? 0 : POLLIN) | (blocked && !all_done(&c->out) ? POLLOUT : 0);
	return wake < due ? wake : due;
}

/* How often work() reads the clock for a connection while nothing happens to it;
 * -1: it does more.
 */
static int idle_clock_reads(const struct connection *c)
{
	if (c->closed || c->connecting || (c->fd < 0 && end.t->is_server))
		return 0;
	if (c->fd < 0)
		return due_ns(first_message(c)) != NEVER;
	if (all_done(&c->out))
		return 1;
	if (record_of(&c->out)->begin_ns)
		return -1;
	return due_ns(c->out.numbers[c->out.next]) != NEVER;
}

/* The same for all between the same hosts, which are worked on together. */
static int idle_clock_reads_of_pair(unsigned int pair)
{
	int i, all = 0;

	for (i = 0; i < end.count; i++) {
		int reads = end.list[i].pair == pair ? idle_clock_reads(&end.list[i]) : 0;

		if (reads < 0)
			return -1;
		all += reads;
	}
	return all;
}

/* What the kernel may do by itself while a connection waits: to send more of a
 * message that is under way, if there is no other connection, or to receive it.
 * It leaves a message's last chunk to us, and all at which we would do anything
 * else.
 */
static bool sends_bulk(const struct connection *c, struct bulk_flow *bulk)
{
	const struct flow *out = &c->out;
	bool open_ended;

	if (!(c->events & POLLOUT) || c->connecting || out->units || end.count > 1)
		return false;
	open_ended = !message_of(out)->sizes;
	*bulk = (struct bulk_flow) {
		.sends = true,
		.seed = stream_seed(c, end.t->is_server),
		/* the kernel looks at a clock that may be a tick late */
		.until_ns = open_ended ? stop_ns(c) - NS_PER_SEC / 100 : NEVER,
		.clock_reads = open_ended,
		.chunk_bytes = c->chunk_bytes,
		.position = out->position,
		.left = size_of(out) - out->done,
		.sent = c->sent,
	};
	return true;
}

/* also_sends: so does the kernel, then, and reads the clock for that */
static bool receives_bulk(const struct connection *c, struct bulk_flow *bulk, bool also_sends)
{
	const struct flow *in = &c->in;
	int clock_reads = 0;

	if (!(c->events & POLLIN) || in->units || !in->done)
		return false;
	if (!also_sends) {
		if (c->wake != NEVER)
			return false;
		clock_reads = idle_clock_reads_of_pair(c->pair);
		if (clock_reads < 0)
			return false;
	}
	*bulk = (struct bulk_flow) {
		.seed = stream_seed(c, !end.t->is_server),
		.until_ns = NEVER,
		.clock_reads = clock_reads,
		.chunk_bytes = CHUNK_BYTES,
		.position = in->position,
		.left = size_of(in) - in->done,
	};
	return true;
}

/* What may be moved of a connection: no, one or two flows. */
static unsigned int bulk_of(const struct connection *c, struct bulk_flow *bulk)
{
	struct bulk_flow sending;
	bool sends = sends_bulk(c, &sending), receives = receives_bulk(c, bulk, sends);

	if (sends)
		bulk[receives] = sending;
	return sends + receives;
}

/* What the kernel has moved of a connection. */
static void take_over(struct connection *c, const struct bulk_flow *bulk)
{
	struct flow *flow = bulk->sends ? &c->out : &c->in;
	uint64_t moved = bulk->position - flow->position;

	flow->position += moved;
	flow->done += moved;
	if (bulk->sends && moved) {
		c->sent = bulk->sent;
		fill_chunk(c);
	}
}

/* Waits as poll() does, and has the kernel move what it may meanwhile; the
 * connections are the last of fds. false: there is nothing that it may move.
 */
static bool wait_in_bulk(struct pollfd *fds, int count)
{
	static struct bulk_flow flows[BULK_FLOWS_MAX];
	struct pollfd *own = fds + count - end.count;
	struct bulk_wait wait = {
		.fds = (uintptr_t)fds, .count = count, .flows = (uintptr_t)flows,
	};
	unsigned int i;
	int number, error;

	for (number = 0; number < end.count; number++) {
		unsigned int more;

		if (wait.flow_count + 2 > BULK_FLOWS_MAX)
			break;
		more = bulk_of(&end.list[number], &flows[wait.flow_count]);
		for (; more; more--, wait.flow_count++) {
			flows[wait.flow_count].own = own + number - fds;
			/* to leave the end of the connection to us */
			if (!flows[wait.flow_count].sends)
				own[number].events |= POLLRDHUP;
		}
	}
	if (!wait.flow_count)
		return false;
	error = ioctl(end.bulk, BULK_WAIT, &wait) < 0 ? errno : 0;
	for (i = 0; i < wait.flow_count; i++)
		take_over(&end.list[fds + flows[i].own - own], &flows[i]);
	if (error == EBADMSG)
		verify_byte(wait.found, wait.wrong, flows[wait.flow].seed);
	if (error)
		fail("moving bulk data: %s", strerror(error));
	return true;
}

/* Waits for what one of fds waits for, or until some time. A timeout of poll()
 * may be late by a thousandth of it, a timer is not; fds[0] is for that.
 */
static void wait_for(struct pollfd *fds, int count, uint64_t wake)
{
	/* not 0, which would be no time at all */
	const struct itimerspec at = { .it_value = to_timespec(wake ? wake : 1) };

	fds[0] = (struct pollfd) { wake == NEVER ? -1 : end.timer, POLLIN, 0 };
	calls += 2;
	if (wake != NEVER && timerfd_settime(end.timer, TFD_TIMER_ABSTIME, &at, NULL))
		fail("timerfd: %s", strerror(errno));
	if ((end.bulk < 0 || !wait_in_bulk(fds, count)) && poll(fds, count, -1) < 0)
		fail("poll: %s", strerror(errno));
}

/* What may be heard beside the connections: START and strangers at the server. */
static int expect_strangers(struct pollfd *fds)
{
	unsigned int pair;
	int i, count = 0;

	if (!end.t->is_server)
		return 0;
	if (!end.start_ns)
		fds[count++] = (struct pollfd) { start_pipe[0], POLLIN, 0 };
	for (pair = 0; pair < end.pairs; pair++)
		fds[count++] = (struct pollfd) { end.listeners[pair], POLLIN, 0 };
	for (i = 0; i < end.stranger_count; i++)
		fds[count++] = (struct pollfd) { end.strangers[i], POLLIN, 0 };
	return count;
}

/* Returns whether there was any. */
static bool hear_strangers(const struct pollfd *fds)
{
	const struct pollfd *listeners = fds + !end.start_ns, *strangers = listeners + end.pairs;
	bool heard = false;
	unsigned int pair;
	int i;

	if (!end.t->is_server)
		return false;
	if (listeners > fds && fds[0].revents) {
		hear_start();
		heard = true;
	}
	/* backwards: one that is met leaves its place to the last one */
	for (i = end.stranger_count - 1; i >= 0; i--) {
		if (!strangers[i].revents)
			continue;
		meet_stranger(i);
		heard = true;
	}
	for (pair = 0; pair < end.pairs; pair++)
		if (listeners[pair].revents)
			accept_stranger(listeners[pair].fd);
	return heard;
}

/* Looks at the connections of all pairs of hosts where something has happened:
 * messages may wait for those of other connections between the same hosts, and
 * for no others. Returns when to look again in any case.
 */
static uint64_t work_on_all(int *closed)
{
	uint64_t wake = NEVER;
	int i;

	*closed = 0;
	for (i = 0; i < end.count; i++) {
		struct connection *c = &end.list[i];

		if (end.stirred[c->pair]) {
			c->events = 0;
			c->wake = work(c, &c->events);
		}
		if (c->wake < wake)
			wake = c->wake;
		*closed += c->closed;
	}
	return wake;
}

static void stir(bool all)
{
	memset(end.stirred, all, end.pairs * sizeof(*end.stirred));
}

static void play_messages(void)
{
	struct pollfd *fds = allocate(2 * end.count + end.pairs + 2, sizeof(*fds));

	stir(true);
	for (;;) {
		struct pollfd *own;
		int i, others, closed;
		uint64_t wake = work_on_all(&closed);

		if (closed == end.count)
			break;
		others = expect_strangers(fds + 1);
		own = fds + 1 + others;
		for (i = 0; i < end.count; i++)
			own[i] = (struct pollfd) { end.list[i].events ? end.list[i].fd : -1,
						   end.list[i].events, 0 };
		wait_for(fds, 1 + others + end.count, wake);
		stir(end.pairs == 1);
		for (i = 0; i < end.count; i++) {
			struct connection *c = &end.list[i];

			if (own[i].revents || (fds[0].revents && c->wake <= wake))
				end.stirred[c->pair] = true;
			if (!own[i].revents)
				continue;
			if (c->connecting)
				finish_connecting(c);
			else if (own[i].revents & ~POLLOUT)
				receive(c);
		}
		if (hear_strangers(fds + 1))
			stir(true);
	}
	free(fds);
}

void traffic_prepare(void)
{
	messages_share();
	if (pipe2(start_pipe, O_CLOEXEC))
		give_up("pipe: %s", strerror(errno));
}

void traffic_run(const struct traffic *t, unsigned int pairs, int report_fd)
{
	end.t = t;
	end.pairs = pairs;
	end.report_fd = report_fd;
	player_prepare(t);
	sort_connections();
	sort_messages();
	end.timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	if (end.timer < 0)
		fail("timerfd: %s", strerror(errno));
	end.bulk = open("/proc/mptcplab_bulk", O_RDWR | O_CLOEXEC);
	if (end.bulk < 0 && !stock_kernel())
		fail("bulk: %s", strerror(errno));
	if (t->is_server)
		listen_for_clients();
	else
		connect_to_server();
	play_messages();
	tell(REPORT_DONE, end.written, end.received, "");
	_exit(0);
}
