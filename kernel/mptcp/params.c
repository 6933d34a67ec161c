// SPDX-License-Identifier: GPL-2.0-only
/* Parameters of schedulers and congestion controls: sysctls of each network
 * namespace, net.mptcp.NAME.PARAMETER.
 */

#include <linux/ctype.h>
#include <linux/limits.h>
#include <linux/mutex.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "compat.h"
#include "params.h"

/* The parameters of one scheduler or congestion control in one namespace. */
struct mps_table {
	struct list_head	list;		/* mps_net.tables */
	const struct mps_params	*params;
	struct ctl_table_header	*header;
	struct ctl_table	*sysctls;
	u32			values[MPS_PARAMS_MAX];
};

struct mps_net {
	struct list_head	list;		/* mps_nets */
	struct net		*net;
	spinlock_t		lock;		/* of the tables */
	struct list_head	tables;
};

static unsigned int mps_net_id;
/* Of both lists: parameters begin in all namespaces, and namespaces with all parameters. */
static DEFINE_MUTEX(mps_params_mutex);
static LIST_HEAD(mps_all_params);
static LIST_HEAD(mps_nets);
/* how often a parameter was written, in any namespace */
static atomic_t mps_writes;

static struct mps_table *mps_table_find(struct mps_net *own, const struct mps_params *params)
{
	struct mps_table *table;

	list_for_each_entry(table, &own->tables, list)
		if (table->params == params)
			return table;
	return NULL;
}

void mps_params_get(const struct mps_params *params, struct net *net, u32 *values)
{
	struct mps_net *own = net_generic(net, mps_net_id);
	struct mps_table *table;
	unsigned int i;

	for (i = 0; i < params->num; i++)
		values[i] = params->table[i].def;
	spin_lock_bh(&own->lock);
	table = mps_table_find(own, params);
	for (i = 0; table && i < params->num; i++)
		values[i] = READ_ONCE(table->values[i]);
	spin_unlock_bh(&own->lock);
}

bool mps_params_changed(u32 *seen)
{
	/* pairs with mps_param_sysctl() */
	u32 now = atomic_read_acquire(&mps_writes);

	if (likely(*seen == now))
		return false;
	*seen = now;
	return true;
}

static int mps_param_sysctl(MPS_CTL_TABLE *table, int write, void *buffer, size_t *len,
			    loff_t *pos)
{
	int err = proc_douintvec_minmax(table, write, buffer, len, pos);

	/* who sees the number sees the value */
	if (write && !err)
		atomic_inc_return_release(&mps_writes);
	return err;
}

static int mps_table_add(struct net *net, const struct mps_params *params)
{
	struct mps_net *own = net_generic(net, mps_net_id);
	struct mps_table *table;
	char path[32];
	unsigned int i;

	if (!params->num)
		return 0;
	table = kzalloc(sizeof(*table), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	table->params = params;
	table->sysctls = kcalloc(params->num, sizeof(*table->sysctls), GFP_KERNEL);
	if (!table->sysctls)
		goto err;
	for (i = 0; i < params->num; i++) {
		const struct mps_param *param = &params->table[i];

		table->values[i] = param->def;
		table->sysctls[i] = (struct ctl_table) {
			.procname	= param->name,
			.data		= &table->values[i],
			.maxlen		= sizeof(table->values[i]),
			.mode		= 0644,
			.proc_handler	= mps_param_sysctl,
			.extra1		= (void *)&param->min,
			.extra2		= (void *)&param->max,
		};
	}
	snprintf(path, sizeof(path), "net/mptcp/%s", params->name);
	table->header = register_net_sysctl_sz(net, path, table->sysctls, params->num);
	if (!table->header)
		goto err;
	spin_lock_bh(&own->lock);
	list_add_tail(&table->list, &own->tables);
	spin_unlock_bh(&own->lock);
	return 0;
err:
	kfree(table->sysctls);
	kfree(table);
	return -ENOMEM;
}

static void mps_table_remove(struct net *net, const struct mps_params *params)
{
	struct mps_net *own = net_generic(net, mps_net_id);
	struct mps_table *table = mps_table_find(own, params);

	if (!table)
		return;
	spin_lock_bh(&own->lock);
	list_del(&table->list);
	spin_unlock_bh(&own->lock);
	unregister_net_sysctl_table(table->header);
	kfree(table->sysctls);
	kfree(table);
}

/* '/' separates the parts of a path of /proc/sys, '.' the parts of a sysctl's name. Other signs
 * have a meaning in scenarios.
 */
bool mps_name_valid(const char *name, size_t size)
{
	size_t len = strnlen(name, size), i;

	for (i = 0; i < len; i++)
		if (!isascii(name[i]) || (!isalnum(name[i]) && name[i] != '_'))
			return false;
	return len && len < size;
}

static bool mps_param_valid(const struct mps_params *params, unsigned int i)
{
	const struct mps_param *param = &params->table[i];
	unsigned int other;

	if (!param->name) {
		mps_refuse(params->name, "params[%u]: .name is NULL", i);
		return false;
	}
	if (!mps_name_valid(param->name, NAME_MAX + 1)) {
		mps_refuse(params->name, "params[%u]: .name is \"%*pE\"; %s, at most %d", i,
			   (int)strnlen(param->name, NAME_MAX), param->name,
			   "accepted are letters, digits and _", NAME_MAX);
		return false;
	}
	for (other = 0; other < i; other++) {
		if (strcmp(params->table[other].name, param->name))
			continue;
		mps_refuse(params->name, "params[%u] \"%s\": params[%u] has the same .name",
			   i, param->name, other);
		return false;
	}
	if (!param->unit || !param->meaning) {
		mps_refuse(params->name, "params[%u] \"%s\": .%s is NULL", i, param->name,
			   param->unit ? "meaning" : "unit");
		return false;
	}
	if (param->min > param->max) {
		mps_refuse(params->name, "params[%u] \"%s\": .min is %u, more than .max, %u",
			   i, param->name, param->min, param->max);
		return false;
	}
	if (param->def < param->min || param->def > param->max) {
		mps_refuse(params->name, "params[%u] \"%s\": .def is %u; accepted is %u to %u",
			   i, param->name, param->def, param->min, param->max);
		return false;
	}
	return true;
}

static bool mps_params_valid(const struct mps_params *params)
{
	unsigned int i;

	if (params->num > MPS_PARAMS_MAX) {
		mps_refuse(params->name, ".num_params is %u; accepted is at most %d", params->num,
			   MPS_PARAMS_MAX);
		return false;
	}
	if (!params->table != !params->num) {
		mps_refuse(params->name, ".num_params is %u, and .params is %sNULL", params->num,
			   params->table ? "not " : "");
		return false;
	}
	for (i = 0; i < params->num; i++)
		if (!mps_param_valid(params, i))
			return false;
	return true;
}

void mps_params_unregister(struct mps_params *params)
{
	struct mps_net *own;

	mutex_lock(&mps_params_mutex);
	list_for_each_entry(own, &mps_nets, list)
		mps_table_remove(own->net, params);
	list_del(&params->list);
	mutex_unlock(&mps_params_mutex);
}

int mps_params_register(struct mps_params *params)
{
	struct mps_net *own;
	int err = 0;

	if (!mps_params_valid(params))
		return -EINVAL;
	mutex_lock(&mps_params_mutex);
	list_add_tail(&params->list, &mps_all_params);
	list_for_each_entry(own, &mps_nets, list) {
		err = mps_table_add(own->net, params);
		if (err)
			break;
	}
	mutex_unlock(&mps_params_mutex);
	if (err) {
		mps_refuse(params->name, "no memory for its sysctls, or net.mptcp.%s is another",
			   params->name);
		mps_params_unregister(params);
	}
	return err;
}

static void mps_net_remove_tables(struct net *net)
{
	struct mps_params *params;

	list_for_each_entry(params, &mps_all_params, list)
		mps_table_remove(net, params);
}

static int __net_init mps_net_init(struct net *net)
{
	struct mps_net *own = net_generic(net, mps_net_id);
	struct mps_params *params;
	int err = 0;

	own->net = net;
	spin_lock_init(&own->lock);
	INIT_LIST_HEAD(&own->tables);
	mutex_lock(&mps_params_mutex);
	list_for_each_entry(params, &mps_all_params, list) {
		err = mps_table_add(net, params);
		if (err)
			break;
	}
	if (err)
		mps_net_remove_tables(net);
	else
		list_add_tail(&own->list, &mps_nets);
	mutex_unlock(&mps_params_mutex);
	return err;
}

static void __net_exit mps_net_exit(struct net *net)
{
	struct mps_net *own = net_generic(net, mps_net_id);

	mutex_lock(&mps_params_mutex);
	list_del(&own->list);
	mps_net_remove_tables(net);
	mutex_unlock(&mps_params_mutex);
}

static struct pernet_operations mps_net_ops = {
	.init	= mps_net_init,
	.exit	= mps_net_exit,
	.id	= &mps_net_id,
	.size	= sizeof(struct mps_net),
};

int mps_params_init(void)
{
	return register_pernet_subsys(&mps_net_ops);
}

#ifdef MODULE

void mps_params_exit(void)
{
	unregister_pernet_subsys(&mps_net_ops);
}

#else

/* before all users of parameters: these are device_initcalls and late_initcalls */
subsys_initcall_sync(mps_params_init);

#endif
