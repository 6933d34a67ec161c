/* SPDX-License-Identifier: GPL-2.0-only */
/* Waits, and has the kernel move what is plain meanwhile. */
#ifndef BULK_H
#define BULK_H

#include <poll.h>
#include <stdint.h>

/* before the first time */
void wait_prepare(void);

/* Wait for what one of fds waits for, or until some time; the connections are the last of
 * fds. A timeout of poll() may be late by a thousandth of it, a timer is not; fds[0] is for that.
 */
void wait_for(struct pollfd *fds, int count, uint64_t wake);

#endif
