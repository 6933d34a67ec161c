# SPDX-License-Identifier: GPL-2.0-only
"""Many runs: made on this machine or on others, stored, and found again."""
