/* SPDX-License-Identifier: GPL-2.0-only */
/* What stream.c uses, and Linux 4.19 lacks: locks that a scope holds. */
#ifndef _MPTCP_LAB_V0_COMPAT_H
#define _MPTCP_LAB_V0_COMPAT_H

#include <linux/mutex.h>
#include <linux/spinlock.h>

/* no more than one of a kind in a function */
#define guard(_kind)	guard_##_kind

#define guard_mutex(_lock) \
	struct mutex *guarded_mutex __attribute__((cleanup(guard_mutex_end))) = \
		guard_mutex_begin(_lock)

static inline struct mutex *guard_mutex_begin(struct mutex *lock)
{
	mutex_lock(lock);
	return lock;
}

static inline void guard_mutex_end(struct mutex **lock)
{
	mutex_unlock(*lock);
}

#define guard_spinlock_bh(_lock) \
	spinlock_t *guarded_spinlock __attribute__((cleanup(guard_spinlock_bh_end))) = \
		guard_spinlock_bh_begin(_lock)

static inline spinlock_t *guard_spinlock_bh_begin(spinlock_t *lock)
{
	spin_lock_bh(lock);
	return lock;
}

static inline void guard_spinlock_bh_end(spinlock_t **lock)
{
	spin_unlock_bh(*lock);
}

#endif
