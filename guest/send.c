// SPDX-License-Identifier: GPL-2.0-only
/* Sends the messages of one end of the traffic, and ends its connections. */

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base.h"
#include "end.h"
#include "messages.h"
#include "mptcp.h"
#include "pattern.h"
#include "player.h"
#include "report.h"
#include "send.h"

/* CHUNK_BYTES, or less if all messages of a flow are smaller. */
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

void fill_chunk(struct connection *c)
{
	pattern_fill(c->chunk, c->chunk_bytes / 8, c->out.position - c->sent,
		     stream_seed(c, end.t->is_server));
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

/* Announces the unit that is written next. */
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
	/* if too many wait, it is sent as ordinary data */
	if (setsockopt(c->fd, SOL_MPTCP, MPTCP_UNIT, &unit, sizeof(unit)) && errno != ENOBUFS)
		fail("MPTCP_UNIT: %s", strerror(errno));
}

/* Puts the rest of the unit's number into the chunk, as far as it has room. */
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

/* The message is a packet. If there is no room for it, or no route, it is lost like others. */
static void send_packet(struct connection *c)
{
	static uint64_t packet[CHUNK_WORDS];
	struct flow *out = &c->out;
	uint32_t number = out->numbers[out->next] + 1;

	out->done = size_of(out);
	pattern_fill(packet, out->done / 8 + 1, PACKET_POSITION(number),
		     stream_seed(c, end.t->is_server));
	memcpy(packet, &number, UNIT_HEADER);
	calls++;
	send(c->fd, packet, out->done, MSG_DONTWAIT);
	finish_message(out);
}

uint64_t send_messages(struct connection *c, bool *blocked)
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
		if (c->t->udp) {
			send_packet(c);
			continue;
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

/* The bytes that were written and that the scheduler has dropped. */
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

/* A packet that has not come so long after the last one was sent is lost. */
#define PACKET_WAIT_NS	(10 * NS_PER_SEC)

static uint64_t end_flow(struct connection *c, uint64_t now)
{
	uint64_t at = stop_ns(c) + PACKET_WAIT_NS;

	if (now < at)
		return at;
	close(c->fd);
	c->fd = -1;
	c->closed = true;
	return NEVER;
}

/* If data goes one way, the end that receives waits for one more sample, so that it shows the
 * connection before its end; if data goes both ways, the client does, before it ends its own.
 */
uint64_t end_connection(struct connection *c, uint64_t now)
{
	struct flow *out = &c->out, *in = &c->in;
	/* the end of the stream tells the other end that the last units were dropped */
	bool at_once = out->count && (!in->count || out->units ||
				      !messages.list[out->numbers[out->count - 1]].sizes);

	if (!all_done(out) || !end.start_ns)
		return NEVER;
	if (c->t->udp)
		return end_flow(c, now);
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
