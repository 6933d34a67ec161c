// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel tells of the subflows of a connection. */

#include "subflows.h"

bool subflows_ask(int fd, struct subflows *found)
{
	socklen_t where_len = sizeof(found->where), state_len = sizeof(found->state);

	*found = (struct subflows) {
		.where.data = {
			.size_subflow_data = sizeof(found->where.data),
			.size_user = sizeof(found->where.addrs[0]),
		},
		.state.data = {
			.size_subflow_data = sizeof(found->state.data),
			.size_user = sizeof(found->state.info[0]),
		},
	};
	if (getsockopt(fd, SOL_MPTCP, MPTCP_SUBFLOW_ADDRS, &found->where, &where_len) ||
	    getsockopt(fd, SOL_MPTCP, MPTCP_TCPINFO, &found->state, &state_len))
		return false;
	found->count = found->where.data.num_subflows;
	if (found->state.data.num_subflows < found->count)
		found->count = found->state.data.num_subflows;
	if (found->count > SUBFLOWS_MAX)
		found->count = SUBFLOWS_MAX;
	return true;
}
