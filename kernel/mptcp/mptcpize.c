// SPDX-License-Identifier: GPL-2.0-only
/* MPTCP for programs that use TCP: with net.mptcp.mptcpize set in a network namespace, each
 * new TCP socket there is an MPTCP socket.
 *
 * mptcpize(8) does this with a preloaded library. Here it also works for programs that are
 * static or call the kernel themselves.
 */

#include <linux/btf.h>
#include <linux/nsproxy.h>
#include <net/mptcp.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

struct mptcpize_net {
	struct ctl_table_header	*header;
	struct ctl_table	sysctl;
	u8			enabled;
};

static unsigned int mptcpize_net_id __ro_after_init;
/* no process makes a socket before that */
static bool mptcpize_registered __ro_after_init;

static bool mptcpize_is_tcp(int family, int type, int protocol)
{
	if (family != AF_INET && !(IS_ENABLED(CONFIG_MPTCP_IPV6) && family == AF_INET6))
		return false;
	return (type & SOCK_TYPE_MASK) == SOCK_STREAM && (!protocol || protocol == IPPROTO_TCP);
}

/* Replaces the hook of net/socket.c for BPF programs, which each socket(2) calls. */
__bpf_hook_start();

int update_socket_protocol(int family, int type, int protocol)
{
	const struct mptcpize_net *mptcpize;

	if (!mptcpize_registered || !mptcpize_is_tcp(family, type, protocol))
		return protocol;
	mptcpize = net_generic(current->nsproxy->net_ns, mptcpize_net_id);
	return READ_ONCE(mptcpize->enabled) ? IPPROTO_MPTCP : protocol;
}

__bpf_hook_end();

static int __net_init mptcpize_net_init(struct net *net)
{
	struct mptcpize_net *mptcpize = net_generic(net, mptcpize_net_id);

	mptcpize->sysctl = (struct ctl_table) {
		.procname	= "mptcpize",
		.data		= &mptcpize->enabled,
		.maxlen		= sizeof(mptcpize->enabled),
		.mode		= 0644,
		.proc_handler	= proc_dou8vec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= SYSCTL_ONE,
	};
	mptcpize->header = register_net_sysctl_sz(net, "net/mptcp", &mptcpize->sysctl, 1);
	return mptcpize->header ? 0 : -ENOMEM;
}

static void __net_exit mptcpize_net_exit(struct net *net)
{
	struct mptcpize_net *mptcpize = net_generic(net, mptcpize_net_id);

	unregister_net_sysctl_table(mptcpize->header);
}

static struct pernet_operations mptcpize_net_ops = {
	.init	= mptcpize_net_init,
	.exit	= mptcpize_net_exit,
	.id	= &mptcpize_net_id,
	.size	= sizeof(struct mptcpize_net),
};

static int __init mptcpize_init(void)
{
	int err = register_pernet_subsys(&mptcpize_net_ops);

	mptcpize_registered = !err;
	return err;
}

late_initcall(mptcpize_init);
