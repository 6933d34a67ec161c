# SPDX-License-Identifier: GPL-2.0-only
"""From measurements of paths to a scenario with its uncertainty."""
