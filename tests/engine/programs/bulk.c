// SPDX-License-Identifier: GPL-2.0-only
/* Does the kernel send the bytes that it should, and see a single one that is
 * wrong? Says what is not as it should be, or "right".
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "uapi/bulk.h"
#include "uapi/pattern.h"

#define SEED	0x123456789abcdefull
#define BYTES	100000
#define CHUNK	4096
#define FLIPPED	0x10

static int bulk;
static struct bulk_receipt receipts[BULK_RECEIPTS_MAX];

static void __attribute__((format(printf, 2, 3))) expect(int holds, const char *format, ...)
{
	va_list args;

	if (holds)
		return;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	exit(0);
}

/* A process that writes a stream, with one byte of it wrong. Returns our end. */
static int writer(__u64 first, __u64 wrong)
{
	unsigned char bytes[BYTES];
	int ends[2], done, i;

	expect(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "no sockets");
	if (fork()) {
		close(ends[1]);
		return ends[0];
	}
	close(ends[0]);
	for (i = 0; i < BYTES; i++)
		bytes[i] = pattern_byte(first + i, SEED) ^ (first + i == wrong ? FLIPPED : 0);
	for (i = 0; i < BYTES; i += done) {
		done = write(ends[1], bytes + i, BYTES - i);
		if (done < 0)
			_exit(1);
	}
	/* until our end is closed: the kernel leaves ends to the process */
	_exit(read(ends[1], bytes, 1));
}

/* A process that reads until the end, and ends with 0 if it was a stream. */
static int reader(__u64 bytes_at_least, pid_t *child)
{
	unsigned char byte;
	__u64 i;
	int ends[2];

	expect(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "no sockets");
	*child = fork();
	if (*child) {
		close(ends[1]);
		return ends[0];
	}
	close(ends[0]);
	for (i = 0; read(ends[1], &byte, 1) == 1; i++)
		if (byte != pattern_byte(i, SEED))
			_exit(1);
	_exit(i < bytes_at_least ? 2 : 0);
}

static struct bulk_flow flow_of(__u32 own, __u64 first)
{
	return (struct bulk_flow) {
		.own = own, .seed = SEED, .until_ns = UINT64_MAX, .chunk_bytes = CHUNK,
		.position = first, .left = BYTES,
	};
}

static struct bulk_wait wait_of(struct pollfd *fds, struct bulk_flow *flows, __u32 count)
{
	return (struct bulk_wait) {
		.fds = (uintptr_t)fds, .count = count, .flows = (uintptr_t)flows,
		.flow_count = count, .receipts = (uintptr_t)receipts, .timer = -1,
	};
}

static __u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* What the receipts say has come, each part after the one before; all since `since`. */
static __u64 received(const struct bulk_wait *wait, __u64 since)
{
	__u64 bytes = 0;
	__u32 i;

	for (i = 0; i < wait->receipt_count; i++) {
		expect(receipts[i].at_ns > since && receipts[i].bytes && !receipts[i].flow,
		       "receipt %u is wrong", i);
		since = receipts[i].at_ns;
		bytes += receipts[i].bytes;
	}
	expect(since < now_ns(), "the last receipt is of the future");
	return bytes;
}

static void receives(__u64 first)
{
	struct pollfd own = { writer(first, UINT64_MAX), POLLIN | POLLRDHUP, 0 };
	struct bulk_flow flow = flow_of(0, first);
	struct bulk_wait wait = wait_of(&own, &flow, 1);
	__u64 since = now_ns();

	/* what was received is not there any more */
	expect(ioctl(bulk, BULK_WAIT, &wait) == 1 && own.revents == POLLOUT, "receiving: %s",
	       strerror(errno));
	expect(!flow.left && flow.position == first + BYTES, "%llu bytes left at byte %llu",
	       flow.left, flow.position);
	expect(received(&wait, since) == BYTES, "the receipts are of another number of bytes");
	close(own.fd);
}

/* A message ends within what is there: all that is is received, and nothing after it. */
static void stops(void)
{
	struct pollfd own = { writer(0, UINT64_MAX), POLLIN | POLLRDHUP, 0 };
	struct bulk_flow flow = flow_of(0, 0);
	struct bulk_wait wait = wait_of(&own, &flow, 1);

	flow.left = CHUNK + 1;
	expect(ioctl(bulk, BULK_WAIT, &wait) == 1 && !flow.left, "stopping: %s", strerror(errno));
	expect(flow.position > CHUNK && flow.position <= 2 * CHUNK, "stops at byte %llu",
	       flow.position);
	expect(received(&wait, 0) == flow.position, "the receipts are not of what has come");
	/* one that is done is for the process */
	expect(ioctl(bulk, BULK_WAIT, &wait) == 1 && own.revents == POLLIN && !wait.receipt_count,
	       "more than a message is received");
	close(own.fd);
}

/* More receipts than there is room for: no byte is lost when it waits again. */
static void fills(void)
{
	struct pollfd own = { writer(0, UINT64_MAX), POLLIN | POLLRDHUP, 0 };
	struct bulk_flow flow = flow_of(0, 0);
	struct bulk_wait wait = wait_of(&own, &flow, 1);
	__u64 bytes = 0, since = now_ns();
	int ready;

	flow.chunk_bytes = 8;
	do {
		ready = ioctl(bulk, BULK_WAIT, &wait);
		expect(ready || wait.receipt_count == BULK_RECEIPTS_MAX, "%u receipts are enough",
		       wait.receipt_count);
		bytes += received(&wait, since);
		if (wait.receipt_count)
			since = receipts[wait.receipt_count - 1].at_ns;
		expect(bytes == flow.position, "the receipts are not of what has come");
	} while (!ready);
	expect(ready == 1 && bytes == BYTES, "after %llu bytes: %s", bytes, strerror(errno));
	close(own.fd);
}

/* Waits at a timer, and leaves to the process what comes shortly before that. */
static void keeps_time(void)
{
	int timer = timerfd_create(CLOCK_MONOTONIC, 0);
	struct pollfd fds[] = { { timer, POLLIN, 0 },
				{ writer(0, UINT64_MAX), POLLIN | POLLRDHUP, 0 } };
	struct bulk_flow flow = flow_of(1, 0);
	struct bulk_wait wait = wait_of(fds, &flow, 1);
	__u64 at = now_ns() + 1000000;
	int ready;

	wait.count = 2;
	wait.timer = timer;
	wait.wake.it_value = (typeof(wait.wake.it_value)) { at / 1000000000, at % 1000000000 };
	flow.until_ns = at - 1;
	ready = ioctl(bulk, BULK_WAIT, &wait);
	expect(ready == 1 && fds[1].revents == POLLIN && flow.left == BYTES,
	       "shortly before something is done: %d ready, %x, %llu bytes left", ready,
	       fds[1].revents, flow.left);
	fds[1].events = 0;
	expect(ioctl(bulk, BULK_WAIT, &wait) == 1 && fds[0].revents == POLLIN && !fds[1].revents,
	       "the timer: %s", strerror(errno));
	expect(now_ns() > at, "the timer comes too soon");
	/* without flows, as poll(): of data alone, as the timer set to the past may be ready, too */
	fds[0].events = 0;
	fds[1].events = POLLIN;
	wait.flow_count = 0;
	expect(ioctl(bulk, BULK_WAIT, &wait) == 1 && fds[1].revents == POLLIN, "no flow: %s",
	       strerror(errno));
	close(timer);
	expect(ioctl(bulk, BULK_WAIT, &wait) < 0 && errno == EBADF, "no timer: %s",
	       strerror(errno));
	close(fds[1].fd);
}

static void sees(__u64 first, __u64 wrong)
{
	/* beside one that never has anything */
	struct pollfd own[] = { { -1, POLLIN, 0 },
				{ writer(first, wrong), POLLIN | POLLRDHUP, 0 } };
	struct bulk_flow flows[] = { flow_of(0, 0), flow_of(1, first) };
	struct bulk_wait wait = wait_of(own, flows, 2);

	expect(ioctl(bulk, BULK_WAIT, &wait) < 0 && errno == EBADMSG,
	       "byte %llu is not seen", wrong);
	expect(wait.flow == 1 && wait.wrong == wrong && wait.found == (pattern_byte(wrong, SEED) ^ FLIPPED),
	       "byte %llu is taken for %llu", wrong, wait.wrong);
	close(own[1].fd);
}

static void sends(void)
{
	pid_t child;
	struct pollfd own = { reader(BYTES - CHUNK, &child), POLLOUT, 0 };
	struct bulk_flow flow = flow_of(0, 0);
	struct bulk_wait wait = wait_of(&own, &flow, 1);
	int status;

	flow.sends = 1;
	expect(ioctl(bulk, BULK_WAIT, &wait) == 1, "sending: %s", strerror(errno));
	expect(flow.left && flow.left <= CHUNK && flow.position + flow.left == BYTES,
	       "%llu bytes left", flow.left);
	close(own.fd);
	expect(waitpid(child, &status, 0) == child && !status, "the reader ended with %x", status);
}

static void refuses(const char *what, struct bulk_wait wait, int error)
{
	expect(ioctl(bulk, BULK_WAIT, &wait) < 0 && errno == error, "%s: %s", what,
	       strerror(errno));
}

int main(void)
{
	struct pollfd own = { STDOUT_FILENO, POLLOUT, 0 };
	struct bulk_flow flow = flow_of(0, 0);
	struct bulk_wait wait = wait_of(&own, &flow, 1);
	__u64 i;

	bulk = open("/proc/mptcplab_bulk", O_RDWR);
	expect(bulk >= 0, "/proc/mptcplab_bulk: %s", strerror(errno));
	for (i = 0; i < 9; i++)
		receives(1000 + i);
	/* every place in a word, of the first ones and of those in the middle */
	for (i = 0; i < 17; i++) {
		sees(1003, 1003 + i);
		sees(0, 2 * CHUNK - 8 + i);
	}
	stops();
	fills();
	keeps_time();
	sends();
	flow.sends = 1;
	refuses("no socket", wait, ENOTSOCK);
	flow.own = 1;
	refuses("not among them", wait, EINVAL);
	flow = flow_of(0, 0);
	flow.chunk_bytes = 4;
	refuses("no whole word", wait, EINVAL);
	flow.chunk_bytes = 1 << 20;
	refuses("too much at once", wait, EINVAL);
	flow = flow_of(0, 0);
	own.fd = 1000;
	refuses("no file", wait, EBADF);
	wait.fds = 8;
	refuses("no memory of ours", wait, EFAULT);
	wait.count = 1 << 20;
	refuses("more than there may be files", wait, EINVAL);
	wait.flow_count = BULK_FLOWS_MAX + 1;
	refuses("too many flows", wait, EINVAL);
	printf("right\n");
	return 0;
}
