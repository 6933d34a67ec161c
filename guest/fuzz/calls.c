// SPDX-License-Identifier: GPL-2.0-only
/* Calls at random, of all that a program can reach of our code in the kernel:
 *
 *	calls SEED CALLS
 *
 * Runs at the client of a lab (mptcplab exec). Processes at the client and the
 * server open sockets and files of /proc and do anything to them, in any order,
 * with good arguments and with bad ones; a few calls in a row on the same
 * descriptor, so that what takes several steps happens. They fork, share
 * descriptors, are interrupted by signals, write sysctls and take endpoints away.
 *
 * Before that, each process makes the calls that a seed may seldom have right, once as they
 * succeed, and once as they are refused: that they do is certain, and is checked.
 *
 * The judge is the kernel, which checks itself; but no call may give away
 * memory of the kernel that nobody wrote to, and each process must come to its
 * end. Prints how often each call had which result. The same seed makes the same
 * calls in the same order.
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/genetlink.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"
#include "mptcp.h"
#include "uapi/bulk.h"

#define SOL_TCP		6
#define SO_ZEROCOPY_	60

#define PROCESSES	8
/* of each; a child has those of its parent */
#define DESCRIPTORS	20
#define CHILDREN_MAX	3
#define CHILD_CALLS	60
/* calls in a row on one descriptor, at most */
#define ROW		16
/* the first PROCESSES have a listener mostly */
#define PORTS		(PROCESSES + 4)
#define PORT		5000
#define BUFFER		65536
#define ERRNOS		134
/* simulated: a blocking call is interrupted, a process that does not end is stuck */
#define INTERRUPT_US	150000
#define STUCK_S		3000
#define NAMES_MAX	128

enum kind { NOTHING, SOCKET, LISTENER, RECORDS, DROP, BULK, KINDS };

/* Every call that is counted. */
enum call {
	CALL_socket, CALL_close, CALL_dup, CALL_bind, CALL_listen, CALL_accept,
	CALL_connect, CALL_disconnect, CALL_send, CALL_sendmsg, CALL_fastopen,
	CALL_zerocopy, CALL_recv, CALL_splice, CALL_sendfile, CALL_shutdown,
	CALL_set_scheduler, CALL_set_scheduler_bad, CALL_get_scheduler, CALL_get_bad,
	CALL_set_unit, CALL_set_unit_bad, CALL_get_units, CALL_set_option, CALL_get_option,
	CALL_set_any, CALL_ioctl, CALL_poll, CALL_wait, CALL_yield, CALL_fork, CALL_open,
	CALL_write, CALL_read, CALL_mmap, CALL_bulk, CALL_sysctl, CALL_endpoint,
	CALL_reopen, CALL_destroy, CALL_COUNT
};

static const char * const call_names[CALL_COUNT] = {
	"socket", "close", "dup", "bind", "listen", "accept", "connect", "disconnect",
	"send", "sendmsg", "fastopen", "zerocopy", "recv", "splice", "sendfile", "shutdown",
	"set_scheduler", "set_scheduler_bad", "get_scheduler", "get_bad", "set_unit",
	"set_unit_bad", "get_units", "set_option", "get_option", "set_any", "ioctl", "poll",
	"wait", "yield", "fork", "open", "write", "read", "mmap", "bulk", "sysctl",
	"endpoint", "reopen", "destroy",
};

/* shared by all processes */
static struct shared {
	uint32_t counts[CALL_COUNT][ERRNOS + 1];	/* by errno, 0: it worked */
	uint64_t calls;
	unsigned int ready;	/* processes that have made what is certain */
	bool has_failed;
} *shared;

static struct descriptor {
	int fd;
	enum kind kind;
} descriptors[DESCRIPTORS];

static uint64_t state;			/* of the random numbers */
static uint8_t buffer[BUFFER];		/* what is sent, or comes */
static uint8_t *edge;			/* the last byte before memory that is not there */
static uint8_t *read_only, *no_access;
static char *schedulers[NAMES_MAX], *params[NAMES_MAX];
static unsigned int scheduler_count, param_count;
static int file_fd, pipes[2], children, genl_fd;
static uint16_t genl_family;
static uint32_t unit_id;
static int own_port;
static bool at_server, is_child;

static void __attribute__((noreturn, format(printf, 1, 2))) fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	printf("WRONG: ");
	vprintf(format, args);
	printf("\n");
	fflush(stdout);
	shared->has_failed = true;
	_exit(1);
}

/* CHANCE
 *
 * The compiler chooses the order of arguments, of operands, and of the initializers in braces. So
 * an expression draws once, where no `?:`, `&&` or comma says what comes first; variables keep
 * the other numbers.
 */

static uint64_t draw(void)
{
	uint64_t number = splitmix(state);

	state += SPLITMIX_STEP;
	return number;
}

static uint32_t below(uint32_t n)
{
	return (draw() >> 32) * n >> 32;
}

static bool one_in(uint32_t n)
{
	return !below(n);
}

#define ONE_OF(array)	((array)[below(COUNT(array))])

/* Any number, preferably where something ends. */
static uint64_t number(void)
{
	static const uint64_t ends[] = {
		0, 1, 2, 7, 8, 15, 16, 17, 31, 32, 40, 255, 4095, 4096, 65535, 65536, 1 << 30,
		INT32_MAX, 0x80000000ull, UINT32_MAX, 1ull << 32, INT64_MAX, 1ull << 63,
		UINT64_MAX,
	};

	uint64_t drawn = draw();

	if (one_in(3))
		return drawn >> below(64);
	drawn = ONE_OF(ends);
	return drawn + below(3) - 1;
}

/* Memory for an argument of so many bytes, much of which is none. */
static void *pointer(size_t bytes)
{
	switch (below(7)) {
	case 0:
		return NULL;
	case 1:
		return edge - below(bytes < 4000 ? bytes + 2 : 4000);
	case 2:
		return no_access;
	case 3:
		return read_only;
	case 4:
		return (void *)(draw() | 0xffff800000000000ull);
	case 5:
		/* where nothing is ever mapped, nor would be hit by chance */
		return (void *)(number() & 0xffff);
	default:
		return buffer;
	}
}

/* RESULTS */

static long did(enum call call, long result)
{
	int error = result < 0 ? errno : 0;

	if (error > ERRNOS)
		fail("%s: the error %d, which no program knows", call_names[call], error);
	__atomic_fetch_add(&shared->counts[call][error], 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&shared->calls, 1, __ATOMIC_RELAXED);
	return result;
}

/* DESCRIPTORS */

static struct descriptor *of_kind(enum kind kind)
{
	unsigned int first = below(DESCRIPTORS), i;

	for (i = 0; i < DESCRIPTORS; i++) {
		struct descriptor *d = &descriptors[(first + i) % DESCRIPTORS];

		if (d->kind == kind)
			return d;
	}
	return NULL;
}

static void forget(struct descriptor *d)
{
	did(CALL_close, close(d->fd));
	*d = (struct descriptor) { .fd = -1 };
}

static void keep(int fd, enum kind kind)
{
	struct descriptor *d = of_kind(NOTHING);

	if (fd < 0)
		return;
	if (!d) {
		/* but not the listener */
		d = &descriptors[1 + below(DESCRIPTORS - 1)];
		forget(d);
	}
	*d = (struct descriptor) { .fd = fd, .kind = kind };
}

/* SOCKETS */

static struct sockaddr_in address(void)
{
	static const char * const all[] = {
		"10.1.1.1", "10.1.2.1", "10.0.1.1", "10.0.2.1", "127.0.0.1",
	};
	/* a SYN to it is lost */
	const char *text = one_in(10) ? "10.1.1.77" : ONE_OF(all);
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(PORT + below(PORTS)) };

	/* mostly a listener at the other end */
	if (!one_in(8)) {
		text = at_server ? "10.0.1.1" : "10.1.1.1";
		to.sin_port = htons(PORT + (below(PROCESSES) & ~1) + !at_server);
	}
	inet_pton(AF_INET, text, &to.sin_addr);
	return to;
}

static void set_int(int fd, int level, int name, int value)
{
	did(CALL_set_option, setsockopt(fd, level, name, &value, sizeof(value)));
}

static void set_option(int fd)
{
	static const char * const cc[] = { "cubic", "reno", "lia", "olia", "balia", "wvegas", "x" };
	struct timeval some = { .tv_usec = 1000 * below(200) };
	const char *name = ONE_OF(cc);
	bool first = one_in(2);
	int few = below(3), any = below(110);
	struct linger linger = { .l_onoff = below(2), .l_linger = few % 2 };
	void *where = pointer(64);

	switch (below(16)) {
	case 0:
		set_int(fd, SOL_TCP, TCP_NODELAY, below(2));
		break;
	case 1:
		set_int(fd, SOL_TCP, TCP_CORK, below(2));
		break;
	case 2:
		set_int(fd, SOL_SOCKET, SO_SNDBUF, 1 << below(18));
		break;
	case 3:
		set_int(fd, SOL_SOCKET, SO_RCVBUF, 1 << below(18));
		break;
	case 4:
	case 5:
		did(CALL_set_option,
		    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
		break;
	case 6:
	case 7:
		set_int(fd, SOL_TCP, TCP_USER_TIMEOUT, 1 + below(2000));
		break;
	case 8:
		set_int(fd, SOL_TCP, TCP_NOTSENT_LOWAT, number());
		break;
	case 9:
		did(CALL_set_option,
		    setsockopt(fd, SOL_TCP, TCP_CONGESTION, name, strlen(name)));
		break;
	case 10:
		set_int(fd, SOL_TCP, first ? TCP_FASTOPEN : TCP_FASTOPEN_CONNECT, few);
		break;
	case 11:
		set_int(fd, SOL_TCP, TCP_DEFER_ACCEPT, below(3));
		break;
	case 12:
		set_int(fd, SOL_SOCKET, first ? SO_ZEROCOPY_ : SO_KEEPALIVE, few % 2);
		break;
	case 13:
		did(CALL_set_option, setsockopt(fd, SOL_SOCKET,
						one_in(2) ? SO_RCVTIMEO : SO_SNDTIMEO, &some,
						sizeof(some)));
		break;
	case 14:
		set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
		break;
	case 15:
		did(CALL_set_any, setsockopt(fd, first ? SOL_MPTCP : SOL_TCP, any, where,
					     number()));
		break;
	}
}

/* What is behind the end of a name is nobody's, and must not be the kernel's. */
static void get_scheduler(int fd)
{
	uint8_t got[64];
	socklen_t len = below(sizeof(got) + 1), asked = len, i;
	size_t end;

	memset(got, 0xa5, sizeof(got));
	if (did(CALL_get_scheduler, getsockopt(fd, SOL_MPTCP, MPTCP_SCHEDULER, got, &len)))
		return;
	if (len > asked)
		fail("getsockopt() of a scheduler gave %u bytes, of %u asked for", len, asked);
	end = strnlen((char *)got, len);
	for (i = end; i < len; i++)
		if (got[i])
			fail("byte %u of the name %.*s of a scheduler, %#x, is the kernel's",
			     i, (int)end, got, got[i]);
	for (i = len; i < sizeof(got); i++)
		if (got[i] != 0xa5)
			fail("getsockopt() of a scheduler wrote behind its %u bytes", len);
}

static void get_bad(int fd)
{
	static const int names[] = { MPTCP_SCHEDULER, MPTCP_UNIT };
	int name = ONE_OF(names);
	void *value = pointer(24);

	did(CALL_get_bad, getsockopt(fd, SOL_MPTCP, name, value, pointer(4)));
}

static void get_option(int fd)
{
	static const int names[] = {
		MPTCP_INFO, MPTCP_TCPINFO, MPTCP_SUBFLOW_ADDRS, 4, MPTCP_UNIT, SO_ERROR,
	};
	int level = one_in(4) ? SOL_SOCKET : one_in(4) ? SOL_TCP : SOL_MPTCP;
	socklen_t len = one_in(2) ? below(400) : sizeof(buffer);

	did(CALL_get_option, getsockopt(fd, level, ONE_OF(names), buffer, &len));
}

static void set_scheduler(int fd)
{
	/* the one that takes units, where there is a choice */
	const char *name = one_in(4) ? "video" : schedulers[below(scheduler_count)];

	did(CALL_set_scheduler,
	    setsockopt(fd, SOL_MPTCP, MPTCP_SCHEDULER, name, strlen(name) + below(2)));
}

static void set_scheduler_bad(int fd)
{
	size_t i, len = below(64);
	void *name;

	for (i = 0; i < len; i++)
		buffer[i] = draw();
	name = one_in(2) ? buffer : pointer(len);
	did(CALL_set_scheduler_bad, setsockopt(fd, SOL_MPTCP, MPTCP_SCHEDULER, name,
					       one_in(2) ? len : number()));
}

static void set_unit(int fd)
{
	struct mptcp_unit unit = {};
	struct timespec now;

	/* one after the other: an initializer has no order */
	unit.id = one_in(8) ? number() : ++unit_id;
	unit.bytes = one_in(20) ? number() : 1 + below(6000);
	unit.depends_on = one_in(2) ? 0 : unit_id - below(20);
	unit.importance = one_in(8) ? number() : below(4);
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (one_in(2))
		unit.deadline_ns = one_in(20) ? number() : to_ns(&now) + below(100000000);
	if (one_in(4))
		unit.expires_ns = one_in(20) ? number() : unit.deadline_ns + below(50000000);
	did(CALL_set_unit, setsockopt(fd, SOL_MPTCP, MPTCP_UNIT, &unit, sizeof(unit)));
}

static void set_unit_bad(int fd)
{
	void *unit = pointer(32);
	size_t i;

	for (i = 0; i < sizeof(struct mptcp_unit); i++)
		buffer[i] = draw();
	did(CALL_set_unit_bad, setsockopt(fd, SOL_MPTCP, MPTCP_UNIT, unit,
					  one_in(2) ? sizeof(struct mptcp_unit) : number()));
}

static void listen_on(struct descriptor *d)
{
	struct sockaddr_in here = {
		.sin_family = AF_INET,
		.sin_port = htons(one_in(4) ? PORT + (int)below(PORTS) : own_port),
	};

	set_int(d->fd, SOL_SOCKET, SO_REUSEADDR, 1);
	did(CALL_bind, bind(d->fd, (struct sockaddr *)&here, sizeof(here)));
	if (!did(CALL_listen, listen(d->fd, 1 + below(16))))
		d->kind = LISTENER;
}

static void connect_to(int fd)
{
	struct sockaddr_in to = address();

	/* until it is there: some are used before */
	if (did(CALL_connect, connect(fd, (struct sockaddr *)&to, sizeof(to))) &&
	    errno == EINPROGRESS && !one_in(4))
		did(CALL_poll, poll(&(struct pollfd) { fd, POLLOUT, 0 }, 1, 60));
}

static int make_socket(void)
{
	int type = SOCK_STREAM | (one_in(4) ? 0 : SOCK_NONBLOCK);
	int fd = did(CALL_socket, socket(AF_INET, type, one_in(10) ? 0 : IPPROTO_MPTCP));

	keep(fd, SOCKET);
	if (fd >= 0 && one_in(2))
		set_scheduler(fd);
	return fd;
}

static void make_connection(void)
{
	int fd = make_socket();

	if (fd >= 0 && !one_in(4))
		connect_to(fd);
}

/* The first descriptor of a process, which others connect to. */
static void make_listener(void)
{
	struct descriptor *d = &descriptors[0];

	if (d->kind == LISTENER)
		return;
	if (d->kind != NOTHING)
		forget(d);
	/* those who connect to one of TCP fall back, if it is none of MPTCP after all */
	d->fd = did(CALL_socket, socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK,
					one_in(5) ? 0 : IPPROTO_MPTCP));
	if (d->fd < 0)
		return;
	d->kind = SOCKET;
	if (one_in(2))
		set_scheduler(d->fd);
	listen_on(d);
}

static void disconnect(int fd)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };

	did(CALL_disconnect, connect(fd, &none, sizeof(none)));
}

/* Ends a connection, and begins another one on the same socket. */
static void reuse(int fd)
{
	if (one_in(2))
		set_scheduler(fd);
	disconnect(fd);
	if (one_in(2))
		set_scheduler(fd);
	connect_to(fd);
}

/* The other end hears of it at once, whatever is on its way. */
static void abort_connection(struct descriptor *d)
{
	struct linger now = { .l_onoff = 1 };

	did(CALL_set_option, setsockopt(d->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)));
	forget(d);
}

static int flags(void)
{
	int chosen = MSG_NOSIGNAL;

	if (!one_in(8))
		chosen |= MSG_DONTWAIT;
	if (one_in(8))
		chosen |= MSG_MORE;
	return chosen;
}

static void send_some(int fd)
{
	size_t len = one_in(3) ? 1 + below(100) : below(one_in(4) ? BUFFER : 8192);
	struct sockaddr_in to = address();
	size_t first = below(3000), second = below(10), third = below(2000);
	struct iovec pieces[3] = {
		{ buffer, first }, { buffer, second },
		{ one_in(4) ? pointer(2000) : buffer, third },
	};
	struct msghdr message = { .msg_iov = pieces, .msg_iovlen = 3 };

	switch (below(10)) {
	case 0:
		did(CALL_sendmsg, sendmsg(fd, &message, flags()));
		break;
	case 1:
		did(CALL_fastopen, sendto(fd, buffer, len, flags() | MSG_FASTOPEN,
					  (struct sockaddr *)&to, sizeof(to)));
		break;
	case 2:
		did(CALL_zerocopy, send(fd, buffer, len, flags() | MSG_ZEROCOPY));
		break;
	case 3:
		did(CALL_sendfile, sendfile(fd, file_fd, &(off_t) { below(BUFFER) }, len));
		break;
	case 4:
		if (write(pipes[1], buffer, below(4096)) >= 0)
			did(CALL_splice, splice(pipes[0], NULL, fd, NULL, 4096,
						SPLICE_F_NONBLOCK |
						(one_in(4) ? SPLICE_F_MORE : 0)));
		break;
	default:
		/* what is not connected, or no more, often is now */
		if (did(CALL_send, send(fd, buffer, len, flags())) < 0 && errno == EPIPE)
			reuse(fd);
	}
}

static void receive_some(int fd)
{
	static const struct {
		int flag;
		uint32_t chance;	/* one in so many */
	} more[] = {
		{ MSG_PEEK, 8 }, { MSG_OOB, 40 }, { MSG_WAITALL, 20 }, { MSG_ERRQUEUE, 20 },
	};
	int chosen = flags();
	unsigned int i;
	void *to;

	if (one_in(10)) {
		did(CALL_splice, splice(fd, NULL, pipes[1], NULL, 4096, SPLICE_F_NONBLOCK));
		while (read(pipes[0], buffer, BUFFER) > 0)
			;
		return;
	}
	for (i = 0; i < COUNT(more); i++)
		if (one_in(more[i].chance))
			chosen |= more[i].flag;
	to = one_in(20) ? pointer(4096) : buffer;
	did(CALL_recv, recv(fd, to, below(BUFFER), chosen));
}

static void accept_one(struct descriptor *d)
{
	int fd = did(CALL_accept, accept4(d->fd, NULL, NULL, one_in(4) ? 0 : SOCK_NONBLOCK));

	/* a process that shares it has ended it */
	if (fd < 0 && errno == EINVAL)
		d->kind = SOCKET;
	keep(fd, SOCKET);
}

static void poll_one(int fd, int ms)
{
	struct pollfd one = { .fd = fd, .events = one_in(2) ? POLLIN : POLLOUT | POLLRDHUP };

	did(CALL_poll, poll(&one, 1, ms));
}

static void destroy_subflow(int fd);

static void use_socket(struct descriptor *d)
{
	static const int ways[] = { SHUT_RD, SHUT_WR, SHUT_WR, SHUT_RDWR };
	int unused;

	switch (below(29)) {
	case 0:
	case 1:
	case 2:
		connect_to(d->fd);
		break;
	case 3:
		if (one_in(3))
			disconnect(d->fd);
		break;
	case 4:
		if (one_in(3))
			did(CALL_shutdown, shutdown(d->fd, ONE_OF(ways)));
		break;
	case 5:
	case 6:
		set_scheduler(d->fd);
		break;
	case 7:
		set_scheduler_bad(d->fd);
		break;
	case 8:
		get_scheduler(d->fd);
		break;
	case 9:
		get_bad(d->fd);
		break;
	case 10:
	case 11:
		set_unit(d->fd);
		send_some(d->fd);
		break;
	case 12:
		set_unit_bad(d->fd);
		break;
	case 13:
		did(CALL_get_units,
		    getsockopt(d->fd, SOL_MPTCP, MPTCP_UNIT, buffer,
			       &(socklen_t) { one_in(2) ? 24 : below(64) }));
		break;
	case 14:
		set_option(d->fd);
		break;
	case 15:
		get_option(d->fd);
		break;
	case 16:
		did(CALL_ioctl, ioctl(d->fd, one_in(2) ? FIONREAD : 0x5411, &unused));
		break;
	case 17:
		if (one_in(3))
			listen_on(d);
		break;
	case 18:
		poll_one(d->fd, below(20));
		break;
	case 19:
		keep(did(CALL_dup, dup(d->fd)), SOCKET);
		break;
	case 23:
		if (one_in(4))
			destroy_subflow(d->fd);
		break;
	case 20:
		if (one_in(2))
			abort_connection(d);
		else
			forget(d);
		break;
	case 21:
	case 22:
		receive_some(d->fd);
		break;
	default:
		send_some(d->fd);
	}
}

static void use_listener(struct descriptor *d)
{
	switch (below(16)) {
	case 0:
		set_scheduler(d->fd);
		break;
	case 1:
		get_scheduler(d->fd);
		break;
	case 2:
		set_option(d->fd);
		break;
	case 3:
		set_unit(d->fd);
		break;
	case 4:
		send_some(d->fd);
		break;
	case 5:
		if (one_in(12)) {
			disconnect(d->fd);
			d->kind = SOCKET;
		}
		break;
	case 6:
		did(CALL_listen, listen(d->fd, below(16)));
		break;
	case 7:
		if (one_in(12))
			forget(d);
		break;
	case 8:
		poll_one(d->fd, below(20));
		break;
	case 9:
		if (one_in(12)) {
			did(CALL_shutdown, shutdown(d->fd, SHUT_RDWR));
			d->kind = SOCKET;
		}
		break;
	default:
		accept_one(d);
	}
}

/* FILES OF /proc */

static void open_file(void)
{
	static const struct {
		const char *path;
		enum kind kind;
	} files[] = {
		{ "/proc/net/mptcp_decisions", RECORDS }, { "/proc/net/mptcp_probe", RECORDS },
		{ "/proc/net/mptcp_drop", DROP }, { "/proc/mptcplab_bulk", BULK },
	};
	int i = below(COUNT(files));

	keep(did(CALL_open, open(files[i].path, O_NONBLOCK |
				 (one_in(8) ? (int)(draw() & O_ACCMODE) : O_RDWR))),
	     files[i].kind);
}

static void write_file(int fd)
{
	static const char * const devices[] = { "c1", "c2", "s1", "s2", "lo", "", "x" };
	const char *device = ONE_OF(devices);
	uint32_t first = below(9), last = 9 + below(20), end = 20 + below(30);
	unsigned long long one = number(), other = one_in(2) ? 0 : number();
	bool rare = one_in(4), half = one_in(2);
	size_t len, i;
	void *from;

	switch (below(5)) {
	case 0:
		len = sprintf((char *)buffer, "%u", below(2));
		break;
	case 1:
		len = sprintf((char *)buffer, "%llu %llu %llu %s", half ? 0 : one,
			      rare ? one % 10000 : 1000000ull << first % 8, other,
			      one_in(3) ? "links" : one_in(2) ? "tcp" : "");
		break;
	case 2:
		len = sprintf((char *)buffer, "%s %s %u,%u-%u,%llu", device,
			      half ? "data" : "acks", first, last, end, one);
		break;
	case 3:
		len = sprintf((char *)buffer, "%s", half ? "start" : "stop");
		break;
	default:
		len = one_in(8) ? below(BUFFER) : below(120);
		for (i = 0; i < len; i++)
			buffer[i] = one_in(2) ? ' ' + below(95) : (uint8_t)draw();
	}
	from = one_in(20) ? pointer(len) : buffer;
	did(CALL_write, write(fd, from, one_in(20) ? number() : len));
}

static void use_bulk(int fd)
{
	struct descriptor *d = of_kind(SOCKET);
	/* behind them there is nothing that more of them could be written to */
	struct pollfd *own = (struct pollfd *)edge - 3;
	struct timespec now;
	static struct bulk_receipt receipts[BULK_RECEIPTS_MAX];
	struct bulk_flow flows[3];
	struct bulk_wait wait = { .fds = (uintptr_t)own, .flows = (uintptr_t)flows };
	unsigned long command;
	unsigned int i;

	clock_gettime(CLOCK_MONOTONIC, &now);
	for (i = 0; i < 3; i++) {
		own[i].fd = d && one_in(2) ? d->fd : (int)below(40);
		own[i].events = one_in(2) ? POLLIN : POLLOUT;
		own[i].revents = 0;
	}
	memset(flows, 0, sizeof(flows));
	for (i = 0; i < 3; i++) {
		flows[i].own = one_in(4) ? number() : below(3);
		flows[i].sends = one_in(2);
		flows[i].clock_reads = below(3);
		flows[i].seed = draw();
		flows[i].until_ns = now.tv_sec * NS_PER_SEC + 5 * NS_PER_SEC;
		flows[i].chunk_bytes = one_in(4) ? 8 * below(32770) : 4096;
		flows[i].position = draw();
		flows[i].position >>= below(64);
		flows[i].left = below(1000000);
		flows[i].sent = one_in(2) ? 0 : below(4100);
	}
	wait.count = 1 + below(3);
	wait.flow_count = one_in(4) ? number() : 1 + below(3);
	wait.receipts = (uintptr_t)(one_in(8) ? pointer(sizeof(receipts)) : receipts);
	wait.timer = one_in(4) ? (int)below(40) : -1;
	wait.wake.it_value.tv_sec = now.tv_sec + below(5);
	wait.wake.it_value.tv_nsec = one_in(8) ? number() : 1;
	if (one_in(8))
		wait.flows = (uintptr_t)pointer(sizeof(flows));
	if (one_in(8))
		wait.fds = (uintptr_t)pointer(24);
	if (one_in(8))
		wait.count = number();
	command = one_in(20) ? (unsigned long)number() : BULK_WAIT;
	did(CALL_bulk, ioctl(fd, command, one_in(8) ? pointer(sizeof(wait)) : &wait));
}

static void use_file(struct descriptor *d)
{
	void *to = one_in(8) ? pointer(100) : buffer, *mapped;
	uint64_t any = number();
	size_t len = 4096 << below(3);
	int access = PROT_READ | (one_in(2) ? PROT_WRITE : 0);

	switch (below(8)) {
	case 0:
		did(CALL_read, read(d->fd, to, one_in(8) ? any % BUFFER : BUFFER));
		break;
	case 1:
		poll_one(d->fd, 0);
		break;
	case 2:
		mapped = mmap(NULL, len, access, one_in(2) ? MAP_SHARED : MAP_PRIVATE, d->fd, 0);
		did(CALL_mmap, mapped == MAP_FAILED ? -1 : 0);
		break;
	case 3:
		forget(d);
		break;
	case 4:
		did(CALL_ioctl, ioctl(d->fd, any, pointer(64)));
		break;
	default:
		if (d->kind == BULK)
			use_bulk(d->fd);
		else
			write_file(d->fd);
	}
}

/* THE NAMESPACE */

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY), result, error;

	if (fd < 0)
		return -1;
	result = write(fd, text, strlen(text));
	error = errno;
	close(fd);
	errno = error;
	return result;
}

static void write_sysctl(void)
{
	static const struct {
		const char *path;
		uint32_t values;
	} some[] = {
		{ "net/mptcp/mptcpize", 3 }, { "net/mptcp/checksum_enabled", 2 },
		{ "net/mptcp/close_timeout", 4 }, { "net/mptcp/stale_loss_cnt", 5 },
		{ "net/mptcp/allow_join_initial_addr_port", 2 }, { "mptcplab/bulk", 2 },
		{ "net/ipv4/tcp_timestamps", 3 }, { "net/ipv4/tcp_fastopen", 4 },
		{ "net/mptcp/blackhole_timeout", 3 }, { "net/ipv4/tcp_retries2", 6 },
	};
	char path[128], text[32];
	int i;

	snprintf(text, sizeof(text), "%llu",
		 (unsigned long long)(one_in(2) ? number() : below(2000)));
	if (one_in(3)) {
		did(CALL_sysctl, write_text("/proc/sys/net/mptcp/scheduler",
					    schedulers[below(scheduler_count)]));
	} else if (param_count && one_in(2)) {
		did(CALL_sysctl, write_text(params[below(param_count)], text));
	} else {
		i = below(COUNT(some));
		snprintf(path, sizeof(path), "/proc/sys/%s", some[i].path);
		snprintf(text, sizeof(text), "%u", below(some[i].values));
		did(CALL_sysctl, write_text(path, text));
	}
}

static void *put(void *at, uint16_t type, const void *data, size_t len)
{
	struct nlattr *a = at;

	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	memcpy((char *)a + NLA_HDRLEN, data, len);
	return (char *)at + NLA_ALIGN(a->nla_len);
}

/* Sends what is from the attributes to `end`, and waits for the answer. */
static int ask(uint16_t family, uint8_t command, struct nlmsghdr *message, void *end)
{
	struct genlmsghdr *header = NLMSG_DATA(message);
	struct nlmsghdr *answer;
	static char got[8192];
	ssize_t len;

	message->nlmsg_type = family;
	message->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	message->nlmsg_len = (char *)end - (char *)message;
	header->cmd = command;
	header->version = 1;
	if (send(genl_fd, message, message->nlmsg_len, 0) < 0)
		return -1;
	do {
		len = recv(genl_fd, got, sizeof(got), 0);
	} while (len < 0 && errno == EINTR);
	answer = (struct nlmsghdr *)got;
	if (len < 0)
		return -1;
	if (answer->nlmsg_type == NLMSG_ERROR) {
		errno = -((struct nlmsgerr *)NLMSG_DATA(answer))->error;
		return errno ? -1 : 0;
	}
	memcpy(message, got, len);
	recv(genl_fd, got, sizeof(got), 0);
	return len;
}

static int change_endpoint(uint8_t command)
{
	static const char * const here[2][2] = {
		{ "10.0.1.1", "10.0.2.1" }, { "10.1.1.1", "10.1.2.1" },
	};
	static const uint32_t kinds[] = {
		MPTCP_PM_ADDR_FLAG_SIGNAL, MPTCP_PM_ADDR_FLAG_SUBFLOW,
		MPTCP_PM_ADDR_FLAG_SUBFLOW | MPTCP_PM_ADDR_FLAG_BACKUP,
		MPTCP_PM_ADDR_FLAG_SUBFLOW | MPTCP_PM_ADDR_FLAG_FULLMESH,
	};
	union {
		struct nlmsghdr header;
		char bytes[8192];
	} message = {};
	/* An id is always of the same address and kind: where it is that of another,
	 * upstream's path manager loses count, and warns (WARN_ON_ONCE() in
	 * __mark_subflow_endp_available()).
	 */
	int which = below(2), kind = below(COUNT(kinds));
	uint8_t id = 1 + 4 * which + kind;
	uint32_t limit = 1 + below(8), how = kinds[kind];
	char *end = (char *)NLMSG_DATA(&message.header) + GENL_HDRLEN;
	uint16_t family = AF_INET;
	struct in_addr address;
	struct nlattr *nest = (struct nlattr *)end;

	if (command == MPTCP_PM_CMD_SET_LIMITS) {
		end = put(end, MPTCP_PM_ATTR_RCV_ADD_ADDRS, &limit, 4);
		end = put(end, MPTCP_PM_ATTR_SUBFLOWS, &limit, 4);
	} else if (command != MPTCP_PM_CMD_FLUSH_ADDRS) {
		inet_pton(AF_INET, here[at_server][which], &address);
		end += NLA_HDRLEN;
		end = put(end, MPTCP_PM_ADDR_ATTR_FAMILY, &family, 2);
		end = put(end, MPTCP_PM_ADDR_ATTR_ID, &id, 1);
		end = put(end, MPTCP_PM_ADDR_ATTR_ADDR4, &address, 4);
		end = put(end, MPTCP_PM_ADDR_ATTR_FLAGS, &how, 4);
		nest->nla_type = MPTCP_PM_ATTR_ADDR | NLA_F_NESTED;
		nest->nla_len = end - (char *)nest;
	}
	return did(CALL_endpoint, ask(genl_family, command, &message.header, end));
}

static void change_any_endpoint(void)
{
	static const uint8_t commands[] = {
		MPTCP_PM_CMD_ADD_ADDR, MPTCP_PM_CMD_ADD_ADDR, MPTCP_PM_CMD_ADD_ADDR,
		MPTCP_PM_CMD_DEL_ADDR, MPTCP_PM_CMD_FLUSH_ADDRS, MPTCP_PM_CMD_SET_FLAGS,
		MPTCP_PM_CMD_SET_LIMITS, MPTCP_PM_CMD_SET_LIMITS,
	};

	change_endpoint(ONE_OF(commands));
}

static void find_family(void)
{
	union {
		struct nlmsghdr header;
		char bytes[8192];
	} message = {};
	char *at = (char *)NLMSG_DATA(&message.header) + GENL_HDRLEN, *end;
	int len;

	genl_fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	end = put(at, CTRL_ATTR_FAMILY_NAME, MPTCP_PM_NAME, sizeof(MPTCP_PM_NAME));
	len = ask(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, &message.header, end);
	if (len < 0)
		fail("no generic netlink family %s: %s", MPTCP_PM_NAME, strerror(errno));
	for (end = message.bytes + len; at < end;) {
		struct nlattr *a = (struct nlattr *)at;

		if (a->nla_type == CTRL_ATTR_FAMILY_ID)
			memcpy(&genl_family, at + NLA_HDRLEN, 2);
		at += NLA_ALIGN(a->nla_len);
	}
}

/* One subflow of a socket, as `ss -K` does. */
static void destroy_subflow(int fd)
{
	struct {
		struct mptcp_subflow_data head;
		struct mptcp_subflow_addrs all[8];
	} subflows = {
		.head.size_subflow_data = sizeof(struct mptcp_subflow_data),
		.head.size_user = sizeof(struct mptcp_subflow_addrs),
	};
	struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 what;
	} request = {
		.header.nlmsg_type = SOCK_DESTROY,
		.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
		.header.nlmsg_len = sizeof(request),
		.what.sdiag_family = AF_INET,
		.what.sdiag_protocol = IPPROTO_TCP,
		.what.id.idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE },
	};
	struct inet_diag_sockid *id = &request.what.id;
	const struct mptcp_subflow_addrs *one;
	char got[512];
	socklen_t len = sizeof(subflows);
	const struct nlmsgerr *error;
	int diag;

	if (did(CALL_get_option,
		getsockopt(fd, SOL_MPTCP, MPTCP_SUBFLOW_ADDRS, &subflows, &len)) ||
	    !subflows.head.num_subflows)
		return;
	one = &subflows.all[below(subflows.head.num_subflows) % COUNT(subflows.all)];
	id->idiag_src[0] = one->sin_local.sin_addr.s_addr;
	id->idiag_dst[0] = one->sin_remote.sin_addr.s_addr;
	id->idiag_sport = one->sin_local.sin_port;
	id->idiag_dport = one->sin_remote.sin_port;
	diag = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	if (diag < 0)
		return;
	if (send(diag, &request, sizeof(request), 0) > 0 &&
	    recv(diag, got, sizeof(got), MSG_DONTWAIT) > 0) {
		error = NLMSG_DATA((struct nlmsghdr *)got);
		errno = -error->error;
		did(CALL_destroy, errno ? -1 : 0);
	}
	close(diag);
}

/* Files of a namespace that has just come to its end. */
static void reopen(void)
{
	static const char * const names[] = { "mptcp_decisions", "mptcp_probe", "mptcp_drop" };
	int ready[2], held[3], fd, i;
	char path[64], byte = 0;
	pid_t pid;

	if (pipe(ready))
		return;
	pid = fork();
	if (!pid) {
		if (unshare(CLONE_NEWNET))
			_exit(1);
		if (write(ready[1], &byte, 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	while (read(ready[0], &byte, 1) < 0 && errno == EINTR)
		;
	for (i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/proc/%d/net/%s", pid, names[i]);
		held[i] = open(path, O_PATH);
	}
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	for (i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", held[i]);
		fd = did(CALL_reopen, open(path, O_RDWR | O_NONBLOCK));
		if (fd >= 0 && write(fd, "1", 1))
			close(fd);
		if (held[i] >= 0)
			close(held[i]);
	}
	close(ready[0]);
}

/* WHAT IS CERTAIN */

/* A call that must have a result: 0 is success. */
static long must(enum call call, long result, int error)
{
	if ((result < 0 ? errno : 0) != error)
		fail("%s: %s, where %s is certain", call_names[call],
		     result < 0 ? strerrorname_np(errno) : "ok",
		     error ? strerrorname_np(error) : "ok");
	return did(call, result);
}

static int set_named(int fd, const char *scheduler)
{
	return setsockopt(fd, SOL_MPTCP, MPTCP_SCHEDULER, scheduler, strlen(scheduler));
}

static int new_socket(void)
{
	int fd = must(CALL_socket, socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP), 0);

	/* the one that takes units */
	must(CALL_set_scheduler, set_named(fd, "video"), 0);
	return fd;
}

/* Data of `out` is sent by the kernel until `ready`, which already is, is found so. */
static void move_bulk(int file, int out, int ready)
{
	struct pollfd fds[2] = {
		{ .fd = ready, .events = POLLOUT }, { .fd = out, .events = POLLOUT },
	};
	struct bulk_flow flow = { .own = 1, .sends = 1, .chunk_bytes = 4096, .left = 8192 };
	struct bulk_receipt receipts[4];
	struct timespec now;
	struct bulk_wait wait = {
		.fds = (uintptr_t)fds, .count = 2, .flows = (uintptr_t)&flow, .flow_count = 1,
		.receipts = (uintptr_t)receipts, .timer = -1,
	};

	clock_gettime(CLOCK_MONOTONIC, &now);
	flow.until_ns = to_ns(&now) + NS_PER_SEC;
	must(CALL_bulk, ioctl(file, BULK_WAIT, &wait), 0);
}

static void read_all(int fd)
{
	struct pollfd one = { .fd = fd, .events = POLLIN };

	must(CALL_poll, poll(&one, 1, 1000), 0);
	must(CALL_recv, recv(fd, buffer, BUFFER, 0), 0);
}

static void use_files(int out, int ready)
{
	static const char * const files[] = {
		"/proc/net/mptcp_decisions", "/proc/net/mptcp_probe", "/proc/net/mptcp_drop",
		"/proc/mptcplab_bulk",
	};
	/* what changes nothing */
	static const char * const words[] = { "0", "stop", "start" };
	unsigned int i;
	void *mapped;

	for (i = 0; i < COUNT(files); i++) {
		int fd = must(CALL_open, open(files[i], O_RDWR | O_NONBLOCK), 0);

		if (i < COUNT(words))
			must(CALL_write, write(fd, words[i], strlen(words[i])), 0);
		else
			move_bulk(fd, out, ready);
		if (!strcmp(files[i], "/proc/net/mptcp_drop")) {
			mapped = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
			must(CALL_mmap, mapped == MAP_FAILED ? -1 : 0, EIO);
		}
		close(fd);
	}
}

/* On a connection of this process with itself, of which no other process knows. */
static void make_certain_calls(void)
{
	struct sockaddr_in here = { .sin_family = AF_INET };
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct mptcp_unit unit = { .id = ++unit_id, .bytes = 1000 };
	struct iovec piece = { buffer, 1000 };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };
	socklen_t len = sizeof(here);
	int listener, client, server;
	pid_t pid;

	inet_pton(AF_INET, "127.0.0.1", &here.sin_addr);
	listener = new_socket();
	client = new_socket();
	must(CALL_set_scheduler_bad, set_named(client, "x"), ENOENT);
	must(CALL_set_unit, setsockopt(client, SOL_MPTCP, MPTCP_UNIT, &unit, sizeof(unit)),
	     ENOTCONN);
	must(CALL_bind, bind(listener, (struct sockaddr *)&here, len), 0);
	must(CALL_listen, listen(listener, 1), 0);
	getsockname(listener, (struct sockaddr *)&here, &len);
	must(CALL_connect, connect(client, (struct sockaddr *)&here, len), 0);
	server = must(CALL_accept, accept(listener, NULL, NULL), 0);

	must(CALL_set_scheduler, set_named(client, "minrtt"), EISCONN);
	/* a kernel looks for a module of that name */
	must(CALL_set_option, setsockopt(client, SOL_TCP, TCP_CONGESTION, "x", 1), ENOENT);
	get_scheduler(client);
	len = 4;
	must(CALL_get_bad, getsockopt(client, SOL_MPTCP, MPTCP_SCHEDULER, no_access, &len), EFAULT);
	must(CALL_set_unit, setsockopt(client, SOL_MPTCP, MPTCP_UNIT, &unit, sizeof(unit)), 0);
	must(CALL_set_unit_bad,
	     setsockopt(client, SOL_MPTCP, MPTCP_UNIT, no_access, sizeof(unit)), EFAULT);
	must(CALL_send, send(client, buffer, 1000, 0), 0);
	len = 24;
	must(CALL_get_units, getsockopt(client, SOL_MPTCP, MPTCP_UNIT, buffer, &len), 0);
	read_all(server);
	must(CALL_sendmsg, sendmsg(client, &message, 0), 0);
	must(CALL_sendfile, sendfile(client, file_fd, &(off_t) { 0 }, 1000), 0);
	if (write(pipes[1], buffer, 1000) == 1000)
		must(CALL_splice, splice(pipes[0], NULL, client, NULL, 1000, 0), 0);
	read_all(server);
	use_files(client, server);
	must(CALL_shutdown, shutdown(server, SHUT_WR), 0);
	must(CALL_disconnect, connect(client, &none, sizeof(none)), 0);
	must(CALL_close, close(server), 0);
	must(CALL_close, close(client), 0);
	must(CALL_close, close(listener), 0);

	must(CALL_sysctl, write_text("/proc/sys/net/mptcp/scheduler", "default"), 0);
	if (change_endpoint(MPTCP_PM_CMD_SET_LIMITS))
		fail("limits of endpoints: %s", strerrorname_np(errno));
	reopen();
	pid = must(CALL_fork, fork(), 0);
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
}

/* Nobody makes any other calls before all have made these. */
static void begin_together(void)
{
	make_certain_calls();
	__atomic_fetch_add(&shared->ready, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(&shared->ready, __ATOMIC_RELAXED) < PROCESSES)
		nanosleep(&(struct timespec) { .tv_nsec = 1000000 }, NULL);
}

/* PROCESSES */

static void make_calls(uint64_t count);

static void reap(bool all)
{
	int status;
	pid_t pid;

	while (children) {
		pid = waitpid(-1, &status, all ? 0 : WNOHANG);
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid <= 0)
			break;
		children--;
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			fail("a process ended with the wait status %#x", status);
	}
}

static void set_alarm(void)
{
	struct itimerval every = {
		.it_interval.tv_usec = INTERRUPT_US, .it_value.tv_usec = INTERRUPT_US,
	};

	setitimer(ITIMER_REAL, &every, NULL);
}

static void fork_one(void)
{
	uint64_t seed = draw();
	pid_t pid;

	reap(false);
	if (is_child || children == CHILDREN_MAX)
		return;
	pid = did(CALL_fork, fork());
	if (pid > 0)
		children++;
	if (pid)
		return;
	is_child = true;
	children = 0;
	state = seed;
	set_alarm();
	make_calls(CHILD_CALLS);
	_exit(0);
}

static void wait_some(void)
{
	/* mostly until packets arrive, at times until timers expire */
	uint32_t ms = one_in(60) ? 3000 : one_in(10) ? below(200) : below(8);
	struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	did(CALL_wait, nanosleep(&time, NULL));
}

static void make_call(struct descriptor *d)
{
	switch (below(24)) {
	case 0:
		make_connection();
		return;
	case 1:
		if (one_in(2))
			wait_some();
		else
			did(CALL_yield, sched_yield());
		return;
	case 2:
		if (one_in(4))
			open_file();
		return;
	case 3:
		if (one_in(12))
			write_sysctl();
		return;
	case 4:
		if (one_in(12))
			change_any_endpoint();
		return;
	case 5:
		if (one_in(40))
			fork_one();
		else if (one_in(60))
			reopen();
		else if (!is_child)
			make_listener();
		return;
	}
	switch (d->kind) {
	case SOCKET:
		use_socket(d);
		break;
	case LISTENER:
		use_listener(d);
		break;
	case NOTHING:
		make_connection();
		break;
	default:
		use_file(d);
	}
}

static void make_calls(uint64_t count)
{
	uint64_t end = shared->calls + count, made;
	int row, i;

	/* each takes part as long as all have not made what they should */
	for (made = 0; made < count && shared->calls < end; made++) {
		struct descriptor *d = &descriptors[one_in(6) ? 0 : below(DESCRIPTORS)];

		for (row = 1 + below(ROW), i = 0; i < row; i++)
			make_call(d);
	}
}

/* Of a namespace: connections that make progress have room; those of all do not fill the memory. */
static void set_up(void)
{
	write_text("/proc/sys/net/ipv4/tcp_rmem", "4096 32768 131072");
	write_text("/proc/sys/net/ipv4/tcp_wmem", "4096 16384 131072");
	write_text("/proc/sys/net/ipv4/tcp_syn_retries", "2");
	write_text("/proc/sys/net/ipv4/tcp_retries2", "5");
	write_text("/proc/sys/net/ipv4/tcp_fin_timeout", "2");
	write_text("/proc/sys/net/mptcp/mptcpize", "0");
}

static void on_alarm(int number)
{
	(void)number;
}

static void __attribute__((noreturn)) process(uint64_t seed, int index, uint64_t calls)
{
	static const char * const ends[] = { NETNS_DIR "/client", NETNS_DIR "/server" };
	struct sigaction action = { .sa_handler = on_alarm };
	int i, fd;

	state = seed * 1000003 + index;
	unit_id = index << 20;
	at_server = index % 2;
	own_port = PORT + index;
	fd = open(ends[at_server], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		fail("%s: %s", ends[at_server], strerror(errno));
	close(fd);
	if (index < 2)
		set_up();
	find_family();
	for (i = 0; i < DESCRIPTORS; i++)
		descriptors[i].fd = -1;
	if (pipe2(pipes, O_NONBLOCK))
		fail("pipe: %s", strerror(errno));
	sigaction(SIGALRM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	begin_together();
	set_alarm();
	while (shared->calls < calls)
		make_calls(1);
	reap(true);
	_exit(0);
}

/* THE WHOLE */

static void make_memory(void)
{
	uint8_t *pages = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || shared == MAP_FAILED)
		exit(1);
	munmap(pages + 4096, 4096);
	edge = pages + 4096;
	read_only = pages + 2 * 4096;
	no_access = pages + 3 * 4096;
	mprotect(read_only, 4096, PROT_READ);
	mprotect(no_access, 4096, PROT_NONE);
	file_fd = memfd_create("data", MFD_CLOEXEC);
	if (write(file_fd, buffer, BUFFER) != BUFFER)
		exit(1);
}

static void find_names(void)
{
	static char text[4096];
	int fd = open("/proc/sys/net/mptcp/available_schedulers", O_RDONLY | O_CLOEXEC);
	glob_t found;
	char *name;
	size_t i;

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		fail("no schedulers");
	close(fd);
	for (name = strtok(text, "\n "); name; name = strtok(NULL, "\n "))
		schedulers[scheduler_count++] = name;
	if (glob("/proc/sys/net/mptcp/*/*", 0, NULL, &found))
		return;
	for (i = 0; i < found.gl_pathc && param_count < NAMES_MAX; i++)
		params[param_count++] = found.gl_pathv[i];
}

static void print_counts(void)
{
	int call, error;

	for (call = 0; call < CALL_COUNT; call++) {
		printf("%s", call_names[call]);
		for (error = 0; error <= ERRNOS; error++)
			if (shared->counts[call][error])
				printf("\t%s=%u", error ? strerrorname_np(error) : "ok",
				       shared->counts[call][error]);
		printf("\n");
	}
	printf("calls %llu\n", (unsigned long long)shared->calls);
}

int main(int argc, char **argv)
{
	uint64_t seed, calls;
	struct timespec begin, now;
	int i, status;
	pid_t pid;

	if (argc != 3)
		return 2;
	seed = strtoull(argv[1], NULL, 10);
	calls = strtoull(argv[2], NULL, 10);
	setvbuf(stdout, NULL, _IONBF, 0);
	make_memory();
	find_names();
	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (i = 0; i < PROCESSES; i++) {
		pid = fork();
		if (pid < 0)
			return 1;
		if (!pid)
			process(seed, i, calls);
	}
	for (i = 0; i < PROCESSES;) {
		pid = waitpid(-1, &status, WNOHANG);
		if (pid > 0) {
			i++;
			if (status && !shared->has_failed)
				printf("WRONG: a process ended with the wait status %#x\n", status);
			shared->has_failed |= status;
			continue;
		}
		nanosleep(&(struct timespec) { .tv_nsec = 10000000 }, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec - begin.tv_sec > STUCK_S) {
			printf("WRONG: a process does not come to its end\n");
			return 1;
		}
	}
	print_counts();
	return shared->has_failed;
}
