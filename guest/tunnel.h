/* SPDX-License-Identifier: GPL-2.0-only */
/* Tunnels: connections that carry the packets of hosts behind their ends. */
#ifndef TUNNEL_H
#define TUNNEL_H

#include "settings.h"
#include "words.h"

/* Start an end, and wait until it listens, or is connected. */
void tunnel_run(struct command *command);
/* the ends of all tunnels; returns how many */
unsigned int tunnel_ends(const struct traffic **ends);
void tunnels_end(void);

#endif
