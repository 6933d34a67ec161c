/* SPDX-License-Identifier: GPL-2.0-only */
/* The search of musher for a better ratio, a step at each look. */
#ifndef _MPTCP_LAB_MUSHER_SEARCH_H
#define _MPTCP_LAB_MUSHER_SEARCH_H

#include <linux/types.h>

#define MUSHER_ROUND		100	/* segments in a round, which the ratio divides */

enum musher_step {
	WATCH,			/* no search: the ratio stays */
	GO_RIGHT,		/* the first step to the right */
	RIGHT,			/* was that better? */
	GO_LEFT,
	LEFT,
	ON,			/* on in that direction, while it is no worse */
};

struct musher_search {
	u8		next;		/* enum musher_step */
	u32		ratio;		/* of 100 */
	unsigned long	begin;		/* jiffies of the latest search */
	u32		first_ratio;	/* where it began */
	int		step;
	u64		kbps;		/* throughput of the step before */
};

void musher_begin_search(struct musher_search *search, u32 step);

/* The next step, after a look: more than `better_kbps` makes a direction better. */
void musher_search(struct musher_search *search, u64 kbps, u32 better_kbps);

#endif
