# SPDX-License-Identifier: GPL-2.0-only
"""What looks after the lab itself: benchmarks, accuracy, the kernel's selftests."""
