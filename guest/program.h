/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs of the host in place of the traffic. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdbool.h>

#include "settings.h"

/* take the plan's programs, if it has them instead of traffic, with what of them is to be
 * recorded (tcp, trace, seed, sample_interval_ns; with an interval of 0 nothing is)
 */
bool programs_parse(struct traffic *t);
/* run them; reports to init as traffic_run() does */
void __attribute__((noreturn)) programs_run(const struct traffic *t, int report_fd);

#endif
