// SPDX-License-Identifier: GPL-2.0-only
/* Programs of the host in place of the traffic:
 *
 *	ip netns exec server program --directory DIR [--listen tcp|udp:PORT] -- COMMAND ...
 *	ip netns exec client program --NAME VALUE ... -- COMMAND ...
 *
 * The server's line comes first, and may be missing. When its program listens, on the port
 * that is named or on any, the client's is started, at START; when that ends, all that is
 * left is ended. What listens is a socket of TCP in that state, or one of UDP that is bound
 * and not connected. --host NAME=ADDRESS, as often as needed, gives an address a name.
 *
 * They run as processes of their own (a PID namespace) in a world that is
 * thrown away: the host's files, read-only, under a tmpfs that takes what they
 * write, with /dev, /proc, /sys and /run of their own. Of the run directory, the only
 * one of the host that can be written to, they have only the files of their input and
 * output; and they can load no modules, which would run in the kernel's process.
 * Whatever they do to each other, and to the first process, only makes the run fail: the
 * host watches the time limit, too.
 *
 * The first process of their PID namespace makes the world, starts and ends them, and
 * reports to init as the traffic does.
 */

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base.h"
#include "ip.h"
#include "outcome.h"
#include "plan.h"
#include "program.h"
#include "report.h"
#include "settings.h"
#include "words.h"

#define WORDS_MAX	4096
/* The world is put together here, in the guest's own /tmp. */
#define WORLD		"/tmp/world"
/* In the world: a home without a person's settings, and for each network namespace a
 * command of its name, which runs others in it.
 */
#define HOME		"/run/home"
#define BIN		"/run/bin"
/* names of hosts: two, each of two versions of IP */
#define HOSTS_BYTES	512
/* What a process may write into a file, such as its output: without a limit it could fill
 * the host's disk.
 */
#define FILE_BYTES_MAX	(1ull << 30)
/* How long, in virtual time, the server's program may take to listen, and what is left to end
 * after SIGTERM.
 */
#define LISTEN_NS	(60 * NS_PER_SEC)
#define LISTEN_POLL_NS	(NS_PER_SEC / 1000)
/* The longer it takes, the less often it is looked for, and the later found: by 1 %. */
#define LISTEN_POLL_SHARE	100
#define TERMINATE_NS	(5 * NS_PER_SEC)

static const char bashrc[] =
	"PS1='$(ip netns identify):\\w\\$ '\n"
	"alias ls='ls --color=auto'\n";

#define PRELOAD		"/etc/ld.so.preload"
/* of a file of the world */
#define PATH_BYTES	320

/* Files by which libc decides what it looks for and asks whom: the host's are its owner's, and
 * each look-up that fails takes time. Who is not in /etc/hosts is asked for at 127.0.0.1.
 */
static const struct {
	const char *path, *text;
} settings_of_libc[] = {
	{ "/etc/nsswitch.conf",
	  "passwd: files\ngroup: files\nshadow: files\ngshadow: files\nhosts: files dns\n"
	  "networks: files\nprotocols: files\nservices: files\nethers: files\nrpc: files\n"
	  "netgroup: files\n" },
	{ "/etc/resolv.conf", "nameserver 127.0.0.1\n" },
	{ "/etc/host.conf", "multi on\n" },
	{ "/etc/gai.conf", "" },
};

enum { SERVER, CLIENT, ENDS };

static struct program {
	const char *ns;
	const char *out, *err;	/* in the run directory */
	int streams[3];		/* what standard input, output and error will be */
	char *directory;
	char *words[WORDS_MAX + 1];	/* none: there is no such program */
	bool has_ended;
	pid_t pid;
	int status;		/* as a shell has it */
} programs[ENDS] = {
	[SERVER] = { .ns = "server", .out = "server.out", .err = "server.err" },
	[CLIENT] = { .ns = "client", .out = "client.out", .err = "client.err" },
};

static struct {
	uint64_t time_limit_ns;		/* 0: none */
	char *input;			/* of the client's program: none, file, terminal */
	char *term;
	char *listen;			/* what the server's program listens on; NULL: anything */
	char hosts[HOSTS_BYTES];	/* lines of /etc/hosts */
} options;

/* THE PLAN */

/* NAME=ADDRESS */
static void add_host(char *text, int number)
{
	size_t used = strlen(options.hosts);
	char *address = strchr(text, '=');
	int len;

	if (!address)
		give_up("plan line %d: %s: NAME=ADDRESS is expected", number, text);
	*address++ = '\0';
	len = snprintf(options.hosts + used, HOSTS_BYTES - used, "%s %s\n", address, text);
	if (len < 0 || used + len >= HOSTS_BYTES)
		give_up("plan line %d: too many names of hosts", number);
}

static void parse_program(struct program *program, char *line, int number, struct traffic *t)
{
	char *word, *value;
	int n = 0;

	while ((word = next_word(&line, number)) && strcmp(word, "--")) {
		value = next_word(&line, number);
		if (strncmp(word, "--", 2) || !value)
			give_up("plan line %d: %s: --NAME VALUE is expected", number, word);
		word += 2;
		if (settings_set(t, word, value, number))
			continue;
		if (!strcmp(word, "directory"))
			program->directory = value;
		else if (!strcmp(word, "time-limit-ns"))
			options.time_limit_ns = parse_number(value, number);
		else if (!strcmp(word, "input"))
			options.input = value;
		else if (!strcmp(word, "term"))
			options.term = value;
		else if (!strcmp(word, "listen"))
			options.listen = value;
		else if (!strcmp(word, "host"))
			add_host(value, number);
		else
			give_up("plan line %d: --%s is not known here", number, word);
	}
	while ((word = next_word(&line, number))) {
		if (n == WORDS_MAX)
			give_up("plan line %d: more than %d words", number, WORDS_MAX);
		program->words[n++] = word;
	}
	if (!n || !program->directory)
		give_up("plan line %d: a program needs a directory and a command", number);
}

bool programs_parse(struct traffic *t)
{
	int number, skip = 0;
	char *line, ns[32];

	while ((line = plan_next(&number))) {
		if (sscanf(line, "ip netns exec %31s program %n", ns, &skip) != 1 || !skip) {
			plan_unread(line);
			break;
		}
		parse_program(&programs[strcmp(ns, "server") ? CLIENT : SERVER], line + skip,
			      number, t);
		skip = 0;
	}
	return programs[CLIENT].words[0];
}

/* THE WORLD */

static void mount_there(const char *type, const char *where, const char *options)
{
	if (mount(type, where, type, 0, options))
		give_up("the programs' world: %s on %s: %s", type, where, strerror(errno));
}

static void make_directory(const char *path, mode_t mode)
{
	if (mkdir(path, mode) || chmod(path, mode))
		give_up("the programs' world: %s: %s", path, strerror(errno));
}

/* In the place of what the host has there, which may be a link, or nothing: no call may fail for
 * one of these, since a call that fails takes time.
 */
static void make_file(const char *path, mode_t mode, const char *text)
{
	ssize_t len = strlen(text);
	char made[PATH_BYTES];
	int fd;

	snprintf(made, sizeof(made), "%s.lab", path);
	fd = open(made, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	if (fd < 0 || write(fd, text, len) != len || fchmod(fd, mode) || rename(made, path))
		give_up("the programs' world: %s: %s", path, strerror(errno));
	close(fd);
}

static void make_dev(const char *dev)
{
	static const struct {
		const char *name;
		int major, minor;
	} nodes[] = {
		{ "null", 1, 3 }, { "zero", 1, 5 }, { "full", 1, 7 }, { "random", 1, 8 },
		{ "urandom", 1, 9 }, { "tty", 5, 0 }, { "tty1", 4, 1 },
		{ "net/tun", 10, 200 },
	};
	static const struct {
		const char *name, *to;
	} links[] = {
		{ "fd", "/proc/self/fd" }, { "stdin", "/proc/self/fd/0" },
		{ "stdout", "/proc/self/fd/1" }, { "stderr", "/proc/self/fd/2" },
		{ "ptmx", "pts/ptmx" },
	};
	char path[64];
	size_t i;

	snprintf(path, sizeof(path), "%s/net", dev);
	make_directory(path, 0755);
	for (i = 0; i < COUNT(nodes); i++) {
		snprintf(path, sizeof(path), "%s/%s", dev, nodes[i].name);
		if (mknod(path, S_IFCHR, makedev(nodes[i].major, nodes[i].minor)) ||
		    chmod(path, 0666))
			give_up("the programs' world: %s: %s", path, strerror(errno));
	}
	for (i = 0; i < COUNT(links); i++) {
		snprintf(path, sizeof(path), "%s/%s", dev, links[i].name);
		if (symlink(links[i].to, path))
			give_up("the programs' world: %s: %s", path, strerror(errno));
	}
	snprintf(path, sizeof(path), "%s/pts", dev);
	make_directory(path, 0755);
	mount_there("devpts", path, "newinstance,ptmxmode=0666,mode=0620");
	snprintf(path, sizeof(path), "%s/shm", dev);
	make_directory(path, 01777);
	mount_there("tmpfs", path, "mode=1777");
}

/* NAME COMMAND ... runs the command in the namespace NAME. */
static void make_commands(void)
{
	DIR *names = opendir(NETNS_DIR);
	char path[PATH_BYTES - 8], text[400];
	struct dirent *entry;

	if (!names)
		give_up("%s: %s", NETNS_DIR, strerror(errno));
	while ((entry = readdir(names))) {
		if (*entry->d_name == '.')
			continue;
		snprintf(path, sizeof(path), BIN "/%s", entry->d_name);
		snprintf(text, sizeof(text), "#!/bin/sh\nexec ip netns exec %s \"$@\"\n",
			 entry->d_name);
		make_file(path, 0755, text);
	}
	closedir(names);
}

/* For the whole kernel, from now on; the plan's modules are loaded. */
static void forbid_modules(void)
{
	int fd = open("/proc/sys/kernel/modules_disabled", O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "1", 1) != 1)
		give_up("the programs' world: modules: %s", strerror(errno));
	close(fd);
}

static void make_world(void)
{
	char hosts[HOSTS_BYTES + 64];
	size_t i;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		give_up("the programs' world: %s", strerror(errno));
	make_directory("/tmp/upper", 0755);
	make_directory("/tmp/work", 0755);
	make_directory(WORLD, 0755);
	mount_there("overlay", WORLD, "lowerdir=/,upperdir=/tmp/upper,workdir=/tmp/work");
	mount_there("proc", WORLD "/proc", NULL);
	mount_there("tmpfs", WORLD "/dev", "mode=755");
	make_dev(WORLD "/dev");
	mount_there("tmpfs", WORLD "/run", "mode=755");
	make_directory(WORLD NETNS_DIR, 0755);
	if (mount(NETNS_DIR, WORLD NETNS_DIR, NULL, MS_BIND | MS_REC, NULL))
		give_up("the programs' world: %s: %s", NETNS_DIR, strerror(errno));

	/* from here on, nothing else can be reached */
	if (chdir(WORLD) || syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH) ||
	    chdir("/"))
		give_up("the programs' world: %s", strerror(errno));
	make_directory("/run/lock", 01777);
	make_directory(HOME, 0700);
	make_directory(BIN, 0755);
	make_commands();
	snprintf(hosts, sizeof(hosts), "127.0.0.1 localhost\n::1 localhost\n%s", options.hosts);
	make_file("/etc/hosts", 0644, hosts);
	make_file("/etc/bash.bashrc", 0644, bashrc);
	for (i = 0; i < COUNT(settings_of_libc); i++)
		make_file(settings_of_libc[i].path, 0644, settings_of_libc[i].text);
	/* loads the host's choice of libraries into each program: so there is none */
	make_file(PRELOAD, 0644, "");
	unlink(PRELOAD);
}

/* THE PROGRAMS */

static int open_stream(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0666);

	if (fd < 0)
		give_up("%s: %s", path, strerror(errno));
	return fd;
}

/* Before the world is made: in it, nobody can reach the run directory. */
static void open_streams(struct program *program)
{
	const int written = O_WRONLY | O_CREAT | O_APPEND;
	bool client = program == &programs[CLIENT];
	const char *input = "/dev/null";
	char path[64];

	if (!program->words[0] || (client && !strcmp(options.input, "terminal")))
		return;
	if (client && !strcmp(options.input, "file"))
		input = RUN_DIR "/client.in";
	program->streams[0] = open_stream(input, O_RDONLY);
	snprintf(path, sizeof(path), RUN_DIR "/%s", program->out);
	program->streams[1] = open_stream(path, written);
	snprintf(path, sizeof(path), RUN_DIR "/%s", program->err);
	program->streams[2] = open_stream(path, written);
}

static void use_streams(const struct program *program)
{
	int i;

	if (program == &programs[CLIENT] && !strcmp(options.input, "terminal")) {
		int tty = open_stream("/dev/tty1", O_RDWR);

		if (dup2(tty, 0) || dup2(tty, 1) != 1 || dup2(tty, 2) != 2 ||
		    ioctl(0, TIOCSCTTY, 0))
			give_up("the terminal: %s", strerror(errno));
		return;
	}
	for (i = 0; i < 3; i++)
		if (dup2(program->streams[i], i) != i)
			give_up("the streams of %s: %s", program->words[0], strerror(errno));
}

static void set_environment(const struct program *program)
{
	clearenv();
	setenv("PATH", BIN ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("HOME", HOME, 1);
	setenv("PWD", program->directory, 1);
	setenv("USER", "root", 1);
	setenv("LOGNAME", "root", 1);
	setenv("SHELL", "/bin/bash", 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	/* not by the host's /etc/localtime */
	setenv("TZ", "UTC0", 1);
	/* On every processor, libc looks for the libraries of the first x86-64 alone, and computes
	 * without instructions that round otherwise.
	 */
	setenv("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-SSE4_2,-AVX,-AVX2,-FMA,-FMA4,-AVX512F", 1);
	/* without it, nstat compares with a history in the host's /tmp */
	setenv("NSTAT_HISTORY", HOME "/.nstat", 1);
	if (options.term)
		setenv("TERM", options.term, 1);
}

static void __attribute__((noreturn)) become(struct program *program)
{
	struct rlimit file_size = { FILE_BYTES_MAX, FILE_BYTES_MAX }, core = { 0, 0 };
	struct rlimit files = { FILES, FILES_MAX };
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setsid();
	/* as `ip netns exec` does: /sys shows the devices of the namespace */
	enter_namespace(program->ns);
	if (unshare(CLONE_NEWNS | CLONE_NEWUTS) ||
	    sethostname(program->ns, strlen(program->ns)))
		give_up("%s: %s", program->ns, strerror(errno));
	mount_there("sysfs", "/sys", NULL);
	if (chdir(program->directory))
		give_up("%s: %s", program->directory, strerror(errno));
	use_streams(program);
	setrlimit(RLIMIT_FSIZE, &file_size);
	setrlimit(RLIMIT_CORE, &core);
	setrlimit(RLIMIT_NOFILE, &files);
	set_environment(program);
	execvp(program->words[0], program->words);
	give_up("%s: %s", program->words[0], strerror(errno));
}

static void start(struct program *program)
{
	program->pid = child_fork();
	if (!program->pid)
		become(program);
}

/* Takes note of all processes that have ended; false: there are no more. */
static bool reap(void)
{
	int status, i;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (i = 0; i < ENDS; i++) {
			if (programs[i].pid != pid)
				continue;
			programs[i].has_ended = true;
			programs[i].status = WIFEXITED(status) ? WEXITSTATUS(status) :
						128 + WTERMSIG(status);
		}
	}
	return !pid;
}

/* Waits for a child to end, until some time; 0: without a limit. False: none did. */
static bool wait_for_child(uint64_t until_ns)
{
	uint64_t now = until_ns ? now_ns() : 0, left;
	struct timespec timeout;
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	if (!until_ns)
		return sigwaitinfo(&child, NULL) > 0;
	left = now < until_ns ? until_ns - now : 0;
	timeout = (struct timespec) { left / NS_PER_SEC, left % NS_PER_SEC };
	return sigtimedwait(&child, NULL, &timeout) > 0;
}

/* Where the kernel lists sockets of a network namespace, and the state of those that
 * listen: one of UDP is never in TCP's state of that name.
 */
static struct {
	const char *protocol, *path;
	unsigned int state;
	int fd;
} sockets[] = {
	{ "tcp", "/proc/thread-self/net/tcp", TCP_LISTEN, -1 },
	{ "tcp", "/proc/thread-self/net/tcp6", TCP_LISTEN, -1 },
	{ "udp", "/proc/thread-self/net/udp", TCP_CLOSE, -1 },
	{ "udp", "/proc/thread-self/net/udp6", TCP_CLOSE, -1 },
};

/* Of the server's namespace, those with the protocol that is asked for. */
static void open_sockets(void)
{
	size_t i;

	enter_namespace(programs[SERVER].ns);
	for (i = 0; i < COUNT(sockets); i++) {
		if (options.listen && strncmp(options.listen, sockets[i].protocol, 3))
			continue;
		sockets[i].fd = open(sockets[i].path, O_RDONLY | O_CLOEXEC);
		/* a kernel without IPv6 */
		if (sockets[i].fd < 0 && errno != ENOENT)
			give_up("%s: %s", sockets[i].path, strerror(errno));
	}
	enter_namespace(NULL);
}

static void close_sockets(void)
{
	size_t i;

	for (i = 0; i < COUNT(sockets); i++)
		if (sockets[i].fd >= 0)
			close(sockets[i].fd);
}

/* port 0: any */
static bool has_listener(int fd, unsigned int wanted_state, unsigned int wanted_port)
{
	static char text[1 << 16];
	ssize_t len = pread(fd, text, sizeof(text) - 1, 0);
	unsigned int state, port;
	char *line, *save;

	/* sockets of TCP that listen come first */
	text[len > 0 ? len : 0] = '\0';
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		if (sscanf(line, "%*d: %*[0-9A-F]:%x %*[0-9A-F]:%*x %x", &port, &state) == 2 &&
		    state == wanted_state && (!wanted_port || port == wanted_port))
			return true;
	return false;
}

static bool somebody_listens(void)
{
	const char *port = options.listen ? strchr(options.listen, ':') : NULL;
	size_t i;

	for (i = 0; i < COUNT(sockets); i++)
		if (sockets[i].fd >= 0 &&
		    has_listener(sockets[i].fd, sockets[i].state, port ? atoi(port + 1) : 0))
			return true;
	return false;
}

/* Starts the server's program, and waits until it, or what it has started, listens. */
static void start_server(void)
{
	struct program *server = &programs[SERVER];
	const char *what = options.listen ?: "a TCP or UDP port";
	uint64_t begin, at, wait;

	open_sockets();
	start(server);
	begin = now_ns();
	for (at = begin; !somebody_listens(); at += wait) {
		bool others = reap();

		if (at - begin >= LISTEN_NS)
			give_up("%s, the server's program, did not listen on %s in %s",
				server->words[0], what, "60 s of simulated time");
		if (server->has_ended && (server->status || !others))
			give_up("%s, the server's program, %s %d before it listened on %s",
				server->words[0], "ended with status", server->status, what);
		wait = (at - begin) / LISTEN_POLL_SHARE;
		if (wait < LISTEN_POLL_NS)
			wait = LISTEN_POLL_NS;
		sleep_until(at + wait);
	}
	close_sockets();
}

static void run_client(uint64_t start_ns)
{
	struct program *client = &programs[CLIENT], *server = &programs[SERVER];
	uint64_t limit_ns = options.time_limit_ns ? start_ns + options.time_limit_ns : 0;
	char server_end[64] = "";

	sleep_until(start_ns);
	start(client);
	while (reap() && !client->has_ended) {
		if (wait_for_child(limit_ns))
			continue;
		if (server->has_ended)
			snprintf(server_end, sizeof(server_end),
				 "; that of the server had ended with status %d", server->status);
		give_up("%s, the client's program, is still running after %g s of simulated time%s",
			client->words[0], (double)options.time_limit_ns / NS_PER_SEC, server_end);
	}
}

/* Ends the server's program, and whatever processes the programs have left behind. */
static void end_all(void)
{
	uint64_t limit_ns = now_ns() + TERMINATE_NS;

	kill(-1, SIGTERM);
	while (reap() && wait_for_child(limit_ns))
		;
	kill(-1, SIGKILL);
	while (reap() && wait_for_child(0))
		;
}

static void __attribute__((noreturn)) direct(const struct traffic *t)
{
	bool records = t->sample_interval_ns;
	uint64_t start_ns, end_ns;
	bool server_had_ended;
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	/* a virtual machine is thrown away as it is */
	if (!stock_kernel())
		make_world();
	if (programs[SERVER].words[0])
		start_server();

	/* as the traffic, at a phase that depends on the seed */
	if (records)
		start_ns = sleep_until_set_up() + START_DELAY_NS + phase_ns(t->seed);
	else
		start_ns = now_ns();
	tell(REPORT_CONNECTING, 0, 0, "");
	tell(REPORT_START, start_ns, 0, "");
	run_client(start_ns);
	end_ns = now_ns();
	server_had_ended = programs[SERVER].has_ended;
	/* so that one more sample shows the connections as they are now */
	if (records)
		sleep_until(end_ns + t->sample_interval_ns);
	end_all();
	tell(REPORT_ENDED, end_ns, 0, "");
	tell(REPORT_STATUS, programs[CLIENT].status,
	     server_had_ended ? programs[SERVER].status : 0, "");
	_exit(0);
}

void programs_run(const struct traffic *t, int fd)
{
	int status, i;
	pid_t pid;

	report_to(fd);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (!options.input)
		options.input = "none";
	for (i = 0; i < ENDS; i++)
		open_streams(&programs[i]);
	if (!stock_kernel())
		forbid_modules();
	if (unshare(CLONE_NEWNS | CLONE_NEWPID))
		give_up("the programs' world: %s", strerror(errno));
	pid = child_fork();
	if (!pid)
		direct(t);
	if (waitpid(pid, &status, 0) != pid)
		give_up("waitpid: %s", strerror(errno));
	_exit(status ? 1 : 0);
}
