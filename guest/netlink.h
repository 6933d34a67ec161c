/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests to the kernel over netlink, one at a time. */
#ifndef NETLINK_H
#define NETLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "words.h"

struct nlattr;

/* The request that is being put together: its type and what comes first, attributes with
 * data, attributes with attributes in them.
 */
void request_start(int type, int flags, const void *head, size_t len);
void request_add(int type, const void *data, size_t len);
void request_add_number(int type, uint32_t number);
void request_add_text(int type, const char *text);
struct nlattr *request_begin(int type);
void request_end(struct nlattr *attribute);
/* data without an attribute's header; returns where it lies until it is sent */
void *request_append(const void *data, size_t len);
/* Send it in the command's namespace, to rtnetlink or to a generic family, and wait until it is
 * done. Gives up if the command has more words.
 */
void request_send(const struct command *command);
void request_send_generic(const struct command *command);
/* the same, to netfilter; nftables takes its requests in batches */
void request_send_netfilter(const struct command *command, bool batch);
int generic_family(const char *ns, const char *name);

/* take the next word as a device of the command's namespace */
const char *command_device(struct command *command, int *index);
/* close the sockets that are kept */
void netlink_close(void);

#endif
