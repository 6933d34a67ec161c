# SPDX-License-Identifier: GPL-2.0-only
"""What the commands do: a module for each group of them."""
