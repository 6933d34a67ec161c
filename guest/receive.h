/* SPDX-License-Identifier: GPL-2.0-only */
/* Receives the messages of one end of the traffic, and verifies them. */
#ifndef RECEIVE_H
#define RECEIVE_H

#include "end.h"

/* take what has arrived on a connection, up to a chunk of it */
void receive(struct connection *c);

#endif
