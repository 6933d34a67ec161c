# SPDX-License-Identifier: GPL-2.0-only
"""Measurement of runs: records, the figures computed from them, and statistics over seeds."""
