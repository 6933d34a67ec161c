// SPDX-License-Identifier: GPL-2.0-only
/* mine: what the golden plan of a scheduler of one's own is made from.
 */

#include "mpsched.h"

static const struct mps_param mine_params[] = {
	MPS_BOOL("hold", 0, "nothing"),
};

static struct mps_ops mine_ops = {
	.name		= "mine",
	.params		= mine_params,
	.num_params	= ARRAY_SIZE(mine_params),
};
