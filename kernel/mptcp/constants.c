// SPDX-License-Identifier: GPL-2.0-only
/* TCP computes with sizes of the kernel's configuration: the largest header, the memory of a
 * packet, the length of a tick. A lab with other sizes would have other buffers, windows and
 * timers than the kernels that people run, and no run would show it. These are the sizes of
 * Debian's linux-image-amd64 or, without CONFIG_WLAN, of its linux-image-cloud-amd64, by the
 * headers of these packages. With other sizes, the build fails.
 */

#include <linux/build_bug.h>
#include <linux/init.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/gro.h>
#include <net/pkt_sched.h>
#include <net/proto_memory.h>
#include <net/sock.h>
#include <net/tcp.h>

/* 128 bytes for the header of a link that may be a wireless mesh, 96 without mesh, else 32;
 * 48 more for a tunnel; 128 for IP and TCP. The sum is in whole lines of a cache, so 96 and
 * 128 have the same result.
 */
#define LAB_TCP_HEADER	(IS_ENABLED(CONFIG_WLAN) ? 320 : 256)

static int __init lab_constants(void)
{
	/* tcp_sndbuf_expand() doubles the send buffer's share of a packet beyond 2,048
	 * bytes: with 320, and 12 bytes before it with 256.
	 */
	BUILD_BUG_ON(MAX_TCP_HEADER != LAB_TCP_HEADER);
	/* heads of packets: skbuff_small_head has the size of the larger sum */
	BUILD_BUG_ON(SKB_HEAD_ALIGN(MAX_TCP_HEADER) != LAB_TCP_HEADER + 320);
	BUILD_BUG_ON(SKB_HEAD_ALIGN(GRO_MAX_HEAD + NET_SKB_PAD + NET_IP_ALIGN) !=
		     LAB_TCP_HEADER + 384);

	BUILD_BUG_ON(SKB_DATA_ALIGN(sizeof(struct sk_buff)) != 256);
	BUILD_BUG_ON(SKB_DATA_ALIGN(sizeof(struct skb_shared_info)) != 320);
	BUILD_BUG_ON(sizeof(struct tcp_skb_cb) != 48);
	BUILD_BUG_ON(MAX_SKB_FRAGS != 17);
	BUILD_BUG_ON(SKB_FRAG_PAGE_ORDER != 3);
	BUILD_BUG_ON(NET_SKB_PAD != 64);
	BUILD_BUG_ON(SMP_CACHE_BYTES != 64);
	BUILD_BUG_ON(PAGE_SIZE != 4096);
	BUILD_BUG_ON(GSO_LEGACY_MAX_SIZE != 65536);
	BUILD_BUG_ON(GSO_MAX_SEGS != 65535);

	/* the least buffers, and a socket's unit of reservation */
	BUILD_BUG_ON(SOCK_MIN_SNDBUF != 4608);
	BUILD_BUG_ON(SOCK_MIN_RCVBUF != 2304);
	BUILD_BUG_ON(SK_MEMORY_PCPU_RESERVE != 256);

	/* ticks of 4 ms: the least retransmission timeout 200 ms, delayed ACKs after 40
	 * to 200 ms; timers of queues in 64 ns
	 */
	BUILD_BUG_ON(HZ != 250);
	BUILD_BUG_ON(TCP_RTO_MIN != 50);
	BUILD_BUG_ON(TCP_DELACK_MIN != 10);
	BUILD_BUG_ON(TCP_DELACK_MAX != 50);
	BUILD_BUG_ON(TCP_TIMEOUT_MIN != 2);
	BUILD_BUG_ON(PSCHED_SHIFT != 6);
	BUILD_BUG_ON(!IS_ENABLED(CONFIG_HIGH_RES_TIMERS));

	return 0;
}
core_initcall(lab_constants);
