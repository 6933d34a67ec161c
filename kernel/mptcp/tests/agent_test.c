// SPDX-License-Identifier: GPL-2.0-only
/* agent: the state in its questions, and its decisions after each kind of answer. The tests are
 * the agent.
 */

#include <linux/delay.h>
#include "vocabulary.h"
#include "agent.h"

static struct {
	/* the latest question */
	struct agent_question	question;
	struct agent_subflow	subflows[2];
	u32			questions;
	/* the answer to all */
	struct agent_answer	answer;
	struct agent_setting	setting;
	int			bytes;
} outside;

static int answer_call(const void *question, int bytes, void *answer, int most)
{
	outside.questions++;
	memcpy(&outside.question, question, min_t(int, bytes, sizeof(outside.question) +
						  sizeof(outside.subflows)));
	memcpy(answer, &outside.answer, outside.bytes);
	return outside.bytes;
}

static void answer(enum agent_what what, u32 subflow)
{
	outside.answer = (struct agent_answer) {
		.what = cpu_to_le32(what),
		.subflow = cpu_to_le32(subflow),
	};
	outside.bytes = sizeof(outside.answer);
}

static void delegate(const char *scheduler, const char *param, u32 value)
{
	answer(AGENT_DELEGATE, 0);
	strscpy(outside.answer.scheduler, scheduler);
	if (!param)
		return;
	outside.answer.settings = cpu_to_le32(1);
	strscpy(outside.setting.name, param);
	outside.setting.value = cpu_to_le32(value);
	outside.bytes += sizeof(outside.setting);
}

static u32 refused(void)
{
	return le32_to_cpu(outside.question.refused);
}

/* Two paths, with two segments to send, and the agent. */
static struct two_paths two_paths(struct kunit *test, const char *param, u32 value)
{
	struct two_paths t = { .conn = mps_test_conn(test, "agent") };

	if (param)
		mps_test_param(t.conn, param, value);
	t.fast = mps_test_subflow(t.conn, .srtt_us = 20000);
	t.slow = mps_test_subflow(t.conn, .srtt_us = 100000);
	t.head = mps_test_unsent_pkts(t.conn, 2);
	return t;
}

static void agent_sends_on_the_subflow_of_the_answer(struct kunit *test)
{
	struct two_paths t = two_paths(test, NULL, 0);
	struct mps_segment *lost;

	answer(AGENT_SEND, t.slow->id);
	EXPECT_SENT(test, t.conn, MPS_NEW, t.slow, t.head);
	answer(AGENT_WAIT, 0);
	EXPECT_WAIT(test, t.conn);
	/* it waits for a subflow without room */
	answer(AGENT_SEND, t.fast->id);
	mps_test_fill(t.fast);
	EXPECT_WAIT(test, t.conn);
	t.fast->in_flight_pkts = 0;
	lost = t.head;
	mps_test_reinject(t.conn, lost);
	EXPECT_PICK(test, t.conn, MPS_REINJECTION, t.fast, lost);
	KUNIT_EXPECT_EQ(test, outside.questions, 4U);
	/* without room anywhere, or anything to send, there is nothing to decide */
	mps_test_fill(t.fast);
	mps_test_fill(t.slow);
	EXPECT_WAIT(test, t.conn);
	KUNIT_EXPECT_EQ(test, outside.questions, 4U);
}

static void agent_shows_what_schedulers_see(struct kunit *test)
{
	struct two_paths t = two_paths(test, NULL, 0);
	u32 number;

	answer(AGENT_WAIT, 0);
	t.slow->backup = true;
	mps_test_fill(t.slow);
	mps_test_decide(t.conn);
	number = le32_to_cpu(outside.question.connection);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(outside.question.version), AGENT_VERSION);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(outside.question.why), (u32)AGENT_DECISION);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(outside.question.events),
			(u32)(AGENT_BEGIN | AGENT_SUBFLOWS));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(outside.question.unsent_bytes), 2U * MSS);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(outside.question.segment_len), (u32)MSS);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(outside.question.subflows), 2U);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(outside.subflows[0].flags),
			(u32)(AGENT_USABLE | AGENT_AVAILABLE));
	KUNIT_EXPECT_EQ(test, le32_to_cpu(outside.subflows[1].srtt_us), 100000U);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(outside.subflows[1].flags),
			(u32)(AGENT_USABLE | AGENT_BACKUP));
	mps_test_loss(t.fast);
	mps_test_decide(t.conn);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(outside.question.events), (u32)AGENT_LOSS);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(outside.question.connection), number);
}

static void agent_without_an_agent_is_minrtt(struct kunit *test)
{
	struct two_paths t = two_paths(test, NULL, 0);

	outside.bytes = 0;
	EXPECT_SENT(test, t.conn, MPS_NEW, t.fast, t.head);
	mps_test_fill(t.fast);
	KUNIT_EXPECT_EQ(test, mps_test_send_on(t.conn), t.slow->id);
	/* it asks once, and counts it */
	KUNIT_EXPECT_EQ(test, outside.questions, 1U);
	KUNIT_EXPECT_EQ(test, conn_core(t.conn)->fallbacks, 1U);
}

static void agent_takes_no_part_of_an_answer(struct kunit *test)
{
	struct two_paths t = two_paths(test, NULL, 0);

	answer(AGENT_SEND, t.slow->id);
	outside.answer.settings = cpu_to_le32(1);
	EXPECT_PICK(test, t.conn, MPS_NEW, t.fast, t.head);
	KUNIT_EXPECT_EQ(test, conn_core(t.conn)->fallbacks, 1U);
}

static void agent_refuses_what_makes_no_sense(struct kunit *test)
{
	struct two_paths t = two_paths(test, NULL, 0);

	answer(AGENT_SEND, 3);
	EXPECT_PICK(test, t.conn, MPS_NEW, t.fast, t.head);
	answer(0, 0);
	EXPECT_PICK(test, t.conn, MPS_NEW, t.fast, t.head);
	KUNIT_EXPECT_EQ(test, refused(), 1U);
	delegate("agent", NULL, 0);
	mps_test_decide(t.conn);
	delegate("default", NULL, 0);
	mps_test_decide(t.conn);
	delegate("roundrobin", "num_segments", 0);
	mps_test_decide(t.conn);
	delegate("roundrobin", "rp", 0);
	mps_test_decide(t.conn);
	KUNIT_EXPECT_EQ(test, refused(), 5U);
	answer(AGENT_KEEP, 0);
	mps_test_decide(t.conn);
	KUNIT_EXPECT_EQ(test, refused(), 6U);
}

static void agent_delegates_with_parameters(struct kunit *test)
{
	struct two_paths t = two_paths(test, NULL, 0);

	mps_test_unsent_pkts(t.conn, 10);
	delegate("roundrobin", "num_segments", 3);
	KUNIT_EXPECT_EQ(test, mps_test_send_on(t.conn), t.fast->id);
	/* its state goes on: the second and third of its turn */
	KUNIT_EXPECT_EQ(test, mps_test_send_on(t.conn), t.fast->id);
	answer(AGENT_KEEP, 0);
	KUNIT_EXPECT_EQ(test, mps_test_send_on(t.conn), t.fast->id);
	KUNIT_EXPECT_EQ(test, mps_test_send_on(t.conn), t.slow->id);
	KUNIT_EXPECT_EQ(test, outside.questions, 4U);
}

static void agent_has_room_for_the_state_of_all(struct kunit *test)
{
	struct two_paths t = two_paths(test, NULL, 0);
	const struct mps_ops *ops;
	u32 n, others = 0;

	mps_test_for_each_scheduler(ops, n) {
		if (ops == conn_core(t.conn)->ops)
			continue;
		delegate(ops->name, NULL, 0);
		mps_test_decide(t.conn);
		others++;
	}
	KUNIT_EXPECT_EQ(test, outside.questions, others);
	answer(AGENT_WAIT, 0);
	mps_test_decide(t.conn);
	KUNIT_EXPECT_EQ(test, refused(), 0U);
	conn_core(t.conn)->ops->release(t.conn);
}

static void agent_asks_at_fixed_times(struct kunit *test)
{
	struct two_paths t = two_paths(test, "every_us", 100000);

	answer(AGENT_SEND, t.slow->id);
	EXPECT_SENT(test, t.conn, MPS_NEW, t.slow, t.head);
	mps_test_fill(t.slow);
	EXPECT_WAIT(test, t.conn);
	KUNIT_EXPECT_EQ(test, outside.questions, 1U);
	KUNIT_EXPECT_EQ(test, (u64)ktime_to_ns(hrtimer_get_expires(&conn_core(t.conn)->ask_timer)),
			le64_to_cpu(outside.question.time_ns) + 100 * NSEC_PER_MSEC);
	msleep(100);
	answer(AGENT_SEND, t.fast->id);
	KUNIT_EXPECT_EQ(test, mps_test_send_on(t.conn), t.fast->id);
	KUNIT_EXPECT_EQ(test, outside.questions, 2U);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(outside.question.why), (u32)AGENT_TIME);
}

static void agent_asks_at_events(struct kunit *test)
{
	struct two_paths t = two_paths(test, "events", 1);

	mps_test_unsent_pkts(t.conn, 10);
	answer(AGENT_SEND, t.slow->id);
	KUNIT_EXPECT_EQ(test, mps_test_send_on(t.conn), t.slow->id);
	mps_test_ack(t.slow, 1);
	KUNIT_EXPECT_EQ(test, mps_test_send_on(t.conn), t.slow->id);
	KUNIT_EXPECT_EQ(test, outside.questions, 1U);
	/* without that subflow, another one carries the data */
	answer(AGENT_KEEP, 0);
	mps_test_rto(t.slow);
	KUNIT_EXPECT_EQ(test, mps_test_send_on(t.conn), t.fast->id);
	KUNIT_EXPECT_EQ(test, outside.questions, 2U);
	KUNIT_EXPECT_EQ(test, le32_to_cpu(outside.question.events),
			(u32)(AGENT_RTO | AGENT_SUBFLOWS));
}

static struct mps_agent real_agent;

static int agent_test_init(struct kunit *test)
{
	real_agent = mps_agent;
	mps_agent.call = answer_call;
	memset(&outside, 0, sizeof(outside));
	return 0;
}

static void agent_test_exit(struct kunit *test)
{
	mps_agent = real_agent;
}

static struct kunit_case agent_cases[] = {
	KUNIT_CASE(agent_sends_on_the_subflow_of_the_answer),
	KUNIT_CASE(agent_shows_what_schedulers_see),
	KUNIT_CASE(agent_without_an_agent_is_minrtt),
	KUNIT_CASE(agent_takes_no_part_of_an_answer),
	KUNIT_CASE(agent_refuses_what_makes_no_sense),
	KUNIT_CASE(agent_delegates_with_parameters),
	KUNIT_CASE(agent_has_room_for_the_state_of_all),
	KUNIT_CASE(agent_asks_at_fixed_times),
	KUNIT_CASE(agent_asks_at_events),
	{}
};

static struct kunit_suite agent_suite = {
	.name		= "agent",
	.init		= agent_test_init,
	.exit		= agent_test_exit,
	.test_cases	= agent_cases,
};

kunit_test_suite(agent_suite);

MODULE_DESCRIPTION("KUnit tests of the MPTCP scheduler agent");
MODULE_LICENSE("GPL");
