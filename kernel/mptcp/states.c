// SPDX-License-Identifier: GPL-2.0-only
/* Records of a scheduler's view at each question, and of its answer. From them, an oracle
 * derives the right answer (docs/oracle.md).
 *
 * The caller owns the connection. The modules of v0.9x see more of a subflow, in TCP's own
 * units. These values belong to the same snapshot as the scheduler's view; TCP may have
 * gone on since.
 */

#include <net/tcp.h>

#include "states.h"
#include "uapi/probe.h"

static struct state_head states_head(u32 number, u8 kind, u8 n)
{
	return (struct state_head) {
		.time_ns	= cpu_to_le64(mps_clock_ns()),
		.connection	= cpu_to_le32(number),
		.kind		= kind,
		.n		= n,
		.version	= cpu_to_le16(STATE_VERSION),
	};
}

static u32 states_carried(const struct mps_segment *seg, const struct mps_subflow *subflow,
			  u32 flag)
{
	return seg && mps_carried_by(seg, subflow) ? flag : 0;
}

static u32 states_flags(const struct mps_conn *conn, const struct mps_subflow *subflow)
{
	const struct mptcp_subflow_context *ctx = mps_ctx(subflow);
	bool can_send = !ctx->closing && __mptcp_subflow_active((void *)ctx);

	return (subflow->usable ? STATE_USABLE : 0) |
	       (subflow->backup ? STATE_BACKUP : 0) |
	       (can_send ? STATE_CAN_SEND : 0) |
	       (mps_throttled(subflow) ? STATE_THROTTLED : 0) |
	       (subflow->memory_full ? STATE_MEMORY_FULL : 0) |
	       (subflow->stale ? STATE_STALE : 0) |
	       states_carried(mps_head(conn), subflow, STATE_CARRIED_HEAD) |
	       states_carried(mps_oldest_unacked(conn), subflow, STATE_CARRIED_OLDEST) |
	       states_carried(mps_reinjection(conn), subflow, STATE_CARRIED_REINJECTION);
}

static void states_put_subflow(struct record_stream *stream, u32 number,
			       const struct mps_conn *conn, const struct mps_subflow *subflow,
			       u8 n)
{
	const struct mps_subflow_core *sub = subflow_core(subflow);
	struct mps_device device = mps_device(subflow);
	struct state_subflow record = {
		.head			= states_head(number, STATE_SUBFLOW, n),
		.pacing_rate		= cpu_to_le64(subflow->pacing_rate),
		.delivered_ns		= cpu_to_le64(subflow->delivered_ns),
		.delivered_sent_ns	= cpu_to_le64(subflow->delivered_sent_ns),
		.oldest_sent_ns		= cpu_to_le64(subflow->oldest_sent_ns),
		.device_queue_bytes	= cpu_to_le64(device.queue_bytes),
		.device_sent_bytes	= cpu_to_le64(mps_device_sent_bytes(subflow)),
		.id			= cpu_to_le32(subflow->id),
		.flags			= cpu_to_le32(states_flags(conn, subflow)),
		.ca_state		= cpu_to_le32(subflow->ca_state),
		.mss			= cpu_to_le32(subflow->mss_bytes),
		.srtt_us		= cpu_to_le32(subflow->srtt_us),
		.srtt_8us		= cpu_to_le32(sub->srtt_8us),
		.rttvar_us		= cpu_to_le32(subflow->rttvar_us),
		.rttvar_4us		= cpu_to_le32(sub->rttvar_4us),
		.min_rtt_us		= cpu_to_le32(subflow->min_rtt_us),
		.last_rtt_us		= cpu_to_le32(subflow->last_rtt_us),
		.cwnd			= cpu_to_le32(subflow->cwnd_pkts),
		.ssthresh		= cpu_to_le32(subflow->ssthresh_pkts),
		.limit			= cpu_to_le32(subflow->limit_pkts),
		.in_flight		= cpu_to_le32(subflow->in_flight_pkts),
		.packets_out		= cpu_to_le32(sub->packets_out),
		.unsent_bytes		= cpu_to_le32(subflow->unsent_bytes),
		.outstanding_bytes	= cpu_to_le32(subflow->outstanding_bytes),
		.window_bytes		= cpu_to_le32(subflow->window_bytes),
		.wmem_queued		= cpu_to_le32(subflow->memory_bytes),
		.snd_una		= cpu_to_le32(sub->snd_una),
		.snd_nxt		= cpu_to_le32(sub->snd_nxt),
		.delivered		= cpu_to_le32(subflow->delivered_pkts),
		.owd_us			= cpu_to_le32(subflow->owd_us),
		.commd_us		= cpu_to_le32(subflow->commd_us),
	};

	stream_put(stream, &record, sizeof(record));
}

void states_put_question(struct record_stream *stream, u32 number, const struct mps_conn *conn)
{
	const struct mps_segment *head = mps_head(conn), *oldest = mps_oldest_unacked(conn);
	const struct mps_segment *reinjection = mps_reinjection(conn);
	const struct sock *sk = mps_sk(conn);
	const struct mps_subflow *subflow;
	struct state_question record = {
		.una_seq	= cpu_to_le64(conn->una_seq),
		.nxt_seq	= cpu_to_le64(conn->nxt_seq),
		.window_end_seq	= cpu_to_le64(conn->window_end_seq),
		.window_bytes	= cpu_to_le32(conn->window_bytes),
		.unsent_bytes	= cpu_to_le32(conn->unsent_bytes),
		.segment_bytes	= cpu_to_le32(conn->segment_bytes),
		.wmem_queued	= cpu_to_le32(READ_ONCE(sk->sk_wmem_queued)),
		.sndbuf		= cpu_to_le32(READ_ONCE(sk->sk_sndbuf)),
		.jiffies	= cpu_to_le32(tcp_jiffies32),
		.flags		= cpu_to_le32((conn->writer_waits ? STATE_WRITER_WAITS : 0) |
					      (conn->sndbuf_full ? STATE_SNDBUF_FULL : 0) |
					      (conn->closing ? STATE_CLOSING : 0) |
					      (head ? STATE_HEAD : 0) |
					      (oldest ? STATE_OLDEST : 0) |
					      (reinjection ? STATE_REINJECTION : 0)),
	};
	u8 n = 0;

	strscpy_pad(record.scheduler, conn_core(conn)->ops->name);
	if (head) {
		record.head_seq = cpu_to_le64(mps_seq(conn, head));
		record.head_bytes = cpu_to_le32(mps_len(head));
		record.head_sent = cpu_to_le32(head->frag.already_sent);
	}
	if (oldest) {
		record.oldest_seq = cpu_to_le64(mps_seq(conn, oldest));
		record.oldest_bytes = cpu_to_le32(mps_len(oldest));
	}
	if (reinjection) {
		record.reinjection_seq = cpu_to_le64(mps_seq(conn, reinjection));
		record.reinjection_bytes = cpu_to_le32(mps_len(reinjection));
	}
	mps_for_each_subflow(conn, subflow)
		n++;
	record.head = states_head(number, STATE_QUESTION, n);
	stream_put(stream, &record, sizeof(record));
	n = 0;
	mps_for_each_subflow(conn, subflow)
		states_put_subflow(stream, number, conn, subflow, n++);
}

void states_put_answer(struct record_stream *stream, u32 number, const struct mps_pick *pick)
{
	struct state_answer record = {
		.head = states_head(number, STATE_ANSWER, 0),
		.what = DECISION_WAIT,
	};

	if (pick) {
		record.what = pick->kind;
		record.seq = cpu_to_le64(pick->seq);
		record.subflow = cpu_to_le32(pick->subflow ? pick->subflow->id : 0);
		record.bytes = cpu_to_le32(pick->limit_bytes);
	}
	stream_put(stream, &record, sizeof(record));
}

void states_put_done(struct record_stream *stream, u32 number,
		     const struct mps_subflow *subflow, const struct mps_decision *decision)
{
	struct state_answer record = {
		.head		= states_head(number, STATE_DONE, 0),
		.seq		= cpu_to_le64(decision->seq),
		.subflow	= cpu_to_le32(subflow ? subflow->id : 0),
		.bytes		= cpu_to_le32(decision->length),
		.what		= decision->kind,
	};

	stream_put(stream, &record, sizeof(record));
}
