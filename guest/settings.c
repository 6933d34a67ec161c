// SPDX-License-Identifier: GPL-2.0-only
/* What the plan says about one end of the traffic. */

#include <stdio.h>
#include <string.h>

#include "settings.h"
#include "guest.h"

bool settings_set(struct traffic *t, const char *name, const char *value, int line)
{
	const struct {
		const char *name;
		uint64_t *number;
	} numbers[] = {
		{ "duration-ns", &t->duration_ns },
		{ "sample-interval-ns", &t->sample_interval_ns },
		{ "crowd-interval-ns", &t->crowd_interval_ns },
		{ "seed", &t->seed },
		{ "segment-ns", &t->segment_ns },
		{ "buffer-ns", &t->buffer_ns },
		{ "reservoir-ns", &t->reservoir_ns },
		{ "cushion-ns", &t->cushion_ns },
		{ "not-sent-lowat", &t->not_sent_lowat },
	};
	const struct {
		const char *name;
		unsigned int *number;
	} counts[] = {
		{ "port", &t->port }, { "paths", &t->paths }, { "first-path", &t->first_path },
		{ "connections", &t->connections },
	};
	const struct {
		const char *name;
		bool *flag;
	} flags[] = {
		{ "trace", &t->trace }, { "states", &t->states }, { "fresh", &t->fresh },
		{ "no-delay", &t->no_delay }, { "at-once", &t->at_once },
		{ "may-fall-back", &t->may_fall_back },
	};
	size_t i;

	for (i = 0; i < COUNT(numbers); i++) {
		if (!strcmp(name, numbers[i].name)) {
			*numbers[i].number = parse_number(value, line);
			return true;
		}
	}
	for (i = 0; i < COUNT(counts); i++) {
		if (!strcmp(name, counts[i].name)) {
			*counts[i].number = parse_number(value, line);
			return true;
		}
	}
	for (i = 0; i < COUNT(flags); i++) {
		if (!strcmp(name, flags[i].name)) {
			*flags[i].flag = parse_number(value, line);
			return true;
		}
	}
	if (!strcmp(name, "transport")) {
		t->tcp = !strcmp(value, "tcp");
		t->udp = !strcmp(value, "udp");
	} else if (!strcmp(name, "ip")) {
		t->ipv6 = !strcmp(value, "6");
	} else if (!strcmp(name, "connect")) {
		snprintf(t->peer, sizeof(t->peer), "%s", value);
	} else if (!strcmp(name, "behind")) {
		snprintf(t->behind, sizeof(t->behind), "%s", value);
	} else if (!strcmp(name, "socket-scheduler")) {
		snprintf(t->scheduler, sizeof(t->scheduler), "%s", value);
	} else {
		return false;
	}
	return true;
}

void settings_take(struct traffic *t, struct command *command)
{
	*t = (struct traffic) { .sample_interval_ns = 10000000, .first_path = 1 };
	snprintf(t->ns, sizeof(t->ns), "%s", command->ns);
	t->is_server = command_has(command, "server");
	if (!t->is_server)
		command_expect(command, "client");
	while (!command_at_end(command)) {
		const char *name = command_word(command, "--NAME");
		const char *value = command_word(command, "a value");

		if (strncmp(name, "--", 2) || !settings_set(t, name + 2, value, command->line))
			command_failed(command, "%s is not known here", name);
	}
}
