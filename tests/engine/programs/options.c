// SPDX-License-Identifier: GPL-2.0-only
/* What socket options and flags of send() do.
 *
 * options serve: the other end of each trial. options play TEXT NAME...: makes each
 * experiment whose name contains TEXT, without and with its option, for each NAME:
 * `tcp`, or a scheduler of MPTCP. It watches the packets of its own host, and prints lines
 *
 *	NAME <tab> option <tab> error <tab> seen without <tab> seen with
 *
 * where the error is that of setting it, or of the call with the flag. Virtual time
 * makes all figures exact. tests/socket_options.py reads them.
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/in6.h>
#include <linux/inet_diag.h>
#include <linux/ipv6.h>
#include <linux/net_tstamp.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#ifndef SOL_TCP
#define SOL_TCP 6
#endif
#ifndef SOL_MPTCP
#define SOL_MPTCP 284
#endif
#ifndef IP_LOCAL_PORT_RANGE
#define IP_LOCAL_PORT_RANGE 51
#endif
#ifndef SO_TXREHASH
#define SO_TXREHASH 74
#endif
#ifndef SO_PASSPIDFD
#define SO_PASSPIDFD 76
#endif
#ifndef MPTCP_INFO
#define MPTCP_INFO 1
#define MPTCP_TCPINFO 2
#define MPTCP_SUBFLOW_ADDRS 3
#define MPTCP_FULL_INFO 4
#endif

#define CONTROL_PORT	4000
#define SERVER		"10.1.1.1"
#define ms		1000000LL
#define LIMIT_MS	20000		/* what takes longer is not waited for */
#define TCPOPT_FASTOPEN	34
#define length(array)	(sizeof(array) / sizeof((array)[0]))

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static long long now_ns(void)
{
	struct timespec at;

	clock_gettime(CLOCK_REALTIME, &at);
	return at.tv_sec * 1000000000LL + at.tv_nsec;
}

static void rest(long long ns)
{
	struct timespec time = { ns / 1000000000, ns % 1000000000 };

	while (nanosleep(&time, &time) && errno == EINTR)
		;
}

static void settle(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die(file);
	close(fd);
}

/* --- a trial: an experiment, with its option or without */

struct packet {
	long long at_ns;	/* since the trial began */
	bool sent;
	int device;
	int port;		/* of the client */
	int bytes;		/* of payload */
	__u8 tos, ttl;
	bool df, syn, fin, rst, urg;
	__u32 seq, ack;
	int window;
	__u64 cookie;	/* of Fast Open */
};

struct trial {
	const struct experiment *experiment;
	bool on;
	int protocol;
	int port;
	int fd;
	int tap, control;
	int error;
	long long start_ns;
	struct packet *packets;
	int count;
	char seen[256];
};

enum moment { FIRST, LATER, AT_SERVER, FLAG };
enum service { SINK, STALL, TALK, ECHO };

struct experiment {
	const char *name;
	enum moment when;	/* it is set before connect(), after, or by the play */
	int level, option;
	int value;
	const void *pointer;	/* instead of the value, of this size */
	socklen_t size;
	void (*play)(struct trial *trial);
	void (*judge)(struct trial *trial);
	enum service service;
	bool unconnected;	/* the play connects on its own, if at all */
};

static void saw(struct trial *trial, const char *format, ...)
{
	size_t end = strlen(trial->seen);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(trial->seen + end, sizeof(trial->seen) - end, format, arguments);
	va_end(arguments);
}

static int since(const struct trial *trial, long long ns)
{
	return (int)((ns - trial->start_ns + ms / 2) / ms);
}

static int passed(const struct trial *trial)
{
	return since(trial, now_ns());
}

static void set(int fd, int level, int option, int value)
{
	if (setsockopt(fd, level, option, &value, sizeof(value)))
		die("setsockopt");
}

static void apply(struct trial *trial, int fd)
{
	const struct experiment *experiment = trial->experiment;
	const void *value = experiment->pointer ?: &experiment->value;
	socklen_t size = experiment->pointer ? experiment->size : sizeof(experiment->value);

	if (trial->on && setsockopt(fd, experiment->level, experiment->option, value, size))
		trial->error = errno;
}

static int stream(int family, int protocol)
{
	int fd = socket(family, SOCK_STREAM, protocol);

	if (fd < 0)
		die("socket");
	return fd;
}

static struct sockaddr_in place(const char *host, int port)
{
	return (struct sockaddr_in) {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = inet_addr(host),
	};
}

static int reach(int fd, int port)
{
	struct sockaddr_in address = place(SERVER, port);

	return connect(fd, (void *)&address, sizeof(address));
}

static const char *name_of(int error)
{
	return error ? strerrorname_np(error) : "no error";
}

/* Until the peer is at its end, too. */
static void end(struct trial *trial)
{
	char bytes[65536];

	shutdown(trial->fd, SHUT_WR);
	while (read(trial->fd, bytes, sizeof(bytes)) > 0)
		;
	close(trial->fd);
	trial->fd = -1;
}

/* --- what the host sends and receives */

static int open_tap(void)
{
	int fd = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_ALL)), room = 1 << 27, yes = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)) ||
	    setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &yes, sizeof(yes)))
		die("tap");
	return fd;
}

static __u64 cookie_of(const struct tcphdr *tcp)
{
	const unsigned char *option = (void *)(tcp + 1), *last = (void *)tcp;
	__u64 cookie = 0;

	for (last += tcp->doff * 4; option < last && *option; option += *option > 1 ? option[1] : 1) {
		if (*option == TCPOPT_FASTOPEN && option[1] == 10) {
			memcpy(&cookie, option + 2, 8);
			break;
		}
	}
	return cookie;
}

static void read_tap(struct trial *trial)
{
	unsigned char bytes[128], control[128];
	struct sockaddr_ll from;

	trial->packets = calloc(1 << 16, sizeof(*trial->packets));
	for (;;) {
		struct iovec part = { bytes, sizeof(bytes) };
		struct msghdr message = {
			.msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = &part,
			.msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
		};
		ssize_t got = recvmsg(trial->tap, &message, MSG_DONTWAIT);
		const struct iphdr *ip = (void *)bytes;
		const struct tcphdr *tcp = (void *)(bytes + ip->ihl * 4);
		struct packet *packet = trial->packets + trial->count;
		bool sent = from.sll_pkttype == PACKET_OUTGOING;
		const struct timespec *at;

		if (got < 0)
			break;
		if (got < 40 || ip->version != 4 || ip->protocol != IPPROTO_TCP ||
		    ntohs(sent ? tcp->dest : tcp->source) != trial->port)
			continue;
		at = (void *)CMSG_DATA(CMSG_FIRSTHDR(&message));
		*packet = (struct packet) {
			.at_ns = at->tv_sec * 1000000000LL + at->tv_nsec - trial->start_ns,
			.sent = sent, .device = from.sll_ifindex,
			.port = ntohs(sent ? tcp->source : tcp->dest),
			.bytes = ntohs(ip->tot_len) - ip->ihl * 4 - tcp->doff * 4,
			.tos = ip->tos, .ttl = ip->ttl, .df = ntohs(ip->frag_off) & IP_DF,
			.syn = tcp->syn, .fin = tcp->fin, .rst = tcp->rst, .urg = tcp->urg,
			.seq = ntohl(tcp->seq), .ack = ntohl(tcp->ack_seq),
			.window = ntohs(tcp->window), .cookie = cookie_of(tcp),
		};
		if (++trial->count == 1 << 16)
			die("too many packets");
	}
	close(trial->tap);
}

#define for_each_sent(trial, packet) \
	for (const struct packet *packet = (trial)->packets; \
	     packet < (trial)->packets + (trial)->count; packet++) \
		if (packet->sent)

/* What the kernel says of the sockets of the connection, the subflows of MPTCP. */
static void for_each_socket(struct trial *trial,
			    void (*look)(struct trial *trial, const struct rtattr *attribute))
{
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);
	struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 request;
	} ask = {
		.header = { sizeof(ask), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST | NLM_F_DUMP },
		.request = {
			.sdiag_family = AF_INET, .sdiag_protocol = IPPROTO_TCP, .idiag_states = 1 << 1,
			.idiag_ext = 1 << (INET_DIAG_CONG - 1) | 1 << (INET_DIAG_TCLASS - 1),
		},
	};
	static char bytes[1 << 16] __attribute__((aligned(8)));

	if (send(fd, &ask, sizeof(ask), 0) < 0)
		die("sock_diag");
	for (;;) {
		int got = recv(fd, bytes, sizeof(bytes), 0);
		const struct nlmsghdr *header = (void *)bytes;

		for (; NLMSG_OK(header, got); header = NLMSG_NEXT(header, got)) {
			const struct inet_diag_msg *message = NLMSG_DATA(header);
			const struct rtattr *attribute = (void *)(message + 1);
			int left = header->nlmsg_len - NLMSG_LENGTH(sizeof(*message));

			if (header->nlmsg_type == NLMSG_DONE || header->nlmsg_type == NLMSG_ERROR) {
				close(fd);
				return;
			}
			if (ntohs(message->id.idiag_dport) != trial->port)
				continue;
			for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left))
				look(trial, attribute);
		}
	}
}

static void look_priority(struct trial *trial, const struct rtattr *attribute)
{
	if (attribute->rta_type == INET_DIAG_CLASS_ID)
		saw(trial, "%s%u", *trial->seen ? ", " : "priority ", *(__u32 *)RTA_DATA(attribute));
}

static void look_congestion(struct trial *trial, const struct rtattr *attribute)
{
	if (attribute->rta_type == INET_DIAG_CONG)
		saw(trial, "%s%s", *trial->seen ? ", " : "", (char *)RTA_DATA(attribute));
}

/* --- what is judged on the wire */

static void judge_segments(struct trial *trial)
{
	long long last_ns = 0;
	int segments = 0;

	for_each_sent(trial, packet) {
		if (packet->bytes <= 0 || packet->at_ns < 0)
			continue;
		segments++;
		last_ns = packet->at_ns;
	}
	saw(trial, "%d segment%s, the last at %lld ms", segments, segments == 1 ? "" : "s",
	    (last_ns + ms / 2) / ms);
}

static void judge_largest(struct trial *trial)
{
	int largest = 0;

	for_each_sent(trial, packet)
		if (packet->bytes > largest)
			largest = packet->bytes;
	saw(trial, "largest segment %d bytes", largest);
}

static void judge_short(struct trial *trial)
{
	int count = 0, largest = 0;

	for_each_sent(trial, packet)
		if (packet->bytes > largest)
			largest = packet->bytes;
	for_each_sent(trial, packet)
		count += packet->at_ns >= 0 && packet->bytes > 0 && packet->bytes < largest;
	saw(trial, "%d short segment%s", count, count == 1 ? "" : "s");
}

/* The values of a field, in the data of how many subflows. */
#define judge_values(trial, what, format, field) ({ \
	int values[8], ports[8], found = 0, subflows = 0, each; \
	for_each_sent(trial, packet) { \
		if (packet->bytes <= 0 || packet->at_ns < 0) \
			continue; \
		for (each = 0; each < found && values[each] != (field); each++) \
			; \
		if (each == found && found < 8) \
			values[found++] = (field); \
		for (each = 0; each < subflows && ports[each] != packet->port; each++) \
			; \
		if (each == subflows && subflows < 8) \
			ports[subflows++] = packet->port; \
	} \
	for (each = 0; each < found; each++) \
		saw(trial, "%s" format, each ? ", " : what, values[each]); \
	saw(trial, " on %d subflow%s", subflows, subflows == 1 ? "" : "s"); \
})

static void judge_tos(struct trial *trial)
{
	judge_values(trial, "TOS ", "0x%x", packet->tos);
}

static void judge_ttl(struct trial *trial)
{
	judge_values(trial, "TTL ", "%d", packet->ttl);
}

static void judge_df(struct trial *trial)
{
	judge_values(trial, "DF ", "%d", packet->df);
}

/* Where the first SYN, and the data of its subflow, leave. */
static void judge_device(struct trial *trial)
{
	char name[IF_NAMESIZE] = "";
	int port = 0;

	for_each_sent(trial, packet) {
		if (packet->syn && !port) {
			port = packet->port;
			saw(trial, "SYN on %s", if_indextoname(packet->device, name));
		} else if (packet->port == port && packet->bytes > 0) {
			saw(trial, ", data on %s", if_indextoname(packet->device, name));
			return;
		}
	}
}

static void judge_later_devices(struct trial *trial)
{
	char name[IF_NAMESIZE] = "";
	int ports[8], subflows = 0, each;

	for_each_sent(trial, packet) {
		if (packet->bytes <= 0 || packet->at_ns < 0)
			continue;
		for (each = 0; each < subflows && ports[each] != packet->port; each++)
			;
		if (each < subflows || subflows == 8)
			continue;
		saw(trial, "%s%s", subflows ? ", " : "data on ", if_indextoname(packet->device, name));
		ports[subflows++] = packet->port;
	}
}

static void judge_end(struct trial *trial)
{
	bool rst = false, fin = false;

	for_each_sent(trial, packet) {
		rst |= packet->rst;
		fin |= packet->fin;
	}
	saw(trial, "%s", rst ? "RST" : fin ? "FIN" : "nothing");
}

/* Of each connection of the trial: how much data of its first SYN the answer acknowledges,
 * and how much there was
 */
static void judge_syn(struct trial *trial)
{
	const struct packet *syn = NULL;

	for (const struct packet *packet = trial->packets;
	     packet < trial->packets + trial->count; packet++) {
		if (!packet->syn || packet->device != trial->packets->device)
			continue;
		if (packet->sent && (!syn || syn->port != packet->port)) {
			syn = packet;
		} else if (!packet->sent && syn && syn->port == packet->port) {
			saw(trial, "%s%u of %d", *trial->seen ? ", " : "bytes of the SYNs taken: ",
			    packet->ack - syn->seq - 1, syn->bytes);
		}
	}
}

/* The cookie of `key`, for the addresses that all trials have. */
static void judge_cookie(struct trial *trial)
{
	for (const struct packet *packet = trial->packets;
	     packet < trial->packets + trial->count; packet++) {
		if (!packet->sent && packet->cookie) {
			saw(trial, "the cookie of %s key",
			    packet->cookie == 0x5249f8b389c8611aULL ? "this" : "another");
			return;
		}
	}
}

static void judge_urgent(struct trial *trial)
{
	bool urgent = false;

	for_each_sent(trial, packet)
		urgent |= packet->urg;
	saw(trial, urgent ? "URG" : "no URG");
}

/* Answers to data: how long does the first take? */
static void judge_ack(struct trial *trial)
{
	long long data_ns = -1;

	for (const struct packet *packet = trial->packets;
	     packet < trial->packets + trial->count; packet++) {
		if (packet->at_ns < 0)
			continue;
		if (!packet->sent && packet->bytes > 0 && data_ns < 0)
			data_ns = packet->at_ns;
		if (packet->sent && data_ns >= 0) {
			saw(trial, "ACK after %lld ms", (packet->at_ns - data_ns + ms / 2) / ms);
			return;
		}
	}
}

static void judge_reset(struct trial *trial)
{
	for_each_sent(trial, packet) {
		if (!packet->rst)
			continue;
		saw(trial, "RST at %.1f s", packet->at_ns / 1e9);
		return;
	}
	saw(trial, "no RST in %d s", LIMIT_MS / 1000);
}

/* Keepalive probes: a number before what comes next, without data. */
static void judge_probes(struct trial *trial)
{
	int count = 0;

	for_each_sent(trial, packet) {
		if (packet->at_ns < 500 * ms || packet->fin || packet->rst || packet->bytes > 0)
			continue;
		if (packet->at_ns > 5900 * ms)
			break;
		if (!count++)
			saw(trial, "first probe at %lld ms", (packet->at_ns + ms / 2) / ms);
	}
	saw(trial, "%s%d probe%s in 6 s", count ? ", " : "", count, count == 1 ? "" : "s");
}

static void judge_window(struct trial *trial)
{
	int largest = 0;

	for_each_sent(trial, packet)
		if (!packet->syn && packet->window > largest)
			largest = packet->window;
	saw(trial, "largest window field %d", largest);
}

/* --- plays */

static void write_pieces(struct trial *trial, int count, int size, int flags)
{
	char bytes[4096] = "";

	for (int i = 0; i < count; i++) {
		if (send(trial->fd, bytes, size, flags) < 0 && !trial->error)
			trial->error = errno;
		rest(5 * ms);
	}
}

/* 20 pieces of 50 bytes each 5 ms, and nothing more for half a second */
static void play_pieces(struct trial *trial)
{
	write_pieces(trial, 20, 50, 0);
	rest(500 * ms);
	end(trial);
}

static void play_flag(struct trial *trial)
{
	write_pieces(trial, 20, 50, trial->on ? trial->experiment->value : 0);
	rest(500 * ms);
	end(trial);
}

static void play_eor(struct trial *trial)
{
	char bytes[4096] = "";

	/* one behind the other, with nothing acknowledged in between */
	set(trial->fd, SOL_TCP, TCP_CORK, 1);
	for (int i = 0; i < 4; i++)
		send(trial->fd, bytes, 50, trial->on ? MSG_EOR : 0);
	set(trial->fd, SOL_TCP, TCP_CORK, 0);
	rest(300 * ms);
	end(trial);
}

static void play_uncorked(struct trial *trial)
{
	write_pieces(trial, 10, 50, 0);
	if (trial->on)
		set(trial->fd, SOL_TCP, TCP_CORK, 0);
	rest(500 * ms);
	end(trial);
}

static void play_undelayed(struct trial *trial)
{
	write_pieces(trial, 10, 50, 0);
	if (trial->on)
		set(trial->fd, SOL_TCP, TCP_NODELAY, 1);
	rest(500 * ms);
	end(trial);
}

/* The third waits for the first one to be acknowledged, at 20 ms. */
static void play_late_nodelay(struct trial *trial)
{
	write_pieces(trial, 3, 50, 0);
	if (trial->on)
		set(trial->fd, SOL_TCP, TCP_NODELAY, 1);
	rest(300 * ms);
	end(trial);
}

static void play_small_buffer(struct trial *trial)
{
	set(trial->fd, SOL_SOCKET, SO_SNDBUF, 1);
	write_pieces(trial, 30, 1000, 0);
	rest(500 * ms);
	end(trial);
}

/* Writes of all sizes after short pauses, with TCP_CORK and TCP_NODELAY set and taken away
 * in between. After each five it waits until nothing is unacknowledged any more.
 */
static void play_mixed(struct trial *trial)
{
	static char bytes[3000];
	unsigned int random = 1;
	long long longest_ns = 0;
	long written = 0;

	for (int i = 1; i <= 300; i++) {
		long long wait_ns, last_ns;
		int size, choice, unsent;

		random = random * 1103515245 + 12345;
		size = 1 + (random >> 8) % sizeof(bytes);
		choice = (random >> 24) % 8;
		if (trial->on && choice < 4)
			set(trial->fd, SOL_TCP, choice < 2 ? TCP_CORK : TCP_NODELAY, choice & 1);
		if (send(trial->fd, bytes, size, 0) != size)
			die("send");
		written += size;
		last_ns = now_ns();
		rest((random >> 16) % 30 * ms);
		do {
			rest(1 * ms);
			if (ioctl(trial->fd, SIOCOUTQ, &unsent))
				die("SIOCOUTQ");
			wait_ns = now_ns() - last_ns;
		} while (unsent && i % 5 == 0 && wait_ns < LIMIT_MS * ms);
		if (i % 5 == 0 && wait_ns > longest_ns)
			longest_ns = wait_ns;
	}
	end(trial);
	saw(trial, "%ld bytes, acknowledged after at most %lld ms", written, longest_ns / ms);
}

static void play_cut_off(struct trial *trial)
{
	write_pieces(trial, 10, 50, 0);
	end(trial);
}

static void play_closed(struct trial *trial)
{
	write_pieces(trial, 10, 50, 0);
	close(trial->fd);
	trial->fd = -1;
	rest(500 * ms);
}

static void play_large_pieces(struct trial *trial)
{
	write_pieces(trial, 20, 700, 0);
	rest(500 * ms);
	end(trial);
}

/* a long transfer, corked: it may take no longer than without */
static void play_corked_bulk(struct trial *trial)
{
	static char bytes[1000000];

	for (size_t sent = 0; sent < sizeof(bytes); sent += 10000)
		if (send(trial->fd, bytes, 10000, 0) < 0)
			die("send");
	end(trial);
}

static void judge_bulk(struct trial *trial)
{
	int short_ones = 0, largest = 0;
	long long last_ns = 0;

	for_each_sent(trial, packet) {
		if (packet->bytes > largest)
			largest = packet->bytes;
		if (packet->bytes > 0)
			last_ns = packet->at_ns;
	}
	for_each_sent(trial, packet)
		short_ones += packet->bytes > 0 && packet->bytes < largest;
	saw(trial, "1 MB with %d short segment%s, the last at %lld ms", short_ones,
	    short_ones == 1 ? "" : "s", (last_ns + ms / 2) / ms);
}

static void play_splice(struct trial *trial)
{
	int ends[2];
	char bytes[50] = "";

	if (pipe(ends))
		die("pipe");
	for (int i = 0; i < 20; i++) {
		if (write(ends[1], bytes, 50) != 50 ||
		    splice(ends[0], NULL, trial->fd, NULL, 50, trial->on ? SPLICE_F_MORE : 0) < 0)
			trial->error = errno;
		rest(5 * ms);
	}
	rest(500 * ms);
	end(trial);
}

/* 200,000 bytes in writes of 65,536, or by sendfile(), which takes so much at once, too, and
 * announces that more follows. The congestion window has room for the first ones.
 */
static void play_sendfile(struct trial *trial)
{
	static char bytes[1000000];
	FILE *file = tmpfile();
	off_t from = 0;

	fwrite(bytes, 1, 200000, file);
	fflush(file);
	set(trial->fd, SOL_TCP, TCP_NODELAY, 1);
	send(trial->fd, bytes, sizeof(bytes), 0);
	/* all of it has arrived, and the congestion window is still there */
	rest(550 * ms);
	trial->start_ns = now_ns();
	while (from < 200000) {
		int left = 200000 - (int)from;

		if (trial->on) {
			if (sendfile(trial->fd, fileno(file), &from, left) < 0) {
				trial->error = errno;
				break;
			}
		} else {
			from += send(trial->fd, bytes, left < 65536 ? left : 65536, 0);
		}
	}
	fclose(file);
	end(trial);
}

/* how much may be written at once, and when again */
static void play_fill(struct trial *trial)
{
	struct pollfd poll_for = { .fd = trial->fd, .events = POLLOUT };
	char bytes[1000] = "";
	long written = 0;
	ssize_t got;

	while ((got = send(trial->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
		written += got;
	poll(&poll_for, 1, 3000);
	saw(trial, "%ld bytes at once, more at %d ms", written, passed(trial));
	end(trial);
}

static void play_timed_write(struct trial *trial)
{
	static char bytes[8 << 20];
	ssize_t got = send(trial->fd, bytes, sizeof(bytes), 0);

	saw(trial, "a write of 8 MiB ends %s at %d ms", got == sizeof(bytes) ? "whole" : "in part",
	    passed(trial));
	end(trial);
}

static void play_bulk(struct trial *trial)
{
	static char bytes[100000];

	send(trial->fd, bytes, sizeof(bytes), 0);
	end(trial);
	saw(trial, "100 kB arrived at %d ms", passed(trial) / 10 * 10);
}

static void play_priority(struct trial *trial)
{
	for_each_socket(trial, look_priority);
	end(trial);
}

static void play_congestion(struct trial *trial)
{
	for_each_socket(trial, look_congestion);
	end(trial);
}

/* So many that each subflow gets some. */
static void play_bytes(struct trial *trial)
{
	static char bytes[100000];

	send(trial->fd, bytes, sizeof(bytes), 0);
	rest(300 * ms);
	end(trial);
}

static void play_listen(struct trial *trial)
{
	char bytes[4096];

	/* the server talks after half a second */
	recv(trial->fd, bytes, sizeof(bytes), 0);
	rest(200 * ms);
	end(trial);
}

/* Packets go to a host that does not exist. */
static void cut(bool off)
{
	const char *at = off ? "02:00:00:00:00:99" : NULL;
	char line[128];

	for (int path = 1; path <= 2; path++) {
		char real[32];

		snprintf(real, sizeof(real), "02:00:0a:00:%02d:fe", path);
		snprintf(line, sizeof(line), "ip neigh replace 10.0.%d.254 lladdr %s dev c%d", path,
			 at ?: real, path);
		if (system(line))
			die(line);
	}
}

static void await_error(struct trial *trial)
{
	struct pollfd poll_for = { .fd = trial->fd, .events = POLLIN };
	socklen_t size = sizeof(int);
	int error = 0;

	if (!poll(&poll_for, 1, LIMIT_MS)) {
		saw(trial, "no error in %d s", LIMIT_MS / 1000);
	} else {
		getsockopt(trial->fd, SOL_SOCKET, SO_ERROR, &error, &size);
		saw(trial, "%s at %.1f s", name_of(error), passed(trial) / 1000.0);
	}
	cut(false);
	close(trial->fd);
	trial->fd = -1;
}

static void play_unanswered(struct trial *trial)
{
	cut(true);
	send(trial->fd, "?", 1, 0);
	await_error(trial);
}

static void play_idle(struct trial *trial)
{
	rest(6000 * ms);
	end(trial);
}

static void play_keepalive(struct trial *trial)
{
	set(trial->fd, SOL_TCP, TCP_KEEPIDLE, 1);
	play_idle(trial);
}

static void play_keepidle(struct trial *trial)
{
	set(trial->fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	play_idle(trial);
}

static void play_keepintvl(struct trial *trial)
{
	set(trial->fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set(trial->fd, SOL_TCP, TCP_KEEPIDLE, 1);
	cut(true);
	rest(6000 * ms);
	cut(false);
	end(trial);
}

static void play_keepcnt(struct trial *trial)
{
	set(trial->fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set(trial->fd, SOL_TCP, TCP_KEEPIDLE, 1);
	set(trial->fd, SOL_TCP, TCP_KEEPINTVL, 1);
	cut(true);
	rest(LIMIT_MS * ms);
	cut(false);
}

static void play_close(struct trial *trial)
{
	char bytes[20000] = "";

	send(trial->fd, bytes, sizeof(bytes), 0);
	close(trial->fd);
	saw(trial, "close() ends at %d ms", passed(trial));
	trial->fd = -1;
	rest(1000 * ms);
}

static void play_abort(struct trial *trial)
{
	char bytes[20000] = "";

	send(trial->fd, bytes, sizeof(bytes), 0);
	close(trial->fd);
	trial->fd = -1;
	rest(1000 * ms);
}

/* A first connection brings the cookie. */
static void play_fastopen(struct trial *trial)
{
	struct sockaddr_in address = place(SERVER, trial->port);
	char bytes[100] = "";

	if (system("ip tcp_metrics flush"))
		die("ip");
	for (int i = 0; i < 2; i++) {
		if (i)
			trial->fd = stream(AF_INET, trial->protocol);
		if (trial->experiment->when == FIRST)
			apply(trial, trial->fd);
		if (trial->experiment->when != FLAG || trial->on) {
			if (trial->experiment->option == TCP_FASTOPEN_CONNECT && !trial->error) {
				connect(trial->fd, (void *)&address, sizeof(address));
				send(trial->fd, bytes, sizeof(bytes), 0);
			} else if (sendto(trial->fd, bytes, sizeof(bytes), MSG_FASTOPEN,
					  (void *)&address, sizeof(address)) < 0 && !trial->error) {
				trial->error = errno;
			}
		} else {
			connect(trial->fd, (void *)&address, sizeof(address));
			send(trial->fd, bytes, sizeof(bytes), 0);
		}
		rest(200 * ms);
		end(trial);
		rest(200 * ms);
	}
}

static void play_txtime(struct trial *trial)
{
	struct iovec part = { "?", 1 };
	char room[CMSG_SPACE(sizeof(__u64))] = "";
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *header;
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	if (trial->on && !trial->error) {
		message.msg_control = room;
		message.msg_controllen = sizeof(room);
		header = CMSG_FIRSTHDR(&message);
		*header = (struct cmsghdr) {
			.cmsg_len = CMSG_LEN(sizeof(__u64)), .cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_TXTIME,
		};
		*(__u64 *)CMSG_DATA(header) = at.tv_sec * 1000000000ULL + at.tv_nsec + 100 * ms;
	}
	if (sendmsg(trial->fd, &message, 0) < 0)
		trial->error = errno;
	rest(300 * ms);
	end(trial);
}

static int count_notices(struct trial *trial)
{
	char control[512];
	int count = 0;

	for (;;) {
		struct msghdr message = { .msg_control = control, .msg_controllen = sizeof(control) };

		if (recvmsg(trial->fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
			return count;
		count++;
	}
}

static void play_timestamping(struct trial *trial)
{
	write_pieces(trial, 3, 50, 0);
	rest(200 * ms);
	saw(trial, "%d timestamps of 3 writes", count_notices(trial));
	end(trial);
}

static void play_zerocopy(struct trial *trial)
{
	static char bytes[100000];
	int flags = trial->on && !trial->error ? MSG_ZEROCOPY : 0;

	if (send(trial->fd, bytes, sizeof(bytes), flags) < 0 && !trial->error)
		trial->error = errno;
	rest(300 * ms);
	saw(trial, "completion %s", count_notices(trial) ? "reported" : "not reported");
	end(trial);
}

/* what comes along with received data */
static void play_ancillary(struct trial *trial)
{
	char bytes[4096], control[512];
	struct iovec part = { bytes, 10 };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = sizeof(control),
	};
	int count = 0;

	rest(700 * ms);
	if (recvmsg(trial->fd, &message, 0) < 0)
		die("recvmsg");
	for (struct cmsghdr *each = CMSG_FIRSTHDR(&message); each; each = CMSG_NXTHDR(&message, each))
		count++;
	saw(trial, "%d control message%s", count, count == 1 ? "" : "s");
	end(trial);
}

static void play_late_word(struct trial *trial)
{
	rest(300 * ms);
	send(trial->fd, "!", 1, 0);
	end(trial);
}

static void play_silent_connect(struct trial *trial)
{
	cut(true);
	fcntl(trial->fd, F_SETFL, O_NONBLOCK);
	reach(trial->fd, trial->port);
	{
		struct pollfd poll_for = { .fd = trial->fd, .events = POLLOUT };
		socklen_t size = sizeof(int);
		int error = 0;

		poll(&poll_for, 1, LIMIT_MS);
		getsockopt(trial->fd, SOL_SOCKET, SO_ERROR, &error, &size);
		saw(trial, "connect(): %s at %.1f s", name_of(error), passed(trial) / 1000.0);
	}
	cut(false);
	close(trial->fd);
	trial->fd = -1;
}

static void play_bind(struct trial *trial)
{
	struct sockaddr_in address = place("10.0.1.1", 0);
	socklen_t size = sizeof(address);

	if (bind(trial->fd, (void *)&address, sizeof(address)))
		die("bind");
	getsockname(trial->fd, (void *)&address, &size);
	saw(trial, "bind() chooses %s", address.sin_port ? "a port" : "no port");
}

static void play_foreign_bind(struct trial *trial)
{
	struct sockaddr_in address = place("10.9.9.9", 0);

	saw(trial, "bind(): %s",
	    name_of(bind(trial->fd, (void *)&address, sizeof(address)) ? errno : 0));
}

static void play_port(struct trial *trial)
{
	struct sockaddr_in address;
	socklen_t size = sizeof(address);

	getsockname(trial->fd, (void *)&address, &size);
	saw(trial, "%s", ntohs(address.sin_port) >= 40000 && ntohs(address.sin_port) < 40010 ?
			 "a port of the range" : "any port");
	end(trial);
}

static void play_connect(struct trial *trial)
{
	struct timeval limit = { .tv_sec = 5 };

	setsockopt(trial->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	saw(trial, "connect(): %s", name_of(reach(trial->fd, trial->port) ? errno : 0));
	end(trial);
}

static void play_readable(struct trial *trial)
{
	struct pollfd poll_for = { .fd = trial->fd, .events = POLLIN };

	poll(&poll_for, 1, 2000);
	saw(trial, "readable at %d ms", passed(trial));
	end(trial);
}

static void play_timed_read(struct trial *trial)
{
	char bytes[10];
	ssize_t got = recv(trial->fd, bytes, sizeof(bytes), 0);

	saw(trial, "recv(): %s at %d ms", name_of(got < 0 ? errno : 0), passed(trial));
	end(trial);
}

static void play_receive(struct trial *trial)
{
	rest(1500 * ms);
	end(trial);
}

/* --- experiments */

static const struct linger abortive = { 1, 0 }, patient = { 1, 5 };
static const struct timeval fifth = { .tv_usec = 200000 };
static const unsigned int pace = 125000;
static const struct sock_txtime monotonic = { .clockid = CLOCK_MONOTONIC };
static const char key[16] = "0123456789abcde";

#define TIMESTAMPS (SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE | \
		    SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_OPT_TSONLY)

static const struct experiment experiments[] = {
	{ "TCP_CORK, 20 pieces of 50 B each 5 ms", LATER, SOL_TCP, TCP_CORK, 1,
	  .play = play_pieces, .judge = judge_segments },
	{ "TCP_CORK, taken away after 50 ms", LATER, SOL_TCP, TCP_CORK, 1,
	  .play = play_uncorked, .judge = judge_segments },
	{ "TCP_CORK, TCP_NODELAY after 50 ms", LATER, SOL_TCP, TCP_CORK, 1,
	  .play = play_undelayed, .judge = judge_segments },
	{ "TCP_CORK, a send buffer of 4 kB", LATER, SOL_TCP, TCP_CORK, 1,
	  .play = play_small_buffer, .judge = judge_segments },
	{ "TCP_CORK, shutdown() after 50 ms", LATER, SOL_TCP, TCP_CORK, 1,
	  .play = play_cut_off, .judge = judge_segments },
	{ "TCP_CORK, close() after 50 ms", LATER, SOL_TCP, TCP_CORK, 1,
	  .play = play_closed, .judge = judge_segments },
	{ "TCP_CORK before connect()", FIRST, SOL_TCP, TCP_CORK, 1,
	  .play = play_pieces, .judge = judge_segments },
	{ "TCP_CORK, 20 pieces of 700 B each 5 ms", LATER, SOL_TCP, TCP_CORK, 1,
	  .play = play_large_pieces, .judge = judge_segments },
	{ "TCP_CORK, 1 MB in writes of 10 kB", LATER, SOL_TCP, TCP_CORK, 1,
	  .play = play_corked_bulk, .judge = judge_bulk },
	{ "TCP_CORK and TCP_NODELAY by turns", LATER, SOL_TCP, TCP_CORK, 1, .play = play_mixed },
	{ "TCP_NODELAY", LATER, SOL_TCP, TCP_NODELAY, 1,
	  .play = play_pieces, .judge = judge_segments },
	{ "TCP_NODELAY while data waits", FLAG, .play = play_late_nodelay, .judge = judge_segments },
	{ "TCP_NODELAY before connect()", FIRST, SOL_TCP, TCP_NODELAY, 1,
	  .play = play_pieces, .judge = judge_segments },
	{ "MSG_MORE", FLAG, .value = MSG_MORE, .play = play_flag, .judge = judge_segments },
	{ "SPLICE_F_MORE", FLAG, .play = play_splice, .judge = judge_segments },
	{ "sendfile() of 200 kB", FLAG, .play = play_sendfile, .judge = judge_short },
	{ "MSG_EOR", FLAG, .play = play_eor, .judge = judge_segments },
	{ "MSG_OOB", FLAG, .value = MSG_OOB, .play = play_flag, .judge = judge_urgent },
	{ "TCP_NOTSENT_LOWAT", LATER, SOL_TCP, TCP_NOTSENT_LOWAT, 4096, .play = play_fill },
	{ "SO_SNDBUF", FIRST, SOL_SOCKET, SO_SNDBUF, 20000, .play = play_fill },
	{ "SO_SNDBUF, connected", LATER, SOL_SOCKET, SO_SNDBUF, 20000, .play = play_fill },
	{ "SO_SNDTIMEO", LATER, SOL_SOCKET, SO_SNDTIMEO, .pointer = &fifth, .size = sizeof(fifth),
	  .play = play_timed_write, .service = STALL },
	{ "TCP_MAXSEG", FIRST, SOL_TCP, TCP_MAXSEG, 600, .play = play_bytes, .judge = judge_largest },
	{ "SO_MAX_PACING_RATE", LATER, SOL_SOCKET, SO_MAX_PACING_RATE, .pointer = &pace,
	  .size = sizeof(pace), .play = play_bulk },
	{ "SO_PRIORITY", FIRST, SOL_SOCKET, SO_PRIORITY, 5, .play = play_priority },
	{ "SO_PRIORITY, connected", LATER, SOL_SOCKET, SO_PRIORITY, 5, .play = play_priority },
	{ "IP_TOS", FIRST, SOL_IP, IP_TOS, 0x10, .play = play_bytes, .judge = judge_tos },
	{ "IP_TOS, connected", LATER, SOL_IP, IP_TOS, 0x10, .play = play_bytes, .judge = judge_tos },
	{ "SO_MARK", FIRST, SOL_SOCKET, SO_MARK, 7, .play = play_bytes, .judge = judge_device },
	{ "SO_MARK, connected", LATER, SOL_SOCKET, SO_MARK, 7,
	  .play = play_bytes, .judge = judge_later_devices },
	{ "SO_BINDTODEVICE", FIRST, SOL_SOCKET, SO_BINDTODEVICE, .pointer = "c2", .size = 3,
	  .play = play_bytes, .judge = judge_device },
	{ "SO_DONTROUTE", FIRST, SOL_SOCKET, SO_DONTROUTE, 1, .play = play_connect,
	  .unconnected = true },
	{ "IP_TTL", FIRST, SOL_IP, IP_TTL, 9, .play = play_bytes, .judge = judge_ttl },
	{ "IP_MTU_DISCOVER", FIRST, SOL_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT,
	  .play = play_bytes, .judge = judge_df },
	{ "IP_MINTTL", FIRST, SOL_IP, IP_MINTTL, 200, .play = play_connect, .unconnected = true },
	{ "IP_BIND_ADDRESS_NO_PORT", FIRST, SOL_IP, IP_BIND_ADDRESS_NO_PORT, 1, .play = play_bind,
	  .unconnected = true },
	{ "IP_FREEBIND", FIRST, SOL_IP, IP_FREEBIND, 1, .play = play_foreign_bind,
	  .unconnected = true },
	{ "IP_TRANSPARENT", FIRST, SOL_IP, IP_TRANSPARENT, 1, .play = play_foreign_bind,
	  .unconnected = true },
	{ "IP_LOCAL_PORT_RANGE", FIRST, SOL_IP, IP_LOCAL_PORT_RANGE, 40009 << 16 | 40000,
	  .play = play_port },
	{ "TCP_CONGESTION", FIRST, SOL_TCP, TCP_CONGESTION, .pointer = "reno", .size = 4,
	  .play = play_congestion },
	{ "TCP_CONGESTION, connected", LATER, SOL_TCP, TCP_CONGESTION, .pointer = "reno", .size = 4,
	  .play = play_congestion },
	{ "TCP_QUICKACK", LATER, SOL_TCP, TCP_QUICKACK, 0, .play = play_listen, .judge = judge_ack,
	  .service = TALK },
	{ "TCP_USER_TIMEOUT", LATER, SOL_TCP, TCP_USER_TIMEOUT, 1000, .play = play_unanswered },
	{ "SO_KEEPALIVE", LATER, SOL_SOCKET, SO_KEEPALIVE, 1,
	  .play = play_keepalive, .judge = judge_probes },
	{ "TCP_KEEPIDLE", LATER, SOL_TCP, TCP_KEEPIDLE, 2,
	  .play = play_keepidle, .judge = judge_probes },
	{ "TCP_KEEPINTVL", LATER, SOL_TCP, TCP_KEEPINTVL, 1,
	  .play = play_keepintvl, .judge = judge_probes },
	{ "TCP_KEEPCNT", LATER, SOL_TCP, TCP_KEEPCNT, 3, .play = play_keepcnt,
	  .judge = judge_reset },
	{ "SO_LINGER, 0 s", LATER, SOL_SOCKET, SO_LINGER, .pointer = &abortive,
	  .size = sizeof(abortive), .play = play_abort, .judge = judge_end },
	{ "SO_LINGER, 5 s", LATER, SOL_SOCKET, SO_LINGER, .pointer = &patient,
	  .size = sizeof(patient), .play = play_close },
	{ "MSG_FASTOPEN", FLAG, .play = play_fastopen, .judge = judge_syn, .unconnected = true },
	{ "TCP_FASTOPEN of the listener", AT_SERVER, SOL_TCP, TCP_FASTOPEN, 5,
	  .play = play_fastopen, .judge = judge_syn, .unconnected = true },
	{ "TCP_FASTOPEN_CONNECT", FIRST, SOL_TCP, TCP_FASTOPEN_CONNECT, 1,
	  .play = play_fastopen, .judge = judge_syn, .unconnected = true },
	{ "TCP_FASTOPEN_KEY of the listener", AT_SERVER, SOL_TCP, TCP_FASTOPEN_KEY, .pointer = key,
	  .size = sizeof(key), .play = play_fastopen, .judge = judge_cookie, .unconnected = true },
	{ "TCP_FASTOPEN_NO_COOKIE", FIRST, SOL_TCP, TCP_FASTOPEN_NO_COOKIE, 1,
	  .play = play_fastopen, .judge = judge_syn, .unconnected = true },
	{ "TCP_SYNCNT", FIRST, SOL_TCP, TCP_SYNCNT, 2, .play = play_silent_connect,
	  .unconnected = true },
	{ "TCP_DEFER_ACCEPT of the listener", AT_SERVER, SOL_TCP, TCP_DEFER_ACCEPT, 5,
	  .play = play_late_word, .service = ECHO },
	{ "SO_TXTIME", LATER, SOL_SOCKET, SO_TXTIME, .pointer = &monotonic,
	  .size = sizeof(monotonic), .play = play_txtime, .judge = judge_segments },
	{ "TCP_TX_DELAY", LATER, SOL_TCP, TCP_TX_DELAY, 50000, .play = play_pieces,
	  .judge = judge_segments },
	{ "SO_TIMESTAMPING of writes", LATER, SOL_SOCKET, SO_TIMESTAMPING, TIMESTAMPS,
	  .play = play_timestamping },
	{ "SO_TIMESTAMPNS of reads", LATER, SOL_SOCKET, SO_TIMESTAMPNS, 1, .play = play_ancillary,
	  .service = TALK },
	{ "TCP_INQ", LATER, SOL_TCP, TCP_INQ, 1, .play = play_ancillary, .service = TALK },
	{ "SO_ZEROCOPY and MSG_ZEROCOPY", LATER, SOL_SOCKET, SO_ZEROCOPY, 1, .play = play_zerocopy },
	{ "MSG_ZEROCOPY alone", FLAG, .play = play_zerocopy },
	{ "SO_RCVLOWAT", LATER, SOL_SOCKET, SO_RCVLOWAT, 100, .play = play_readable,
	  .service = TALK },
	{ "SO_RCVTIMEO", LATER, SOL_SOCKET, SO_RCVTIMEO, .pointer = &fifth, .size = sizeof(fifth),
	  .play = play_timed_read, .service = TALK },
	{ "SO_RCVBUF", FIRST, SOL_SOCKET, SO_RCVBUF, 10000, .play = play_receive,
	  .judge = judge_window },
	{ "TCP_WINDOW_CLAMP", FIRST, SOL_TCP, TCP_WINDOW_CLAMP, 10000, .play = play_receive,
	  .judge = judge_window },
};

/* The rest of what the two families of sockets take or refuse: nothing of it is seen
 * on the wire here. On a new socket.
 */
#define OPTION(level, option)		{ #option, level, option, 1 }

static const struct other {
	const char *name;
	int level, option, value;
} others[] = {
	OPTION(SOL_SOCKET, SO_DEBUG), OPTION(SOL_SOCKET, SO_REUSEADDR),
	OPTION(SOL_SOCKET, SO_REUSEPORT), OPTION(SOL_SOCKET, SO_BROADCAST),
	OPTION(SOL_SOCKET, SO_OOBINLINE), OPTION(SOL_SOCKET, SO_NO_CHECK),
	OPTION(SOL_SOCKET, SO_BSDCOMPAT), OPTION(SOL_SOCKET, SO_PASSCRED),
	OPTION(SOL_SOCKET, SO_PASSSEC), OPTION(SOL_SOCKET, SO_PASSPIDFD),
	OPTION(SOL_SOCKET, SO_TIMESTAMP), OPTION(SOL_SOCKET, SO_RXQ_OVFL),
	OPTION(SOL_SOCKET, SO_WIFI_STATUS), OPTION(SOL_SOCKET, SO_NOFCS),
	OPTION(SOL_SOCKET, SO_SELECT_ERR_QUEUE), OPTION(SOL_SOCKET, SO_LOCK_FILTER),
	OPTION(SOL_SOCKET, SO_PEEK_OFF), OPTION(SOL_SOCKET, SO_BUSY_POLL),
	OPTION(SOL_SOCKET, SO_PREFER_BUSY_POLL), OPTION(SOL_SOCKET, SO_BUSY_POLL_BUDGET),
	OPTION(SOL_SOCKET, SO_INCOMING_CPU), OPTION(SOL_SOCKET, SO_BINDTOIFINDEX),
	OPTION(SOL_SOCKET, SO_CNX_ADVICE), OPTION(SOL_SOCKET, SO_BUF_LOCK),
	OPTION(SOL_SOCKET, SO_RESERVE_MEM), OPTION(SOL_SOCKET, SO_TXREHASH),
	OPTION(SOL_SOCKET, SO_SNDBUFFORCE), OPTION(SOL_SOCKET, SO_RCVBUFFORCE),
	OPTION(SOL_SOCKET, SO_DETACH_FILTER), OPTION(SOL_SOCKET, SO_ATTACH_FILTER),
	OPTION(SOL_SOCKET, SO_ATTACH_BPF), OPTION(SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF),
	OPTION(SOL_SOCKET, SO_ATTACH_REUSEPORT_EBPF), OPTION(SOL_SOCKET, SO_DETACH_REUSEPORT_BPF),
	OPTION(SOL_IP, IP_OPTIONS), OPTION(SOL_IP, IP_HDRINCL), OPTION(SOL_IP, IP_ROUTER_ALERT),
	OPTION(SOL_IP, IP_PKTINFO), OPTION(SOL_IP, IP_RECVERR), OPTION(SOL_IP, IP_RECVTTL),
	OPTION(SOL_IP, IP_RECVTOS), OPTION(SOL_IP, IP_RECVOPTS), OPTION(SOL_IP, IP_RETOPTS),
	OPTION(SOL_IP, IP_PASSSEC), OPTION(SOL_IP, IP_RECVORIGDSTADDR), OPTION(SOL_IP, IP_CHECKSUM),
	OPTION(SOL_IP, IP_RECVFRAGSIZE), OPTION(SOL_IP, IP_RECVERR_RFC4884),
	OPTION(SOL_IP, IP_NODEFRAG), OPTION(SOL_IP, IP_UNICAST_IF), OPTION(SOL_IP, IP_MULTICAST_TTL),
	OPTION(SOL_IP, IP_MULTICAST_LOOP), OPTION(SOL_IP, IP_MULTICAST_ALL),
	OPTION(SOL_IPV6, IPV6_V6ONLY), OPTION(SOL_IPV6, IPV6_TRANSPARENT),
	OPTION(SOL_IPV6, IPV6_FREEBIND), OPTION(SOL_IPV6, IPV6_TCLASS),
	OPTION(SOL_IPV6, IPV6_UNICAST_HOPS), OPTION(SOL_IPV6, IPV6_MTU_DISCOVER),
	{ "IPV6_MTU", SOL_IPV6, IPV6_MTU, 1280 }, OPTION(SOL_IPV6, IPV6_DONTFRAG),
	OPTION(SOL_IPV6, IPV6_RECVERR), OPTION(SOL_IPV6, IPV6_RECVERR_RFC4884),
	OPTION(SOL_IPV6, IPV6_FLOWINFO), OPTION(SOL_IPV6, IPV6_FLOWINFO_SEND),
	OPTION(SOL_IPV6, IPV6_FLOWLABEL_MGR), OPTION(SOL_IPV6, IPV6_AUTOFLOWLABEL),
	OPTION(SOL_IPV6, IPV6_MINHOPCOUNT), OPTION(SOL_IPV6, IPV6_PKTINFO),
	OPTION(SOL_IPV6, IPV6_2292PKTOPTIONS), OPTION(SOL_IPV6, IPV6_2292PKTINFO),
	OPTION(SOL_IPV6, IPV6_2292HOPLIMIT), OPTION(SOL_IPV6, IPV6_2292RTHDR),
	OPTION(SOL_IPV6, IPV6_2292HOPOPTS), OPTION(SOL_IPV6, IPV6_2292DSTOPTS),
	OPTION(SOL_IPV6, IPV6_RECVPKTINFO), OPTION(SOL_IPV6, IPV6_RECVHOPLIMIT),
	OPTION(SOL_IPV6, IPV6_RECVRTHDR), OPTION(SOL_IPV6, IPV6_RECVHOPOPTS),
	OPTION(SOL_IPV6, IPV6_RECVDSTOPTS), OPTION(SOL_IPV6, IPV6_RECVTCLASS),
	OPTION(SOL_IPV6, IPV6_RECVPATHMTU), OPTION(SOL_IPV6, IPV6_RECVORIGDSTADDR),
	OPTION(SOL_IPV6, IPV6_RECVFRAGSIZE), OPTION(SOL_IPV6, IPV6_ADDR_PREFERENCES),
	OPTION(SOL_IPV6, IPV6_UNICAST_IF), OPTION(SOL_IPV6, IPV6_MULTICAST_HOPS),
	OPTION(SOL_TCP, TCP_THIN_LINEAR_TIMEOUTS), OPTION(SOL_TCP, TCP_THIN_DUPACK),
	OPTION(SOL_TCP, TCP_LINGER2), OPTION(SOL_TCP, TCP_SAVE_SYN), OPTION(SOL_TCP, TCP_TIMESTAMP),
	OPTION(SOL_TCP, TCP_REPAIR), OPTION(SOL_TCP, TCP_REPAIR_QUEUE),
	OPTION(SOL_TCP, TCP_QUEUE_SEQ), OPTION(SOL_TCP, TCP_REPAIR_OPTIONS),
	OPTION(SOL_TCP, TCP_REPAIR_WINDOW), OPTION(SOL_TCP, TCP_MD5SIG),
	OPTION(SOL_TCP, TCP_MD5SIG_EXT), OPTION(SOL_TCP, TCP_ULP),
	OPTION(SOL_MPTCP, MPTCP_INFO), OPTION(SOL_MPTCP, MPTCP_TCPINFO),
	OPTION(SOL_MPTCP, MPTCP_SUBFLOW_ADDRS), OPTION(SOL_MPTCP, MPTCP_FULL_INFO),
};

/* --- the two ends */

struct request {
	int experiment, port, protocol;
	bool on;
};

struct answer {
	int error;	/* of the option at the server */
	int at_ms;	/* accept() returned so long after it was called; -1: listening now */
};

static void serve_trial(int control)
{
	struct sockaddr_in address;
	struct request request;
	struct answer answer = { .at_ms = -1 };
	const struct experiment *experiment;
	struct trial trial = {};
	int listener, fd, yes = 1;
	char bytes[65536] = "";
	long long begin_ns;

	if (recv(control, &request, sizeof(request), MSG_WAITALL) != sizeof(request))
		die("request");
	experiment = &experiments[request.experiment];
	trial = (struct trial) { .experiment = experiment, .on = request.on };
	address = place("0.0.0.0", request.port);
	listener = stream(AF_INET, request.protocol);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (experiment->when == AT_SERVER)
		apply(&trial, listener);
	else if (experiment->play == play_fastopen)
		set(listener, SOL_TCP, TCP_FASTOPEN, 5);
	answer.error = trial.error;
	if (bind(listener, (void *)&address, sizeof(address)) || listen(listener, 5))
		die("listen");
	/* a key without a queue does nothing */
	if (experiment->option == TCP_FASTOPEN_KEY && experiment->level == SOL_TCP)
		setsockopt(listener, SOL_TCP, TCP_FASTOPEN, &(int) { 5 }, sizeof(int));
	if (write(control, &answer, sizeof(answer)) < 0)
		die("answer");
	for (;;) {
		struct pollfd poll_for[] = {
			{ .fd = listener, .events = POLLIN }, { .fd = control, .events = POLLIN },
		};

		begin_ns = now_ns();
		poll(poll_for, 2, -1);
		if (!(poll_for[0].revents & POLLIN))
			return;
		fd = accept(listener, NULL, NULL);
		answer.at_ms = (int)((now_ns() - begin_ns) / ms);
		if (experiment->service == ECHO && write(control, &answer, sizeof(answer)) < 0)
			die("answer");
		if (experiment->service == STALL)
			rest(2000 * ms);
		if (experiment->service == TALK) {
			rest(800 * ms);
			send(fd, bytes, 50, MSG_NOSIGNAL);
		}
		/* the control connection ends with the trial */
		for (;;) {
			struct pollfd either[] = {
				{ .fd = fd, .events = POLLIN }, { .fd = control, .events = POLLIN },
			};

			poll(either, 2, -1);
			if (either[1].revents || read(fd, bytes, sizeof(bytes)) <= 0)
				break;
		}
		close(fd);
	}
}

static int serve(void)
{
	struct sockaddr_in address = place("0.0.0.0", CONTROL_PORT);
	int listener, control;

	settle("/proc/sys/net/mptcp/mptcpize", "0");
	settle("/proc/sys/net/ipv4/tcp_fastopen", "3");
	signal(SIGCHLD, SIG_IGN);
	listener = stream(AF_INET, IPPROTO_TCP);
	if (bind(listener, (void *)&address, sizeof(address)) || listen(listener, 5))
		die("listen");
	for (;;) {
		control = accept(listener, NULL, NULL);
		if (!fork()) {
			close(listener);
			serve_trial(control);
			exit(0);
		}
		close(control);
	}
}

static void try(const struct experiment *experiment, int protocol, bool on, struct trial *trial)
{
	static int port = 5000;
	struct answer answer;
	struct request request = {
		.experiment = (int)(experiment - experiments), .port = ++port,
		.protocol = protocol, .on = on,
	};

	*trial = (struct trial) {
		.experiment = experiment, .on = on, .protocol = protocol, .port = port,
		.control = stream(AF_INET, IPPROTO_TCP), .tap = open_tap(),
	};
	if (reach(trial->control, CONTROL_PORT) ||
	    write(trial->control, &request, sizeof(request)) < 0 ||
	    recv(trial->control, &answer, sizeof(answer), MSG_WAITALL) != sizeof(answer))
		die("control");
	trial->error = answer.error;
	trial->fd = stream(AF_INET, protocol);
	if (experiment->when == FIRST && experiment->play != play_fastopen)
		apply(trial, trial->fd);
	if (!experiment->unconnected) {
		if (reach(trial->fd, trial->port))
			die(experiment->name);
		/* the second subflow joins */
		rest(300 * ms);
	}
	if (experiment->when == LATER)
		apply(trial, trial->fd);
	trial->start_ns = now_ns();
	experiment->play(trial);
	if (trial->fd >= 0)
		close(trial->fd);
	if (experiment->service == ECHO) {
		if (recv(trial->control, &answer, sizeof(answer), MSG_WAITALL) != sizeof(answer))
			die("control");
		saw(trial, "accept() after %d ms", answer.at_ms);
	}
	shutdown(trial->control, SHUT_WR);
	rest(100 * ms);
	close(trial->control);
	read_tap(trial);
	if (experiment->judge)
		experiment->judge(trial);
	free(trial->packets);
}

static void play(const char *name, const char *only)
{
	int protocol = strcmp(name, "tcp") ? IPPROTO_MPTCP : IPPROTO_TCP;

	if (protocol == IPPROTO_MPTCP)
		settle("/proc/sys/net/mptcp/scheduler", name);
	for (size_t i = 0; i < length(experiments); i++) {
		struct trial without, with;

		if (!strstr(experiments[i].name, only))
			continue;
		try(&experiments[i], protocol, false, &without);
		try(&experiments[i], protocol, true, &with);
		printf("%s\t%s\t%s\t%s\t%s\n", name, experiments[i].name,
		       with.error ? strerrorname_np(with.error) : "", without.seen, with.seen);
		fflush(stdout);
	}
	for (size_t i = 0; i < length(others) && !*only; i++) {
		const struct other *other = &others[i];
		int fd = stream(other->level == SOL_IPV6 ? AF_INET6 : AF_INET, protocol);
		int error = setsockopt(fd, other->level, other->option, &other->value, sizeof(int));

		printf("%s\t%s\t%s\t\t\n", name, other->name, error ? strerrorname_np(errno) : "");
		close(fd);
	}
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	if (argc == 2 && !strcmp(argv[1], "serve"))
		return serve();
	settle("/proc/sys/net/mptcp/mptcpize", "0");
	settle("/proc/sys/net/ipv4/tcp_fastopen", "3");
	if (system("ip rule add fwmark 7 table 2 pref 10"))
		die("ip rule");
	for (int i = 3; i < argc; i++)
		play(argv[i], argv[2]);
	return 0;
}
