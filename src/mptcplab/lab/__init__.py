# SPDX-License-Identifier: GPL-2.0-only
"""The kernel and the guest: built, and run as a process in virtual time."""
