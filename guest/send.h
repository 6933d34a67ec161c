/* SPDX-License-Identifier: GPL-2.0-only */
/* Sends the messages of one end of the traffic, and ends its connections. */
#ifndef SEND_H
#define SEND_H

#include <stdbool.h>
#include <stdint.h>

#include "end.h"

/* Send what is due, as far as there is room. Returns when there is more to send, whatever
 * happens; *blocked: there is no room now.
 */
uint64_t send_messages(struct connection *c, bool *blocked);
/* make the chunk that is being sent anew, after the position in the stream has changed */
void fill_chunk(struct connection *c);
/* End this end's direction as soon as it may end, and close the connection when both have
 * ended. Returns when to call it again.
 */
uint64_t end_connection(struct connection *c, uint64_t now);

#endif
