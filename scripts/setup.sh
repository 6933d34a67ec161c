#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Installs the Debian packages that are missing, and says which before it does.
# Silent and without root when nothing is missing. `--lint` adds what `make lint` needs, `--test`
# what tests use beside, `--bench` what benches do on the host's own kernel, `--selftests` what the
# kernel's MPTCP selftests use, `--stock` what runs Debian's kernel packages, and those.
set -euo pipefail
cd "$(dirname "$0")/.."
# An ordinary user's PATH lacks the directories where Debian keeps tools for root.
export PATH="$PATH:/usr/sbin:/sbin"

missing=()
need_command() { command -v "$1" >/dev/null || missing+=("$2"); }

scripts/python.sh >/dev/null 2>&1 || missing+=(python3 python3-venv)
for tool in gcc make flex bison bc patch; do need_command "$tool" "$tool"; done
need_command ld binutils
need_command xz xz-utils
if command -v gcc >/dev/null && [[ $(gcc -print-file-name=libc.a) != /* ]] ||
	! [[ -e /usr/include/stdio.h ]]; then
	missing+=(libc6-dev)
fi
[[ -e /usr/src/linux-source-6.12.tar.xz ]] || missing+=(linux-source-6.12)
if [[ ${1-} == --lint ]]; then
	need_command shellcheck shellcheck
	need_command prove perl # checkpatch.pl uses modules that are not in perl-base
fi
if [[ ${1-} == --test || ${1-} == --bench ]]; then
	need_command ethtool ethtool
	need_command ip iproute2
	need_command sysctl procps
fi
if [[ ${1-} == --test ]]; then
	need_command chromium chromium
	need_command curl curl
	need_command iperf3 iperf3
	need_command nginx nginx-light
	need_command ping iputils-ping
	need_command tcpdump tcpdump
	need_command tshark tshark
fi
if [[ ${1-} == --selftests ]]; then
	need_command ethtool ethtool
	need_command ip iproute2
	need_command iptables iptables
	need_command nft nftables
	need_command ping iputils-ping
	need_command ps procps
fi
if [[ ${1-} == --stock ]]; then
	need_command qemu-system-x86_64 qemu-system-x86
	need_command dpkg-deb dpkg
fi

# Of each flavour the newest kernel of the series that the lab builds; into the cache, not installed.
download_kernels() {
	local cache=${XDG_CACHE_HOME-} flavour name
	[[ $cache == /* ]] || cache=$HOME/.cache
	cache+=/mptcplab/stock
	if ! command -v apt-get >/dev/null; then
		echo "This is no Debian: there is no apt-get. Put Debian's packages linux-image-6.12.*-amd64" \
			"and linux-image-6.12.*-cloud-amd64 into $cache." >&2
		exit 1
	fi
	mkdir -p "$cache"
	cd "$cache"
	for flavour in amd64 cloud-amd64; do
		name=$(apt-cache search --names-only "^linux-image-6\.12\.[0-9]+[^-]*-$flavour(-unsigned)?$" |
			cut -d ' ' -f 1 | sort -V | tail -n 1)
		if [[ -z $name ]]; then
			echo "apt knows no package linux-image-6.12.*-$flavour. As root, run: apt-get update" >&2
			exit 1
		fi
		compgen -G "${name}_*.deb" >/dev/null && continue
		echo "Downloading the Debian package $name into $cache"
		apt-get download --quiet=2 "$name"
	done
}
((${#missing[@]})) || {
	if [[ ${1-} == --stock ]]; then download_kernels; fi
	exit 0
}

as_root=()
if ((EUID != 0)); then as_root=(sudo); fi
install=(apt-get install --yes --no-install-recommends "${missing[@]}")
give_up() {
	echo "$1 As root, run:"
	echo "  apt-get update && ${install[*]}"
	exit 1
} >&2

if ! command -v apt-get >/dev/null; then
	echo "This is no Debian: there is no apt-get. Install what its packages hold: ${missing[*]}" >&2
	exit 1
fi
((EUID == 0)) || command -v sudo >/dev/null ||
	give_up "Packages are missing, and you are neither root nor is there sudo."

echo "Installing these Debian packages: ${missing[*]}"
echo "  ${as_root[*]+${as_root[*]} }apt-get update && ${as_root[*]+${as_root[*]} }${install[*]}"
if ! "${as_root[@]}" apt-get update --quiet=2 ||
	! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "${install[@]}" --quiet=2; then
	give_up "The packages could not be installed (see above)."
fi
if [[ ${1-} == --stock ]]; then download_kernels; fi
