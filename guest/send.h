/* SPDX-License-Identifier: GPL-2.0-only */
/* Sends the messages of one end of the traffic, and ends its connections. */
#ifndef SEND_H
#define SEND_H

#include <stdbool.h>
#include <stdint.h>

#include "end.h"

/* Send what is due and has room. Returns when there is more to do without
 * anything that happens before; *blocked: there is no room.
 */
uint64_t send_messages(struct connection *c, bool *blocked);
/* make anew what is being sent, after its position has changed */
void fill_chunk(struct connection *c);
/* End this direction as soon as it may be, and close when both have ended. Returns when it
 * has to be looked at again.
 */
uint64_t end_connection(struct connection *c, uint64_t now);

#endif
