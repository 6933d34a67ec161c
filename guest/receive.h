/* SPDX-License-Identifier: GPL-2.0-only */
/* Receives the messages of one end of the traffic, and verifies them. */
#ifndef RECEIVE_H
#define RECEIVE_H

#include "end.h"

/* take what has arrived on a connection, up to a chunk of it */
void receive(struct connection *c);
/* take note of what has arrived and was verified, none of it units */
void count_received(struct connection *c, uint64_t got, uint64_t now);

#endif
