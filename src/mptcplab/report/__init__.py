# SPDX-License-Identifier: GPL-2.0-only
"""Presents stored runs: tables, pictures, pages, explanations."""
