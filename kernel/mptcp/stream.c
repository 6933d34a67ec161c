// SPDX-License-Identifier: GPL-2.0-only
/* A stream allocates its chunks on demand: a run with a hundred connections has hundreds of
 * streams, and most of them hold little.
 */

#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "stream.h"

/* a sample of a thousand connections with two subflows fits */
#define STREAM_BYTES		SZ_1M
/* wake the reader for no less than this: a system call is expensive here */
#define STREAM_WAKE_BYTES	SZ_64K

struct stream_chunk {
	struct list_head	list;
	u32			begin;		/* of the unread part of data */
	u32			end;
	u8			data[];
};

#define CHUNK_BYTES		(SZ_16K - sizeof(struct stream_chunk))

void stream_init(struct record_stream *stream, size_t record_bytes)
{
	INIT_LIST_HEAD(&stream->chunks);
	spin_lock_init(&stream->lock);
	mutex_init(&stream->reading);
	init_waitqueue_head(&stream->wait);
	stream->record_bytes = record_bytes;
	stream->most_bytes = STREAM_BYTES;
}

void stream_free(struct record_stream *stream)
{
	struct stream_chunk *chunk, *next;

	list_for_each_entry_safe(chunk, next, &stream->chunks, list)
		kfree(chunk);
}

/* The chunk that has room for a record, under the lock. */
static struct stream_chunk *stream_room(struct record_stream *stream)
{
	struct stream_chunk *chunk;

	if (!list_empty(&stream->chunks)) {
		chunk = list_last_entry(&stream->chunks, struct stream_chunk, list);
		if (CHUNK_BYTES - chunk->end >= stream->record_bytes)
			return chunk;
	}
	if (stream->bytes >= stream->most_bytes)
		return NULL;
	chunk = kmalloc(struct_size(chunk, data, CHUNK_BYTES), GFP_ATOMIC | __GFP_NOWARN);
	if (!chunk)
		return NULL;
	chunk->begin = 0;
	chunk->end = 0;
	list_add_tail(&chunk->list, &stream->chunks);
	return chunk;
}

void stream_put(struct record_stream *stream, const void *records, size_t bytes)
{
	struct stream_chunk *chunk;
	size_t fits;

	spin_lock_bh(&stream->lock);
	while (bytes) {
		chunk = stream_room(stream);
		if (!chunk) {
			WRITE_ONCE(stream->overflow, true);
			break;
		}
		fits = rounddown(CHUNK_BYTES - chunk->end, stream->record_bytes);
		fits = min(fits, bytes);
		memcpy(chunk->data + chunk->end, records, fits);
		chunk->end += fits;
		WRITE_ONCE(stream->bytes, stream->bytes + fits);
		records += fits;
		bytes -= fits;
	}
	spin_unlock_bh(&stream->lock);
}

void stream_wake(struct record_stream *stream)
{
	if (READ_ONCE(stream->bytes) >= STREAM_WAKE_BYTES)
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
	       READ_ONCE(stream->bytes) >= STREAM_WAKE_BYTES;
}

/* The oldest unread bytes; NULL: none. They stay until stream_take() removes them. */
static const void *stream_first(struct record_stream *stream, size_t *len)
{
	struct stream_chunk *chunk;

	guard(spinlock_bh)(&stream->lock);
	if (!stream->bytes)
		return NULL;
	chunk = list_first_entry(&stream->chunks, struct stream_chunk, list);
	*len = min_t(size_t, *len, chunk->end - chunk->begin);
	return chunk->data + chunk->begin;
}

static void stream_take(struct record_stream *stream, size_t len)
{
	struct stream_chunk *chunk;

	guard(spinlock_bh)(&stream->lock);
	chunk = list_first_entry(&stream->chunks, struct stream_chunk, list);
	chunk->begin += len;
	WRITE_ONCE(stream->bytes, stream->bytes - len);
	if (chunk->begin < chunk->end)
		return;
	chunk->begin = 0;
	chunk->end = 0;
	/* writers use the last chunk again */
	if (list_is_singular(&stream->chunks))
		return;
	list_del(&chunk->list);
	kfree(chunk);
}

ssize_t stream_read(struct record_stream *stream, const struct file *file, char __user *to,
		    size_t len)
{
	size_t copied = 0, piece;
	const void *from;
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

	guard(mutex)(&stream->reading);
	len = rounddown(len, stream->record_bytes);
	while ((piece = len - copied)) {
		from = stream_first(stream, &piece);
		if (!from)
			break;
		if (copy_to_user(to + copied, from, piece))
			return -EFAULT;
		stream_take(stream, piece);
		copied += piece;
	}
	return copied;
}

__poll_t stream_poll(struct record_stream *stream, struct file *file, poll_table *wait)
{
	poll_wait(file, &stream->wait, wait);
	return stream_readable(stream) ? EPOLLIN | EPOLLRDNORM : 0;
}
