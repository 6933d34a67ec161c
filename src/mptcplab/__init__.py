# SPDX-License-Identifier: GPL-2.0-only
__version__ = "0.1.0"
