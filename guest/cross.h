/* SPDX-License-Identifier: GPL-2.0-only */
/* Cross traffic: UDP packets at a constant rate, beside the connections. */
#ifndef CROSS_H
#define CROSS_H

#include <stdint.h>

#include "words.h"

/* TO_NS ADDRESS BPS: from at_ns after START on, send at this rate from the command's namespace */
void cross_add(struct command *command, uint64_t at_ns);
/* after all of them; send once START is known, until cross_end() */
void cross_prepare(void);
void cross_start(uint64_t start_ns);
void cross_end(void);

#endif
