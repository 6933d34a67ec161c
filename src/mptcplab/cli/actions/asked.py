# SPDX-License-Identifier: GPL-2.0-only
"""What is asked for, in a file and in options.

This is read before anything else is imported, so that a mistake in it is said at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mptcplab.spec import resolve
from mptcplab.spec.flags import Flags
from mptcplab.spec.resolve import Request


def flags(options: Mapping[str, Any]) -> Flags:
    """Those of the options that describe a scenario."""
    names = Flags.__dataclass_fields__
    return Flags(**{name: value for name, value in options.items() if name in names})


def request(file: Path | None, options: Mapping[str, Any], *, single: bool) -> Request:
    """What is asked for in a file, in options, or in both."""
    given = flags(options)
    if file is None:
        return resolve.from_flags(given, single=single)
    return resolve.load_file(file, given, single=single)
