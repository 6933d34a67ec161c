/* SPDX-License-Identifier: GPL-2.0-only */
/* Events: commands of the plan that are carried out while the traffic runs. */
#ifndef EVENTS_H
#define EVENTS_H

#include <stdint.h>

/* take one of the plan's "at" lines */
void event_add(char *text, int line);
/* after all of them; carry them out once START is known, until events_end() */
void events_prepare(void);
void events_start(uint64_t start_ns);
void events_end(void);

#endif
