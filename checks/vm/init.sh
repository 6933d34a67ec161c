#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Process 1 of a virtual machine with a kernel of Debian: loads the modules, carries out cells, and unloads
# the modules again. Each cell is a line of /cells/list: NUMBER SCHEDULER LOAD; its connections are in
# /cells/NUMBER, as guest/torture/connections.c reads them. Sent over the second serial line: what that
# program prints, line by line, each with the NUMBER before it; "NUMBER failed TEXT" if something else is
# wrong; at last "NUMBER end KEY=VALUE ...". On the console, "vm: begin NUMBER" shows to which cell a report
# of the kernel belongs.
export PATH=/usr/bin:/bin LC_ALL=C
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
counters=/sys/module/mptcp_adapter/parameters
cpus=$(grep -c ^processor /proc/cpuinfo)
at=

send() { printf '%s\n' "$@" >/dev/ttyS1; }
fail() {
	printf '%s\n' "vm: $*" >/dev/kmsg
	send "${at:-0} failed $*"
}

# Two paths between two namespaces, with the addresses that connections.c uses. The server announces
# both; a peer's address is a route that comes back with its device.
set_up() {
	local ns path
	for ns in client server; do
		ip netns add $ns
		ip netns exec $ns bash -c "
			echo $(printf '%x' $(((1 << cpus) - 1))) >/proc/sys/net/core/rps_default_mask
			echo $1 >/proc/sys/net/mptcp/scheduler
			[[ \$(</proc/sys/net/mptcp/scheduler) == $1 ]]" || fail "$1 is not chosen in $ns"
	done
	for path in 1 2; do
		ip link add c$path netns client type veth peer name s$path netns server
		ip -n client addr add 10.0.$path.1 peer 10.1.$path.1/32 dev c$path
		ip -n server addr add 10.1.$path.1 peer 10.0.$path.1/32 dev s$path
		ip -n client link set c$path up
		ip -n server link set s$path up
		ip -n server mptcp endpoint add 10.1.$path.1 signal
	done
	for ns in client server; do
		ip -n $ns mptcp limits set subflow 4 add_addr_accepted 4
		tc -n $ns qdisc replace dev ${ns:0:1}1 root netem rate 40mbit delay 5ms limit 200
		tc -n $ns qdisc replace dev ${ns:0:1}2 root netem rate 20mbit delay 20ms limit 200
	done
}

tear_down() {
	ip netns del client
	ip netns del server
}

carried() { ip netns exec client bash -c "read -r bytes </sys/class/net/c$1/statistics/tx_bytes && echo \$bytes"; }

# flap UNTIL: one end of a path after the other; none begins at UNTIL, in seconds of this shell, or later.
flap() {
	local until=$1 device ns
	for device in c1 c2 s2 c2 c1 s1 c2; do
		((SECONDS < until)) || return 0
		ns=client
		[[ $device != s* ]] || ns=server
		sleep 0.3
		ip -n $ns link set $device down
		sleep 0.3
		ip -n $ns link set $device up
	done
}

# Devices flap between the starts of connections, one in 30 s (cells.py): while a device is down,
# connect() over it fails, whoever schedules.
soak() {
	local begun=$SECONDS
	while [[ -s /tmp/running ]]; do
		((SECONDS % 30 != (begun + 5) % 30)) || flap $((SECONDS + 15))
		sleep 0.5
	done
}

# Every scheduler goes and comes back, but for the one that connections use.
reload() {
	local module count=0
	while [[ -s /tmp/running ]]; do
		for module in /modules/mptcp_*.ko; do
			module=${module#/modules/}
			rmmod "${module%.ko}" 2>/dev/null || continue
			insmod "/modules/$module" || fail "$module does not load again"
			count=$((count + 1))
		done
	done
	((count)) || fail "no module was loaded again"
}

perform() {
	local scheduler=$1 load=$2
	set_up "$scheduler"
	echo yes >/tmp/running
	case $load in
		flap) flap $((SECONDS + 60)) & ;;
		reload) reload & ;;
		soak) soak & ;;
	esac
	/connections client server "$cpus" <"/cells/$at" >/tmp/output 2>/tmp/errors || fail "$(</tmp/errors)"
	: >/tmp/running
	wait
	while read -r line; do send "$at $line"; done </tmp/output
	send "$at carried $(carried 1) $(carried 2)"
	tear_down
}

load() {
	local module
	for module in /modules/*.ko; do insmod "$module" || fail "$module does not load"; done
}

# A socket that closes holds its scheduler a little longer.
unload() {
	local module left try
	for ((try = 0; try < 100; try++)); do
		left=
		for module in /modules/mptcp_*.ko; do
			module=${module#/modules/}
			module=${module%.ko}
			[[ ! -e /sys/module/$module ]] || rmmod "$module" 2>/dev/null || left+=" $module"
		done
		[[ $left ]] || return
		sleep 1
	done
	fail "these modules stay loaded:$left"
}

# All choices that the adapter had to make itself.
guards() { [[ ! -e $counters ]] || cat "$counters/forced" "$counters/refused" "$counters/lacking"; }

load
while read -r at scheduler load; do
	echo "vm: begin $at" >/dev/kmsg
	mapfile -t before <<<"$(guards)"
	begin=${EPOCHREALTIME/./}
	if [[ $load == unload ]]; then
		before=()
		unload
		[[ $(</proc/sys/net/mptcp/available_schedulers) == default ]] || fail "schedulers are left"
	else
		perform "$scheduler" "$load"
	fi
	mapfile -t after <<<"$(guards)"
	# The console has everything before the next cell begins.
	sleep 0.2
	counts="forced=$((after[0] - before[0])) refused=$((after[1] - before[1])) lacking=$((after[2] - before[2]))"
	send "$at end ms=$(((${EPOCHREALTIME/./} - begin) / 1000)) $counts"
done </cells/list
echo b >/proc/sysrq-trigger
sleep 60
