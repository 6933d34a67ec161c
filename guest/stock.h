/* SPDX-License-Identifier: GPL-2.0-only */
/* The same guest on a kernel that is not ours. */
#ifndef STOCK_H
#define STOCK_H

#include <stdint.h>
#include <sys/types.h>

#include "settings.h"

/* make the run directory */
void stock_prepare(void);
/* Sample the connections of a process of its own from start_ns on, until it has ended; wait
 * for those who do.
 */
void stock_sample(pid_t process, const struct traffic *t, uint64_t start_ns);
void stock_end_samples(void);

#endif
