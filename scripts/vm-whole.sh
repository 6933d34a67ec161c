#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The package in a whole Debian, in QEMU: the tree of setup.sh --vm gets the package, whose modules DKMS
# builds, and becomes a disk. It starts twice, and must have the scheduler of sysctl.d each time. Then it
# runs upstream's tests: a subtest that passes without the modules must pass with them.
#   vm-whole.sh SERIES OUT [restart | SCRIPT...]
# Needs root, who alone can copy a tree. What each boot sent is kept in OUT, and no boot that is kept is
# repeated.
set -euo pipefail
series=$1 out=$(realpath -m "$2")
cd "$(dirname "$(readlink -f "$0")")/.."
scripts=("${@:3}")
((${#scripts[@]})) || scripts=(mptcp_connect.sh simult_flows.sh mptcp_join.sh)
[[ ${scripts[0]} != restart ]] || scripts=()
cache=${XDG_CACHE_HOME-}
[[ $cache == /* ]] || cache=${HOME-}/.cache
cache+=/mptcplab
tree=$cache/vm/tree scheduler=overflow status=0
((EUID == 0)) || {
	echo "Whole systems are copied by root alone. Run: sudo make vm-test-all" >&2
	exit 2
}
image=$(find "$tree/boot" -name "vmlinuz-$series.*" | sort -V | tail -n 1)
release=${image#*/vmlinuz-}
mkdir -p "$out"
place=$(mktemp -d -p "$cache/vm")
trap 'rm -rf --one-file-system "$place"' EXIT
trap 'exit 130' INT TERM
.venv/bin/mptcplab scheduler package --out "$place" >/dev/null
package=$(find "$place" -name '*.deb')
id=$(sha256sum "$package" "$image" | sha256sum | cut -c -12)

# After each start: what modules-load.d and sysctl.d did. Then it starts again, which ends QEMU.
unit="[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/bash -c 'sysctl -n net.mptcp.scheduler net.mptcp.available_schedulers >/dev/ttyS1'
ExecStart=/bin/systemctl --no-block reboot
[Install]
WantedBy=multi-user.target"

# Process 1 of upstream's tests: SCRIPT MODULES.
# shellcheck disable=SC2016 # expanded there
tests='#!/bin/bash
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C HOME=/root SELFTESTS_MPTCP_LIB_OVERRIDE_FLAKY=1
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /tmp
[[ $2 == none ]] || modprobe -a $(grep -v "^#" /usr/lib/modules-load.d/mptcplab-schedulers.conf)
cd "/root/$2/mptcp"
"./$1" >/tmp/output 2>&1
cat /tmp/output >/dev/ttyS1
echo b >/proc/sysrq-trigger'

make_disk() {
	local root=$place/root net source=$cache/sources/linux-source-$series.tar.xz
	[[ ! -e $place/disk ]] || return 0
	[[ $series != 6.12 ]] || source=
	net=$(.venv/bin/python -c "import sys; from mptcplab.lab.kernel import Source
from mptcplab.selftests.scripts import of_source
from pathlib import Path
print(of_source(Source.chosen(Path(sys.argv[1]) if sys.argv[1] else None)).net)" "$source")
	cp -a "$tree" "$root"
	for modules in none default "$scheduler"; do cp -a "$net" "$root/root/$modules"; done
	.venv/bin/python -c "import sys; from mptcplab.selftests.jobs import choose_scheduler
from pathlib import Path
choose_scheduler(Path(sys.argv[1]), sys.argv[2])" "$root/root/$scheduler/mptcp/mptcp_lib.sh" "$scheduler"
	install -m 755 /dev/stdin "$root/root/tests.sh" <<<"$tests"
	echo "$unit" >"$root/etc/systemd/system/say.service"
	echo "net.mptcp.scheduler=$scheduler" >"$root/etc/sysctl.d/90-mptcp.conf"
	cp "$package" "$root/root"
	echo "Installing the package for $release, for which DKMS builds the modules"
	unshare --mount bash -euc "mount -t proc proc '$root/proc'
		chroot '$root' bash -euc 'apt-get install -y /root/*.deb && systemctl enable say'" >"$out/install.log" 2>&1 ||
		{ echo "The package could not be installed: see $out/install.log" >&2 && exit 1; }
	truncate --size=3G "$place/disk"
	mke2fs -q -t ext4 -d "$root" "$place/disk"
}

# A boot with arguments, which adds to FILE what it sent.
boot() {
	local file=$1
	timeout 3h setpriv --pdeathsig KILL qemu-system-x86_64 -accel tcg,thread=multi -cpu max,la57=off -smp 2 -m 1024 \
		-nodefaults -display none -no-reboot -serial "file:$place/console" -serial "file:$place/line" \
		-drive "file=$place/disk,format=raw,if=virtio" -kernel "$image" \
		-initrd "$place/root/boot/initrd.img-$release" \
		-append "console=ttyS0 root=/dev/vda panic=-1 reboot=k no_timer_check rcupdate.rcu_cpu_stall_timeout=300 rw $2"
	tr -d '\r' <"$place/line" >>"$file"
	tr -d '\r' <"$place/console" >>"$file.console"
}

# What is wrong with the two starts, and with the tests.
judge() {
	local lost file script modules
	grep -aHE '\] (WARNING:|.*BUG:|.*Oops|rcu: INFO:|general protection|refcount_t:)' "$out"/*"-$release-$id.txt.console" || true
	file=$out/restart-$release-$id.txt
	[[ $(grep -cx "$scheduler" "$file") == 2 ]] || echo "the scheduler of sysctl.d is not there after each start"
	[[ $(grep -c "default.* minrtt\|minrtt.* default" "$file") == 2 ]] || echo "modules are missing after a start"
	for script in "${scripts[@]}"; do
		for modules in none default "$scheduler"; do
			file=$out/$script-$modules-$release-$id.txt
			passed "$file" >"$place/$modules"
			lost=$(comm -23 "$place/none" "$place/$modules")
			echo "$release, $script, $modules: $(wc -l <"$place/$modules") subtests pass" >&2
			[[ -s $place/$modules ]] || echo "$script, $modules: no subtest passes"
			[[ -z $lost ]] || echo "these do not pass: $lost"
		done
	done
}
passed() { sed -nE 's/^ok [0-9]+ (- )?//p' "$1" | grep -v '# SKIP' | sed 's/ *#.*//' | sort -u; }

# perform NAME TIMES ARGUMENTS
perform() {
	local file=$out/$1-$release-$id.txt number
	[[ ! -e $file ]] || return 0
	make_disk
	echo "$release: $1" >&2
	rm -f "$file.part"*
	for ((number = 0; number < $2; number++)); do boot "$file.part" "$3"; done
	mv "$file.part.console" "$file.console"
	mv "$file.part" "$file"
}

perform restart 2 ""
for script in "${scripts[@]}"; do
	for modules in none default "$scheduler"; do
		# the kernel takes a word with a dot for a module's parameter, but behind --
		perform "$script-$modules" 1 "init=/root/tests.sh -- $script $modules"
	done
done
wrong=$(judge)
[[ -z $wrong ]] || { echo "$wrong" && status=1; }
((status)) || echo "$release: nothing is wrong"
exit "$status"
