// SPDX-License-Identifier: GPL-2.0-only
/* The words of the plan's lines. */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base.h"
#include "words.h"

uint64_t parse_time(const char *text, int line)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", NS_PER_SEC },
	};
	char unit[4] = "", rest;
	uint64_t n;
	size_t i;

	if (sscanf(text, "%" SCNu64 "%3[a-z]%c", &n, unit, &rest) == 2)
		for (i = 0; i < COUNT(units); i++)
			if (!strcmp(unit, units[i].name))
				return n * units[i].ns;
	give_up("plan line %d: at %s: a time such as 3s or 1500ms is expected", line, text);
}

/* THE WORDS OF A COMMAND */

/* Splits at blanks; '...' holds a word together. Returns the number of words. */
static int split(char *text, const char **words)
{
	int n = 0;

	while (*text) {
		if (*text == ' ') {
			*text++ = '\0';
			continue;
		}
		if (n == COMMAND_WORDS_MAX)
			return -1;
		if (*text == '\'') {
			words[n++] = ++text;
			text = strchr(text, '\'');
			if (!text)
				return -1;
			*text++ = '\0';
		} else {
			words[n++] = text;
			text += strcspn(text, " ");
		}
	}
	return n;
}

void command_failed(const struct command *command, const char *format, ...)
{
	char text[300] = "", reason[160];
	size_t len = 0;
	va_list args;
	int i;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	for (i = 0; i < command->count && len < sizeof(text); i++)
		len += snprintf(text + len, sizeof(text) - len, "%s%s", i ? " " : "",
				command->words[i]);
	give_up("plan line %d: %s: %s", command->line, text, reason);
}

bool command_at_end(const struct command *command)
{
	return command->next == command->count;
}

bool command_has(struct command *command, const char *word)
{
	if (command_at_end(command) || strcmp(command->words[command->next], word))
		return false;
	command->next++;
	return true;
}

const char *command_word(struct command *command, const char *what)
{
	if (command_at_end(command))
		command_failed(command, "%s is expected after it", what);
	return command->words[command->next++];
}

void command_expect(struct command *command, const char *word)
{
	const char *other = command_word(command, word);

	if (strcmp(other, word))
		command_failed(command, "%s is expected, not %s", word, other);
}

void command_expect_end(const struct command *command)
{
	if (!command_at_end(command))
		command_failed(command, "%s is not known here", command->words[command->next]);
}

uint32_t command_number(struct command *command, uint32_t most)
{
	const char *word = command_word(command, "a number");
	uint32_t number;
	char more;

	if (*word < '0' || *word > '9' || strlen(word) > 10 ||
	    sscanf(word, "%" SCNu32 "%c", &number, &more) != 1 || number > most)
		command_failed(command, "%s: a number up to %" PRIu32 " is expected", word, most);
	return number;
}

void command_split(struct command *command, char *text, int line)
{
	*command = (struct command) { .ns = "", .line = line };
	command->count = split(text, command->words);
	if (command->count < 1)
		give_up("plan line %d: cannot be read", line);
}
