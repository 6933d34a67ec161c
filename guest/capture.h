/* SPDX-License-Identifier: GPL-2.0-only */
/* Captures: files of the packets that pass the devices of a namespace. */
#ifndef CAPTURE_H
#define CAPTURE_H

#include "words.h"

/* FILE: capture into it in the command's namespace, until captures_end() */
void capture_start(struct command *command);
void captures_end(void);

#endif
