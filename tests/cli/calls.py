# SPDX-License-Identifier: GPL-2.0-only
"""Calls of the program, as a person makes them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAM = [sys.executable, "-m", "mptcplab"]


def mptcplab(*arguments: object, status: int = 0, **how: Any) -> subprocess.CompletedProcess[str]:
    """A call that has to end with this status; see `call`."""
    done = call(*arguments, **how)
    assert done.returncode == status, done.stdout + done.stderr
    return done


def call(
    *arguments: object, cwd: Path | None = None, text: str | None = None
) -> subprocess.CompletedProcess[str]:
    """What a call prints, with `text` as its input; it never ends with a traceback."""
    done = subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        **({"stdin": subprocess.DEVNULL} if text is None else {"input": text}),
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done
