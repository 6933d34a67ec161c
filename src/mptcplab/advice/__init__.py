# SPDX-License-Identifier: GPL-2.0-only
"""Advice on a scheduler for some paths: what to try, what is best, and how sure that is."""
