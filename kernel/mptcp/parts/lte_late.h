/* SPDX-License-Identifier: GPL-2.0-only */
/* How late the acknowledgments of a subflow are, as lte sees a handover by. */
#ifndef _MPTCP_LAB_LTE_LATE_H
#define _MPTCP_LAB_LTE_LATE_H

#include "mpsched.h"

#define PROBE_PKTS		2	/* the ACK of a lone one may be delayed */
/* no longer time counts */
#define LTE_MAX_NS		(3600ULL * NSEC_PER_SEC)

struct lte_limits {
	u32	late_ms;	/* so late acknowledgments mean a handover */
	u32	slowdown;	/* they may be this many times slower than usual */
};

struct lte_late {
	/* the last acknowledgment */
	u64	acked_ns;	/* when it came; 0: none yet */
	u64	sent_ns;	/* when what it acknowledged was sent */
	u32	acked_pkts;	/* how many that makes */

	/* how late the path is, and since it was not: */
	u64	usual_ns;	/* per packet; 0: not known yet */
	u64	late_ns;	/* by what has been acknowledged */
	u64	limit_ns;	/* of late_ns, as it was then */
	u32	srtt_us;	/* as it was then */
};

static inline u64 between_ns(u64 from, u64 to)
{
	return to > from ? min(to - from, LTE_MAX_NS) : 0;
}

/* Takes in the acknowledgments that came since the last time. Only a normal path is late. */
void lte_note_acks(struct lte_late *lte, const struct mps_subflow *subflow,
		   struct lte_limits limits, bool normal);

/* When the path of a normal subflow will be late if it remains silent; 0: it is; ~0: never. */
u64 lte_late_at_ns(const struct lte_late *lte, const struct mps_subflow *subflow,
		   struct lte_limits limits);

#endif
