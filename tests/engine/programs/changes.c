// SPDX-License-Identifier: GPL-2.0-only
/* Sockets whose scheduler was another one before: connections whose packets are compared.
 *
 *	changes server MOMENT BEFORE,SCHEDULER...
 *	changes client MOMENT BEFORE,SCHEDULER...
 *
 * Each connection has SCHEDULER; BEFORE is there or in the sysctl until the MOMENT, of enum
 * moment. The ports of the servers are FIRST_PORT and following. Each pair begins at an instant
 * of its own, PERIOD_NS after the one before, so that its packets have the same times whatever
 * came before. Who sends does so when both subflows are there; some of its packets are lost on
 * either path, on the second all that are in flight, and what TCP repeats of them at first.
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "../../programs.h"

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP	262
#endif
#define SOL_MPTCP	284
#define MPTCP_SCHEDULER	100

#define REFUSED_PORT	5098
#define OTHER_PORT	5099
#define FIRST_PORT	5100
#define START_NS	(20 * SECOND_NS)
/* 8192 ticks: timers of seconds are rounded to so many of them that all of it is the same */
#define PERIOD_NS	32768000000LL
#define BYTES		300000
/* the parameter that PARAMETER changes from BEFORE, and its value then */
#define PARAMETER_FILE	"/proc/sys/net/mptcp/roundrobin/num_segments"
#define PARAMETER_VALUE	"5"

enum moment {
	OPTION,		/* the option, before connect() */
	SYSCTL,		/* the sysctl, between socket() and connect(): it changes nothing */
	DISCONNECT,	/* the option, after a connection and connect(AF_UNSPEC) */
	FAILED,		/* the option, after a connect() that was refused */
	LISTENER,	/* the option, of what listens, before listen() */
	ACCEPT,		/* the sysctl, between listen() and accept(): it changes nothing */
	FALLBACK,	/* to TCP, which asks no scheduler */
	PARAMETER,	/* the option, with the scheduler that the socket has; BEFORE is a parameter's */
};

static void set_sysctl(const char *name)
{
	put("/proc/sys/net/mptcp/scheduler", name);
}

static void choose(int fd, const char *name)
{
	check(!setsockopt(fd, SOL_MPTCP, MPTCP_SCHEDULER, name, strlen(name)), name);
}

static void check_scheduler(int fd, const char *name)
{
	char found[16] = "";
	socklen_t len = sizeof(found);

	check(!getsockopt(fd, SOL_MPTCP, MPTCP_SCHEDULER, found, &len), "MPTCP_SCHEDULER");
	if (strcmp(found, name)) {
		fprintf(stderr, "the scheduler is %s instead of %s\n", found, name);
		exit(1);
	}
}

static struct sockaddr_in address(int port)
{
	struct sockaddr_in found = { .sin_family = AF_INET, .sin_port = htons(port) };

	inet_pton(AF_INET, "10.1.1.1", &found.sin_addr);
	return found;
}

static int try_connect(int fd, int port)
{
	struct sockaddr_in to = address(port);

	return connect(fd, (struct sockaddr *)&to, sizeof(to));
}

static void disconnect(int fd)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };

	check(!connect(fd, &none, sizeof(none)), "connect(AF_UNSPEC)");
}

/* The end of who has nothing more to say; the other one ends later. */
static void send_all(int fd)
{
	static char bytes[BYTES];
	int i;

	usleep(300000);
	for (i = 0; i < BYTES;) {
		ssize_t n = send(fd, bytes + i, BYTES - i, MSG_NOSIGNAL);

		check(n > 0, "send");
		i += n;
	}
	shutdown(fd, SHUT_WR);
}

static void read_to_end(int fd)
{
	char buffer[65536];

	while (recv(fd, buffer, sizeof(buffer), 0) > 0)
		;
}

static int listening(int port, int protocol, enum moment moment, const char *before,
		     const char *scheduler)
{
	/* of both paths */
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd, on = 1;

	set_sysctl(moment == LISTENER ? before : scheduler);
	fd = socket(AF_INET, SOCK_STREAM, protocol);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	check(!bind(fd, (struct sockaddr *)&here, sizeof(here)), "bind");
	if (moment == LISTENER)
		choose(fd, scheduler);
	check(!listen(fd, 5), "listen");
	if (moment == ACCEPT)
		set_sysctl(before);
	return fd;
}

static void serve(enum moment moment, const char *before, const char *scheduler, int number)
{
	int protocol = moment == FALLBACK ? IPPROTO_TCP : IPPROTO_MPTCP;
	int listener = listening(FIRST_PORT + number, protocol, moment, before, scheduler);
	int fd, other = -1;

	if (moment == DISCONNECT) {
		other = listening(OTHER_PORT, protocol, moment, before, scheduler);
		fd = accept(other, NULL, NULL);
		check(fd >= 0, "accept");
		read_to_end(fd);
		close(fd);
		close(other);
	}
	fd = accept(listener, NULL, NULL);
	check(fd >= 0, "accept");
	if (moment == LISTENER || moment == ACCEPT) {
		check_scheduler(fd, scheduler);
		send_all(fd);
	}
	read_to_end(fd);
	close(fd);
	close(listener);
}

static int routers[2];

static void lose(int router, const char *text)
{
	check(write(router, text, strlen(text)) == (ssize_t)strlen(text), text);
	check(write(router, "start", 5) == 5, "start");
}

/* Of the sender's data, counted from now on; after a fallback, all is on the first path. */
static void lose_some(enum moment moment, bool down)
{
	const char *first = moment == FALLBACK ? "rc1 data 8-29" : "rc1 data 40-43";

	lose(routers[0], down ? "rs1 data 40-43" : first);
	lose(routers[1], down ? "rs2 data 6-15" : "rc2 data 6-15");
}

static void be_client(enum moment moment, const char *before, const char *scheduler, int number,
		      long long begin_ns)
{
	bool down = moment == LISTENER || moment == ACCEPT;
	int fd;

	set_sysctl(moment == SYSCTL || moment == PARAMETER ? scheduler : before);
	if (moment == PARAMETER)
		put(PARAMETER_FILE, before);
	fd = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);
	check(fd >= 0, "socket");
	sleep_until(begin_ns + SECOND_NS);
	lose_some(moment, down);
	switch (moment) {
	case DISCONNECT:
		check(!try_connect(fd, OTHER_PORT), "connect");
		send_all(fd);
		usleep(300000);
		disconnect(fd);
		break;
	case FAILED:
		check(try_connect(fd, REFUSED_PORT) && errno == ECONNREFUSED, "refused");
		break;
	case SYSCTL:
		set_sysctl(before);
		break;
	case PARAMETER:
		put(PARAMETER_FILE, PARAMETER_VALUE);
		break;
	default:
		break;
	}
	if (moment == OPTION || moment == DISCONNECT || moment == FAILED || moment == PARAMETER)
		choose(fd, scheduler);
	sleep_until(begin_ns + PERIOD_NS / 2);
	lose_some(moment, down);
	check(!try_connect(fd, FIRST_PORT + number), "connect");
	/* a socket that has fallen back has the options of TCP */
	if (!down && moment != FALLBACK)
		check_scheduler(fd, scheduler);
	if (!down)
		send_all(fd);
	read_to_end(fd);
	close(fd);
}

static void open_routers(void)
{
	int here = open("/proc/self/ns/net", O_RDONLY), i;
	char name[32];

	for (i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "/run/netns/router%d", i + 1);
		check(!setns(open(name, O_RDONLY), CLONE_NEWNET), name);
		routers[i] = open("/proc/thread-self/net/mptcp_drop", O_WRONLY);
		check(routers[i] >= 0, "mptcp_drop");
		check(!setns(here, CLONE_NEWNET), "back");
	}
}

int main(int argc, char **argv)
{
	bool is_client = !strcmp(argv[1], "client");
	enum moment moment = atoi(argv[2]);
	int i;

	signal(SIGPIPE, SIG_IGN);
	put("/proc/sys/net/mptcp/mptcpize", "0");
	/* or a connection begins with what the one before has measured */
	put("/proc/sys/net/ipv4/tcp_no_metrics_save", "1");
	if (is_client)
		open_routers();
	for (i = 0; i < argc - 3; i++) {
		long long begin_ns = START_NS + i * PERIOD_NS;
		char *before = strtok(argv[i + 3], ","), *scheduler = strtok(NULL, ",");

		sleep_until(begin_ns);
		if (is_client)
			be_client(moment, before, scheduler, i, begin_ns);
		else
			serve(moment, before, scheduler, i);
	}
	/* what is sent again, and the last ACKs */
	sleep(30);
	return 0;
}
