#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Process 1 of a virtual machine whose clock counts instructions: loads the modules, and makes the transfers
# of guest/cost/transfers.c between two namespaces, over two pairs of veth without a limit, with all
# offloads. /arguments has the program's arguments. Sent over the second serial line: what it prints, then
# "end"; or "failed TEXT".
export PATH=/usr/bin:/bin LC_ALL=C
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp

finish() {
	printf '%s\n' "$*" >/dev/ttyS1
	echo b >/proc/sysrq-trigger
	sleep 60
}

for module in /modules/*.ko; do insmod "$module" || finish "failed $module does not load"; done
for ns in client server; do
	ip netns add $ns
	# each transfer begins as the first one
	ip netns exec $ns bash -c "echo 1 >/proc/sys/net/ipv4/tcp_no_metrics_save"
	ip -n $ns mptcp limits set subflow 1 add_addr_accepted 1
done
for path in 1 2; do
	ip link add c$path netns client type veth peer name s$path netns server
	ip -n client addr add 10.0.$path.1/24 dev c$path
	ip -n server addr add 10.0.$path.2/24 dev s$path
	ip -n client link set c$path up
	ip -n server link set s$path up
done
ip -n client mptcp endpoint add 10.0.2.1 subflow
read -ra arguments </arguments
/transfers 10.0.1.2 "${arguments[@]}" >/tmp/output 2>/tmp/errors || finish "failed $(</tmp/errors)"
cat /tmp/output >/dev/ttyS1
finish end
