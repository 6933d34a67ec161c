#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The router of docs/two-uplinks.md, with a LAN, in the client of mptcplab exec; runs a program in the LAN.
#   router.sh PORT PROGRAM...
set -e
here=$(dirname "$(readlink -f "$0")")
port=$1
shift
# Only the relay asks for MPTCP, by its own sockets.
sysctl -qw net.mptcp.mptcpize=0

# The uplinks c1 (DSL) and c2 (LTE). exec has made their rules and routes, such as
#   ip rule add from 10.0.2.1 table 2; ip route add default via 10.0.2.254 dev c2 table 2
ip mptcp limits set subflow 2 add_addr_accepted 0
ip mptcp endpoint add 10.0.1.1 dev c1 subflow
ip mptcp endpoint add 10.0.2.1 dev c2 subflow backup

# New connections begin on the default route, here the one to the server: by LTE while DSL is dead.
while sleep 1; do
	uplink=2
	ping -q -c 1 -W 1 -I 10.0.1.1 10.1.1.1 >/dev/null && uplink=1
	ip route replace 10.1.1.0/24 via "10.0.$uplink.254" dev "c$uplink"
done &

ip netns add lan
ip link add lan0 type veth peer name eth0 netns lan
ip addr add 192.168.100.1/24 dev lan0
ip link set lan0 up
ip -n lan addr add 192.168.100.2/24 dev eth0
ip -n lan link set eth0 up
ip -n lan route add default via 192.168.100.1

# Packets from the LAN belong to this host, whatever their destination. The lab's kernel has no
# firewall; with one, nft redirects them to any port.
ip route add local default dev lo table 100
ip rule add iif lan0 table 100
python3 "$here/relay.py" router "$port" 10.1.1.1 65101 &
until ss -Hltn "sport = $port" | grep -q .; do sleep 0.01; done
ip netns exec lan "$@"
