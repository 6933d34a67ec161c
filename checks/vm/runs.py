# SPDX-License-Identifier: GPL-2.0-only
"""Boots: several cells of a kernel and a number of CPUs, in turn, in one virtual machine.

A result is kept when its cell has ended, in OUT/NAME-ID.json, where the ID is a hash of all that
the cell depends on; the machine may then be ended at any time. What a machine said is kept beside
the result of a cell that failed.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from checks import kernel_reports, qemu, torture
from checks.command_line import say
from checks.vm.cells import UNLOAD, Cell
from checks.vm.machine import Parts
from mptcplab import files
from mptcplab.errors import RunCancelledError, RunError
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Watch
from mptcplab.metrics import run_files

# A machine that sends nothing for so long hangs: beyond a cell's own bound, a boot or the set-up of
# a cell on a busy host.
_SILENT_S = 240
_TAIL_LINES = 12


@dataclass
class Result:
    """What came of a cell; `failures` is empty if it is good.

    `ms` is its time in the machine. `forced`, `refused` and `lacking` are the adapter's counters,
    and `carried` has the bytes that the client's devices sent, of each path.
    """

    cell: Cell
    release: str
    ms: int = 0
    verified_bytes: int = 0
    forced: int = 0
    refused: int = 0
    lacking: int = 0
    carried: list[int] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    log: str = ""

    @classmethod
    def read(cls, file: Path) -> Result:
        """Reads one that was kept."""
        content: dict[str, Any] = json.loads(file.read_text())
        return cls(**{**content, "cell": Cell(**content["cell"])})

    def __str__(self) -> str:
        counts = f"forced {self.forced}, refused {self.refused}, lacking {self.lacking}"
        bad = "".join(f"\n    {failure}" for failure in self.failures)
        done = f"{self.ms / 1000:.1f} s, {self.verified_bytes / 1e6:.1f} MB verified; {counts}"
        return f"{self.cell.name}: {'FAILED, ' if self.failures else ''}{done}{bad}"


@dataclass(frozen=True)
class Boot:
    """Cells for one machine; the last one unloads the modules."""

    parts: Parts
    cells: Sequence[Cell]
    out: Path

    def file(self, cell: Cell) -> Path:
        """Where the result of a cell is kept."""
        text = f"{self.parts.id} {cell.name} {cell.input()}"
        return self.out / f"{cell.name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.json"

    def kept(self) -> list[Result]:
        """The results that there are."""
        found = (self.file(cell) for cell in self.cells)
        return [Result.read(file) for file in found if file.exists()]

    def missing(self) -> list[Cell]:
        """The cells without a result; the end of a boot is one of them if any other is."""
        cells = [cell for cell in self.cells if not self.file(cell).exists()]
        end = self.cells[-1]
        return cells if not cells or cells[-1] == end else [*cells, end]


def perform(boot: Boot, watch: Watch) -> None:
    """Boots machines until each cell has a result. Raises RunCancelledError and MachineError."""
    boot.out.mkdir(parents=True, exist_ok=True)
    while cells := boot.missing():
        with tempfile.TemporaryDirectory(prefix="mptcplab-") as name:
            follower = _Follower(boot, cells, Path(name), watch)
            why = "the machine ended"
            try:
                qemu.boot(
                    boot.parts.image,
                    boot.parts.initramfs(given(cells)),
                    Path(name),
                    cpus=cells[0].cpus,
                    limits=Limits(wall_s=24 * 3600),
                    watch=Watch(cancel=follower),
                )
            except RunError as error:
                why = f"the machine ended: {error.reason}"
            except RunCancelledError:
                if watch.cancel.is_set():
                    raise
                why = f"the machine sent nothing for {_SILENT_S} s"
            finally:
                follower.collect()
            follower.give_up(why)


def given(cells: Sequence[Cell]) -> dict[str, str]:
    """The files of cells in a machine, as init.sh reads them."""
    listed = [f"{n} {cell.scheduler} {cell.load}" for n, cell in enumerate(cells, 1)]
    inputs = {f"cells/{n}": cell.input() for n, cell in enumerate(cells, 1)}
    return {"cells/list": "\n".join([*listed, ""]), **inputs}


class _Follower(threading.Event):
    """Keeps results while a machine runs. It is "set" when the machine has to be ended."""

    def __init__(self, boot: Boot, cells: Sequence[Cell], directory: Path, watch: Watch) -> None:
        super().__init__()
        self._boot, self._cells, self._watch = boot, list(cells), watch
        self._directory = directory
        self._done = 0
        self._size, self._grown = 0, time.monotonic()

    def is_set(self) -> bool:
        size = len(qemu.sent(self._directory))
        if size != self._size:
            self._size, self._grown = size, time.monotonic()
            self.collect()
        cell = self._cells[min(self._done, len(self._cells) - 1)]
        silent = time.monotonic() - self._grown > _SILENT_S + cell.bound_s
        return silent or self._watch.cancel.is_set()

    def collect(self) -> None:
        """Keeps the results of the cells that have ended meanwhile."""
        content = qemu.sent(self._directory).decode(errors="replace")
        console = self._console()
        ended = results(self._cells, self._boot.parts.release, content, console)
        for result in list(ended)[self._done :]:
            self._keep(result)

    def give_up(self, why: str) -> None:
        """The cell that had begun, if any is left, has failed."""
        if self._done < len(self._cells):
            failed = Result(self._cells[self._done], self._boot.parts.release, failures=[why])
            failed.failures += reports_of(self._console(), self._done + 1)
            self._keep(failed)

    def _keep(self, result: Result) -> None:
        self._done += 1
        if result.failures:
            result.log = "\n".join(self._console().splitlines()[-_TAIL_LINES:])
        file = self._boot.file(result.cell)
        files.write(file, json.dumps(asdict(result), indent=1).encode())
        say(str(result))

    def _console(self) -> str:
        file = self._directory / run_files.CONSOLE
        return file.read_text(errors="replace").replace("\r", "") if file.exists() else ""


def results(cells: Sequence[Cell], release: str, content: str, console: str) -> Iterator[Result]:
    """Those of the cells that have ended, from what a machine sent and said."""
    for number, cell in enumerate(cells, 1):
        lines = re.findall(rf"(?m)^{number} (.*?)\r?\n", content)
        if not lines or not lines[-1].startswith("end "):
            return
        found = Result(cell, release)
        for key, value in re.findall(r"(\w+)=(-?\d+)", lines[-1]):
            setattr(found, key, int(value))
        found.failures = [each.removeprefix("failed ") for each in lines if each[:6] == "failed"]
        if cell.load != UNLOAD:
            _judge(cell, lines, found)
        found.failures += reports_of(console, number)
        yield found


def _judge(cell: Cell, lines: Sequence[str], found: Result) -> None:
    case = cell.case()
    records = [json.loads(each) for each in lines if each[:1] == "{"]
    found.carried = [int(n) for each in lines if each[:7] == "carried" for n in each.split()[1:]]
    if len(records) != len(case.connections):
        found.failures.append(f"{len(records)} of {len(case.connections)} connections reported")
        return
    verdict = torture.judge(case, sorted(records, key=lambda each: int(each["connection"])))
    found.verified_bytes = verdict.verified_bytes
    found.failures += verdict.failures
    short = verdict.aborted + verdict.cut_off
    if short:
        found.failures.append(f"{short} connections ended early")
    if found.lacking:
        found.failures.append(f"the adapter chose {found.lacking} times without its scheduler")
    if found.refused:
        found.failures.append(f"{found.refused} picks of a subflow that was not usable")


def reports_of(console: str, number: int) -> list[str]:
    """What the kernel reported during a cell; what came before the first one counts for it."""
    begins = [m.start() for m in re.finditer(r"(?m)^.*vm: begin \d+$", console)]
    begin = begins[number - 1] if 1 < number <= len(begins) else 0
    end = begins[number] if number < len(begins) else len(console)
    if number > len(begins) and number > 1:
        return []
    return [report.text for report in kernel_reports.parse(console[begin:end])]
