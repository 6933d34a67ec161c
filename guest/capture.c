// SPDX-License-Identifier: GPL-2.0-only
/* Captures: a process per namespace writes the beginning of every packet that
 * passes its devices, both ways, into a pcapng file.
 *
 * One ring receives from all of them, so that the file is in the order of time. The
 * kernel puts packets into it, which the process shares, and wakes it for a
 * whole block of them: a capture costs no system call per packet, and no
 * virtual time. Timestamps are the virtual time since boot, as in all other
 * records of a run.
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base.h"
#include "capture.h"
#include "files.h"

#define CAPTURES_MAX	64	/* of which each takes 2 MiB for its ring */
#define DEVICES_MAX	256
/* Ethernet 14, IP without options 20 or of IPv6 40, TCP with all that fit 60: 94 or 114. */
#define SNAP_BYTES_4	96
#define SNAP_BYTES_6	116
/* 1,000 packets and more in a block. A block is all that can be missed without
 * loss: the process runs before the virtual time moves on.
 */
#define BLOCK_BYTES	(256 * 1024)
#define BLOCKS		8
/* A block that is not full is handed over after this time. */
#define RETIRE_MS	100
#define NS_PER_MS	1000000ull

/* pcapng, as in draft-ietf-opsawg-pcapng */
#define BLOCK_SECTION	0x0a0d0d0a
#define BLOCK_INTERFACE	1
#define BLOCK_PACKET	6
#define BYTE_ORDER_MAGIC	0x1a2b3c4d
#define LINK_ETHERNET	1
#define OPTION_IF_NAME	2
#define OPTION_IF_TSRESOL	9
#define OPTION_EPB_FLAGS	2
#define FLAG_INBOUND	1
#define FLAG_OUTBOUND	2

struct packet_block {
	uint32_t type;
	uint32_t length;
	uint32_t interface;
	uint32_t time_high;
	uint32_t time_low;
	uint32_t captured;
	uint32_t original;
};

struct packet_block_end {
	uint16_t option;
	uint16_t option_length;
	uint32_t flags;
	uint32_t end_of_options;
	uint32_t length;
};

static struct {
	int stop_pipe[2];
	pid_t pids[CAPTURES_MAX];
	int count;
} captures;

/* of this process's namespace, in the order of the file */
static struct {
	int index;
	char name[IF_NAMESIZE];
} devices[DEVICES_MAX];
static unsigned int device_count;

static struct {
	const char *file;
	int fd;
	size_t len;
	uint8_t buffer[256 * 1024];
} out;

static void flush(void)
{
	file_write(out.fd, out.file, out.buffer, out.len);
	out.len = 0;
}

static void put(const void *bytes, size_t len)
{
	static const uint32_t padding;

	if (out.len + len + sizeof(padding) > sizeof(out.buffer))
		flush();
	memcpy(out.buffer + out.len, bytes, len);
	memcpy(out.buffer + out.len + len, &padding, -len % 4);
	out.len += len + -len % 4;
}

static void put_section(void)
{
	const uint32_t section[] = {
		BLOCK_SECTION, 28, BYTE_ORDER_MAGIC, 1 /* 1.0 */, -1u, -1u /* no length */, 28,
	};

	put(section, sizeof(section));
}

static void put_interface(const char *device)
{
	const uint8_t nanoseconds = 9;
	uint32_t name_len = strlen(device), length = 20 + 4 + (name_len + 3) / 4 * 4 + 8 + 4;
	const uint32_t interface[] = { BLOCK_INTERFACE, length, LINK_ETHERNET, SNAP_BYTES_6 };
	const uint16_t name[] = { OPTION_IF_NAME, name_len };
	const uint16_t resolution[] = { OPTION_IF_TSRESOL, 1 };
	const uint32_t end[] = { 0, length };

	put(interface, sizeof(interface));
	put(name, sizeof(name));
	put(device, name_len);
	put(resolution, sizeof(resolution));
	put(&nanoseconds, 1);
	put(end, sizeof(end));
}

/* device_count: a program has made it, such as the TUN device of a tunnel, whose packets
 * need not begin with Ethernet's header. They are left out.
 */
static unsigned int interface_of(int index)
{
	unsigned int i;

	for (i = 0; i < device_count; i++)
		if (devices[i].index == index)
			break;
	return i;
}

static void put_packet(const struct tpacket3_hdr *packet, uint64_t offset_ns)
{
	const struct sockaddr_ll *from = (void *)((uint8_t *)packet +
						  TPACKET_ALIGN(sizeof(*packet)));
	uint64_t time_ns = packet->tp_sec * NS_PER_SEC + packet->tp_nsec - offset_ns;
	struct packet_block block = {
		.type = BLOCK_PACKET,
		.length = sizeof(block) + (packet->tp_snaplen + 3) / 4 * 4 +
			  sizeof(struct packet_block_end),
		.interface = interface_of(from->sll_ifindex),
		.time_high = time_ns >> 32,
		.time_low = time_ns,
		.captured = packet->tp_snaplen,
		.original = packet->tp_len,
	};
	const struct packet_block_end end = {
		.option = OPTION_EPB_FLAGS,
		.option_length = sizeof(end.flags),
		.flags = from->sll_pkttype == PACKET_OUTGOING ? FLAG_OUTBOUND : FLAG_INBOUND,
		.length = block.length,
	};

	if (block.interface == device_count)
		return;
	put(&block, sizeof(block));
	put((uint8_t *)packet + packet->tp_mac, packet->tp_snaplen);
	put(&end, sizeof(end));
}

/* Writes the blocks that the kernel has handed over, and gives them back. */
static void store_blocks(uint8_t *ring, uint64_t offset_ns)
{
	static unsigned int next;

	for (;;) {
		uint8_t *block = ring + next * BLOCK_BYTES;
		struct tpacket_hdr_v1 *head = &((struct tpacket_block_desc *)block)->hdr.bh1;
		uint8_t *packet = block + head->offset_to_first_pkt;
		uint32_t i;

		if (!(__atomic_load_n(&head->block_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER))
			break;
		for (i = 0; i < head->num_pkts; i++) {
			put_packet((struct tpacket3_hdr *)packet, offset_ns);
			packet += ((struct tpacket3_hdr *)packet)->tp_next_offset;
		}
		__atomic_store_n(&head->block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
		next = (next + 1) % BLOCKS;
	}
}

static void __attribute__((noreturn)) run_capture(int fd, const char *file)
{
	struct pollfd fds[] = { { fd, POLLIN, 0 }, { captures.stop_pipe[0], POLLIN, 0 } };
	const struct timespec last_block = { 0, 2 * RETIRE_MS * NS_PER_MS };
	struct tpacket_stats_v3 stats;
	socklen_t len = sizeof(stats);
	uint64_t offset_ns = time_of_day_offset_ns();
	uint8_t *ring;
	unsigned int i;
	char stop;

	ring = mmap(NULL, BLOCKS * BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		give_up("%s: mmap: %s", file, strerror(errno));
	out.file = file;
	out.fd = file_create(file);
	put_section();
	for (i = 0; i < device_count; i++)
		put_interface(devices[i].name);

	while (!fds[1].revents) {
		if (poll(fds, 2, -1) < 0)
			give_up("%s: poll: %s", file, strerror(errno));
		store_blocks(ring, offset_ns);
	}
	if (read(captures.stop_pipe[0], &stop, 1) != 1)
		give_up("%s: %s", file, strerror(errno));
	nanosleep(&last_block, NULL);
	store_blocks(ring, offset_ns);
	flush();

	if (getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &stats, &len))
		give_up("%s: %s", file, strerror(errno));
	if (stats.tp_drops)
		give_up("%s: %u packets of %u were lost", file, stats.tp_drops, stats.tp_packets);
	file_close(out.fd, file);
	_exit(0);
}

/* All devices of this process's namespace but its loopback, which is down. */
static void find_devices(const struct command *command)
{
	struct if_nameindex *found = if_nameindex(), *device;

	if (!found)
		command_failed(command, "%s", strerror(errno));
	device_count = 0;
	for (device = found; device->if_index; device++) {
		if (!strcmp(device->if_name, "lo"))
			continue;
		if (device_count == DEVICES_MAX)
			command_failed(command, "more than %d devices", DEVICES_MAX);
		devices[device_count].index = device->if_index;
		snprintf(devices[device_count++].name, IF_NAMESIZE, "%s", device->if_name);
	}
	if_freenameindex(found);
	if (!device_count)
		command_failed(command, "there is no device");
}

/* A socket with a ring, which receives from all devices of this process's namespace. */
static int open_ring(const struct command *command)
{
	struct sock_filter snap[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, offsetof(struct ethhdr, h_proto)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SNAP_BYTES_6),
		BPF_STMT(BPF_RET | BPF_K, SNAP_BYTES_4),
	};
	const struct sock_fprog filter = { COUNT(snap), snap };
	const struct tpacket_req3 ring = {
		.tp_block_size = BLOCK_BYTES,
		.tp_block_nr = BLOCKS,
		/* packets have no frames of their own in this version */
		.tp_frame_size = BLOCK_BYTES,
		.tp_frame_nr = BLOCKS,
		.tp_retire_blk_tov = RETIRE_MS,
	};
	struct sockaddr_ll all = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(ETH_P_ALL),
	};
	const int version = TPACKET_V3;
	/* protocol 0: it receives nothing before it is bound */
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0 ||
	    setsockopt(fd, SOL_PACKET, PACKET_VERSION, &version, sizeof(version)) ||
	    setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &ring, sizeof(ring)) ||
	    bind(fd, (struct sockaddr *)&all, sizeof(all)))
		command_failed(command, "%s", strerror(errno));
	return fd;
}

void capture_start(struct command *command)
{
	const char *file = command_file(command);
	pid_t pid;
	int fd;

	command_expect_end(command);
	if (captures.count == CAPTURES_MAX)
		command_failed(command, "more than %d captures", CAPTURES_MAX);
	if (!captures.count && pipe2(captures.stop_pipe, O_CLOEXEC))
		give_up("pipe: %s", strerror(errno));
	enter_namespace(command->ns);
	find_devices(command);
	fd = open_ring(command);
	enter_namespace(NULL);
	pid = child_fork();
	if (!pid)
		run_capture(fd, file);
	close(fd);
	captures.pids[captures.count++] = pid;
}

void captures_end(void)
{
	int i;

	for (i = 0; i < captures.count; i++)
		if (write(captures.stop_pipe[1], "", 1) != 1)
			give_up("captures: %s", strerror(errno));
	for (i = 0; i < captures.count; i++)
		child_has_ended(captures.pids[i], "a capture", true);
}
