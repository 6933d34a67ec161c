/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The headers that most files of the kernel include, compiled once.
 *
 * Reading headers is most of the work of a kernel build. With this file as the
 * first that each object includes, the compiler loads them in one piece; what
 * a file includes itself is then there already. It changes no object but for
 * the order of some instructions, and the name of the module in the few
 * messages that are printed by headers.
 *
 * LAB_WITHOUT_HEADERS is for files with a name of their own that is also one
 * of a header they do not include.
 */
#if !defined(__ASSEMBLY__) && !defined(LAB_WITHOUT_HEADERS)
#include <linux/kconfig.h>
#include <linux/compiler_types.h>
/* For messages of headers; names.h has the name for each file itself. */
#define KBUILD_MODNAME "kernel"
#include <linux/device.h>
#include <linux/fs.h>
#include <linux/highmem.h>
#include <linux/interrupt.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pagemap.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/security.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/syscalls.h>
#include <linux/uaccess.h>
#include <linux/inetdevice.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/ip.h>
#include <net/net_namespace.h>
#include <net/netlink.h>
#include <net/rtnetlink.h>
#include <net/sock.h>
#undef KBUILD_MODNAME
#endif
