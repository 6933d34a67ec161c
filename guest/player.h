/* SPDX-License-Identifier: GPL-2.0-only */
/* The player of a video that comes in segments. */
#ifndef PLAYER_H
#define PLAYER_H

#include <stdint.h>

#include "settings.h"

void player_prepare(const struct traffic *t);
/* when a message of the client is due that could be sent at ns */
uint64_t player_due_ns(int request, uint64_t ns);
/* of one that asks for a segment, choose which size that has */
void player_choose(int request, uint64_t due_ns);

#endif
