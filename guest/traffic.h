/* SPDX-License-Identifier: GPL-2.0-only */
/* The traffic: two ends, processes of their own, that send messages to each other. */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include "settings.h"

/* before the ends are forked */
void traffic_prepare(void);
/* run one of them, with so many pairs of hosts */
void __attribute__((noreturn)) traffic_run(const struct traffic *t, unsigned int pairs,
					   int report_fd);

#endif
