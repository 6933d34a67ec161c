// SPDX-License-Identifier: GPL-2.0-only
/* The same guest on an unmodified kernel of a distribution, in a virtual machine, with which
 * the lab's kernel is compared (`make stock-check`).
 *
 * There is no hostfs, no probe and no bulk there. So the run directory is one of the
 * initramfs, from which outcome.c sends the files to the host, and samples are made of what
 * sockets tell any program, as records of the probe (docs/records.md; what cannot be asked
 * for is 0). The kernel of the out-of-tree MPTCP has no probe and no bulk either.
 */

#include <dirent.h>
#include <errno.h>
#include <linux/sock_diag.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "address.h"
#include "base.h"
#include "end.h"
#include "files.h"
#include "settings.h"
#include "stock.h"
#include "subflows.h"
#include "uapi/probe.h"

/* of the initramfs: what the host gives the run */
#define GIVEN_DIR	"/lab"
#define CONNECTIONS_MAX	64

/* struct mptcp_info of Linux 6.12, up to what is used of it */
struct connection_info {
	uint8_t counts[6];
	uint32_t flags;
	uint32_t token;
	uint64_t write_seq;
	uint64_t snd_una;
	uint64_t rcv_nxt;
	uint8_t counts2[3];
	uint32_t retransmits;
	uint64_t bytes_retrans;
	uint64_t bytes_sent;
	uint64_t bytes_received;
	uint64_t bytes_acked;
};

/* as the probe writes them; 0: what sockets do not tell */
union record {
	struct probe_head head;
	struct probe_connection connection;
	struct probe_subflow subflow;
};

/* A process that samples the connections of another one. */
struct sampler {
	char file[48];
	pid_t process;
	int pidfd;
	int out;
	uint64_t seen[CONNECTIONS_MAX];	/* cookies, in the order of first sight */
	unsigned int seen_count;
};

static pid_t sampling[2];
static unsigned int sampling_count;

void stock_prepare(void)
{
	if (mount("devtmpfs", "/dev", "devtmpfs", 0, NULL))
		give_up("mount devtmpfs on /dev: %s", strerror(errno));
	if (mount(GIVEN_DIR, RUN_DIR, NULL, MS_BIND, NULL))
		give_up("mount %s on %s: %s", GIVEN_DIR, RUN_DIR, strerror(errno));
}

static unsigned int connection_number(struct sampler *sampler, int fd)
{
	socklen_t len = sizeof(uint64_t);
	unsigned int i;
	uint64_t cookie;

	if (getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len))
		give_up("%s: SO_COOKIE: %s", sampler->file, strerror(errno));
	for (i = 0; i < sampler->seen_count; i++)
		if (sampler->seen[i] == cookie)
			return i + 1;
	if (i == CONNECTIONS_MAX)
		give_up("%s: more than %d connections are sampled", sampler->file, CONNECTIONS_MAX);
	sampler->seen[sampler->seen_count++] = cookie;
	return sampler->seen_count;
}

static int option(int fd, int level, int name, void *value, socklen_t len)
{
	return getsockopt(fd, level, name, value, &len);
}

/* The subflows of a connection, in the order of creation; false: it is not open. */
static bool ask_subflows(int fd, bool tcp, struct subflows *found)
{
	struct mptcp_subflow_addrs *ends = &found->where.addrs[0];
	struct tcp_info *first = &found->state.info[0];
	socklen_t local_len = sizeof(ends->ss_local), remote_len = sizeof(ends->ss_remote);

	if (!tcp)
		return subflows_ask(fd, found) && found->count;
	*found = (struct subflows) { .count = 1 };
	return !option(fd, IPPROTO_TCP, TCP_INFO, first, sizeof(*first)) &&
	       first->tcpi_state != STATE_CLOSE && first->tcpi_state != STATE_LISTEN &&
	       !getsockname(fd, &ends->sa_local, &local_len) &&
	       !getpeername(fd, &ends->sa_remote, &remote_len);
}

static void fill_v0_connection(struct connection_info *info, int fd)
{
	static struct subflows subflows;
	struct v0_connection connection;

	if (!v0_ask(fd, &subflows, &connection))
		give_up("MPTCP_INFO: %s", strerror(errno));
	info->bytes_received = connection.received_bytes;
	info->bytes_acked = connection.acked_bytes;
	info->bytes_sent = connection.acked_bytes;
}

static void fill_connection(union record *record, int fd, bool tcp, const struct tcp_info *first)
{
	uint32_t memory[SK_MEMINFO_VARS] = { 0 };
	struct connection_info info = { 0 };

	if (tcp) {
		info.bytes_received = first->tcpi_bytes_received;
		info.bytes_sent = first->tcpi_bytes_sent - first->tcpi_bytes_retrans;
		info.bytes_acked = first->tcpi_bytes_acked;
	} else if (v0_kernel()) {
		fill_v0_connection(&info, fd);
	} else if (option(fd, SOL_MPTCP, MPTCP_INFO, &info, sizeof(info))) {
		give_up("MPTCP_INFO: %s", strerror(errno));
	}
	if (option(fd, SOL_SOCKET, SO_MEMINFO, memory, sizeof(memory)))
		give_up("SO_MEMINFO: %s", strerror(errno));
	record->connection.delivered_bytes = info.bytes_received;
	record->connection.sent_bytes = info.bytes_sent;
	record->connection.acked_bytes = info.bytes_acked;
	record->connection.reinjected_bytes = info.bytes_retrans;
	record->connection.sndbuf_used = memory[SK_MEMINFO_WMEM_QUEUED];
	record->connection.sndbuf = memory[SK_MEMINFO_SNDBUF];
	record->connection.rcvbuf_used = memory[SK_MEMINFO_RMEM_ALLOC];
	record->connection.rcvbuf = memory[SK_MEMINFO_RCVBUF];
}

static void fill_subflow(union record *record, const struct mptcp_subflow_addrs *addrs,
			 const struct tcp_info *info)
{
	record->subflow.local_addr = socket_address_last(&addrs->sa_local);
	record->subflow.remote_addr = socket_address_last(&addrs->sa_remote);
	record->subflow.local_port = ntohs(addrs->sin_local.sin_port);
	record->subflow.remote_port = ntohs(addrs->sin_remote.sin_port);
	record->subflow.cwnd = info->tcpi_snd_cwnd;
	record->subflow.ssthresh = info->tcpi_snd_ssthresh;
	record->subflow.srtt_us = info->tcpi_rtt;
	record->subflow.rttvar_us = info->tcpi_rttvar;
	record->subflow.min_rtt_us = info->tcpi_min_rtt;
	record->subflow.in_flight = info->tcpi_unacked - info->tcpi_sacked - info->tcpi_lost +
				    info->tcpi_retrans;
	record->subflow.mss = info->tcpi_snd_mss;
	record->subflow.unsent_bytes = info->tcpi_notsent_bytes;
	record->subflow.sent_bytes = info->tcpi_bytes_sent;
	record->subflow.acked_bytes = info->tcpi_bytes_acked;
	record->subflow.received_bytes = info->tcpi_bytes_received;
	record->subflow.retransmitted_bytes = info->tcpi_bytes_retrans;
	record->subflow.retransmitted_packets = info->tcpi_total_retrans;
	record->subflow.data_packets_out = info->tcpi_data_segs_out;
	record->subflow.data_packets_in = info->tcpi_data_segs_in;
	record->subflow.window_bytes = info->tcpi_snd_wnd;
	record->subflow.ca_state = info->tcpi_ca_state;
	record->subflow.tcp_state = info->tcpi_state;
	record->subflow.pacing_rate = info->tcpi_pacing_rate;
	record->subflow.rto_us = info->tcpi_rto;
}

static void sample_connection(struct sampler *sampler, int fd, bool tcp, uint64_t at_ns)
{
	static union record records[1 + SUBFLOWS_MAX];
	static struct subflows subflows;
	unsigned int i, number;

	if (!ask_subflows(fd, tcp, &subflows))
		return;
	number = connection_number(sampler, fd);
	memset(records, 0, sizeof(records));
	for (i = 0; i <= subflows.count; i++)
		records[i].head = (struct probe_head) {
			.time_ns = at_ns,
			.connection = number,
			.kind = i ? PROBE_SUBFLOW : PROBE_CONNECTION,
			.n = i ? i - 1 : subflows.count,
		};
	fill_connection(&records[0], fd, tcp, subflows.state.info);
	for (i = 0; i < subflows.count; i++)
		fill_subflow(&records[i + 1], &subflows.where.addrs[i], &subflows.state.info[i]);
	file_write(sampler->out, sampler->file, records, (1 + subflows.count) * sizeof(*records));
}

/* Samples all connections of the process; false: it has ended. */
static bool sample_process(struct sampler *sampler, bool tcp, uint64_t at_ns)
{
	char path[48];
	struct dirent *entry;
	bool any = false;
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%d/fd", sampler->process);
	fds = opendir(path);
	if (!fds)
		return false;
	while ((entry = readdir(fds))) {
		int fd, listens, protocol;

		if (*entry->d_name == '.')
			continue;
		any = true;
		fd = syscall(SYS_pidfd_getfd, sampler->pidfd, atoi(entry->d_name), 0);
		if (fd < 0)
			continue;
		if (!option(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, sizeof(listens)) && !listens &&
		    !option(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, sizeof(protocol)) &&
		    protocol == (tcp ? IPPROTO_TCP : IPPROTO_MPTCP))
			sample_connection(sampler, fd, tcp, at_ns);
		close(fd);
	}
	closedir(fds);
	return any;
}

void stock_sample(pid_t process, const struct traffic *t, uint64_t start_ns)
{
	struct sampler sampler = { .process = process };
	uint64_t at;
	pid_t pid;

	if (sampling_count == COUNT(sampling))
		give_up("only one client and one server are sampled on this kernel");
	pid = child_fork();
	if (pid) {
		sampling[sampling_count++] = pid;
		return;
	}
	snprintf(sampler.file, sizeof(sampler.file), "%s.samples", t->ns);
	sampler.out = file_create(sampler.file);
	sampler.pidfd = syscall(SYS_pidfd_open, process, 0);
	if (sampler.pidfd < 0)
		give_up("%s: %s", sampler.file, strerror(errno));
	for (at = start_ns;; at += t->sample_interval_ns) {
		sleep_until(at);
		if (!sample_process(&sampler, t->tcp, at))
			_exit(0);
	}
}

void stock_end_samples(void)
{
	unsigned int i;

	for (i = 0; i < sampling_count; i++)
		child_has_ended(sampling[i], "a process that samples", true);
}

/* The connections of each pair of hosts have a file of their own. */
static void *sample_end(void *arg)
{
	struct sampler *samplers = arg;
	uint64_t at;
	int i;

	for (at = end.start_ns;; at += end.t->sample_interval_ns) {
		sleep_until(at);
		for (i = 0; i < end.count; i++) {
			const struct connection *c = &end.list[i];

			if (c->fd >= 0 && !c->connecting)
				sample_connection(&samplers[c->pair], c->fd, c->t->tcp, at);
		}
	}
	return NULL;
}

void stock_sample_own(void)
{
	struct sampler *samplers;
	pthread_t thread;
	unsigned int i;
	int error;

	if (!v0_kernel() || !end.t->sample_interval_ns || end.t->udp)
		return;
	samplers = allocate(end.pairs, sizeof(*samplers));
	for (i = 0; i < end.pairs; i++) {
		snprintf(samplers[i].file, sizeof(samplers[i].file), "%s.samples", end.t[i].ns);
		samplers[i].out = file_create(samplers[i].file);
	}
	error = pthread_create(&thread, NULL, sample_end, samplers);
	if (error)
		give_up("%s: %s", samplers->file, strerror(error));
}
