/* SPDX-License-Identifier: GPL-2.0-only */
/* Moves what the kernel records into files. */
#ifndef STREAMS_H
#define STREAMS_H

#include <poll.h>

/* what the kernel is told to record in a namespace, NULL: the first one; into FILE.KIND, of
 * which the kind is samples or decisions
 */
void stream_open(const char *ns, const char *file, const char *kind, const char *command);
/* put what to wait for into fds; returns how many they are */
int streams_expect(struct pollfd *fds);
/* move what is there of these */
void streams_store(const struct pollfd *fds, int count);
/* have the kernel end recording, and move the rest */
void streams_stop(void);

#endif
