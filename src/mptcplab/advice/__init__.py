# SPDX-License-Identifier: GPL-2.0-only
"""Which scheduler for some paths: what is tried, what is best, and how sure that is."""
