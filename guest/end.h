/* SPDX-License-Identifier: GPL-2.0-only */
/* One end of the traffic: its connections and their messages. */
#ifndef END_H
#define END_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "messages.h"
#include "settings.h"

/* what is sent, or received, at once */
#define CHUNK_WORDS	(16 * 1024)
#define CHUNK_BYTES	(8 * CHUNK_WORDS)

/* One direction of a connection. */
struct flow {
	int *numbers;		/* of its messages, in order */
	int count;
	int next;		/* the message under way */
	uint64_t done;		/* bytes of it */
	uint64_t position;	/* in the byte stream, as it was written */
	bool ended;		/* no more bytes will come */
	bool units;		/* its messages are units */
	uint64_t lost;		/* bytes of units that were dropped */
	uint32_t number;	/* of the unit that comes in, as far as it has come */
};

struct connection {
	const struct traffic *t;	/* of its pair of hosts */
	unsigned int pair;	/* its number, from 0 */
	uint64_t wake;		/* when there is more to do, whatever happens */
	int fd;			/* -1: not open */
	bool connecting;
	bool closed;
	struct flow out, in;
	uint64_t close_ns;	/* when it may be shut down; 0: not known yet */
	uint64_t *chunk;	/* of the stream: what is being sent */
	size_t chunk_bytes, sent;
	short events;		/* to wait for */
};

/* what a connection begins with, before the bytes that are measured: connect.c */
#define GREETING_BYTES	8

extern struct end {
	const struct traffic *t;	/* of each pair of hosts */
	unsigned int pairs;
	bool *stirred;		/* something has happened between the hosts of a pair */
	int *listeners;		/* of the server, one for each pair */
	struct connection *list;
	int count;
	/* of the server: accepted connections whose greeting has not come yet, or not all of it */
	struct stranger {
		int fd;
		unsigned int got;
		char greeting[GREETING_BYTES];
	} *strangers;
	int stranger_count;
	uint64_t start_ns;
	uint64_t written, received;
} end;

/* before it connects: each pair of hosts has the connections that are next in number */
void sort_connections(void);
void sort_messages(void);

/* zeroed memory; gives up if there is none */
void *allocate(size_t count, size_t size);
/* from 1 */
unsigned int number_of(const struct connection *c);
/* of the pattern of its bytes, in one direction */
uint64_t stream_seed(const struct connection *c, bool down);

/* the message under way */
const struct traffic_message *message_of(const struct flow *flow);
struct message_record *record_of(const struct flow *flow);
bool all_done(const struct flow *flow);
/* the bytes that it has; NEVER: it is sent until stop_ns() */
uint64_t size_of(const struct flow *flow);
/* the first message of a connection, in either direction */
int first_message(const struct connection *c);

/* When a message of this end may be sent; or when the first one of a connection can arrive at
 * the earliest. NEVER: what it waits for has not happened yet.
 */
uint64_t due_ns(int number);
/* until when a message without a size is sent; 0: START is not known */
uint64_t stop_ns(const struct connection *c);

#endif
