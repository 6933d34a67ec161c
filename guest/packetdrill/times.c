// SPDX-License-Identifier: GPL-2.0-only
/* times() for packetdrill, in a library that is loaded before libc (LD_PRELOAD).
 *
 * packetdrill calls it until it has seen ten ticks. Where computing takes no time,
 * this takes a second of the CPU; here each call sleeps.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/times.h>
#include <time.h>

/* Later by a tick of times(), and by whole ticks of the kernel, which has 250 a second. */
#define TICKS_NS 20000000

clock_t times(struct tms *used)
{
	__typeof__(times) *real = dlsym(RTLD_NEXT, "times");
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += TICKS_NS - until.tv_nsec % TICKS_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	return real(used);
}
