// SPDX-License-Identifier: GPL-2.0-only
/* The commands of the plan that a person could have typed.
 *
 *	ip REST | ip -n NS [-6] REST | tc -n NS REST
 *	[ip netns exec NS] sysctl -qw KEY=VALUE ...
 *	ip netns exec NS ethtool -K DEV FEATURE on|off ...
 *	ip netns exec NS nft|conntrack REST
 *
 * No tool of the host is started: to start a process costs more than what it does, and
 * results would depend on the version that a machine has. ip, tc and nft have files of their own.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base.h"
#include "command.h"
#include "ip.h"
#include "nft.h"
#include "tc.h"

/* of a device; 6.12 knows 64, a multiple of 32 */
#define MAX_FEATURES	256

static void set_sysctl(struct command *command)
{
	const char *assignment = command_word(command, "KEY=VALUE");
	const char *value = strchr(assignment, '=');
	char path[256], *p;
	int fd;

	if (!value)
		command_failed(command, "%s has no value", assignment);
	snprintf(path, sizeof(path), "/proc/sys/%.*s", (int)(value - assignment), assignment);
	for (p = path; *p; p++)
		if (*p == '.')
			*p = '/';
	value++;
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		command_failed(command, "%s: %s", assignment, strerror(errno));
	close(fd);
}

/* Asks the kernel for something of a device's. */
static int ask_ethtool(int fd, const char *device, void *what)
{
	struct ifreq request = { .ifr_data = what };

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", device);
	return ioctl(fd, SIOCETHTOOL, &request);
}

/* A feature by the kernel's name for it: 0, or what ioctl() says; EOPNOTSUPP if there is none. */
static int set_feature(int fd, const char *device, const char *name, bool on)
{
	/* each ends with an array, whose elements are in the room behind it */
	union {
		struct ethtool_sset_info info;
		uint8_t room[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
	} set = { .info = { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ull << ETH_SS_FEATURES } };
	union {
		struct ethtool_gstrings strings;
		uint8_t room[sizeof(struct ethtool_gstrings) + MAX_FEATURES * ETH_GSTRING_LEN];
	} all = { .strings = { .cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_FEATURES } };
	union {
		struct ethtool_sfeatures features;
		uint8_t room[sizeof(struct ethtool_sfeatures) +
			     MAX_FEATURES / 32 * sizeof(struct ethtool_set_features_block)];
	} change = { .room = {} };
	uint32_t i, count;

	if (ask_ethtool(fd, device, &set))
		return -1;
	errno = EOPNOTSUPP;
	count = set.info.data[0];
	if (!set.info.sset_mask || count > MAX_FEATURES || ask_ethtool(fd, device, &all))
		return -1;
	for (i = 0; i < count; i++)
		if (!strncmp((char *)all.strings.data + i * ETH_GSTRING_LEN, name, ETH_GSTRING_LEN))
			break;
	if (i == count)
		return -1;
	change.features.cmd = ETHTOOL_SFEATURES;
	change.features.size = (count + 31) / 32;
	change.features.features[i / 32].valid = 1u << i % 32;
	change.features.features[i / 32].requested = on ? 1u << i % 32 : 0;
	/* more than 0: it stays as it is */
	return ask_ethtool(fd, device, &change);
}

static void set_offload(struct command *command, const char *device)
{
	static const struct {
		const char *name;
		uint32_t command;
	} features[] = {
		{ "tso", ETHTOOL_STSO },
		{ "gso", ETHTOOL_SGSO },
		{ "gro", ETHTOOL_SGRO },
	};
	const char *feature = command_word(command, "a feature");
	bool on = !strcmp(command_word(command, "on or off"), "on");
	struct ethtool_value value = { .data = on };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int wrong;
	size_t i;

	for (i = 0; i < COUNT(features); i++)
		if (!strcmp(features[i].name, feature))
			value.cmd = features[i].command;
	if (value.cmd)
		wrong = ask_ethtool(fd, device, &value);
	else
		wrong = set_feature(fd, device, feature, on);
	if (wrong)
		command_failed(command, "%s: %s", feature, strerror(errno));
	close(fd);
}

static void set_sysctls(struct command *command)
{
	command_expect(command, "-qw");
	while (!command_at_end(command))
		set_sysctl(command);
}

static void set_offloads(struct command *command)
{
	const char *device;

	command_expect(command, "-K");
	device = command_word(command, "a device");
	while (!command_at_end(command))
		set_offload(command, device);
}

/* sysctl, in the namespace of the command */
static void run_sysctl(struct command *command)
{
	enter_namespace(command->ns);
	set_sysctls(command);
	enter_namespace(NULL);
}

/* ethtool, in the namespace of the command */
static void run_here(struct command *command)
{
	enter_namespace(command->ns);
	if (command_has(command, "ethtool"))
		set_offloads(command);
	else
		command_failed(command, "not a command that the guest knows");
	enter_namespace(NULL);
}

void command_parse(struct command *command, char *text, int line)
{
	command_split(command, text, line);
	command->run = run_here;
	if (command_has(command, "sysctl")) {
		command->run = run_sysctl;
		return;
	}
	if (*command->ns) {
		if (command_has(command, "nft"))
			command->run = nft_run;
		else if (command_has(command, "conntrack"))
			command->run = conntrack_run;
		return;
	}
	if (command_has(command, "ip"))
		command->run = ip_run;
	else if (command_has(command, "tc"))
		command->run = tc_run;
	else
		return;
	if (command_has(command, "-n"))
		command->ns = command_word(command, "a namespace");
	/* addresses tell their version of IP, but ip(8) wants to know that of a rule before */
	if (command->run == ip_run)
		command_has(command, "-6");
}

bool command_is_tool(const struct command *command)
{
	return command->run != run_here;
}

void command_run(struct command *command)
{
	static char found[32];
	char path[64];

	if (strcmp(command->ns, found)) {
		snprintf(path, sizeof(path), NETNS_DIR "/%s", command->ns);
		if (access(path, F_OK))
			command_failed(command, "there is no namespace %s", command->ns);
		snprintf(found, sizeof(found), "%s", command->ns);
	}
	command->run(command);
}
