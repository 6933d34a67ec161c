# SPDX-License-Identifier: GPL-2.0-only
"""Version 0 of MPTCP beside version 1, in two virtual machines: `make interop`."""
