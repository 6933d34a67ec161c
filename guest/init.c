// SPDX-License-Identifier: GPL-2.0-only
/* Process 1 of the guest: carries out the plan, starts the traffic, stores
 * what the probes sample, writes the outcome, and switches the guest off.
 *
 * The run directory, which is the working directory of the kernel's process on
 * the host, is mounted at RUN_DIR. Read: plan.txt, modules. Written:
 * client.samples, server.samples, links.samples (records of the probe),
 * client.decisions and client.states (of the scheduler), messages.records, captures,
 * guest.json (the outcome; a run that ends without one has failed). A plan without
 * traffic ends after its commands. On an unmodified kernel stock.c provides the directory.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "capture.h"
#include "cross.h"
#include "drop.h"
#include "events.h"
#include "messages.h"
#include "outcome.h"
#include "plan.h"
#include "program.h"
#include "report.h"
#include "settings.h"
#include "stock.h"
#include "streams.h"
#include "subflows.h"
#include "traffic.h"
#include "tunnel.h"
#include "words.h"

/* The two ends; the server is started first. */
enum { SERVER, CLIENT, ENDS };

static struct {
	const char *name;
	/* of each pair of hosts; with programs, what is recorded of them */
	struct traffic *traffic;
	unsigned int pairs;
	pid_t pid;
	int report_fd;		/* what it reports; -1: it has ended */
} ends[ENDS] = {
	[SERVER] = { .name = "server", .report_fd = -1 },
	[CLIENT] = { .name = "client", .report_fd = -1 },
};

/* the plan has programs instead of traffic */
static bool programs;

static struct {
	uint64_t start_ns, end_ns, complete_ns;
	uint64_t bytes_written, bytes_received;
	uint64_t system_calls;
	uint64_t client_status, server_status;	/* of programs */
} outcome;

static void mount_or_die(const char *type, const char *where, const char *options)
{
	if (mount(type, where, type, 0, options))
		give_up("mount %s on %s: %s", type, where, strerror(errno));
}

static char *read_plan(void)
{
	int fd = open(RUN_DIR "/plan.txt", O_RDONLY | O_CLOEXEC);
	ssize_t got, len = 0;
	struct stat plan;
	char *text;

	if (fd < 0 || fstat(fd, &plan))
		give_up("plan.txt: %s", strerror(errno));
	text = malloc(plan.st_size + 1);
	if (!text)
		give_up("plan.txt: %s", strerror(errno));
	while ((got = read(fd, text + len, plan.st_size - len)) > 0)
		len += got;
	if (len != plan.st_size)
		give_up("plan.txt cannot be read");
	text[len] = '\0';
	close(fd);
	return text;
}

static void add_end(const struct traffic *t)
{
	int end = t->is_server ? SERVER : CLIENT;

	ends[end].traffic = realloc(ends[end].traffic, (ends[end].pairs + 1) * sizeof(*t));
	if (!ends[end].traffic)
		give_up("%s", strerror(errno));
	ends[end].traffic[ends[end].pairs++] = *t;
}

/* What follows the commands: for each pair of hosts the server and the client of the
 * traffic, the messages, and then the events.
 */
static void parse_rest(void)
{
	struct command command;
	struct traffic t;
	char *text;
	int line;

	while ((text = plan_next(&line))) {
		if (!strncmp(text, "at ", 3)) {
			event_add(text, line);
			continue;
		}
		command_split(&command, text, line);
		if (command_has(&command, "message")) {
			message_add(&command);
		} else if (command_has(&command, "traffic")) {
			settings_take(&t, &command);
			add_end(&t);
		} else {
			give_up("plan line %d: after the traffic, at TIME COMMAND is expected",
				line);
		}
	}
	if (!programs && (!ends[SERVER].pairs || ends[SERVER].pairs != ends[CLIENT].pairs))
		give_up("plan.txt: the two ends of the traffic are expected");
	if (!messages.count && !programs)
		give_up("plan.txt: the traffic has no messages");
}

static void start_traffic(int end)
{
	int fd[2];

	if (pipe(fd))
		give_up("pipe: %s", strerror(errno));
	ends[end].pid = child_fork();
	if (!ends[end].pid) {
		close(fd[0]);
		if (programs)
			programs_run(ends[end].traffic, fd[1]);
		traffic_run(ends[end].traffic, ends[end].pairs, fd[1]);
	}
	close(fd[1]);
	ends[end].report_fd = fd[0];
}

static void start_traces(const struct traffic *t)
{
	if (t->trace)
		stream_open(t->ns, t->ns, "decisions", "1");
	if (t->states)
		stream_open(t->ns, t->ns, "states", "states");
}

static void start_all_traces(void)
{
	unsigned int i;

	for (i = 0; i < ends[CLIENT].pairs; i++) {
		if (!programs)
			start_traces(&ends[SERVER].traffic[i]);
		start_traces(&ends[CLIENT].traffic[i]);
	}
}

static void start_samples(const char *ns, const struct traffic *t, uint64_t start_ns,
			  uint64_t stop_ns)
{
	char probe[96];

	/* of a flow, the records of its messages say all */
	if (t->udp)
		return;
	snprintf(probe, sizeof(probe), "%" PRIu64 " %" PRIu64 " %" PRIu64 "%s", start_ns,
		 t->crowd_interval_ns ?: t->sample_interval_ns, stop_ns,
		 t->tcp ? " tcp" : t->may_fall_back ? " any" : "");
	stream_open(ns, ns, "samples", probe);
}

/* The settings of the clients say what is to be recorded. */
static void start_streams(uint64_t start_ns, uint64_t stop_ns)
{
	const struct traffic *clients = ends[CLIENT].traffic, *servers = ends[SERVER].traffic;
	const struct traffic *tunnels;
	unsigned int i, count = tunnel_ends(&tunnels);
	char probe[96];

	for (i = 0; i < ends[CLIENT].pairs; i++) {
		const char *server = programs ? "server" : servers[i].ns;

		start_samples(server, &clients[i], start_ns, stop_ns);
		start_samples(clients[i].ns, &clients[i], start_ns, stop_ns);
	}
	for (i = 0; i < count; i++) {
		start_samples(tunnels[i].ns, &tunnels[i], start_ns, stop_ns);
		start_traces(&tunnels[i]);
	}
	snprintf(probe, sizeof(probe), "%" PRIu64 " %" PRIu64 " %" PRIu64 " links", start_ns,
		 clients->sample_interval_ns, stop_ns);
	stream_open(NULL, "links", "samples", probe);
	start_all_traces();
}

/* The same on a kernel without the probe. */
static void start_samplers(uint64_t start_ns)
{
	int i;

	if (programs || ends[CLIENT].pairs > 1)
		give_up("this kernel carries the traffic between one client and one server only");
	for (i = 0; i < ENDS; i++)
		stock_sample(ends[i].pid, ends[i].traffic, start_ns);
}

static const char *end_name(int end)
{
	if (programs)
		return "process of the programs";
	return ends[end].name;
}

static void reap(int end)
{
	const char *name = end_name(end);
	int status;

	close(ends[end].report_fd);
	ends[end].report_fd = -1;
	if (waitpid(ends[end].pid, &status, 0) != ends[end].pid)
		give_up("waitpid: %s", strerror(errno));
	if (WIFSIGNALED(status))
		give_up("the %s died of signal %d (%s)", name, WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	if (status)
		give_up("the %s ended with status %d", name, WEXITSTATUS(status));
}

static void handle_report(int end)
{
	struct report m;
	ssize_t len = read(ends[end].report_fd, &m, sizeof(m));

	if (len != sizeof(m)) {
		reap(end);
		return;
	}
	switch (m.kind) {
	case REPORT_LISTENING:
		start_traffic(CLIENT);
		break;
	case REPORT_CONNECTING:
		dprintf(2, "mptcplab: connecting\n");
		break;
	case REPORT_START:
		outcome.start_ns = m.a;
		if (ends[CLIENT].traffic->sample_interval_ns && stock_kernel())
			start_samplers(m.a);
		else if (v0_kernel())
			start_all_traces();
		else if (ends[CLIENT].traffic->sample_interval_ns)
			start_streams(m.a, m.b);
		drops_start();
		events_start(m.a);
		cross_start(m.a);
		break;
	case REPORT_DONE:
		outcome.bytes_written += m.a;
		outcome.bytes_received += m.b;
		outcome.system_calls += m.calls;
		break;
	case REPORT_ENDED:
		outcome.end_ns = m.a;
		outcome.complete_ns = m.a;
		break;
	case REPORT_STATUS:
		outcome.client_status = m.a;
		outcome.server_status = m.b;
		break;
	case REPORT_MISSING:
		finish_missing(m.a, m.b, m.text);
		break;
	default:
		m.text[sizeof(m.text) - 1] = '\0';
		give_up("%s: %s", end_name(end), m.text);
	}
}

static void watch(void)
{
	const struct traffic *tunnels;
	/* of each pair of hosts and each tunnel, three of both ends, and the links' */
	const int most = ENDS + 6 * ends[CLIENT].pairs + 3 * tunnel_ends(&tunnels) + 2;
	struct pollfd *fds = calloc(most, sizeof(*fds)), *complaint;
	int i;

	if (!fds)
		give_up("poll: %s", strerror(errno));
	while (ends[SERVER].report_fd >= 0 || ends[CLIENT].report_fd >= 0) {
		int count;

		for (i = 0; i < ENDS; i++)
			fds[i] = (struct pollfd) { ends[i].report_fd, POLLIN, 0 };
		count = streams_expect(&fds[ENDS]);
		complaint = &fds[ENDS + count];
		*complaint = (struct pollfd) { children_fd(), POLLIN, 0 };
		if (poll(fds, ENDS + count + 1, -1) < 0)
			give_up("poll: %s", strerror(errno));
		if (complaint->revents)
			children_failed();
		streams_store(&fds[ENDS], count);
		for (i = 0; i < ENDS; i++)
			if (fds[i].revents)
				handle_report(i);
	}
	free(fds);
}

/* Bytes of a connection of a crowd that failed may not have arrived. */
static bool may_lack_bytes(void)
{
	int i;

	if (ends[CLIENT].traffic->crowd_interval_ns)
		for (i = 0; i < messages.count; i++)
			if (!messages.records[i].complete_ns)
				return true;
	return false;
}

static void run_traffic(void)
{
	static struct traffic recorded = { .ns = "client" };
	int i;

	programs = programs_parse(&recorded);
	if (programs) {
		ends[CLIENT].traffic = &recorded;
		ends[CLIENT].pairs = 1;
	}
	parse_rest();
	events_prepare();
	cross_prepare();
	traffic_prepare();
	/* the server, which then has the client started */
	start_traffic(programs ? CLIENT : SERVER);
	watch();
	events_end();
	cross_end();
	streams_stop();
	tunnels_end();
	stock_end_samples();
	captures_end();
	if (outcome.bytes_received > outcome.bytes_written ||
	    (outcome.bytes_received < outcome.bytes_written && !may_lack_bytes()))
		give_up("%" PRIu64 " bytes were written, but %" PRIu64 " received",
			outcome.bytes_written, outcome.bytes_received);
	if (programs)
		return;
	messages_write();
	for (i = 0; i < messages.count; i++) {
		const struct message_record *record = &messages.records[i];

		if (record->written_ns > outcome.end_ns)
			outcome.end_ns = record->written_ns;
		if (record->complete_ns > outcome.complete_ns)
			outcome.complete_ns = record->complete_ns;
	}
}

int main(void)
{
	struct rlimit files = { FILES_MAX, FILES_MAX };
	char json[512], status[96] = "";

	if (getpid() != 1) {
		dprintf(2, "this program is process 1 of an mptcplab guest\n");
		return 1;
	}
	mount_or_die("proc", "/proc", NULL);
	mount_or_die("sysfs", "/sys", NULL);
	mount_or_die("tmpfs", "/run", NULL);
	mount_or_die("tmpfs", "/tmp", NULL);
	if (mkdir(RUN_DIR, 0755))
		give_up("%s: %s", RUN_DIR, strerror(errno));
	if (stock_kernel())
		stock_prepare();
	else
		mount_or_die("hostfs", RUN_DIR, "/proc/self/cwd");
	setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("LC_ALL", "C", 1);
	/* for all processes: a sleep ends when it should, not up to 50 us later */
	prctl(PR_SET_TIMERSLACK, 1);
	signal(SIGPIPE, SIG_IGN);
	/* each connection has up to four streams of records, from the kernel to a file */
	setrlimit(RLIMIT_NOFILE, &files);
	children_prepare();

	if (plan_run(read_plan()))
		run_traffic();
	if (programs)
		snprintf(status, sizeof(status),
			 ",\"client_status\":%" PRIu64 ",\"server_status\":%" PRIu64,
			 outcome.client_status, outcome.server_status);
	snprintf(json, sizeof(json),
		 "{\"status\":\"ok\",\"start_ns\":%" PRIu64 ",\"end_ns\":%" PRIu64
		 ",\"complete_ns\":%" PRIu64 ",\"bytes_written\":%" PRIu64
		 ",\"bytes_received\":%" PRIu64 ",\"system_calls\":%" PRIu64 "%s}\n",
		 outcome.start_ns, outcome.end_ns, outcome.complete_ns,
		 outcome.bytes_written, outcome.bytes_received, outcome.system_calls, status);
	finish(json);
}
