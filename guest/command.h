/* SPDX-License-Identifier: GPL-2.0-only */
/* The commands of the plan that a person could have typed. */
#ifndef COMMAND_H
#define COMMAND_H

#include <stdbool.h>

#include "words.h"

/* as command_split(), and find out which command it is */
void command_parse(struct command *command, char *text, int line);
/* ip or tc, which can also be run as events */
bool command_is_tool(const struct command *command);
void command_run(struct command *command);

#endif
