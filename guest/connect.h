/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes the connections of one end of the traffic. */
#ifndef CONNECT_H
#define CONNECT_H

#include <stdbool.h>

#include "end.h"

/* At the client: begin to connect (flags: SOCK_NONBLOCK, or 0); once connected, send the
 * greeting that says which connection it is.
 */
void start_connecting(struct connection *c, int flags);
void finish_connecting(struct connection *c);
/* connect, and wait until all its subflows are established */
void establish(struct connection *c);
/* Begin to connect all that send at once, at the same time. Returns when the first one is
 * connected, or has failed; false: there is none.
 */
bool open_at_once(void);

/* At the server: listen, accept a connection (a stranger), and read its greeting. */
void listen_for_clients(void);
void accept_stranger(int listener);
void meet_stranger(int i);

#endif
