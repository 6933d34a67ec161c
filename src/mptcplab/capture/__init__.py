# SPDX-License-Identifier: GPL-2.0-only
"""Analysis of captures alone: the fields of their headers, and figures computed from them."""
