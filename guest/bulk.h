/* SPDX-License-Identifier: GPL-2.0-only */
/* Waits for connections, and has the kernel move data meanwhile. */
#ifndef BULK_H
#define BULK_H

#include <poll.h>
#include <stdint.h>

/* before the first wait_for() */
void wait_prepare(void);

/* Wait as poll() does, or until `wake` at the latest; the connections are the last of fds.
 * fds[0] is used for a timer: a timeout of poll() may be late by a thousandth of it.
 */
void wait_for(struct pollfd *fds, int count, uint64_t wake);

#endif
