# SPDX-License-Identifier: GPL-2.0-only
"""Which commit changed the figures of a scenario: `git bisect` with runs of the lab."""
