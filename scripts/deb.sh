#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Makes dist/mptcplab-schedulers-dkms_VERSION_all.deb: the source of the adapter and of the schedulers
# that it carries, for DKMS. The same checkout gives the same bytes.
#   deb.sh [DIRECTORY]
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
out=${1:-dist}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
epoch=$(git log -1 --format=%ct)

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
source=$tree/usr/src/mptcplab-schedulers-$version
lab=$source/lab
mkdir -p "$lab/sched" "$lab/adapter" "$tree/usr/lib/modules-load.d" "$tree/DEBIAN"

cp dkms/{Kbuild,Makefile,dkms.conf,layout,layout.awk,protocol.h} "$source"
cp -r kernel/mptcp/parts "$lab"
cp kernel/mptcp/{compat,framework,mpsched,params}.h kernel/mptcp/{helpers,params,registry,view}.c "$lab"
cp kernel/mptcp/adapter/* "$lab/adapter"
modules=()
for file in kernel/mptcp/sched/*.c; do
	name=$(basename "$file" .c)
	grep -q "^$name:" kernel/mptcp/adapter/refused && continue
	cp "$file" "$lab/sched"
	modules+=("mptcp_$name")
done

fill() {
	sed -e "s/@VERSION@/$version/" -e "s/@MODULES@/${modules[*]}/" "dkms/$1"
}

{
	echo "PACKAGE_VERSION=\"$version\""
	number=0
	for module in mptcp_adapter "${modules[@]}"; do
		echo "BUILT_MODULE_NAME[$number]=\"$module\""
		echo "DEST_MODULE_LOCATION[$number]=\"/updates/dkms\""
		number=$((number + 1))
	done
} >>"$source/dkms.conf"
printf '%s\n' "# Before sysctl.d, where net.mptcp.scheduler may name one of them." "${modules[@]}" \
	>"$tree/usr/lib/modules-load.d/mptcplab-schedulers.conf"
fill control >"$tree/DEBIAN/control"
for script in postinst prerm; do
	fill "$script" >"$tree/DEBIAN/$script"
	chmod 755 "$tree/DEBIAN/$script"
done
find "$tree" -exec touch --no-dereference --date="@$epoch" {} +
mkdir -p "$out"
SOURCE_DATE_EPOCH=$epoch dpkg-deb --root-owner-group --build "$tree" "$out"
