/* SPDX-License-Identifier: GPL-2.0-only */
/* What all other files of the guest program build on: giving up, child processes,
 * namespaces, random numbers and the time.
 */
#ifndef BASE_H
#define BASE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "guest.h"

/* of all connections together */
#define PATHS_MAX	250
/* how many files a process may have open: Linux's soft and hard limit */
#define FILES		1024
#define FILES_MAX	4096

/* Say why on the console and in the outcome, and end the guest. A child ends itself,
 * and init ends the guest with what the child said.
 */
void __attribute__((noreturn, format(printf, 1, 2))) give_up(const char *format, ...);

/* Before any child is forked. */
void children_prepare(void);
/* readable when a child has given up; children_failed() then gives up with its reason */
int children_fd(void);
_Noreturn void children_failed(void);
/* fork; 0 in the child */
pid_t child_fork(void);
/* has it ended (wait: wait for that)? Gives up if it has failed. */
bool child_has_ended(pid_t pid, const char *what, bool wait);
/* ask it to end, if it has not, and wait until it has */
void child_end(pid_t pid, const char *what);

/* a file of a network namespace, -1 if there is none of that name */
int open_namespace(const char *name);
/* move this process into a network namespace; NULL or "": the first one */
void enter_namespace(const char *name);

/* a number that depends on the seed of the run and this name */
uint64_t random_number(const char *name);
/* where between two seconds what is measured starts, from the seed */
uint64_t phase_ns(uint64_t seed);

/* system calls of this process that read the clock or move data, which a run must not
 * spend its time on
 */
extern uint32_t calls;
/* since boot; each call moves the virtual time by 256 ns */
uint64_t now_ns(void);
void sleep_until(uint64_t ns);
/* the time of day, in which packets are timestamped, less the time since boot */
uint64_t time_of_day_offset_ns(void);

#endif
