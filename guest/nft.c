// SPDX-License-Identifier: GPL-2.0-only
/* nft and conntrack: what plans need of them.
 *
 *	ip netns exec NS nft add table inet TABLE
 *	ip netns exec NS nft add chain inet TABLE CHAIN '{ type TYPE hook HOOK priority NUMBER; }'
 *	ip netns exec NS nft add rule inet TABLE CHAIN STATEMENT ...
 *	ip netns exec NS nft flush chain inet TABLE CHAIN
 *	ip netns exec NS conntrack -F
 *
 * with the statements
 *
 *	iifname DEVICE | oifname DEVICE | ip daddr ADDRESS | tcp option mptcp exists
 *	drop | reset tcp option mptcp | snat ip to ADDRESS fully-random
 */

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_nat.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "address.h"
#include "base.h"
#include "netlink.h"
#include "nft.h"

#define TCPOPT_MPTCP	30
#define IP_DADDR_OFFSET	16

static void start(int subsystem, int message, int flags, int family)
{
	const struct nfgenmsg head = { .nfgen_family = family, .version = NFNETLINK_V0 };

	request_start(subsystem << 8 | message, flags, &head, sizeof(head));
}

/* nftables has its numbers in the order of the network */
static void add_number(int type, uint32_t number)
{
	request_add_number(type, htonl(number));
}

/* an expression of a rule: an element of its list, and what is in it */
struct expression {
	struct nlattr *element, *data;
};

static struct expression begin(const char *name)
{
	struct expression expression = { .element = request_begin(NFTA_LIST_ELEM) };

	request_add_text(NFTA_EXPR_NAME, name);
	expression.data = request_begin(NFTA_EXPR_DATA);
	return expression;
}

static void end(struct expression expression)
{
	request_end(expression.data);
	request_end(expression.element);
}

static void add_value(int type, const void *value, size_t len)
{
	struct nlattr *data = request_begin(type);

	request_add(NFTA_DATA_VALUE, value, len);
	request_end(data);
}

/* The rule goes on if the register has this value. */
static void compare(const void *value, size_t len)
{
	struct expression expression = begin("cmp");

	add_number(NFTA_CMP_SREG, NFT_REG_1);
	add_number(NFTA_CMP_OP, NFT_CMP_EQ);
	add_value(NFTA_CMP_DATA, value, len);
	end(expression);
}

static void match_meta(enum nft_meta_keys key, const void *value, size_t len)
{
	struct expression expression = begin("meta");

	add_number(NFTA_META_DREG, NFT_REG_1);
	add_number(NFTA_META_KEY, key);
	end(expression);
	compare(value, len);
}

static void match_device(struct command *command, enum nft_meta_keys key)
{
	char name[IFNAMSIZ] = "";
	int index;

	snprintf(name, sizeof(name), "%s", command_device(command, &index));
	match_meta(key, name, sizeof(name));
}

static struct address take_ipv4(struct command *command)
{
	const char *text = command_word(command, "an address");
	struct address ip;

	if (!address_parse(&ip, text) || ip.family != AF_INET)
		command_failed(command, "%s is not an address of IPv4", text);
	return ip;
}

static void match_destination(struct command *command)
{
	const struct address ip = take_ipv4(command);
	const uint8_t ipv4 = NFPROTO_IPV4;
	struct expression expression;

	match_meta(NFT_META_NFPROTO, &ipv4, sizeof(ipv4));
	expression = begin("payload");
	add_number(NFTA_PAYLOAD_DREG, NFT_REG_1);
	add_number(NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER);
	add_number(NFTA_PAYLOAD_OFFSET, IP_DADDR_OFFSET);
	add_number(NFTA_PAYLOAD_LEN, ip.len);
	end(expression);
	compare(ip.bytes, ip.len);
}

/* reset: the option becomes NOPs; or else the rule goes on if the packet has it */
static void take_option(struct command *command, bool reset)
{
	const uint8_t type = TCPOPT_MPTCP, is_there = 1;
	struct expression expression = begin("exthdr");

	if (reset)
		command_expect(command, "tcp");
	command_expect(command, "option");
	command_expect(command, "mptcp");
	add_number(NFTA_EXTHDR_OP, NFT_EXTHDR_OP_TCPOPT);
	request_add(NFTA_EXTHDR_TYPE, &type, sizeof(type));
	if (!reset) {
		command_expect(command, "exists");
		add_number(NFTA_EXTHDR_DREG, NFT_REG_1);
		add_number(NFTA_EXTHDR_OFFSET, 0);
		add_number(NFTA_EXTHDR_LEN, 1);
		add_number(NFTA_EXTHDR_FLAGS, NFT_EXTHDR_F_PRESENT);
	}
	end(expression);
	if (!reset)
		compare(&is_there, sizeof(is_there));
}

static void drop(void)
{
	struct expression expression = begin("immediate");
	struct nlattr *data, *verdict;

	add_number(NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
	data = request_begin(NFTA_IMMEDIATE_DATA);
	verdict = request_begin(NFTA_DATA_VERDICT);
	add_number(NFTA_VERDICT_CODE, NF_DROP);
	request_end(verdict);
	request_end(data);
	end(expression);
}

static void translate(struct command *command)
{
	struct expression expression;
	struct address ip;

	command_expect(command, "ip");
	command_expect(command, "to");
	ip = take_ipv4(command);
	command_expect(command, "fully-random");
	expression = begin("immediate");
	add_number(NFTA_IMMEDIATE_DREG, NFT_REG_1);
	add_value(NFTA_IMMEDIATE_DATA, ip.bytes, ip.len);
	end(expression);
	expression = begin("nat");
	add_number(NFTA_NAT_TYPE, NFT_NAT_SNAT);
	add_number(NFTA_NAT_FAMILY, NFPROTO_IPV4);
	add_number(NFTA_NAT_REG_ADDR_MIN, NFT_REG_1);
	add_number(NFTA_NAT_FLAGS, NF_NAT_RANGE_PROTO_RANDOM_FULLY);
	end(expression);
}

static void take_statement(struct command *command)
{
	if (command_has(command, "iifname")) {
		match_device(command, NFT_META_IIFNAME);
	} else if (command_has(command, "oifname")) {
		match_device(command, NFT_META_OIFNAME);
	} else if (command_has(command, "ip")) {
		command_expect(command, "daddr");
		match_destination(command);
	} else if (command_has(command, "tcp")) {
		take_option(command, false);
	} else if (command_has(command, "reset")) {
		take_option(command, true);
	} else if (command_has(command, "snat")) {
		translate(command);
	} else {
		command_expect(command, "drop");
		drop();
	}
}

/* { type TYPE hook HOOK priority NUMBER; } */
static void take_hook(struct command *command)
{
	static const char * const hooks[] = {
		"prerouting", "input", "forward", "output", "postrouting"
	};
	const char *text = command_word(command, "a hook");
	char type[16], name[16];
	struct nlattr *hook;
	unsigned int i;
	int priority;

	if (sscanf(text, "{ type %15s hook %15s priority %d; }", type, name, &priority) != 3)
		command_failed(command, "%s is not a hook", text);
	for (i = 0; i < NF_INET_NUMHOOKS && strcmp(name, hooks[i]); i++)
		;
	hook = request_begin(NFTA_CHAIN_HOOK);
	add_number(NFTA_HOOK_HOOKNUM, i);
	add_number(NFTA_HOOK_PRIORITY, priority);
	request_end(hook);
	request_add_text(NFTA_CHAIN_TYPE, type);
}

static void start_nft(int message, int flags)
{
	start(NFNL_SUBSYS_NFTABLES, message, flags, NFPROTO_INET);
}

/* inet TABLE CHAIN */
static void take_chain(struct command *command, int table, int chain)
{
	command_expect(command, "inet");
	request_add_text(table, command_word(command, "a table"));
	request_add_text(chain, command_word(command, "a chain"));
}

void nft_run(struct command *command)
{
	if (command_has(command, "flush")) {
		command_expect(command, "chain");
		start_nft(NFT_MSG_DELRULE, 0);
		take_chain(command, NFTA_RULE_TABLE, NFTA_RULE_CHAIN);
		request_send_netfilter(command, true);
		return;
	}
	command_expect(command, "add");
	if (command_has(command, "table")) {
		start_nft(NFT_MSG_NEWTABLE, NLM_F_CREATE);
		command_expect(command, "inet");
		request_add_text(NFTA_TABLE_NAME, command_word(command, "a table"));
	} else if (command_has(command, "chain")) {
		start_nft(NFT_MSG_NEWCHAIN, NLM_F_CREATE);
		take_chain(command, NFTA_CHAIN_TABLE, NFTA_CHAIN_NAME);
		take_hook(command);
	} else {
		struct nlattr *list;

		command_expect(command, "rule");
		start_nft(NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
		take_chain(command, NFTA_RULE_TABLE, NFTA_RULE_CHAIN);
		list = request_begin(NFTA_RULE_EXPRESSIONS);
		while (!command_at_end(command))
			take_statement(command);
		request_end(list);
	}
	request_send_netfilter(command, true);
}

void conntrack_run(struct command *command)
{
	command_expect(command, "-F");
	start(NFNL_SUBSYS_CTNETLINK, IPCTNL_MSG_CT_DELETE, 0, AF_UNSPEC);
	request_send_netfilter(command, false);
}
