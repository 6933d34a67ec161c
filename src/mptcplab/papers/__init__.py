# SPDX-License-Identifier: GPL-2.0-only
"""Published experiments: run again, and their claims judged."""
