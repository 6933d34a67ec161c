# SPDX-License-Identifier: GPL-2.0-only
"""The project checks itself, and what it published: targets of the Makefile run these."""
