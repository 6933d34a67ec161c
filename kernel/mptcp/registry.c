// SPDX-License-Identifier: GPL-2.0-only
/* Registration of schedulers, and their parameters: sysctls of each network
 * namespace, net.mptcp.SCHEDULER.PARAMETER.
 */

#include <kunit/visibility.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "framework.h"

/* The parameters of one scheduler in one namespace. */
struct mps_table {
	struct list_head	list;		/* mps_net.tables */
	const struct mps_ops	*ops;
	struct ctl_table_header	*header;
	struct ctl_table	*sysctls;
	u32			values[MPS_PARAMS_MAX];
};

struct mps_net {
	spinlock_t		lock;		/* of the list */
	struct list_head	tables;
};

static unsigned int mps_net_id;
/* All schedulers, under pernet_ops_rwsem: a namespace that is being made holds it
 * for reading.
 */
static LIST_HEAD(mps_registrations);

static struct mps_table *mps_table_find(struct mps_net *params, const struct mps_ops *ops)
{
	struct mps_table *table;

	list_for_each_entry(table, &params->tables, list)
		if (table->ops == ops)
			return table;
	return NULL;
}

void mps_params_get(const struct mps_ops *ops, struct net *net, u32 *values)
{
	struct mps_net *params = net_generic(net, mps_net_id);
	struct mps_table *table;
	unsigned int i;

	for (i = 0; i < ops->num_params; i++)
		values[i] = ops->params[i].def;
	spin_lock_bh(&params->lock);
	table = mps_table_find(params, ops);
	for (i = 0; table && i < ops->num_params; i++)
		values[i] = READ_ONCE(table->values[i]);
	spin_unlock_bh(&params->lock);
}

static int mps_table_add(struct net *net, const struct mps_ops *ops)
{
	struct mps_net *params = net_generic(net, mps_net_id);
	struct mps_table *table;
	char path[32];
	unsigned int i;

	if (!ops->num_params)
		return 0;
	table = kzalloc(sizeof(*table), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	table->ops = ops;
	table->sysctls = kcalloc(ops->num_params, sizeof(*table->sysctls), GFP_KERNEL);
	if (!table->sysctls)
		goto err;
	for (i = 0; i < ops->num_params; i++) {
		const struct mps_param *param = &ops->params[i];

		table->values[i] = param->def;
		table->sysctls[i] = (struct ctl_table) {
			.procname	= param->name,
			.data		= &table->values[i],
			.maxlen		= sizeof(table->values[i]),
			.mode		= 0644,
			.proc_handler	= proc_douintvec_minmax,
			.extra1		= (void *)&param->min,
			.extra2		= (void *)&param->max,
		};
	}
	snprintf(path, sizeof(path), "net/mptcp/%s", ops->name);
	table->header = register_net_sysctl_sz(net, path, table->sysctls, ops->num_params);
	if (!table->header)
		goto err;
	spin_lock_bh(&params->lock);
	list_add_tail(&table->list, &params->tables);
	spin_unlock_bh(&params->lock);
	return 0;
err:
	kfree(table->sysctls);
	kfree(table);
	return -ENOMEM;
}

static void mps_table_remove(struct net *net, const struct mps_ops *ops)
{
	struct mps_net *params = net_generic(net, mps_net_id);
	struct mps_table *table = mps_table_find(params, ops);

	if (!table)
		return;
	spin_lock_bh(&params->lock);
	list_del(&table->list);
	spin_unlock_bh(&params->lock);
	unregister_net_sysctl_table(table->header);
	kfree(table->sysctls);
	kfree(table);
}

static void mps_params_unregister(struct mps_registration *registration)
{
	struct net *net;

	down_write(&pernet_ops_rwsem);
	for_each_net(net)
		mps_table_remove(net, registration->ops);
	list_del(&registration->list);
	up_write(&pernet_ops_rwsem);
}

static int mps_params_register(struct mps_registration *registration)
{
	struct net *net;
	int err = 0;

	down_write(&pernet_ops_rwsem);
	list_add_tail(&registration->list, &mps_registrations);
	for_each_net(net) {
		err = mps_table_add(net, registration->ops);
		if (err)
			break;
	}
	up_write(&pernet_ops_rwsem);
	if (err)
		mps_params_unregister(registration);
	return err;
}

static int __net_init mps_net_init(struct net *net)
{
	struct mps_net *params = net_generic(net, mps_net_id);
	struct mps_registration *registration;
	int err;

	spin_lock_init(&params->lock);
	INIT_LIST_HEAD(&params->tables);
	list_for_each_entry(registration, &mps_registrations, list) {
		err = mps_table_add(net, registration->ops);
		if (!err)
			continue;
		list_for_each_entry(registration, &mps_registrations, list)
			mps_table_remove(net, registration->ops);
		return err;
	}
	return 0;
}

static void __net_exit mps_net_exit(struct net *net)
{
	struct mps_registration *registration;

	list_for_each_entry(registration, &mps_registrations, list)
		mps_table_remove(net, registration->ops);
}

static struct pernet_operations mps_net_ops = {
	.init	= mps_net_init,
	.exit	= mps_net_exit,
	.id	= &mps_net_id,
	.size	= sizeof(struct mps_net),
};

static bool mps_params_valid(const struct mps_ops *ops)
{
	unsigned int i;

	if (ops->num_params > MPS_PARAMS_MAX)
		return false;
	for (i = 0; i < ops->num_params; i++) {
		const struct mps_param *param = &ops->params[i];

		if (!param->name || param->def < param->min || param->def > param->max)
			return false;
	}
	return true;
}

int mps_register(const struct mps_ops *ops)
{
	struct mps_registration *registration;
	int err;

	if (!ops->next_segment || !*ops->name ||
	    strnlen(ops->name, sizeof(ops->name)) == sizeof(ops->name) || !mps_params_valid(ops))
		return -EINVAL;

	registration = kzalloc(sizeof(*registration), GFP_KERNEL);
	if (!registration)
		return -ENOMEM;
	registration->ops = ops;
	registration->sched = (struct mptcp_sched_ops) {
		.get_subflow	= mps_get_subflow,
		.init		= mps_conn_init,
		.release	= mps_conn_release,
		.owner		= ops->owner,
	};
	strscpy(registration->sched.name, ops->name);
	err = mptcp_register_scheduler(&registration->sched);
	if (err)
		goto err_free;
	err = mps_params_register(registration);
	if (err)
		goto err_unregister;
	return 0;

err_unregister:
	mptcp_unregister_scheduler(&registration->sched);
	synchronize_rcu();
err_free:
	kfree(registration);
	return err;
}
EXPORT_SYMBOL_GPL(mps_register);

void mps_unregister(const struct mps_ops *ops)
{
	struct mps_registration *registration;

	/* it is registered, so the list has it */
	down_read(&pernet_ops_rwsem);
	list_for_each_entry(registration, &mps_registrations, list)
		if (registration->ops == ops)
			break;
	up_read(&pernet_ops_rwsem);

	mptcp_unregister_scheduler(&registration->sched);
	mps_params_unregister(registration);
	/* connections hold the module, lookups by name are under RCU */
	synchronize_rcu();
	kfree(registration);
}
EXPORT_SYMBOL_GPL(mps_unregister);

const struct mps_ops *mps_find(const char *name)
{
	const struct mps_ops *ops = NULL;
	struct mptcp_sched_ops *sched;

	rcu_read_lock();
	sched = mptcp_sched_find(name);
	if (sched && sched->get_subflow == mps_get_subflow)
		ops = mps_registration(sched)->ops;
	rcu_read_unlock();
	return ops;
}
EXPORT_SYMBOL_IF_KUNIT(mps_find);

/* before the schedulers, which are device_initcalls */
static int __init mps_init(void)
{
	return register_pernet_subsys(&mps_net_ops);
}

subsys_initcall_sync(mps_init);
