# SPDX-License-Identifier: GPL-2.0-only
"""Processes that are interrupted by tests."""

from __future__ import annotations

import signal


def heed() -> None:
    """As `preexec_fn`: who starts the tests in the background has interrupts ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
