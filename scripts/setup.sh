#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Installs the Debian packages that are missing, and says which before it does; on other systems it
# only says which are missing, under the names that they have there, and how to install them.
# Silent and without root when nothing is missing. `--lint` adds what `make lint` needs, `--test`
# what tests use beside, `--bench` what benches do on the host's own kernel, `--selftests` what the
# kernel's MPTCP selftests use, `--stock` what runs Debian's kernel packages, and those, `--smp` what
# builds and runs a kernel for several CPUs, `--vm` a tree of Debian 13 with two kernels, their headers
# and compiler, and what boots them, `--kernels` the sources of the other series of Linux that there
# are patches for, `--deb` what makes Debian packages.
# KERNEL_SOURCE is the archive of the kernel if it is not that of Debian's package; OS_RELEASE the
# file that says which system this is.
set -euo pipefail
cd "$(dirname "$0")/.."
# An ordinary user's PATH lacks the directories where Debian keeps tools for root.
export PATH="$PATH:/usr/sbin:/sbin"

kernel_package=linux-source-6.12
cache=${XDG_CACHE_HOME-}
[[ $cache == /* ]] || cache=${HOME-}/.cache
cache+=/mptcplab

missing=()
need_command() { command -v "$1" >/dev/null || missing+=("$2"); }

scripts/python.sh >/dev/null 2>&1 || missing+=(python3 python3-venv)
for tool in gcc make flex bison bc patch; do need_command "$tool" "$tool"; done
need_command ld binutils
need_command xz xz-utils
# Every Debian has these.
need_command perl perl
need_command tar tar
need_command find findutils
need_command cmp diffutils
if command -v gcc >/dev/null && [[ $(gcc -print-file-name=libc.a) != /* ]] ||
	! [[ -e /usr/include/stdio.h ]]; then
	missing+=(libc6-dev)
fi
# A source that was chosen before is remembered there; if it is gone, the build says so.
[[ -e ${KERNEL_SOURCE-/usr/src/$kernel_package.tar.xz} || -e $cache/kernel/source.json ]] ||
	missing+=("$kernel_package")
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
	need_command dpkg-deb dpkg
	need_command fish fish
	need_command git git
	need_command iperf3 iperf3
	need_command nginx nginx-light
	need_command pahole pahole
	need_command ping iputils-ping
	need_command tcpdump tcpdump
	need_command tshark tshark
	need_command zsh zsh
	need_command zstd zstd
fi
if [[ ${1-} == --selftests ]]; then
	need_command ethtool ethtool
	need_command ip iproute2
	need_command iptables iptables
	need_command nft nftables
	need_command ping iputils-ping
	need_command ps procps
fi
if [[ ${1-} == --stock || ${1-} == --smp || ${1-} == --vm ]]; then
	need_command qemu-system-x86_64 qemu-system-x86
fi
if [[ ${1-} == --smp ]]; then
	[[ -e /usr/include/gelf.h ]] || missing+=(libelf-dev)
fi
if [[ ${1-} =~ ^--(stock|kernels|vm|deb)$ ]]; then
	need_command dpkg-deb dpkg
fi
if [[ ${1-} == --vm ]]; then
	need_command debootstrap debootstrap
	need_command mke2fs e2fsprogs
fi

# Of each flavour the newest kernel of the series that the lab builds; into the cache, not installed.
download_kernels() {
	local stock=$cache/stock flavour name release base
	if ! command -v apt-get >/dev/null; then
		echo "This is no Debian: there is no apt-get. Put Debian's packages linux-image-6.12.*-amd64" \
			"and linux-image-6.12.*-cloud-amd64 into $stock." >&2
		exit 1
	fi
	mkdir -p "$stock"
	cd "$stock"
	for flavour in amd64 cloud-amd64; do
		name=$(apt-cache search --names-only "^linux-image-6\.12\.[0-9]+[^-]*-$flavour(-unsigned)?$" |
			cut -d ' ' -f 1 | sort -V | tail -n 1)
		if [[ -z $name ]]; then
			echo "apt knows no package linux-image-6.12.*-$flavour. As root, run: apt-get update" >&2
			exit 1
		fi
		# With its headers, our own package can be built for it.
		release=${name#linux-image-}
		release=${release%-unsigned}
		base=${release%"-$flavour"}
		for name in "$name" "linux-headers-$release" "linux-headers-$base-common" "linux-kbuild-$base"; do
			compgen -G "${name}_*.deb" >/dev/null && continue
			echo "Downloading the Debian package $name into $stock"
			apt-get download --quiet=2 "$name"
		done
	done
}

# Debian's source of each series that there are patches for, but for its own, which is installed;
# into the cache. From Debian's backports at the mirror that apt uses here, signed by Debian; apt's
# own lists and sources stay as they are.
download_sources() {
	local sources=$cache/sources backports=trixie-backports series archive mirror apt
	if ! command -v apt-get >/dev/null; then
		echo "This is no Debian: there is no apt-get. Get the sources as archives. See docs/kernels.md." >&2
		exit 1
	fi
	# shellcheck disable=SC2016 # apt's variable
	mirror=$(apt-get indextargets --format '$(REPO_URI)' "Created-By: Packages" "Label: Debian" |
		sed -n 1p)
	if [[ -z $mirror ]]; then
		echo "apt knows no mirror of Debian. As root, run: apt-get update" >&2
		exit 1
	fi
	mkdir -p "$sources"
	# a series without patches for upstream's MPTCP is a source that users bring
	for series in kernel/patches/*/mptcp; do
		series=$(basename "$(dirname "$series")")
		archive=$sources/linux-source-$series.tar.xz
		[[ linux-source-$series != "$kernel_package" && ! -e $archive ]] || continue
		echo "Downloading Debian's linux-source-$series of $backports into $sources"
		rm -rf "$sources/apt"
		mkdir -p "$sources/apt/lists/partial" "$sources/apt/cache/archives/partial"
		printf '%s\n' "Types: deb" "URIs: $mirror" "Suites: $backports" "Components: main" \
			"Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg" >"$sources/apt/debian.sources"
		apt=(apt-get --quiet=2 -o "Dir::Etc::SourceList=$sources/apt/debian.sources"
			-o Dir::Etc::SourceParts=- -o "Dir::State::Lists=$sources/apt/lists"
			-o "Dir::Cache=$sources/apt/cache" -o APT::Sandbox::User=root)
		"${apt[@]}" update
		(cd "$sources/apt" && "${apt[@]}" download "linux-source-$series")
		dpkg-deb -x "$sources/apt/linux-source-$series"_*.deb "$sources/apt"
		mv "$sources/apt/usr/src/linux-source-$series.tar.xz" "$archive"
		rm -rf "$sources/apt"
	done
}

# Debian 13 with its own kernel and the one of its backports, their headers, and what `make vm-test-all`
# uses inside. Root makes it, and everybody can use it.
make_tree() {
	local packages=systemd-sysv,udev,dkms,pahole,gcc,make,kmod,procps,iproute2,ethtool,iputils-ping
	local install="apt-get install -q -y --no-install-recommends" as_root=()
	local kernel="linux-image-cloud-amd64 linux-headers-cloud-amd64"
	[[ ! -e $cache/vm/tree ]] || return 0
	((EUID == 0)) || as_root=(sudo)
	"${as_root[@]}" scripts/debian-tree.sh trixie "$cache/vm/tree" "$packages,nftables,iptables,ccache" \
		"export DEBIAN_FRONTEND=noninteractive; apt-get update -q; $install $kernel
		$install -t trixie-backports $kernel; apt-get clean"
}

# What is put into the cache, once all packages are there.
download() {
	case ${1-} in
		--stock) download_kernels ;;
		--kernels) download_sources ;;
		--vm) make_tree ;;
	esac
}
((${#missing[@]})) || {
	download "$@"
	exit 0
}

# The program that installs packages here, if we know their names for it.
package_manager() {
	local word
	# shellcheck source=/dev/null
	for word in $(. "${OS_RELEASE-/etc/os-release}" 2>/dev/null && echo "${ID-} ${ID_LIKE-}"); do
		case $word in
			debian | ubuntu) echo apt && return ;;
			fedora | rhel | centos) echo dnf && return ;;
			arch) echo pacman && return ;;
		esac
	done
}

# Debian's names of packages as those of Fedora or Arch, each once.
translated() {
	local debian fedora arch name package found=" "
	for package in "$@"; do
		while read -r debian fedora arch; do
			[[ $debian == "$package" ]] || continue
			if [[ $manager == dnf ]]; then name=$fedora; else name=$arch; fi
			name=${name//+/ }
			[[ $name == - || $found == *" $name "* ]] || found+="$name "
		done <src/mptcplab/lab/packages.txt
	done
	found=${found# }
	echo "${found% }"
}

# Whether the source of the kernel is missing; then, how to go on.
lacks_source() { [[ " ${missing[*]} " == *" $kernel_package "* ]]; }
explain_source() {
	echo "This system has no package of the source of Linux 6.12. Get it as an archive, and choose it:"
	echo "  make demo KERNEL_SOURCE=ARCHIVE"
	echo "It is remembered from then on. See docs/systems.md."
} >&2

manager=$(package_manager)
if [[ $manager != apt ]]; then
	if [[ -z $manager ]]; then
		echo "The packages of this system are not known. Install what Debian's hold: ${missing[*]}"
	else
		names=$(translated "${missing[@]}")
		command="dnf install"
		[[ $manager == dnf ]] || command="pacman -S --needed"
		[[ -z $names ]] || printf '%s\n' "Packages are missing (their names have not been tried here)." \
			"As root, run:" "  $command $names"
		! lacks_source || explain_source
	fi
	exit 1
fi >&2

as_root=()
if ((EUID != 0)); then as_root=(sudo); fi
install=(apt-get install --yes --no-install-recommends)
give_up() {
	echo "$1 As root, run:"
	echo "  apt-get update && ${install[*]} ${missing[*]}"
	exit 1
} >&2

if ! command -v apt-get >/dev/null; then
	echo "There is no apt-get, though this is a Debian. Install its packages: ${missing[*]}" >&2
	exit 1
fi
((EUID == 0)) || command -v sudo >/dev/null ||
	give_up "Packages are missing, and you are neither root nor is there sudo."

said=${as_root[*]+${as_root[*]} }
echo "Installing these Debian packages: ${missing[*]}"
echo "  ${said}apt-get update && $said${install[*]} ${missing[*]}"
"${as_root[@]}" apt-get update --quiet=2 || give_up "The packages could not be found (see above)."
without_source=
if lacks_source && ! apt-cache show "$kernel_package" >/dev/null 2>&1; then
	without_source=yes
	kept=()
	for name in "${missing[@]}"; do [[ $name == "$kernel_package" ]] || kept+=("$name"); done
	missing=("${kept[@]+"${kept[@]}"}")
fi
if ((${#missing[@]})) && ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "${install[@]}" \
	--quiet=2 "${missing[@]}"; then
	give_up "The packages could not be installed (see above)."
fi
if [[ $without_source ]]; then
	explain_source
	exit 1
fi
download "$@"
