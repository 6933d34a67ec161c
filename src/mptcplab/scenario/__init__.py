# SPDX-License-Identifier: GPL-2.0-only
"""Scenarios, which are read, checked and resolved."""
