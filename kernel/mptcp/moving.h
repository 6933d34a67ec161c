/* SPDX-License-Identifier: GPL-2.0-only */
/* The bytes that the kernel moves for processes, and the time: for bulk.c and crowd.c. */
#ifndef _MPTCP_LAB_MOVING_H
#define _MPTCP_LAB_MOVING_H

#include <linux/irqflags.h>
#include <linux/timekeeping.h>
#include <linux/types.h>

/* Words of a stream, from the word with this position on. */
void moving_fill(u64 *words, size_t count, u64 position, u64 seed);

/* Verifies bytes that lie as in the stream: the first word has the position. The word behind
 * the bytes must exist, and loses its content. Returns the first wrong byte, or len.
 */
size_t moving_verify(u64 *words, u64 position, size_t len, u64 seed);

/* The monotonic clock, without cost in virtual time (timer_read() in arch/um/kernel/time.c). */
static inline u64 moving_look_at_clock(void)
{
	unsigned long flags;
	u64 now;

	local_irq_save(flags);
	now = ktime_get_ns();
	local_irq_restore(flags);
	return now;
}

#endif
