/* SPDX-License-Identifier: GPL-2.0-only */
/* Captures: files of what passes the devices of a namespace. */
#ifndef CAPTURE_H
#define CAPTURE_H

/* write it into RUN_DIR/file, until captures_end() */
void capture_start(const char *ns, const char *file, int line);
void captures_end(void);

#endif
