// SPDX-License-Identifier: GPL-2.0-only
/* The words of the plan's lines. */

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "words.h"

/* The character that \X or \xXX in $'...' stands for. */
static char *read_escape(char *text, char *to)
{
	static const char names[] = "ntr\\'", meant[] = "\n\t\r\\'";
	const char *found = strchr(names, *text);
	unsigned int code;
	int len = 0;

	if (*text && found) {
		*to = meant[found - names];
		return text + 1;
	}
	if (sscanf(text, "x%2x%n", &code, &len) != 1)
		return NULL;
	*to = code;
	return text + len;
}

char *next_word(char **rest, int line)
{
	char *text = *rest + strspn(*rest, " "), *word = text, *to = text;

	if (!*text)
		return NULL;
	while (text && *text && *text != ' ') {
		bool escapes = *text == '$' && text[1] == '\'';

		if (!escapes && *text != '\'') {
			*to++ = *text++;
			continue;
		}
		text += escapes ? 2 : 1;
		while (text && *text && *text != '\'') {
			if (escapes && *text == '\\')
				text = read_escape(text + 1, to++);
			else
				*to++ = *text++;
		}
		if (!text || !*text++)
			give_up("plan line %d: what is in quotes cannot be read", line);
	}
	*rest = *text ? text + 1 : text;
	*to = '\0';
	return word;
}

/* false: it is none, or more than `most` */
static bool is_number(const char *text, uint64_t most, uint64_t *number)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return !*end && !errno && *number <= most;
}

uint64_t parse_number(const char *text, int line)
{
	uint64_t number;

	if (!is_number(text, UINT64_MAX, &number))
		give_up("plan line %d: %s: a number is expected", line, text);
	return number;
}

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

void command_split(struct command *command, char *text, int line)
{
	const char *word;

	*command = (struct command) { .ns = "", .line = line };
	while ((word = next_word(&text, line))) {
		if (command->count == COMMAND_WORDS_MAX)
			give_up("plan line %d: more than %d words", line, COMMAND_WORDS_MAX);
		command->words[command->count++] = word;
	}
	if (command_has(command, "ip") && command_has(command, "netns") &&
	    command_has(command, "exec"))
		command->ns = command_word(command, "a namespace");
	else
		command->next = 0;
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

uint64_t command_number(struct command *command, uint64_t most)
{
	const char *word = command_word(command, "a number");
	uint64_t number;

	if (!is_number(word, most, &number))
		command_failed(command, "%s: a number up to %" PRIu64 " is expected", word, most);
	return number;
}

uint64_t command_time(struct command *command)
{
	return parse_time(command_word(command, "a time"), command->line);
}

const char *command_file(struct command *command)
{
	const char *name = command_word(command, "a file");

	if (strchr(name, '/'))
		command_failed(command, "a name without / is expected");
	return name;
}
