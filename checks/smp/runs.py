# SPDX-License-Identifier: GPL-2.0-only
"""One run: connections with troubles on several CPUs, and whose its reports are.

The cases are the torture's (checks/troubles.py). Time is real here, and a CPU that is interpreted
is slow: so a connection need not end, but what it has carried must be right.
"""

from __future__ import annotations

import itertools
import json
import re
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from checks import torture
from checks.kernel_reports import parse
from checks.smp import smp_machine
from checks.smp.blame import Found, Symbols, Whose, blame
from checks.smp.smp_kernel import SmpKernel
from checks.troubles import Connection, End, TortureCase, case
from mptcplab import files
from mptcplab.errors import RunError
from mptcplab.lab.choices import Limits
from mptcplab.lab.engine import Watch
from mptcplab.lab.guest import Guest
from mptcplab.metrics import run_files

#: The program, in the guest.
PROGRAM = "/connections"
# Losses by number need a kernel of the lab, and nothing races while there is no path.
_WITHOUT = ("handshake", "outage")
# So that CPUs race: so many connections of the case at least, and for each CPU one beside them that
# has always something to send, in both directions.
_CONNECTIONS = 6
_BUSY = End(bytes=50_000_000)
# What comes after the last trouble, in real time.
_AFTER_US = 30_000_000
_LIMITS = Limits(wall_s=1200.0)
# Every packet that comes in on a device is given to one of these CPUs, by its subflow.
_ALL_CPUS = f"{(1 << smp_machine.CPUS) - 1:x}"
# At most so many accesses are not watched, and then one is, for at most so long, in us. Watching
# for half of the time finds most: more leaves too little for others to come by.
_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "kcsan": (
        "kcsan.early_enable=1",
        *("kcsan.skip_watch=2000", "kcsan.udelay_task=1000", "kcsan.udelay_interrupt=1000"),
    ),
    "kasan": (),
}


@dataclass(frozen=True)
class Machine:
    """What a run is made with."""

    kernel: SmpKernel
    guest: Guest
    program: Guest

    @cached_property
    def symbols(self) -> Symbols:
        """Read once, which takes a while."""
        return Symbols(self.kernel.symbols)

    @cached_property
    def touched(self) -> dict[str, list[int]]:
        """The lines that our patches touch."""
        return self.kernel.touched()


@dataclass
class Result:
    """What came of a run; `failed` says why there is nothing."""

    kernel: str
    scheduler: str
    seed: int
    connections: int = 0
    verified_bytes: int = 0
    wall_s: float = 0.0
    losses: list[str] = field(default_factory=list)
    reports: list[Found] = field(default_factory=list)
    failed: str = ""

    @classmethod
    def read(cls, file: Path) -> Result:
        """Reads one that was kept."""
        content: dict[str, Any] = json.loads(file.read_text())
        content["reports"] = [Found(**each) for each in content["reports"]]
        return cls(**content)

    @property
    def kind(self) -> str:
        """What its kernel looks for."""
        return self.kernel.partition(" ")[0]

    @property
    def is_unpatched(self) -> bool:
        return self.kernel.endswith("unpatched")

    def count(self, whose: Whose) -> int:
        """How many reports are of this kind."""
        return sum(each.count for each in self.reports if each.whose == whose)


@dataclass(frozen=True)
class SmpJob:
    """A run that is wanted."""

    machine: Machine
    scheduler: str
    seed: int

    def file(self, out: Path) -> Path:
        """Where its result is kept."""
        kernel, ids = self.machine.kernel, (self.machine.guest.id, self.machine.program.id)
        made = "-".join([kernel.name.replace(" ", "-"), kernel.id, *ids])
        return out / made / f"{self.scheduler}-{self.seed}.json"


def case_of(scheduler: str, seed: int) -> TortureCase:
    """The case of a seed: of the torture's from 100 times that on, the first with much to do."""
    ccs = ("cubic", "bbr", "reno")
    for number in itertools.count(100 * seed):
        found = case(number, scheduler, ccs[seed % len(ccs)], without=_WITHOUT)
        paths = len(found.flags.path or ())
        if paths > 1 and len(found.connections) >= _CONNECTIONS:
            # the program's processes take connections in turn: each one of the busy
            busy = (Connection(0, 1 + i % paths, _BUSY, _BUSY) for i in range(smp_machine.CPUS))
            return replace(found, connections=(*busy, *found.connections))
    raise AssertionError


def plan_of(wanted: TortureCase) -> str:
    """What the guest carries out: as in the lab, but CPUs share the work."""
    lines = []
    for line in wanted.plan(PROGRAM).splitlines():
        # of the lab's kernel alone; the program's sockets are MPTCP's without
        lines.append(re.sub(r" net\.mptcp\.mptcpize=\d", "", line))
        if added := re.fullmatch(r"ip netns add (\S+)", line):
            setting = f"net.core.rps_default_mask={_ALL_CPUS}"
            lines.append(f"ip netns exec {added[1]} sysctl -qw {setting}")
        elif f" -- {PROGRAM} " in line:
            lines[-1] += f" {smp_machine.CPUS}"
    return "\n".join([*lines, ""])


def make(job: SmpJob, out: Path, watch: Watch | None = None) -> Result:
    """Makes a run, or reads what came of it before. Raises RunCancelledError and MachineError."""
    file, machine = job.file(out), job.machine
    if file.exists():
        return Result.read(file)
    wanted = case_of(job.scheduler, job.seed)
    sooner = re.sub(r"^until=\d+", f"until={wanted.calm_us + _AFTER_US}", wanted.input())
    result = Result(machine.kernel.name, job.scheduler, job.seed, len(wanted.connections))
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mptcplab-") as name:
        directory = Path(name)
        try:
            sent = smp_machine.run(
                machine.kernel,
                machine.guest,
                directory,
                {run_files.PLAN: plan_of(wanted), run_files.CLIENT_INPUT: sooner},
                {PROGRAM[1:]: machine.program.program.read_bytes()},
                arguments=_ARGUMENTS[machine.kernel.kind],
                limits=_LIMITS,
                watch=watch,
            )
            _judge(wanted, sent, result)
        except RunError as error:
            result.failed = str(error)
        console = directory / run_files.CONSOLE
        text = console.read_text(errors="replace") if console.exists() else ""
    result.wall_s = time.monotonic() - started
    result.reports = blame_of(machine, text)
    file.parent.mkdir(parents=True, exist_ok=True)
    files.write(file.with_suffix(".txt"), text.encode())
    files.write(file, json.dumps(asdict(result), indent=1).encode())
    return result


def blame_of(machine: Machine, console: str) -> list[Found]:
    """What the reports on a console are about, and whose they are."""
    return blame(parse(console), machine.symbols, machine.touched)


def _judge(wanted: TortureCase, sent: Mapping[str, bytes], result: Result) -> None:
    """What the ends of the connections have seen."""
    outcome = json.loads(sent.get(run_files.GUEST_OUTCOME, b"{}"))
    if outcome.get("status") != "ok" or outcome.get("client_status"):
        said = sent.get(run_files.CLIENT_ERRORS, b"").decode(errors="replace").strip()
        result.failed = str(outcome.get("reason") or said or "no outcome")
        return
    records = [json.loads(line) for line in sent[run_files.CLIENT_OUTPUT].splitlines()]
    records.sort(key=lambda record: int(record["connection"]))
    verdict = torture.judge(wanted, records)
    result.verified_bytes = verdict.verified_bytes
    result.losses = verdict.losses


def about(
    results: Sequence[Result], whose: Whose | None = None, *, unpatched: bool = False
) -> Counter[str]:
    """How often each thing was reported, of this kind or of any, by patched kernels or others."""
    counts = Counter[str]()
    for result in results:
        for each in result.reports if result.is_unpatched == unpatched else ():
            if whose in (None, each.whose):
                counts[each.about] += each.count
    return counts
