# SPDX-License-Identifier: GPL-2.0-only
"""What a run is measured by: its records, the figures of them, and statistics over seeds."""
