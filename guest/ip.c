// SPDX-License-Identifier: GPL-2.0-only
/* ip: what plans need of it.
 *
 *	ip netns add NAME
 *	ip link add DEVICE netns NS address MAC type veth peer name DEVICE netns NS address MAC
 *	ip -n NS link set DEVICE up | down
 *	ip -n NS link set DEVICE mtu NUMBER | txqueuelen NUMBER | gso_max_segs NUMBER
 *	ip -n NS link set DEVICE arp off multicast off
 *	ip -n NS link set DEVICE multipath on | off | backup
 *	ip -n NS addr add|del ADDRESS/LENGTH dev DEVICE [nodad]
 *	ip -n NS neigh add|replace ADDRESS lladdr MAC dev DEVICE
 *	ip -n NS [-6] rule add|del from ADDRESS table NUMBER
 *	ip -n NS route add|replace default|ADDRESS/LENGTH via ADDRESS [dev DEVICE]
 *		[table NUMBER] [metric NUMBER]
 *	ip -n NS mptcp limits set subflow NUMBER add_addr_accepted NUMBER
 *	ip -n NS mptcp endpoint add ADDRESS [id ID] dev DEVICE [signal] [subflow] [backup]
 *		[fullmesh]
 *	ip -n NS mptcp endpoint delete id ID [ADDRESS]
 *	ip -n NS mptcp endpoint change ADDRESS backup|nobackup [fullmesh]
 *	ip -n NS mptcp endpoint flush
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fib_rules.h>
#include <linux/genetlink.h>
#include <linux/mptcp.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "address.h"
#include "base.h"
#include "ip.h"
#include "netlink.h"
#include "words.h"

#define NEW	(NLM_F_CREATE | NLM_F_EXCL)
#define ANEW	(NLM_F_CREATE | NLM_F_REPLACE)
#define MAC_BYTES	6
/* of a device, with the out-of-tree MPTCP: no header of today has them */
#define IFF_NOMULTIPATH	0x80000
#define IFF_MPBACKUP	0x100000

/* The name of a namespace is a file on which it is mounted, as with `ip netns`. */
static void add_namespace(struct command *command)
{
	const char *name = command_word(command, "a name");
	char path[64];
	int fd;

	command_expect_end(command);
	snprintf(path, sizeof(path), NETNS_DIR "/%s", name);
	if (mkdir(NETNS_DIR, 0755) && errno != EEXIST)
		command_failed(command, "%s: %s", NETNS_DIR, strerror(errno));
	fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0);
	if (fd < 0 || close(fd) || unshare(CLONE_NEWNET) ||
	    mount("/proc/self/ns/net", path, "none", MS_BIND, NULL))
		command_failed(command, "%s", strerror(errno));
	enter_namespace(NULL);
}

static struct address parse_ip(const struct command *command, const char *text)
{
	struct address ip;

	if (!address_parse(&ip, text))
		command_failed(command, "%s is not an address of IPv4 or IPv6", text);
	return ip;
}

static struct address take_ip(struct command *command)
{
	return parse_ip(command, command_word(command, "an address"));
}

/* ADDRESS/LENGTH */
static struct address take_network(struct command *command, uint8_t *length)
{
	const char *word = command_word(command, "an address");
	char text[INET6_ADDRSTRLEN];
	unsigned int bits = 0;
	struct address ip;

	if (sscanf(word, "%45[^/]/%u", text, &bits) != 2)
		command_failed(command, "%s is not an address and its length", word);
	ip = parse_ip(command, text);
	if (bits > 8u * ip.len)
		command_failed(command, "%s is not an address and its length", word);
	*length = bits;
	return ip;
}

static void take_mac(struct command *command, uint8_t bytes[MAC_BYTES])
{
	const char *word = command_word(command, "an Ethernet address");
	int end = 0;

	if (sscanf(word, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx%n", &bytes[0], &bytes[1], &bytes[2],
		   &bytes[3], &bytes[4], &bytes[5], &end) != MAC_BYTES || word[end])
		command_failed(command, "%s is not an Ethernet address", word);
}

/* DEVICE netns NS address MAC; returns a file of the namespace */
static int one_end(struct command *command, const char *name)
{
	uint8_t bytes[MAC_BYTES];
	const char *ns;
	int fd;

	request_add_text(IFLA_IFNAME, name);
	command_expect(command, "netns");
	ns = command_word(command, "a namespace");
	fd = open_namespace(ns);
	if (fd < 0)
		command_failed(command, NETNS_DIR "/%s: %s", ns, strerror(errno));
	request_add_number(IFLA_NET_NS_FD, fd);
	command_expect(command, "address");
	take_mac(command, bytes);
	request_add(IFLA_ADDRESS, bytes, sizeof(bytes));
	return fd;
}

static void add_link(struct command *command)
{
	const struct ifinfomsg head = {};
	struct nlattr *info, *data, *peer;
	int one, other;

	request_start(RTM_NEWLINK, NEW, &head, sizeof(head));
	one = one_end(command, command_word(command, "a device"));
	command_expect(command, "type");
	command_expect(command, "veth");
	info = request_begin(IFLA_LINKINFO);
	request_add_text(IFLA_INFO_KIND, "veth");
	data = request_begin(IFLA_INFO_DATA);
	peer = request_begin(VETH_INFO_PEER);
	request_append(&head, sizeof(head));
	command_expect(command, "peer");
	command_expect(command, "name");
	other = one_end(command, command_word(command, "a device"));
	request_end(peer);
	request_end(data);
	request_end(info);
	request_send(command);
	close(one);
	close(other);
}

static unsigned int devices_up;

static void set_number(struct command *command, struct ifinfomsg *head, uint16_t what)
{
	head->ifi_change = 0;
	request_start(RTM_NEWLINK, 0, head, sizeof(*head));
	request_add_number(what, command_number(command, UINT32_MAX));
}

/* on | off | backup */
static uint32_t take_multipath(struct command *command)
{
	const char *word = command_word(command, "on, off or backup");

	if (!strcmp(word, "off"))
		return IFF_NOMULTIPATH;
	if (!strcmp(word, "backup"))
		return IFF_MPBACKUP;
	if (strcmp(word, "on"))
		command_failed(command, "%s is not on, off or backup", word);
	return 0;
}

static void set_link(struct command *command)
{
	struct ifinfomsg head = {};

	command_device(command, &head.ifi_index);
	head.ifi_change = IFF_UP;
	if (command_has(command, "arp")) {
		command_expect(command, "off");
		command_expect(command, "multicast");
		command_expect(command, "off");
		head.ifi_flags = IFF_NOARP;
		head.ifi_change = IFF_NOARP | IFF_MULTICAST;
		request_start(RTM_NEWLINK, 0, &head, sizeof(head));
	} else if (command_has(command, "multipath")) {
		head.ifi_flags = take_multipath(command);
		head.ifi_change = IFF_NOMULTIPATH | IFF_MPBACKUP;
		request_start(RTM_NEWLINK, 0, &head, sizeof(head));
	} else if (command_has(command, "up")) {
		head.ifi_flags = IFF_UP;
		devices_up++;
		request_start(RTM_NEWLINK, 0, &head, sizeof(head));
	} else if (command_has(command, "down")) {
		request_start(RTM_NEWLINK, 0, &head, sizeof(head));
	} else if (command_has(command, "mtu")) {
		set_number(command, &head, IFLA_MTU);
	} else if (command_has(command, "txqueuelen")) {
		set_number(command, &head, IFLA_TXQLEN);
	} else if (command_has(command, "gso_max_segs")) {
		set_number(command, &head, IFLA_GSO_MAX_SEGS);
	} else {
		command_failed(command, "%s is expected",
			       "up, down, arp, multipath, mtu, txqueuelen or gso_max_segs");
	}
	request_send(command);
}

/* Linux lets a hundred devices a second begin to send after they are set up
 * (net/core/link_watch.c); the others lose what they are given before.
 */
#define DEVICES_PER_SECOND	100

uint64_t sleep_until_set_up(void)
{
	uint64_t seconds = now_ns() / NS_PER_SEC + 1 + devices_up / DEVICES_PER_SECOND;

	sleep_until(seconds * NS_PER_SEC);
	return seconds * NS_PER_SEC;
}

static void put_address_of(struct command *command, int type, int flags)
{
	struct ifaddrmsg head = {};
	struct address ip = take_network(command, &head.ifa_prefixlen);
	int device;

	command_expect(command, "dev");
	command_device(command, &device);
	head.ifa_family = ip.family;
	head.ifa_index = device;
	request_start(type, flags, &head, sizeof(head));
	request_add(IFA_LOCAL, ip.bytes, ip.len);
	request_add(IFA_ADDRESS, ip.bytes, ip.len);
	if (command_has(command, "nodad"))
		request_add_number(IFA_FLAGS, IFA_F_NODAD);
	request_send(command);
}

static void add_address(struct command *command)
{
	put_address_of(command, RTM_NEWADDR, NEW);
}

static void delete_address(struct command *command)
{
	put_address_of(command, RTM_DELADDR, 0);
}

static void put_neighbour(struct command *command, int flags)
{
	struct address ip = take_ip(command);
	struct ndmsg head = { .ndm_family = ip.family, .ndm_state = NUD_PERMANENT };
	uint8_t bytes[MAC_BYTES];

	command_expect(command, "lladdr");
	take_mac(command, bytes);
	command_expect(command, "dev");
	command_device(command, &head.ndm_ifindex);
	request_start(RTM_NEWNEIGH, flags, &head, sizeof(head));
	request_add(NDA_DST, ip.bytes, ip.len);
	request_add(NDA_LLADDR, bytes, sizeof(bytes));
	request_send(command);
}

static void add_neighbour(struct command *command)
{
	put_neighbour(command, NEW);
}

static void replace_neighbour(struct command *command)
{
	put_neighbour(command, ANEW);
}

static void put_rule(struct command *command, int type, int flags)
{
	struct fib_rule_hdr head = { .action = FR_ACT_TO_TBL };
	struct address ip;

	command_expect(command, "from");
	ip = take_ip(command);
	command_expect(command, "table");
	head.family = ip.family;
	head.src_len = 8 * ip.len;
	request_start(type, flags, &head, sizeof(head));
	request_add(FRA_SRC, ip.bytes, ip.len);
	request_add_number(FRA_TABLE, command_number(command, UINT32_MAX));
	request_send(command);
}

static void add_rule(struct command *command)
{
	put_rule(command, RTM_NEWRULE, NEW);
}

static void delete_rule(struct command *command)
{
	put_rule(command, RTM_DELRULE, 0);
}

static void put_route(struct command *command, int flags)
{
	struct rtmsg head = {
		.rtm_protocol = RTPROT_BOOT,
		.rtm_scope = RT_SCOPE_UNIVERSE,
		.rtm_type = RTN_UNICAST,
	};
	bool everywhere = command_has(command, "default");
	uint32_t table = RT_TABLE_MAIN, metric = 0;
	struct address to, gateway;
	int device = 0;

	if (!everywhere)
		to = take_network(command, &head.rtm_dst_len);
	command_expect(command, "via");
	gateway = take_ip(command);
	if (command_has(command, "dev"))
		command_device(command, &device);
	if (command_has(command, "table"))
		table = command_number(command, UINT32_MAX);
	if (command_has(command, "metric"))
		metric = command_number(command, UINT32_MAX);
	head.rtm_family = gateway.family;
	request_start(RTM_NEWROUTE, flags, &head, sizeof(head));
	if (!everywhere)
		request_add(RTA_DST, to.bytes, to.len);
	request_add(RTA_GATEWAY, gateway.bytes, gateway.len);
	if (device)
		request_add_number(RTA_OIF, device);
	request_add_number(RTA_TABLE, table);
	if (metric)
		request_add_number(RTA_PRIORITY, metric);
	request_send(command);
}

static void add_route(struct command *command)
{
	put_route(command, NEW);
}

static void replace_route(struct command *command)
{
	put_route(command, ANEW);
}

/* MPTCP */

static void start_mptcp(const struct command *command, uint8_t what)
{
	const struct genlmsghdr head = { .cmd = what, .version = MPTCP_PM_VER };
	static int family;

	if (!family)
		family = generic_family(command->ns, MPTCP_PM_NAME);
	request_start(family, 0, &head, sizeof(head));
}

static void set_limits(struct command *command)
{
	command_expect(command, "set");
	start_mptcp(command, MPTCP_PM_CMD_SET_LIMITS);
	command_expect(command, "subflow");
	request_add_number(MPTCP_PM_ATTR_SUBFLOWS, command_number(command, UINT32_MAX));
	command_expect(command, "add_addr_accepted");
	request_add_number(MPTCP_PM_ATTR_RCV_ADD_ADDRS, command_number(command, UINT32_MAX));
	request_send_generic(command);
}

static void put_address(struct command *command)
{
	struct address ip = take_ip(command);

	request_add(MPTCP_PM_ADDR_ATTR_FAMILY, &ip.family, sizeof(ip.family));
	request_add(ip.family == AF_INET ? MPTCP_PM_ADDR_ATTR_ADDR4 : MPTCP_PM_ADDR_ATTR_ADDR6,
		    ip.bytes, ip.len);
}

static void put_id(struct command *command)
{
	const uint8_t id = command_number(command, UINT8_MAX);

	request_add(MPTCP_PM_ADDR_ATTR_ID, &id, sizeof(id));
}

static void add_endpoint(struct command *command)
{
	static const struct {
		const char *name;
		uint32_t flag;
	} kinds[] = {
		{ "signal", MPTCP_PM_ADDR_FLAG_SIGNAL },
		{ "subflow", MPTCP_PM_ADDR_FLAG_SUBFLOW },
		{ "backup", MPTCP_PM_ADDR_FLAG_BACKUP },
		{ "fullmesh", MPTCP_PM_ADDR_FLAG_FULLMESH },
	};
	uint32_t flags = 0;
	int device;
	size_t i;

	put_address(command);
	if (command_has(command, "id"))
		put_id(command);
	command_expect(command, "dev");
	command_device(command, &device);
	request_add_number(MPTCP_PM_ADDR_ATTR_IF_IDX, device);
	for (i = 0; i < COUNT(kinds); i++)
		if (command_has(command, kinds[i].name))
			flags |= kinds[i].flag;
	request_add_number(MPTCP_PM_ADDR_ATTR_FLAGS, flags);
}

static void delete_endpoint(struct command *command)
{
	command_expect(command, "id");
	put_id(command);
	if (!command_at_end(command))
		put_address(command);
}

static void change_endpoint(struct command *command)
{
	uint32_t flags = 0;

	put_address(command);
	if (command_has(command, "backup"))
		flags = MPTCP_PM_ADDR_FLAG_BACKUP;
	else
		command_expect(command, "nobackup");
	if (command_has(command, "fullmesh"))
		flags |= MPTCP_PM_ADDR_FLAG_FULLMESH;
	request_add_number(MPTCP_PM_ADDR_ATTR_FLAGS, flags);
}

static void endpoint(struct command *command)
{
	static const struct {
		const char *verb;
		uint8_t asks;
		void (*put)(struct command *command);
	} verbs[] = {
		{ "add", MPTCP_PM_CMD_ADD_ADDR, add_endpoint },
		{ "delete", MPTCP_PM_CMD_DEL_ADDR, delete_endpoint },
		{ "change", MPTCP_PM_CMD_SET_FLAGS, change_endpoint },
	};
	struct nlattr *nest;
	size_t i;

	if (command_has(command, "flush")) {
		start_mptcp(command, MPTCP_PM_CMD_FLUSH_ADDRS);
		request_send_generic(command);
		return;
	}
	for (i = 0; i < COUNT(verbs); i++)
		if (command_has(command, verbs[i].verb))
			break;
	if (i == COUNT(verbs))
		command_failed(command, "add, delete, change or flush is expected");
	start_mptcp(command, verbs[i].asks);
	nest = request_begin(MPTCP_PM_ATTR_ADDR | NLA_F_NESTED);
	verbs[i].put(command);
	request_end(nest);
	request_send_generic(command);
}

void ip_run(struct command *command)
{
	static const struct {
		const char *object, *verb;
		void (*run)(struct command *command);
	} forms[] = {
		{ "netns", "add", add_namespace },
		{ "link", "add", add_link },
		{ "link", "set", set_link },
		{ "addr", "add", add_address },
		{ "addr", "del", delete_address },
		{ "neigh", "add", add_neighbour },
		{ "neigh", "replace", replace_neighbour },
		{ "rule", "add", add_rule },
		{ "rule", "del", delete_rule },
		{ "route", "add", add_route },
		{ "route", "replace", replace_route },
		{ "mptcp", "limits", set_limits },
		{ "mptcp", "endpoint", endpoint },
	};
	const char *object = command_word(command, "an object");
	const char *verb = command_word(command, "a verb");
	size_t i;

	for (i = 0; i < COUNT(forms); i++)
		if (!strcmp(object, forms[i].object) && !strcmp(verb, forms[i].verb))
			return forms[i].run(command);
	command_failed(command, "ip %s %s is not known to the guest", object, verb);
}
