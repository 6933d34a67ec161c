// SPDX-License-Identifier: GPL-2.0-only
/* Receives the messages of one end of the traffic, and verifies them. */

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>

#include "base.h"
#include "end.h"
#include "messages.h"
#include "pattern.h"
#include "receive.h"
#include "report.h"

void count_received(struct connection *c, uint64_t got, uint64_t now)
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

/* The same for units, any of which may be missing. Verifies them, too. */
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
		pattern_verify_bytes(bytes, in->position, piece, seed);
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

/* Is a packet a message, by its number, that the other end sends on a connection? */
static bool is_sent(const struct connection *c, uint32_t number, uint64_t bytes)
{
	const struct traffic_message *message = &messages.list[number ? number - 1 : 0];

	return number && number <= (uint32_t)messages.count &&
	       message->connection + 1 == number_of(c) && message->down != end.t->is_server &&
	       *message->sizes == bytes;
}

/* Packets come in any order, some twice, others never. */
static void receive_packets(struct connection *c)
{
	static unsigned char packet[CHUNK_BYTES];
	ssize_t got;

	for (;;) {
		struct message_record *record;
		uint32_t number = 0;

		calls++;
		got = recv(c->fd, packet, sizeof(packet), MSG_DONTWAIT);
		if (got < 0)
			return;
		memcpy(&number, packet, UNIT_HEADER);
		if (!is_sent(c, number, got))
			fail("connection %u: a packet of %zd bytes that nobody sent", number_of(c),
			     got);
		pattern_verify_bytes(packet + UNIT_HEADER, PACKET_POSITION(number) + UNIT_HEADER,
				     got - UNIT_HEADER, stream_seed(c, !end.t->is_server));
		record = &messages.records[number - 1];
		if (!record->complete_ns) {
			record->first_ns = now_ns();
			record->complete_ns = record->first_ns;
		}
	}
}

void receive(struct connection *c)
{
	static uint64_t buffer[CHUNK_WORDS + 1];
	uint64_t position = c->in.position;
	ssize_t got;

	if (c->t->udp) {
		receive_packets(c);
		return;
	}
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
		pattern_verify(buffer, position, got, stream_seed(c, !end.t->is_server));
		count_received(c, got, now_ns());
	}
}
