# SPDX-License-Identifier: GPL-2.0-only
"""Races between CPUs, looked for in a virtual machine with several: `make smp-test`."""
