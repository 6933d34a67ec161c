# SPDX-License-Identifier: GPL-2.0-only
"""The casebook: what people reported of MPTCP in public, run again and explained."""
