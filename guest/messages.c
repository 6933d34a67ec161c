// SPDX-License-Identifier: GPL-2.0-only
/* The messages that the traffic is made of, as the plan has them:
 *
 *	message CONNECTION up|down SIZE at TIME
 *	message CONNECTION up|down SIZE after NUMBER TIME
 *
 * TIME after START, or after message NUMBER (from 1, in the order of the plan).
 * SIZE is in bytes, * for as much as goes until the traffic has lasted long
 * enough, or several with | between them, of which one is chosen on the way.
 *
 * After that, a line may say that the scheduler is told of the message as a unit:
 *
 *	... unit needs NUMBER importance N deadline TIME expires TIME
 *
 * It may then be dropped. It needs another message, 0 for none; times are after
 * it is due.
 *
 * What happened to each is in a record that both ends share with init.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base.h"
#include "files.h"
#include "messages.h"
#include "words.h"

struct messages messages;

static void *grow(void *list, size_t count, size_t size)
{
	/* at the powers of two */
	if (count & (count - 1))
		return list;
	list = realloc(list, 2 * (count ? count : 1) * size);
	if (!list)
		give_up("messages: %s", strerror(errno));
	return list;
}

static void parse_sizes(struct traffic_message *message, char *text, int line)
{
	uint64_t *sizes = NULL;
	char *word, *save, *end;

	if (!strcmp(text, "*"))
		return;
	for (word = strtok_r(text, "|", &save); word; word = strtok_r(NULL, "|", &save)) {
		sizes = grow(sizes, message->size_count, sizeof(*sizes));
		sizes[message->size_count] = strtoull(word, &end, 10);
		if (*end || !sizes[message->size_count] || ++message->size_count > UINT8_MAX)
			give_up("plan line %d: message: %s: not a size", line, word);
	}
	message->sizes = sizes;
}

static void parse_unit(struct traffic_message *message, const char *text, int line, int number)
{
	char deadline[24], expires[24];

	if (sscanf(text, " unit needs %u importance %u deadline %23s expires %23s",
		   &message->needs, &message->importance, deadline, expires) != 4)
		give_up("plan line %d: message: after unit, %s is expected", line,
			"needs NUMBER importance N deadline TIME expires TIME");
	if (message->needs >= (unsigned int)number)
		give_up("plan line %d: message: needs %u: not one before it", line,
			message->needs);
	message->is_unit = true;
	message->deadline_ns = parse_time(deadline, line);
	message->expires_ns = parse_time(expires, line);
}

void message_add(char *text, int line)
{
	char direction[5], size[512], when[6], first[24], second[24] = "";
	struct traffic_message message = { .after = -1 };
	int words, number = messages.count + 1;
	char *unit = strstr(text, " unit ");

	if (unit) {
		parse_unit(&message, unit, line, number);
		*unit = '\0';
	}
	words = sscanf(text, "message %u %4s %511s %5s %23s %23s", &message.connection, direction,
		       size, when, first, second);
	message.down = words > 1 && !strcmp(direction, "down");
	if (words < 5 || !message.connection || (!message.down && strcmp(direction, "up")))
		give_up("plan line %d: message CONNECTION up|down SIZE at TIME is expected", line);
	if (words == 5 && !strcmp(when, "at")) {
		message.delay_ns = parse_time(first, line);
	} else if (words == 6 && !strcmp(when, "after")) {
		message.after = atoi(first) - 1;
		message.delay_ns = parse_time(second, line);
		if (message.after < 0 || message.after >= number - 1)
			give_up("plan line %d: message: after %s: not one before it", line, first);
	} else {
		give_up("plan line %d: message: at TIME or after NUMBER TIME is expected", line);
	}
	parse_sizes(&message, size, line);
	if (message.is_unit && (message.size_count != 1 || *message.sizes <= UNIT_HEADER))
		give_up("plan line %d: message: %s: a unit has one size, above %d", line, size,
			UNIT_HEADER);
	if (message.connection > messages.connections)
		messages.connections = message.connection;
	message.connection--;
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
