/* SPDX-License-Identifier: GPL-2.0-only */
/* tc: what plans need of it. */
#ifndef TC_H
#define TC_H

#include "words.h"

/* run a command of which the first word is taken */
void tc_run(struct command *command);

#endif
