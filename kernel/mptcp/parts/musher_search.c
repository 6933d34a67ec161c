// SPDX-License-Identifier: GPL-2.0-only
/* The search of the module mptcp_musher.c, with its slips: see docs/schedulers/musher.md. */

#include <linux/export.h>
#include <linux/jiffies.h>

#include "parts/musher_search.h"

/* bounds of where a search begins, as in the source */
#define MUSHER_LEAST		5
#define MUSHER_MOST		95

void musher_begin_search(struct musher_search *search, u32 step)
{
	search->begin = jiffies;
	search->next = GO_RIGHT;
	search->step = step;
	search->first_ratio = search->ratio;
}
EXPORT_SYMBOL_GPL(musher_begin_search);

static void musher_end_search(struct musher_search *search)
{
	search->next = WATCH;
}

/* The ratio changes by the step, or the search ends. */
static void musher_go_on(struct musher_search *search)
{
	int ratio = (int)search->ratio + search->step;

	if (ratio < 0 || ratio > MUSHER_ROUND) {
		musher_end_search(search);
		return;
	}
	search->ratio = ratio;
	search->next = ON;
}

/* The source leaves behind what is left here: where it cannot go to the left, the ratio of
 * the failed step to the right; after a failed step to the left, another one.
 */
void musher_search(struct musher_search *search, u64 kbps, u32 better_kbps)
{
	bool better = kbps > search->kbps + better_kbps;

	switch (search->next) {
	case GO_RIGHT:
		search->next = GO_LEFT;
		if (search->first_ratio + search->step > MUSHER_MOST)
			return;
		search->ratio = search->first_ratio + search->step;
		search->next = RIGHT;
		break;
	case RIGHT:
		search->next = GO_LEFT;
		if (!better)
			return;
		musher_go_on(search);
		break;
	case GO_LEFT:
		if ((int)search->first_ratio - search->step < MUSHER_LEAST) {
			musher_end_search(search);
			return;
		}
		search->ratio = search->first_ratio - search->step;
		search->next = LEFT;
		break;
	case LEFT:
		search->step = -search->step;
		musher_go_on(search);
		if (!better)
			musher_end_search(search);
		break;
	default:
		if (kbps < search->kbps) {
			search->ratio -= search->step;
			musher_end_search(search);
			return;
		}
		musher_go_on(search);
	}
	search->kbps = kbps;
}
EXPORT_SYMBOL_GPL(musher_search);
