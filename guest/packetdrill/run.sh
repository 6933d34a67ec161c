#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs packetdrill scripts, each in a network of its own, and says how they came out, at the end in
# TAP, as the kernel's own selftests do.
#
#	run.sh LIST
#
# Beside it are packetdrill; times.so, see times.c; LIST, with a line for each test: its name, the
# tolerance in us, the version of IP, and the file; and settings.conf, sysctls of each network.
here=$(cd "$(dirname "$0")" && pwd)
# of a test, in virtual seconds: packetdrill waits for a packet for ever
limit=10

# what the host has there need not be what the programs here need
devices=/tmp/dev
mkdir -p $devices/net
mknod $devices/null c 1 3
mknod $devices/zero c 1 5
mknod $devices/random c 1 8
mknod $devices/urandom c 1 9
mknod $devices/net/tun c 10 200
ln -s /proc/self/fd $devices/fd
mount --bind $devices /dev || exit 1

four=(--local_ip=192.168.0.1 --gateway_ip=192.168.0.2 --netmask_ip=255.255.0.0 --remote_ip=192.0.2.1/24)
six=(--local_ip=fd00:1::1 --gateway_ip=fd00:1::2 --remote_ip=2001:db8::1/32 --mtu=1520)

# run TOLERANCE VERSION FILE: in the directory of the file, since scripts call others beside them
run() {
	local network=("${four[@]}")
	[[ $2 != ipv6 ]] || network=("${six[@]}")
	cd "$(dirname "$3")" || return 1
	# shellcheck disable=SC2016 # for the inner shell
	unshare --net bash -c 'ip link set lo up && sysctl -q -p "$1" && shift && exec "$@"' -- \
		"$here/settings.conf" timeout "$limit" env LD_PRELOAD="$here/times.so" "$here/packetdrill" \
		--ip_version="$2" "${network[@]}" --tolerance_usecs="$1" "$(basename "$3")"
}

number=0
failed=0
results=()
while read -r name tolerance version file; do
	number=$((number + 1))
	if said=$(run "$tolerance" "$version" "$here/$file" 2>&1); then
		printf '%03d %s [ OK ]\n' $number "$name"
		results+=("ok $number - packetdrill: $name")
	else
		failed=1
		printf '%03d %s [FAIL] %s\n' $number "$name" "$(head -n 1 <<<"$said")"
		printf '%s\n' "$said"
		results+=("not ok $number - packetdrill: $name")
	fi
done <"$here/$1"
printf '\nTAP version 13\n1..%d\n' $number
printf '%s\n' "${results[@]}"
exit $failed
