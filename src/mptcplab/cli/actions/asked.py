# SPDX-License-Identifier: GPL-2.0-only
"""The request that a file and options describe.

It is read before anything else is imported, so that mistakes in it are reported at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mptcplab.errors import InputError, Problem
from mptcplab.scenario import resolve
from mptcplab.scenario.flags import Flags
from mptcplab.scenario.resolve import Request


def flags(options: Mapping[str, Any]) -> Flags:
    """The options that describe a scenario."""
    names = Flags.__dataclass_fields__
    return Flags(**{name: value for name, value in options.items() if name in names})


def require_no_kernels(request: Request, why: str) -> None:
    """Raises InputError, with the reason, if a request names kernels."""
    if request.kernels:
        names = ", ".join(request.kernels)
        raise InputError([Problem("kernel", "", names, f"{why}; leave it out")])


def request(file: Path | None, options: Mapping[str, Any], *, single: bool) -> Request:
    """The request of a file, of options, or of both."""
    given = flags(options)
    if file is None:
        return resolve.from_flags(given, single=single)
    return resolve.load_file(file, given, single=single)
