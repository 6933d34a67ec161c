// SPDX-License-Identifier: GPL-2.0-only
/* Measures a direction of a path: UDP packets go from one namespace to another,
 * and a file tells of each when it left and when it arrived.
 *
 *	ip netns exec NS meter TO_NS ADDRESS COUNT BYTES INTERVAL_NS FILE
 *
 * COUNT frames of BYTES, with Ethernet's header and without its checksum, as
 * netem counts them, are sent one every INTERVAL_NS, or all at once if that is
 * 0. Both times are the kernel's own, so it does not matter when this process
 * looks: the one at which a frame enters the first queue, and the one at which
 * it comes to the last device.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base.h"
#include "files.h"
#include "meter.h"

#define PORT		5002
#define HEADER_BYTES	42	/* Ethernet, IP, UDP */
#define FRAME_BYTES_MAX	1514
#define FRAME_BYTES_MIN	(HEADER_BYTES + 4)
#define COUNT_MAX	1000000
/* more than is sent between two looks at what came */
#define BUFFER_BYTES	(128 << 20)
#define LOOK_EVERY	64
/* When nothing has come for so long, nothing will: delays are at most 10 s. */
#define QUIET_MS	11000

struct record {
	uint32_t number;
	uint32_t copies;	/* that arrived */
	uint64_t sent_ns;	/* since boot */
	uint64_t received_ns;	/* the first copy */
};

static struct {
	struct record *records;
	uint32_t count;
	uint64_t offset_ns;	/* time_of_day_offset_ns() */
	const struct command *command;
} meter;

static int open_socket(const char *ns, int option, int flags)
{
	const int buffer = BUFFER_BYTES / 2;	/* the kernel doubles it */
	int fd;

	enter_namespace(ns);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	enter_namespace(NULL);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, option, &flags, sizeof(flags)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof(buffer)))
		command_failed(meter.command, "%s", strerror(errno));
	return fd;
}

static struct record *record_of(uint32_t number)
{
	if (number >= meter.count)
		command_failed(meter.command, "packet %" PRIu32 " was never sent", number);
	return &meter.records[number];
}

/* One message, with what the kernel says about it; false: there is none. */
static bool receive(int fd, int flags, void *data, size_t len, struct msghdr *message)
{
	static union {
		struct cmsghdr align;
		char bytes[512];
	} control;
	struct iovec part = { data, len };

	*message = (struct msghdr) {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control),
	};
	if (recvmsg(fd, message, flags | MSG_DONTWAIT) >= 0)
		return true;
	if (errno != EAGAIN)
		command_failed(meter.command, "%s", strerror(errno));
	return false;
}

static void look_at_sent(int fd)
{
	struct msghdr message;
	struct cmsghdr *c;

	while (receive(fd, MSG_ERRQUEUE, NULL, 0, &message)) {
		uint64_t at_ns = 0;
		int64_t number = -1;

		for (c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
			if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPING)
				at_ns = to_ns((struct timespec *)CMSG_DATA(c));
			else if (c->cmsg_level == SOL_IP && c->cmsg_type == IP_RECVERR)
				number = ((struct sock_extended_err *)CMSG_DATA(c))->ee_data;
		}
		if (!at_ns || number < 0)
			command_failed(meter.command, "a packet left at no time");
		record_of(number)->sent_ns = at_ns - meter.offset_ns;
	}
}

static void look_at_received(int fd)
{
	struct msghdr message;
	uint32_t number;

	while (receive(fd, 0, &number, sizeof(number), &message)) {
		struct cmsghdr *c = CMSG_FIRSTHDR(&message);
		struct record *record = record_of(number);

		if (!c || c->cmsg_type != SO_TIMESTAMPNS)
			command_failed(meter.command, "a packet came at no time");
		if (!record->copies++)
			record->received_ns = to_ns((struct timespec *)CMSG_DATA(c)) -
					      meter.offset_ns;
	}
}

static void measure(int from, int to, size_t payload_bytes, uint64_t interval_ns)
{
	static char payload[FRAME_BYTES_MAX];
	struct pollfd more = { to, POLLIN, 0 };
	uint64_t begin_ns = now_ns();
	uint32_t i;

	for (i = 0; i < meter.count; i++) {
		meter.records[i].number = i;
		memcpy(payload, &i, sizeof(i));
		if (interval_ns)
			sleep_until(begin_ns + (i + 1) * interval_ns);
		/* what this end's own device drops is lost, too */
		if (send(from, payload, payload_bytes, 0) < 0 && errno != ENOBUFS)
			command_failed(meter.command, "%s", strerror(errno));
		if (i % LOOK_EVERY == 0) {
			look_at_sent(from);
			look_at_received(to);
		}
	}
	look_at_sent(from);
	do
		look_at_received(to);
	while (poll(&more, 1, QUIET_MS) > 0);
}

void meter_run(struct command *command)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htons(PORT) }, peer = any;
	const int stamps = SOF_TIMESTAMPING_TX_SCHED | SOF_TIMESTAMPING_SOFTWARE |
			   SOF_TIMESTAMPING_OPT_ID | SOF_TIMESTAMPING_OPT_TSONLY;
	const char *to_ns = command_word(command, "a namespace"), *file;
	const char *address = command_word(command, "an address");
	unsigned int bytes;
	uint64_t interval_ns;
	int from, to, out;

	meter.command = command;
	meter.count = command_number(command, COUNT_MAX);
	bytes = command_number(command, FRAME_BYTES_MAX);
	interval_ns = command_number(command, UINT64_MAX);
	file = command_file(command);
	command_expect_end(command);
	if (inet_pton(AF_INET, address, &peer.sin_addr) != 1 || !meter.count ||
	    bytes < FRAME_BYTES_MIN)
		command_failed(command, "TO_NS ADDRESS COUNT BYTES INTERVAL_NS FILE is expected");
	meter.records = calloc(meter.count, sizeof(*meter.records));
	if (!meter.records)
		command_failed(command, "%s", strerror(errno));
	meter.offset_ns = time_of_day_offset_ns();

	from = open_socket(command->ns, SO_TIMESTAMPING, stamps);
	to = open_socket(to_ns, SO_TIMESTAMPNS, 1);
	if (bind(to, (struct sockaddr *)&any, sizeof(any)) ||
	    connect(from, (struct sockaddr *)&peer, sizeof(peer)))
		command_failed(command, "%s", strerror(errno));
	measure(from, to, bytes - HEADER_BYTES, interval_ns);
	out = file_create(file);
	file_write(out, file, meter.records, meter.count * sizeof(*meter.records));
	file_close(out, file);
	close(from);
	close(to);
	free(meter.records);
}
