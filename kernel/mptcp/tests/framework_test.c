// SPDX-License-Identifier: GPL-2.0-only
/* What the framework promises to schedulers: registration, picks that are
 * refused, the lists of segments, and what several schedulers have in common.
 */

#include "vocabulary.h"

static bool always_wait(struct mps_conn *conn, struct mps_pick *pick)
{
	return false;
}

static const struct mps_ops waits = {
	.next_segment	= always_wait,
	.name		= "test_waits",
};

/* --- registration */

static int register_for_a_moment(const struct mps_ops *description)
{
	struct mps_ops ops = *description;
	int err;

	ops.owner = THIS_MODULE;
	err = mps_register(&ops);
	if (!err)
		mps_unregister(&ops);
	return err;
}

static void a_scheduler_is_found_while_it_is_registered(struct kunit *test)
{
	static struct mps_ops ops;

	ops = waits;
	ops.owner = THIS_MODULE;
	KUNIT_ASSERT_EQ(test, mps_register(&ops), 0);
	KUNIT_EXPECT_PTR_EQ(test, mps_find("test_waits"), (const struct mps_ops *)&ops);
	mps_unregister(&ops);
	KUNIT_EXPECT_NULL(test, mps_find("test_waits"));
}

static void the_default_scheduler_of_linux_is_none_of_ours(struct kunit *test)
{
	KUNIT_EXPECT_NULL(test, mps_find("default"));
}

static void registration_refuses_a_scheduler_without_next_segment(struct kunit *test)
{
	static const struct mps_ops ops = { .name = "test_none" };

	KUNIT_EXPECT_EQ(test, register_for_a_moment(&ops), -EINVAL);
}

static void registration_refuses_a_scheduler_without_a_name(struct kunit *test)
{
	struct mps_ops ops = waits;

	ops.name[0] = '\0';
	KUNIT_EXPECT_EQ(test, register_for_a_moment(&ops), -EINVAL);
	memset(ops.name, 'x', sizeof(ops.name));
	KUNIT_EXPECT_EQ(test, register_for_a_moment(&ops), -EINVAL);
}

static void registration_refuses_a_name_that_a_sysctl_cannot_have(struct kunit *test)
{
	static const char * const names[] = { "a/b", "a.b", "a b", "a\n", "a%s", "a,b", "a:b",
					      "a=b", "\xe4" };
	int i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		struct mps_param param = MPS_BOOL(names[i], 0, "");
		struct mps_ops ops = waits;

		ops.params = &param;
		ops.num_params = 1;
		KUNIT_EXPECT_EQ_MSG(test, register_for_a_moment(&ops), -EINVAL, "%d", i);
		ops.num_params = 0;
		ops.params = NULL;
		strscpy(ops.name, names[i]);
		KUNIT_EXPECT_EQ_MSG(test, register_for_a_moment(&ops), -EINVAL, "%d", i);
	}
}

static void registration_refuses_another_owner_than_its_module(struct kunit *test)
{
	static struct mps_ops ops;

	ops = waits;
	ops.owner = NULL;
	KUNIT_EXPECT_EQ(test, mps_register(&ops), -EINVAL);
	/* also if its code is the kernel's */
	ops.next_segment = mps_find("first")->next_segment;
	KUNIT_EXPECT_EQ(test, mps_register(&ops), -EINVAL);
	ops.owner = THIS_MODULE;
	KUNIT_EXPECT_EQ(test, mps_register(&ops), 0);
	mps_unregister(&ops);
}

static void registration_refuses_more_state_than_fits(struct kunit *test)
{
	struct mps_ops ops = waits;

	ops.conn_size = MPS_STATE_MAX;
	ops.subflow_size = MPS_STATE_MAX;
	KUNIT_EXPECT_EQ(test, register_for_a_moment(&ops), 0);
	ops.conn_size = MPS_STATE_MAX + 1;
	KUNIT_EXPECT_EQ(test, register_for_a_moment(&ops), -EINVAL);
	ops.conn_size = (size_t)1 << 40;
	KUNIT_EXPECT_EQ(test, register_for_a_moment(&ops), -EINVAL);
	ops.conn_size = 0;
	ops.subflow_size = SIZE_MAX;
	KUNIT_EXPECT_EQ(test, register_for_a_moment(&ops), -EINVAL);
}

static void registration_refuses_a_name_that_is_taken(struct kunit *test)
{
	struct mps_ops ops = waits;

	strscpy(ops.name, "roundrobin");
	KUNIT_EXPECT_EQ(test, register_for_a_moment(&ops), -EEXIST);
	/* one that does not heed that it was refused takes no other away */
	mps_unregister(&ops);
	KUNIT_EXPECT_NOT_NULL(test, mps_find("roundrobin"));
	strscpy(ops.name, "default");
	KUNIT_EXPECT_EQ(test, register_for_a_moment(&ops), -EEXIST);
}

static void registration_refuses_parameters_that_make_no_sense(struct kunit *test)
{
	static const struct mps_param good = MPS_UINT("good", 2, 4, 3, "things", "a number");
	struct mps_param params[MPS_PARAMS_MAX + 1];
	struct mps_ops ops = waits;

	ops.params = params;
	ops.num_params = 1;
	params[0] = good;
	KUNIT_EXPECT_EQ(test, register_for_a_moment(&ops), 0);
	params[0].def = 1;
	KUNIT_EXPECT_EQ_MSG(test, register_for_a_moment(&ops), -EINVAL, "below the least");
	params[0].def = 5;
	KUNIT_EXPECT_EQ_MSG(test, register_for_a_moment(&ops), -EINVAL, "above the greatest");
	params[0] = good;
	params[0].name = NULL;
	KUNIT_EXPECT_EQ_MSG(test, register_for_a_moment(&ops), -EINVAL, "without a name");
	params[0].name = "";
	KUNIT_EXPECT_EQ_MSG(test, register_for_a_moment(&ops), -EINVAL, "an empty name");
	params[0] = good;
	params[0].unit = NULL;
	KUNIT_EXPECT_EQ_MSG(test, register_for_a_moment(&ops), -EINVAL, "without a unit");
	params[0] = good;
	params[0].meaning = NULL;
	KUNIT_EXPECT_EQ_MSG(test, register_for_a_moment(&ops), -EINVAL, "without a meaning");
	params[0] = good;
	params[0].min = 5;
	KUNIT_EXPECT_EQ_MSG(test, register_for_a_moment(&ops), -EINVAL, "no value");
	params[0] = good;
	params[1] = good;
	ops.num_params = 2;
	KUNIT_EXPECT_EQ_MSG(test, register_for_a_moment(&ops), -EINVAL, "twice the same name");
	params[1].name = "other";
	KUNIT_EXPECT_EQ(test, register_for_a_moment(&ops), 0);
	params[1].def = 0;
	KUNIT_EXPECT_EQ_MSG(test, register_for_a_moment(&ops), -EINVAL, "the second one");
	ops.num_params = ARRAY_SIZE(params);
	KUNIT_EXPECT_EQ_MSG(test, register_for_a_moment(&ops), -EINVAL, "too many");
	ops.num_params = 0;
	KUNIT_EXPECT_EQ_MSG(test, register_for_a_moment(&ops), -EINVAL, "a table without a number");
	ops.params = NULL;
	ops.num_params = 1;
	KUNIT_EXPECT_EQ_MSG(test, register_for_a_moment(&ops), -EINVAL, "a number without a table");
	/* its directory of sysctls would be the file net.mptcp.enabled */
	ops.params = &good;
	strscpy(ops.name, "enabled");
	KUNIT_EXPECT_EQ_MSG(test, register_for_a_moment(&ops), -ENOMEM, "a name of a sysctl");
}

/* --- picks */

static const char *refused(struct mps_conn *conn, enum mps_kind kind,
			   struct mps_subflow *subflow, u64 seq)
{
	struct mps_pick pick = { .subflow = subflow, .seq = seq, .kind = kind };
	struct mps_segment *seg;

	return mps_check_pick(conn, &pick, &seg);
}

#define EXPECT_GOOD(_test, ...)		KUNIT_EXPECT_NULL(_test, refused(__VA_ARGS__))
#define EXPECT_REFUSED(_test, ...)	KUNIT_EXPECT_NOT_NULL(_test, refused(__VA_ARGS__))

static void picks_that_make_sense_are_good(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *two = mps_test_subflow(conn);
	struct mps_segment *sent = mps_test_in_flight(conn, MSS, one);
	struct mps_segment *head = mps_test_unsent(conn, MSS);
	struct mps_segment *behind = mps_test_unsent(conn, MSS);

	mps_test_reinject(conn, sent);
	EXPECT_GOOD(test, conn, MPS_NEW, one, mps_seq(conn, head));
	EXPECT_GOOD(test, conn, MPS_NEW, two, mps_seq(conn, behind));
	EXPECT_GOOD(test, conn, MPS_REINJECTION, two, mps_seq(conn, sent));
	EXPECT_GOOD(test, conn, MPS_DUPLICATE, two, mps_seq(conn, sent));
	/* a full window is the scheduler's affair, and TCP keeps to it */
	mps_test_fill(two);
	EXPECT_GOOD(test, conn, MPS_NEW, two, mps_seq(conn, head));
}

static void picks_of_a_subflow_that_cannot_carry_data_are_refused(struct kunit *test)
{
	struct mps_conn *other = mps_test_conn_of(test, &waits);
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *closed = mps_test_subflow(conn);
	u64 seq = mps_seq(conn, mps_test_unsent(conn, MSS));

	mps_test_close(closed);
	EXPECT_REFUSED(test, conn, MPS_NEW, NULL, seq);
	EXPECT_REFUSED(test, conn, MPS_NEW, closed, seq);
	EXPECT_REFUSED(test, conn, MPS_NEW, mps_test_subflow(other), seq);
	EXPECT_GOOD(test, conn, MPS_NEW, one, seq);
	mps_test_usable(one, false);
	EXPECT_REFUSED(test, conn, MPS_NEW, one, seq);
}

static void picks_of_a_segment_that_is_not_there_are_refused(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *two = mps_test_subflow(conn);
	struct mps_segment *acked = mps_test_in_flight(conn, MSS, one);
	struct mps_segment *sent = mps_test_in_flight(conn, MSS, one);
	struct mps_segment *head = mps_test_unsent(conn, MSS);
	u64 acked_seq = mps_seq(conn, acked);
	int kind;

	mps_test_acked(conn, acked);
	for (kind = MPS_NEW; kind <= MPS_DUPLICATE; kind++) {
		EXPECT_REFUSED(test, conn, kind, two, acked_seq);
		EXPECT_REFUSED(test, conn, kind, two, mps_seq(conn, head) + 1);
		EXPECT_REFUSED(test, conn, kind, two, mps_seq(conn, head) + MSS);
	}
	EXPECT_REFUSED(test, conn, MPS_NEW, two, mps_seq(conn, sent));
	EXPECT_REFUSED(test, conn, MPS_REINJECTION, two, mps_seq(conn, sent));
	EXPECT_REFUSED(test, conn, MPS_REINJECTION, two, mps_seq(conn, head));
	EXPECT_REFUSED(test, conn, MPS_DUPLICATE, two, mps_seq(conn, head));
}

static void duplicates_on_a_subflow_that_carried_the_segment_are_refused(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *two = mps_test_subflow(conn);
	struct mps_segment *sent = mps_test_in_flight(conn, MSS, one);

	EXPECT_REFUSED(test, conn, MPS_DUPLICATE, one, mps_seq(conn, sent));
	EXPECT_GOOD(test, conn, MPS_DUPLICATE, two, mps_seq(conn, sent));
	mps_test_sent(conn, sent, two);
	EXPECT_REFUSED(test, conn, MPS_DUPLICATE, two, mps_seq(conn, sent));
}

static void picks_of_no_kind_are_refused(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *one = mps_test_subflow(conn);
	u64 seq = mps_seq(conn, mps_test_unsent(conn, MSS));

	EXPECT_REFUSED(test, conn, 0, one, seq);
	EXPECT_REFUSED(test, conn, MPS_DUPLICATE + 1, one, seq);
}

static void the_number_0_of_a_second_connection_is_the_first_subflow(struct kunit *test)
{
	struct mptcp_subflow_context *ctx = kunit_kzalloc(test, sizeof(*ctx), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	KUNIT_EXPECT_EQ(test, mps_id_of(ctx), 1);
	for (ctx->subflow_id = 1; ctx->subflow_id < 4; ctx->subflow_id++)
		KUNIT_EXPECT_EQ(test, mps_id_of(ctx), ctx->subflow_id);
}

/* --- segments */

static void unsent_segments_are_listed_in_order(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_segment *a = mps_test_unsent(conn, MSS);
	struct mps_segment *b = mps_test_unsent(conn, 10);
	struct mps_segment *c = mps_test_unsent(conn, MSS);

	KUNIT_EXPECT_PTR_EQ(test, mps_head(conn), a);
	KUNIT_EXPECT_PTR_EQ(test, mps_next_unsent(conn, a), b);
	/* sent before its turn */
	mps_test_sent(conn, b, one);
	KUNIT_EXPECT_PTR_EQ(test, mps_head(conn), a);
	KUNIT_EXPECT_PTR_EQ(test, mps_next_unsent(conn, a), c);
	KUNIT_EXPECT_NULL(test, mps_next_unsent(conn, c));
	KUNIT_EXPECT_EQ(test, mps_seq(conn, c), (u64)MSS + 10);
	KUNIT_EXPECT_EQ(test, mps_len(b), 10U);
}

static void unsent_segments_are_counted_from_the_first(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_segment *segs[10];
	int i;

	KUNIT_EXPECT_NULL(test, mps_nth_unsent(conn, 0));
	for (i = 0; i < ARRAY_SIZE(segs); i++)
		segs[i] = mps_test_unsent(conn, MSS);
	KUNIT_EXPECT_PTR_EQ(test, mps_nth_unsent(conn, 6), segs[6]);
	/* from there, there and back, and from the first */
	KUNIT_EXPECT_PTR_EQ(test, mps_nth_unsent(conn, 9), segs[9]);
	KUNIT_EXPECT_PTR_EQ(test, mps_nth_unsent(conn, 5), segs[5]);
	KUNIT_EXPECT_PTR_EQ(test, mps_nth_unsent(conn, 1), segs[1]);
	KUNIT_EXPECT_NULL(test, mps_nth_unsent(conn, 10));
	/* without one before it, itself, and one behind it */
	KUNIT_EXPECT_PTR_EQ(test, mps_nth_unsent(conn, 6), segs[6]);
	mps_test_sent(conn, segs[2], one);
	KUNIT_EXPECT_PTR_EQ(test, mps_nth_unsent(conn, 5), segs[6]);
	mps_test_sent(conn, segs[6], one);
	KUNIT_EXPECT_PTR_EQ(test, mps_nth_unsent(conn, 5), segs[7]);
	mps_test_sent(conn, segs[8], one);
	KUNIT_EXPECT_PTR_EQ(test, mps_nth_unsent(conn, 5), segs[7]);
	KUNIT_EXPECT_PTR_EQ(test, mps_nth_unsent(conn, 6), segs[9]);
	KUNIT_EXPECT_NULL(test, mps_nth_unsent(conn, 7));
	/* the last one, which was found last */
	mps_test_sent(conn, segs[9], one);
	KUNIT_EXPECT_NULL(test, mps_nth_unsent(conn, 6));
	KUNIT_EXPECT_PTR_EQ(test, mps_nth_unsent(conn, 0), segs[0]);
	/* new ones come behind */
	segs[9] = mps_test_unsent(conn, MSS);
	KUNIT_EXPECT_PTR_EQ(test, mps_nth_unsent(conn, 6), segs[9]);
}

static void a_short_last_segment_waits_while_a_short_one_is_on_its_way(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_segment *full = mps_test_unsent(conn, MSS);
	struct mps_segment *last = mps_test_unsent(conn, 20);

	KUNIT_EXPECT_PTR_EQ(test, mps_next_unsent(conn, full), last);
	/* as if the last byte before them had ended a short one */
	conn_core(conn)->small_end = conn_core(conn)->base_seq + 1;
	KUNIT_EXPECT_PTR_EQ(test, mps_head(conn), full);
	KUNIT_EXPECT_NULL(test, mps_next_unsent(conn, full));
	mps_test_sent(conn, full, one);
	KUNIT_EXPECT_NULL(test, mps_head(conn));

	conn_core(conn)->msk->nodelay = true;
	KUNIT_EXPECT_PTR_EQ(test, mps_head(conn), last);
	conn_core(conn)->msk->nodelay = false;
	conn->closing = true;
	KUNIT_EXPECT_PTR_EQ(test, mps_head(conn), last);
	conn->closing = false;
	KUNIT_EXPECT_NULL(test, mps_head(conn));
	/* there is more */
	mps_test_unsent(conn, 10);
	KUNIT_EXPECT_PTR_EQ(test, mps_head(conn), last);
	/* the short one has arrived */
	mps_test_sent(conn, last, one);
	KUNIT_EXPECT_NULL(test, mps_head(conn));
	mps_test_acked(conn, full);
	KUNIT_EXPECT_NOT_NULL(test, mps_head(conn));
}

/* What is behind it, or a part of it, may have left first: no data would ever end the wait. */
static void a_segment_that_can_grow_no_more_does_not_wait(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_segment *first = mps_test_unsent(conn, 20);
	struct mps_segment *second = mps_test_unsent(conn, 30);

	mps_test_sent(conn, second, one);
	conn_core(conn)->small_end = second->frag.data_seq + 30;
	KUNIT_EXPECT_PTR_EQ(test, mps_head(conn), first);

	second = mps_test_unsent(conn, 40);
	KUNIT_EXPECT_NULL(test, mps_next_unsent(conn, first));
	mps_sent_part(second, one, 1);
	KUNIT_EXPECT_PTR_EQ(test, mps_next_unsent(conn, first), second);
	conn_core(conn)->cork_end = conn_core(conn)->base_seq;
	((struct sock *)conn_core(conn)->msk)->sk_sndbuf = 1;
	conn_core(conn)->msk->cork = true;
	KUNIT_EXPECT_PTR_EQ(test, mps_next_unsent(conn, first), second);
}

static void tcp_cork_holds_a_short_last_segment_until_it_is_let_go(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_segment *full = mps_test_unsent(conn, MSS);
	struct mps_segment *last = mps_test_unsent(conn, 20);
	struct mptcp_sock *msk = conn_core(conn)->msk;

	conn_core(conn)->cork_end = conn_core(conn)->base_seq;
	((struct sock *)msk)->sk_sndbuf = 1;
	msk->mps = conn;
	msk->cork = true;
	/* nothing is on its way: without it, both may leave */
	KUNIT_EXPECT_PTR_EQ(test, mps_head(conn), full);
	KUNIT_EXPECT_NULL(test, mps_next_unsent(conn, full));
	msk->nodelay = true;
	KUNIT_EXPECT_NULL(test, mps_next_unsent(conn, full));
	msk->nodelay = false;

	conn->closing = true;
	KUNIT_EXPECT_PTR_EQ(test, mps_next_unsent(conn, full), last);
	conn->closing = false;
	/* nothing more can be written */
	((struct sock *)msk)->sk_wmem_queued = 1;
	KUNIT_EXPECT_PTR_EQ(test, mps_next_unsent(conn, full), last);
	((struct sock *)msk)->sk_wmem_queued = 0;
	KUNIT_EXPECT_NULL(test, mps_next_unsent(conn, full));

	/* let go, it stays so; what is written from then on is held again */
	msk->write_seq = last->frag.data_seq + 20;
	mps_uncork(msk);
	KUNIT_EXPECT_PTR_EQ(test, mps_next_unsent(conn, full), last);
	KUNIT_EXPECT_NULL(test, mps_next_unsent(conn, mps_test_unsent(conn, 20)));
	KUNIT_EXPECT_TRUE(test, mps_is_held(conn, mps_test_unsent(conn, 20)));
	msk->cork = false;
	KUNIT_EXPECT_PTR_EQ(test, mps_head(conn), full);
	KUNIT_EXPECT_NOT_NULL(test, mps_next_unsent(conn, last));
}

static void sent_segments_are_listed_in_order_without_the_gaps(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_segment *a = mps_test_unsent(conn, MSS);
	struct mps_segment *b = mps_test_unsent(conn, MSS);
	struct mps_segment *c = mps_test_unsent(conn, MSS);
	struct mps_segment *d = mps_test_unsent(conn, MSS);

	KUNIT_EXPECT_NULL(test, mps_oldest_unacked(conn));
	mps_test_sent(conn, d, one);
	mps_test_sent(conn, b, one);
	KUNIT_EXPECT_PTR_EQ(test, mps_oldest_unacked(conn), b);
	KUNIT_EXPECT_PTR_EQ(test, mps_next_unacked(conn, b), d);
	KUNIT_EXPECT_NULL(test, mps_next_unacked(conn, d));
	KUNIT_EXPECT_TRUE(test, mps_carried_by(b, one));
	KUNIT_EXPECT_FALSE(test, mps_carried_by(c, one));
	mps_test_sent(conn, a, one);
	mps_test_acked(conn, b);
	KUNIT_EXPECT_PTR_EQ(test, mps_oldest_unacked(conn), d);
}

static void the_oldest_missing_segment_moves_with_what_is_sent_and_acknowledged(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *two = mps_test_subflow(conn);
	struct mps_segment *a = mps_test_in_flight(conn, MSS, one);
	struct mps_segment *b = mps_test_in_flight(conn, MSS, two);
	struct mps_segment *c = mps_test_in_flight(conn, MSS, one);
	struct mps_segment *d = mps_test_unsent(conn, MSS);

	KUNIT_EXPECT_PTR_EQ(test, mps_oldest_missing(conn, one), b);
	KUNIT_EXPECT_PTR_EQ(test, mps_oldest_missing(conn, two), a);
	mps_test_sent(conn, a, two);
	KUNIT_EXPECT_PTR_EQ(test, mps_oldest_missing(conn, two), c);
	mps_test_sent(conn, b, one);
	KUNIT_EXPECT_NULL(test, mps_oldest_missing(conn, one));
	/* both stand in what goes now */
	mps_test_acked(conn, b);
	KUNIT_EXPECT_PTR_EQ(test, mps_oldest_missing(conn, two), c);
	KUNIT_EXPECT_NULL(test, mps_oldest_missing(conn, one));
	mps_test_sent(conn, d, two);
	KUNIT_EXPECT_PTR_EQ(test, mps_oldest_missing(conn, one), d);
	KUNIT_EXPECT_PTR_EQ(test, mps_oldest_missing(conn, two), c);
}

static void a_segment_fits_the_window_up_to_its_last_byte(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_segment *a = mps_test_unsent(conn, MSS);
	struct mps_segment *b = mps_test_unsent(conn, MSS);

	conn->window_bytes = 2 * MSS - 1;
	mps_test_update(conn);
	KUNIT_EXPECT_TRUE(test, mps_fits_window(conn, a));
	KUNIT_EXPECT_FALSE(test, mps_fits_window(conn, b));
	conn->window_bytes = 2 * MSS;
	mps_test_update(conn);
	KUNIT_EXPECT_TRUE(test, mps_fits_window(conn, b));
}

/* --- one-way delays */

/* An ACK of all up to `una` comes now, which left the peer at `theirs_ms` of its
 * clock; the last that it acknowledges was sent at `sent_ms` of ours.
 */
static void acked(struct mps_subflow *subflow, u32 una, u32 now_ms, u32 theirs_ms, u32 sent_ms)
{
	struct tcp_sock *tp = tcp_sk(subflow_core(subflow)->ssk);

	tp->snd_una = una;
	tp->tcp_mstamp = (u64)now_ms * USEC_PER_MSEC;
	tp->rx_opt.saw_tstamp = 1;
	tp->rx_opt.rcv_tsval = theirs_ms;
	tp->rack.mstamp = (u64)sent_ms * USEC_PER_MSEC;
	mps_read_timestamps(subflow);
}

static void one_way_delays_differ_as_those_of_the_paths_do(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *near = mps_test_subflow(conn);
	struct mps_subflow *far = mps_test_subflow(conn);
	/* the peer's clock is ahead, and about to wrap around */
	u32 ahead = U32_MAX - 1020;

	/* there in 10 ms and back in 30; there in 25 and back in 5 */
	acked(near, 1, 1040, ahead + 1010, 1000);
	acked(far, 1, 1032, ahead + 1027, 1002);
	KUNIT_EXPECT_EQ(test, subflow_core(far)->owd_sample_us,
			subflow_core(near)->owd_sample_us + 15000U);
	/* what is counted from is that it came back in no time: 30 ms more */
	KUNIT_EXPECT_EQ(test, subflow_core(near)->owd_sample_us, 30000U + 10000U + 2000U);
	KUNIT_EXPECT_TRUE(test, mps_delays_comparable(conn));
}

static void an_ack_of_nothing_new_is_no_sample(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *subflow = mps_test_subflow(conn);

	acked(subflow, 1, 1040, 5010, 1000);
	acked(subflow, 1, 2040, 6010, 1000);
	KUNIT_EXPECT_EQ(test, subflow_core(subflow)->clock_most_ms, 4010U);
	/* and one without a timestamp none either */
	tcp_sk(subflow_core(subflow)->ssk)->rx_opt.saw_tstamp = 0;
	tcp_sk(subflow_core(subflow)->ssk)->rack.mstamp += USEC_PER_SEC;
	mps_read_timestamps(subflow);
	KUNIT_EXPECT_EQ(test, subflow_core(subflow)->clock_most_ms, 4010U);
}

static void until_something_is_acknowledged_the_handshake_is_the_sample(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *subflow = mps_test_subflow(conn);
	struct mps_subflow *later = mps_test_subflow(conn);
	struct mps_subflow_core *sub = subflow_core(subflow);
	struct tcp_sock *tp = tcp_sk(sub->ssk);

	/* there in 10 ms and back in 30; it acknowledges what left at 1000 */
	tp->tcp_mstamp = 1040 * USEC_PER_MSEC;
	tp->rx_opt.saw_tstamp = 1;
	tp->rx_opt.rcv_tsval = 5010;
	tp->rx_opt.rcv_tsecr = 1000;
	mps_read_timestamps(subflow);
	KUNIT_EXPECT_FALSE_MSG(test, sub->clock_known, "nothing is acknowledged");
	sub->handshake_unread = true;
	mps_read_handshake(subflow);
	KUNIT_EXPECT_EQ(test, sub->clock_least_ms, 3970U);
	KUNIT_EXPECT_EQ(test, sub->clock_most_ms, 4010U);
	KUNIT_EXPECT_EQ(test, subflow->owd_us, 42000U);
	/* once */
	tp->rx_opt.rcv_tsval = 6010;
	mps_read_handshake(subflow);
	KUNIT_EXPECT_EQ(test, sub->clock_most_ms, 4010U);
	/* too late, and without a timestamp */
	acked(later, 1, 1032, 5027, 1002);
	tcp_sk(subflow_core(later)->ssk)->rx_opt.rcv_tsecr = 900;
	subflow_core(later)->handshake_unread = true;
	mps_read_handshake(later);
	KUNIT_EXPECT_EQ(test, subflow_core(later)->clock_most_ms, 4025U);
	sub->clock_known = false;
	sub->handshake_unread = true;
	tp->rx_opt.saw_tstamp = 0;
	mps_read_handshake(subflow);
	KUNIT_EXPECT_FALSE(test, sub->clock_known);
}

static void impossible_timestamps_make_no_impossible_delay(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *subflow = mps_test_subflow(conn);

	acked(subflow, 1, 1000, 1000, 1000);
	/* it is there before it was sent; it takes 24 days */
	acked(subflow, 2, 1000, 1000, 9000);
	KUNIT_EXPECT_EQ(test, subflow_core(subflow)->owd_sample_us, 1U);
	acked(subflow, 3, 1000, S32_MAX, 0);
	KUNIT_EXPECT_EQ(test, subflow_core(subflow)->owd_sample_us, S32_MAX / 1000U * 1000U);
}

static void communication_delays_begin_with_the_first_time_that_it_is_sent(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *subflow = mps_test_subflow(conn);

	acked(subflow, 100, 1040, 1010, 1000);
	/* sent at 2000, lost, sent again at 2200, there at 2210 */
	subflow_core(subflow)->timing = true;
	subflow_core(subflow)->timed_end = 300;
	subflow_core(subflow)->timed_us = 2000 * USEC_PER_MSEC;
	acked(subflow, 200, 2040, 2010, 2000);
	KUNIT_EXPECT_EQ(test, subflow_core(subflow)->commd_sample_us, 0U);
	acked(subflow, 300, 2240, 2210, 2200);
	/* 210 ms, and the 30 ms back of the first ACK, and the margin; a packet took 10 */
	KUNIT_EXPECT_EQ(test, subflow_core(subflow)->commd_sample_us, 242000U);
	KUNIT_EXPECT_EQ(test, subflow_core(subflow)->owd_sample_us, 42000U);
	KUNIT_EXPECT_FALSE(test, subflow_core(subflow)->timing);
	/* the next takes 10 ms: an eighth of the difference */
	subflow_core(subflow)->timing = true;
	subflow_core(subflow)->timed_end = 400;
	subflow_core(subflow)->timed_us = 3000 * USEC_PER_MSEC;
	acked(subflow, 400, 3040, 3010, 3000);
	KUNIT_EXPECT_EQ(test, subflow_core(subflow)->commd_sample_us, 242000U - 200000U / 8);
}

static void clocks_that_differ_by_more_than_round_trips_are_not_compared(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *two = mps_test_subflow(conn);

	KUNIT_EXPECT_TRUE_MSG(test, mps_delays_comparable(conn), "no sample yet");
	mps_test_clock(one, 1000, 1040);
	KUNIT_EXPECT_TRUE_MSG(test, mps_delays_comparable(conn), "of one");
	mps_test_clock(two, 1030, 1200);
	KUNIT_EXPECT_TRUE_MSG(test, mps_delays_comparable(conn), "10 ms are in both");
	/* whole ms: 1 each may be wrong */
	mps_test_clock(two, 1042, 1200);
	KUNIT_EXPECT_TRUE(test, mps_delays_comparable(conn));
	mps_test_clock(two, 1043, 1200);
	KUNIT_EXPECT_FALSE(test, mps_delays_comparable(conn));
	mps_test_clock(two, 900, 997);
	KUNIT_EXPECT_FALSE(test, mps_delays_comparable(conn));
	mps_test_clock(two, 1000 + BIT(31), 1040 + BIT(31));
	KUNIT_EXPECT_FALSE_MSG(test, mps_delays_comparable(conn), "24 days");
	mps_test_usable(two, false);
	KUNIT_EXPECT_TRUE_MSG(test, mps_delays_comparable(conn), "that one is not used");
	mps_test_clock(one, -20, 20);
	mps_test_clock(two, 10, 30);
	mps_test_usable(two, true);
	KUNIT_EXPECT_TRUE_MSG(test, mps_delays_comparable(conn), "around 0");
	subflow_core(two)->has_timestamps = false;
	KUNIT_EXPECT_FALSE_MSG(test, mps_delays_comparable(conn), "without timestamps");
}

/* --- losses */

/* An ACK comes: TCP has sent up to `nxt`, the peer has all up to `una`. */
static void counted(struct mps_subflow *subflow, u32 una, u32 nxt, u32 delivered, u32 lost,
		    u32 retransmitted)
{
	struct tcp_sock *tp = tcp_sk(subflow_core(subflow)->ssk);

	tp->snd_una = una;
	tp->snd_nxt = nxt;
	tp->write_seq = nxt;
	tp->delivered = delivered;
	tp->lost = lost;
	tp->total_retrans = retransmitted;
	mps_snapshot(subflow);
	mps_count_round(subflow);
}

static void losses_are_counted_by_rounds(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *subflow = mps_test_subflow(conn);

	KUNIT_EXPECT_EQ(test, mps_loss_permille(subflow), 0U);
	subflow_core(subflow)->round_empty = true;
	subflow_core(subflow)->round_end = 1000;
	/* nothing is on its way, then 10 packets are: their first ACK ends no round */
	counted(subflow, 1000, 1000, 0, 0, 0);
	counted(subflow, 1100, 2000, 1, 0, 0);
	counted(subflow, 1900, 3000, 9, 0, 0);
	KUNIT_EXPECT_EQ(test, subflow->rounds, 0U);
	counted(subflow, 2000, 3000, 10, 0, 0);
	KUNIT_EXPECT_EQ(test, subflow->rounds, 1U);
	KUNIT_EXPECT_EQ(test, subflow->round_delivered_pkts, 10U);
	/* of the next 10, 2 are lost and sent again, and one of them once more */
	counted(subflow, 2700, 3500, 18, 2, 3);
	KUNIT_EXPECT_EQ(test, subflow->round_lost_pkts, 0U);
	KUNIT_EXPECT_EQ(test, subflow->lost_pkts, 2U);
	counted(subflow, 3200, 4000, 22, 2, 3);
	KUNIT_EXPECT_EQ(test, subflow->rounds, 2U);
	KUNIT_EXPECT_EQ(test, subflow->round_delivered_pkts, 12U);
	KUNIT_EXPECT_EQ(test, subflow->round_lost_pkts, 2U);
	KUNIT_EXPECT_EQ(test, subflow->round_retransmitted_pkts, 3U);
	/* 2 of 14 */
	KUNIT_EXPECT_EQ(test, mps_loss_permille(subflow), 142U);
	/* a round without, which ends with nothing on its way */
	counted(subflow, 4000, 4000, 30, 2, 3);
	KUNIT_EXPECT_EQ(test, mps_loss_permille(subflow), 0U);
	KUNIT_EXPECT_EQ(test, subflow->retransmitted_pkts, 3U);
	counted(subflow, 4000, 4000, 30, 2, 3);
	KUNIT_EXPECT_EQ(test, subflow->rounds, 3U);
}

static void rounds_are_counted_where_numbers_wrap_around(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *subflow = mps_test_subflow(conn);

	subflow_core(subflow)->round_end = U32_MAX - 10;
	subflow_core(subflow)->round_delivered = U32_MAX;
	subflow_core(subflow)->round_lost = U32_MAX;
	counted(subflow, U32_MAX - 10, 90, 3, 0, 0);
	KUNIT_EXPECT_EQ(test, subflow->round_delivered_pkts, 4U);
	KUNIT_EXPECT_EQ(test, subflow->round_lost_pkts, 1U);
	KUNIT_EXPECT_EQ(test, mps_loss_permille(subflow), 200U);
	counted(subflow, 89, 200, 90, 0, 0);
	KUNIT_EXPECT_EQ(test, subflow->rounds, 1U);
	counted(subflow, 90, 200, 91, 0, 0);
	KUNIT_EXPECT_EQ(test, subflow->rounds, 2U);
}

static void a_lost_round_is_a_rate_of_one(struct kunit *test)
{
	struct mps_subflow subflow = { .round_lost_pkts = U32_MAX };

	KUNIT_EXPECT_EQ(test, mps_loss_permille(&subflow), 1000U);
	subflow.round_delivered_pkts = U32_MAX;
	KUNIT_EXPECT_EQ(test, mps_loss_permille(&subflow), 500U);
}

static void what_the_peer_advertises_is_seen(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *subflow = mps_test_subflow(conn);
	struct tcp_sock *tp = tcp_sk(subflow_core(subflow)->ssk);

	tp->snd_wnd = 65536;
	tp->rx_opt.mss_clamp = 1460;
	tp->write_seq = 1000;
	mps_snapshot(subflow);
	KUNIT_EXPECT_EQ(test, subflow->peer_window_bytes, 65536U);
	KUNIT_EXPECT_EQ(test, subflow->peer_mss_bytes, 1460U);
	/* what is left of it is less */
	KUNIT_EXPECT_EQ(test, subflow->window_bytes, 64536U);
}

/* --- reinjection */

static void what_no_usable_subflow_carries_is_reinjected_in_order(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *two = mps_test_subflow(conn);
	struct mps_subflow *three = mps_test_subflow(conn);
	struct mps_segment *a = mps_test_in_flight(conn, MSS, one);
	struct mps_segment *b = mps_test_in_flight(conn, MSS, two);
	struct mps_segment *c = mps_test_in_flight(conn, MSS, one);
	struct mps_segment *d = mps_test_in_flight(conn, MSS, two);
	struct mps_segment *both = mps_test_in_flight(conn, MSS, one);

	mps_test_sent(conn, both, three);
	mps_test_unsent(conn, MSS);
	mps_test_rto(two);
	EXPECT_REINJECTIONS(test, conn, b, d);
	mps_test_close(one);
	EXPECT_REINJECTIONS(test, conn, a, b, c, d);
}

static void nothing_is_reinjected_while_no_subflow_could_take_it(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *two = mps_test_subflow(conn);
	struct mps_segment *a = mps_test_in_flight(conn, MSS, one);

	mps_test_usable(two, false);
	mps_test_rto(one);
	KUNIT_EXPECT_NULL(test, mps_reinjection(conn));
	mps_test_usable(two, true);
	KUNIT_EXPECT_PTR_EQ(test, mps_reinjection(conn), a);
}

static void what_only_a_distrusted_subflow_carries_is_reinjected(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *two = mps_test_subflow(conn, .srtt_us = 50000);
	struct mps_segment *a = mps_test_in_flight(conn, MSS, one);
	struct mps_segment *both = mps_test_in_flight(conn, MSS, one);
	struct mps_segment *other = mps_test_in_flight(conn, MSS, two);

	mps_test_sent(conn, both, two);
	mps_distrust(one, true);
	EXPECT_REINJECTIONS(test, conn, a);
	KUNIT_EXPECT_PTR_EQ(test, mps_lowest_rtt(conn, NULL), two);
	EXPECT_GOOD(test, conn, MPS_DUPLICATE, one, mps_seq(conn, other));

	mps_distrust(one, false);
	EXPECT_REINJECTIONS(test, conn, a);
	KUNIT_EXPECT_PTR_EQ(test, mps_lowest_rtt(conn, NULL), one);
}

static void what_is_sent_on_a_distrusted_subflow_is_reinjected_in_order(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *two = mps_test_subflow(conn);
	struct mps_segment *a, *b, *c;

	mps_distrust(one, true);
	a = mps_test_in_flight(conn, MSS, one);
	b = mps_test_in_flight(conn, MSS, one);
	c = mps_test_in_flight(conn, MSS, one);
	mps_doubt(conn, one, c);
	mps_doubt(conn, one, a);
	mps_doubt(conn, one, b);
	mps_doubt(conn, two, mps_test_in_flight(conn, MSS, two));
	EXPECT_REINJECTIONS(test, conn, a, b, c);
}

static void a_distrusted_subflow_that_is_alone_is_used(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *two = mps_test_subflow(conn);
	struct mps_segment *lost = mps_test_in_flight(conn, MSS, two);
	struct mps_segment *doubted = mps_test_in_flight(conn, MSS, one);

	mps_distrust(one, true);
	mps_test_usable(two, false);
	KUNIT_EXPECT_PTR_EQ(test, mps_lowest_rtt(conn, NULL), one);
	EXPECT_REINJECTIONS(test, conn, lost, doubted);
}

static void the_latest_sent_segment_is_the_last_before_the_first_unsent_one(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_segment *sent, *part;

	KUNIT_EXPECT_NULL(test, mps_latest_sent(conn));
	mps_test_in_flight(conn, MSS, one);
	sent = mps_test_in_flight(conn, MSS, one);
	KUNIT_EXPECT_PTR_EQ(test, mps_latest_sent(conn), sent);
	part = mps_test_unsent(conn, MSS);
	KUNIT_EXPECT_PTR_EQ(test, mps_latest_sent(conn), sent);
	__mps_test_sent(conn, part, one, 100);
	KUNIT_EXPECT_PTR_EQ(test, mps_latest_sent(conn), part);
	__mps_test_sent(conn, part, one, MSS - 100);
	mps_test_acked(conn, part);
	mps_test_unsent(conn, MSS);
	KUNIT_EXPECT_NULL(test, mps_latest_sent(conn));
}

/* Subflows come before anything is written. */
static void numbers_begin_where_the_first_byte_will_be(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mptcp_sock *msk = conn_core(conn)->msk;

	conn_core(conn)->started = false;
	conn_core(conn)->base_seq = 0;
	msk->write_seq = MPS_TEST_BASE_SEQ;
	msk->snd_nxt = MPS_TEST_BASE_SEQ;
	msk->snd_una = MPS_TEST_BASE_SEQ;
	msk->wnd_end = MPS_TEST_BASE_SEQ + SZ_1M;
	mps_refresh(conn, NULL);
	KUNIT_EXPECT_EQ(test, conn->una_seq, 0ULL);
	KUNIT_EXPECT_EQ(test, conn->nxt_seq, 0ULL);
	KUNIT_EXPECT_EQ(test, conn->window_end_seq, (u64)SZ_1M);
}

/* Which may come to nothing, where there is no memory for the packet. */
static void a_segment_is_carried_when_it_has_been_sent_again(struct kunit *test)
{
	struct mptcp_subflow_context *ctx = kunit_kzalloc(test, sizeof(*ctx), GFP_KERNEL);
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *other = mps_test_subflow(conn);
	struct mps_segment *seg = mps_test_in_flight(conn, MSS, one);
	struct mptcp_sock *msk = conn_core(conn)->msk;

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	ctx->mps = other;
	rcu_assign_pointer(inet_csk(subflow_core(other)->ssk)->icsk_ulp_data, ctx);
	msk->mps = conn;
	msk->fully_established = true;
	mps_test_reinject(conn, seg);
	KUNIT_ASSERT_EQ(test, mps_get_subflow(msk, true), 0);
	KUNIT_EXPECT_TRUE(test, ctx->scheduled);
	KUNIT_EXPECT_FALSE(test, mps_carried_by(seg, other));
	KUNIT_EXPECT_PTR_EQ(test, mps_reinjection(conn), seg);
	KUNIT_EXPECT_EQ(test, subflow_core(other)->reinjections, 0U);

	/* a part of it does not take it from the queue, nor keep it from there */
	mps_segment_repeated(msk, &seg->frag, ctx, MSS - 1);
	KUNIT_EXPECT_TRUE(test, mps_carried_by(seg, other));
	KUNIT_EXPECT_PTR_EQ(test, mps_reinjection(conn), seg);
	mps_test_usable(one, false);
	mps_recover(conn);
	KUNIT_EXPECT_PTR_EQ(test, mps_reinjection(conn), seg);
	mps_test_usable(one, true);
	mps_segment_repeated(msk, &seg->frag, ctx, MSS);
	KUNIT_EXPECT_NULL(test, mps_reinjection(conn));
	KUNIT_EXPECT_EQ(test, subflow_core(other)->reinjections, 2U);
}

/* So much of it leaves for a pick, at most `room` bytes: what the framework does after it has
 * asked. Returns how much that is.
 */
static u32 leaves(struct mps_conn *conn, struct mps_segment *seg, struct mps_subflow *subflow,
		  enum mps_kind kind, u32 limit_bytes, u32 room)
{
	const struct mps_pick pick = { .kind = kind, .limit_bytes = limit_bytes };
	u16 begin, end;

	mps_picked_part(seg, &pick, &begin, &end);
	end = begin + min_t(u32, end - begin, room);
	if (kind == MPS_NEW)
		mps_sent_part(seg, subflow, end - begin);
	else
		mps_repeated_part(seg, subflow, kind, begin, end - begin);
	return end - begin;
}

/* as in v0.9x, where only sending and acknowledging take data out of the queue */
static void a_reinjection_stays_when_its_subflow_comes_back(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *two = mps_test_subflow(conn);
	struct mps_segment *a = mps_test_in_flight(conn, MSS, one);
	struct mps_segment *b = mps_test_in_flight(conn, MSS, two);
	struct mps_segment *c = mps_test_in_flight(conn, MSS, one);

	mps_test_rto(one);
	EXPECT_REINJECTIONS(test, conn, a, c);
	KUNIT_EXPECT_EQ(test, leaves(conn, c, two, MPS_REINJECTION, 500, MSS), 500U);
	mps_test_usable(one, true);
	EXPECT_REINJECTIONS(test, conn, a, c);
	/* the other one's data joins it in order, and what it has of a segment leaves anew */
	mps_test_rto(two);
	EXPECT_REINJECTIONS(test, conn, a, b, c);
	KUNIT_EXPECT_EQ(test, leaves(conn, c, one, MPS_REINJECTION, 0, MSS), MSS);
	EXPECT_REINJECTIONS(test, conn, a, b);
}

/* Of each field the least value, the greatest, and those beside them: a pick never sends more
 * than it says, than there is, or nothing.
 */
static void a_limit_never_wraps(struct kunit *test)
{
	static const u32 limits[] = { 0, 1, 2, 0x7fff, 0x8000, 0xfffe, 0xffff, 0x10000, 0x10001,
				      0x7fffffff, 0x80000000, 0xffff0001, 0xfffffffe, 0xffffffff };
	static const u16 lengths[] = { 1, 2, MSS, 0x7fff, 0x8000, 0xfffe, 0xffff };
	static const u8 kinds[] = { MPS_NEW, MPS_REINJECTION, MPS_DUPLICATE };
	int i;

	/* all combinations, i in mixed radix: of what was sent, 4 values */
	for (i = 0; i < ARRAY_SIZE(limits) * ARRAY_SIZE(lengths) * ARRAY_SIZE(kinds) * 4; i++) {
		u32 limit = limits[i % ARRAY_SIZE(limits)];
		int rest = i / ARRAY_SIZE(limits);
		u16 len = lengths[rest % ARRAY_SIZE(lengths)];
		u8 kind = kinds[rest / ARRAY_SIZE(lengths) % ARRAY_SIZE(kinds)];
		const u16 sent[] = { 0, 1, len / 2, len - 1 };
		u16 already = sent[rest / ARRAY_SIZE(lengths) / ARRAY_SIZE(kinds)];
		struct mps_segment seg = { .frag.data_len = len, .frag.already_sent = already };
		const struct mps_pick pick = { .kind = kind, .limit_bytes = limit };
		u16 begin, end, there = kind == MPS_NEW ? len - already : already;

		mps_picked_part(&seg, &pick, &begin, &end);
		KUNIT_ASSERT_EQ(test, begin, kind == MPS_NEW ? already : 0);
		KUNIT_ASSERT_EQ_MSG(test, end - begin, limit ? min_t(u32, limit, there) : there,
				    "kind %d, %u of %u bytes, limit %u", kind, already, len, limit);
	}
}

static void a_reinjection_goes_on_where_it_was_cut_short(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *gone = mps_test_subflow(conn);
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *two = mps_test_subflow(conn);
	struct mps_segment *seg = mps_test_in_flight(conn, MSS, gone);
	int i;

	mps_test_usable(gone, false);
	mps_recover(conn);
	EXPECT_REINJECTIONS(test, conn, seg);
	/* by the limit of the scheduler, and for want of memory */
	KUNIT_EXPECT_EQ(test, leaves(conn, seg, one, MPS_REINJECTION, 500, MSS), 500U);
	KUNIT_EXPECT_EQ(test, leaves(conn, seg, two, MPS_REINJECTION, 0, 300), 300U);
	EXPECT_REINJECTIONS(test, conn, seg);
	mps_recover(conn);
	EXPECT_REINJECTIONS(test, conn, seg);
	/* its beginning is acknowledged meanwhile */
	seg->frag.data_seq += 100;
	seg->frag.data_len -= 100;
	seg->frag.already_sent -= 100;
	KUNIT_EXPECT_EQ(test, leaves(conn, seg, one, MPS_REINJECTION, 0, MSS), MSS - 800U);
	KUNIT_EXPECT_NULL(test, mps_reinjection(conn));
	mps_recover(conn);
	KUNIT_EXPECT_NULL_MSG(test, mps_reinjection(conn), "both are there");
	/* each has a part of it */
	mps_test_usable(two, false);
	mps_recover(conn);
	EXPECT_REINJECTIONS(test, conn, seg);
	KUNIT_EXPECT_EQ(test, leaves(conn, seg, one, MPS_REINJECTION, 0, MSS), MSS - 100U);
	/* and now the one has all of it */
	mps_test_usable(gone, true);
	mps_test_usable(gone, false);
	mps_recover(conn);
	KUNIT_EXPECT_NULL(test, mps_reinjection(conn));

	/* a byte each time comes to an end, too */
	mps_test_usable(one, false);
	mps_test_usable(two, true);
	mps_recover(conn);
	for (i = 0; i < MSS - 100; i++) {
		EXPECT_REINJECTIONS(test, conn, seg);
		KUNIT_ASSERT_EQ(test, leaves(conn, seg, two, MPS_REINJECTION, 1, MSS), 1U);
	}
	KUNIT_EXPECT_NULL(test, mps_reinjection(conn));
}

static void a_reinjection_begins_anew_when_a_part_of_it_is_lost(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *gone = mps_test_subflow(conn);
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *two = mps_test_subflow(conn);
	struct mps_segment *seg = mps_test_in_flight(conn, MSS, gone);

	mps_test_usable(gone, false);
	mps_recover(conn);
	leaves(conn, seg, one, MPS_REINJECTION, 500, MSS);
	mps_test_usable(one, false);
	mps_recover(conn);
	KUNIT_EXPECT_EQ(test, leaves(conn, seg, two, MPS_REINJECTION, 0, MSS), (u32)MSS);
	KUNIT_EXPECT_NULL(test, mps_reinjection(conn));
}

static void more_of_a_segment_that_is_reinjected_is_reinjected_too(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *gone = mps_test_subflow(conn);
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_segment *seg = mps_test_unsent(conn, MSS);

	leaves(conn, seg, gone, MPS_NEW, 1000, MSS);
	mps_test_usable(gone, false);
	mps_recover(conn);
	leaves(conn, seg, one, MPS_REINJECTION, 900, MSS);
	leaves(conn, seg, gone, MPS_NEW, 0, MSS);
	/* the last 100 of the first part, and the second one */
	KUNIT_EXPECT_EQ(test, leaves(conn, seg, one, MPS_REINJECTION, 0, MSS), MSS - 900U);
	KUNIT_EXPECT_NULL(test, mps_reinjection(conn));
}

static void a_part_of_a_duplicate_does_not_make_it_safe(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *two = mps_test_subflow(conn);
	struct mps_segment *part = mps_test_in_flight(conn, MSS, one);
	struct mps_segment *whole = mps_test_in_flight(conn, MSS, one);

	KUNIT_EXPECT_EQ(test, leaves(conn, part, two, MPS_DUPLICATE, 1, MSS), 1U);
	KUNIT_EXPECT_EQ(test, leaves(conn, whole, two, MPS_DUPLICATE, ~0, MSS), (u32)MSS);
	EXPECT_REFUSED(test, conn, MPS_DUPLICATE, two, mps_seq(conn, part));
	mps_test_usable(one, false);
	mps_recover(conn);
	EXPECT_REINJECTIONS(test, conn, part);
}

static void parts_on_a_distrusted_subflow_are_reinjected(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *two = mps_test_subflow(conn);
	struct mps_segment *seg = mps_test_unsent(conn, MSS);

	leaves(conn, seg, one, MPS_NEW, 500, MSS);
	mps_distrust(two, true);
	leaves(conn, seg, two, MPS_NEW, 0, MSS);
	mps_doubt(conn, two, seg);
	EXPECT_REINJECTIONS(test, conn, seg);
}

static void reinjections_leave_in_order_on_the_lowest_rtt(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *gone = mps_test_subflow(conn, .srtt_us = 1000);
	struct mps_subflow *near = mps_test_subflow(conn, .srtt_us = 10000);
	struct mps_subflow *far = mps_test_subflow(conn, .srtt_us = 50000);
	struct mps_segment *a = mps_test_in_flight(conn, MSS, gone);
	struct mps_pick pick;

	KUNIT_EXPECT_FALSE(test, mps_reinject(conn, &pick));
	mps_test_in_flight(conn, MSS, gone);
	mps_test_rto(gone);
	KUNIT_EXPECT_TRUE(test, mps_reinject(conn, &pick));
	KUNIT_EXPECT_PTR_EQ(test, pick.subflow, near);
	KUNIT_EXPECT_EQ(test, pick.seq, mps_seq(conn, a));
	KUNIT_EXPECT_EQ(test, (u32)pick.kind, (u32)MPS_REINJECTION);
	mps_test_fill(near);
	KUNIT_EXPECT_TRUE(test, mps_reinject(conn, &pick));
	KUNIT_EXPECT_PTR_EQ(test, pick.subflow, far);
	mps_test_fill(far);
	KUNIT_EXPECT_FALSE(test, mps_reinject(conn, &pick));
}

/* --- availability */

static void only_a_timeout_makes_a_congestion_state_unavailable(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *subflow = mps_test_subflow(conn);
	u8 state;

	for (state = TCP_CA_Open; state <= TCP_CA_Loss; state++) {
		subflow->ca_state = state;
		KUNIT_EXPECT_EQ(test, mps_available(subflow), state != TCP_CA_Loss);
		KUNIT_EXPECT_EQ(test, mps_in_loss(subflow), state == TCP_CA_Loss);
	}
	subflow->ca_state = TCP_CA_Open;
	subflow->usable = false;
	KUNIT_EXPECT_FALSE(test, mps_available(subflow));
}

static void only_what_is_still_in_this_host_throttles(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *subflow = mps_test_subflow(conn);
	struct sock *ssk = subflow_core(subflow)->ssk;

	/* one more than the bytes */
	refcount_set(&ssk->sk_wmem_alloc, 1 + MSS);
	KUNIT_EXPECT_FALSE(test, mps_throttled(subflow));
	set_bit(TSQ_THROTTLED, &ssk->sk_tsq_flags);
	KUNIT_EXPECT_TRUE(test, mps_throttled(subflow));
	refcount_set(&ssk->sk_wmem_alloc, 1);
	KUNIT_EXPECT_FALSE(test, mps_throttled(subflow));
}

/* Section 1.2 of v0.9x, in its newer form: a queue that fills the window
 * exactly leaves no room.
 */
static void what_is_queued_counts_against_the_congestion_window(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *subflow = mps_test_subflow(conn, .cwnd_pkts = 10);

	subflow->in_flight_pkts = 9;
	KUNIT_EXPECT_TRUE(test, mps_has_room(subflow));
	subflow->in_flight_pkts = 10;
	KUNIT_EXPECT_FALSE(test, mps_has_room(subflow));
	/* more than the window, after it was reduced */
	subflow->in_flight_pkts = 11;
	KUNIT_EXPECT_FALSE(test, mps_has_room(subflow));
	subflow->in_flight_pkts = 8;
	subflow->unsent_bytes = 2 * MSS - 1;
	KUNIT_EXPECT_TRUE(test, mps_has_room(subflow));
	subflow->unsent_bytes = 2 * MSS;
	KUNIT_EXPECT_FALSE(test, mps_has_room(subflow));
}

static void a_huge_congestion_window_does_not_overflow(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	/* 2^29 x 1448 bytes are more than 2^32, and a multiple of it */
	struct mps_subflow *subflow = mps_test_subflow(conn, .cwnd_pkts = 1U << 29);

	subflow->unsent_bytes = 1;
	KUNIT_EXPECT_TRUE(test, mps_has_room(subflow));
}

static void limits_beside_the_congestion_window_are_kept(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *subflow = mps_test_subflow(conn, .cwnd_pkts = 10,
						       .in_flight_pkts = 4);

	mps_set_limit(subflow, 4);
	KUNIT_EXPECT_EQ(test, mps_cwnd(subflow), 4U);
	KUNIT_EXPECT_FALSE(test, mps_available(subflow));
	mps_set_limit(subflow, 5);
	KUNIT_EXPECT_TRUE(test, mps_available(subflow));
	/* never to a standstill */
	mps_set_limit(subflow, 0);
	KUNIT_EXPECT_EQ(test, mps_cwnd(subflow), 1U);
	mps_set_limit(subflow, ~0);
	KUNIT_EXPECT_EQ(test, mps_cwnd(subflow), 10U);
}

static void a_penalty_halves_what_may_be_in_flight(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *subflow = mps_test_subflow(conn, .cwnd_pkts = 20);

	mps_penalise(subflow);
	KUNIT_EXPECT_EQ(test, mps_cwnd(subflow), 10U);
	mps_penalise(subflow);
	KUNIT_EXPECT_EQ(test, mps_cwnd(subflow), 5U);
	KUNIT_EXPECT_EQ(test, subflow->cwnd_pkts, 20U);
	/* the smaller one of both limits counts, and each stays */
	mps_set_limit(subflow, 3);
	KUNIT_EXPECT_EQ(test, mps_cwnd(subflow), 3U);
	mps_set_limit(subflow, ~0);
	KUNIT_EXPECT_EQ(test, mps_cwnd(subflow), 5U);
	mps_penalise(subflow);
	mps_penalise(subflow);
	mps_penalise(subflow);
	KUNIT_EXPECT_EQ(test, mps_cwnd(subflow), 1U);
}

/* The congestion window of TCP is as the scheduler sees it. */
static struct tcp_sock *windows_of(struct mps_subflow *subflow)
{
	struct tcp_sock *tp = tcp_sk(subflow_core(subflow)->ssk);

	tp->snd_cwnd = subflow->cwnd_pkts;
	tp->snd_ssthresh = subflow->ssthresh_pkts;
	return tp;
}

static void a_cut_halves_the_window_and_the_threshold(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *subflow = mps_test_subflow(conn, .cwnd_pkts = 20, .ssthresh_pkts = 20);
	struct tcp_sock *tp = windows_of(subflow);

	mps_halve_cwnd(subflow);
	KUNIT_EXPECT_EQ(test, subflow->cwnd_pkts, 10U);
	KUNIT_EXPECT_EQ(test, subflow->ssthresh_pkts, 10U);
	/* until it is locked, only the scheduler knows */
	KUNIT_EXPECT_EQ(test, tp->snd_cwnd, 20U);
	mps_snapshot(subflow);
	KUNIT_EXPECT_EQ(test, subflow->cwnd_pkts, 10U);
	KUNIT_EXPECT_EQ(test, subflow->ssthresh_pkts, 10U);
	mps_cut_window(subflow);
	KUNIT_EXPECT_EQ(test, tp->snd_cwnd, 10U);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 10U);
	/* once */
	mps_cut_window(subflow);
	mps_snapshot(subflow);
	KUNIT_EXPECT_EQ(test, tp->snd_cwnd, 10U);
	KUNIT_EXPECT_EQ(test, subflow->cwnd_pkts, 10U);
}

static void cuts_that_wait_for_the_lock_are_all_made(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *subflow = mps_test_subflow(conn, .cwnd_pkts = 40, .ssthresh_pkts = 30);
	struct tcp_sock *tp = windows_of(subflow);
	int i;

	mps_halve_cwnd(subflow);
	mps_halve_cwnd(subflow);
	/* an ACK comes before they are made */
	tp->snd_cwnd = 41;
	mps_cut_window(subflow);
	KUNIT_EXPECT_EQ(test, tp->snd_cwnd, 10U);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 7U);
	/* to no less than 1 and 2, however many */
	for (i = 0; i < 300; i++)
		mps_halve_cwnd(subflow);
	mps_cut_window(subflow);
	KUNIT_EXPECT_EQ(test, tp->snd_cwnd, 1U);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 2U);
}

static void a_cut_leaves_the_threshold_of_slow_start(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *subflow = mps_test_subflow(conn, .cwnd_pkts = 20, .ssthresh_pkts = 21);
	struct tcp_sock *tp = windows_of(subflow);

	mps_halve_cwnd(subflow);
	mps_cut_window(subflow);
	KUNIT_EXPECT_EQ(test, tp->snd_cwnd, 10U);
	KUNIT_EXPECT_EQ(test, tp->snd_ssthresh, 21U);
}

static void a_cut_that_comes_too_late_is_none(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *subflow = mps_test_subflow(conn, .cwnd_pkts = 20, .ssthresh_pkts = 20);
	struct tcp_sock *tp = windows_of(subflow);

	mps_halve_cwnd(subflow);
	/* TCP has found a loss by then, and cut the window itself */
	inet_csk(subflow_core(subflow)->ssk)->icsk_ca_state = TCP_CA_Recovery;
	mps_cut_window(subflow);
	KUNIT_EXPECT_EQ(test, tp->snd_cwnd, 20U);
	KUNIT_EXPECT_EQ(test, subflow->cwnd_pkts, 20U);
	/* nor is it made later */
	inet_csk(subflow_core(subflow)->ssk)->icsk_ca_state = TCP_CA_Open;
	mps_cut_window(subflow);
	KUNIT_EXPECT_EQ(test, tp->snd_cwnd, 20U);
}

static void backups_are_on_their_own_when_no_other_is_usable(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *regular, *backup;

	KUNIT_EXPECT_TRUE(test, mps_only_backups(conn));
	backup = mps_test_subflow(conn, .backup = true);
	KUNIT_EXPECT_TRUE(test, mps_only_backups(conn));
	regular = mps_test_subflow(conn);
	mps_test_fill(regular);
	KUNIT_EXPECT_FALSE(test, mps_only_backups(conn));
	mps_test_usable(regular, false);
	KUNIT_EXPECT_TRUE(test, mps_only_backups(conn));
	mps_test_backup(backup, false);
	KUNIT_EXPECT_FALSE(test, mps_only_backups(conn));
}

/* --- the lowest round-trip time */

static void the_queue_of_a_device_is_what_all_of_its_qdiscs_hold(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *subflow = mps_test_subflow(conn);
	struct net_device *dev;

	KUNIT_EXPECT_EQ(test, mps_device(subflow).queue_bytes, 0ULL);
	KUNIT_EXPECT_EQ(test, mps_device(subflow).sent_bytes, 0ULL);

	/* a queue for each CPU, as mq has it */
	dev = mps_test_device(subflow, 3, false);
	mps_test_device_queue(dev, 0, 1514, 10);
	mps_test_device_queue(dev, 2, 3028, 5000000000);
	KUNIT_EXPECT_EQ(test, mps_device(subflow).queue_bytes, 3 * 1514ULL);
	KUNIT_EXPECT_EQ(test, mps_device(subflow).sent_bytes, 5000000010ULL);

	/* one for all: it counts once */
	dev = mps_test_device(subflow, 3, true);
	mps_test_device_queue(dev, 1, 1514, 10);
	KUNIT_EXPECT_EQ(test, mps_device(subflow).queue_bytes, 1514ULL);
	KUNIT_EXPECT_EQ(test, mps_device(subflow).sent_bytes, 10ULL);
}

static void the_lowest_rtt_of_those_that_are_available_is_chosen(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *middle = mps_test_subflow(conn, .srtt_us = 20000);
	struct mps_subflow *low = mps_test_subflow(conn, .srtt_us = 19999);
	struct mps_subflow *high = mps_test_subflow(conn, .srtt_us = 20001);

	KUNIT_EXPECT_PTR_EQ(test, mps_lowest_rtt(conn, NULL), low);
	mps_test_fill(low);
	KUNIT_EXPECT_PTR_EQ(test, mps_lowest_rtt(conn, NULL), middle);
	middle->ca_state = TCP_CA_Loss;
	KUNIT_EXPECT_PTR_EQ(test, mps_lowest_rtt(conn, NULL), high);
	mps_test_usable(high, false);
	KUNIT_EXPECT_NULL(test, mps_lowest_rtt(conn, NULL));
}

static void the_first_of_equal_rtts_is_chosen(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *first = mps_test_subflow(conn);
	struct mps_subflow *second = mps_test_subflow(conn);

	KUNIT_EXPECT_PTR_EQ(test, mps_lowest_rtt(conn, NULL), first);
	mps_test_fill(first);
	KUNIT_EXPECT_PTR_EQ(test, mps_lowest_rtt(conn, NULL), second);
}

static void a_full_subflow_keeps_new_data_from_the_backups(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *backup = mps_test_subflow(conn, .backup = true, .srtt_us = 1000);
	struct mps_subflow *regular = mps_test_subflow(conn, .srtt_us = 90000);

	KUNIT_EXPECT_PTR_EQ(test, mps_lowest_rtt(conn, NULL), regular);
	mps_test_fill(regular);
	KUNIT_EXPECT_NULL(test, mps_lowest_rtt(conn, NULL));
	regular->ca_state = TCP_CA_Loss;
	KUNIT_EXPECT_NULL(test, mps_lowest_rtt(conn, NULL));
	mps_test_usable(regular, false);
	KUNIT_EXPECT_PTR_EQ(test, mps_lowest_rtt(conn, NULL), backup);
}

static void a_segment_goes_where_it_was_not(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *near = mps_test_subflow(conn, .srtt_us = 10000);
	struct mps_subflow *far = mps_test_subflow(conn, .srtt_us = 50000);
	struct mps_segment *seg = mps_test_in_flight(conn, MSS, near);

	KUNIT_EXPECT_PTR_EQ(test, mps_lowest_rtt(conn, seg), far);
	/* rather on the near one again than to wait for the far one, */
	mps_test_fill(far);
	KUNIT_EXPECT_PTR_EQ(test, mps_lowest_rtt(conn, seg), near);
	/* but to wait for that rather than for the near one */
	mps_test_fill(near);
	KUNIT_EXPECT_NULL(test, mps_lowest_rtt(conn, seg));
	near->in_flight_pkts = 0;
	far->in_flight_pkts = 0;
	mps_test_sent(conn, seg, far);
	KUNIT_EXPECT_PTR_EQ(test, mps_lowest_rtt(conn, seg), near);
	mps_test_fill(near);
	KUNIT_EXPECT_PTR_EQ(test, mps_lowest_rtt(conn, seg), far);
}

static void a_segment_that_all_others_carried_goes_on_a_backup(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *near = mps_test_subflow(conn, .srtt_us = 10000);
	struct mps_subflow *far = mps_test_subflow(conn, .srtt_us = 50000);
	struct mps_subflow *backup = mps_test_subflow(conn, .backup = true);
	struct mps_segment *seg = mps_test_in_flight(conn, MSS, near);

	/* also where one that did not is full, and one that did is not */
	mps_test_fill(far);
	KUNIT_EXPECT_PTR_EQ(test, mps_lowest_rtt(conn, seg), backup);
	/* or if the backup is full: it is worth waiting for */
	mps_test_fill(backup);
	KUNIT_EXPECT_NULL(test, mps_lowest_rtt(conn, seg));
	backup->in_flight_pkts = 0;
	mps_test_fill(near);
	KUNIT_EXPECT_NULL_MSG(test, mps_lowest_rtt(conn, seg), "none that did has room");
	near->in_flight_pkts = 0;
	far->in_flight_pkts = 0;
	mps_test_sent(conn, seg, far);
	KUNIT_EXPECT_PTR_EQ(test, mps_lowest_rtt(conn, seg), backup);
	mps_test_sent(conn, seg, backup);
	KUNIT_EXPECT_PTR_EQ(test, mps_lowest_rtt(conn, seg), near);
	/* as for new data, a full one keeps it from a backup */
	mps_test_fill(near);
	mps_test_fill(far);
	KUNIT_EXPECT_NULL(test, mps_lowest_rtt(conn, seg));
}

static void a_subflow_is_worth_waiting_for_if_it_is_faster_and_only_full(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *fast = mps_test_subflow(conn, .srtt_us = 10000);
	struct mps_subflow *slow = mps_test_subflow(conn, .srtt_us = 50000);

	KUNIT_EXPECT_NULL_MSG(test, mps_faster_but_full(conn, slow), "it has room");
	mps_test_fill(fast);
	KUNIT_EXPECT_PTR_EQ(test, mps_faster_but_full(conn, slow), fast);
	KUNIT_EXPECT_NULL_MSG(test, mps_faster_but_full(conn, fast), "none is faster");
	fast->ca_state = TCP_CA_Loss;
	KUNIT_EXPECT_NULL_MSG(test, mps_faster_but_full(conn, slow), "in loss recovery");
	fast->ca_state = TCP_CA_Open;
	mps_test_backup(fast, true);
	KUNIT_EXPECT_NULL_MSG(test, mps_faster_but_full(conn, slow), "a backup");
	mps_test_backup(fast, false);
	mps_test_usable(fast, false);
	KUNIT_EXPECT_NULL_MSG(test, mps_faster_but_full(conn, slow), "lost");
}

static void the_modules_wait_for_the_fastest_in_whatever_state(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *fast = mps_test_subflow(conn, .srtt_us = 10000);
	struct mps_subflow *slow = mps_test_subflow(conn, .srtt_us = 50000);

	KUNIT_EXPECT_NULL_MSG(test, mps_fastest_but(conn, slow), "nothing in flight");
	fast->in_flight_pkts = 1;
	KUNIT_EXPECT_PTR_EQ_MSG(test, mps_fastest_but(conn, slow), fast, "room");
	KUNIT_EXPECT_NULL_MSG(test, mps_fastest_but(conn, fast), "none is faster");
	mps_test_fill(fast);
	fast->ca_state = TCP_CA_Loss;
	KUNIT_EXPECT_PTR_EQ_MSG(test, mps_fastest_but(conn, slow), fast, "in loss recovery");
	/* the first one in a tie, and the other way round */
	fast->srtt_us = slow->srtt_us;
	mps_test_fill(slow);
	KUNIT_EXPECT_PTR_EQ_MSG(test, mps_fastest_but(conn, slow), fast, "a tie");
	KUNIT_EXPECT_NULL_MSG(test, mps_fastest_but(conn, fast), "a tie");
	mps_test_backup(fast, true);
	KUNIT_EXPECT_NULL_MSG(test, mps_fastest_but(conn, slow), "a backup");
	mps_test_backup(slow, true);
	KUNIT_EXPECT_PTR_EQ_MSG(test, mps_fastest_but(conn, slow), fast, "both are");
	mps_test_usable(fast, false);
	KUNIT_EXPECT_NULL_MSG(test, mps_fastest_but(conn, slow), "lost");
}

/* --- opportunistic retransmission and penalisation */

/* Its last penalties are `us` ago. */
static void penalised_ago(struct mps_subflow *fast, u64 us)
{
	subflow_core(fast)->penalised = tcp_jiffies32 - usecs_to_jiffies(us);
}

static void the_oldest_segment_is_sent_on_the_fast_subflow_too(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *fast = mps_test_subflow(conn, .srtt_us = 10000);
	struct mps_subflow *slow = mps_test_subflow(conn, .srtt_us = 100000);
	struct mps_segment *oldest = mps_test_in_flight(conn, MSS, slow);
	struct mps_pick pick;

	mps_test_in_flight(conn, MSS, slow);
	KUNIT_EXPECT_TRUE(test, mps_opportunistic(conn, fast, MPS_RP_LIMIT, &pick));
	KUNIT_EXPECT_PTR_EQ(test, pick.subflow, fast);
	KUNIT_EXPECT_EQ(test, pick.seq, mps_seq(conn, oldest));
	KUNIT_EXPECT_EQ(test, (u32)pick.kind, (u32)MPS_DUPLICATE);
	/* once */
	mps_test_sent(conn, oldest, fast);
	KUNIT_EXPECT_FALSE(test, mps_opportunistic(conn, fast, MPS_RP_LIMIT, &pick));
}

static void nothing_is_sent_again_when_nothing_is_on_its_way(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *fast = mps_test_subflow(conn, .srtt_us = 10000);
	struct mps_pick pick;

	mps_test_subflow(conn, .srtt_us = 100000);
	mps_test_unsent(conn, MSS);
	KUNIT_EXPECT_FALSE(test, mps_opportunistic(conn, fast, MPS_RP_LIMIT, &pick));
}

/* Section 3, step 4: not when 4 x RTT of the fast one is no less than that of
 * the slow one, unless that has a window of 4 or less.
 */
static void what_is_not_much_slower_is_waited_for(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *fast = mps_test_subflow(conn, .srtt_us = 25000);
	struct mps_subflow *slow = mps_test_subflow(conn, .srtt_us = 100000, .cwnd_pkts = 5);
	struct mps_pick pick;

	mps_test_in_flight(conn, MSS, slow);
	/* so that no penalty makes its window smaller */
	penalised_ago(fast, 0);
	KUNIT_EXPECT_FALSE(test, mps_opportunistic(conn, fast, MPS_RP_LIMIT, &pick));
	slow->srtt_us = 100001;
	KUNIT_EXPECT_TRUE(test, mps_opportunistic(conn, fast, MPS_RP_LIMIT, &pick));
	slow->srtt_us = 100000;
	slow->cwnd_pkts = 4;
	KUNIT_EXPECT_TRUE(test, mps_opportunistic(conn, fast, MPS_RP_LIMIT, &pick));
	mps_test_fill(fast);
	KUNIT_EXPECT_FALSE(test, mps_opportunistic(conn, fast, MPS_RP_LIMIT, &pick));
}

static void those_that_carry_the_oldest_segment_and_are_slower_are_penalised(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *fast = mps_test_subflow(conn, .srtt_us = 10000, .cwnd_pkts = 20);
	struct mps_subflow *slow = mps_test_subflow(conn, .srtt_us = 50000, .cwnd_pkts = 20);
	struct mps_subflow *slower = mps_test_subflow(conn, .srtt_us = 90000, .cwnd_pkts = 20);
	struct mps_subflow *equal = mps_test_subflow(conn, .srtt_us = 10000, .cwnd_pkts = 20);
	struct mps_subflow *losing = mps_test_subflow(conn, .srtt_us = 60000, .cwnd_pkts = 20,
						      .ca_state = TCP_CA_Recovery);
	struct mps_subflow *other = mps_test_subflow(conn, .srtt_us = 70000, .cwnd_pkts = 20);
	struct mps_segment *oldest = mps_test_in_flight(conn, MSS, slow);
	struct mps_pick pick;

	mps_test_sent(conn, oldest, slower);
	mps_test_sent(conn, oldest, equal);
	mps_test_sent(conn, oldest, losing);
	mps_test_in_flight(conn, MSS, other);
	conn->sndbuf_full = true;
	penalised_ago(fast, 10000);
	mps_opportunistic(conn, fast, MPS_RP_LIMIT, &pick);
	KUNIT_EXPECT_EQ(test, mps_cwnd(slow), 10U);
	KUNIT_EXPECT_EQ(test, mps_cwnd(slower), 10U);
	KUNIT_EXPECT_EQ(test, mps_cwnd(equal), 20U);
	KUNIT_EXPECT_EQ(test, mps_cwnd(losing), 20U);
	KUNIT_EXPECT_EQ(test, mps_cwnd(other), 20U);
	KUNIT_EXPECT_EQ(test, mps_cwnd(fast), 20U);
}

static void older_kernels_penalise_only_one(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *fast = mps_test_subflow(conn, .srtt_us = 10000);
	struct mps_subflow *slow = mps_test_subflow(conn, .srtt_us = 50000, .cwnd_pkts = 20);
	struct mps_subflow *latest = mps_test_subflow(conn, .srtt_us = 50000, .cwnd_pkts = 20);
	struct mps_segment *oldest = mps_test_in_flight(conn, MSS, slow);
	struct mps_pick pick;

	mps_test_sent(conn, oldest, latest);
	conn->sndbuf_full = true;
	penalised_ago(fast, 10000);
	mps_opportunistic(conn, fast, MPS_RP_HALVE_ONE, &pick);
	KUNIT_EXPECT_EQ(test, latest->cwnd_pkts, 10U);
	KUNIT_EXPECT_EQ(test, slow->cwnd_pkts, 20U);
	/* none, if it is not slower */
	latest->srtt_us = 10000;
	penalised_ago(fast, 10000);
	mps_opportunistic(conn, fast, MPS_RP_HALVE_ONE, &pick);
	KUNIT_EXPECT_EQ(test, latest->cwnd_pkts, 10U);
	KUNIT_EXPECT_EQ(test, slow->cwnd_pkts, 20U);
}

static void nobody_is_penalised_where_the_segment_is_only_repeated(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *fast = mps_test_subflow(conn, .srtt_us = 10000);
	struct mps_subflow *slow = mps_test_subflow(conn, .srtt_us = 50000, .cwnd_pkts = 20);
	struct mps_pick pick;

	mps_test_in_flight(conn, MSS, slow);
	conn->sndbuf_full = true;
	penalised_ago(fast, 10000);
	KUNIT_EXPECT_FALSE(test, mps_opportunistic(conn, fast, MPS_RP_OFF, &pick));
	KUNIT_EXPECT_TRUE(test, mps_opportunistic(conn, fast, MPS_RP_REPEAT, &pick));
	KUNIT_EXPECT_EQ(test, mps_cwnd(slow), 20U);
}

static void penalties_are_an_rtt_of_the_fast_subflow_apart(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	/* no test takes a minute */
	struct mps_subflow *fast = mps_test_subflow(conn, .srtt_us = 60 * USEC_PER_SEC);
	struct mps_subflow *slow = mps_test_subflow(conn, .srtt_us = 300 * USEC_PER_SEC,
						    .cwnd_pkts = 20);
	struct mps_pick pick;

	mps_test_in_flight(conn, MSS, slow);
	/* for want of new data: not while there is room for it */
	penalised_ago(fast, 60 * USEC_PER_SEC);
	mps_opportunistic(conn, fast, MPS_RP_LIMIT, &pick);
	KUNIT_EXPECT_EQ(test, mps_cwnd(slow), 20U);
	conn->sndbuf_full = true;
	mps_opportunistic(conn, fast, MPS_RP_LIMIT, &pick);
	KUNIT_EXPECT_EQ(test, mps_cwnd(slow), 10U);
	mps_opportunistic(conn, fast, MPS_RP_LIMIT, &pick);
	KUNIT_EXPECT_EQ(test, mps_cwnd(slow), 10U);
	penalised_ago(fast, 60 * USEC_PER_SEC);
	mps_opportunistic(conn, fast, MPS_RP_LIMIT, &pick);
	KUNIT_EXPECT_EQ(test, mps_cwnd(slow), 5U);
}

/* --- time */

static void the_clock_stands_still_while_the_kernel_computes(struct kunit *test)
{
	u64 start = mps_clock_ns();
	int i;

	for (i = 0; i < 1000; i++)
		KUNIT_ASSERT_EQ(test, mps_clock_ns(), start);
}

static void a_later_time_to_wake_replaces_an_earlier_one(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	u64 hour = mps_clock_ns() + 3600 * NSEC_PER_SEC;

	KUNIT_EXPECT_EQ(test, mps_test_wake_time(conn), 0ULL);
	mps_wake_at(conn, hour);
	KUNIT_EXPECT_EQ(test, mps_test_wake_time(conn), hour);
	mps_wake_at(conn, hour + 1);
	KUNIT_EXPECT_EQ(test, mps_test_wake_time(conn), hour + 1);
	mps_wake_at(conn, 0);
	KUNIT_EXPECT_EQ(test, mps_test_wake_time(conn), 0ULL);
}

static void a_time_that_the_kernel_does_not_have_is_none(struct kunit *test)
{
	static const u64 none[] = { U64_MAX, U64_MAX - 1, 1ULL << 63, S64_MAX };
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	int i;

	for (i = 0; i < ARRAY_SIZE(none); i++) {
		mps_wake_at(conn, mps_clock_ns() + NSEC_PER_SEC);
		mps_wake_at(conn, none[i]);
		KUNIT_EXPECT_EQ(test, mps_test_wake_time(conn), 0ULL);
	}
}

static void after_its_end_a_connection_sets_no_timer(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);

	conn_core(conn)->ended = true;
	mps_wake_at(conn, mps_clock_ns() + NSEC_PER_SEC);
	KUNIT_EXPECT_EQ(test, mps_test_wake_time(conn), 0ULL);
}

static void a_scheduler_provokes_no_more_than_1024_questions_in_a_tick(struct kunit *test)
{
	struct mps_conn_core *core = conn_core(mps_test_conn_of(test, &waits));
	u32 asked = 0;
	int i;

	/* time stands still */
	for (i = 0; i < 3000; i++)
		asked += mps_may_provoke(core);
	KUNIT_EXPECT_EQ(test, asked, 1024U);
	KUNIT_EXPECT_EQ(test, core->deferred, 3000U - 1024U);
	core->tick--;
	KUNIT_EXPECT_TRUE(test, mps_may_provoke(core));
}

/* --- data leaves */

static void a_timer_of_the_scheduler_forbids_no_forced_pick(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *far = mps_test_subflow(conn, .srtt_us = 50000);
	struct mps_subflow *near = mps_test_subflow(conn, .srtt_us = 10000);
	struct mps_segment *seg, *head;
	struct mps_pick pick;

	KUNIT_EXPECT_FALSE(test, mps_forced_pick(conn, &pick, &seg));
	head = mps_test_unsent(conn, MSS);
	mps_test_update(conn);
	mps_wake_at(conn, mps_clock_ns() + NSEC_PER_SEC);
	KUNIT_ASSERT_TRUE(test, mps_forced_pick(conn, &pick, &seg));
	KUNIT_EXPECT_PTR_EQ(test, seg, head);
	KUNIT_EXPECT_PTR_EQ(test, pick.subflow, near);

	/* something that is in flight brings the next question */
	mps_test_sent(conn, head, far);
	mps_test_unsent(conn, MSS);
	mps_test_update(conn);
	KUNIT_EXPECT_FALSE(test, mps_forced_pick(conn, &pick, &seg));
}

/* A gap in front of what was sent out of order, and has arrived: there is no ACK any more. */
static void the_oldest_byte_is_forced_though_later_ones_were_sent(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *only = mps_test_subflow(conn);
	struct mps_segment *head = mps_test_unsent(conn, MSS), *seg;
	struct mps_pick pick;

	mps_test_sent(conn, mps_test_unsent(conn, MSS), only);
	mps_test_update(conn);
	KUNIT_ASSERT_NE(test, conn->una_seq, conn->nxt_seq);
	only->outstanding_bytes = MSS;
	KUNIT_EXPECT_FALSE(test, mps_forced_pick(conn, &pick, &seg));
	only->outstanding_bytes = 0;
	KUNIT_ASSERT_TRUE(test, mps_forced_pick(conn, &pick, &seg));
	KUNIT_EXPECT_PTR_EQ(test, seg, head);
}

static struct mps_subflow *nowhere(struct mps_conn *conn, const struct mps_segment *seg)
{
	return NULL;
}

static void the_oldest_segment_is_repeated_where_the_scheduler_names_nothing(struct kunit *test)
{
	static const struct mps_ops ops = {
		.next_segment	= always_wait,
		.get_subflow	= nowhere,
		.name		= "test_nowhere",
	};
	struct mptcp_subflow_context *ctx = kunit_kzalloc(test, sizeof(*ctx), GFP_KERNEL);
	struct mps_conn *conn = mps_test_conn_of(test, &ops);
	struct mps_subflow *lost = mps_test_subflow(conn);
	struct mps_subflow *other = mps_test_subflow(conn);
	struct mptcp_sock *msk = conn_core(conn)->msk;

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	ctx->mps = other;
	rcu_assign_pointer(inet_csk(subflow_core(other)->ssk)->icsk_ulp_data, ctx);
	msk->mps = conn;
	msk->fully_established = true;
	mps_test_in_flight(conn, MSS, lost);
	lost->usable = false;
	/* as long as an ACK can be waited for, its word counts */
	other->outstanding_bytes = 1;
	KUNIT_EXPECT_EQ(test, mps_get_subflow(msk, true), -EINVAL);
	other->outstanding_bytes = 0;
	KUNIT_EXPECT_EQ(test, mps_get_subflow(msk, true), 0);
	KUNIT_EXPECT_TRUE(test, ctx->scheduled);
	KUNIT_EXPECT_EQ(test, conn_core(conn)->forced_reinjections, 1U);
}

static void a_subflow_takes_no_more_memory_than_sixteen_send_buffers(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *one = mps_test_subflow(conn);
	struct mps_subflow *other = mps_test_subflow(conn);
	struct mps_segment *sent = mps_test_in_flight(conn, MSS, one), *seg;
	struct mps_pick pick;

	mps_pick_duplicate(&pick, conn, other, sent);
	mps_sk(conn)->sk_sndbuf = 10000;
	other->memory_bytes = 160000;
	KUNIT_EXPECT_NULL(test, mps_check_pick(conn, &pick, &seg));
	/* a program has made it smaller */
	mps_sk(conn)->sk_sndbuf = 1;
	KUNIT_EXPECT_NULL(test, mps_check_pick(conn, &pick, &seg));
	other->memory_bytes++;
	KUNIT_EXPECT_NOT_NULL(test, mps_check_pick(conn, &pick, &seg));
}

/* --- subflows that come and go */

/* It carries data once another one has made room. */
static void a_connection_has_32_subflows_and_says_so_of_another(struct kunit *test)
{
	struct mptcp_subflow_context *ctx = kunit_kzalloc(test, sizeof(*ctx), GFP_KERNEL);
	struct tcp_sock *tp = kunit_kzalloc(test, sizeof(*tp), GFP_KERNEL);
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_conn_core *core = conn_core(conn);
	struct mps_subflow *first;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	KUNIT_ASSERT_NOT_NULL(test, tp);
	ctx->tcp_sock = (struct sock *)tp;
	ctx->tcp_sock->sk_state = TCP_ESTABLISHED;
	ctx->tcp_sock->sk_protocol = IPPROTO_TCP;
	rcu_assign_pointer(inet_csk(ctx->tcp_sock)->icsk_ulp_data, ctx);
	first = mps_test_subflow(conn);
	for (i = 1; i < 32; i++)
		mps_test_subflow(conn);
	KUNIT_EXPECT_FALSE(test, core->crowded);
	list_add_tail(&ctx->node, &core->msk->conn_list);
	mps_refresh(conn, NULL);
	KUNIT_EXPECT_TRUE(test, core->crowded);
	KUNIT_EXPECT_NULL(test, ctx->mps);

	mps_test_close(first);
	mps_refresh(conn, NULL);
	KUNIT_ASSERT_NOT_NULL(test, ctx->mps);
	KUNIT_EXPECT_TRUE(test, ctx->mps->usable);
	kfree(subflow_core(ctx->mps));
}

static void of_a_subflow_that_is_gone_nothing_is_done(struct kunit *test)
{
	struct mps_conn *conn = mps_test_conn_of(test, &waits);
	struct mps_subflow *gone = mps_test_subflow(conn);
	struct mps_subflow *there = mps_test_subflow(conn);
	struct mps_subflow_core *sub = subflow_core(gone);
	u32 cwnd;

	mps_test_in_flight(conn, MSS, there);
	mps_test_close(gone);
	cwnd = gone->cwnd_pkts;
	KUNIT_EXPECT_EQ(test, mps_device(gone).queue_bytes, 0ULL);
	KUNIT_EXPECT_EQ(test, mps_device_sent_bytes(gone), 0ULL);
	KUNIT_EXPECT_FALSE(test, mps_throttled(gone));
	KUNIT_EXPECT_FALSE(test, mps_same_device(gone, there));
	KUNIT_EXPECT_FALSE(test, mps_same_device(there, gone));
	KUNIT_EXPECT_NULL(test, mps_oldest_missing(conn, gone));
	mps_halve_cwnd(gone);
	mps_penalise(gone);
	mps_set_limit(gone, 1);
	mps_distrust(gone, true);
	mps_set_linear_timeouts(gone, true);
	KUNIT_EXPECT_EQ(test, gone->cwnd_pkts, cwnd);
	KUNIT_EXPECT_EQ(test, gone->limit_pkts, U32_MAX);
	KUNIT_EXPECT_FALSE(test, conn_core(conn)->has_cuts);
	KUNIT_EXPECT_FALSE(test, sub->distrusted || sub->linear);
	KUNIT_EXPECT_EQ(test, conn_core(conn)->refused_calls, 11U);
}

static struct kunit_case framework_cases[] = {
	KUNIT_CASE(a_scheduler_is_found_while_it_is_registered),
	KUNIT_CASE(the_default_scheduler_of_linux_is_none_of_ours),
	KUNIT_CASE(registration_refuses_a_scheduler_without_next_segment),
	KUNIT_CASE(registration_refuses_a_scheduler_without_a_name),
	KUNIT_CASE(registration_refuses_a_name_that_is_taken),
	KUNIT_CASE(registration_refuses_a_name_that_a_sysctl_cannot_have),
	KUNIT_CASE(registration_refuses_another_owner_than_its_module),
	KUNIT_CASE(registration_refuses_more_state_than_fits),
	KUNIT_CASE(registration_refuses_parameters_that_make_no_sense),
	KUNIT_CASE(picks_that_make_sense_are_good),
	KUNIT_CASE(picks_of_a_subflow_that_cannot_carry_data_are_refused),
	KUNIT_CASE(picks_of_a_segment_that_is_not_there_are_refused),
	KUNIT_CASE(duplicates_on_a_subflow_that_carried_the_segment_are_refused),
	KUNIT_CASE(picks_of_no_kind_are_refused),
	KUNIT_CASE(the_number_0_of_a_second_connection_is_the_first_subflow),
	KUNIT_CASE(unsent_segments_are_listed_in_order),
	KUNIT_CASE(unsent_segments_are_counted_from_the_first),
	KUNIT_CASE(a_short_last_segment_waits_while_a_short_one_is_on_its_way),
	KUNIT_CASE(a_segment_that_can_grow_no_more_does_not_wait),
	KUNIT_CASE(tcp_cork_holds_a_short_last_segment_until_it_is_let_go),
	KUNIT_CASE(sent_segments_are_listed_in_order_without_the_gaps),
	KUNIT_CASE(the_oldest_missing_segment_moves_with_what_is_sent_and_acknowledged),
	KUNIT_CASE(a_segment_fits_the_window_up_to_its_last_byte),
	KUNIT_CASE(one_way_delays_differ_as_those_of_the_paths_do),
	KUNIT_CASE(an_ack_of_nothing_new_is_no_sample),
	KUNIT_CASE(until_something_is_acknowledged_the_handshake_is_the_sample),
	KUNIT_CASE(impossible_timestamps_make_no_impossible_delay),
	KUNIT_CASE(communication_delays_begin_with_the_first_time_that_it_is_sent),
	KUNIT_CASE(clocks_that_differ_by_more_than_round_trips_are_not_compared),
	KUNIT_CASE(losses_are_counted_by_rounds),
	KUNIT_CASE(rounds_are_counted_where_numbers_wrap_around),
	KUNIT_CASE(a_lost_round_is_a_rate_of_one),
	KUNIT_CASE(what_the_peer_advertises_is_seen),
	KUNIT_CASE(what_no_usable_subflow_carries_is_reinjected_in_order),
	KUNIT_CASE(nothing_is_reinjected_while_no_subflow_could_take_it),
	KUNIT_CASE(what_only_a_distrusted_subflow_carries_is_reinjected),
	KUNIT_CASE(what_is_sent_on_a_distrusted_subflow_is_reinjected_in_order),
	KUNIT_CASE(a_distrusted_subflow_that_is_alone_is_used),
	KUNIT_CASE(the_latest_sent_segment_is_the_last_before_the_first_unsent_one),
	KUNIT_CASE(numbers_begin_where_the_first_byte_will_be),
	KUNIT_CASE(a_segment_is_carried_when_it_has_been_sent_again),
	KUNIT_CASE(a_limit_never_wraps),
	KUNIT_CASE(a_reinjection_stays_when_its_subflow_comes_back),
	KUNIT_CASE(a_reinjection_goes_on_where_it_was_cut_short),
	KUNIT_CASE(a_reinjection_begins_anew_when_a_part_of_it_is_lost),
	KUNIT_CASE(more_of_a_segment_that_is_reinjected_is_reinjected_too),
	KUNIT_CASE(a_part_of_a_duplicate_does_not_make_it_safe),
	KUNIT_CASE(parts_on_a_distrusted_subflow_are_reinjected),
	KUNIT_CASE(reinjections_leave_in_order_on_the_lowest_rtt),
	KUNIT_CASE(only_a_timeout_makes_a_congestion_state_unavailable),
	KUNIT_CASE(only_what_is_still_in_this_host_throttles),
	KUNIT_CASE(what_is_queued_counts_against_the_congestion_window),
	KUNIT_CASE(a_huge_congestion_window_does_not_overflow),
	KUNIT_CASE(limits_beside_the_congestion_window_are_kept),
	KUNIT_CASE(a_penalty_halves_what_may_be_in_flight),
	KUNIT_CASE(a_cut_halves_the_window_and_the_threshold),
	KUNIT_CASE(cuts_that_wait_for_the_lock_are_all_made),
	KUNIT_CASE(a_cut_leaves_the_threshold_of_slow_start),
	KUNIT_CASE(a_cut_that_comes_too_late_is_none),
	KUNIT_CASE(backups_are_on_their_own_when_no_other_is_usable),
	KUNIT_CASE(the_queue_of_a_device_is_what_all_of_its_qdiscs_hold),
	KUNIT_CASE(the_lowest_rtt_of_those_that_are_available_is_chosen),
	KUNIT_CASE(the_first_of_equal_rtts_is_chosen),
	KUNIT_CASE(a_full_subflow_keeps_new_data_from_the_backups),
	KUNIT_CASE(a_segment_goes_where_it_was_not),
	KUNIT_CASE(a_segment_that_all_others_carried_goes_on_a_backup),
	KUNIT_CASE(a_subflow_is_worth_waiting_for_if_it_is_faster_and_only_full),
	KUNIT_CASE(the_modules_wait_for_the_fastest_in_whatever_state),
	KUNIT_CASE(the_oldest_segment_is_sent_on_the_fast_subflow_too),
	KUNIT_CASE(nothing_is_sent_again_when_nothing_is_on_its_way),
	KUNIT_CASE(what_is_not_much_slower_is_waited_for),
	KUNIT_CASE(those_that_carry_the_oldest_segment_and_are_slower_are_penalised),
	KUNIT_CASE(older_kernels_penalise_only_one),
	KUNIT_CASE(nobody_is_penalised_where_the_segment_is_only_repeated),
	KUNIT_CASE(penalties_are_an_rtt_of_the_fast_subflow_apart),
	KUNIT_CASE(the_clock_stands_still_while_the_kernel_computes),
	KUNIT_CASE(a_later_time_to_wake_replaces_an_earlier_one),
	KUNIT_CASE(a_time_that_the_kernel_does_not_have_is_none),
	KUNIT_CASE(after_its_end_a_connection_sets_no_timer),
	KUNIT_CASE(a_scheduler_provokes_no_more_than_1024_questions_in_a_tick),
	KUNIT_CASE(a_timer_of_the_scheduler_forbids_no_forced_pick),
	KUNIT_CASE(the_oldest_byte_is_forced_though_later_ones_were_sent),
	KUNIT_CASE(the_oldest_segment_is_repeated_where_the_scheduler_names_nothing),
	KUNIT_CASE(a_subflow_takes_no_more_memory_than_sixteen_send_buffers),
	KUNIT_CASE(a_connection_has_32_subflows_and_says_so_of_another),
	KUNIT_CASE(of_a_subflow_that_is_gone_nothing_is_done),
	{}
};

static struct kunit_suite framework_suite = {
	.name		= "mptcp-framework",
	.test_cases	= framework_cases,
};

kunit_test_suite(framework_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of the framework of MPTCP schedulers");
