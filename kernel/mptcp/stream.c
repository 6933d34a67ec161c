// SPDX-License-Identifier: GPL-2.0-only
#include <linux/sizes.h>

#include "stream.h"

/* a sample of a thousand connections with two subflows fits */
#define STREAM_BYTES		SZ_1M
/* wake the reader for no less than this: a system call is expensive here */
#define STREAM_WAKE_BYTES	SZ_64K

int stream_init(struct record_stream *stream, size_t record_bytes)
{
	mutex_init(&stream->lock);
	init_waitqueue_head(&stream->wait);
	stream->record_bytes = record_bytes;
	return kfifo_alloc(&stream->fifo, STREAM_BYTES, GFP_KERNEL);
}

void stream_free(struct record_stream *stream)
{
	kfifo_free(&stream->fifo);
}

void stream_put(struct record_stream *stream, const void *records, size_t bytes)
{
	if (kfifo_avail(&stream->fifo) < bytes)
		WRITE_ONCE(stream->overflow, true);
	else
		kfifo_in(&stream->fifo, records, bytes);
}

void stream_wake(struct record_stream *stream)
{
	if (kfifo_len(&stream->fifo) >= STREAM_WAKE_BYTES)
		wake_up_interruptible(&stream->wait);
}

void stream_end(struct record_stream *stream)
{
	WRITE_ONCE(stream->ended, true);
	wake_up_interruptible(&stream->wait);
}

static bool stream_readable(struct record_stream *stream)
{
	return READ_ONCE(stream->ended) || READ_ONCE(stream->overflow) ||
	       kfifo_len(&stream->fifo) >= STREAM_WAKE_BYTES;
}

ssize_t stream_read(struct record_stream *stream, const struct file *file, char __user *to,
		    size_t len)
{
	unsigned int copied;
	int err;

	if (!stream_readable(stream)) {
		if (file->f_flags & O_NONBLOCK)
			return -EAGAIN;
		err = wait_event_interruptible(stream->wait, stream_readable(stream));
		if (err)
			return err;
	}
	if (READ_ONCE(stream->overflow))
		return -ENOBUFS;

	guard(mutex)(&stream->lock);
	err = kfifo_to_user(&stream->fifo, to, rounddown(len, stream->record_bytes), &copied);
	return err ? err : copied;
}

__poll_t stream_poll(struct record_stream *stream, struct file *file, poll_table *wait)
{
	poll_wait(file, &stream->wait, wait);
	return stream_readable(stream) ? EPOLLIN | EPOLLRDNORM : 0;
}
