/* SPDX-License-Identifier: GPL-2.0-only */
/* Measures a direction of a path with UDP packets. */
#ifndef METER_H
#define METER_H

#include "words.h"

/* TO_NS ADDRESS COUNT BYTES INTERVAL_NS FILE: send from the command's namespace to TO_NS, and
 * write into the file when each packet left and arrived
 */
void meter_run(struct command *command);

#endif
