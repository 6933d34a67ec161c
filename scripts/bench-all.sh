#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Every benchmark in one call: bench-all.sh OLD OUT. What each prints is kept in OUT, and a benchmark whose
# output is kept is not repeated: after Ctrl-C, the same command goes on.
set -euo pipefail
old=$1 out=$2
cd "$(dirname "$(readlink -f "$0")")/.."
mkdir -p "$out"

measure() {
	local file=$out/$1.txt
	shift
	if [[ ! -e $file ]]; then
		echo "bench-all: $*" >&2
		"$@" | tee "$file.part"
		mv "$file.part" "$file"
	else
		cat "$file"
	fi
}

measure "against-$old" .venv/bin/python -m checks.bench_against "$old"
measure runs .venv-bench/bin/python -m benches
measure start .venv/bin/python -m benches.start
measure workers .venv/bin/python -m benches.workers
measure sweep .venv/bin/python -m benches.sweep 10000 "$out/sweep"
