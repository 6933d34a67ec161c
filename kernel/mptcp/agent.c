// SPDX-License-Identifier: GPL-2.0-only
/* The channel of the scheduler `agent`, and its delegation to other schedulers.
 *
 * The channel is the standard input of this kernel's process, if the lab has put a socket
 * there. A call blocks the process, and with it all of the guest: no time passes, and nothing
 * else happens, until the answer is there. Locking: see sched/agent.c.
 */

#include <kunit/visibility.h>

#include "agent.h"
#include "framework.h"

#ifdef CONFIG_UML

#include <os.h>

#define AGENT_FD	0

static int agent_call_host(const void *question, int bytes, void *answer, int most)
{
	int none = -1, n;

	/* a message, since a terminal, which is no socket, takes none */
	do
		n = os_sendmsg_fds(AGENT_FD, question, bytes, &none, 0);
	while (n == -EINTR);
	if (n != bytes)
		return n < 0 ? n : -EIO;
	do
		n = os_read_file(AGENT_FD, answer, most);
	while (n == -EINTR);
	return n;
}

#else

/* a machine has nobody outside */
static int agent_call_host(const void *question, int bytes, void *answer, int most)
{
	return -ENOTSOCK;
}

#endif

struct mps_agent mps_agent = { .call = agent_call_host };
EXPORT_SYMBOL_IF_KUNIT(mps_agent);

void mps_delegate_end(struct mps_conn *conn, const struct mps_ops *ops)
{
	struct mps_subflow *subflow;

	mps_assert_locked(mps_sk(conn));
	mps_for_each_subflow(conn, subflow) {
		if (ops->release_subflow && subflow_core(subflow)->established)
			ops->release_subflow(conn, subflow);
		mps_set_limit(subflow, ~0);
		mps_distrust(subflow, false);
		mps_set_linear_timeouts(subflow, false);
	}
	if (ops->release)
		ops->release(conn);
	mps_wake_at(conn, 0);
	module_put(ops->owner);
}

const struct mps_ops *mps_delegate(struct mps_conn *conn, const struct mps_ops *before,
				   const char *name, size_t conn_size, size_t subflow_size)
{
	struct mps_conn_core *core = conn_core(conn);
	struct mps_registration *registration;
	const struct mps_ops *ops = NULL;
	struct mps_subflow *subflow;

	rcu_read_lock();
	registration = mps_registered(name);
	if (registration && registration->ops != core->ops &&
	    registration->ops->conn_size <= conn_size &&
	    registration->ops->subflow_size <= subflow_size &&
	    try_module_get(registration->ops->owner))
		ops = registration->ops;
	rcu_read_unlock();
	if (!ops)
		return NULL;
	if (before)
		mps_delegate_end(conn, before);

	core->params = &registration->params;
	core->params_kept = 0;
	mps_params_get(core->params, sock_net(mps_sk(conn)), conn->params);
	memset(conn->priv, 0, ops->conn_size);
	if (ops->init)
		ops->init(conn);
	mps_for_each_subflow(conn, subflow) {
		memset(subflow->priv, 0, ops->subflow_size);
		if (ops->init_subflow && subflow_core(subflow)->established)
			ops->init_subflow(conn, subflow);
	}
	return ops;
}

bool mps_set_param(struct mps_conn *conn, const char *name, u32 value)
{
	struct mps_conn_core *core = conn_core(conn);
	unsigned int i;

	for (i = 0; core->params && i < core->params->num; i++) {
		const struct mps_param *param = &core->params->table[i];

		if (strcmp(param->name, name))
			continue;
		if (value < param->min || value > param->max)
			return false;
		conn->params[i] = value;
		core->params_kept |= BIT(i);
		return true;
	}
	return false;
}

bool mps_is_server(const struct mps_conn *conn)
{
	return READ_ONCE(conn_core(conn)->msk->pm.server_side);
}
