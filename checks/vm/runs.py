# SPDX-License-Identifier: GPL-2.0-only
"""Boots: several cells of a kernel and a number of CPUs, in turn, in one virtual machine.

The result of each cell that has ended is kept in OUT/NAME-ID.json, whatever ends the machine. The
ID is a hash of all that the cell depends on.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from checks import kernel_reports, qemu, torture
from checks.command_line import say
from checks.vm.cells import UNLOAD, Cell
from checks.vm.machine import Parts
from mptcplab import files
from mptcplab.errors import RunError
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Watch
from mptcplab.metrics import run_files

# A kernel that hangs reports it and ends: a CPU after twice 60 s, a task after 300 s, which a busy
# host does not take from ours.
_ARGUMENTS = (
    *("watchdog_thresh=60", "softlockup_panic=1", "sysctl.kernel.panic_on_rcu_stall=1"),
    *("hung_task_panic=1", "sysctl.kernel.hung_task_timeout_secs=300"),
)
# To boot, and to set up a cell, on a busy host.
_SET_UP_S = 120
_TAIL_LINES = 12
#: What a console has before a cell's number.
BEGINS = "vm: begin "


@dataclass
class Result:
    """What came of a cell; `failures` is empty if it is good.

    `ms` is its time in the machine. `forced`, `refused` and `lacking` are the adapter's counters,
    and `carried` has the bytes that the client's devices sent, of each path.
    """

    cell: Cell
    ms: int = 0
    verified_bytes: int = 0
    forced: int = 0
    refused: int = 0
    lacking: int = 0
    carried: list[int] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        done = f"{self.ms / 1000:.1f} s, {self.verified_bytes / 1e6:.1f} MB verified"
        return "\n    ".join([f"{self.cell.name}: {done}, forced {self.forced}", *self.failures])


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

    def keep(self, result: Result) -> None:
        say(str(result))
        files.write(self.file(result.cell), json.dumps(asdict(result), indent=1).encode())

    def kept(self) -> list[Result]:
        """The results that there are."""
        found = [json.loads(self.file(cell).read_text()) for cell in self.cells if self.has(cell)]
        return [Result(**{**each, "cell": Cell(**each["cell"])}) for each in found]

    def has(self, cell: Cell) -> bool:
        return self.file(cell).exists()

    def missing(self) -> list[Cell]:
        """The cells without a result; the end of a boot is one of them if any other is."""
        cells = [cell for cell in self.cells[:-1] if not self.has(cell)]
        return [*cells, self.cells[-1]] if cells or not self.has(self.cells[-1]) else []


def perform(boot: Boot, watch: Watch) -> None:
    """Boots machines until each cell has a result: a machine may break down. Raises RunError if no
    cell began, RunCancelledError and MachineError.
    """
    boot.out.mkdir(parents=True, exist_ok=True)
    while cells := boot.missing():
        limit_s = sum(cell.bound_s + _SET_UP_S for cell in cells)
        with tempfile.TemporaryDirectory(prefix="mptcplab-") as place:
            directory, why = Path(place), "the machine ended"
            initramfs = boot.parts.initramfs(given(cells))
            try:
                qemu.boot(
                    boot.parts.image,
                    initramfs,
                    directory,
                    cpus=cells[0].cpus,
                    arguments=_ARGUMENTS,
                    limits=Limits(wall_s=limit_s),
                    watch=watch,
                )
            except RunError as error:
                why = f"the machine ended: {error.reason}"
            finally:
                sent, console = (_text(directory / name) for name in (qemu.LINE, run_files.CONSOLE))
                ended = list(results(cells, sent, console))
                for result in ended:
                    boot.keep(result)
            if BEGINS not in console:
                raise RunError(f"no cell began: {why}", _tail(console))
            if len(ended) < len(cells):
                failures = [why, *reports_of(console, len(ended) + 1), _tail(console)]
                boot.keep(Result(cells[len(ended)], failures=failures))


def given(cells: Sequence[Cell]) -> dict[str, str]:
    """The files of cells in a machine, as init.sh reads them."""
    listed = [f"{n} {cell.scheduler} {cell.load}\n" for n, cell in enumerate(cells, 1)]
    inputs = {f"cells/{n}": cell.input() for n, cell in enumerate(cells, 1)}
    return {"cells/list": "".join(listed), **inputs}


def results(cells: Sequence[Cell], sent: str, console: str) -> Iterator[Result]:
    """Those of the cells that have ended, from what a machine sent and said."""
    for number, cell in enumerate(cells, 1):
        lines = re.findall(rf"(?m)^{number} (.*)\n", sent)
        if not lines or not lines[-1].startswith("end "):
            return
        found = Result(cell)
        for key, value in re.findall(r"(\w+)=(-?\d+)", lines[-1]):
            setattr(found, key, int(value))
        found.failures = [each.removeprefix("failed ") for each in lines if each[:6] == "failed"]
        if cell.load != UNLOAD:
            _judge(lines, found)
        found.failures += reports_of(console, number)
        if found.failures:
            found.failures.append(_tail(console))
        yield found


def _judge(lines: Sequence[str], found: Result) -> None:
    case = found.cell.case()
    records = [json.loads(each) for each in lines if each[0] == "{"]
    found.carried = [int(n) for each in lines if each[:7] == "carried" for n in each.split()[1:]]
    if len(records) != len(case.connections):
        found.failures.append(f"{len(records)} of {len(case.connections)} connections reported")
        return
    verdict = torture.judge(case, sorted(records, key=lambda each: int(each["connection"])))
    found.verified_bytes = verdict.verified_bytes
    found.failures += verdict.failures
    if short := verdict.aborted + verdict.cut_off:
        found.failures.append(f"{short} connections ended early")
        found.failures += [_ends(each) for each in records if not torture.is_whole(each)]
    if found.lacking or found.refused:
        counts = f"{found.refused} unusable picks, {found.lacking} choices without the scheduler"
        found.failures.append(f"the adapter counted {counts}")


def _ends(record: Mapping[str, Any]) -> str:
    """How the two ends of a connection have ended."""
    ends = [
        f"{name} read {end['read']}, moved last at {end['moved_us'] / 1e6:.1f} s,"
        f" {end['error_of']} {end['error']}".rstrip(", ")
        for name, end in (("client", record["client"]), ("server", record["server"]))
    ]
    return f"connection {record['connection']}: {'; '.join(ends)}"


def reports_of(console: str, number: int) -> list[str]:
    """What the kernel reported during a cell; what came before the first one counts for it."""
    parts = re.split(rf"(?m)^.*{BEGINS}\d+$", console)
    during = "".join(parts[:2]) if number == 1 else "".join(parts[number : number + 1])
    return [report.text for report in kernel_reports.parse(during)]


def _text(file: Path) -> str:
    return file.read_text(errors="replace").replace("\r", "") if file.exists() else ""


def _tail(console: str) -> str:
    lines = ["the last lines of the kernel:", *console.splitlines()[-_TAIL_LINES:]]
    return "\n    ".join(lines)
