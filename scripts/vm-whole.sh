#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The package in a whole Debian, in QEMU: the tree of setup.sh --vm gets the package, whose modules DKMS
# builds, and becomes a disk. It starts twice, and must have the scheduler of sysctl.d each time. Then it
# runs upstream's tests: a subtest that passes without the modules must pass with them. At the end a newer
# package is installed under a connection, and removed under another one; both must carry all bytes.
#   vm-whole.sh SERIES OUT [restart | upgrade | SCRIPT...]
# Needs root, who alone can copy a tree. What each boot sent is kept in OUT, and no boot that is kept is
# repeated.
set -euo pipefail
series=$1 out=$(realpath -m "$2")
cd "$(dirname "$(readlink -f "$0")")/.."
scripts=("${@:3}")
((${#scripts[@]})) || scripts=(mptcp_connect.sh simult_flows.sh mptcp_join.sh)
stages="restart upgrade"
if [[ ${3-} == restart || ${3-} == upgrade ]]; then stages=$3 scripts=(); fi
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
id=$(cat "$package" "$image" | sha256sum | cut -c -12)

# Copied files have other times, so a compiler is known by its content.
ccache="export PATH=/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin CCACHE_DIR=/root/ccache CCACHE_COMPILERCHECK=content"

# After each start: what modules-load.d and sysctl.d did. Then it starts again, which ends QEMU.
unit="[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/root/started.sh
[Install]
WantedBy=multi-user.target"

# shellcheck disable=SC2016 # expanded there
started='#!/bin/bash
'$ccache'
exec 3>/dev/ttyS1
# A connection that carries a megabyte before a command, and one after it.
carry() {
	cd /tmp
	/root/none/mptcp/mptcp_connect -t 3600000 -l -p 10000 127.0.0.1 </dev/null >got &
	sleep 2
	{
		head -c 1M /dev/urandom | tee sent
		sleep 5
		"$@" >&3 2>&3
		head -c 1M /dev/urandom | tee -a sent
	} | /root/none/mptcp/mptcp_connect -t 3600000 -p 10000 127.0.0.1
	wait
	cmp sent got >&3 2>&3 && echo "carried $(stat -c %s got)" >&3
}
sysctl -n net.mptcp.scheduler net.mptcp.available_schedulers >&3
case $(grep -o "stage=.*" /proc/cmdline) in
*upgrade) carry dpkg -i /root/newer.deb ;;
*purge) carry apt-get -y purge mptcplab-schedulers-dkms ;;
esac
dkms status >&3
sync
systemctl --no-block reboot'

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
	# DKMS builds for every kernel that it finds
	find "$root/lib/modules" -mindepth 1 -maxdepth 1 ! -name "$release" -exec rm -rf {} +
	for modules in none default "$scheduler"; do cp -a "$net" "$root/root/$modules"; done
	.venv/bin/python -c "import sys; from mptcplab.selftests.jobs import choose_scheduler
from pathlib import Path
choose_scheduler(Path(sys.argv[1]), sys.argv[2])" "$root/root/$scheduler/mptcp/mptcp_lib.sh" "$scheduler"
	install -m 755 /dev/stdin "$root/root/tests.sh" <<<"$tests"
	install -m 755 /dev/stdin "$root/root/started.sh" <<<"$started"
	echo "$unit" >"$root/etc/systemd/system/started.service"
	echo "net.mptcp.scheduler=$scheduler" >"$root/etc/sysctl.d/90-mptcp.conf"
	cp "$package" "$root/root"
	make_newer "$root/root/newer.deb"
	echo "Installing the package for $release, for which DKMS builds the modules"
	# the newer one first, and away again: its upgrade finds the objects in ccache, instead of half an hour of gcc
	unshare --mount bash -euc "mount -t proc proc '$root/proc'
		chroot '$root' bash -euc '$ccache
			apt-get install -y /root/newer.deb && apt-get purge -y mptcplab-schedulers-dkms
			apt-get install -y /root/mptcplab-*.deb && systemctl enable started'" >"$out/install.log" 2>&1 ||
		{ echo "The package could not be installed: see $out/install.log" >&2 && exit 1; }
	truncate --size=3G "$place/disk"
	mke2fs -q -t ext4 -d "$root" "$place/disk"
}

# The package with a higher version.
make_newer() {
	local version named new=$place/newer
	version=$(dpkg-deb -f "$package" Version)
	dpkg-deb -R "$package" "$new"
	grep -rlF "$version" "$new" | xargs sed -i "s/${version//./\\.}/&.1/g"
	named=$(find "$new" -depth -name "*$version*")
	mv "$named" "$named.1"
	dpkg-deb -b "$new" "$1" >/dev/null
}

# A boot with arguments, which adds to FILE what it sent. The time of the machine is that of its
# instructions, as for `stock:` kernels: a busy host makes no test late.
boot() {
	local file=$1
	timeout 3h setpriv --pdeathsig KILL qemu-system-x86_64 -accel tcg,tb-size=256 -icount shift=0,sleep=off,align=off \
		-rtc clock=vm -cpu max,la57=off,erms=off,fsrm=off -smp 1 -m 1024 \
		-nodefaults -display none -no-reboot -serial "file:$place/console" -serial "file:$place/line" \
		-drive "file=$place/disk,format=raw,if=virtio" -kernel "$image" \
		-initrd "$place/root/boot/initrd.img-$release" \
		-append "console=ttyS0 root=/dev/vda panic=-1 reboot=k no_timer_check rcupdate.rcu_cpu_stall_timeout=300 rw $2"
	tr -d '\r' <"$place/line" >>"$file"
	tr -d '\r' <"$place/console" >>"$file.console"
}

# What is wrong with the two starts, and with the tests.
judge() {
	local lost file script modules stage
	grep -aHE '\] (WARNING:|.*BUG:|.*Oops|rcu: INFO:|general protection|refcount_t:)' "$out"/*"-$release-$id.txt.console" || true
	for stage in $stages; do
		file=$out/$stage-$release-$id.txt
		[[ $(grep -cx "$scheduler" "$file") == 2 ]] || echo "$stage: the scheduler of sysctl.d is not there after two starts"
		[[ $(grep -c "default.* minrtt\|minrtt.* default" "$file") == 2 ]] || echo "$stage: modules are missing after a start"
		[[ $stage == upgrade ]] || continue
		[[ $(grep -cx "carried 2097152" "$file") == 2 ]] || echo "upgrade: a connection did not carry all of its data"
		grep -q "sockets use modules of the version before" "$file" || echo "upgrade: no word that it waits for a start"
		grep -q "sockets use mptcp_$scheduler, which stays loaded" "$file" || echo "upgrade: no word that a module stays"
		[[ $(grep -cx default "$file") == 2 ]] || echo "upgrade: schedulers are left after the removal"
	done
	for script in "${scripts[@]}"; do
		for modules in none default "$scheduler"; do
			file=$out/$script-$modules-$release-$id.txt
			passed "$file" >"$place/$modules"
			lost=$(comm -23 "$place/none" "$place/$modules")
			# these want a path that is called stale, or no data on a backup: docs/kernels.md
			[[ $script-$modules != mptcp_join.sh-overflow ]] || lost=$(grep -vE 'links? fail' <<<"$lost") || true
			echo "$release, $script, $modules: $(wc -l <"$place/$modules") subtests pass" >&2
			[[ -s $place/$modules ]] || echo "$script, $modules: no subtest passes"
			[[ -z $lost ]] || echo "these do not pass: $lost"
		done
	done
}
passed() { sed -nE 's/^ok [0-9]+ (- )?//p' "$1" | grep -v '# SKIP' | sed 's/ *#.*//' | sort -u; }

# perform NAME ARGUMENTS...: a boot with each of the arguments.
perform() {
	local name=$1 file=$out/$1-$release-$id.txt each
	[[ ! -e $file ]] || return 0
	shift
	make_disk
	echo "$release: $name" >&2
	rm -f "$file.part"*
	for each; do boot "$file.part" "$each"; done
	mv "$file.part.console" "$file.console"
	mv "$file.part" "$file"
}

[[ $stages != *restart* ]] || perform restart "" ""
for script in "${scripts[@]}"; do
	for modules in none default "$scheduler"; do
		# the kernel takes a word with a dot for a module's parameter, but behind --
		perform "$script-$modules" "init=/root/tests.sh -- $script $modules"
	done
done
# the last one: it leaves a disk without the package
[[ $stages != *upgrade* ]] || perform upgrade stage=upgrade stage=purge ""
wrong=$(judge)
[[ -z $wrong ]] || { echo "$wrong" && status=1; }
((status)) || echo "$release: nothing is wrong"
exit "$status"
