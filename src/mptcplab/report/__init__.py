# SPDX-License-Identifier: GPL-2.0-only
"""Stored runs for people: tables, pictures, pages, explanations."""
