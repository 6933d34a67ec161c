/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs of the host in place of the traffic. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdbool.h>

#include "settings.h"

/* Take the plan's programs, if it has them instead of traffic; and what is to be recorded of
 * them (tcp, trace, seed, sample_interval_ns; 0: nothing).
 */
bool programs_parse(struct traffic *t);
/* run them, and report to init as traffic_run() does */
void __attribute__((noreturn)) programs_run(const struct traffic *t, int report_fd);

#endif
