/* SPDX-License-Identifier: GPL-2.0-only */
/* The lines of the plan. */
#ifndef PLAN_H
#define PLAN_H

#include <stdbool.h>

/* carry out its commands up to its traffic or programs; false: it has none */
bool plan_run(char *text);
/* the next line that is no comment, and its number; NULL at the end */
char *plan_next(int *number);
/* let the line that plan_next() gave be the next one again */
void plan_unread(char *line);

#endif
