# SPDX-License-Identifier: GPL-2.0-only
"""What captures alone tell: columns of their headers, and figures of these."""
