/* SPDX-License-Identifier: GPL-2.0-only */
/* Captures: files of what passes the devices of a namespace. */
#ifndef CAPTURE_H
#define CAPTURE_H

#include "words.h"

/* write what FILE is to have, of the command's namespace, until captures_end() */
void capture_start(struct command *command);
void captures_end(void);

#endif
