#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The server of docs/two-uplinks.md, and a destination behind it, 198.51.100.2, which runs a program.
#   server.sh PROGRAM...
set -e
here=$(dirname "$(readlink -f "$0")")
sysctl -qw net.mptcp.mptcpize=0 net.ipv4.ip_forward=1
# One address is enough: the router creates the subflows.
ip mptcp endpoint flush
ip mptcp limits set subflow 2

ip netns add destination
ip link add out0 type veth peer name eth0 netns destination
ip addr add 198.51.100.1/24 dev out0
ip link set out0 up
ip -n destination addr add 198.51.100.2/24 dev eth0
ip -n destination link set eth0 up
ip netns exec destination "$@" &
until ip netns exec destination ss -Hltn | grep -q .; do sleep 0.01; done
exec python3 "$here/relay.py" server 65101
