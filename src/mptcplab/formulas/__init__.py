# SPDX-License-Identifier: GPL-2.0-only
"""Formulas in files: evaluated, with units, and filled into templates over a space."""
