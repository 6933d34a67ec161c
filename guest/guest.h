/* SPDX-License-Identifier: GPL-2.0-only */
/* What all programs that run inside have in common. */
#ifndef GUEST_H
#define GUEST_H

#include <stdint.h>
#include <time.h>

#define NS_PER_SEC	1000000000ull
#define NEVER		UINT64_MAX
/* The run directory, which is the working directory of the kernel's process on the host. */
#define RUN_DIR		"/run/lab"
/* where `ip netns` has the names of namespaces, too */
#define NETNS_DIR	"/run/netns"

#define COUNT(array)	(sizeof(array) / sizeof(*(array)))

static inline uint64_t to_ns(const struct timespec *t)
{
	return t->tv_sec * NS_PER_SEC + t->tv_nsec;
}

static inline struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec) { ns / NS_PER_SEC, ns % NS_PER_SEC };
}

/* From one seed of splitmix() to the next. */
#define SPLITMIX_STEP	0x9e3779b97f4a7c15ull

/* A random number for each seed (splitmix64; Steele, Lea and Flood, OOPSLA 2014). */
static inline uint64_t splitmix(uint64_t seed)
{
	uint64_t z = seed + SPLITMIX_STEP;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

#endif
