# SPDX-License-Identifier: GPL-2.0-only
"""The lab's kernel against an unmodified distribution kernel: `make stock-check`."""
