/* SPDX-License-Identifier: GPL-2.0-only */
/* Moves what the kernel records into files. */
#ifndef STREAMS_H
#define STREAMS_H

#include <poll.h>

/* Have the kernel record in a namespace (NULL: the first one) what the command says, into
 * FILE.KIND; the kind is samples, decisions or states.
 */
void stream_open(const char *ns, const char *file, const char *kind, const char *command);
/* what poll() is to wait for; returns how many */
int streams_expect(struct pollfd *fds);
/* after poll(): move what these have */
void streams_store(const struct pollfd *fds, int count);
/* have the kernel end recording, and move the rest */
void streams_stop(void);

#endif
