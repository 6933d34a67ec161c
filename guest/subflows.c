// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel tells of the subflows of a connection: upstream's, and the one with the
 * out-of-tree implementation. No header of today has the socket option MPTCP_INFO of the latter;
 * the layout is that of its v0.95.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "subflows.h"

/* of IPPROTO_TCP */
#define V0_INFO		45

struct v0_ends {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} local, remote;
};

struct v0_info {
	/* of a tcp_info, of all of them, of the meta, of the two ends, of all of them */
	uint32_t info_len, infos_len, meta_len, ends_len, all_ends_len;
	void *meta;
	struct tcp_info *initial, *infos;
	struct v0_ends *ends;
};

bool v0_kernel(void)
{
	return getenv("LAB_OUT_OF_TREE");
}

static bool v0_ask(int fd, struct subflows *found)
{
	struct v0_ends ends[SUBFLOWS_MAX] = {};
	struct tcp_info infos[SUBFLOWS_MAX] = {};
	struct v0_info info = {
		.info_len = sizeof(*infos), .infos_len = sizeof(infos),
		.ends_len = sizeof(*ends), .all_ends_len = sizeof(ends),
		.infos = infos, .ends = ends,
	};
	socklen_t len = sizeof(info);
	unsigned int count, i;

	*found = (struct subflows) {};
	if (getsockopt(fd, IPPROTO_TCP, V0_INFO, &info, &len)) {
		/* it is plain TCP */
		if (errno == EINVAL)
			errno = EOPNOTSUPP;
		return false;
	}
	/* the youngest comes first; its tcp_info is shorter than today's */
	for (count = info.all_ends_len / info.ends_len; count--;) {
		i = found->count;
		memcpy(&found->where.addrs[i].sa_local, &ends[count].local, sizeof(ends->local));
		memcpy(&found->where.addrs[i].sa_remote, &ends[count].remote, sizeof(ends->remote));
		memcpy(&found->state.info[i], (char *)infos + count * info.info_len, info.info_len);
		/* one for each pair of addresses, also where no route leads */
		if (found->state.info[i].tcpi_state != STATE_SYN_SENT)
			found->count++;
	}
	return true;
}

bool subflows_ask(int fd, struct subflows *found)
{
	socklen_t where_len = sizeof(found->where), state_len = sizeof(found->state);

	if (v0_kernel())
		return v0_ask(fd, found);
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
