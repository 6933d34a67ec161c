// SPDX-License-Identifier: GPL-2.0-only
/* Registration of schedulers. */

#include <kunit/visibility.h>

#include "framework.h"

int mps_register(const struct mps_ops *ops)
{
	struct mps_registration *registration;
	const struct mps_params params = {
		.name	= ops->name,
		.table	= ops->params,
		.num	= ops->num_params,
	};
	int err;

	if (!ops->next_segment || !*ops->name ||
	    strnlen(ops->name, sizeof(ops->name)) == sizeof(ops->name) ||
	    !mps_params_valid(&params))
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
	strscpy(registration->sched.name, ops->name);
	err = mptcp_register_scheduler(&registration->sched);
	if (err)
		goto err_free;
	err = mps_params_register(&registration->params);
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

	/* it is registered, and by nobody else */
	rcu_read_lock();
	registration = mps_registration(mptcp_sched_find(ops->name));
	rcu_read_unlock();

	mptcp_unregister_scheduler(&registration->sched);
	mps_params_unregister(&registration->params);
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
	if (sched && sched->init == mps_conn_init)
		ops = mps_registration(sched)->ops;
	rcu_read_unlock();
	return ops;
}
EXPORT_SYMBOL_IF_KUNIT(mps_find);
