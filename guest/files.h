/* SPDX-License-Identifier: GPL-2.0-only */
/* Files that the guest writes into the run directory. All of these give up if they cannot. */
#ifndef FILES_H
#define FILES_H

#include <stddef.h>

int file_create(const char *name);
void file_write(int fd, const char *name, const void *bytes, size_t len);
/* with fsync(), so that what the host had no room for is noticed */
void file_close(int fd, const char *name);

#endif
