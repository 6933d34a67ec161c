/* SPDX-License-Identifier: GPL-2.0-only */
/* The messages that the traffic is made of, and what happened to them. */
#ifndef MESSAGES_H
#define MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "words.h"

/* What one end sends to the other, by itself or after another message. */
struct traffic_message {
	unsigned int connection;	/* from 0 */
	bool down;		/* from the server to the client */
	const uint64_t *sizes;	/* one of these; NULL: as much as can be sent in time */
	unsigned int size_count;
	int after;		/* its number, from 0; -1: START */
	uint64_t delay_ns;	/* after that */
	bool awaited;		/* another one is after it */
	/* announced to the scheduler, which may drop it; times are after it is due */
	bool is_unit;
	uint32_t needs;		/* the number of another one, from 1; 0: none */
	uint32_t importance;
	uint64_t deadline_ns;
	uint64_t expires_ns;
};

/* A unit begins with its number, from 1, so that the receiver knows what was
 * dropped.
 */
#define UNIT_HEADER	4

/* A packet of UDP does, too. Its bytes follow from its number alone: others may be lost. */
#define PACKET_POSITION(number)	((uint64_t)(number) << 16)

/* What happened to it, see docs/records.md; times are 0 for what has not happened. Each field
 * is written by one end only.
 */
struct message_record {
	uint32_t connection;	/* from 1 */
	uint8_t down;
	uint8_t choice;		/* which of its sizes; the client's */
	uint16_t reserved;
	uint64_t bytes;
	uint64_t due_ns;
	uint64_t begin_ns;
	uint64_t written_ns;
	uint64_t first_ns;
	uint64_t complete_ns;
	uint64_t reserved2;
};

extern struct messages {
	struct traffic_message *list;
	struct message_record *records;	/* shared by all processes */
	int count;
	unsigned int connections;
} messages;

/* Add that of a line, whose first word is taken; share the records of all; store them. */
void message_add(struct command *command);
void messages_share(void);
void messages_write(void);

#endif
