/* SPDX-License-Identifier: GPL-2.0-only */
/* The player of a video that comes in segments. */
#ifndef PLAYER_H
#define PLAYER_H

#include <stdint.h>

#include "settings.h"

void player_prepare(const struct traffic *t);
/* when a message of the client is due that need not wait for anything else than the player
 * from ns on
 */
uint64_t player_due_ns(int request, uint64_t ns);
/* choose the size of the segment that this message asks for, if it asks for one */
void player_choose(int request, uint64_t due_ns);

#endif
