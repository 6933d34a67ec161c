// SPDX-License-Identifier: GPL-2.0-only
/* agent: a program outside of the simulation decides.
 *
 * The lab passes each question to an agent, such as a learner in Python, with the
 * state of the connection and its subflows. Virtual time stands while the agent
 * thinks. It answers with a subflow, or to wait, or with the name of another
 * scheduler, which decides from then on, and may set that one's parameters.
 *
 * It asks at each decision: when there is something to send, and a subflow that
 * could send it. Or at fixed times (every_us), or at events: the connection's
 * begin, losses, timeouts, and changes of its subflows. Then an answer holds until
 * the next question, and data goes to the chosen subflow alone, as its window
 * admits. Segments of a subflow in trouble come first. Without an agent, or when
 * the agent leaves, it decides as minrtt.
 *
 * Source: ours.
 *
 * Works in the lab, whose docs/agent.md describes the agent's end. Fails to
 * choose segments: an agent that wants duplicates, or data out of order, has to
 * delegate to a scheduler that sends them.
 *
 * Differs from the source: in nothing.
 */

#include <linux/spinlock.h>

#include "mpsched.h"
#include "agent.h"

enum { EVERY_US, EVENTS, RP };

static const struct mps_param agent_params[] = {
	[EVERY_US] = MPS_UINT("every_us", 0, 60000000, 0, "us",
			      "time between two questions; 0: at each decision"),
	[EVENTS] = MPS_BOOL("events", 0, "ask at events, not at each decision"),
	[RP] = MPS_BOOL("rp", 1, "opportunistic retransmission and penalisation, as minrtt"),
};

/* Private state of a scheduler that is delegated to: it comes first in ours. */
#define DELEGATE_CONN_BYTES	SZ_32K
#define DELEGATE_SUBFLOW_BYTES	SZ_1K

struct agent_state {
	u64	delegate_priv[DELEGATE_CONN_BYTES / sizeof(u64)];
	const struct mps_ops *delegate;	/* NULL: nobody has been delegated to */
	u64	next_ns;	/* when it asks next, at fixed times */
	u32	number;		/* of the connection; 0: it has not asked yet */
	u32	events;		/* since the latest question */
	u32	refused;
	/* parameters; they may change while nobody is delegated to */
	u32	every_us;
	bool	at_events;
	enum mps_rp rp;
	/* the latest answer */
	u32	what;		/* enum agent_what; 0: none yet */
	u32	subflow;
};

/* The messages are large, and there is one channel: a question and its answer hold it. It is
 * taken in the context of connections, from processes and softirq.
 */
static DEFINE_SPINLOCK(agent_lock);
static struct {
	struct agent_question	question;
	struct agent_subflow	subflows[AGENT_SUBFLOWS_MAX];
} agent_out;
static struct {
	struct agent_answer	answer;
	struct agent_setting	settings[AGENT_SETTINGS_MAX];
} agent_in;
static u32 agent_connections;

static bool agent_delegates(const struct agent_state *state)
{
	return state->delegate && state->what == AGENT_DELEGATE;
}

/* --- questions */

static u32 agent_flag(bool is, u32 flag)
{
	return is ? flag : 0;
}

static void agent_put_subflow(struct agent_subflow *to, const struct mps_subflow *subflow,
			      const struct mps_segment *seg)
{
	struct mps_device device = mps_device(subflow);

	*to = (struct agent_subflow) {
		.acked_bytes		= cpu_to_le64(subflow->acked_bytes),
		.pacing_rate		= cpu_to_le64(subflow->pacing_rate),
		.delivered_ns		= cpu_to_le64(subflow->delivered_ns),
		.delivered_sent_ns	= cpu_to_le64(subflow->delivered_sent_ns),
		.oldest_sent_ns		= cpu_to_le64(subflow->oldest_sent_ns),
		.device_queue_bytes	= cpu_to_le64(device.queue_bytes),
		.device_sent_bytes	= cpu_to_le64(device.sent_bytes),
		.id			= cpu_to_le32(subflow->id),
		.flags			= cpu_to_le32(agent_flag(subflow->usable, AGENT_USABLE) |
				agent_flag(subflow->backup, AGENT_BACKUP) |
				agent_flag(subflow->stale, AGENT_STALE) |
				agent_flag(subflow->memory_full, AGENT_MEMORY_FULL) |
				agent_flag(mps_available(subflow), AGENT_AVAILABLE) |
				agent_flag(mps_throttled(subflow), AGENT_THROTTLED) |
				agent_flag(seg && mps_carried_by(seg, subflow), AGENT_CARRIED)),
		.ca_state		= cpu_to_le32(subflow->ca_state),
		.mss_bytes		= cpu_to_le32(subflow->mss_bytes),
		.srtt_us		= cpu_to_le32(subflow->srtt_us),
		.rttvar_us		= cpu_to_le32(subflow->rttvar_us),
		.rto_margin_us		= cpu_to_le32(subflow->rto_margin_us),
		.min_rtt_us		= cpu_to_le32(subflow->min_rtt_us),
		.last_rtt_us		= cpu_to_le32(subflow->last_rtt_us),
		.cwnd_pkts		= cpu_to_le32(subflow->cwnd_pkts),
		.ssthresh_pkts		= cpu_to_le32(subflow->ssthresh_pkts),
		.in_flight_pkts		= cpu_to_le32(subflow->in_flight_pkts),
		.left_out_pkts		= cpu_to_le32(subflow->left_out_pkts),
		.limit_pkts		= cpu_to_le32(subflow->limit_pkts),
		.unsent_bytes		= cpu_to_le32(subflow->unsent_bytes),
		.outstanding_bytes	= cpu_to_le32(subflow->outstanding_bytes),
		.memory_bytes		= cpu_to_le32(subflow->memory_bytes),
		.window_bytes		= cpu_to_le32(subflow->window_bytes),
		.delivered_pkts		= cpu_to_le32(subflow->delivered_pkts),
		.lost_pkts		= cpu_to_le32(subflow->lost_pkts),
		.retransmitted_pkts	= cpu_to_le32(subflow->retransmitted_pkts),
		.rounds			= cpu_to_le32(subflow->rounds),
		.round_delivered_pkts	= cpu_to_le32(subflow->round_delivered_pkts),
		.round_lost_pkts	= cpu_to_le32(subflow->round_lost_pkts),
		.round_retransmitted_pkts = cpu_to_le32(subflow->round_retransmitted_pkts),
		.peer_window_bytes	= cpu_to_le32(subflow->peer_window_bytes),
		.peer_mss_bytes		= cpu_to_le32(subflow->peer_mss_bytes),
		.owd_us			= cpu_to_le32(subflow->owd_us),
		.commd_us		= cpu_to_le32(subflow->commd_us),
	};
}

/* Under agent_lock. Returns the size of the message. */
static int agent_put_question(struct mps_conn *conn, struct agent_state *state, u32 why)
{
	struct mps_segment *reinjection = mps_reinjection(conn);
	struct mps_segment *seg = reinjection ?: mps_head(conn);
	struct mps_subflow *subflow;
	u32 n = 0;

	if (!state->number) {
		state->number = ++agent_connections;
		state->events |= AGENT_BEGIN;
	}
	mps_for_each_subflow(conn, subflow)
		if (n < AGENT_SUBFLOWS_MAX)
			agent_put_subflow(&agent_out.subflows[n++], subflow, seg);
	agent_out.question = (struct agent_question) {
		.version	= cpu_to_le32(AGENT_VERSION),
		.connection	= cpu_to_le32(state->number),
		.time_ns	= cpu_to_le64(mps_clock_ns()),
		.una_seq	= cpu_to_le64(conn->una_seq),
		.nxt_seq	= cpu_to_le64(conn->nxt_seq),
		.window_end_seq	= cpu_to_le64(conn->window_end_seq),
		.segment_seq	= cpu_to_le64(seg ? mps_seq(conn, seg) : 0),
		.segment_len	= cpu_to_le32(seg ? mps_len(seg) : 0),
		.why		= cpu_to_le32(why),
		.events		= cpu_to_le32(state->events),
		.flags		= cpu_to_le32(agent_flag(conn->writer_waits, AGENT_WRITER_WAITS) |
				agent_flag(conn->sndbuf_full, AGENT_SNDBUF_FULL) |
				agent_flag(conn->closing, AGENT_CLOSING) |
				agent_flag(reinjection, AGENT_REINJECTION) |
				agent_flag(mps_is_server(conn), AGENT_SERVER)),
		.window_bytes	= cpu_to_le32(conn->window_bytes),
		.unsent_bytes	= cpu_to_le32(conn->unsent_bytes),
		.segment_bytes	= cpu_to_le32(conn->segment_bytes),
		.units_announced = cpu_to_le32(conn->units_announced),
		.refused	= cpu_to_le32(state->refused),
		.subflows	= cpu_to_le32(n),
	};
	state->events = 0;
	return sizeof(agent_out.question) + n * sizeof(agent_out.subflows[0]);
}

/* --- answers */

static struct mps_subflow *agent_find(struct mps_conn *conn, u32 id)
{
	struct mps_subflow *subflow;

	mps_for_each_subflow(conn, subflow)
		if (subflow->id == id)
			return subflow;
	return NULL;
}

/* Under agent_lock. An answer, or a setting, that makes no sense changes nothing. */
static void agent_take_answer(struct mps_conn *conn, struct agent_state *state)
{
	u32 what = le32_to_cpu(agent_in.answer.what), i;
	u32 settings = le32_to_cpu(agent_in.answer.settings);
	u32 wake_us = le32_to_cpu(agent_in.answer.wake_us);
	u32 id = le32_to_cpu(agent_in.answer.subflow);
	char *name = agent_in.answer.scheduler;
	const struct mps_ops *ops;

	switch (what) {
	case AGENT_SEND:
		if (!agent_find(conn, id))
			goto refuse;
		state->subflow = id;
		break;
	case AGENT_DELEGATE:
		name[sizeof(agent_in.answer.scheduler) - 1] = '\0';
		/* it goes on, with what it knows */
		if (state->delegate && !strcmp(state->delegate->name, name))
			break;
		ops = mps_delegate(conn, state->delegate, name, DELEGATE_CONN_BYTES,
				   DELEGATE_SUBFLOW_BYTES);
		if (!ops)
			goto refuse;
		state->delegate = ops;
		break;
	case AGENT_KEEP:
		what = state->what;
		break;
	case AGENT_WAIT:
	case AGENT_LEAVE:
		break;
	default:
		goto refuse;
	}
	state->what = what;
	for (i = 0; i < settings; i++) {
		struct agent_setting *setting = &agent_in.settings[i];

		setting->name[sizeof(setting->name) - 1] = '\0';
		if (!mps_set_param(conn, setting->name, le32_to_cpu(setting->value)))
			state->refused++;
	}
	if (wake_us)
		mps_ask_at(conn, mps_clock_ns() + (u64)wake_us * NSEC_PER_USEC);
	return;

refuse:
	state->refused++;
}

static void agent_is_gone(struct mps_conn *conn, struct agent_state *state)
{
	state->what = AGENT_LEAVE;
	mps_count_fallback(conn);
}

/* An agent that is gone, or that sends no answer but something else, has left. */
static void agent_ask(struct mps_conn *conn, struct agent_state *state, u32 why)
{
	size_t expected = sizeof(agent_in.answer);
	int bytes;

	spin_lock_bh(&agent_lock);
	bytes = agent_put_question(conn, state, why);
	bytes = mps_agent.call(&agent_out, bytes, &agent_in, sizeof(agent_in));
	if (bytes >= (int)expected)
		expected += (size_t)le32_to_cpu(agent_in.answer.settings) *
			    sizeof(agent_in.settings[0]);
	if (bytes == expected)
		agent_take_answer(conn, state);
	else
		agent_is_gone(conn, state);
	spin_unlock_bh(&agent_lock);
}

/* --- decisions */

static void agent_read_params(struct mps_conn *conn, struct agent_state *state)
{
	if (state->delegate)
		return;
	state->every_us = mps_param(conn, EVERY_US);
	state->at_events = mps_param(conn, EVENTS);
	state->rp = mps_param(conn, RP) ? MPS_RP_HALVE : MPS_RP_OFF;
}

/* Is there something to send, and a subflow that could send it? */
static bool agent_can_decide(struct mps_conn *conn)
{
	const struct mps_subflow *subflow;

	if (!mps_reinjection(conn) && !mps_head(conn) && !conn->writer_waits)
		return false;
	mps_for_each_subflow(conn, subflow)
		if (mps_available(subflow))
			return true;
	return false;
}

/* Why it asks now; 0: it does not. */
static u32 agent_asks(struct mps_conn *conn, struct agent_state *state)
{
	u64 now_ns, every_ns = (u64)state->every_us * NSEC_PER_USEC;

	if (state->what == AGENT_LEAVE)
		return 0;
	if (every_ns) {
		now_ns = mps_clock_ns();
		if (now_ns < state->next_ns)
			return 0;
		/* the times of its first question: those without data are left out */
		if (!state->next_ns)
			state->next_ns = now_ns;
		state->next_ns += every_ns * (div64_u64(now_ns - state->next_ns, every_ns) + 1);
		mps_ask_at(conn, state->next_ns);
		return AGENT_TIME;
	}
	if (state->at_events)
		return state->events || !state->number ? AGENT_EVENT : 0;
	return agent_can_decide(conn) ? AGENT_DECISION : 0;
}

/* The next segment on this subflow; without one, wait. */
static bool agent_send(struct mps_conn *conn, struct agent_state *state,
		       struct mps_subflow *subflow, struct mps_pick *pick)
{
	struct mps_segment *seg = mps_reinjection(conn);

	if (!subflow || !mps_available(subflow))
		return false;
	if (seg)
		return mps_pick_reinjection(pick, conn, subflow, seg);
	return mps_new_or_repeat(conn, subflow, mps_head(conn), state->rp, pick);
}

static bool agent_next_segment(struct mps_conn *conn, struct mps_pick *pick)
{
	struct agent_state *state = mps_conn_priv(conn);
	struct mps_subflow *subflow;
	u32 why;

	agent_read_params(conn, state);
	why = agent_asks(conn, state);
	if (why)
		agent_ask(conn, state, why);
	else if (!state->every_us && !state->at_events && !agent_delegates(state) &&
		 state->what != AGENT_LEAVE)
		return false;

	if (agent_delegates(state))
		return state->delegate->next_segment(conn, pick);
	if (state->what == AGENT_WAIT)
		return false;
	subflow = state->what == AGENT_SEND ? agent_find(conn, state->subflow) : NULL;
	/* as minrtt, also until the next question if that subflow is gone */
	if (!subflow || !subflow->usable)
		subflow = mps_lowest_rtt(conn, mps_reinjection(conn));
	return agent_send(conn, state, subflow, pick);
}

static struct mps_subflow *agent_get_subflow(struct mps_conn *conn, const struct mps_segment *seg)
{
	struct agent_state *state = mps_conn_priv(conn);

	if (agent_delegates(state) && state->delegate->get_subflow)
		return state->delegate->get_subflow(conn, seg);
	return mps_lowest_rtt(conn, seg);
}

/* --- events: also for the scheduler that is delegated to, whoever decides now */

#define agent_pass(_conn, _hook, ...) ({						\
	const struct agent_state *_state = mps_conn_priv(_conn);			\
											\
	if (_state->delegate && _state->delegate->_hook)				\
		_state->delegate->_hook(_conn, __VA_ARGS__);				\
})

static void agent_note(struct mps_conn *conn, u32 event)
{
	struct agent_state *state = mps_conn_priv(conn);

	state->events |= event;
}

static void agent_release(struct mps_conn *conn)
{
	struct agent_state *state = mps_conn_priv(conn);

	if (state->delegate)
		mps_delegate_end(conn, state->delegate);
	state->delegate = NULL;
}

static void agent_init_subflow(struct mps_conn *conn, struct mps_subflow *subflow)
{
	agent_note(conn, AGENT_SUBFLOWS);
	agent_pass(conn, init_subflow, subflow);
}

static void agent_release_subflow(struct mps_conn *conn, struct mps_subflow *subflow)
{
	agent_note(conn, AGENT_SUBFLOWS);
	agent_pass(conn, release_subflow, subflow);
}

static void agent_on_ack(struct mps_conn *conn, struct mps_subflow *subflow, u64 acked_bytes)
{
	agent_pass(conn, on_ack, subflow, acked_bytes);
}

static void agent_on_loss(struct mps_conn *conn, struct mps_subflow *subflow)
{
	agent_note(conn, AGENT_LOSS);
	agent_pass(conn, on_loss, subflow);
}

static void agent_on_rto(struct mps_conn *conn, struct mps_subflow *subflow)
{
	agent_note(conn, AGENT_RTO);
	agent_pass(conn, on_rto, subflow);
}

static void agent_on_subflow_state(struct mps_conn *conn, struct mps_subflow *subflow)
{
	agent_note(conn, AGENT_SUBFLOWS);
	agent_pass(conn, on_subflow_state, subflow);
}

static void agent_on_sent(struct mps_conn *conn, const struct mps_pick *pick, u32 bytes)
{
	agent_pass(conn, on_sent, pick, bytes);
}

static struct mps_ops agent_ops = {
	.next_segment		= agent_next_segment,
	.get_subflow		= agent_get_subflow,
	.release		= agent_release,
	.init_subflow		= agent_init_subflow,
	.release_subflow	= agent_release_subflow,
	.on_ack			= agent_on_ack,
	.on_loss		= agent_on_loss,
	.on_rto			= agent_on_rto,
	.on_subflow_state	= agent_on_subflow_state,
	.on_sent		= agent_on_sent,
	.name			= "agent",
	.owner			= THIS_MODULE,
	.conn_size		= sizeof(struct agent_state),
	.subflow_size		= DELEGATE_SUBFLOW_BYTES,
	.params			= agent_params,
	.num_params		= ARRAY_SIZE(agent_params),
};

mps_scheduler(agent_ops);

MODULE_DESCRIPTION("MPTCP scheduler: a program outside decides");
MODULE_LICENSE("GPL");
