# SPDX-License-Identifier: GPL-2.0-only
"""Directories that cannot be written to, also by root, whom modes do not hold."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.calls import call


@contextmanager
def read_only(place: Path) -> Iterator[None]:
    """Nothing in a directory can be written, nor made."""
    everything = [place, *place.rglob("*")]
    modes = {each: each.stat().st_mode for each in everything if not each.is_symlink()}
    try:
        for each, mode in modes.items():
            each.chmod(mode & ~0o222)
        yield
    finally:
        for each, mode in modes.items():
            each.chmod(mode)


def called(
    directory: Path, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """The program, called in a directory by somebody who may write only where modes say so."""
    as_anybody = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search,-fowner")
    through = as_anybody if os.geteuid() == 0 else ()
    return call(*arguments, cwd=directory, through=through, environment=environment)
