// SPDX-License-Identifier: GPL-2.0-only
/* Process 1 of a guest that runs one of the kernel's own selftests.
 *
 * The run directory, which is the working directory of the kernel's process on
 * the host, is mounted at /run/lab. Read: plan.txt, which bash executes there.
 * Written: output.txt, all that it prints; guest.json, the outcome with the
 * status it ended with (whatever ends without an outcome has failed).
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

static void __attribute__((noreturn)) power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	_exit(1);
}

static void __attribute__((noreturn)) give_up(const char *what)
{
	dprintf(2, "mptcplab: %s: %s\n", what, strerror(errno));
	power_off();
}

static void mount_or_die(const char *type, const char *where, const char *options)
{
	if (mount(type, where, type, 0, options))
		give_up(where);
}

static void __attribute__((noreturn)) run_plan(void)
{
	int in = open("/dev/null", O_RDONLY);
	int out = open("output.txt", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);

	if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) {
		dprintf(2, "mptcplab: output.txt: %s\n", strerror(errno));
		_exit(127);
	}
	close(in);
	close(out);
	execl("/bin/bash", "bash", "plan.txt", NULL);
	_exit(127);
}

int main(void)
{
	pid_t plan, ended;
	int status, file;

	if (getpid() != 1) {
		dprintf(2, "this program is process 1 of an mptcplab guest\n");
		return 1;
	}
	mount_or_die("proc", "/proc", NULL);
	mount_or_die("sysfs", "/sys", NULL);
	mount_or_die("tmpfs", "/run", NULL);
	mount_or_die("tmpfs", "/tmp", NULL);
	if (mkdir(RUN_DIR, 0755))
		give_up(RUN_DIR);
	mount_or_die("hostfs", RUN_DIR, "/proc/self/cwd");
	if (chdir(RUN_DIR))
		give_up(RUN_DIR);
	clearenv();
	setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("LC_ALL", "C", 1);
	setenv("HOME", "/tmp", 1);

	plan = fork();
	if (plan < 0)
		give_up("fork");
	if (!plan)
		run_plan();
	/* what the plan leaves behind becomes a child of this process, too */
	do
		ended = wait(&status);
	while (ended != plan && (ended > 0 || errno == EINTR));

	file = open("guest.json", O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (file < 0 || dprintf(file, "{\"status\":\"ok\",\"exit\":%d}\n",
				WIFEXITED(status) ? WEXITSTATUS(status) :
						    128 + WTERMSIG(status)) < 0)
		give_up("guest.json");
	power_off();
}
