# SPDX-License-Identifier: GPL-2.0-only
"""The plan of a run: the commands and timed lines that a scenario becomes."""
