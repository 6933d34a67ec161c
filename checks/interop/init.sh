#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Process 1 of either virtual machine: LAB_ROLE=client or server. One connection over two links carries a
# file each way. Sent over the second serial line: "wrong TEXT" for each mistake, "counter NAME VALUE" for
# each counter of MPTCP that is not 0, and "end" at last.
export PATH=/usr/bin:/bin LC_ALL=C
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /tmp
role=$(grep -o 'LAB_ROLE=[a-z]*' /proc/cmdline)
role=${role#*=}
send() { printf '%s\n' "$@" >/dev/ttyS1; }

# v0.95 has everything built in
shopt -s nullglob
for module in /modules/*.ko; do insmod "$module" || send "wrong $module does not load"; done
host=1
[[ $role == client ]] || host=2
for path in 1 2; do
	device=eth$((path - 1))
	{ ip link set "$device" up && ip addr add "10.0.$path.$host/24" dev "$device"; } ||
		send "wrong path $path is not set up"
done
protocol=MPTCP
if [[ -e /proc/sys/net/mptcp/mptcp_enabled ]]; then
	protocol=TCP # each socket of TCP is one of MPTCP there
else
	ip mptcp limits set subflow 4 add_addr_accepted 4
	[[ $role == client ]] || ip mptcp endpoint add 10.0.2.2 dev eth1 signal
fi

# Both machines know both files.
seq 1 "$(</count)" >/tmp/client
seq 1000000 "$((1000000 + $(</count)))" >/tmp/server
connect=(mptcp_connect -t 60000 -s "$protocol" -p 10000)
if [[ $role == server ]]; then
	"${connect[@]}" -l 0.0.0.0 </tmp/server >/tmp/got 2>/tmp/errors || send "wrong the server: $(</tmp/errors)"
	from=client
else
	# until the other machine listens
	for ((try = 0; try < 100; try++)); do
		sleep 1
		! "${connect[@]}" 10.0.1.2 </tmp/client >/tmp/got 2>/tmp/errors || break
	done
	((try < 100)) || send "wrong the client: $(</tmp/errors)"
	from=server
fi
cmp /tmp/got "/tmp/$from" 2>/tmp/errors || send "wrong data of the $from: $(</tmp/errors)"

# Pairs of lines: names, and then values. Upstream's are named MPTcpExt among others.
counters() {
	local names values at
	while read -r -a names && read -r -a values; do
		[[ ${names[0]} == MPTcpExt: ]] || continue
		for at in "${!names[@]}"; do
			((at == 0 || values[at] == 0)) || send "counter ${names[at]} ${values[at]}"
		done
	done </proc/net/netstat
	if [[ -e /proc/net/mptcp_net/snmp ]]; then
		while read -r names values; do
			[[ $values == 0 ]] || send "counter $names $values"
		done </proc/net/mptcp_net/snmp
	fi
}
# the other one acknowledges the end
sleep 3
counters
send end
echo b >/proc/sysrq-trigger
sleep 60
