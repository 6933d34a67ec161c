# SPDX-License-Identifier: GPL-2.0-only
"""Builds the kernel and the guest, and runs them as a process in virtual time."""
