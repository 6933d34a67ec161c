# SPDX-License-Identifier: GPL-2.0-only
"""Packages that only some commands need: the extras of pyproject.toml.

`run`, `compare`, `show`, `explain` and `report` do without. Whatever needs an extra calls `require`
before it does anything else.
"""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from collections.abc import Mapping

from mptcplab.errors import MachineError

#: The modules of each extra.
EXTRAS: Mapping[str, tuple[str, ...]] = {
    "advise": ("scipy",),
    "cluster": ("asyncssh", "cryptography", "dask_jobqueue", "distributed", "fsspec"),
    "gym": ("gymnasium",),
    "papers": ("scipy",),
    "results": ("duckdb", "polars"),
    "sweep": ("polars", "scipy"),
    "tune": ("optuna", "polars", "scipy"),
}


def require(extra: str, what: str, *modules: str) -> None:
    """Raises MachineError, with the command that fixes it, if a package of an extra is missing.

    `what` begins the message and names who needs them, the `modules` [all of the extra].
    """
    if absent := missing(extra, *modules):
        raise lacking(extra, what, *absent)


def missing(extra: str, *modules: str) -> list[str]:
    """The modules of an extra, or only the named ones of them, that are not installed."""
    return [name for name in modules or EXTRAS[extra] if importlib.util.find_spec(name) is None]


def lacking(extra: str, what: str, *absent: str) -> MachineError:
    """The error that `what` lacks some modules, which an extra has."""
    command = shlex.join([sys.executable, "-m", "pip", "install", *_requirements(extra)])
    are = "is" if len(absent) == 1 else "are"
    return MachineError(f"{what} needs {' and '.join(absent)}, which {are} not installed", command)


def _requirements(extra: str) -> list[str]:
    """What the extra asks for, as pip reads it: from the package's metadata."""
    import importlib.metadata  # slow to import

    try:
        stated = importlib.metadata.requires("mptcplab") or []
    except importlib.metadata.PackageNotFoundError:  # it was not installed: PYTHONPATH=src
        stated = []
    marked = re.compile(rf"""([^;]+?)\s*;\s*extra == ['"]{extra}['"]""")
    return [found[1] for line in stated if (found := marked.fullmatch(line))] or [*EXTRAS[extra]]
