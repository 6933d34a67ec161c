/* SPDX-License-Identifier: GPL-2.0-only */
/* The end of the guest, and its outcome. */
#ifndef OUTCOME_H
#define OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

/* Is this an unmodified kernel in a virtual machine? */
bool stock_kernel(void);

/* End the guest: with this outcome; as failed, with the reason; also with the paths that have
 * no subflow, first + i for each bit i of mask.
 */
void __attribute__((noreturn)) finish(const char *json);
void __attribute__((noreturn)) finish_failed(const char *reason);
void __attribute__((noreturn)) finish_missing(uint64_t mask, unsigned int first, const char *why);

#endif
