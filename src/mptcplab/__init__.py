# SPDX-License-Identifier: GPL-2.0-only
"""Multipath TCP in the real Linux kernel, in virtual time. docs/python.md lists its names.

Each name is imported when it is used: a worker, or `mptcplab --help`, needs few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_OFFERED = (
    *("Comparison", "Figure", "InputError", "MptcplabError", "Request", "Run", "RunError"),
    *("Scenario", "Swept", "cluster_settings", "compare", "congestion_controls", "figure"),
    *("open_run", "query", "read_runs", "request", "run", "run_sweep", "schedulers"),
    "write_report",
)

if TYPE_CHECKING:
    from mptcplab.api import *  # noqa: F403


def __getattr__(name: str) -> Any:
    if name in _OFFERED:
        from mptcplab import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted((*globals(), *_OFFERED))
