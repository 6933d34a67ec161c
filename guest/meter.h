/* SPDX-License-Identifier: GPL-2.0-only */
/* Measures a direction of a path with UDP packets. */
#ifndef METER_H
#define METER_H

/* from one namespace to another; when each left and arrived is written into a file */
void meter_run(const char *ns, char *arguments, int line);

#endif
