// SPDX-License-Identifier: GPL-2.0-only
/* Addresses of IPv4 and IPv6. */

#include <arpa/inet.h>
#include <string.h>

#include "address.h"

bool address_parse(struct address *address, const char *text)
{
	*address = (struct address) { .family = AF_INET, .len = sizeof(struct in_addr) };
	if (strchr(text, ':'))
		*address = (struct address) { .family = AF_INET6, .len = sizeof(struct in6_addr) };
	return inet_pton(address->family, text, address->bytes) == 1;
}

void address_map(struct address *address)
{
	struct address mapped = {
		.family = AF_INET6,
		.len = sizeof(struct in6_addr),
		.bytes = { [10] = 0xff, 0xff },
	};

	if (address->family == AF_INET6)
		return;
	memcpy(mapped.bytes + 12, address->bytes, address->len);
	*address = mapped;
}

socklen_t socket_address_set(union socket_address *to, const struct address *address,
			     unsigned int port)
{
	*to = (union socket_address) {};
	if (address->family == AF_INET) {
		to->ip4.sin_family = AF_INET;
		to->ip4.sin_port = htons(port);
		memcpy(&to->ip4.sin_addr, address->bytes, address->len);
		return sizeof(to->ip4);
	}
	to->ip6.sin6_family = AF_INET6;
	to->ip6.sin6_port = htons(port);
	memcpy(&to->ip6.sin6_addr, address->bytes, address->len);
	return sizeof(to->ip6);
}

uint32_t socket_address_last(const struct sockaddr *of)
{
	const union socket_address *address = (const union socket_address *)of;

	if (of->sa_family == AF_INET6)
		return address->ip6.sin6_addr.s6_addr32[3];
	return address->ip4.sin_addr.s_addr;
}
