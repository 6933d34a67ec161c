// SPDX-License-Identifier: GPL-2.0-only
/* How long a decision takes: of upstream's default scheduler, and of ours.
 *
 * Two subflows of devices that are busy, 64 segments to send; both subflows have
 * room, or the faster one is full, so that some look for a later segment. It tells
 * cycles, the fewest of many rounds, and asserts nothing of them: `mptcplab bench`
 * shows their ratio.
 */

#include <linux/delay.h>
#include "vocabulary.h"

#define ROUNDS			200
#define DECISIONS		100

/* The virtual clock stands still meanwhile. */
static u64 cycles(void)
{
	return __builtin_ia32_rdtsc();
}

static void default_takes_time(struct kunit *test)
{
	struct mptcp_sock *msk = kunit_kzalloc(test, sizeof(*msk), GFP_KERNEL);
	u64 least = U64_MAX, start;
	int i, round;

	if (IS_ENABLED(CONFIG_PROVE_LOCKING))
		kunit_skip(test, "the default scheduler asks whether its socket is locked");
	KUNIT_ASSERT_NOT_NULL(test, msk);
	INIT_LIST_HEAD(&msk->conn_list);
	msk->wnd_end = SZ_1G;
	for (i = 0; i < 2; i++) {
		struct mptcp_subflow_context *ctx;
		struct tcp_sock *tp;

		ctx = kunit_kzalloc(test, sizeof(*ctx), GFP_KERNEL);
		tp = kunit_kzalloc(test, sizeof(*tp), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, ctx);
		KUNIT_ASSERT_NOT_NULL(test, tp);
		ctx->tcp_sock = (struct sock *)tp;
		ctx->tcp_sock->sk_state = TCP_ESTABLISHED;
		ctx->tcp_sock->sk_prot = &tcp_prot;
		ctx->tcp_sock->sk_pacing_rate = 12500000;
		ctx->tcp_sock->sk_sndbuf = SZ_1M;
		rcu_assign_pointer(inet_csk(ctx->tcp_sock)->icsk_ulp_data, ctx);
		sock_net_set(ctx->tcp_sock, &init_net);
		list_add_tail(&ctx->node, &msk->conn_list);
	}
	for (round = 0; round < ROUNDS; round++) {
		start = cycles();
		for (i = 0; i < DECISIONS; i++)
			KUNIT_ASSERT_NOT_NULL(test, mptcp_subflow_get_send(msk));
		least = min(least, cycles() - start);
	}
	kunit_info(test, "decision_time_room: default %llu\n", least / DECISIONS);
}

static void ours_take_time(struct kunit *test, const char *scheduler, bool full)
{
	struct mps_conn *conn = mps_test_conn(test, scheduler);
	/* with a full first one, sttf looks for the 60th segment: windows of 20 and
	 * of 40 bring the others after 30 and 50 ms
	 */
	struct mps_subflow *near = mps_test_subflow(conn, .srtt_us = 20000, .commd_us = 10000);
	struct mps_subflow *far = mps_test_subflow(conn, .srtt_us = 120000, .commd_us = 60000);
	struct net_device *devices[] = {
		mps_test_device(near, 1, true), mps_test_device(far, 1, true),
	};
	u64 least = U64_MAX, start;
	struct mps_segment *seg;
	int i, round;

	mps_test_unsent_pkts(conn, 64);
	/* each has had an ACK */
	mps_test_ack(near, 0);
	mps_test_ack(far, 0);
	if (full)
		mps_test_fill(near);
	/* both are busy, for those that want to know how they send */
	for (i = 0; i < ARRAY_SIZE(devices); i++)
		mps_test_device_queue(devices[i], 0, SZ_64K, 0);
	mps_test_decide(conn);
	fsleep(1000);
	for (i = 0; i < ARRAY_SIZE(devices); i++)
		mps_test_device_queue(devices[i], 0, SZ_64K, SZ_32K);
	for (round = 0; round < ROUNDS; round++) {
		start = cycles();
		for (i = 0; i < DECISIONS; i++) {
			struct mps_pick pick = {};

			if (conn_core(conn)->ops->next_segment(conn, &pick))
				KUNIT_ASSERT_NULL(test, mps_check_pick(conn, &pick, &seg));
			else
				KUNIT_ASSERT_TRUE(test, full);
		}
		least = min(least, cycles() - start);
	}
	kunit_info(test, "decision_time%s: %s %llu\n", full ? "_full" : "_room", scheduler,
		   least / DECISIONS);
}

static void both_have_room(struct kunit *test)
{
	const struct mps_ops *ops;
	u32 n;

	mps_test_for_each_scheduler(ops, n)
		ours_take_time(test, ops->name, false);
}

static void the_faster_one_is_full(struct kunit *test)
{
	const struct mps_ops *ops;
	u32 n;

	mps_test_for_each_scheduler(ops, n)
		ours_take_time(test, ops->name, true);
}

/* An ACK before each decision, and a unit begins: video looks whether all are in time. */
static void look_at_units(struct kunit *test, u64 deadline_us, const char *state)
{
	struct mps_conn *conn = mps_test_conn(test, "video");
	u64 deadline_ns = mps_clock_ns() + deadline_us * NSEC_PER_USEC;
	struct mps_subflow *subflow;
	u64 least = U64_MAX, start;
	int i, round;

	subflow = mps_test_subflow(conn, .srtt_us = 20000, .ssthresh_pkts = 10,
				   .in_flight_pkts = 9);
	mps_test_subflow(conn, .srtt_us = 40000, .ssthresh_pkts = 10, .in_flight_pkts = 9);
	for (i = 1; i <= 16; i++)
		mps_test_unit(conn, 4, .id = i, .importance = i % 3, .deadline_ns = deadline_ns);
	for (round = 0; round < ROUNDS; round++) {
		start = cycles();
		for (i = 0; i < DECISIONS; i++) {
			struct mps_pick pick = {};

			mps_test_ack(subflow, 0);
			KUNIT_ASSERT_TRUE(test, conn_core(conn)->ops->next_segment(conn, &pick));
			KUNIT_ASSERT_EQ(test, pick.kind, MPS_NEW);
		}
		least = min(least, cycles() - start);
	}
	kunit_info(test, "decision_time_%s: video %llu\n", state, least / DECISIONS);
}

/* 64 segments of 1448 bytes, at 10 in 20 ms and 10 in 40 ms, which count from 30 and 60 ms
 * on: they take 125 ms, and two segments less, for which there is room, 123. What is in
 * time because of that room is looked at each time.
 */
static void looking_at_units_takes_time(struct kunit *test)
{
	look_at_units(test, 1000000, "units_in_time");
	look_at_units(test, 133000, "units");
	look_at_units(test, 124000, "units_each_time");
}

static struct kunit_case decision_time_cases[] = {
	KUNIT_CASE(default_takes_time),
	KUNIT_CASE(both_have_room),
	KUNIT_CASE(the_faster_one_is_full),
	KUNIT_CASE(looking_at_units_takes_time),
	{}
};

static struct kunit_suite decision_time_suite = {
	.name		= "decision_time",
	.test_cases	= decision_time_cases,
};

kunit_test_suite(decision_time_suite);

MODULE_DESCRIPTION("KUnit: the time of a decision");
MODULE_LICENSE("GPL");
