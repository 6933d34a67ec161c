// SPDX-License-Identifier: GPL-2.0-only
/* What the running kernel makes of the sizes in constants.c. */

#include <kunit/test.h>
#include <linux/module.h>
#include <linux/skbuff.h>

/* 704 bytes of skbuff_small_head and 256 of the sk_buff; 640 without
 * CONFIG_WLAN. What the kernel would take for one from another cache is a
 * power of two.
 */
static void a_small_packet_takes_as_much_as_in_distributions(struct kunit *test)
{
	struct sk_buff *skb = alloc_skb(1, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_EXPECT_EQ(test, skb->truesize, (IS_ENABLED(CONFIG_WLAN) ? 704 : 640) + 256);
	kfree_skb(skb);
}

static struct kunit_case constants_cases[] = {
	KUNIT_CASE(a_small_packet_takes_as_much_as_in_distributions),
	{}
};

static struct kunit_suite constants_suite = {
	.name		= "mptcp-constants",
	.test_cases	= constants_cases,
};

kunit_test_suite(constants_suite);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("KUnit tests of sizes that the kernel's configuration decides");
