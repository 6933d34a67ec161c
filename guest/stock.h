/* SPDX-License-Identifier: GPL-2.0-only */
/* The same guest on an unmodified kernel of a distribution. */
#ifndef STOCK_H
#define STOCK_H

#include <stdint.h>
#include <sys/types.h>

#include "settings.h"

/* provide the run directory */
void stock_prepare(void);
/* Have a new process sample the connections of `process` from start_ns on, until it has ended;
 * wait for all that sample.
 */
void stock_sample(pid_t process, const struct traffic *t, uint64_t start_ns);
void stock_end_samples(void);

#endif
