# SPDX-License-Identifier: GPL-2.0-only
"""Checks of the lab itself: benchmarks, accuracy, the kernel's selftests."""
