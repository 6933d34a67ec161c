/* SPDX-License-Identifier: GPL-2.0-only */
/* The lines of the plan. */
#ifndef PLAN_H
#define PLAN_H

#include <stdbool.h>

/* carry out its commands up to its traffic or programs; false: it has none */
bool plan_run(char *text);
/* the next line that is not a comment, and its number; NULL at the end */
char *plan_next(int *number);
/* have plan_next() return the line again that it returned last */
void plan_unread(char *line);

#endif
