/* SPDX-License-Identifier: GPL-2.0-only */
/* Makes the connections of one end of the traffic. */
#ifndef CONNECT_H
#define CONNECT_H

#include <stdbool.h>

#include "end.h"

/* The client's: begin to connect (flags: SOCK_NONBLOCK, or 0), and when it is done, greet. */
void start_connecting(struct connection *c, int flags);
void finish_connecting(struct connection *c);
/* one that has all its subflows before START */
void establish(struct connection *c);
/* Open at the same time all that send at once. Returns when the first one is connected, or
 * has failed; false: there is none.
 */
bool open_at_once(void);

/* The server's: listen, take whoever comes, and find out which connection it is. */
void listen_for_clients(void);
void accept_stranger(int listener);
void meet_stranger(int i);

#endif
