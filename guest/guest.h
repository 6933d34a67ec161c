/* SPDX-License-Identifier: GPL-2.0-only */
/* The program that runs inside: init carries out the plan and watches over
 * its children, which are forks of itself: traffic or programs, captures, events
 * and cross traffic.
 *
 * Whatever fails ends the guest, with the reason in its outcome.
 */
#ifndef GUEST_H
#define GUEST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base.h"
#include "outcome.h"

/* that a process may have open: Linux's limits, of which the first one is for programs */
#define FILES		1024
#define FILES_MAX	4096

/* plan.c: carry out the plan's commands up to its traffic or programs; false: it
 * has none
 */
bool plan_run(char *text);
/* plan.c: the next line that is no comment, and its number; NULL at the end */
char *plan_next(int *number);
/* plan.c: let the line that plan_next() gave be the next one again */
void plan_unread(char *line);

/* plan.c: a command, whose words its parts take one after the other. Those that
 * want another word give up with the command, and with what they want.
 */
#define COMMAND_WORDS_MAX	32

struct command {
	void (*run)(struct command *command);
	const char *ns;			/* "": the first one */
	const char *words[COMMAND_WORDS_MAX];
	int count, next;
	int line;			/* of the plan */
};

/* the command takes the text, in which its words then lie */
void command_parse(struct command *command, char *text, int line);
/* it is one of ip or tc, and not of what is done while the plan is read */
bool command_is_tool(const struct command *command);
void command_run(struct command *command);
void __attribute__((noreturn, format(printf, 2, 3)))
command_failed(const struct command *command, const char *format, ...);
bool command_at_end(const struct command *command);
void command_expect_end(const struct command *command);
/* take the next word if it is this one; it must be */
bool command_has(struct command *command, const char *word);
void command_expect(struct command *command, const char *word);
/* take the next word, which is what is expected; as a number; as a device */
const char *command_word(struct command *command, const char *what);
uint32_t command_number(struct command *command, uint32_t most);
const char *command_device(struct command *command, int *index);

/* ip.c, tc.c: run those commands, of which the first word is taken */
void ip_run(struct command *command);
/* ip.c: sleep until a whole second, from which on nothing depends on how long the set-up
 * took, with all that may be in a plan beside what the run is; returns it
 */
uint64_t sleep_until_set_up(void);
void tc_run(struct command *command);

/* netlink.c: the request that is being put together, one at a time: its type and
 * what comes first, attributes with data, attributes with attributes in them
 */
void request_start(int type, int flags, const void *head, size_t len);
void request_add(int type, const void *data, size_t len);
void request_add_number(int type, uint32_t number);
void request_add_text(int type, const char *text);
struct nlattr *request_begin(int type);
void request_end(struct nlattr *attribute);
/* data as it is, which stays there until it is sent */
void *request_append(const void *data, size_t len);
/* Send it to the namespace of the command, which has no more words, to rtnetlink
 * or to a generic family, and wait until it is done.
 */
void request_send(const struct command *command);
void request_send_generic(const struct command *command);
int generic_family(const char *ns, const char *name);
/* the number of a device, 0: there is none of that name */
int device_index(const char *ns, const char *device);
/* close what is open in the namespace that was asked last */
void netlink_close(void);

/* plan.c: a time such as 3s or 1500ms, in ns */
uint64_t parse_time(const char *text, int line);

/* events.c: what the plan's "at" lines ask for, at their times after start_ns */
void event_add(char *text, int line);
void events_prepare(void);
void events_start(uint64_t start_ns);
void events_end(void);

/* cross.c: take a line of the plan that was to be done at_ns after START; false:
 * it is not for cross traffic. Then, send from start_ns on, until cross_end().
 */
bool cross_add(const char *text, uint64_t at_ns, int line);
void cross_prepare(void);
void cross_start(uint64_t start_ns);
void cross_end(void);

/* capture.c: write what passes the devices of ns into RUN_DIR/file, until captures_end() */
void capture_start(const char *ns, const char *file, int line);
void captures_end(void);

/* drop.c: in a namespace, lose packets: "DEVICE data|acks 5,17,100-120". They
 * are counted from drops_start() on.
 */
void drop_prepare(const char *ns, const char *what, int line);
void drops_start(void);

/* meter.c: send packets from one namespace to another, and write when each left
 * and arrived into RUN_DIR/file
 */
void meter_run(const char *ns, char *arguments, int line);

/* traffic.c, messages.c and player.c: the traffic, whose two ends are processes
 * of their own. They report to init through a pipe, one report at a time.
 */
enum report_kind {
	REPORT_LISTENING,	/* server: a connection can be made */
	REPORT_CONNECTING,	/* client: the first packet is about to leave */
	REPORT_START,		/* client: measuring starts at a, ends at b (0: open) */
	REPORT_DONE,		/* either: has written a bytes, has verified b bytes */
	REPORT_ENDED,		/* programs: the client's has ended, at a */
	REPORT_STATUS,		/* programs: a and b are the client's and the server's status */
	REPORT_MISSING,		/* client: no subflow on path b + i for each bit i of a */
	REPORT_ERROR,		/* either: text says why */
};

struct report {
	uint32_t kind;
	uint32_t calls;		/* system calls to move data */
	uint64_t a;
	uint64_t b;
	char text[232];
};

/* One end of a pair of hosts, and of the connections between them. */
struct traffic {
	char ns[32];
	bool is_server;
	bool tcp;
	bool trace;		/* the scheduler's decisions */
	bool fresh;		/* connections are made when their first message is due */
	bool at_once;		/* data is sent when the first subflow is there */
	bool no_delay;		/* small messages do not wait for an ACK (Nagle) */
	char peer[16];
	uint16_t port;
	unsigned int first_path;	/* its addresses are 10.0.p.1 and 10.1.p.1, from 1 */
	unsigned int paths;
	unsigned int connections;	/* those next in number; 0: all */
	uint64_t duration_ns;	/* of messages without a size, after START */
	uint64_t sample_interval_ns;
	uint64_t seed;
	char scheduler[16];	/* for the connections; "": that of the namespace */
	/* the player's, see player.c */
	uint64_t segment_ns;
	uint64_t buffer_ns;
	uint64_t reservoir_ns;
	uint64_t cushion_ns;
};

/* What one end sends to the other, by itself or after another message. */
struct traffic_message {
	unsigned int connection;	/* from 0 */
	bool down;		/* from the server to the client */
	const uint64_t *sizes;	/* one of these; NULL: as much as goes */
	unsigned int size_count;
	int after;		/* its number, from 0; -1: START */
	uint64_t delay_ns;	/* after that */
	/* the scheduler is told of it, and may drop it; times after it is due */
	bool is_unit;
	uint32_t needs;		/* the number of another one, from 1; 0: none */
	uint32_t importance;
	uint64_t deadline_ns;
	uint64_t expires_ns;
};

/* A unit begins with its number, from 1, so that the receiver knows what was
 * dropped.
 */
#define UNIT_HEADER	4

/* What happened to it, as docs/records.md has it: 0: not. Each field has one
 * end that writes it.
 */
struct message_record {
	uint32_t connection;	/* from 1 */
	uint8_t down;
	uint8_t choice;		/* which of its sizes; the client's */
	uint16_t reserved;
	uint64_t bytes;
	uint64_t due_ns;
	uint64_t begin_ns;
	uint64_t written_ns;
	uint64_t first_ns;
	uint64_t complete_ns;
	uint64_t reserved2;
};

extern struct messages {
	struct traffic_message *list;
	struct message_record *records;	/* shared by all processes */
	int count;
	unsigned int connections;
} messages;

/* messages.c: add that of a line, share the records of all, and store them */
void message_add(char *text, int line);
void messages_share(void);
void messages_write(void);

/* player.c: when a message of the client is due that could be sent at ns, and,
 * of one that asks for a segment, which size that has
 */
void player_prepare(const struct traffic *t);
uint64_t player_due_ns(int request, uint64_t ns);
void player_choose(int request, uint64_t due_ns);

/* traffic.c: before the ends are forked; one of them, with so many pairs of hosts,
 * which does not return
 */
void traffic_prepare(void);
void __attribute__((noreturn)) traffic_run(const struct traffic *t, unsigned int pairs,
					   int report_fd);

/* stock.c: make the run directory of such a kernel; sample the connections of a process of
 * its own from start_ns on, until it has ended; wait for those who do
 */
void stock_prepare(void);
void stock_sample(pid_t process, const struct traffic *t, uint64_t start_ns);
void stock_end_samples(void);

/* program.c: take the plan's programs, if it has them instead of traffic, with
 * what of them is to be recorded (tcp, trace, seed, sample_interval_ns; with an
 * interval of 0 nothing is)
 */
bool programs_parse(struct traffic *t);
/* program.c: run them; reports to init as traffic_run() does */
void __attribute__((noreturn)) programs_run(const struct traffic *t, int report_fd);

#endif
