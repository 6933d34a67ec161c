// SPDX-License-Identifier: GPL-2.0-only
/* Sysctls of each network namespace for all schedulers of the adapter.
 *
 * net.mptcp.grain_bytes: the bytes of a choice, at least a segment; 0: a whole fragment, or
 * the scheduler's choice_bytes. Beyond a fragment, a choice is for no more than the subflow
 * has room for. Connections that begin read it.
 *
 * net.mptcp.scheduler_for: schedulers by the mark or port of a socket, such as
 * "port=443:overflow,mark=0x10:minrtt".
 *
 * The first rule that fits a connection decides, when the connection sends its first data:
 * only then are its ports known. A port fits at either end. If no rule fits, or the rule's
 * scheduler is not loaded, the socket's scheduler stays. The socket's scheduler must be one of
 * ours: net/mptcp does not ask the adapter about others.
 *
 * LOCKS. The spinlock of a namespace guards its rules: a process writes them, and softirq may
 * read them.
 */

#include <linux/sysctl.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "adapter.h"

#define RULES_MAX	16
#define TEXT_MAX	512

struct choice_rule {
	bool	by_mark;	/* else by port */
	u32	value;
	char	name[MPTCP_SCHED_NAME_MAX];
};

struct adapter_net {
	struct ctl_table_header	*header;
	struct ctl_table	sysctls[2];
	u32			grain_bytes;
	spinlock_t		lock;	/* guards text, num and rules */
	char			text[TEXT_MAX];
	unsigned int		num;
	struct choice_rule	rules[RULES_MAX];
};

static unsigned int adapter_net_id;
static const unsigned int grain_max = SZ_1M;

static int choice_parse_rule(char *text, struct choice_rule *rule)
{
	char *name = strchr(text, ':'), *value = strchr(text, '=');

	if (!name || !value || value > name)
		return -EINVAL;
	*name++ = '\0';
	*value++ = '\0';
	rule->by_mark = !strcmp(text, "mark");
	if (!rule->by_mark && strcmp(text, "port"))
		return -EINVAL;
	if (kstrtou32(value, 0, &rule->value) || !mps_name_valid(name, sizeof(rule->name)))
		return -EINVAL;
	if (!rule->by_mark && (!rule->value || rule->value > U16_MAX))
		return -EINVAL;
	strscpy(rule->name, name, sizeof(rule->name));
	return 0;
}

/* The number of rules, or an error. */
static int choice_parse(char *text, struct choice_rule *rules)
{
	unsigned int num = 0;
	char *rule;
	int err;

	text = strim(text);
	while (*text && (rule = strsep(&text, ","))) {
		if (num == RULES_MAX)
			return -E2BIG;
		err = choice_parse_rule(rule, &rules[num++]);
		if (err)
			return err;
		if (!text)
			break;
	}
	return num;
}

static int choice_write(struct adapter_net *own, char *text)
{
	struct choice_rule *rules;
	char *parts;
	int num;

	parts = kstrdup(text, GFP_KERNEL);
	rules = kcalloc(RULES_MAX, sizeof(*rules), GFP_KERNEL);
	num = parts && rules ? choice_parse(parts, rules) : -ENOMEM;
	if (num >= 0) {
		spin_lock_bh(&own->lock);
		strscpy(own->text, text, sizeof(own->text));
		memcpy(own->rules, rules, sizeof(own->rules));
		own->num = num;
		spin_unlock_bh(&own->lock);
	}
	kfree(rules);
	kfree(parts);
	return min(num, 0);
}

static int choice_sysctl(MPS_CTL_TABLE *table, int write, void *buffer, size_t *lenp,
			 loff_t *ppos)
{
	struct adapter_net *own = table->data;
	/* proc_dostring() cuts without an error: a place more shows that it did */
	struct ctl_table line = { .maxlen = TEXT_MAX + 1 };
	int err;

	line.data = kzalloc(line.maxlen, GFP_KERNEL);
	if (!line.data)
		return -ENOMEM;
	spin_lock_bh(&own->lock);
	strscpy(line.data, own->text, TEXT_MAX);
	spin_unlock_bh(&own->lock);
	err = proc_dostring(&line, write, buffer, lenp, ppos);
	if (write && !err)
		err = strlen(line.data) < TEXT_MAX ? choice_write(own, line.data) : -E2BIG;
	kfree(line.data);
	return err;
}

static bool choice_fits(const struct choice_rule *rule, const struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);

	if (rule->by_mark)
		return READ_ONCE(sk->sk_mark) == rule->value;
	return ntohs(inet->inet_sport) == rule->value || ntohs(inet->inet_dport) == rule->value;
}

/* The name of the first rule that fits; false: none does. */
static bool choice_name(const struct sock *sk, char *name)
{
	struct adapter_net *own = net_generic(sock_net(sk), adapter_net_id);
	unsigned int i;

	spin_lock_bh(&own->lock);
	for (i = 0; i < own->num; i++)
		if (choice_fits(&own->rules[i], sk))
			break;
	if (i < own->num)
		strscpy(name, own->rules[i].name, MPTCP_SCHED_NAME_MAX);
	spin_unlock_bh(&own->lock);
	return i < own->num;
}

struct mps_registration *mps_choose(const struct mptcp_sock *msk)
{
	struct mps_registration *own = mps_registration(msk->sched), *chosen = NULL;
	char name[MPTCP_SCHED_NAME_MAX];

	if (choice_name((const struct sock *)msk, name)) {
		rcu_read_lock();
		chosen = mps_registered(name);
		if (chosen && !try_module_get(chosen->ops->owner))
			chosen = NULL;
		rcu_read_unlock();
	}
	if (chosen)
		return chosen;
	/* the socket holds it, too */
	__module_get(own->ops->owner);
	return own;
}

u32 mps_grain_bytes(struct net *net)
{
	const struct adapter_net *own = net_generic(net, adapter_net_id);

	return READ_ONCE(own->grain_bytes);
}

static int __net_init adapter_net_init(struct net *net)
{
	struct adapter_net *own = net_generic(net, adapter_net_id);

	spin_lock_init(&own->lock);
	own->sysctls[0] = (struct ctl_table) {
		.procname	= "scheduler_for",
		.data		= own,
		.maxlen		= TEXT_MAX,
		.mode		= 0644,
		.proc_handler	= choice_sysctl,
	};
	own->sysctls[1] = (struct ctl_table) {
		.procname	= "grain_bytes",
		.data		= &own->grain_bytes,
		.maxlen		= sizeof(own->grain_bytes),
		.mode		= 0644,
		.proc_handler	= proc_douintvec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= (void *)&grain_max,
	};
	own->header = register_net_sysctl_sz(net, "net/mptcp", own->sysctls,
					     ARRAY_SIZE(own->sysctls));
	return own->header ? 0 : -ENOMEM;
}

static void __net_exit adapter_net_exit(struct net *net)
{
	struct adapter_net *own = net_generic(net, adapter_net_id);

	unregister_net_sysctl_table(own->header);
}

static struct pernet_operations adapter_net_ops = {
	.init	= adapter_net_init,
	.exit	= adapter_net_exit,
	.id	= &adapter_net_id,
	.size	= sizeof(struct adapter_net),
};

int mps_adapter_sysctls_init(void)
{
	return register_pernet_subsys(&adapter_net_ops);
}

void mps_adapter_sysctls_exit(void)
{
	unregister_pernet_subsys(&adapter_net_ops);
}
