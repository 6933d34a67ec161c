// SPDX-License-Identifier: GPL-2.0-only
/* What the plan says to one end of the traffic. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "settings.h"

static uint64_t parse_number(const char *name, const char *value)
{
	char *end;
	uint64_t n = strtoull(value, &end, 10);

	if (end == value || *end)
		give_up("traffic --%s %s: not a number", name, value);
	return n;
}

/* ip netns exec NS traffic server|client --NAME VALUE ... */
bool settings_parse(struct traffic *t, char *line, int number)
{
	char *word, *value, *save, what[9];
	const struct {
		const char *name;
		uint64_t *number;
	} numbers[] = {
		{ "duration-ns", &t->duration_ns },
		{ "sample-interval-ns", &t->sample_interval_ns },
		{ "seed", &t->seed },
		{ "segment-ns", &t->segment_ns },
		{ "buffer-ns", &t->buffer_ns },
		{ "reservoir-ns", &t->reservoir_ns },
		{ "cushion-ns", &t->cushion_ns },
	};
	const struct {
		const char *name;
		bool *flag;
	} flags[] = {
		{ "trace", &t->trace }, { "fresh", &t->fresh }, { "no-delay", &t->no_delay },
		{ "at-once", &t->at_once },
	};

	if (sscanf(line, "ip netns exec %*s %8s", what) != 1 || strcmp(what, "traffic"))
		return false;
	*t = (struct traffic) { .sample_interval_ns = 10000000, .first_path = 1 };
	word = strtok_r(line, " ", &save);
	for (int i = 0; word && i < 5; i++) {
		if (i == 3)
			snprintf(t->ns, sizeof(t->ns), "%s", word);
		word = strtok_r(NULL, " ", &save);
	}
	if (!word || (strcmp(word, "server") && strcmp(word, "client")))
		give_up("plan line %d: traffic: neither server nor client", number);
	t->is_server = !strcmp(word, "server");

	while ((word = strtok_r(NULL, " ", &save))) {
		size_t i;

		value = strtok_r(NULL, " ", &save);
		if (strncmp(word, "--", 2) || !value)
			give_up("traffic %s: a name and a value are expected", word);
		word += 2;
		for (i = 0; i < COUNT(numbers); i++)
			if (!strcmp(word, numbers[i].name))
				break;
		if (i < COUNT(numbers)) {
			*numbers[i].number = parse_number(word, value);
			continue;
		}
		for (i = 0; i < COUNT(flags); i++)
			if (!strcmp(word, flags[i].name))
				break;
		if (i < COUNT(flags))
			*flags[i].flag = parse_number(word, value);
		else if (!strcmp(word, "transport"))
			t->tcp = !strcmp(value, "tcp");
		else if (!strcmp(word, "connect"))
			snprintf(t->peer, sizeof(t->peer), "%s", value);
		else if (!strcmp(word, "port"))
			t->port = parse_number(word, value);
		else if (!strcmp(word, "paths"))
			t->paths = parse_number(word, value);
		else if (!strcmp(word, "first-path"))
			t->first_path = parse_number(word, value);
		else if (!strcmp(word, "connections"))
			t->connections = parse_number(word, value);
		else if (!strcmp(word, "socket-scheduler"))
			snprintf(t->scheduler, sizeof(t->scheduler), "%s", value);
		else
			give_up("traffic --%s: not known", word);
	}
	return true;
}
