/* SPDX-License-Identifier: GPL-2.0-only */
/* Cross traffic: UDP packets at a constant rate, beside the connections. */
#ifndef CROSS_H
#define CROSS_H

#include <stdbool.h>
#include <stdint.h>

/* take a line of the plan that was to be done at_ns after START; false: it is not for this */
bool cross_add(const char *text, uint64_t at_ns, int line);
/* after all of them; then, send from start_ns on, until cross_end() */
void cross_prepare(void);
void cross_start(uint64_t start_ns);
void cross_end(void);

#endif
