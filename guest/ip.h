/* SPDX-License-Identifier: GPL-2.0-only */
/* ip: what plans need of it. */
#ifndef IP_H
#define IP_H

#include <stdint.h>

#include "words.h"

/* run a command of which the first word is taken */
void ip_run(struct command *command);

/* Sleep until a whole second, from which on nothing depends on how long the set-up
 * took, with all that may be in a plan beside what the run is. Returns it.
 */
uint64_t sleep_until_set_up(void);

#endif
