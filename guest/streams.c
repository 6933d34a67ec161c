// SPDX-License-Identifier: GPL-2.0-only
/* Moves what the kernel records into files. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base.h"
#include "files.h"
#include "streams.h"

#define PROBE_BYTES	(1 << 16)

/* What the kernel records in a namespace, each into a file. */
struct stream {
	char ns[32];		/* "": the first one */
	const char *source;	/* below its /proc/net */
	const char *stop;	/* what ends it */
	char file[48];
	int source_fd;		/* -1: not recording any more */
	int file_fd;
};

static struct stream *streams;
static int stream_count;

void stream_open(const char *ns, const char *file, const char *kind, const char *command)
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
	stream.file_fd = file_create(stream.file);
	streams = realloc(streams, (stream_count + 1) * sizeof(*streams));
	if (!streams)
		give_up("%s: %s", stream.file, strerror(errno));
	streams[stream_count++] = stream;
}

/* Moves what the kernel has recorded into the file; at the end, closes both. */
static void store_records(struct stream *stream)
{
	static char records[PROBE_BYTES];
	ssize_t len = read(stream->source_fd, records, sizeof(records));

	if (len < 0)
		give_up("%s: %s: %s", stream->file, stream->source, strerror(errno));
	if (len) {
		file_write(stream->file_fd, stream->file, records, len);
		return;
	}
	file_close(stream->file_fd, stream->file);
	close(stream->source_fd);
	stream->source_fd = -1;
}

int streams_expect(struct pollfd *fds)
{
	int i;

	for (i = 0; i < stream_count; i++)
		fds[i] = (struct pollfd) { streams[i].source_fd, POLLIN, 0 };
	return stream_count;
}

void streams_store(const struct pollfd *fds, int count)
{
	int i;

	for (i = 0; i < count; i++)
		if (fds[i].revents)
			store_records(&streams[i]);
}

void streams_stop(void)
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
