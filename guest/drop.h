/* SPDX-License-Identifier: GPL-2.0-only */
/* Exact losses: packets that a router is to lose by their number. */
#ifndef DROP_H
#define DROP_H

#include "words.h"

/* DEVICE data|acks 5,17,100-120: which packets; they are counted from drops_start() on */
void drop_prepare(struct command *command);
void drops_start(void);

#endif
