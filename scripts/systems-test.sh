#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Does what README.md says on fresh systems: in trees of Debian 12 and 13 with nothing but what a clone
# needs, as root and as a user who may use sudo, each with an empty home, it clones what is committed
# here, and calls `make demo` and `make test`. Then a table; status 1 if a test failed.
#   systems-test.sh [bookworm] [trixie] [root] [user]
# Needs root and debootstrap. The trees, logs and results are in the cache. A result that is good is kept
# until there is another commit. Mounts and processes are in namespaces that end with this program, however
# it ends. PYTEST_ARGS is handed on.
set -euo pipefail
program=$(readlink -f "$0")
cd "$(dirname "$program")/.."

declare -A names=([bookworm]="Debian 12" [trixie]="Debian 13")
cache=${XDG_CACHE_HOME-}
[[ $cache == /* ]] || cache=${HOME-}/.cache
cache+=/mptcplab/systems

fail() {
	echo "$*" >&2
	exit 2
}

# A system as it is after its installation, but for what README.md asks for: git, make and sudo.
make_tree() {
	mkdir -p "$cache/$1/archives/partial"
	scripts/debian-tree.sh "$1" "$cache/$1/tree" git,make,sudo "
		useradd --create-home --shell /bin/bash user
		echo \"user ALL=(ALL) NOPASSWD: ALL\" >/etc/sudoers.d/user"
}

# One system and user, in namespaces of its own.
inside() {
	local root=$1 user=$2 home=/root path=/usr/local/bin:/usr/bin:/bin passed line command
	if [[ $user == root ]]; then path=/usr/local/sbin:/usr/sbin:/sbin:$path; else home=/home/$user; fi
	trap 'exit 130' INT TERM
	# Its root is a mount, as everywhere: without that, nobody in it can make a mount namespace.
	mount --bind "$root" "$root"
	mount -t proc proc "$root/proc"
	mount -t sysfs -o ro sysfs "$root/sys"
	mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
	mount -t tmpfs tmpfs "$root/dev/shm"
	mount --bind "$(dirname "$root")/archives" "$root/var/cache/apt/archives"
	mapfile -t passed < <(env | grep -E '^(PIP_(CERT|DEFAULT_TIMEOUT|INDEX_URL|PROXY)=|(https?|no)_proxy=|(HTTPS?|NO)_PROXY=|PYTEST_)')
	for line in "git clone --quiet /mptcplab.bundle mptcplab" "make -C mptcplab demo" "make -C mptcplab test"; do
		echo "$ $line"
		read -ra command <<<"$line"
		chroot --userspec "$user:$user" "$root" env -i -C "$home" HOME="$home" USER="$user" SHELL=/bin/bash \
			PATH="$path" TERM=dumb "${passed[@]}" "${command[@]}" || exit
	done
}

# What pytest counted of this, in the last lines of a log.
counted() { tail -n 5 "$1" | sed -nE "s/^(.*[ =])?([0-9]+) $2.* in [0-9.]+s.*/\2/p"; }

run() {
	local system=$1 user=$2 commit root=$cache/$1/$2 begin=$SECONDS status=0 passed failed errors skipped
	local log=$root.log result=$root.result
	commit=$(git rev-parse HEAD)${PYTEST_ARGS:+ $PYTEST_ARGS}
	if [[ -e $result && $(cut -f 1,5 "$result") == "$commit"$'\t0' ]]; then
		echo "${names[$system]}, $user: has passed with this commit"
		return
	fi
	make_tree "$system"
	rm -rf --one-file-system "$root" "$result"
	cp -a "$cache/$system/tree" "$root"
	git bundle create --quiet "$root/mptcplab.bundle" HEAD
	echo "${names[$system]}, $user: make demo, make test; the log: $log"
	setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child "$program" --inside "$root" "$user" \
		>"$log" 2>&1 </dev/null || status=$?
	((status != 130)) || exit 130
	passed=$(counted "$log" passed) skipped=$(counted "$log" skipped)
	failed=$(counted "$log" failed) errors=$(counted "$log" errors?)
	failed=$((${failed:-0} + ${errors:-0}))
	((failed || !status)) || failed="status $status"
	printf '%s\t' "$commit" "${names[$system]}" "$user" "${passed:-0}" "$failed" "${skipped:-0}" >"$result"
	echo $(((SECONDS - begin + 59) / 60)) >>"$result"
	((status)) || rm -rf --one-file-system "$root"
}

if [[ ${1-} == --inside ]]; then
	inside "$2" "$3"
	exit
fi
systems=() users=()
for word in "$@"; do
	case $word in
		bookworm | trixie) systems+=("$word") ;;
		root | user) users+=("$word") ;;
		*) fail "$word: neither a system (bookworm, trixie) nor a user (root, user)" ;;
	esac
done
((EUID == 0)) || fail "Systems are made and entered by root alone. Run: sudo make systems-test"
command -v debootstrap >/dev/null || fail "debootstrap is missing. As root, run: apt-get install debootstrap"

((${#systems[@]})) || systems=(bookworm trixie)
((${#users[@]})) || users=(root user)
status=0 rows=(system user passed failed skipped minutes)
for system in "${systems[@]}"; do
	for user in "${users[@]}"; do
		run "$system" "$user"
		IFS=$'\t' read -ra row < <(cut -f 2- "$cache/$system/$user.result")
		rows+=("${row[@]}")
		[[ ${row[3]} == 0 ]] || status=1
	done
done
printf '%-10s %-5s %8s %9s %8s %8s\n' "${rows[@]}"
exit "$status"
