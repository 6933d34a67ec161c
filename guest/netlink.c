// SPDX-License-Identifier: GPL-2.0-only
/* Requests to the kernel over netlink, one at a time: a request is put together, sent in a
 * namespace, and answered.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base.h"
#include "netlink.h"
#include "words.h"

union message {
	struct nlmsghdr header;
	char bytes[2048];
};

static union message request, reply;

/* Lines of the same namespace follow each other, so the sockets in it stay open: of all
 * kinds of netlink, and one to look up devices.
 */
static struct {
	char ns[32];
	int route, generic, netfilter, devices;	/* -1: not open */
} sockets = { .route = -1, .generic = -1, .netfilter = -1, .devices = -1 };

static void leave(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void netlink_close(void)
{
	leave(&sockets.route);
	leave(&sockets.generic);
	leave(&sockets.netfilter);
	leave(&sockets.devices);
}

/* The socket of one kind in a namespace. */
static int in_namespace(const char *ns, int *fd, int family, int type, int protocol)
{
	const int on = 1;

	if (strcmp(ns, sockets.ns)) {
		netlink_close();
		snprintf(sockets.ns, sizeof(sockets.ns), "%s", ns);
	}
	if (*fd >= 0)
		return *fd;
	enter_namespace(ns);
	*fd = socket(family, type | SOCK_CLOEXEC, protocol);
	enter_namespace(NULL);
	/* so that the kernel says in words why it refuses a request */
	if (*fd < 0 || (family == AF_NETLINK &&
			setsockopt(*fd, SOL_NETLINK, NETLINK_EXT_ACK, &on, sizeof(on))))
		give_up("a socket in namespace %s: %s", ns, strerror(errno));
	return *fd;
}

/* 0: there is none of that name */
static int device_index(const char *ns, const char *device)
{
	int fd = in_namespace(ns, &sockets.devices, AF_INET, SOCK_DGRAM, 0);
	struct ifreq asked = {};

	snprintf(asked.ifr_name, sizeof(asked.ifr_name), "%s", device);
	return ioctl(fd, SIOCGIFINDEX, &asked) ? 0 : asked.ifr_ifindex;
}

const char *command_device(struct command *command, int *index)
{
	const char *name = command_word(command, "a device");

	*index = device_index(command->ns, name);
	if (!*index)
		command_failed(command, "there is no device %s", name);
	return name;
}

/* Room at the end of the request. */
static void *extend(size_t len)
{
	size_t at = NLMSG_ALIGN(request.header.nlmsg_len);

	if (at + len > sizeof(request))
		give_up("netlink: a request of more than %zu bytes", sizeof(request));
	memset(request.bytes + request.header.nlmsg_len, 0, at - request.header.nlmsg_len);
	request.header.nlmsg_len = at + len;
	return request.bytes + at;
}

void request_start(int type, int flags, const void *head, size_t len)
{
	request.header = (struct nlmsghdr) {
		.nlmsg_len = NLMSG_HDRLEN,
		.nlmsg_type = type,
		.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags,
	};
	request_append(head, len);
}

void *request_append(const void *data, size_t len)
{
	return memcpy(extend(len), data, len);
}

struct nlattr *request_begin(int type)
{
	struct nlattr *attribute = extend(sizeof(*attribute));

	*attribute = (struct nlattr) { .nla_type = type };
	return attribute;
}

void request_end(struct nlattr *attribute)
{
	attribute->nla_len = request.bytes + request.header.nlmsg_len - (char *)attribute;
}

void request_add(int type, const void *data, size_t len)
{
	struct nlattr *attribute = request_begin(type);

	request_append(data, len);
	request_end(attribute);
}

void request_add_number(int type, uint32_t number)
{
	request_add(type, &number, sizeof(number));
}

void request_add_text(int type, const char *text)
{
	request_add(type, text, strlen(text) + 1);
}

/* The data of an attribute of what was received; NULL: there is none of that type. */
static const void *find(const union message *message, size_t at, int type)
{
	while (at + NLA_HDRLEN <= message->header.nlmsg_len) {
		const struct nlattr *attribute = (const void *)(message->bytes + at);

		if ((attribute->nla_type & NLA_TYPE_MASK) == type)
			return message->bytes + at + NLA_HDRLEN;
		if (attribute->nla_len < NLA_HDRLEN)
			break;
		at += NLA_ALIGN(attribute->nla_len);
	}
	return NULL;
}

/* Waits until the kernel has done what it was asked. Returns why it has not, or NULL; what it
 * answers before that is in reply.
 */
static const char *hear(int fd)
{
	static union message heard;
	const struct nlmsgerr *error = NLMSG_DATA(&heard.header);
	const char *words = NULL;
	ssize_t len;

	for (;;) {
		len = recv(fd, &heard, sizeof(heard), 0);
		if (len < (ssize_t)NLMSG_HDRLEN)
			return len < 0 ? strerror(errno) : "an answer of the kernel was cut off";
		if (heard.header.nlmsg_type == NLMSG_ERROR)
			break;
		reply = heard;
	}
	if (!error->error)
		return NULL;
	if (heard.header.nlmsg_flags & NLM_F_ACK_TLVS)
		/* behind the request, which is repeated in an error */
		words = find(&heard, NLMSG_HDRLEN + sizeof(*error) +
			     NLMSG_ALIGN(error->msg.nlmsg_len) - NLMSG_HDRLEN, NLMSGERR_ATTR_MSG);
	return words ? words : strerror(-error->error);
}

/* Sends the request and hears the answer. */
static const char *ask(int fd)
{
	if (send(fd, &request, request.header.nlmsg_len, 0) < 0)
		return strerror(errno);
	return hear(fd);
}

/* The same for nftables, between the two messages that make it a batch. */
static const char *ask_in_batch(int fd)
{
	struct {
		struct nlmsghdr header;
		struct nfgenmsg body;
	} first = {
		.header = { sizeof(first), NFNL_MSG_BATCH_BEGIN, NLM_F_REQUEST },
		.body.res_id = htons(NFNL_SUBSYS_NFTABLES),
	}, last = first;
	const struct iovec parts[] = {
		{ &first, sizeof(first) },
		{ &request, NLMSG_ALIGN(request.header.nlmsg_len) },
		{ &last, sizeof(last) },
	};

	last.header.nlmsg_type = NFNL_MSG_BATCH_END;
	if (writev(fd, parts, COUNT(parts)) < 0)
		return strerror(errno);
	return hear(fd);
}

static const char *ask_route(const char *ns)
{
	return ask(in_namespace(ns, &sockets.route, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
}

static const char *ask_generic(const char *ns)
{
	return ask(in_namespace(ns, &sockets.generic, AF_NETLINK, SOCK_RAW, NETLINK_GENERIC));
}

static int netfilter(const char *ns)
{
	return in_namespace(ns, &sockets.netfilter, AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER);
}

static const char *ask_netfilter(const char *ns)
{
	return ask(netfilter(ns));
}

static const char *ask_nft(const char *ns)
{
	return ask_in_batch(netfilter(ns));
}

static void carry_out(const struct command *command, const char *(*ask_it)(const char *ns))
{
	const char *failed;

	command_expect_end(command);
	failed = ask_it(command->ns);
	if (failed)
		command_failed(command, "%s", failed);
}

void request_send(const struct command *command)
{
	carry_out(command, ask_route);
}

void request_send_generic(const struct command *command)
{
	carry_out(command, ask_generic);
}

void request_send_netfilter(const struct command *command, bool batch)
{
	carry_out(command, batch ? ask_nft : ask_netfilter);
}

int generic_family(const char *ns, const char *name)
{
	const struct genlmsghdr head = { .cmd = CTRL_CMD_GETFAMILY, .version = 1 };
	const uint16_t *family;
	const char *failed;

	request_start(GENL_ID_CTRL, 0, &head, sizeof(head));
	request_add_text(CTRL_ATTR_FAMILY_NAME, name);
	failed = ask_generic(ns);
	if (failed)
		give_up("netlink: %s: %s", name, failed);
	family = find(&reply, NLMSG_HDRLEN + GENL_HDRLEN, CTRL_ATTR_FAMILY_ID);
	if (!family)
		give_up("netlink: %s has no number", name);
	return *family;
}
