/* SPDX-License-Identifier: GPL-2.0-only */
/* Plays the messages of a crowd: many connections between two hosts. */
#ifndef CROWD_H
#define CROWD_H

/* At the client: open each connection when its message is due, and return when all have ended.
 * Those that have failed go into the pipe, by their numbers.
 */
void crowd_connect(int failed_pipe);
/* at the server, which has such a pipe, too */
void crowd_accept(int failed_pipe);

#endif
