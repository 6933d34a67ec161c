/* SPDX-License-Identifier: GPL-2.0-only */
/* Addresses of IPv4 and IPv6, as the plan has them. */
#ifndef ADDRESS_H
#define ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* An address without a port: of a family, AF_INET or AF_INET6, with so many bytes. */
struct address {
	uint16_t family;
	uint8_t len;
	uint8_t bytes[sizeof(struct in6_addr)];
};

/* false: it is none */
bool address_parse(struct address *address, const char *text);

/* The address of a socket. */
union socket_address {
	struct sockaddr any;
	struct sockaddr_in ip4;
	struct sockaddr_in6 ip6;
};

/* Sets it, and returns its length. */
socklen_t socket_address_set(union socket_address *to, const struct address *address,
			     unsigned int port);
/* for an IPv6 socket, one of IPv4 as one of IPv6 */
void address_map(struct address *address);
/* the four bytes that say which path's it is: those of an IPv4 address, the last of one of IPv6 */
uint32_t socket_address_last(const struct sockaddr *of);

#endif
