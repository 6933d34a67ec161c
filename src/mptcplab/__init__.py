# SPDX-License-Identifier: GPL-2.0-only
"""Multipath TCP in the real Linux kernel, in virtual time. docs/python.md has what is offered here.

What is not used is not imported: a worker, or `mptcplab --help`, needs little of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_OFFERED = (
    *("Comparison", "InputError", "MptcplabError", "Request", "Run", "RunError", "Scenario"),
    *("Swept", "cluster_settings", "compare", "congestion_controls", "open_run", "query"),
    *("read_runs", "request", "run", "run_sweep", "schedulers", "write_report"),
)

if TYPE_CHECKING:
    from mptcplab.api import Comparison as Comparison
    from mptcplab.api import InputError as InputError
    from mptcplab.api import MptcplabError as MptcplabError
    from mptcplab.api import Request as Request
    from mptcplab.api import Run as Run
    from mptcplab.api import RunError as RunError
    from mptcplab.api import Scenario as Scenario
    from mptcplab.api import Swept as Swept
    from mptcplab.api import cluster_settings as cluster_settings
    from mptcplab.api import compare as compare
    from mptcplab.api import congestion_controls as congestion_controls
    from mptcplab.api import open_run as open_run
    from mptcplab.api import query as query
    from mptcplab.api import read_runs as read_runs
    from mptcplab.api import request as request
    from mptcplab.api import run as run
    from mptcplab.api import run_sweep as run_sweep
    from mptcplab.api import schedulers as schedulers
    from mptcplab.api import write_report as write_report


def __getattr__(name: str) -> Any:
    if name in _OFFERED:
        from mptcplab import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted((*globals(), *_OFFERED))
