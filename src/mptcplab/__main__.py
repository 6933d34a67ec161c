# SPDX-License-Identifier: GPL-2.0-only
"""python -m mptcplab is the command mptcplab."""

from mptcplab.cli import main

main()
