/* SPDX-License-Identifier: GPL-2.0-only */
/* A stream of records from the kernel to a process that reads a file. */
#ifndef _MPTCP_LAB_STREAM_H
#define _MPTCP_LAB_STREAM_H

#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/poll.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

struct record_stream {
	struct list_head	chunks;		/* read from the first, written to the last */
	spinlock_t		lock;		/* of chunks and bytes */
	struct mutex		reading;	/* one reader at a time */
	wait_queue_head_t	wait;
	size_t			record_bytes;
	size_t			most_bytes;	/* more unread bytes are an overflow */
	size_t			bytes;		/* unread */
	bool			overflow;	/* the reader was too slow: records are missing */
	bool			ended;
};

void stream_init(struct record_stream *stream, size_t record_bytes);
void stream_free(struct record_stream *stream);

/* Whole records. The caller ensures one writer at a time. */
void stream_put(struct record_stream *stream, const void *records, size_t bytes);
/* Wakes the reader if there is enough to read. */
void stream_wake(struct record_stream *stream);
/* No more records follow: the reader gets the rest, then end-of-file. */
void stream_end(struct record_stream *stream);

/* read() and poll() of the file. -ENOBUFS after an overflow. */
ssize_t stream_read(struct record_stream *stream, const struct file *file, char __user *to,
		    size_t len);
__poll_t stream_poll(struct record_stream *stream, struct file *file, poll_table *wait);

#endif
