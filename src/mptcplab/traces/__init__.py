# SPDX-License-Identifier: GPL-2.0-only
"""Traces of links over time: read, drawn, and computed by the radio model."""
