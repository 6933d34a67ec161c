// SPDX-License-Identifier: GPL-2.0-only
/* tc: what plans need of it.
 *
 *	tc -n NS qdisc add|change dev DEVICE PLACE KIND OPTION VALUE ...
 *
 * PLACE is root or parent MAJOR:MINOR, and may end with handle MAJOR:, in
 * hexadecimal. Kinds and their options are below, in the order in which they
 * may come; times have a unit (s, ms, us, ns), rates one too (bit, kbit, mbit,
 * gbit, tbit), and probabilities are in per cent. Numbers become those of the
 * kernel as iproute2 computes them, in floating point.
 */

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base.h"
#include "netlink.h"
#include "tc.h"
#include "words.h"

/* since Linux 6.6 */
#define NETEM_PRNG_SEED		14
/* what the kernel's schedulers count time in */
#define TICK_NS			64
#define RED_TABLE		256

struct unit {
	const char *name;
	double factor;
};

/* A number with one of these units, times the unit's factor. */
static double with_unit(struct command *command, const struct unit *units)
{
	const char *text = command_word(command, "a number with a unit");
	char *end;
	double number = strtod(text, &end);

	for (; end != text && units->name; units++)
		if (!strcmp(end, units->name) && number >= 0)
			return number * units->factor;
	command_failed(command, "%s: a number with a unit is expected", text);
}

static uint64_t take_time_ns(struct command *command)
{
	static const struct unit units[] = {
		{ "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, {},
	};

	return with_unit(command, units);
}

/* in bytes per second */
static uint64_t take_rate(struct command *command)
{
	static const struct unit units[] = {
		{ "bit", 1 }, { "kbit", 1e3 }, { "mbit", 1e6 }, { "gbit", 1e9 }, { "tbit", 1e12 },
		{},
	};

	return with_unit(command, units) / 8;
}

/* as a share of 2^32 - 1 */
static uint32_t take_probability(struct command *command)
{
	static const struct unit units[] = { { "%", 1 }, {} };
	double part = with_unit(command, units) / 100;

	if (part > 1)
		command_failed(command, "a probability is more than 100 %%");
	return rint(part * UINT32_MAX);
}

static uint32_t take_number(struct command *command)
{
	return command_number(command, UINT32_MAX);
}

static uint32_t take_limit(struct command *command)
{
	command_expect(command, "limit");
	return take_number(command);
}

/* netem limit PACKETS [rate RATE] [delay TIME [JITTER]]
 *	[loss PROBABILITY [CORRELATION] | loss gemodel P R [1-H 1-K]]
 *	[duplicate PROBABILITY] [reorder PROBABILITY] [corrupt PROBABILITY]
 */

static bool number_follows(const struct command *command)
{
	const char *next = command->words[command->next];

	return !command_at_end(command) && *next >= '0' && *next <= '9';
}

/* Gilbert's and Elliott's model; the kernel has h where people say 1-h. */
static void put_gemodel(struct command *command)
{
	struct tc_netem_gemodel model = {};
	struct nlattr *nest;

	model.p = take_probability(command);
	model.r = take_probability(command);
	if (number_follows(command)) {
		model.h = UINT32_MAX - take_probability(command);
		model.k1 = take_probability(command);
	}
	nest = request_begin(TCA_NETEM_LOSS | NLA_F_NESTED);
	request_add(NETEM_LOSS_GE, &model, sizeof(model));
	request_end(nest);
}

/* The random numbers of a queueing discipline depend only on the seed of the run and on where
 * it is, so that its losses are the same whatever else the plan has.
 */
static uint64_t netem_seed(const struct command *command, const char *device, uint32_t parent)
{
	char place[96];

	snprintf(place, sizeof(place), "%s %s %x", command->ns, device, parent);
	return random_number(place);
}

static void put_netem(struct command *command)
{
	struct tc_netem_qopt options = { .limit = take_limit(command) };
	struct tc_netem_qopt *head = request_append(&options, sizeof(options));
	struct tc_netem_reorder reorder = {};
	struct tc_netem_corrupt corrupt = {};
	struct tc_netem_corr correlation = {};
	struct tc_netem_rate rates = {};
	uint64_t value;

	if (command_has(command, "rate")) {
		value = take_rate(command);
		rates.rate = value > UINT32_MAX ? UINT32_MAX : value;
		request_add(TCA_NETEM_RATE, &rates, sizeof(rates));
		if (value > UINT32_MAX)
			request_add(TCA_NETEM_RATE64, &value, sizeof(value));
	}
	if (command_has(command, "delay")) {
		value = take_time_ns(command);
		request_add(TCA_NETEM_LATENCY64, &value, sizeof(value));
		if (number_follows(command)) {
			value = take_time_ns(command);
			request_add(TCA_NETEM_JITTER64, &value, sizeof(value));
		}
	}
	if (command_has(command, "loss")) {
		if (command_has(command, "gemodel")) {
			put_gemodel(command);
		} else {
			options.loss = take_probability(command);
			if (number_follows(command)) {
				correlation.loss_corr = take_probability(command);
				request_add(TCA_NETEM_CORR, &correlation, sizeof(correlation));
			}
		}
	}
	if (command_has(command, "duplicate"))
		options.duplicate = take_probability(command);
	if (command_has(command, "reorder")) {
		reorder.probability = take_probability(command);
		request_add(TCA_NETEM_REORDER, &reorder, sizeof(reorder));
		options.gap = 1;
	}
	if (command_has(command, "corrupt")) {
		corrupt.probability = take_probability(command);
		request_add(TCA_NETEM_CORRUPT, &corrupt, sizeof(corrupt));
	}
	*head = options;
}

/* tbf rate RATE burst BYTES limit BYTES */
static void put_tbf(struct command *command)
{
	struct tc_tbf_qopt options = { .rate.linklayer = TC_LINKLAYER_ETHERNET };
	uint64_t bytes_per_s;

	command_expect(command, "rate");
	bytes_per_s = take_rate(command);
	options.rate.rate = bytes_per_s > UINT32_MAX ? UINT32_MAX : bytes_per_s;
	if (bytes_per_s > UINT32_MAX)
		request_add(TCA_TBF_RATE64, &bytes_per_s, sizeof(bytes_per_s));
	command_expect(command, "burst");
	request_add_number(TCA_TBF_BURST, take_number(command));
	options.limit = take_limit(command);
	request_add(TCA_TBF_PARMS, &options, sizeof(options));
}

/* red limit BYTES min BYTES max BYTES avpkt BYTES burst PACKETS probability PART
 *	bandwidth RATE
 *
 * Floyd and Jacobson, Random Early Detection Gateways for Congestion Avoidance
 * (IEEE/ACM ToN 1993). The kernel has no floating point: it takes the weight of
 * a packet in the average as a power of two, and what an idle queue does to the
 * average as a table.
 */

/* The largest weight 2^-n at which a burst from an empty queue stays below min:
 * section 6, L + 1 + ((1 - w)^(L + 1) - 1) / w < min, as iproute2 has it.
 */
static int red_weight(const struct tc_red_qopt *options, uint32_t burst, uint32_t packet_bytes)
{
	const double room = burst + 1.0 - (double)options->qth_min / packet_bytes;
	double weight = 0.5;
	int n;

	for (n = 1; n < 32 && room >= 1; n++, weight /= 2)
		if (room <= (1 - pow(1 - weight, burst)) / weight)
			return n;
	return -1;
}

/* How often the average halves while no packet comes, for times of i << n: section 4, as if
 * packets had passed an empty queue. The table is in ticks, where the kernel looks it up in
 * microseconds; it is so in iproute2, and the same here.
 */
static int red_idle(uint8_t table[RED_TABLE], int weight, uint32_t packet_bytes,
		    uint64_t bytes_per_s)
{
	const uint32_t packet_us = 1e6 * packet_bytes / bytes_per_s;
	const uint32_t packet_ticks = packet_us * 1e3 / TICK_NS;
	const double each = -log(1 - 1.0 / (1 << weight)) / packet_ticks;
	int n, i;

	for (n = 0; n < 32 && 31 / each / (1u << n) >= 512; n++)
		;
	if (n == 32)
		return -1;
	for (i = 0; i < RED_TABLE; i++)
		table[i] = fmin(31, (double)((uint64_t)i << n) * each);
	table[RED_TABLE - 1] = 31;
	return n;
}

static void put_red(struct command *command)
{
	struct tc_red_qopt options = { .limit = take_limit(command) };
	const struct nla_bitfield32 flags = {
		.selector = TC_RED_ECN | TC_RED_HARDDROP | TC_RED_ADAPTATIVE | TC_RED_NODROP,
	};
	uint32_t packet_bytes, burst;
	uint8_t table[RED_TABLE];
	double most;
	int n;

	command_expect(command, "min");
	options.qth_min = take_number(command);
	command_expect(command, "max");
	options.qth_max = take_number(command);
	command_expect(command, "avpkt");
	packet_bytes = take_number(command);
	command_expect(command, "burst");
	burst = take_number(command);
	command_expect(command, "probability");
	most = strtod(command_word(command, "a probability"), NULL);
	command_expect(command, "bandwidth");
	if (!packet_bytes || options.qth_max <= options.qth_min || !(most > 0) || most > 1)
		command_failed(command, "RED has values that do not go together");
	n = red_weight(&options, burst, packet_bytes);
	options.Wlog = n;
	options.Scell_log = n < 0 ? n : red_idle(table, n, packet_bytes, take_rate(command));
	if (n < 0 || options.Scell_log > 31)
		command_failed(command, "RED has a burst or a rate without a weight");
	/* for kernels that do not know TCA_RED_MAX_P */
	options.Plog = ceil(log2((options.qth_max - options.qth_min) / most));
	request_add(TCA_RED_PARMS, &options, sizeof(options));
	request_add(TCA_RED_STAB, table, sizeof(table));
	request_add_number(TCA_RED_MAX_P, most * 0x1p32);
	request_add(TCA_RED_FLAGS, &flags, sizeof(flags));
}

/* pfifo, codel, fq_codel and pie: limit PACKETS */

static void put_pfifo(struct command *command)
{
	const struct tc_fifo_qopt options = { .limit = take_limit(command) };

	request_append(&options, sizeof(options));
}

static void put_codel(struct command *command)
{
	request_add_number(TCA_CODEL_LIMIT, take_limit(command));
}

static void put_fq_codel(struct command *command)
{
	request_add_number(TCA_FQ_CODEL_LIMIT, take_limit(command));
}

static void put_pie(struct command *command)
{
	request_add_number(TCA_PIE_LIMIT, take_limit(command));
}

/* MAJOR:MINOR or MAJOR: */
static uint32_t take_handle(struct command *command)
{
	const char *word = command_word(command, "a handle");
	unsigned int major, minor = 0;
	int end = 0;

	if (sscanf(word, "%x:%n%x%n", &major, &end, &minor, &end) < 1 || !end || word[end] ||
	    major > UINT16_MAX || minor > UINT16_MAX)
		command_failed(command, "%s: a handle such as 1: or 1:1 is expected", word);
	return major << 16 | minor;
}

void tc_run(struct command *command)
{
	static const struct {
		const char *name;
		void (*put)(struct command *command);
	} kinds[] = {
		{ "netem", put_netem },
		{ "tbf", put_tbf },
		{ "red", put_red },
		{ "pfifo", put_pfifo },
		{ "codel", put_codel },
		{ "fq_codel", put_fq_codel },
		{ "pie", put_pie },
	};
	struct tcmsg head = { .tcm_family = AF_UNSPEC, .tcm_parent = TC_H_ROOT };
	const char *kind, *device;
	struct nlattr *options;
	bool adds;
	size_t i;

	command_expect(command, "qdisc");
	adds = command_has(command, "add");
	if (!adds)
		command_expect(command, "change");
	command_expect(command, "dev");
	device = command_device(command, &head.tcm_ifindex);
	if (!command_has(command, "root")) {
		command_expect(command, "parent");
		head.tcm_parent = take_handle(command);
	}
	if (command_has(command, "handle"))
		head.tcm_handle = take_handle(command);
	kind = command_word(command, "a kind");
	for (i = 0; i < COUNT(kinds); i++)
		if (!strcmp(kind, kinds[i].name))
			break;
	if (i == COUNT(kinds))
		command_failed(command, "%s is not known to the guest", kind);

	request_start(RTM_NEWQDISC, adds ? NLM_F_CREATE | NLM_F_EXCL : 0, &head, sizeof(head));
	request_add_text(TCA_KIND, kind);
	options = request_begin(TCA_OPTIONS);
	kinds[i].put(command);
	if (adds && !strcmp(kind, "netem")) {
		uint64_t seed = netem_seed(command, device, head.tcm_parent);

		request_add(NETEM_PRNG_SEED, &seed, sizeof(seed));
	}
	request_end(options);
	request_send(command);
}
