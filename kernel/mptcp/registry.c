// SPDX-License-Identifier: GPL-2.0-only
/* Registration of schedulers. */

#include <kunit/visibility.h>

#include "framework.h"

/* All of ours, in their order. Writers hold the lock, readers are under RCU. */
static LIST_HEAD(mps_registrations);
static DEFINE_SPINLOCK(mps_registry_lock);

#ifdef MODULE

/* Its owner, if its code lies there; NULL: it does not. A module cannot look for another one. */
static struct module *mps_module_of(const struct mps_ops *ops)
{
	unsigned long code = (unsigned long)ops->next_segment;

	return ops->owner && within_module(code, ops->owner) ? ops->owner : NULL;
}

#else

/* The module that it lies in, or, if it is in allocated memory, its code; NULL: the kernel.
 * The code alone may be a function of the kernel, such as mps_reinject().
 */
static struct module *mps_module_of(const struct mps_ops *ops)
{
	struct module *module;

	rcu_read_lock();
	preempt_disable();
	module = __module_address((unsigned long)ops);
	if (!module)
		module = __module_text_address((unsigned long)ops->next_segment);
	preempt_enable();
	rcu_read_unlock();
	return module;
}

#endif

static bool mps_ops_valid(const struct mps_ops *ops)
{
	struct module *module;

	if (!mps_name_valid(ops->name, sizeof(ops->name))) {
		mps_refuse(ops->name, ".name; accepted are 1 to %zu letters, digits and _",
			   sizeof(ops->name) - 1);
		return false;
	}
	if (!ops->next_segment) {
		mps_refuse(ops->name, ".next_segment is NULL; it is required");
		return false;
	}
	/* otherwise the module could go while connections have the scheduler */
	module = mps_module_of(ops);
	if (ops->owner != module) {
		mps_refuse(ops->name, ".owner is %s; it must be THIS_MODULE, %s",
			   ops->owner ? module_name(ops->owner) : "NULL",
			   module ? module_name(module) : "NULL");
		return false;
	}
	if (ops->conn_size > MPS_STATE_MAX || ops->subflow_size > MPS_STATE_MAX) {
		bool conn = ops->conn_size > MPS_STATE_MAX;

		mps_refuse(ops->name, ".%s_size is %zu bytes; accepted is at most %d",
			   conn ? "conn" : "subflow", conn ? ops->conn_size : ops->subflow_size,
			   MPS_STATE_MAX);
		return false;
	}
	return true;
}

struct mps_registration *mps_registered(const char *name)
{
	struct mps_registration *registration;

	list_for_each_entry_rcu(registration, &mps_registrations, list)
		if (!strcmp(registration->sched.name, name))
			return registration;
	return NULL;
}

int mps_register(const struct mps_ops *ops)
{
	struct mps_registration *registration;
	const struct mps_params params = {
		.name	= ops->name,
		.table	= ops->params,
		.num	= ops->num_params,
	};
	bool taken;
	int err;

	if (!mps_ops_valid(ops))
		return -EINVAL;

	registration = kzalloc(sizeof(*registration), GFP_KERNEL);
	if (!registration)
		return -ENOMEM;
	registration->ops = ops;
	registration->params = params;
	registration->sched = (struct mptcp_sched_ops) {
		MPS_SCHED_CALLS,
		.init		= mps_conn_init,
		.release	= mps_conn_release,
		.owner		= ops->owner,
	};
	strscpy(registration->sched.name, ops->name, sizeof(registration->sched.name));
	rcu_read_lock();
	taken = mps_registered(ops->name);
	rcu_read_unlock();
	err = taken ? -EEXIST : mps_params_register(&registration->params);
	if (err)
		goto err_free;
	/* last: from then on it may be a socket's, with its parameters */
	err = mptcp_register_scheduler(&registration->sched);
	if (err)
		goto err_params;
	spin_lock(&mps_registry_lock);
	list_add_tail_rcu(&registration->list, &mps_registrations);
	spin_unlock(&mps_registry_lock);
	return 0;

err_params:
	mps_params_unregister(&registration->params);
err_free:
	if (err == -EEXIST)
		mps_refuse(ops->name, ".name is that of a scheduler that is registered already");
	kfree(registration);
	return err;
}
EXPORT_SYMBOL_GPL(mps_register);

void mps_unregister(const struct mps_ops *ops)
{
	struct mps_registration *registration;

	rcu_read_lock();
	registration = mps_registered(ops->name);
	rcu_read_unlock();
	/* refused, perhaps because another one has its name */
	if (!registration || registration->ops != ops)
		return;

	spin_lock(&mps_registry_lock);
	list_del_rcu(&registration->list);
	spin_unlock(&mps_registry_lock);
	mptcp_unregister_scheduler(&registration->sched);
	mps_params_unregister(&registration->params);
	/* connections hold the module, lookups by name are under RCU */
	synchronize_rcu();
	kfree(registration);
}
EXPORT_SYMBOL_GPL(mps_unregister);

const struct mps_ops *mps_find(const char *name)
{
	struct mps_registration *registration;
	const struct mps_ops *ops = NULL;

	rcu_read_lock();
	registration = mps_registered(name);
	if (registration)
		ops = registration->ops;
	rcu_read_unlock();
	return ops;
}
EXPORT_SYMBOL_IF_KUNIT(mps_find);

const struct mps_ops *mps_nth(u32 n)
{
	struct mps_registration *registration;
	const struct mps_ops *ops = NULL;

	rcu_read_lock();
	list_for_each_entry_rcu(registration, &mps_registrations, list)
		if (!n--) {
			ops = registration->ops;
			break;
		}
	rcu_read_unlock();
	return ops;
}
EXPORT_SYMBOL_IF_KUNIT(mps_nth);
