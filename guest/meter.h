/* SPDX-License-Identifier: GPL-2.0-only */
/* Measures a direction of a path with UDP packets. */
#ifndef METER_H
#define METER_H

#include "words.h"

/* TO_NS ADDRESS COUNT BYTES INTERVAL_NS FILE: from the command's namespace to another; when each
 * left and arrived is written into the file
 */
void meter_run(struct command *command);

#endif
