/* SPDX-License-Identifier: GPL-2.0-only */
/* What only the scheduler `agent` needs of the framework: the channel to the agent outside, and
 * the delegation of its questions to another scheduler. The caller owns the connection.
 */
#ifndef _MPTCP_LAB_AGENT_H
#define _MPTCP_LAB_AGENT_H

#include "mpsched.h"
#include "uapi/agent.h"

/* Sends a question, and waits for the answer, of at most `most` bytes. Virtual time stands.
 * Returns the bytes of the answer; 0 or an error: there is no agent (any more). Tests put their
 * own agent here.
 */
struct mps_agent {
	int (*call)(const void *question, int bytes, void *answer, int most);
};

extern struct mps_agent mps_agent;

/* From now on, conn->params and the private state, up to these sizes, are those of the scheduler
 * `name`, whose functions the caller calls. `before` is the one that had them, NULL: none; it is
 * released. NULL: there is no such scheduler, or its state is too large, and `before` goes on.
 */
const struct mps_ops *mps_delegate(struct mps_conn *conn, const struct mps_ops *before,
				   const char *name, size_t conn_size, size_t subflow_size);
/* Releases it. Limits, distrust and timers that it has left end. */
void mps_delegate_end(struct mps_conn *conn, const struct mps_ops *ops);

/* Sets a parameter of the connection, which its sysctl changes no more. False: there is none
 * of this name, or the value is out of its range.
 */
bool mps_set_param(struct mps_conn *conn, const char *name, u32 value);

/* As mps_wake_at(), with a time of its own; for `agent`, not for the scheduler that it
 * delegates to.
 */
void mps_ask_at(struct mps_conn *conn, u64 ns);

/* Did this end accept the connection? */
bool mps_is_server(const struct mps_conn *conn);

#endif
