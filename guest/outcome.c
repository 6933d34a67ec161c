// SPDX-License-Identifier: GPL-2.0-only
/* The end of the guest: writes the outcome, guest.json, and switches the guest off.
 * Errors cannot be reported any more here; the host sees that something is missing.
 *
 * On an unmodified kernel (stock.c) the host does not see the run directory: its files go to
 * the host over the serial line that the variable LAB_OUTCOME names. An empty line comes
 * first; then, for each file, a line with its name and its size in bytes, and its content.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "guest.h"
#include "outcome.h"

bool stock_kernel(void)
{
	return getenv("LAB_OUTCOME");
}

static void send_bytes(int line, const char *bytes, size_t len)
{
	while (len) {
		ssize_t done = write(line, bytes, len);

		if (done <= 0)
			return;
		bytes += done;
		len -= done;
	}
}

static void send_file(int line, const char *name)
{
	static char bytes[1 << 16];
	char path[300], head[300];
	struct stat file;
	ssize_t len;
	int fd;

	snprintf(path, sizeof(path), RUN_DIR "/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	/* what the host gave is read-only, and stays here */
	if (fd < 0 || fstat(fd, &file) || !S_ISREG(file.st_mode) || !(file.st_mode & 0200))
		return;
	len = snprintf(head, sizeof(head), "%s %" PRIu64 "\n", name, (uint64_t)file.st_size);
	send_bytes(line, head, len);
	while ((len = read(fd, bytes, sizeof(bytes))) > 0)
		send_bytes(line, bytes, len);
	close(fd);
}

static void send_all(void)
{
	int line = open(getenv("LAB_OUTCOME"), O_WRONLY | O_NOCTTY | O_CLOEXEC);
	DIR *files = opendir(RUN_DIR);
	struct termios raw;
	struct dirent *entry;

	if (line < 0 || !files || tcgetattr(line, &raw))
		return;
	cfmakeraw(&raw);
	cfsetspeed(&raw, B115200);
	tcsetattr(line, TCSANOW, &raw);
	send_bytes(line, "\n", 1);
	while ((entry = readdir(files)))
		send_file(line, entry->d_name);
	tcdrain(line);
}

static void __attribute__((noreturn)) power_off(void)
{
	if (stock_kernel())
		send_all();
	sync();
	/* not every machine can be switched off; one that starts again ends its emulator */
	reboot(stock_kernel() ? RB_AUTOBOOT : RB_POWER_OFF);
	_exit(1);
}

/* A guest.json that cannot be written whole counts as none. */
void finish(const char *json)
{
	int fd = open(RUN_DIR "/guest.json", O_WRONLY | O_CREAT | O_TRUNC, 0666);
	ssize_t len = strlen(json);

	if (fd < 0 || write(fd, json, len) != len || fsync(fd) || close(fd))
		dprintf(2, "mptcplab: guest.json: %s\n", strerror(errno));
	power_off();
}

static void json_escape(char *to, size_t room, const char *from)
{
	size_t n = 0;

	for (; *from && n + 7 < room; from++) {
		if (*from == '"' || *from == '\\')
			n += snprintf(to + n, room - n, "\\%c", *from);
		else if ((unsigned char)*from < 0x20)
			n += snprintf(to + n, room - n, "\\u%04x", *from);
		else
			to[n++] = *from;
	}
	to[n] = '\0';
}

void finish_failed(const char *reason)
{
	char escaped[1100], json[1200];

	json_escape(escaped, sizeof(escaped), reason);
	snprintf(json, sizeof(json), "{\"status\":\"failed\",\"reason\":\"%s\"}\n", escaped);
	finish(json);
}

void finish_missing(uint64_t mask, unsigned int first, const char *why)
{
	char json[512], list[64] = "";
	size_t n = 0;
	unsigned int i;

	for (i = 0; i < 64; i++)
		if (mask & (1ull << i))
			n += snprintf(list + n, sizeof(list) - n, "%s%u", n ? "," : "", first + i);
	snprintf(json, sizeof(json),
		 "{\"status\":\"failed\",\"reason\":\"%s\",\"missing_paths\":[%s]}\n", why, list);
	finish(json);
}
