# SPDX-License-Identifier: GPL-2.0-only
"""The work of the commands."""
