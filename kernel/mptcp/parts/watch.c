// SPDX-License-Identifier: GPL-2.0-only
/* Throughput and queues, as the module of musher measures them: see watch.h. */

#include "parts/watch.h"

/* As in the source: the reference is the mean of so many looks, ... */
#define WATCH_REFERENCE		5
/* ... and so many in a row have to differ from it. */
#define WATCH_IN_A_ROW		5

static struct watch_subflow *watch_of(struct mps_subflow *subflow)
{
	return mps_subflow_priv(subflow);
}

/* What has left the devices of the subflows, each of them counted once. */
static u64 watch_rate_kbps(struct mps_conn *conn)
{
	struct mps_subflow *subflow, *other;
	u64 kbps = 0, bytes;
	u32 ms;

	mps_for_each_subflow(conn, subflow) {
		struct watch_subflow *own = watch_of(subflow);
		bool counted = false;

		bytes = mps_device_sent_bytes(subflow);
		if (bytes == own->device_bytes)
			continue;
		mps_for_each_subflow(conn, other) {
			if (other == subflow)
				break;
			counted |= mps_same_device(subflow, other);
		}
		ms = jiffies_to_msecs(jiffies - own->device_look);
		if (own->device_bytes && bytes > own->device_bytes && ms && !counted)
			kbps += div_u64((bytes - own->device_bytes) * BITS_PER_BYTE, ms);
		own->device_bytes = bytes;
		own->device_look = jiffies;
	}
	return kbps;
}

static u64 watch_queue_bytes(struct mps_conn *conn)
{
	struct mps_subflow *subflow;
	u64 bytes = 0;

	mps_for_each_subflow(conn, subflow) {
		struct watch_subflow *own = watch_of(subflow);

		if (own->samples)
			bytes += div_u64(own->queue_bytes, own->samples);
		own->queue_bytes = 0;
		own->samples = 0;
	}
	return bytes;
}

bool watch_look(struct mps_conn *conn, u32 interval_ms)
{
	struct watch *watch = mps_conn_priv(conn);
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow) {
		watch_of(subflow)->queue_bytes += subflow->outstanding_bytes;
		watch_of(subflow)->samples++;
	}
	if (jiffies_to_msecs(jiffies - watch->look) <= interval_ms)
		return false;
	watch->look = jiffies;
	watch->kbps = watch_rate_kbps(conn);
	watch->queue_bytes = watch_queue_bytes(conn);
	return true;
}
EXPORT_SYMBOL_GPL(watch_look);

bool watch_refer(struct watch *watch)
{
	if (watch->references < WATCH_REFERENCE) {
		watch->reference_kbps += watch->kbps;
		watch->reference_queue += watch->queue_bytes;
		watch->references++;
		return false;
	}
	watch->last_kbps = div_u64(watch->reference_kbps, WATCH_REFERENCE);
	watch->last_queue = div_u64(watch->reference_queue, WATCH_REFERENCE);
	watch->reference_kbps = 0;
	watch->reference_queue = 0;
	watch->references = 0;
	/* the difference of the queues goes on, as in the source */
	watch->rate_diff = 0;
	return true;
}
EXPORT_SYMBOL_GPL(watch_refer);

void watch_differs(struct watch *watch)
{
	watch->rate_diff += watch->kbps - watch->last_kbps;
	watch->queue_diff += watch->queue_bytes - watch->last_queue;
}
EXPORT_SYMBOL_GPL(watch_differs);

bool watch_has_changed(struct watch *watch)
{
	if (abs(watch->rate_diff) > watch->change_kbps) {
		watch->queue_count = 0;
		watch->rate_count++;
	} else if (watch->queue_diff < -watch->fall_bytes) {
		watch->rate_count = 0;
		watch->queue_count++;
	} else {
		watch->rate_count = 0;
		watch->queue_count = 0;
	}
	watch->last_kbps = watch->kbps;
	watch->last_queue = watch->queue_bytes;
	if (watch->rate_count != WATCH_IN_A_ROW && watch->queue_count != WATCH_IN_A_ROW)
		return false;
	watch->rate_count = 0;
	watch->queue_count = 0;
	watch->last_kbps = 0;
	watch->last_queue = 0;
	watch->queue_diff = 0;
	watch->references = 0;
	return true;
}
EXPORT_SYMBOL_GPL(watch_has_changed);
