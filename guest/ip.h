/* SPDX-License-Identifier: GPL-2.0-only */
/* ip: what plans need of it. */
#ifndef IP_H
#define IP_H

#include <stdint.h>

#include "words.h"

/* run a command of which the first word is taken */
void ip_run(struct command *command);

/* Sleep until a whole second, which is returned, so that nothing after it depends on how long
 * the set-up took: a plan may contain more than what makes the run.
 */
uint64_t sleep_until_set_up(void);

#endif
