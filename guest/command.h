/* SPDX-License-Identifier: GPL-2.0-only */
/* The commands of the plan that a person would have typed. */
#ifndef COMMAND_H
#define COMMAND_H

#include <stdbool.h>

#include "words.h"

/* the command takes the text, in which its words then lie */
void command_parse(struct command *command, char *text, int line);
/* it is one of ip or tc, and not of what is done while the plan is read */
bool command_is_tool(const struct command *command);
void command_run(struct command *command);

#endif
