#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Does MPTCP of a kernel tree still do what it should? For the CI of that tree: docs/kernel-ci.md
#
#	check.sh TREE [OUT]
#
# TREE is a kernel source (a directory or an archive), OUT, which is not inside it, gets what CI keeps:
# JUnit reports, and of each check that failed the packets, a picture and a report. The exit status is 0
# if all expectations are met, 4 if one is not, 1 if something failed, 2 if TREE or OUT is refused, 3 if
# the machine lacks something: the first that is not 0, but for 1, which is worse than all others.
set -u

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
	echo "usage: $0 TREE [OUT]; TREE is a kernel source, a directory or an archive" >&2
	exit 2
fi
tree=$1
out=${2:-kernel-ci}
kernel="kernel-ci"
worst=0
built=no

# a new file in a tree is a change of it: each check would build the kernel again
case $(realpath -m -- "$out")/ in
"$(realpath -m -- "$tree")"/*)
	echo "$0: OUT, $out, is inside TREE, where it would be a change of the kernel; another place:" \
		"$0 $tree ${TMPDIR:-/tmp}/kernel-ci" >&2
	exit 2
	;;
esac
mkdir -p "$out" || exit 1

# forget NAME: what is there in the end is of this tree, and not of the one before
forget()
{
	rm -rf "${out:?}/$1" "$out/$1.html" "$out/$1.txt" "$out/$1.xml"
}

# note STATUS: what comes of the whole; who interrupts a check means all of them
note()
{
	if [ "$1" -ge 128 ]; then
		exit "$1"
	fi
	if [ "$worst" -eq 0 ] || [ "$1" -eq 1 ]; then
		worst=$1
	fi
}

# check NAME OPTIONS...: a run is the same each time, so one of each is enough
check()
{
	name=$1
	shift
	if [ $built = no ]; then
		forget "$name"
		return
	fi
	mptcplab compare "$@" --kernel $kernel --scheduler default --repeat 1 --no-baseline --pcap \
		--out "$out/$name" --junit "$out/$name.xml" >"$out/$name.txt" 2>&1
	status=$?
	note $status
	if [ $status -eq 0 ]; then
		echo "ok      $name"
		rm -rf "${out:?}/$name"
		return
	fi
	echo "not ok  $name"
	grep -E '^(not held|unknown|failed|mptcplab):' "$out/$name.txt"
	mptcplab show "$out/$name" --out "$out/$name" >/dev/null 2>&1
	mptcplab report "$out/$name" --out "$out/$name.html" >/dev/null 2>&1
}

checks()
{
	# two paths carry more than one: 50 + 20 Mbit/s, of which headers take 5.6 %; a tenth is for windows to grow
	check aggregation --path a:50mbit,10ms --path b:20mbit,20ms --duration 10s \
		--expect 'goodput >= 0.9 * 0.944 * 70mbit'
	# a path that dies: the other one carries all, 20 Mbit/s; nothing arrives for 5 of the connection's timers at most
	check handover --path a:20mbit,10ms --path b:20mbit,20ms --event 4s:a:down --duration 12s \
		--expect 'goodput >= 0.8 * 0.944 * 20mbit' --expect 'longest_gap <= 2.5s'
	# a stream that one path can carry has the delay of that path, and a tenth of a second where packets are lost
	check stream --path a:20mbit,10ms,loss=0.5% --path b:20mbit,20ms --workload cbr:size=8KB,rate=4mbit \
		--duration 20s --expect 'delay_p99 <= 150ms'
	# the receive buffer grows to the 2 MB that 200 Mbit/s and 80 ms need: from 64 KiB in five round trips at the least
	check receive-window --path a:100mbit,40ms --path b:100mbit,40ms --direction down --duration 10s \
		--expect 'goodput >= 0.8 * 0.944 * 200mbit'
	# a small receive buffer is no dead end
	check small-buffer --path a:20mbit,10ms --path b:10mbit,50ms --receive-buffer 64KiB --duration 10s \
		--expect 'goodput >= 2mbit'
}

# all of it before the build, which may fail
checks
forget selftests

# under a name: the kernel that is used without one stays what it is; its output is seen at once, and its
# status, which a pipe loses, goes around it: nothing comes there if Ctrl-C ends all
echo "build   $tree" >&2
status=$(
	{
		{
			mptcplab kernel build --source "$tree" --name $kernel 2>&1
			echo $? >&3
		} | tee -i "$out/build.txt" >&2
	} 3>&1
)
if [ "${status:=130}" -ne 0 ]; then
	exit "$status"
fi
built=yes

checks

# with SELFTESTS=yes the kernel's own tests, too, from the tree, all of which have to pass (some 20 minutes)
if [ "${SELFTESTS-}" = yes ]; then
	mptcplab selftests --kernel $kernel --strict --scheduler default --out "$out/selftests" --junit "$out/selftests.xml" \
		>"$out/selftests.txt" 2>&1
	status=$?
	grep -E '^(problem|mptcplab):' "$out/selftests.txt"
	note $status
fi

exit "$worst"
