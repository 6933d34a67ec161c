// SPDX-License-Identifier: GPL-2.0-only
/* Process 1 of a virtual machine: a command in a copy of the host's files that is thrown away.
 *
 *	init DIRECTORY COMMAND ...
 *
 * Its own files are the kernel's modules, 00.ko, 01.ko, ..., in an order in which they can be
 * loaded. What the command prints goes over the second serial line, and its errors to the first.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void must(long result, const char *what)
{
	if (!result)
		return;
	dprintf(2, "%s: %s\n", what, strerror(errno));
	sync();
	reboot(RB_POWER_OFF);
}

static void mount_on(const char *type, const char *from, const char *where, const char *how)
{
	mkdir(where, 0755);
	must(mount(from, where, type, 0, how), where);
}

static void load_modules(void)
{
	char name[16];
	int i, fd;

	for (i = 0; ; i++) {
		snprintf(name, sizeof(name), "/%02d.ko", i);
		fd = open(name, O_RDONLY);
		if (fd < 0)
			return;
		must(syscall(SYS_finit_module, fd, "", 0), name);
		close(fd);
	}
}

int main(int argc, char **argv)
{
	int status = 1, fd;
	pid_t pid;

	if (argc < 3)
		return 2;
	load_modules();
	mount_on("tmpfs", "none", "/mnt", NULL);
	mount_on("9p", "host", "/mnt/host", "trans=virtio,version=9p2000.L,ro,cache=loose,msize=512000");
	mkdir("/mnt/upper", 0755);
	mkdir("/mnt/work", 0755);
	mount_on("overlay", "none", "/mnt/root",
		 "lowerdir=/mnt/host,upperdir=/mnt/upper,workdir=/mnt/work");
	mount_on("proc", "none", "/mnt/root/proc", NULL);
	mount_on("sysfs", "none", "/mnt/root/sys", NULL);
	mount_on("devtmpfs", "none", "/mnt/root/dev", NULL);
	mount_on("tmpfs", "none", "/mnt/root/dev/shm", NULL);
	must(chroot("/mnt/root"), "chroot");
	must(chdir(argv[1]), argv[1]);
	fd = open("/dev/ttyS1", O_WRONLY);
	pid = fork();
	if (!pid) {
		dup2(fd, 1);
		setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
		execvp(argv[2], argv + 2);
		must(-1, argv[2]);
	}
	waitpid(pid, &status, 0);
	dprintf(2, "ended with wait status %#x\n", status);
	sleep(1);
	reboot(RB_POWER_OFF);
	return 1;
}
