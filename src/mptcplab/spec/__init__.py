# SPDX-License-Identifier: GPL-2.0-only
"""Scenarios, which are read, checked and resolved, and the plan that is made of them."""
