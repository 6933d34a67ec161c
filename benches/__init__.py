# SPDX-License-Identifier: GPL-2.0-only
"""What a run costs: beside others that do the same, and as it grows. `make bench`."""
