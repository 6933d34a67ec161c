/* SPDX-License-Identifier: GPL-2.0-only */
/* The words of the plan's lines. */
#ifndef WORDS_H
#define WORDS_H

#include <stdbool.h>
#include <stdint.h>

/* The next word of a line, of which *rest is what is left. Quotes are '...' and $'...', as in
 * bash; a word without them has no special characters. NULL: there is none.
 */
char *next_word(char **rest, int line);
/* a whole number; a time such as 3s or 1500ms, in ns */
uint64_t parse_number(const char *text, int line);
uint64_t parse_time(const char *text, int line);

/* A line of the plan, whose words are taken one after the other. Whoever expects another word
 * gives up, and says the whole line and what is expected.
 */
#define COMMAND_WORDS_MAX	64

struct command {
	void (*run)(struct command *command);	/* of command_parse() */
	const char *ns;			/* "": the first one */
	const char *words[COMMAND_WORDS_MAX];
	int count, next;
	int line;			/* of the plan */
};

/* The words lie in the text, which is changed. "ip netns exec NS" is taken already. */
void command_split(struct command *command, char *text, int line);
void __attribute__((noreturn, format(printf, 2, 3)))
command_failed(const struct command *command, const char *format, ...);
bool command_at_end(const struct command *command);
void command_expect_end(const struct command *command);
/* take the next word if it is this one; take it, or give up */
bool command_has(struct command *command, const char *word);
void command_expect(struct command *command, const char *word);
/* Take the next word (`what` says what it should be): as it is, as a number, as a time in ns,
 * as the name of a file of the run directory.
 */
const char *command_word(struct command *command, const char *what);
uint64_t command_number(struct command *command, uint64_t most);
uint64_t command_time(struct command *command);
const char *command_file(struct command *command);

#endif
