// SPDX-License-Identifier: GPL-2.0-only
/* The messages that the traffic is made of, as the plan has them:
 *
 *	message CONNECTION up|down SIZE at TIME
 *	message CONNECTION up|down SIZE after NUMBER TIME
 *
 * TIME after START, or after the end of message NUMBER (from 1, in the order of the plan).
 * SIZE is in bytes; * is as much as can be sent until the traffic's duration is over; of
 * several, with | between them, the player chooses one.
 *
 * With this behind it, a message is announced to the scheduler as a unit:
 *
 *	... unit needs NUMBER importance N deadline TIME expires TIME
 *
 * It may then be dropped. NUMBER is that of a message that it needs, or 0; times are after
 * it is due.
 *
 * What happened to each is kept in a record, in memory that both ends share with init.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base.h"
#include "files.h"
#include "messages.h"
#include "words.h"

struct messages messages;

static void *grow(void *list, size_t count, size_t size)
{
	/* the room doubles at the powers of two */
	if (count & (count - 1))
		return list;
	list = realloc(list, 2 * (count ? count : 1) * size);
	if (!list)
		give_up("messages: %s", strerror(errno));
	return list;
}

/* *, or sizes with | between them */
static void take_sizes(struct command *command, struct traffic_message *message)
{
	const char *word = command_word(command, "a size");
	uint64_t *sizes = NULL, size;
	char *end = (char *)word;

	if (!strcmp(word, "*"))
		return;
	for (; message->size_count < UINT8_MAX; word = end + 1) {
		size = strtoull(word, &end, 10);
		if (!size || (*end && *end != '|'))
			break;
		sizes = grow(sizes, message->size_count, sizeof(*sizes));
		sizes[message->size_count++] = size;
		if (!*end)
			break;
	}
	if (!sizes || *end)
		command_failed(command, "sizes with | between them, or *, are expected");
	message->sizes = sizes;
}

/* needs NUMBER importance N deadline TIME expires TIME */
static void take_unit(struct command *command, struct traffic_message *message)
{
	command_expect(command, "needs");
	message->needs = command_number(command, messages.count);
	command_expect(command, "importance");
	message->importance = command_number(command, UINT32_MAX);
	command_expect(command, "deadline");
	message->deadline_ns = command_time(command);
	command_expect(command, "expires");
	message->expires_ns = command_time(command);
	message->is_unit = true;
	if (message->size_count != 1 || *message->sizes <= UNIT_HEADER)
		command_failed(command, "a unit has one size, above %d", UNIT_HEADER);
}

void message_add(struct command *command)
{
	struct traffic_message message = { .after = -1 };
	unsigned int connection = command_number(command, UINT32_MAX);

	if (!connection)
		command_failed(command, "connections are counted from 1");
	message.connection = connection - 1;
	message.down = command_has(command, "down");
	if (!message.down)
		command_expect(command, "up");
	take_sizes(command, &message);
	if (command_has(command, "after")) {
		message.after = (int)command_number(command, messages.count) - 1;
		if (message.after < 0)
			command_failed(command, "messages are counted from 1");
		messages.list[message.after].awaited = true;
	} else {
		command_expect(command, "at");
	}
	message.delay_ns = command_time(command);
	if (command_has(command, "unit"))
		take_unit(command, &message);
	command_expect_end(command);
	if (connection > messages.connections)
		messages.connections = connection;
	messages.list = grow(messages.list, messages.count, sizeof(*messages.list));
	messages.list[messages.count++] = message;
}

void messages_share(void)
{
	int i;

	messages.records = mmap(NULL, (messages.count + 1) * sizeof(*messages.records),
				PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (messages.records == MAP_FAILED)
		give_up("messages: %s", strerror(errno));
	for (i = 0; i < messages.count; i++) {
		messages.records[i].connection = messages.list[i].connection + 1;
		messages.records[i].down = messages.list[i].down;
	}
}

void messages_write(void)
{
	static const char name[] = "messages.records";
	int fd = file_create(name);

	file_write(fd, name, messages.records, messages.count * sizeof(*messages.records));
	file_close(fd, name);
}
