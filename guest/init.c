// SPDX-License-Identifier: GPL-2.0-only
/* Process 1 of the guest: carries out the plan, starts the traffic, stores
 * what the probes sample, writes the outcome, and switches the guest off.
 *
 * The run directory, which is the working directory of the kernel's process on
 * the host, is mounted at /run/lab. Read: plan.txt. Written:
 * client.samples, server.samples (records of the probe), guest.json (the
 * outcome; whatever ends without one has failed).
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define RUN_DIR		"/run/lab"
#define PLAN_BYTES	(1 << 20)
#define PROBE_BYTES	(1 << 16)

/* The two ends; the sink is started first. */
enum { SERVER, CLIENT, ENDS };

static struct {
	const char *ns;
	const char *samples;
	struct traffic traffic;
	pid_t pid;
	int report_fd;		/* messages of the traffic process; -1: it has ended */
	int probe_fd;		/* -1: not sampling */
	int samples_fd;
} ends[ENDS] = {
	[SERVER] = { .ns = "server", .samples = RUN_DIR "/server.samples" },
	[CLIENT] = { .ns = "client", .samples = RUN_DIR "/client.samples" },
};

static struct {
	uint64_t start_ns, end_ns, complete_ns;
	uint64_t bytes_written, bytes_received;
	uint64_t system_calls;
} outcome;

static void __attribute__((noreturn)) power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	_exit(1);
}

/* Writes guest.json; what cannot be written is no outcome. */
static void __attribute__((noreturn)) finish(const char *json)
{
	int fd = open(RUN_DIR "/guest.json", O_WRONLY | O_CREAT | O_TRUNC, 0666);
	ssize_t len = strlen(json);

	if (fd < 0 || write(fd, json, len) != len || fsync(fd) || close(fd))
		dprintf(2, "mptcplab: guest.json: %s\n", strerror(errno));
	power_off();
}

static void json_escape(char *to, size_t room, const char *from)
{
	size_t n = 0;

	for (; *from && n + 7 < room; from++) {
		if (*from == '"' || *from == '\\')
			n += snprintf(to + n, room - n, "\\%c", *from);
		else if ((unsigned char)*from < 0x20)
			n += snprintf(to + n, room - n, "\\u%04x", *from);
		else
			to[n++] = *from;
	}
	to[n] = '\0';
}

void give_up(const char *format, ...)
{
	char reason[512], escaped[1100], json[1200];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	dprintf(2, "mptcplab: %s\n", reason);
	if (getpid() != 1)
		_exit(1);
	json_escape(escaped, sizeof(escaped), reason);
	snprintf(json, sizeof(json), "{\"status\":\"failed\",\"reason\":\"%s\"}\n", escaped);
	finish(json);
}

static void give_up_missing(uint64_t mask, const char *why)
{
	char json[512], list[64] = "";
	size_t n = 0;
	unsigned int i;

	for (i = 0; i < 64; i++)
		if (mask & (1ull << i))
			n += snprintf(list + n, sizeof(list) - n, "%s%u", n ? "," : "", i + 1);
	snprintf(json, sizeof(json),
		 "{\"status\":\"failed\",\"reason\":\"%s\",\"missing_paths\":[%s]}\n", why, list);
	finish(json);
}

static void mount_or_die(const char *type, const char *where, const char *options)
{
	if (mount(type, where, type, 0, options))
		give_up("mount %s on %s: %s", type, where, strerror(errno));
}

static char *read_plan(void)
{
	char *text = malloc(PLAN_BYTES);
	ssize_t got, len = 0;
	int fd = open(RUN_DIR "/plan.txt", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || !text)
		give_up("plan.txt: %s", strerror(errno));
	while ((got = read(fd, text + len, PLAN_BYTES - 1 - len)) > 0)
		len += got;
	if (got < 0 || len == PLAN_BYTES - 1)
		give_up("plan.txt cannot be read, or is too long");
	close(fd);
	text[len] = '\0';
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

/* ip netns exec NS traffic sink|source --NAME VALUE ... */
static void parse_traffic(char *line)
{
	struct traffic t = { .sample_interval_ns = 10000000 };
	char *word, *value, *save;
	int end;

	word = strtok_r(line, "\n ", &save);
	for (int i = 0; word && i < 5; i++)
		word = strtok_r(NULL, "\n ", &save);
	if (!word || (strcmp(word, "sink") && strcmp(word, "source")))
		give_up("traffic: neither sink nor source");
	t.is_sink = !strcmp(word, "sink");
	end = t.is_sink ? SERVER : CLIENT;

	while ((word = strtok_r(NULL, "\n ", &save))) {
		value = strtok_r(NULL, "\n ", &save);
		if (strncmp(word, "--", 2) || !value)
			give_up("traffic %s: a name and a value are expected", word);
		word += 2;
		if (!strcmp(word, "transport"))
			t.tcp = !strcmp(value, "tcp");
		else if (!strcmp(word, "connect"))
			snprintf(t.peer, sizeof(t.peer), "%s", value);
		else if (!strcmp(word, "port"))
			t.port = parse_number(word, value);
		else if (!strcmp(word, "paths"))
			t.paths = parse_number(word, value);
		else if (!strcmp(word, "duration-ns"))
			t.duration_ns = parse_number(word, value);
		else if (!strcmp(word, "size-bytes"))
			t.size_bytes = parse_number(word, value);
		else if (!strcmp(word, "sample-interval-ns"))
			t.sample_interval_ns = parse_number(word, value);
		else if (!strcmp(word, "seed"))
			t.seed = parse_number(word, value);
		else
			give_up("traffic --%s: not known", word);
	}
	ends[end].traffic = t;
}

static void start_traffic(int end)
{
	int fd[2];

	if (pipe(fd))
		give_up("pipe: %s", strerror(errno));
	ends[end].pid = fork();
	if (ends[end].pid < 0)
		give_up("fork: %s", strerror(errno));
	if (!ends[end].pid) {
		close(fd[0]);
		enter_namespace(ends[end].ns);
		traffic_run(&ends[end].traffic, fd[1]);
	}
	close(fd[1]);
	ends[end].report_fd = fd[0];
}

static void start_probe(int end, uint64_t start_ns, uint64_t stop_ns)
{
	char text[96];
	int len;

	enter_namespace(ends[end].ns);
	ends[end].probe_fd = open("/proc/thread-self/net/mptcp_probe", O_RDWR | O_CLOEXEC);
	enter_namespace(NULL);
	len = snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64 " %" PRIu64 "%s", start_ns,
		       ends[CLIENT].traffic.sample_interval_ns, stop_ns,
		       ends[end].traffic.tcp ? " tcp" : "");
	if (ends[end].probe_fd < 0 || write(ends[end].probe_fd, text, len) != len)
		give_up("probe of %s: %s", ends[end].ns, strerror(errno));
	ends[end].samples_fd = open(ends[end].samples, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (ends[end].samples_fd < 0)
		give_up("%s: %s", ends[end].samples, strerror(errno));
}

/* Moves what the probe has into the file; at the end of it, closes both. */
static void store_samples(int end)
{
	static char records[PROBE_BYTES];
	ssize_t len = read(ends[end].probe_fd, records, sizeof(records));
	int fd = ends[end].samples_fd;

	if (len < 0)
		give_up("probe of %s: %s", ends[end].ns, strerror(errno));
	if (len) {
		ssize_t done = write(fd, records, len);

		if (done != len)
			give_up("%s: %s", ends[end].samples,
				done < 0 ? strerror(errno) : "No space left on device");
		return;
	}
	if (fsync(fd) || close(fd))
		give_up("%s: %s", ends[end].samples, strerror(errno));
	close(ends[end].probe_fd);
	ends[end].probe_fd = -1;
}

static void stop_probe(int end)
{
	if (ends[end].probe_fd < 0)
		return;
	if (write(ends[end].probe_fd, "stop", 4) != 4)
		give_up("probe of %s: %s", ends[end].ns, strerror(errno));
	while (ends[end].probe_fd >= 0)
		store_samples(end);
}

static void reap(int end)
{
	const char *name = ends[end].traffic.is_sink ? "sink" : "source";
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

static void handle_message(int end)
{
	struct message m;
	ssize_t len = read(ends[end].report_fd, &m, sizeof(m));

	if (len != sizeof(m)) {
		reap(end);
		return;
	}
	switch (m.kind) {
	case MESSAGE_LISTENING:
		start_traffic(CLIENT);
		break;
	case MESSAGE_CONNECTING:
		dprintf(2, "mptcplab: connecting\n");
		break;
	case MESSAGE_START:
		outcome.start_ns = m.a;
		start_probe(SERVER, m.a, m.b);
		start_probe(CLIENT, m.a, m.b);
		break;
	case MESSAGE_END:
		outcome.end_ns = m.a;
		outcome.bytes_written = m.b;
		outcome.system_calls += m.calls;
		break;
	case MESSAGE_COMPLETE:
		outcome.complete_ns = m.a;
		outcome.bytes_received = m.b;
		outcome.system_calls += m.calls;
		break;
	case MESSAGE_MISSING:
		give_up_missing(m.a, m.text);
		break;
	default:
		m.text[sizeof(m.text) - 1] = '\0';
		give_up("%s: %s", ends[end].traffic.is_sink ? "sink" : "source", m.text);
	}
}

static void watch(void)
{
	struct pollfd fds[2 * ENDS];
	int end;

	while (ends[SERVER].report_fd >= 0 || ends[CLIENT].report_fd >= 0) {
		for (end = 0; end < ENDS; end++) {
			fds[end] = (struct pollfd) { ends[end].report_fd, POLLIN, 0 };
			fds[ENDS + end] = (struct pollfd) { ends[end].probe_fd, POLLIN, 0 };
		}
		if (poll(fds, 2 * ENDS, -1) < 0)
			give_up("poll: %s", strerror(errno));
		for (end = 0; end < ENDS; end++) {
			if (fds[ENDS + end].revents)
				store_samples(end);
			if (fds[end].revents)
				handle_message(end);
		}
	}
}

int main(void)
{
	char json[512], *traffic;
	int end;

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
	mount_or_die("hostfs", RUN_DIR, "/proc/self/cwd");
	setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("LC_ALL", "C", 1);

	traffic = plan_run(read_plan());
	if (!traffic)
		give_up("plan.txt has no traffic");
	for (end = 0; end < ENDS; end++) {
		char *next = strchr(traffic, '\n');

		if (!next)
			give_up("plan.txt: the sink and the source are expected at its end");
		*next = '\0';
		parse_traffic(traffic);
		traffic = next + 1;
		ends[end].report_fd = -1;
		ends[end].probe_fd = -1;
	}

	start_traffic(SERVER);
	watch();
	for (end = 0; end < ENDS; end++)
		stop_probe(end);
	if (outcome.bytes_received != outcome.bytes_written)
		give_up("%" PRIu64 " bytes were written, but %" PRIu64 " received",
			outcome.bytes_written, outcome.bytes_received);

	snprintf(json, sizeof(json),
		 "{\"status\":\"ok\",\"start_ns\":%" PRIu64 ",\"end_ns\":%" PRIu64
		 ",\"complete_ns\":%" PRIu64 ",\"bytes_written\":%" PRIu64
		 ",\"bytes_received\":%" PRIu64 ",\"system_calls\":%" PRIu64 "}\n",
		 outcome.start_ns, outcome.end_ns, outcome.complete_ns,
		 outcome.bytes_written, outcome.bytes_received, outcome.system_calls);
	finish(json);
}
