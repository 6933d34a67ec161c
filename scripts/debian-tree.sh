#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Makes a tree of Debian by debootstrap, as root, unless it is there. It reaches mirrors as this machine does.
#   debian-tree.sh SYSTEM TREE PACKAGES [COMMAND]
# SYSTEM is bookworm or trixie; PACKAGES have commas between them; the COMMAND is executed in the new tree.
set -euo pipefail
system=$1 tree=$2 packages=$3 command=${4-}

fail() {
	echo "$*" >&2
	exit 2
}

# What apt uses here, of the repository with this label.
mirror() {
	# shellcheck disable=SC2016 # apt's variable
	apt-get indextargets --format '$(REPO_URI)' "Created-By: Packages" "Label: $1" | sed -n 1p
}

connect() {
	cp --remove-destination -L /etc/resolv.conf /etc/hosts "$1/etc/"
	cp /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/"
	[[ ! -e /etc/pip.conf ]] || cp /etc/pip.conf "$1/etc/"
	apt-config dump | grep -E '^Acquire::(https?|Check)' >"$1/etc/apt/apt.conf.d/90host" || true
}

if [[ ! -e $tree ]]; then
	main=$(mirror Debian) security=$(mirror Debian-Security)
	[[ $main && $security ]] || fail "apt knows no mirror of Debian and its security updates. Run: apt-get update"
	((EUID == 0)) || fail "Trees of Debian are made by root alone."
	command -v debootstrap >/dev/null || fail "debootstrap is missing. As root, run: apt-get install debootstrap"
	mkdir -p "$(dirname "$tree")"
	log=$(dirname "$tree")/debootstrap.log
	echo "Making a tree of Debian ($system) in $tree"
	rm -rf --one-file-system "$tree.new"
	debootstrap --variant=minbase --include="ca-certificates,$packages" "$system" "$tree.new" "$main" \
		>"$log" || fail "debootstrap failed: see $log"
	printf 'deb %s %s main\n' "$main" "$system" "$main" "$system-updates" "$main" "$system-backports" \
		"$security" "$system-security" >"$tree.new/etc/apt/sources.list"
	connect "$tree.new"
	# Its mounts end with it.
	[[ ! $command ]] || unshare --mount --pid --fork bash -euc \
		"mount -t proc proc '$tree.new/proc'; chroot '$tree.new' bash -euc '$command'" >>"$log" 2>&1 ||
		fail "The packages of the tree could not be installed: see $log"
	mv "$tree.new" "$tree"
fi
connect "$tree"
