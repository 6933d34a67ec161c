// SPDX-License-Identifier: GPL-2.0-only
/* Tunnels: a connection that carries the packets of two hosts, one behind each of its ends, as
 * VPNs over TCP do.
 *
 *	ip netns exec NS tunnel server|client --behind HOST --NAME VALUE ...
 *
 * The settings are those of the traffic, and HOST is a namespace, which gets the device tun0.
 * An end reads a packet from there, and writes its length, in two bytes, and the packet into
 * the connection. What comes out of the connection it writes into the device. While the
 * connection takes no more, it reads no packets: they wait in the device's queue, which drops
 * the packets that it has no room for.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base.h"
#include "connect.h"
#include "end.h"
#include "ip.h"
#include "outcome.h"
#include "report.h"
#include "tunnel.h"

#define DEVICE		"tun0"
/* the host's may be missing */
#define NODE		"/run/tun"
#define LENGTH_BYTES	2
#define PACKET_BYTES_MAX	UINT16_MAX

static struct {
	struct traffic *ends;
	pid_t *pids;
	unsigned int count;
} tunnels;

/* Packets on their way from the device into the connection: one, a part of which is sent. */
static struct {
	unsigned char bytes[LENGTH_BYTES + PACKET_BYTES_MAX];
	size_t len, sent;
} out;

/* And the other way: as they come, of the last one perhaps a part. */
static struct {
	unsigned char bytes[4 * (LENGTH_BYTES + PACKET_BYTES_MAX)];
	size_t len;
} in;

static int open_device(const struct command *command, const char *ns)
{
	struct ifreq device = { .ifr_name = DEVICE, .ifr_flags = IFF_TUN | IFF_NO_PI };
	int fd;

	if (mknod(NODE, S_IFCHR | 0600, makedev(10, 200)) && errno != EEXIST)
		command_failed(command, NODE ": %s", strerror(errno));
	enter_namespace(ns);
	fd = open(NODE, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, TUNSETIFF, &device))
		command_failed(command, DEVICE ": %s", strerror(errno));
	enter_namespace(NULL);
	return fd;
}

/* Moves packets into the connection; true: it takes no more. */
static bool send_packets(int device, int fd)
{
	for (;;) {
		ssize_t n;

		if (out.sent == out.len) {
			n = read(device, out.bytes + LENGTH_BYTES, PACKET_BYTES_MAX);
			if (n < 0 && errno == EAGAIN)
				return false;
			if (n <= 0)
				give_up("tunnel: " DEVICE ": %s", strerror(errno));
			out.bytes[0] = n >> 8;
			out.bytes[1] = n;
			out.len = LENGTH_BYTES + n;
			out.sent = 0;
		}
		n = send(fd, out.bytes + out.sent, out.len - out.sent,
			 MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN)
			return true;
		if (n < 0)
			give_up("tunnel: its connection ended: %s", strerror(errno));
		out.sent += n;
	}
}

static void receive_packets(int device, int fd)
{
	const unsigned char *packet = in.bytes;
	ssize_t n = recv(fd, in.bytes + in.len, sizeof(in.bytes) - in.len, MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0)
		give_up("tunnel: its connection ended: %s", n ? strerror(errno) : "the peer left");
	in.len += n;
	while (in.len >= LENGTH_BYTES) {
		ssize_t len = packet[0] << 8 | packet[1];

		if (in.len < (size_t)(LENGTH_BYTES + len))
			break;
		if (write(device, packet + LENGTH_BYTES, len) != len)
			give_up("tunnel: a packet of %zd bytes: %s", len, strerror(errno));
		packet += LENGTH_BYTES + len;
		in.len -= LENGTH_BYTES + len;
	}
	memmove(in.bytes, packet, in.len);
}

static int await_client(void)
{
	struct pollfd fds[2];

	listen_for_clients();
	while (end.list->fd < 0) {
		fds[0] = (struct pollfd) { *end.listeners, POLLIN, 0 };
		fds[1] = (struct pollfd) { end.stranger_count ? end.strangers->fd : -1, POLLIN, 0 };
		if (poll(fds, COUNT(fds), -1) < 0)
			give_up("poll: %s", strerror(errno));
		if (fds[1].revents)
			meet_stranger(0);
		else if (fds[0].revents)
			accept_stranger(*end.listeners);
	}
	return end.list->fd;
}

static void leave(int number)
{
	(void)number;
	_exit(0);
}

static void __attribute__((noreturn)) carry(const struct traffic *t, int device, int report_fd)
{
	struct connection connection = { .t = t, .fd = -1 };
	struct stranger stranger;
	bool full = false;
	int fd;

	signal(SIGTERM, leave);
	report_to(report_fd);
	end.t = t;
	end.pairs = 1;
	end.list = &connection;
	end.count = 1;
	end.strangers = &stranger;
	if (t->is_server) {
		fd = await_client();
	} else {
		sleep_until_set_up();
		establish(&connection);
		fd = connection.fd;
		tell(REPORT_UP, 0, 0, "");
	}
	for (;;) {
		struct pollfd fds[] = {
			{ full ? -1 : device, POLLIN, 0 },
			{ fd, POLLIN | (full ? POLLOUT : 0), 0 },
		};

		if (poll(fds, COUNT(fds), -1) < 0)
			give_up("poll: %s", strerror(errno));
		if (fds[1].revents & ~POLLOUT)
			receive_packets(device, fd);
		full = send_packets(device, fd);
	}
}

/* Until it listens, or is connected. */
static void hear(int report_fd)
{
	struct report m;

	if (read(report_fd, &m, sizeof(m)) != sizeof(m))
		children_failed();
	if (m.kind == REPORT_MISSING)
		finish_missing(m.a, m.b, m.text);
	if (m.kind == REPORT_ERROR)
		give_up("tunnel: %s", m.text);
	close(report_fd);
}

void tunnel_run(struct command *command)
{
	unsigned int count = tunnels.count;
	int report[2], device;
	struct traffic t;

	settings_take(&t, command);
	device = open_device(command, t.behind);
	tunnels.ends = realloc(tunnels.ends, (count + 1) * sizeof(*tunnels.ends));
	tunnels.pids = realloc(tunnels.pids, (count + 1) * sizeof(*tunnels.pids));
	if (!tunnels.ends || !tunnels.pids || pipe(report))
		command_failed(command, "%s", strerror(errno));
	tunnels.ends[count] = t;
	tunnels.pids[count] = child_fork();
	if (!tunnels.pids[count]) {
		close(report[0]);
		carry(&tunnels.ends[count], device, report[1]);
	}
	tunnels.count++;
	close(device);
	close(report[1]);
	hear(report[0]);
}

unsigned int tunnel_ends(const struct traffic **ends)
{
	*ends = tunnels.ends;
	return tunnels.count;
}

/* No time passes between the ends of two: none hears that another one has ended. */
void tunnels_end(void)
{
	unsigned int i;

	for (i = 0; i < tunnels.count; i++)
		child_end(tunnels.pids[i], "a tunnel");
}
