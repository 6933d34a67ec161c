/* SPDX-License-Identifier: GPL-2.0-only */
/* What the plan says about one end of the traffic, or about what is recorded of programs. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "words.h"

/* One end of a pair of hosts, and of the connections between them. */
struct traffic {
	char ns[32];
	bool is_server;
	bool tcp;
	bool udp;		/* a flow: each message is a packet, which may be lost */
	bool ipv6;		/* sockets of IPv6, which reach IPv4, too */
	bool trace;		/* the scheduler's decisions */
	bool states;		/* what it saw, and what it answered */
	bool fresh;		/* connections are made when their first message is due */
	bool at_once;		/* data is sent when the first subflow is there */
	bool may_fall_back;	/* a path without MPTCP leaves plain TCP */
	bool no_delay;		/* small messages do not wait for an ACK (Nagle) */
	char peer[INET6_ADDRSTRLEN];
	unsigned int port;
	unsigned int first_path;	/* its addresses end with 10.0.p.1 and 10.1.p.1, from 1 */
	unsigned int paths;
	unsigned int connections;	/* how many of them, in order; 0: all */
	uint64_t duration_ns;	/* of messages without a size, after START */
	uint64_t sample_interval_ns;
	uint64_t crowd_interval_ns;	/* the same for the connections of a crowd; 0: it is none */
	uint64_t seed;
	uint64_t not_sent_lowat;	/* of the socket, in bytes; 0: none */
	char behind[32];	/* of a tunnel: the namespace whose packets it carries */
	char scheduler[16];	/* for the connections; "": that of the namespace */
	/* the player's, see player.c */
	uint64_t segment_ns;
	uint64_t buffer_ns;
	uint64_t reservoir_ns;
	uint64_t cushion_ns;
};

/* Take those of a line "ip netns exec NS traffic server|client --NAME VALUE ...", whose words
 * up to traffic are taken.
 */
void settings_take(struct traffic *t, struct command *command);
/* set the one of that name; false: there is none */
bool settings_set(struct traffic *t, const char *name, const char *value, int line);

#endif
