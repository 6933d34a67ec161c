# SPDX-License-Identifier: GPL-2.0-only
"""Many runs: made on this machine or others, stored, and found again."""
