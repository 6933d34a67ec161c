# SPDX-License-Identifier: GPL-2.0-only
"""Where runs are kept: OUT/runs/KEY/, each whole or not there at all.

The key is a hash of everything that a run depends on: the resolved scenario with its seed, and
the builds of kernel and guest. `result.json` and the records of a key are always the same bytes;
`cost.json` has what is wall-clock.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mptcplab.errors import MptcplabError
from mptcplab.guest import Guest
from mptcplab.kernel import KernelBuild
from mptcplab.scenario import Scenario

RESULT = "result.json"
COST = "cost.json"
SCENARIO = "scenario.json"

_PARTIAL = ".partial-"


def run_key(scenario: Scenario, kernel: KernelBuild, guest: Guest) -> str:
    """The name of a run: 16 hexadecimal digits."""
    text = "\n".join((scenario.key_text(), kernel.id, guest.id))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Store:
    """The runs below one output directory."""

    def __init__(self, out: Path) -> None:
        """Raises MptcplabError if `out` cannot be made or written to."""
        self.out = out
        self._runs = out / "runs"
        try:
            self._runs.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=self._runs).close()
        except OSError as error:
            raise MptcplabError(f"mptcplab: cannot write to {out}: {error.strerror}") from error

    def directory(self, key: str) -> Path:
        return self._runs / key

    @contextlib.contextmanager
    def new_run(self, key: str) -> Iterator[Path]:
        """A directory to run in, which becomes the run's own at the end.

        If the body raises, it is removed and a former run of the same key stays as it was.
        """
        partial = Path(tempfile.mkdtemp(prefix=f"{_PARTIAL}{key}-", dir=self._runs))
        try:
            yield partial
            partial.chmod(0o755)
            self._replace(partial, self.directory(key))
        finally:
            shutil.rmtree(partial, ignore_errors=True)

    def _replace(self, partial: Path, final: Path) -> None:
        """A directory cannot be renamed over a full one: the old one goes first, and away."""
        old = partial.with_name(partial.name + "-old")
        if final.exists():
            final.rename(old)
        partial.rename(final)
        shutil.rmtree(old, ignore_errors=True)


def write_json(file: Path, content: Mapping[str, Any]) -> None:
    """Write a document for people and programs: indented, in the order of its keys, whole."""
    partial = file.with_name(f"{_PARTIAL}{file.name}")
    try:
        partial.write_text(json.dumps(content, indent=1) + "\n")
        partial.replace(file)
    except OSError as error:
        raise MptcplabError(f"mptcplab: cannot write {file}: {error.strerror}") from error
    finally:
        partial.unlink(missing_ok=True)
