// SPDX-License-Identifier: GPL-2.0-only
/* sleepy: waits, whatever there is to send.
 *
 * For tests that a scheduler that never decides does not stop a connection.
 */

#include "mpsched.h"

static bool sleepy_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	return false;
}

static struct mps_ops sleepy = {
	.next_segment	= sleepy_next_segment,
	.name		= "sleepy",
	.owner		= THIS_MODULE,
};

mps_scheduler(sleepy);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("MPTCP scheduler for tests: waits");
