/* SPDX-License-Identifier: GPL-2.0-only */
/* Files that the guest writes into the run directory. Who cannot gives up. */
#ifndef FILES_H
#define FILES_H

#include <stddef.h>

int file_create(const char *name);
void file_write(int fd, const char *name, const void *bytes, size_t len);
/* also when the host is out of room only now */
void file_close(int fd, const char *name);

#endif
