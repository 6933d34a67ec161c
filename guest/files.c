// SPDX-License-Identifier: GPL-2.0-only
/* Files that the guest writes into the run directory. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base.h"
#include "files.h"

int file_create(const char *name)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), RUN_DIR "/%s", name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		give_up("%s: %s", name, strerror(errno));
	return fd;
}

void file_write(int fd, const char *name, const void *bytes, size_t len)
{
	ssize_t done;

	for (; len; bytes = (const char *)bytes + done, len -= done) {
		done = write(fd, bytes, len);
		if (done <= 0)
			give_up("%s: %s", name, strerror(done ? errno : ENOSPC));
	}
}

void file_close(int fd, const char *name)
{
	if (fsync(fd) || close(fd))
		give_up("%s: %s", name, strerror(errno));
}
