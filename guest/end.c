// SPDX-License-Identifier: GPL-2.0-only
/* One end of the traffic: its connections and their messages. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "end.h"
#include "guest.h"
#include "messages.h"
#include "player.h"
#include "report.h"
#include "uapi/pattern.h"

struct end end;

void *allocate(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory)
		fail("%s", strerror(ENOMEM));
	return memory;
}

unsigned int number_of(const struct connection *c)
{
	return c - end.list + 1;
}

uint64_t stream_seed(const struct connection *c, bool down)
{
	return pattern_seed(end.t->seed, c - end.list, down);
}

const struct traffic_message *message_of(const struct flow *flow)
{
	return &messages.list[flow->numbers[flow->next]];
}

struct message_record *record_of(const struct flow *flow)
{
	return &messages.records[flow->numbers[flow->next]];
}

bool all_done(const struct flow *flow)
{
	return flow->next == flow->count;
}

uint64_t size_of(const struct flow *flow)
{
	const struct traffic_message *message = message_of(flow);

	return message->sizes ? message->sizes[record_of(flow)->choice] : NEVER;
}

int first_message(const struct connection *c)
{
	if (!c->in.count || (c->out.count && c->out.numbers[0] < c->in.numbers[0]))
		return c->out.numbers[0];
	return c->in.numbers[0];
}

/* The records are shared by both ends, but each uses only what it has seen itself. */
uint64_t due_ns(int number)
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

uint64_t stop_ns(const struct connection *c)
{
	return end.start_ns ? end.start_ns + c->t->duration_ns : 0;
}

void sort_connections(void)
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

void sort_messages(void)
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
