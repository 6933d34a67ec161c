// SPDX-License-Identifier: GPL-2.0-only
/* Do vector registers keep their values across all that makes a process of the
 * guest stop? Says which does not, or "kept".
 */

#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS	50

/* Makes a system call with `value` in a vector register, and returns what is in
 * it afterwards: nothing but the system call lies between.
 */
static uint64_t across(uint64_t value, long nr, long a, long b, long c, long *result)
{
	register long r10 asm("r10") = 0;
	uint64_t after;

	asm volatile("movq %[value], %%xmm9\n\t"
		     "syscall\n\t"
		     "movq %%xmm9, %[after]"
		     : [after] "=r" (after), "=a" (*result)
		     : [value] "r" (value), "a" (nr), "D" (a), "S" (b), "d" (c), "r" (r10)
		     : "rcx", "r11", "memory", "xmm9");
	return after;
}

static void expect(const char *what, uint64_t wanted, uint64_t found)
{
	if (wanted == found)
		return;
	printf("%s: %llx instead of %llx\n", what, (unsigned long long)found,
	       (unsigned long long)wanted);
	fflush(stdout);
	_exit(1);
}

static void sleep_often(const char *what, uint64_t value)
{
	struct timespec time = { 0, 1000000 };
	long result;
	int i;

	for (i = 0; i < ROUNDS; i++)
		expect(what, value + i,
		       across(value + i, SYS_nanosleep, (long)&time, 0, 0, &result));
}

static void clobber(int number)
{
	(void)number;
	asm volatile("pxor %%xmm9, %%xmm9" ::: "xmm9");
}

static void *thread(void *value)
{
	sleep_often("threads", (uintptr_t)value);
	return NULL;
}

static void wait_for_child(void)
{
	int status;

	if (wait(&status) < 0 || status)
		_exit(1);
}

int main(void)
{
	pthread_t threads[3];
	uint64_t after;
	long result;
	char *page;
	int i;

	after = across(11, SYS_getpid, 0, 0, 0, &result);
	expect("a system call", 11, after);

	after = across(12, SYS_fork, 0, 0, 0, &result);
	expect(result ? "fork, in the parent" : "fork, in the child", 12, after);
	sleep_often("two processes", result ? 100 : 200);
	if (!result)
		_exit(0);
	wait_for_child();

	if (!vfork()) {
		across(13, SYS_getpid, 0, 0, 0, &result);
		execl("/bin/true", "true", (char *)NULL);
		_exit(1);
	}
	wait_for_child();
	after = across(14, SYS_getpid, 0, 0, 0, &result);
	expect("after vfork", 14, after);

	signal(SIGUSR1, clobber);
	for (i = 0; i < ROUNDS; i++) {
		after = across(300 + i, SYS_kill, getpid(), SIGUSR1, 0, &result);
		expect("a signal", 300 + i, after);
	}

	page = mmap(NULL, ROUNDS << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return 1;
	for (i = 0; i < ROUNDS; i++) {
		asm volatile("movq %[value], %%xmm9\n\t"
			     "movb $1, (%[page])\n\t"
			     "movq %%xmm9, %[after]"
			     : [after] "=r" (after)
			     : [value] "r" (400ull + i), [page] "r" (page + ((size_t)i << 12))
			     : "memory", "xmm9");
		expect("a page fault", 400 + i, after);
	}

	for (i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, thread, (void *)(uintptr_t)(1000 * (i + 1))))
			return 1;
	sleep_often("threads", 9000);
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	sleep_often("after threads", 10000);
	puts("kept");
	return 0;
}
