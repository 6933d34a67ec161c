// SPDX-License-Identifier: GPL-2.0-only
/* /proc/mptcplab_fault: provoke a fault of the kernel, to test its detection.
 *
 * A test writes "panic", "oops", "warn" or "spin" to it.
 */

#include <linux/bug.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/panic.h>
#include <linux/proc_fs.h>
#include <linux/string.h>
#include <linux/uaccess.h>

static ssize_t fault_write(struct file *file, const char __user *from, size_t len, loff_t *pos)
{
	char text[16];

	if (len >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, len))
		return -EFAULT;
	text[len] = '\0';

	if (sysfs_streq(text, "panic"))
		panic("asked for by mptcplab_fault");
	if (sysfs_streq(text, "oops"))
		WRITE_ONCE(*(int *)NULL, 1);
	if (sysfs_streq(text, "warn"))
		WARN(1, "asked for by mptcplab_fault");
	/* in time travel, cpu_relax() would move the time */
	while (sysfs_streq(text, "spin"))
		barrier();
	return len;
}

static const struct proc_ops fault_proc_ops = {
	.proc_write = fault_write,
};

static int __init fault_init(void)
{
	return proc_create("mptcplab_fault", 0200, NULL, &fault_proc_ops) ? 0 : -ENOMEM;
}

late_initcall(fault_init);
