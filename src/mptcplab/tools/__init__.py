# SPDX-License-Identifier: GPL-2.0-only
"""Checks of the lab itself, and of what it published."""
