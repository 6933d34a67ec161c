// SPDX-License-Identifier: GPL-2.0-only
/* /proc/net/mptcp_drop: lose exactly the packets that a test names.
 *
 * A process in the network namespace writes to it, each in a single write:
 *
 *	DEVICE data|acks 5,17,100-120	lose these packets of those that DEVICE receives
 *	start				on every device of the namespace, count from now
 *
 * TCP segments with payload, over IPv4 and IPv6, count apart from those without, each from
 * 1. The numbers ascend. A second list replaces the first and counts from 1. No other
 * packet counts or is lost. A packet is lost on arrival, before it is queued.
 */

#define pr_fmt(fmt) "mptcp_drop: " fmt

#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netdevice.h>
#include <linux/proc_fs.h>
#include <linux/rtnetlink.h>
#include <linux/seq_file.h>
#include <linux/seq_file_net.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <net/net_namespace.h>

enum { DROP_DATA, DROP_ACKS, DROP_KINDS };

static const char * const drop_names[DROP_KINDS] = { "data", "acks" };

struct drop_range {
	u32 first;
	u32 last;
};

struct drop_list {
	struct drop_range	*ranges;
	u32			count;
	u32			next;		/* the first range ahead */
	u32			seen;		/* packets since the start */
};

/* the rx_handler_data of a device */
struct drop {
	spinlock_t		lock;		/* of all below; softirq takes it, too */
	bool			started;
	struct drop_list	lists[DROP_KINDS];
};

/* The begin of TCP's header and the end of the packet, over IPv4. False: no TCP, or a later
 * fragment.
 */
static bool drop_ipv4(const struct sk_buff *skb, unsigned int *begin, unsigned int *end)
{
	struct iphdr copy;
	const struct iphdr *ih = skb_header_pointer(skb, 0, sizeof(copy), &copy);

	if (!ih || ih->protocol != IPPROTO_TCP || (ih->frag_off & htons(IP_OFFSET)))
		return false;
	*begin = 4 * ih->ihl;
	*end = ntohs(ih->tot_len);
	return true;
}

/* The same over IPv6, without extension headers. */
static bool drop_ipv6(const struct sk_buff *skb, unsigned int *begin, unsigned int *end)
{
	struct ipv6hdr copy;
	const struct ipv6hdr *ih = skb_header_pointer(skb, 0, sizeof(copy), &copy);

	if (!ih || ih->nexthdr != IPPROTO_TCP)
		return false;
	*begin = sizeof(copy);
	*end = sizeof(copy) + ntohs(ih->payload_len);
	return true;
}

/* The list in which a packet counts; DROP_KINDS: none. */
static int drop_kind(const struct sk_buff *skb)
{
	unsigned int begin, end;
	const struct tcphdr *th;
	struct tcphdr copy;
	bool is_tcp = false;

	if (skb->protocol == htons(ETH_P_IP))
		is_tcp = drop_ipv4(skb, &begin, &end);
	else if (skb->protocol == htons(ETH_P_IPV6))
		is_tcp = drop_ipv6(skb, &begin, &end);
	if (!is_tcp)
		return DROP_KINDS;
	th = skb_header_pointer(skb, begin, sizeof(copy), &copy);
	if (!th)
		return DROP_KINDS;
	return end > begin + 4 * th->doff ? DROP_DATA : DROP_ACKS;
}

static bool drop_is_next(struct drop_list *list)
{
	list->seen++;
	while (list->next < list->count && list->ranges[list->next].last < list->seen)
		list->next++;
	return list->next < list->count && list->ranges[list->next].first <= list->seen;
}

static rx_handler_result_t drop_receive(struct sk_buff **pskb)
{
	struct drop *drop = rcu_dereference((*pskb)->dev->rx_handler_data);
	int kind = drop_kind(*pskb);
	bool lost;

	if (kind == DROP_KINDS)
		return RX_HANDLER_PASS;
	spin_lock(&drop->lock);
	lost = drop->started && drop_is_next(&drop->lists[kind]);
	spin_unlock(&drop->lock);
	if (!lost)
		return RX_HANDLER_PASS;
	kfree_skb(*pskb);
	return RX_HANDLER_CONSUMED;
}

static struct drop *drop_of(struct net_device *dev)
{
	ASSERT_RTNL();
	if (rtnl_dereference(dev->rx_handler) != drop_receive)
		return NULL;
	return rtnl_dereference(dev->rx_handler_data);
}

static struct drop *drop_add(struct net_device *dev)
{
	struct drop *drop = kzalloc(sizeof(*drop), GFP_KERNEL);
	int err;

	if (!drop)
		return ERR_PTR(-ENOMEM);
	spin_lock_init(&drop->lock);
	err = netdev_rx_handler_register(dev, drop_receive, drop);
	if (err) {
		kfree(drop);
		return ERR_PTR(err);
	}
	return drop;
}

/* Parses "5,17,100-120", and changes the text. 0 or an error. */
static int drop_parse(char *text, struct drop_list *list)
{
	u32 count = 1, end = 0;
	char *item, *c;

	for (c = text; *c; c++)
		count += *c == ',';
	list->ranges = kcalloc(count, sizeof(*list->ranges), GFP_KERNEL);
	if (!list->ranges)
		return -ENOMEM;
	while ((item = strsep(&text, ","))) {
		struct drop_range *range = &list->ranges[list->count++];
		char *last = strchr(item, '-');

		if (last)
			*last++ = '\0';
		if (kstrtou32(item, 10, &range->first) ||
		    kstrtou32(last ?: item, 10, &range->last) ||
		    range->first <= end || range->last < range->first)
			return -EINVAL;
		end = range->last;
	}
	return 0;
}

static int drop_set(struct net *net, const char *name, const char *kind_name, char *numbers)
{
	struct drop_list list = {};
	struct net_device *dev;
	struct drop *drop;
	int kind, err;

	kind = match_string(drop_names, DROP_KINDS, kind_name);
	if (kind < 0)
		return kind;
	err = drop_parse(numbers, &list);
	if (err)
		goto free_list;

	rtnl_lock();
	err = -ENODEV;
	dev = __dev_get_by_name(net, name);
	if (!dev)
		goto unlock;
	drop = drop_of(dev) ?: drop_add(dev);
	if (IS_ERR(drop)) {
		err = PTR_ERR(drop);
		goto unlock;
	}
	err = 0;
	spin_lock_bh(&drop->lock);
	swap(drop->lists[kind], list);
	spin_unlock_bh(&drop->lock);
unlock:
	rtnl_unlock();
free_list:
	kfree(list.ranges);
	return err;
}

static void drop_start(struct net *net)
{
	struct net_device *dev;
	struct drop *drop;

	rtnl_lock();
	for_each_netdev(net, dev) {
		drop = drop_of(dev);
		if (!drop)
			continue;
		spin_lock_bh(&drop->lock);
		drop->started = true;
		spin_unlock_bh(&drop->lock);
	}
	rtnl_unlock();
}

static int drop_write(struct file *file, char *text, size_t len)
{
	struct net *net = seq_file_single_net(file->private_data);
	char *device, *kind;

	text = strim(text);
	if (!strcmp(text, "start")) {
		drop_start(net);
		return 0;
	}
	device = strsep(&text, " ");
	kind = strsep(&text, " ");
	return text ? drop_set(net, device, kind, text) : -EINVAL;
}

/* Nothing to read. A writable proc file of a namespace needs this function. */
static int drop_show(struct seq_file *seq, void *unused)
{
	return 0;
}

static int drop_device_event(struct notifier_block *block, unsigned long event, void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);
	struct drop *drop;
	int kind;

	if (event != NETDEV_UNREGISTER)
		return NOTIFY_DONE;
	drop = drop_of(dev);
	if (drop) {
		/* waits for its users */
		netdev_rx_handler_unregister(dev);
		for (kind = 0; kind < DROP_KINDS; kind++)
			kfree(drop->lists[kind].ranges);
		kfree(drop);
	}
	return NOTIFY_DONE;
}

static struct notifier_block drop_notifier = { .notifier_call = drop_device_event };

static int __net_init drop_net_init(struct net *net)
{
	return proc_create_net_single_write("mptcp_drop", 0600, net->proc_net, drop_show,
					    drop_write, NULL) ? 0 : -ENOMEM;
}

static void __net_exit drop_net_exit(struct net *net)
{
	remove_proc_entry("mptcp_drop", net->proc_net);
}

static struct pernet_operations drop_net_ops = {
	.init = drop_net_init,
	.exit = drop_net_exit,
};

static int __init drop_init(void)
{
	int err = register_netdevice_notifier(&drop_notifier);

	return err ?: register_pernet_subsys(&drop_net_ops);
}

late_initcall(drop_init);
