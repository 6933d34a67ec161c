# SPDX-License-Identifier: GPL-2.0-only
"""Published experiments: runs them again, and judges their claims."""
