// SPDX-License-Identifier: GPL-2.0-only
/* Process 1 of the guest: carries out the plan, starts the traffic, stores
 * what the probes sample, writes the outcome, and switches the guest off.
 *
 * The run directory, which is the working directory of the kernel's process on
 * the host, is mounted at RUN_DIR. Read: plan.txt, modules. Written:
 * client.samples, server.samples, links.samples (records of the probe),
 * client.decisions (of the scheduler), captures, guest.json (the outcome;
 * whatever ends without one has failed). A plan without traffic ends after its
 * commands. On a kernel that is not ours the directory comes from stock.c.
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define PROBE_BYTES	(1 << 16)

/* The two ends; the server is started first. */
enum { SERVER, CLIENT, ENDS };

static struct {
	const char *name;
	/* of each pair of hosts; of programs it has what is recorded */
	struct traffic *traffic;
	unsigned int pairs;
	pid_t pid;
	int report_fd;		/* what it reports; -1: it has ended */
} ends[ENDS] = {
	[SERVER] = { .name = "server", .report_fd = -1 },
	[CLIENT] = { .name = "client", .report_fd = -1 },
};

/* What the kernel records in a namespace, each into a file. */
struct stream {
	char ns[32];		/* "": the first one */
	const char *source;	/* below its /proc/net */
	const char *stop;	/* what it is told at the end */
	char file[48];
	int source_fd;		/* -1: not recording any more */
	int file_fd;
};

static struct stream *streams;
static int stream_count;

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

static uint64_t parse_number(const char *name, const char *value)
{
	char *end;
	uint64_t n = strtoull(value, &end, 10);

	if (end == value || *end)
		give_up("traffic --%s %s: not a number", name, value);
	return n;
}

/* ip netns exec NS traffic server|client --NAME VALUE ... */
static void parse_traffic(char *line, int number)
{
	struct traffic t = { .sample_interval_ns = 10000000, .first_path = 1 };
	char *word, *value, *save;
	int end;
	const struct {
		const char *name;
		uint64_t *number;
	} numbers[] = {
		{ "duration-ns", &t.duration_ns },
		{ "sample-interval-ns", &t.sample_interval_ns },
		{ "seed", &t.seed },
		{ "segment-ns", &t.segment_ns },
		{ "buffer-ns", &t.buffer_ns },
		{ "reservoir-ns", &t.reservoir_ns },
		{ "cushion-ns", &t.cushion_ns },
	};
	const struct {
		const char *name;
		bool *flag;
	} flags[] = {
		{ "trace", &t.trace }, { "fresh", &t.fresh }, { "no-delay", &t.no_delay },
		{ "at-once", &t.at_once },
	};

	word = strtok_r(line, " ", &save);
	for (int i = 0; word && i < 5; i++) {
		if (i == 3)
			snprintf(t.ns, sizeof(t.ns), "%s", word);
		word = strtok_r(NULL, " ", &save);
	}
	if (!word || (strcmp(word, "server") && strcmp(word, "client")))
		give_up("plan line %d: traffic: neither server nor client", number);
	t.is_server = !strcmp(word, "server");

	while ((word = strtok_r(NULL, " ", &save))) {
		size_t i;

		value = strtok_r(NULL, " ", &save);
		if (strncmp(word, "--", 2) || !value)
			give_up("traffic %s: a name and a value are expected", word);
		word += 2;
		for (i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
			if (!strcmp(word, numbers[i].name))
				break;
		if (i < sizeof(numbers) / sizeof(*numbers)) {
			*numbers[i].number = parse_number(word, value);
			continue;
		}
		for (i = 0; i < sizeof(flags) / sizeof(*flags); i++)
			if (!strcmp(word, flags[i].name))
				break;
		if (i < sizeof(flags) / sizeof(*flags))
			*flags[i].flag = parse_number(word, value);
		else if (!strcmp(word, "transport"))
			t.tcp = !strcmp(value, "tcp");
		else if (!strcmp(word, "connect"))
			snprintf(t.peer, sizeof(t.peer), "%s", value);
		else if (!strcmp(word, "port"))
			t.port = parse_number(word, value);
		else if (!strcmp(word, "paths"))
			t.paths = parse_number(word, value);
		else if (!strcmp(word, "first-path"))
			t.first_path = parse_number(word, value);
		else if (!strcmp(word, "connections"))
			t.connections = parse_number(word, value);
		else if (!strcmp(word, "socket-scheduler"))
			snprintf(t.scheduler, sizeof(t.scheduler), "%s", value);
		else
			give_up("traffic --%s: not known", word);
	}
	end = t.is_server ? SERVER : CLIENT;
	ends[end].traffic = realloc(ends[end].traffic, (ends[end].pairs + 1) * sizeof(t));
	if (!ends[end].traffic)
		give_up("plan line %d: %s", number, strerror(errno));
	ends[end].traffic[ends[end].pairs++] = t;
}

/* What follows the commands: the ends of the traffic, of each pair of hosts the
 * server and the client, their messages, and then the events.
 */
static void parse_rest(void)
{
	char *text, word[9];
	int line;

	while ((text = plan_next(&line))) {
		if (sscanf(text, "ip netns exec %*s %8s", word) == 1 && !strcmp(word, "traffic"))
			parse_traffic(text, line);
		else if (!strncmp(text, "message ", 8))
			message_add(text, line);
		else
			event_add(text, line);
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

/* ns: NULL is the first one; the file is called FILE.KIND. */
static void open_stream(const char *ns, const char *file, const char *kind, const char *command)
{
	bool samples = !strcmp(kind, "samples");
	struct stream stream = {
		.source = samples ? "mptcp_probe" : "mptcp_decisions",
		.stop = samples ? "stop" : "0",
	};
	ssize_t len = strlen(command);
	char path[96];

	snprintf(stream.ns, sizeof(stream.ns), "%s", ns ? ns : "");
	snprintf(stream.file, sizeof(stream.file), "%s.%s", file, kind);
	snprintf(path, sizeof(path), "/proc/thread-self/net/%s", stream.source);
	enter_namespace(stream.ns);
	stream.source_fd = open(path, O_RDWR | O_CLOEXEC);
	enter_namespace(NULL);
	if (stream.source_fd < 0 || write(stream.source_fd, command, len) != len)
		give_up("%s: %s: %s", stream.file, stream.source, strerror(errno));
	snprintf(path, sizeof(path), RUN_DIR "/%s", stream.file);
	stream.file_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (stream.file_fd < 0)
		give_up("%s: %s", stream.file, strerror(errno));
	streams = realloc(streams, (stream_count + 1) * sizeof(*streams));
	if (!streams)
		give_up("%s: %s", stream.file, strerror(errno));
	streams[stream_count++] = stream;
}

/* The client's ends know what is to be recorded. */
static void start_streams(uint64_t start_ns, uint64_t stop_ns)
{
	const struct traffic *clients = ends[CLIENT].traffic, *servers = ends[SERVER].traffic;
	char times[64], probe[96];
	unsigned int i;

	snprintf(times, sizeof(times), "%" PRIu64 " %" PRIu64 " %" PRIu64, start_ns,
		 clients->sample_interval_ns, stop_ns);
	for (i = 0; i < ends[CLIENT].pairs; i++) {
		const char *client = clients[i].ns, *server = programs ? "server" : servers[i].ns;

		snprintf(probe, sizeof(probe), "%s%s", times, clients[i].tcp ? " tcp" : "");
		open_stream(server, server, "samples", probe);
		open_stream(client, client, "samples", probe);
	}
	snprintf(probe, sizeof(probe), "%s links", times);
	open_stream(NULL, "links", "samples", probe);
	for (i = 0; i < ends[CLIENT].pairs; i++) {
		if (!programs && servers[i].trace)
			open_stream(servers[i].ns, servers[i].ns, "decisions", "1");
		if (clients[i].trace)
			open_stream(clients[i].ns, clients[i].ns, "decisions", "1");
	}
}

/* The same on a kernel that has no probe. */
static void start_samplers(uint64_t start_ns)
{
	int i;

	if (programs || ends[CLIENT].pairs > 1)
		give_up("this kernel carries the traffic between one client and one server only");
	for (i = 0; i < ENDS; i++)
		stock_sample(ends[i].pid, ends[i].traffic, start_ns);
}

/* Moves what the kernel has into the file; at the end of it, closes both. */
static void store_records(struct stream *stream)
{
	static char records[PROBE_BYTES];
	ssize_t len = read(stream->source_fd, records, sizeof(records));
	int fd = stream->file_fd;

	if (len < 0)
		give_up("%s: %s: %s", stream->file, stream->source, strerror(errno));
	if (len) {
		ssize_t done = write(fd, records, len);

		if (done != len)
			give_up("%s: %s", stream->file,
				done < 0 ? strerror(errno) : "No space left on device");
		return;
	}
	if (fsync(fd) || close(fd))
		give_up("%s: %s", stream->file, strerror(errno));
	close(stream->source_fd);
	stream->source_fd = -1;
}

static void stop_streams(void)
{
	struct stream *stream;

	for (stream = streams; stream < streams + stream_count; stream++) {
		ssize_t len = strlen(stream->stop);

		if (stream->source_fd < 0)
			continue;
		if (write(stream->source_fd, stream->stop, len) != len)
			give_up("%s: %s: %s", stream->file, stream->source, strerror(errno));
		while (stream->source_fd >= 0)
			store_records(stream);
	}
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
		if (stock_kernel())
			start_samplers(m.a);
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
	/* of each pair of hosts, samples and decisions of both ends, and the links' */
	const int most = ENDS + 4 * ends[CLIENT].pairs + 2;
	struct pollfd *fds = calloc(most, sizeof(*fds)), *complaint;
	int i;

	if (!fds)
		give_up("poll: %s", strerror(errno));
	while (ends[SERVER].report_fd >= 0 || ends[CLIENT].report_fd >= 0) {
		int count = stream_count;

		for (i = 0; i < ENDS; i++)
			fds[i] = (struct pollfd) { ends[i].report_fd, POLLIN, 0 };
		for (i = 0; i < count; i++)
			fds[ENDS + i] = (struct pollfd) { streams[i].source_fd, POLLIN, 0 };
		complaint = &fds[ENDS + count];
		*complaint = (struct pollfd) { children_fd(), POLLIN, 0 };
		if (poll(fds, ENDS + count + 1, -1) < 0)
			give_up("poll: %s", strerror(errno));
		if (complaint->revents)
			children_failed();
		for (i = 0; i < count; i++)
			if (fds[ENDS + i].revents)
				store_records(&streams[i]);
		for (i = 0; i < ENDS; i++)
			if (fds[i].revents)
				handle_report(i);
	}
	free(fds);
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
	stop_streams();
	stock_end_samples();
	captures_end();
	if (outcome.bytes_received != outcome.bytes_written)
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
