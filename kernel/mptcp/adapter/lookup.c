// SPDX-License-Identifier: GPL-2.0-only
/* Finds the functions of lookup.h by kprobes, which are registered for a moment. */

#include <linux/kallsyms.h>
#include <linux/kprobes.h>

#include "../framework.h"

#ifndef CONFIG_KPROBES
#error "This kernel has no kprobes: apply openwrt/exports.patch to its source."
#endif

#define ENDBR_BYTES	4

int mps_no_register(struct mptcp_sched_ops *sched)
{
	return -ENOENT;
}

void mps_no_unregister(struct mptcp_sched_ops *sched)
{
}

struct sock *mps_no_get_retrans(struct mptcp_sock *msk)
{
	return NULL;
}

DEFINE_STATIC_CALL(mps_call_register, mps_no_register);
DEFINE_STATIC_CALL(mps_call_unregister, mps_no_unregister);
DEFINE_STATIC_CALL(mps_call_get_retrans, mps_no_get_retrans);

/* The entry of a function, as kallsyms has it. A kprobe may lie behind its ENDBR, the
 * instruction that marks a target of indirect calls.
 */
static void *mps_address(const char *name)
{
	struct kprobe probe = { .symbol_name = name };
	char symbol[KSYM_SYMBOL_LEN];
	unsigned long offset;
	int err;

	err = register_kprobe(&probe);
	if (!err) {
		unregister_kprobe(&probe);
		/* NAME+0xOFFSET/0xSIZE */
		sprint_symbol(symbol, (unsigned long)probe.addr);
		if (str_has_prefix(symbol, name) &&
		    sscanf(symbol + strlen(name), "+%lx/", &offset) == 1 &&
		    offset <= ENDBR_BYTES)
			return (void *)probe.addr - offset;
		err = -EINVAL;
	}
	pr_err("mptcp: no schedulers: %s is not found in this kernel: %d\n", name, err);
	return NULL;
}

int mps_look_up(void)
{
	void *reg = mps_address("mptcp_register_scheduler");
	void *unreg = mps_address("mptcp_unregister_scheduler");
	void *get_retrans = mps_address("mptcp_subflow_get_retrans");

	if (!reg || !unreg || !get_retrans)
		return -ENOENT;
	static_call_update(mps_call_register, reg);
	static_call_update(mps_call_unregister, unreg);
	static_call_update(mps_call_get_retrans, get_retrans);
	return 0;
}
