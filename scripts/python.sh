#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Prints the first python that is 3.11 or newer and can make virtual environments with pip.
# One that is first in PATH wins (pyenv, say), Debian's own is the last resort.
set -u
for python in python3 python3.11 python3.12 python3.13 python3.14 /usr/bin/python3; do
	# The base executable: an active virtual environment must not become the parent of another.
	"$python" -c 'import sys, venv, ensurepip
sys.version_info >= (3, 11) or sys.exit(1)
print(sys._base_executable)' 2>/dev/null && exit 0
done
echo "no python3 found that is 3.11 or newer and has venv and ensurepip" >&2
exit 1
